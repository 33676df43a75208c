"""Infer the plane and the capacity of solar PV systems from meters, and release them privately.

>>> import sunveil
>>> sunveil.__version__
'0.1.0'

Names are loaded when first asked for, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil.ondemand import on_demand

if TYPE_CHECKING:
    from sunveil.errors import (
        MeterError,
        ParameterError,
        SourceError,
        SunveilError,
        TooLittleData,
        WeatherError,
    )
    from sunveil.estimate import Estimate, Flag
    from sunveil.frame_estimates import FrameEstimates
    from sunveil.household import HouseholdEstimate
    from sunveil.infer import infer, infer_frame, infer_record
    from sunveil.meters import Record, read_meters
    from sunveil.planes import PlaneEstimate, TrackerEstimate
    from sunveil.power.make import power
    from sunveil.privacy.units import Days, Readings, System
    from sunveil.quantities import Interval
    from sunveil.releases.answer import Release
    from sunveil.releases.release import release
    from sunveil.separate import separate
    from sunveil.site import Losses, Plane, Site
    from sunveil.weather import Weather, get_weather

__version__ = "0.2.0"

__all__ = [
    "Days",
    "Estimate",
    "Flag",
    "FrameEstimates",
    "HouseholdEstimate",
    "Interval",
    "Losses",
    "MeterError",
    "ParameterError",
    "Plane",
    "PlaneEstimate",
    "Readings",
    "Record",
    "Release",
    "Site",
    "SourceError",
    "SunveilError",
    "System",
    "TooLittleData",
    "TrackerEstimate",
    "Weather",
    "WeatherError",
    "get_weather",
    "infer",
    "infer_frame",
    "infer_record",
    "power",
    "read_meters",
    "release",
    "separate",
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
    "sunveil.estimate": ("Estimate", "Flag"),
    "sunveil.frame_estimates": ("FrameEstimates",),
    "sunveil.household": ("HouseholdEstimate",),
    "sunveil.infer": ("infer", "infer_frame", "infer_record"),
    "sunveil.meters": ("Record", "read_meters"),
    "sunveil.planes": ("PlaneEstimate", "TrackerEstimate"),
    "sunveil.power.make": ("power",),
    "sunveil.privacy.units": ("Days", "Readings", "System"),
    "sunveil.quantities": ("Interval",),
    "sunveil.releases.answer": ("Release",),
    "sunveil.releases.release": ("release",),
    "sunveil.separate": ("separate",),
    "sunveil.site": ("Losses", "Plane", "Site"),
    "sunveil.weather": ("Weather", "get_weather"),
}
on_demand(__name__, _HOMES)
