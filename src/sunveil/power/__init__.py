"""Power of a fleet from what has been published of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.power.compute_power import fleet_power
    from sunveil.power.power_result import FleetPower

__all__ = ["FleetPower", "fleet_power"]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.power.compute_power": ("fleet_power",),
        "sunveil.power.power_result": ("FleetPower",),
    },
)
