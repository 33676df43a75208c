"""What power can be made of: publication folders, publications in memory, and tables of planes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sunveil.arguments import all_named, check_path
from sunveil.errors import ParameterError, SourceError
from sunveil.power.mixture import FleetMixture, lay_planes, named_groups
from sunveil.power.row_laws import FEW_LOST, RowErrors
from sunveil.power.rows import lossy_mixture, moved_rows, window_mixture
from sunveil.power.synthetic import synthetic_mixture
from sunveil.power.tables import TableFleet, bins_of, table_mixture
from sunveil.publish.counts import MARGINS
from sunveil.publish.folder import frame_of_table
from sunveil.publish.measured import NAME as NOISY_COUNTS
from sunveil.publish.publication import Column, Publication, PublishedTable
from sunveil.site import Array

PLANE = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
PACKAGE = "datapackage.json"


@dataclass(frozen=True, slots=True, eq=False)
class PublishedFleet:
    """A publication as it was read: everything in it is public.

    Parameters
    ----------
    tables
        By name.
    about
        What each is, by name.
    public
        The public choices it was made with.
    """

    tables: Mapping[str, pd.DataFrame]
    about: Mapping[str, str]
    public: Mapping[str, Any]


def read_published(path: Path | str) -> PublishedFleet:
    """Return the publication in a folder, as a curator wrote it or the service gave it.

    Parameters
    ----------
    path
        The folder, or its ``datapackage.json``.
    """
    folder = Path(path)
    folder = folder.parent if folder.name == PACKAGE else folder
    try:
        package = json.loads((folder / PACKAGE).read_text(encoding="utf-8"))
        resources = {each["title"]: each for each in package["resources"]
                     if each["format"] == "parquet"}  # fmt: skip
        tables = {name: pd.read_parquet(folder / Path(each["path"]).name) for name, each in
                  resources.items()}  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{folder} is no publication: its {PACKAGE} or a table that it names cannot be read"
            f" ({type(error).__name__}); give the folder as it was published"
        ) from error
    about = {name: str(each.get("description", "")) for name, each in resources.items()}
    return PublishedFleet(tables, about, package.get("sunveil:public", {}))


def published_fleet(publication: Publication) -> PublishedFleet:
    """Return a publication in memory as one that was read."""
    return PublishedFleet(
        {table.name: frame_of_table(table) for table in publication.tables},
        {table.name: table.about for table in publication.tables},
        publication.public,
    )


def read_source(
    source: str | os.PathLike[str] | Publication | pd.DataFrame,
    *,
    by: str | None,
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of the fleet that something published tells of.

    Parameters
    ----------
    source
        A publication's folder or one in memory, or a table of planes: a file or a frame.
    by
        The column that divides a table of planes.
    draws
        How many draws.
    rng
        Source of randomness.
    """
    if isinstance(source, Publication):
        return mixture_of(published_fleet(source), draws=draws, rng=rng)
    if isinstance(source, pd.DataFrame):
        return plane_mixture(source, by=by, draws=draws)
    path = check_path("publication", source)
    if path.is_dir() or path.name == PACKAGE:
        return mixture_of(read_published(path), draws=draws, rng=rng)
    return plane_mixture(_read_planes(path), by=by, draws=draws)


