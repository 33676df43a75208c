"""Infer the plane and the capacity of solar PV systems from their meters.

>>> import sunveil
>>> sunveil.__version__
'0.1.0'
"""

from __future__ import annotations

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
from sunveil.site import Losses, Plane, Site
from sunveil.weather import Weather, get_weather

__version__ = "0.1.0"

__all__ = [
    "Estimate",
    "Flag",
    "Interval",
    "Losses",
    "MeterError",
    "ParameterError",
    "Plane",
    "Record",
    "Site",
    "SourceError",
    "SunveilError",
    "TooLittleData",
    "Weather",
    "WeatherError",
    "get_weather",
    "infer",
    "infer_frame",
    "infer_record",
    "read_meters",
]
