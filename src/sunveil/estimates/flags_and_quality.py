"""Flags, quality and outcomes of estimates, with their explanations."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum, StrEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sunveil._options import checked, whole
from sunveil.estimates.planes_and_intervals import FEWEST_READINGS, DaylightSaving


class Doubt(IntEnum):
    """Why readings are not taken for those of a PV system at a place."""

    NONE = 0
    NOT_GENERATION = 1
    EXPORTED_ONLY = 2
    WRONG_PLACE = 3
    NOT_NET = 4


# What is wrong with a record, and what to do.
WORDS = {
    Doubt.NOT_GENERATION: (
        "its readings do not look like PV generation, which is zero at night and follows the sun by"
        " day; give the column or the meter of the generation, or infer it anyway with option"
        " `force`"
    ),
    Doubt.EXPORTED_ONLY: (
        "its readings are often zero while the sun is high, as from a meter that records only a"
        " household's exports, and too little is exported to estimate the generation; give the"
        " generation itself, check its place and its time zone, or infer it anyway with option"
        " `force`"
    ),
    Doubt.WRONG_PLACE: (
        "its readings do not match its place: there is power while the sun is below the horizon,"
        " or the days are too long; check latitude and longitude, their signs and their order, and"
        " the time zone, or infer it anyway with option `force`"
    ),
    Doubt.NOT_NET: (
        "its readings do not look like generation minus a household's load, which is negative at"
        " night and positive on bright days; check their sign, their place and their time zone,"
        " give the meter of the generation, or infer it anyway with option `force`"
    ),
}

SAVINGS = tuple(DaylightSaving)

INFERRED, TOO_LITTLE, NO_WEATHER, NO_FIT = range(4)

# The outcomes of implausible readings follow.
NOT_GENERATION, EXPORTED_ONLY, WRONG_PLACE, NOT_NET = (NO_FIT + kind for kind in Doubt if kind)


@checked
def reason(outcome: int, daylight: int, *, source: str) -> str:
    """Say why a system was not inferred, without its name."""
    whole("outcome", outcome, low=0, high=NO_FIT + max(Doubt))
    if outcome > NO_FIT:
        return WORDS[Doubt(outcome - NO_FIT)]
    if outcome == NO_FIT:
        return "no plane explains its readings; check their unit and their times"
    if outcome == NO_WEATHER and source == "clearsky":
        return (
            "the sun is below the horizon or low during all of its readings; check latitude,"
            " longitude and the dates"
        )
    if outcome == NO_WEATHER:
        return (
            f"the weather from {source} covers none of the daylight readings; give weather of the"
            " same dates"
        )
    return (
        f"there are {daylight} daylight readings with power, and at least {FEWEST_READINGS} are"
        " needed; give a longer record, or check its place and its time zone"
    )


def flag_bits(flag: Flag, where: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return the bit of a flag for the systems that have it."""
    return where.astype(np.uint32) << np.uint32(list(Flag).index(flag))


@cache
def flags_of(bits: int) -> tuple[Flag, ...]:
    """Return the flags that the bits of a system stand for."""
    return tuple(flag for place, flag in enumerate(Flag) if bits >> place & 1)


class Flag(StrEnum):
    """A warning beside an estimate; the documentation says what to do about each."""

    CLIPPING = "clipping"
    LOW_AGREEMENT = "low_agreement"
    TOO_LITTLE_DATA = "too_little_data"
    CLOCK_REPAIRED = "clock_repaired"
    NOT_ONE_PLANE = "not_one_fixed_plane"
    NET_METER = "net_meter"
    NOT_GENERATION = "not_generation"
    EXPORTED_ONLY = "exported_only"
    WRONG_PLACE = "wrong_place"
    UNLIKELY_UNIT = "unlikely_unit"
    LABEL_UNKNOWN = "label_unknown"
    FEW_CLEAR_HOURS = "few_clear_hours"
    SEASONAL_HAZE = "seasonal_haze"
    CAPACITY_BOUNDED = "capacity_bounded"
    TWO_PLANES = "two_planes"
    PLANES_UNRESOLVED = "planes_unresolved"
    TRACKER = "tracker"
    LITTLE_EXPORT = "little_export"
    LOAD_FOLLOWS_SUN = "load_follows_sun"
    STORAGE = "storage"
    HEAVY_LOAD = "heavy_load"
    CLOCK_UNCHECKED = "clock_unchecked"
    CLOCK_DOUBTFUL = "clock_doubtful"


