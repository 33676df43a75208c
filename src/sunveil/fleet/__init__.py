"""A whole fleet: a pure plan over parts, worked through on one machine or many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sunveil.fleet.progress import FleetProgress
    from sunveil.fleet.results import read_fleet
    from sunveil.fleet.run import FleetResult, infer_fleet
    from sunveil.fleet.settings import FleetSettings

__all__ = ["FleetProgress", "FleetResult", "FleetSettings", "infer_fleet", "read_fleet"]

_HOMES = {
    "FleetResult": "run",
    "FleetSettings": "settings",
    "FleetProgress": "progress",
    "infer_fleet": "run",
    "read_fleet": "results",
}


def __getattr__(name: str) -> Any:
    # loaded when first asked for: a worker that runs one part needs neither plan nor page
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"sunveil.fleet.{_HOMES[name]}"), name)