def mixture_of(found: PublishedFleet, *, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return draws of the fleet that a publication tells of.

    Parameters
    ----------
    found
        The publication.
    draws
        How many draws.
    rng
        Source of randomness.
    """
    if "synthetic-systems" in found.tables:
        counts = found.tables.get(NOISY_COUNTS)
        if counts is None:
            raise ParameterError(
                f"the publication has no table {NOISY_COUNTS} beside its synthetic systems;"
                " publish it again, which costs nothing, or give the rows as a file of planes,"
                " which are then taken as they are"
            )
        return synthetic_mixture(counts, found.public, draws=draws, rng=rng)
    if "systems" in found.tables and "errors" in found.tables:
        return _system_mixture(found, draws=draws, rng=rng)
    if not {*MARGINS, "totals"} & set(found.tables):
        raise ParameterError(
            "the publication has no table that power can be made of: it needs systems, synthetic"
            " systems, counts or totals"
        )
    return table_mixture(table_fleet(found), draws=draws, rng=rng)


def table_fleet(found: PublishedFleet) -> TableFleet:
    """Return the tables of a fleet with their key and bins."""
    tables = {name: table for name, table in found.tables.items() if name in {*MARGINS, "totals"}}
    first = next(iter(tables.values())).columns[0]
    with all_named("the publication", "its folder as it was published"):
        largest = float(found.public["largest_kw"])
    known = {"systems", "sector", "tilt_band", "capacity_class"}
    return TableFleet(
        tables=tables,
        about=found.about,
        key=None if first in known else str(first),
        bins=bins_of(tables),
        largest_kw=largest,
    )


def _system_mixture(found: PublishedFleet, *, draws: int, rng: np.random.Generator) -> FleetMixture:
    table = found.tables["systems"]
    if "window_candidates" in found.public:
        columns = tuple(Column(name, "number", "") for name in PLANE)
        rows = tuple(map(tuple, table[list(PLANE)].to_numpy(np.float64).tolist()))
        published = PublishedTable("systems", "", columns, rows)
        return window_mixture(published, found.public, draws=draws, rng=rng)
    stated = found.tables["errors"]
    law = RowErrors.stated(
        {
            str(name): (float(mean), float(within))
            for name, mean, within in zip(
                stated["quantity"].tolist(),
                stated["mean"].tolist(),
                stated["within_90_percent"].tolist(),
                strict=True,
            )
        }
    )
    azimuth, tilt, capacity = _planes_of(found)
    if law.lost <= FEW_LOST:
        return moved_rows(azimuth, tilt, capacity, law, draws=draws, rng=rng)
    with all_named("the publication", "its folder as it was published"):
        low, high = found.public["choices"]["capacities_kw"]
    azimuth, tilt, capacity = (table[name].to_numpy(np.float64) for name in PLANE)
    return lossy_mixture(azimuth, tilt, capacity, law, capacities_kw=(float(low), float(high)),
                         draws=draws, rng=rng)  # fmt: skip


def _planes_of(found: PublishedFleet) -> tuple[Array, Array, Array]:
    """Return the planes of published systems, each of two planes with its own capacity."""
    table = found.tables["systems"]
    planes = found.tables.get("planes")
    if planes is None:
        azimuth, tilt, capacity = (table[name].to_numpy(np.float64) for name in PLANE)
        return azimuth, tilt, capacity
    alone = table[~table["release_id"].isin(planes["release_id"])]
    both = pd.concat([planes[list(PLANE)], alone[list(PLANE)]])
    azimuth, tilt, capacity = (both[name].to_numpy(np.float64) for name in PLANE)
    return azimuth, tilt, capacity


def plane_mixture(table: pd.DataFrame, *, by: str | None, draws: int) -> FleetMixture:
    """Return a table of planes, taken as it is, in draws that are all alike.

    Parameters
    ----------
    table
        With ``surface_azimuth``, ``surface_tilt`` and ``dc_capacity_kw``.
    by
        Its column of groups; None or ``all`` for one group.
    draws
        How many draws.
    """
    lacking = [name for name in PLANE if name not in table.columns]
    if lacking:
        raise ParameterError(
            f"the table of planes has no column {lacking[0]}; it needs {', '.join(PLANE)}"
        )
    numbers = table[list(PLANE)].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    usable = np.isfinite(numbers).all(axis=1) & (numbers[:, 2] >= 0.0)
    usable &= (numbers[:, 1] >= 0.0) & (numbers[:, 1] <= 90.0)
    if not usable.any():
        raise ParameterError(
            "no row of the table of planes has azimuth, tilt and capacity; check its numbers"
        )
    key = None if by in (None, "all") else by
    if key is not None and key not in table.columns:
        raise ParameterError(
            f"the table of planes has no column {key!r} to divide it by; name another, or leave it"
            " out"
        )
    names = ["all"] * len(table) if key is None else [str(each) for each in table[key]]
    groups, place = named_groups([name for name, keep in zip(names, usable, strict=True) if keep])
    azimuth, tilt, capacity = numbers[usable].T
    azimuth, tilt, weights = lay_planes(azimuth, tilt, capacity, place, len(groups))
    left = int((~usable).sum())
    about = ["Made from a table of planes, taken as it is."]
    if left:
        about.append(f"{left:,} rows without a usable plane or capacity were left out.")
    return FleetMixture(
        key=key,
        groups=groups,
        systems=np.bincount(place, minlength=len(groups)).astype(np.float64),
        surface_azimuth=np.asarray(azimuth),
        surface_tilt=np.asarray(tilt),
        weights=np.broadcast_to(weights.astype(np.float32), (draws, *weights.shape)),
        about=tuple(about),
    )


def _read_planes(path: Path) -> pd.DataFrame:
    try:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        if path.suffix.lower() == ".csv":
            return pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{path} cannot be read as a table of planes ({type(error).__name__}); give a CSV or"
            " Parquet file"
        ) from error
    raise SourceError(
        f"{path} is neither a publication's folder nor a CSV or Parquet table of planes"
    )