FLAG_MEANINGS = {
    Flag.CLIPPING: "the inverter limits the power on bright days",
    Flag.LOW_AGREEMENT: "poor fit to any single plane under this weather",
    Flag.TOO_LITTLE_DATA: "too few days for a whole season, so the intervals are wide",
    Flag.CLOCK_REPAIRED: "the declared clock did not fit the sun and was repaired",
    Flag.CLOCK_UNCHECKED: "too few days show first and last light, so a wrong clock would not be"
    " noticed",
    Flag.CLOCK_DOUBTFUL: "neither the declared clock nor any other fits first and last light; the"
    " intervals cover both",
    Flag.NOT_ONE_PLANE: "more than one roof plane, and the planes cannot be separated",
    Flag.NET_METER: "the readings include household consumption, which was separated from"
    " generation",
    Flag.NOT_GENERATION: "the readings do not look like PV generation",
    Flag.EXPORTED_ONLY: "the readings hold only what a household exported",
    Flag.WRONG_PLACE: "the readings do not match the location: there is power when the sun is below"
    " the horizon",
    Flag.UNLIKELY_UNIT: "the capacity is unlikely in this unit and plausible in another",
    Flag.LABEL_UNKNOWN: "it is unknown whether time stamps mark the start, middle or end of each"
    " interval; the azimuth interval covers all three",
    Flag.FEW_CLEAR_HOURS: "too few clear hours, so the intervals are wide",
    Flag.SEASONAL_HAZE: "winter days are hazy, which makes the plane look flatter than it is",
    Flag.PLANES_UNRESOLVED: "two planes fit better than one, but not clearly; azimuth and tilt are"
    " of the best single plane and may lie between the two",
    Flag.TWO_PLANES: "two roof planes found; azimuth and tilt are of the best single-plane fit",
    Flag.TRACKER: "the modules track the sun",
    Flag.LITTLE_EXPORT: "the household uses all of its generation in most daylight hours",
    Flag.LOAD_FOLLOWS_SUN: "the household's load rises and falls with the sun, as cooling does, and"
    " hides part of the generation",
    Flag.STORAGE: "a battery or a car absorbs the generation",
    Flag.HEAVY_LOAD: "the household's load is several times its generation",
    Flag.CAPACITY_BOUNDED: "no orientation explains the peak output; the capacity is taken from the"
    " peak",
}


class Quality(StrEnum):
    """Grade of an estimate."""

    GOOD = "good"
    FAIR = "fair"
    POOR = "poor"


# Radii that hold the plane of a good and of a fair estimate. [degrees]
GOOD_WITHIN, FAIR_WITHIN = 7.0, 12.0

# With these flags an estimate is poor, whatever its intervals; with those it is fair at best.
POOR_FLAGS = (
    Flag.NOT_GENERATION,
    Flag.WRONG_PLACE,
    Flag.LITTLE_EXPORT,
    Flag.LOAD_FOLLOWS_SUN,
    Flag.STORAGE,
    Flag.HEAVY_LOAD,
    Flag.NOT_ONE_PLANE,
    Flag.CLOCK_DOUBTFUL,
    Flag.CAPACITY_BOUNDED,
    Flag.LOW_AGREEMENT,
    Flag.SEASONAL_HAZE,
    Flag.TOO_LITTLE_DATA,
    Flag.FEW_CLEAR_HOURS,
    Flag.UNLIKELY_UNIT,
)

FAIR_FLAGS = (Flag.CLOCK_UNCHECKED, Flag.PLANES_UNRESOLVED, Flag.LABEL_UNKNOWN)


def judge(flags: Collection[Flag], plane_error_degrees: float) -> tuple[Quality, str]:
    """Return the grade of an estimate, and the reason."""
    # Two planes and a tracker are graded as one plane is: their flags are no warnings.
    plane_error_degrees = round(plane_error_degrees, 2)  # as a fleet's table has it
    for quality, bad in ((Quality.POOR, POOR_FLAGS), (Quality.FAIR, FAIR_FLAGS)):
        for flag in bad:
            if flag in flags and (quality is Quality.POOR or plane_error_degrees <= FAIR_WITHIN):
                return quality, FLAG_MEANINGS[flag]
    what = "the plane is"
    if Flag.TWO_PLANES in flags:
        what = "each of the two planes is"
    elif Flag.TRACKER in flags:
        what = "the axis of the tracker is"
    reason = f"{what} known to within {plane_error_degrees:.0f} degrees"
    if plane_error_degrees <= GOOD_WITHIN:
        return Quality.GOOD, reason
    return (Quality.FAIR if plane_error_degrees <= FAIR_WITHIN else Quality.POOR), reason
