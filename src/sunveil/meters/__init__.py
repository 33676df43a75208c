"""Private generation data: files and data frames to records of one system each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.meters.dataframes import from_pandas, records_from_frame
    from sunveil.meters.read_files import iter_systems, read_meters
    from sunveil.meters.reading_options import Duplicates, MeterOptions, Unit, UnitSwitch
    from sunveil.meters.record import Label, Record, RefusedSystem

__all__ = [
    "Duplicates",
    "Label",
    "MeterOptions",
    "Record",
    "RefusedSystem",
    "Unit",
    "UnitSwitch",
    "from_pandas",
    "iter_systems",
    "read_meters",
    "records_from_frame",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.meters.dataframes": ("from_pandas", "records_from_frame"),
        "sunveil.meters.read_files": ("iter_systems", "read_meters"),
        "sunveil.meters.reading_options": ("Duplicates", "MeterOptions", "Unit", "UnitSwitch"),
        "sunveil.meters.record": ("Label", "Record", "RefusedSystem"),
    },
)
