"""Observations from published and synthetic tables."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sunveil._options import all_named, check_path
from sunveil.errors import ParameterError, SourceError
from sunveil.power.from_system_rows import (
    FEW_LOST,
    RowErrors,
    lossy_mixture,
    moved_rows,
    window_mixture,
)
from sunveil.power.posterior import (
    CellGrid,
    CellPrior,
    FleetMixture,
    Observation,
    ObservedTotal,
    cell_prior,
    cell_weights,
    draw_cells,
    lay_planes,
    named_groups,
)
from sunveil.publication.publication_folder import PACKAGE, published_fleet, read_publication
from sunveil.publication.published_tables import (
    AXES,
    MARGINS,
    NOISY_COUNTS,
    UNKNOWN,
    Bins,
    Column,
    Publication,
    PublishedTable,
)
from sunveil.site import Array

if TYPE_CHECKING:
    from sunveil.publication.publication_folder import PublishedFleet


def synthetic_mixture(
    counts: pd.DataFrame, public: Mapping[str, Any], *, draws: int, rng: np.random.Generator
) -> FleetMixture:
    """Return draws of the fleet behind a synthetic table."""
    with all_named("the publication", "its folder as it was published"):
        published_bins, many = public["bins"], float(public["systems"])
        edges = tuple(published_bins["tilt_edges"]), tuple(published_bins["capacity_edges_kw"])
        bins = Bins(published_bins["sectors"], *edges)
    prior = cell_prior(CellGrid.of(bins), largest_kw=bins.capacity_edges_kw[-1])
    observed = Observation(
        _matrix(counts, bins),
        counts["noisy"].to_numpy(np.float64),
        counts["sd"].to_numpy(np.float64),
    )
    found = draw_cells(prior, many, [observed], total=None, draws=draws, rng=rng, unknown=False)
    return FleetMixture(
        key=None,
        groups=("all",),
        systems=np.array([many]),
        surface_azimuth=prior.surface_azimuth.ravel(),
        surface_tilt=prior.surface_tilt.ravel(),
        weights=cell_weights(prior, found, rng)[:, None, :],
        about=(
            "Made from the noisy counts beside a synthetic table, and their stated noise: its rows"
            " were sampled from a model of these and say no more.",
        ),
    )


def _matrix(counts: pd.DataFrame, bins: Bins) -> Array:
    """Return what a system of every joint cell adds to each count, the unknown cell last."""
    matrix = np.ones((len(counts), bins.size))
    where = np.indices(bins.shape).reshape(3, -1)
    for axis, name in enumerate(AXES):
        index = {label: place for place, label in enumerate(bins.labels[axis])}
        # -1 where all of an axis are counted together, -2 where its bin is not one of these
        place = [-1 if pd.isna(each) else index.get(str(each), -2) for each in counts[name]]
        if -2 in place:
            raise ParameterError(
                f"the noisy counts name a {name} that is none of the publication's bins; give the"
                " folder as it was published"
            )
        chosen = np.array(place)[:, None]
        matrix *= (chosen < 0) | (chosen == where[axis])
    return np.hstack([matrix, np.zeros((len(matrix), 1))])


DRAWN = "drawn by itself"

# Of a normal law, how many deviations nine in ten are within.
NINE_IN_TEN = 1.6449


@dataclass(frozen=True, slots=True, eq=False)
class TableFleet:
    """The tables of a fleet, as published."""

    tables: Mapping[str, pd.DataFrame]  # by name
    about: Mapping[str, str]  # what each is, by name
    key: str | None  # public column that divides the fleet; None where it is one group
    bins: Bins  # their bins
    largest_kw: float  # [kW] the largest capacity that a system may have: public

    @property
    def drawn(self) -> list[str]:
        """The tables of counts that were drawn, not added up from others."""
        counts = [name for name in MARGINS if name in self.tables]
        drawn = [name for name in counts if DRAWN in self.about.get(name, "")]
        return drawn or counts[:1]

    def groups(self) -> dict[str, dict[str, pd.DataFrame]]:
        """Return the rows of every table by group."""
        if self.key is None:
            return {"all": dict(self.tables)}
        first = self.tables[(self.drawn or ["totals"])[0]]
        parted = {
            name: dict(list(table.groupby(self.key, sort=False)))
            for name, table in self.tables.items()
            if self.key in table.columns
        }
        names = list(dict.fromkeys(first[self.key].astype(str)))
        return {
            group: {name: parts[group] for name, parts in parted.items() if group in parts}
            for group in names
        }


def table_mixture(fleet: TableFleet, *, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return draws of a fleet that agree with its tables."""
    if not fleet.drawn and "totals" not in fleet.tables:
        raise ParameterError(
            "the publication has neither counts nor totals; power is made from sectors, planes,"
            " counts or totals"
        )
    prior = cell_prior(CellGrid.of(fleet.bins), largest_kw=fleet.largest_kw)
    matrices = {name: margin_matrix(fleet.bins, name) for name in fleet.drawn}
    groups = fleet.groups()
    weights, sizes = [], []
    for parts in groups.values():
        size = _size(parts, fleet.drawn)
        observed = [_observed(parts[name], matrices[name]) for name in fleet.drawn]
        found = draw_cells(
            prior, size, observed, total=_total(parts.get("totals")), draws=draws, rng=rng
        )
        weights.append(cell_weights(prior, found, rng))
        sizes.append(size)
    return FleetMixture(
        key=fleet.key,
        groups=tuple(groups),
        systems=np.array(sizes),
        surface_azimuth=prior.surface_azimuth.ravel(),
        surface_tilt=prior.surface_tilt.ravel(),
        weights=np.stack(weights, axis=1),
        about=_about(fleet, prior),
    )


