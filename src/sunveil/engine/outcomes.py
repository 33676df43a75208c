"""What comes out of a block of systems: estimates, outcomes and flags, one entry each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields, whole
from sunveil.checked import checked
from sunveil.engine.assumed import FEWEST_READINGS
from sunveil.engine.intervals import ANY_AZIMUTH
from sunveil.engine.model import CAPACITY, EAST, NORTH
from sunveil.engine.plausible import WORDS, Doubt
from sunveil.engine.shade import COLUMNS
from sunveil.engine.years import YearFits
from sunveil.estimate import DaylightSaving, Flag, YearEstimate
from sunveil.plane import normals
from sunveil.site import Array

Matrix = NDArray[np.float32]

SAVINGS = tuple(DaylightSaving)
INFERRED, TOO_LITTLE, NO_WEATHER, NO_FIT = range(4)
# What is doubted comes behind these.
NOT_GENERATION, EXPORTED_ONLY, WRONG_PLACE, NOT_NET = (NO_FIT + doubt for doubt in Doubt if doubt)
# A capacity that may be so many times as large as it may be is not known at all: the vaguest of a
# real winter, 18 dark days in Utrecht, is four times. [factor]
VAGUEST = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class BlockEstimates:
    """Estimates of a block of systems, one entry each: private.

    Parameters
    ----------
    outcome
        0 where the system was inferred; see :func:`reason` for the others.
    surface_azimuth, azimuth_low, azimuth_high
        Azimuth and its 90% interval, clockwise. [degrees]
    surface_tilt, tilt_low, tilt_high
        Tilt and its 90% interval. [degrees]
    dc_capacity_kw, capacity_low, capacity_high
        DC capacity and its 90% interval. [kW]
    plane_error_degrees
        Radius that holds the plane with 90%. [degrees]
    haze_summer, haze_winter
        Linke turbidity of clear hours beyond the sky's own, in midsummer and in midwinter.
    heat
        Rise of the modules' temperature over that of Faiman's open rack.
    ac_limit_kw
        The inverter's limit where clipping shows, NaN elsewhere. [kW]
    clock_offset_minutes, clock_saving
        What the sun says of the clock; the second as a place in ``SAVINGS``.
    clock_gain
        The share of energy that a repair gained.
    clock_steps
        Tuples of :class:`~sunveil.estimate.ClockStep`, empty where the clock was never set.
    agreement
        Share of the bright readings that the estimate explains.
    clear_hours
        Hours of clear days that the estimate rests on.
    trend
        Change of output, NaN where too few years tell. [% per year]
    skyline
        Elevation below which the sun is hidden, in sectors clockwise from north, shape (systems,
        sectors). [degrees]
    years
        A tuple of :class:`~sunveil.estimate.YearEstimate` for each system, none of single years.
    planes
        A tuple of two :class:`~sunveil.planes.PlaneEstimate` for each system that stands on two
        planes, none of the others.
    tracker
        A :class:`~sunveil.planes.TrackerEstimate` for each tracker, None of the others.
    household
        A :class:`~sunveil.household.HouseholdEstimate` for each net meter, None of the others.
    lit
        Daylight readings with power.
    flags
        Bits in the order of :class:`~sunveil.estimate.Flag`.
    """

    outcome: NDArray[np.uint8]
    surface_azimuth: Array
    azimuth_low: Array
    azimuth_high: Array
    surface_tilt: Array
    tilt_low: Array
    tilt_high: Array
    dc_capacity_kw: Array
    capacity_low: Array
    capacity_high: Array
    plane_error_degrees: Array
    haze_summer: Array
    haze_winter: Array
    heat: Array
    ac_limit_kw: Array
    clock_offset_minutes: Array
    clock_saving: NDArray[np.int8]
    clock_gain: Array
    clock_steps: NDArray[Any]
    agreement: Array
    clear_hours: Array
    trend: Array
    skyline: Matrix
    years: NDArray[Any]
    planes: NDArray[Any]
    tracker: NDArray[Any]
    household: NDArray[Any]
    lit: NDArray[np.int32]
    flags: NDArray[np.uint32]

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return f"BlockEstimates({len(self.outcome)} systems, private)"

    def __len__(self) -> int:
        return len(self.outcome)

    def take(self, chosen: NDArray[np.bool_]) -> BlockEstimates:
        """Return some of the systems."""
        return BlockEstimates(
            **{each.name: getattr(self, each.name)[chosen] for each in fields(self)}
        )

    def put(self, places: NDArray[np.intp], found: BlockEstimates) -> None:
        """Write estimates over those of some systems."""
        for each in fields(self):
            getattr(self, each.name)[places] = getattr(found, each.name)


def hold_both(out: BlockEstimates, other: BlockEstimates, systems: NDArray[np.intp]) -> None:
    """Widen the intervals of some systems so that they hold other answers and theirs too."""
    here = systems[(out.outcome[systems] == INFERRED) & (other.outcome[systems] == INFERRED)]
    centre, its = out.surface_azimuth[here], other.surface_azimuth[here]
    turn = (its - centre + 180.0) % 360.0 - 180.0
    below = np.maximum(
        (centre - out.azimuth_low[here]) % 360.0, (its - other.azimuth_low[here]) % 360.0 - turn
    )
    above = np.maximum(
        (out.azimuth_high[here] - centre) % 360.0, (other.azimuth_high[here] - its) % 360.0 + turn
    )
    every = below + above > ANY_AZIMUTH
    out.azimuth_low[here] = np.where(every, 0.0, (centre - below) % 360.0)
    out.azimuth_high[here] = np.where(every, 360.0, (centre + above) % 360.0)
    for low, high in (("tilt_low", "tilt_high"), ("capacity_low", "capacity_high")):
        getattr(out, low)[here] = np.minimum(getattr(out, low), getattr(other, low))[here]
        getattr(out, high)[here] = np.maximum(getattr(out, high), getattr(other, high))[here]
    own, theirs = (
        normals(each.surface_azimuth[here], each.surface_tilt[here]) for each in (out, other)
    )
    apart = np.degrees(np.arccos(np.clip((own * theirs).sum(axis=1), -1.0, 1.0)))
    out.plane_error_degrees[here] = np.maximum(
        out.plane_error_degrees[here], apart + other.plane_error_degrees[here]
    )


@checked
def reason(outcome: int, lit: int, *, source: str) -> str:
    """Say why a system was not inferred, without its name.

    Parameters
    ----------
    outcome
        Of :class:`BlockEstimates`.
    lit
        How many daylight readings have power.
    source
        Who made the weather.
    """
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


def skyline_of(elevations: Matrix) -> tuple[float, ...]:
    """Return a skyline as plain numbers, none where nothing hides the sun. [degrees]"""
    return tuple(elevations.tolist()) if elevations.any() else ()


def says_anything(found: BlockEstimates) -> NDArray[np.bool_]:
    """Return which estimates say anything, but for what need not be known."""
    optional = {"ac_limit_kw", "trend", "skyline", "years", "planes", "tracker", "clock_steps"}
    optional.add("household")
    columns = [getattr(found, each.name) for each in fields(found) if each.name not in optional]
    finite = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return np.asarray(finite & (found.capacity_high <= VAGUEST * found.capacity_low))


def year_tuples(years: YearFits, placed: Array, fitted: Array) -> NDArray[Any]:
    """Return what the single years of each system say, at the place where it stands.

    Parameters
    ----------
    years
        The fits of single years.
    placed, fitted
        The systems' own estimates as placed and as fitted, shape (systems, PARAMETERS): what moves
        these moves the years alike.
    """
    rows: list[tuple[YearEstimate, ...]] = [()] * len(placed)
    for s in np.unique(years.system).tolist():
        own = years.of(s)
        points = years.points[own] + (placed[s] - fitted[s])
        first = years.first[own].astype("datetime64[s]").astype("datetime64[D]")
        rows[s] = tuple(
            YearEstimate(
                day.item(),
                float(np.degrees(np.arctan2(point[EAST], point[NORTH])) % 360.0),
                float(np.hypot(point[EAST], point[NORTH])),
                float(np.exp(point[CAPACITY])),
            )
            for day, point in zip(first, points, strict=True)
        )
    return _tuples(rows)


def no_tuples(count: int) -> NDArray[Any]:
    """Return an empty tuple for each of so many systems."""
    return _tuples([()] * count)


def _tuples(rows: Sequence[tuple[Any, ...]]) -> NDArray[Any]:
    out = np.empty(len(rows), dtype=object)
    out[:] = rows
    return out


def not_inferred(outcome: NDArray[np.int64], lit: NDArray[np.integer]) -> BlockEstimates:
    """Return systems that are not inferred, and why."""
    count = len(outcome)
    kinds: dict[str, Any] = {
        "outcome": outcome.astype(np.uint8),
        "clock_saving": np.zeros(count, dtype=np.int8),
        "lit": lit.astype(np.int32),
        "flags": np.zeros(count, dtype=np.uint32),
        "clock_offset_minutes": np.zeros(count),
        "clock_gain": np.zeros(count),
        "skyline": np.zeros((count, COLUMNS), dtype=np.float32),
        "years": no_tuples(count),
        "planes": no_tuples(count),
        "tracker": np.full(count, None, dtype=object),
        "household": np.full(count, None, dtype=object),
        "clock_steps": no_tuples(count),
    }
    numbers = {each.name: np.full(count, np.nan) for each in fields(BlockEstimates)}
    return BlockEstimates(**(numbers | kinds))
