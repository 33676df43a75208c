"""From readings to estimates: one system, or a fleet on many processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.inference.fleet_run import FleetProgress, FleetResult, infer_fleet

__all__ = ["FleetProgress", "FleetResult", "infer_fleet"]

__getattr__ = lazy_names(
    __name__, {"sunveil.inference.fleet_run": ("FleetProgress", "FleetResult", "infer_fleet")}
)