def margin_matrix(bins: Bins, name: str) -> Array:
    """Return what a system of every joint cell adds to a table's cells, the unknown one last."""
    shape, kept = bins.shape, MARGINS[name]
    where = np.indices(shape).reshape(3, -1)
    size = math.prod(shape[axis] for axis in kept)
    place = np.ravel_multi_index([where[axis] for axis in kept], [shape[axis] for axis in kept])
    matrix = np.zeros((size + 1, bins.size + 1))
    matrix[place, np.arange(bins.size)] = 1.0
    matrix[-1, -1] = 1.0
    return matrix


def _observed(table: pd.DataFrame, matrix: Array) -> Observation:
    values = table["noisy"].to_numpy(np.float64)
    deviation = np.maximum(table["sd"].to_numpy(np.float64), 0.05)
    if len(values) != len(matrix):
        raise ParameterError("a table of counts has other cells than its bins; it may be cut short")
    return Observation(matrix, values, deviation)


def _size(parts: Mapping[str, pd.DataFrame], drawn: list[str]) -> float:
    """Return the public number of a group's systems."""
    table = parts["totals"] if "totals" in parts else parts[drawn[0]]
    return float(table["systems"].sum())


def _total(table: pd.DataFrame | None) -> ObservedTotal | None:
    if table is None:
        return None
    row = table.iloc[0]
    deviation = float(row["total_sd_kw"])
    if "error_90_kw" in table.columns:  # with what larger systems have above the clip
        deviation = max(deviation, float(row["error_90_kw"]) / NINE_IN_TEN)
    return ObservedTotal(float(row["noisy_total_kw"]), deviation)


def bins_of(tables: Mapping[str, pd.DataFrame]) -> Bins:
    """Return the bins of published tables by the labels in them; usual ones where they say none."""
    usual = Bins()
    found: dict[str, list[str]] = {}
    for table in tables.values():
        for axis in AXES:
            if axis in table.columns:
                named = dict.fromkeys(str(each) for each in table[axis])
                found[axis] = [name for name in named if name != UNKNOWN]
    try:
        return Bins(
            sectors=len(found["sector"]) if "sector" in found else usual.sectors,
            tilt_edges=_edges(found.get("tilt_band")) or usual.tilt_edges,
            capacity_edges_kw=_edges(found.get("capacity_class")) or usual.capacity_edges_kw,
        )
    except ValueError:
        raise ParameterError("the bands or classes of the tables are not written as LOW to HIGH"
                             ) from None  # fmt: skip


def _edges(labels: list[str] | None) -> tuple[float, ...]:
    if not labels:
        return ()
    spans = [label.split(" to ") for label in labels]
    return (*(float(low) for low, _ in spans), float(spans[-1][1]))


def _about(fleet: TableFleet, prior: CellPrior) -> tuple[str, ...]:
    named = ", ".join(fleet.drawn) or "none"
    total = "with" if "totals" in fleet.tables else "without"
    cells = f"{len(prior.within)} cells of sector and tilt"
    return (
        f"Made from tables of a fleet: counts drawn: {named}, {total} totals of capacity.",
        f"Each draw has systems and capacities in {cells} that agree with the published numbers"
        " and their stated noise, none negative, adding up to the public number of systems.",
        "What the tables leave open is filled from public lists of systems (US and UK): tilts and"
        " sizes where they were not bought, planes within a cell, sizes within a class.",
        "Systems that could not be inferred are omitted.",
    )


PLANE = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")


def read_source(
    source: str | os.PathLike[str] | Publication | pd.DataFrame,
    *,
    by: str | None,
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of the fleet that something published tells of."""
    if isinstance(source, Publication):
        return mixture_of(published_fleet(source), draws=draws, rng=rng)
    if isinstance(source, pd.DataFrame):
        return plane_mixture(source, by=by, draws=draws)
    path = check_path("publication", source)
    if path.is_dir() or path.name == PACKAGE:
        return mixture_of(read_publication(path), draws=draws, rng=rng)
    return plane_mixture(_read_planes(path), by=by, draws=draws)


def mixture_of(found: PublishedFleet, *, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return draws of the fleet that a publication tells of."""
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
    """Return a table of planes, taken as it is, in draws that are all alike."""
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
        about.append(f"{left:,} rows without a usable plane or capacity were omitted.")
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
