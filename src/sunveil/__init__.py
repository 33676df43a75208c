"""Infer the plane and the capacity of solar PV systems from meters, and release them privately.

>>> import sunveil
>>> sunveil.__version__
'0.3.0'

Names are loaded when first asked for, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.errors import (
        BudgetExceeded,
        LedgerConflict,
        LedgerError,
        MeterError,
        MissingExtra,
        ParameterError,
        SourceError,
        SunveilError,
        TooLittleData,
        WeatherError,
    )
    from sunveil.estimates.estimates_table import Estimate, Estimates
    from sunveil.estimates.flags_and_quality import Flag
    from sunveil.estimates.inference_options import InferOptions
    from sunveil.estimates.intervals_and_rounding import Interval
    from sunveil.estimates.planes_and_intervals import (
        HouseholdEstimate,
        PlaneEstimate,
        TrackerEstimate,
    )
    from sunveil.estimates.read_write import read_estimates
    from sunveil.fleet.open import open_fleet
    from sunveil.inference.fleet_run import infer_fleet
    from sunveil.inference.infer import infer, infer_frame, infer_record, separate
    from sunveil.meters.read_files import read_meters
    from sunveil.meters.reading_options import MeterOptions
    from sunveil.meters.record import Record
    from sunveil.power.compute_power import fleet_power
    from sunveil.privacy.guarantees import Days, Readings, System
    from sunveil.releases.release import release
    from sunveil.releases.release_answer import Release
    from sunveil.simulate.system_power import simulate_fleet
    from sunveil.site import Losses, Plane, Site
    from sunveil.weather.sources import get_weather
    from sunveil.weather.weather_data import Weather

__version__ = "0.3.0"

__all__ = [
    "BudgetExceeded",
    "Days",
    "Estimate",
    "Estimates",
    "Flag",
    "HouseholdEstimate",
    "InferOptions",
    "Interval",
    "LedgerConflict",
    "LedgerError",
    "Losses",
    "MeterError",
    "MeterOptions",
    "MissingExtra",
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
    "fleet_power",
    "get_weather",
    "infer",
    "infer_fleet",
    "infer_frame",
    "infer_record",
    "open_fleet",
    "read_estimates",
    "read_meters",
    "release",
    "separate",
    "simulate_fleet",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.errors": (
            "BudgetExceeded",
            "LedgerConflict",
            "LedgerError",
            "MeterError",
            "MissingExtra",
            "ParameterError",
            "SourceError",
            "SunveilError",
            "TooLittleData",
            "WeatherError",
        ),
        "sunveil.estimates.estimates_table": ("Estimate", "Estimates"),
        "sunveil.estimates.flags_and_quality": ("Flag",),
        "sunveil.estimates.inference_options": ("InferOptions",),
        "sunveil.estimates.intervals_and_rounding": ("Interval",),
        "sunveil.estimates.planes_and_intervals": (
            "HouseholdEstimate",
            "PlaneEstimate",
            "TrackerEstimate",
        ),
        "sunveil.estimates.read_write": ("read_estimates",),
        "sunveil.fleet.open": ("open_fleet",),
        "sunveil.inference.infer": ("infer", "infer_frame", "infer_record", "separate"),
        "sunveil.meters.read_files": ("read_meters",),
        "sunveil.meters.record": ("Record",),
        "sunveil.power.compute_power": ("fleet_power",),
        "sunveil.privacy.guarantees": ("Days", "Readings", "System"),
        "sunveil.releases.release": ("release",),
        "sunveil.releases.release_answer": ("Release",),
        "sunveil.site": ("Losses", "Plane", "Site"),
        "sunveil.weather.sources": ("get_weather",),
        "sunveil.weather.weather_data": ("Weather",),
        "sunveil.inference.fleet_run": ("infer_fleet",),
        "sunveil.meters.reading_options": ("MeterOptions",),
        "sunveil.simulate.system_power": ("simulate_fleet",),
    },
)
