"""What is inferred of a system: one schema, its flags, and the forms that others read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.estimates.estimates_table import Estimate, Estimates
    from sunveil.estimates.flags_and_quality import Flag, Quality
    from sunveil.estimates.intervals_and_rounding import Interval
    from sunveil.estimates.planes_and_intervals import (
        Assumptions,
        ClockFinding,
        HouseholdEstimate,
        PlaneEstimate,
        TrackerEstimate,
        YearEstimate,
    )

__all__ = [
    "Assumptions",
    "ClockFinding",
    "Estimate",
    "Estimates",
    "Flag",
    "HouseholdEstimate",
    "Interval",
    "PlaneEstimate",
    "Quality",
    "TrackerEstimate",
    "YearEstimate",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.estimates.estimates_table": ("Estimate", "Estimates"),
        "sunveil.estimates.flags_and_quality": ("Flag", "Quality"),
        "sunveil.estimates.intervals_and_rounding": ("Interval",),
        "sunveil.estimates.planes_and_intervals": (
            "Assumptions",
            "ClockFinding",
            "HouseholdEstimate",
            "PlaneEstimate",
            "TrackerEstimate",
            "YearEstimate",
        ),
    },
)
