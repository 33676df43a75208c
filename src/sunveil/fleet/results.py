"""Reading back what a run over a fleet wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil.errors import SourceError
from sunveil.fleet.folder import RUN, SUMMARY

_VALUES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")


@dataclass(frozen=True, slots=True, eq=False)
class FleetTable:
    """The systems of a fleet, one row each, in the order of their names: private.

    Parameters
    ----------
    system_ids
        Their names.
    surface_azimuth, surface_tilt
        Inferred planes, NaN for systems that were refused. [degrees]
    dc_capacity_kw
        Inferred capacities, NaN for systems that were refused. [kW]
    keys
        Public columns of the table of systems, as texts, ``""`` where blank.
    """

    system_ids: tuple[str, ...]
    surface_azimuth: NDArray[np.float64]
    surface_tilt: NDArray[np.float64]
    dc_capacity_kw: NDArray[np.float64]
    keys: dict[str, NDArray[np.str_]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.system_ids)

    def __repr__(self) -> str:
        return f"FleetTable({len(self.system_ids)} systems, private)"


def is_fleet(folder: Path | str) -> bool:
    """Whether a folder holds a run over a fleet that has come to its end."""
    folder = Path(folder)
    return (folder / RUN).is_file() and (folder / SUMMARY).is_file()


def read_fleet(folder: Path | str, *, keys: Sequence[str] = ()) -> FleetTable:
    """Return all systems that the table of systems names, with what was inferred of them.

    Systems that were refused stay as rows without values: which of them could not be inferred is
    as private as their readings, while the table of systems is public. A system that the table
    does not name is not among them.

    Parameters
    ----------
    folder
        What :func:`~sunveil.fleet.run.infer_fleet` wrote.
    keys
        Public columns of the table of systems to read beside them.

    Privacy
    -------
    None: the rows are as private as the readings.
    """
    folder = Path(folder)
    if not is_fleet(folder):
        raise SourceError(
            f"{folder} is not what sunveil infer --systems wrote, or its run is not over; start the"
            " same command again to finish it"
        )
    table = _rows(folder, tuple(keys))
    if not table.num_rows:
        raise SourceError(f"{folder} has no system")
    values = {
        name: table.column(name).to_numpy(zero_copy_only=False).astype(np.float64)
        for name in _VALUES
    }
    return FleetTable(
        system_ids=tuple(table.column("system_id").to_pylist()),
        keys={key: _texts(table.column(key)) for key in keys},
        **values,
    )


def _rows(folder: Path, keys: tuple[str, ...]) -> pa.Table:
    try:
        parts = sorted((folder / "estimates").glob("part-*.parquet"))
        estimates = pa.concat_tables(
            pq.read_table(part, columns=["system_id", *_VALUES, *keys]) for part in parts
        )
        refused = pq.read_table(
            folder / "refused.parquet", columns=["system_id", "in_systems", *keys]
        )
    except (pa.ArrowException, OSError, KeyError, ValueError):
        listed = f" with the columns {', '.join(keys)}" if keys else ""
        raise SourceError(f"the estimates in {folder} cannot be read{listed}") from None
    missing = [key for key in keys if key not in estimates.column_names]
    if missing:
        raise SourceError(f"the systems of {folder} have no column {missing[0]!r}")
    refused = refused.filter(refused.column("in_systems")).drop_columns(["in_systems"])
    both = pa.concat_tables([estimates, refused], promote_options="default")
    return both.sort_by("system_id")


def _texts(column: Any) -> NDArray[np.str_]:
    return np.asarray(pc.fill_null(column.cast(pa.string()), "").to_pylist(), dtype=np.str_)
