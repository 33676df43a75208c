"""Private generation data: files and frames to records of one system each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil.ondemand import on_demand

if TYPE_CHECKING:
    from sunveil.meters.frames import from_pandas, records_from_frame
    from sunveil.meters.options import Duplicates, MeterOptions, Unit, UnitSwitch
    from sunveil.meters.read import iter_systems, read_meters
    from sunveil.meters.record import Label, Record
    from sunveil.meters.refusals import RefusedSystem

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

on_demand(
    __name__,
    {
        "sunveil.meters.frames": ("from_pandas", "records_from_frame"),
        "sunveil.meters.options": ("Duplicates", "MeterOptions", "Unit", "UnitSwitch"),
        "sunveil.meters.read": ("iter_systems", "read_meters"),
        "sunveil.meters.record": ("Label", "Record"),
        "sunveil.meters.refusals": ("RefusedSystem",),
    },
)
