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
        "its readings do not look like the generation of a PV system, which is zero at night and"
        " follows the sun by day; give the column or the meter of the generation, or infer it all"
        " the same with option `force`"
    ),
    Doubt.EXPORTED_ONLY: (
        "its readings are often zero while the sun is well up, as of a meter that counts only what"
        " a household leaves over, and too little is left to tell its generation; give the"
        " generation itself, check its place and its time zone, or infer it all the same with"
        " option `force`"
    ),
    Doubt.WRONG_PLACE: (
        "its days are not those of its place, since there is power while the sun is down there or"
        " light for too long; check latitude and longitude, their signs and their order, and the"
        " time zone, or infer it all the same with option `force`"
    ),
    Doubt.NOT_NET: (
        "its readings do not look like generation less a household's load, which is below zero at"
        " night and above zero on bright days; check their sign, their place and their time zone,"
        " give the meter of the generation, or infer it all the same with option `force`"
    ),
}


SAVINGS = tuple(DaylightSaving)


INFERRED, TOO_LITTLE, NO_WEATHER, NO_FIT = range(4)


# What is doubted comes behind these.
NOT_GENERATION, EXPORTED_ONLY, WRONG_PLACE, NOT_NET = (NO_FIT + doubt for doubt in Doubt if doubt)


@checked
def reason(outcome: int, lit: int, *, source: str) -> str:
    """Say why a system was not inferred, without its name."""
    whole("outcome", outcome, low=0, high=NO_FIT + max(Doubt))
    if outcome > NO_FIT:
        return WORDS[Doubt(outcome - NO_FIT)]
    if outcome == NO_FIT:
        return "no plane explains its readings; check their unit and their times"
    if outcome == NO_WEATHER and source == "clearsky":
        return (
            "the sun is not well up at its place during any of its readings; check latitude,"
            " longitude and the dates"
        )
    if outcome == NO_WEATHER:
        return (
            f"the weather from {source} covers none of the daylight readings; give weather of the"
            " same dates"
        )
    return (
        f"there are {lit} daylight readings with power, and at least {FEWEST_READINGS} are needed;"
        " give a longer record, or check its place and its time zone"
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
    Flag.CLIPPING: "the inverter's limit cuts the top off bright days",
    Flag.LOW_AGREEMENT: "few readings look like any single plane under this weather",
    Flag.TOO_LITTLE_DATA: "too few days for a whole season, so the intervals are wide",
    Flag.CLOCK_REPAIRED: "the declared clock did not fit the sun and was repaired",
    Flag.CLOCK_UNCHECKED: "too few days show first and last light, so that a wrong clock would go"
    " unnoticed",
    Flag.CLOCK_DOUBTFUL: "neither the declared clock nor another fits first and last light: the"
    " intervals hold the answers of both",
    Flag.NOT_ONE_PLANE: "its modules stand on more than one plane, and nothing can tell which",
    Flag.NET_METER: "a household's consumption is in the readings, and was told from the"
    " generation",
    Flag.NOT_GENERATION: "the readings do not look like those of a PV system",
    Flag.EXPORTED_ONLY: "only what a household left over is in the readings",
    Flag.WRONG_PLACE: "its days are not those of this place",
    Flag.UNLIKELY_UNIT: "the capacity would make sense in another unit",
    Flag.LABEL_UNKNOWN: "nobody said which instant of its interval a stamp names, nor does the sun:"
    " the interval of azimuth holds the answers for its start, its middle and its end",
    Flag.FEW_CLEAR_HOURS: "too few clear hours for a sure plane, so the intervals are wide",
    Flag.SEASONAL_HAZE: "winter days are hazy, which makes a plane look flatter than it is",
    Flag.PLANES_UNRESOLVED: "two planes explain its readings better than one, but not by enough to"
    " tell: azimuth and tilt are those of one plane, and may be between two",
    Flag.TWO_PLANES: "its modules stand on two planes: azimuth and tilt are those of the one plane"
    " that would do best in their place",
    Flag.TRACKER: "its modules follow the sun",
    Flag.LITTLE_EXPORT: "the household uses up its generation in most hours of daylight",
    Flag.LOAD_FOLLOWS_SUN: "the household's load rises and falls with the sun, as cooling does, and"
    " hides generation",
    Flag.STORAGE: "a battery or a car takes up the generation",
    Flag.HEAVY_LOAD: "the household's load is several times its generation",
    Flag.CAPACITY_BOUNDED: "no plane agrees with the highest powers: the capacity is theirs",
}


class Quality(StrEnum):
    """How far an estimate can be relied on, in one word."""

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
    """Return how far an estimate can be relied on, and why."""
    # Two planes and a tracker that were told are judged as a plane is: neither flag speaks against
    # them.
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
