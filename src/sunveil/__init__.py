"""Infer the plane and the capacity of solar PV systems from meters, and release them privately.

>>> import sunveil
>>> sunveil.__version__
'0.1.0'

Names are loaded when first asked for, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sunveil.errors import (
        MeterError,
        ParameterError,
        SourceError,
        SunveilError,
        TooLittleData,
        WeatherError,
    )
    from sunveil.estimate import Estimate, Flag, Interval
    from sunveil.infer import infer, infer_frame, infer_record
    from sunveil.meters import Record, read_meters
    from sunveil.privacy.units import Days, Readings, System
    from sunveil.releases.answer import Release
    from sunveil.releases.release import release
    from sunveil.site import Losses, Plane, Site
    from sunveil.weather import Weather, get_weather

__version__ = "0.1.0"

__all__ = [
    "Days",
    "Estimate",
    "Flag",
    "Interval",
    "Losses",
    "MeterError",
    "ParameterError",
    "Plane",
    "Readings",
    "Record",
    "Release",
    "Site",
    "SourceError",
    "SunveilError",
    "System",
    "TooLittleData",
    "Weather",
    "WeatherError",
    "get_weather",
    "infer",
    "infer_frame",
    "infer_record",
    "read_meters",
    "release",
]

_HOMES = {
    "sunveil.errors": (
        "MeterError",
        "ParameterError",
        "SourceError",
        "SunveilError",
        "TooLittleData",
        "WeatherError",
    ),
    "sunveil.estimate": ("Estimate", "Flag", "Interval"),
    "sunveil.infer": ("infer", "infer_frame", "infer_record"),
    "sunveil.meters": ("Record", "read_meters"),
    "sunveil.privacy.units": ("Days", "Readings", "System"),
    "sunveil.releases.answer": ("Release",),
    "sunveil.releases.release": ("release",),
    "sunveil.site": ("Losses", "Plane", "Site"),
    "sunveil.weather": ("Weather", "get_weather"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


class _Package(ModuleType):
    """A package whose ``infer`` is the function, whoever has imported the module so named."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system binds each submodule on its package, which would hide the function.
        if not (name in _HOME_OF and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
