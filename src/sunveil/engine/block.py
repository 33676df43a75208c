"""The engine: all systems of a block, which share a sky, a grid of times and a declared clock.

One system is a block of one. :func:`infer_block` reads as the method's page tells it: lay the
readings onto the sky, search the neighbourhood of each plane, find the clock, refine without what
hides the sun, say how sure each answer is, and refuse what is no generation at its place.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.cell import Places, as_placed
from sunveil.engine.assumed import (
    AGREEING,
    CLIPPED_SHARE,
    FEWEST_CLEAR_HOURS,
    FEWEST_DAYS,
    FEWEST_READINGS,
    LOW_AGREEMENT_CLEAR,
    LOW_AGREEMENT_MEASURED,
    UNKNOWN_LABEL,
    Clock,
    EngineOptions,
    SystematicErrors,
)
from sunveil.engine.ceiling import exclude, shown_capacity, widened
from sunveil.engine.clear import dull_winters, haze_covariances
from sunveil.engine.clocks import NOBODY, BlockClocks, find_clocks, repaired_rows
from sunveil.engine.final import fit_finally
from sunveil.engine.hypotheses import FoundClock
from sunveil.engine.intervals import intervals_of
from sunveil.engine.model import (
    CAPACITY,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NO_LIMIT,
    NORTH,
)
from sunveil.engine.plausible import WORDS, Doubt, doubts
from sunveil.engine.prepared import PreparedSky, prepare
from sunveil.engine.readings import believable, on_long_grid
from sunveil.engine.search import Searched, search
from sunveil.engine.shade import COLUMNS
from sunveil.engine.skytable import SkyTable
from sunveil.engine.years import YearFits, fit_years, year_covariances
from sunveil.estimate import DaylightSaving, Flag, YearEstimate
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.site import Array

Matrix = NDArray[np.float32]

SAVINGS = tuple(DaylightSaving)
INFERRED, TOO_LITTLE, NO_WEATHER, NO_FIT = range(4)
# What is doubted comes behind these.
NOT_GENERATION, EXPORTED_ONLY, WRONG_PLACE = (NO_FIT + doubt for doubt in Doubt if doubt)
# A capacity that may be so many times as large as it may be is not known at all: the vaguest of a
# real winter, 18 dark days in Utrecht, is four times. [factor]
VAGUEST = 30.0
# Flags of readings that no single plane gives.
_STRANGE = sum(1 << tuple(Flag).index(each) for each in (Flag.LOW_AGREEMENT, Flag.NOT_ONE_PLANE))
ONE = np.ones(1, dtype=bool)
# Readings of a block that are worked on at once. [numbers]
CHUNK = 1_500_000


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
    lit: NDArray[np.int32]
    flags: NDArray[np.uint32]

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


def infer_block(
    power: Matrix,
    sky: SkyTable,
    *,
    options: EngineOptions | None = None,
    timezone: str = "UTC",
    label_known: bool = True,
    places: Places | None = None,
) -> BlockEstimates:
    """Infer every system of a block.

    Parameters
    ----------
    power
        Readings on ``sky.grid``, NaN where there is none, shape (systems, intervals). [kW]
    sky
        The sky that they saw.
    options
        What is assumed and done.
    timezone
        The clock that the stamps were declared to be on, whose daylight saving counts.
    label_known
        Whether somebody said which instant of its interval a stamp names.
    places
        Where the systems stand, when that is not the sky's own place.

    Privacy
    -------
    None: estimates are as private as the readings.
    """
    prepared = prepare(sky, options or EngineOptions())
    out = _nothing(np.full(len(power), NO_WEATHER), np.zeros(len(power), dtype=np.int32))
    size = max(1, CHUNK // sky.grid.count)
    for first in range(0, len(power), size):
        part = np.arange(first, min(first + size, len(power)))
        own = np.ascontiguousarray(power[first : part[-1] + 1], dtype=np.float32)
        rows = on_long_grid(believable(own), sky.grid)
        here = None if places is None else places.take(part)
        found = _infer_rows(rows, prepared, timezone=timezone, label_known=label_known, places=here)
        out.put(part, found)
    return out


def _infer_rows(
    rows: Matrix,
    prepared: PreparedSky,
    *,
    timezone: str,
    label_known: bool,
    places: Places | None,
) -> BlockEstimates:
    """Infer systems from readings on the long grid: search, clocks, final fits."""
    if not prepared.sky.usable:
        return _nothing(np.full(len(rows), NO_WEATHER), np.zeros(len(rows), dtype=np.int32))
    searched = search(rows, prepared)
    # light tells the label of a long interval, but not that of a short one
    short = prepared.sky.grid.step < SHORT_INTERVAL
    clocks = BlockClocks(NOBODY, NOBODY, np.zeros(len(rows), dtype=bool))
    if prepared.options.clock is not Clock.GIVEN:
        clocks = find_clocks(
            rows, searched, prepared, timezone=timezone, label_known=label_known or short
        )
    whole, half = clocks.whole, clocks.half
    unknown = clocks.off_label | (short and not label_known)
    moved = np.concatenate([whole.systems, half.systems])
    right = np.setdiff1d(np.arange(len(rows)), moved)
    parts = [searched.take(right), *([] if whole.searched is None else [whole.searched])]
    out = _nothing(np.full(len(rows), TOO_LITTLE), searched.readings.lit)
    settled = np.concatenate([right, whole.systems])
    _complete(out, settled, Searched.joined(parts), prepared, unknown, places)
    if half.searched is not None:
        _complete(out, half.systems, half.searched, prepared.half, unknown, places)
    for s, clock in zip(moved, (*whole.clocks, *half.clocks), strict=True):
        _tell_clock(out, int(s), clock)
    out.flags[unknown & (out.outcome == INFERRED)] |= flag_bits(Flag.LABEL_UNKNOWN, ONE)[0]
    _question(out, right, rows[right], searched.readings.top[right], prepared)
    for each, half_grid in ((whole, False), (half, True)):
        if each.searched is not None:
            own = repaired_rows(rows, each, prepared, timezone=timezone)
            here = prepared.half if half_grid else prepared
            _question(out, each.systems, own, each.searched.readings.top, here)
    return out


def _question(
    out: BlockEstimates,
    systems: NDArray[np.intp],
    rows: Matrix,
    top: Array,
    prepared: PreparedSky,
) -> None:
    """Refuse those of some systems that are no generation at their place, or flag them if forced.

    Parameters
    ----------
    out
        The estimates of the block, changed in place.
    systems
        Which of its systems.
    rows
        Their readings where their clocks put them.
    top
        Their highest powers. [kW]
    prepared
        The sky.
    """
    strange = (out.flags[systems] & _STRANGE) > 0
    found = doubts(rows, top, prepared, strange=strange)
    found[out.outcome[systems] == TOO_LITTLE] = Doubt.NONE
    for doubt in set(found.tolist()) - {Doubt.NONE}:
        doubted = systems[found == doubt]
        if prepared.options.force:
            flag = Flag(Doubt(doubt).name.lower())
            out.flags[doubted] |= flag_bits(flag, np.ones(len(doubted), dtype=bool))
        else:
            out.put(doubted, _nothing(np.full(len(doubted), NO_FIT + doubt), out.lit[doubted]))


def _complete(
    out: BlockEstimates,
    systems: NDArray[np.intp],
    searched: Searched,
    prepared: PreparedSky,
    unknown_label: NDArray[np.bool_],
    places: Places | None,
) -> None:
    """Fill the estimates of some systems of a block from what was searched of them."""
    for unknown in (False, True):
        here = np.flatnonzero(unknown_label[systems] == unknown)
        if len(here):
            chosen = systems[here]
            own = None if places is None else places.take(chosen)
            errors = _systematic(prepared.sky.grid.step, label_known=not unknown)
            out.put(chosen, _completed(searched.take(here), prepared, errors, own))


def _systematic(step: int, *, label_known: bool) -> SystematicErrors:
    if label_known:
        return SystematicErrors()
    return SystematicErrors(clock_minutes=UNKNOWN_LABEL * step / 60.0)


def _completed(
    searched: Searched, prepared: PreparedSky, errors: SystematicErrors, places: Places | None
) -> BlockEstimates:
    """Return the final fits of those systems that have readings enough, and how sure they are."""
    enough = np.flatnonzero(searched.enough)
    out = _nothing(np.full(len(searched.points), TOO_LITTLE), searched.readings.lit)
    if not len(enough):
        return out
    fit = fit_finally(searched.take(enough), prepared)
    years = fit_years(fit)
    few_days = fit.searched.readings.days < FEWEST_DAYS
    several = ~fit.is_one_plane()
    excluded = exclude(fit, several | few_days | (fit.agreement() < AGREEING))
    points = fit.points
    if places is not None:
        points = as_placed(points, prepared.sky.site, places.take(enough))
    hazy = dull_winters(fit.days.smooth) & prepared.sky.clear
    covariance = fit.covariances(errors) + year_covariances(fit.points, years, errors)
    covariance += haze_covariances(fit.points, hazy)
    spread = widened(intervals_of(points, covariance), shown_capacity(fit), excluded, few_days)
    agreement, clipped = fit.agreement(), fit.clipped() > CLIPPED_SHARE
    limited = clipped & (points[:, LIMIT] < NO_LIMIT)
    lowest = LOW_AGREEMENT_CLEAR if prepared.sky.clear else LOW_AGREEMENT_MEASURED
    clear_hours = fit.days.clear * prepared.minutes / 60.0
    flags = {
        Flag.CLIPPING: clipped,
        Flag.LOW_AGREEMENT: agreement < lowest,
        Flag.TOO_LITTLE_DATA: few_days,
        Flag.NOT_ONE_PLANE: several,
        Flag.CAPACITY_BOUNDED: excluded,
        Flag.FEW_CLEAR_HOURS: clear_hours < FEWEST_CLEAR_HOURS,
        Flag.SEASONAL_HAZE: hazy,
    }
    found = BlockEstimates(
        outcome=np.full(len(enough), INFERRED, dtype=np.uint8),
        surface_azimuth=np.degrees(np.arctan2(points[:, EAST], points[:, NORTH])) % 360.0,
        surface_tilt=np.minimum(np.hypot(points[:, EAST], points[:, NORTH]), 90.0),
        dc_capacity_kw=np.exp(points[:, CAPACITY]),
        haze_summer=points[:, HAZE] - points[:, HAZE_SEASON],
        haze_winter=points[:, HAZE] + points[:, HAZE_SEASON],
        heat=points[:, HEAT],
        ac_limit_kw=np.where(limited, np.exp(np.minimum(points[:, LIMIT], NO_LIMIT)), np.nan),
        clock_offset_minutes=np.zeros(len(enough)),
        clock_saving=np.zeros(len(enough), dtype=np.int8),
        clock_gain=np.zeros(len(enough)),
        clock_steps=_no_steps(len(enough)),
        agreement=agreement,
        clear_hours=clear_hours,
        trend=100.0 * years.trends(len(enough)),
        skyline=fit.skyline,
        years=year_estimates(years, points, fit.points),
        lit=fit.searched.readings.lit.astype(np.int32),
        flags=np.bitwise_or.reduce([flag_bits(flag, where) for flag, where in flags.items()]),
        **asdict(spread),
    )
    out.put(enough, found)
    out.outcome[enough[~_known(found)]] = NO_FIT
    return out


def year_estimates(years: YearFits, placed: Array, fitted: Array) -> NDArray[np.object_]:
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
    return _ragged(rows)


def _ragged(rows: list[tuple[YearEstimate, ...]]) -> NDArray[np.object_]:
    out = np.empty(len(rows), dtype=object)
    out[:] = rows
    return out


def _known(found: BlockEstimates) -> NDArray[np.bool_]:
    """Return which estimates say anything, but for what need not be known."""
    optional = ("ac_limit_kw", "trend", "skyline", "years", "clock_steps")
    columns = [getattr(found, each.name) for each in fields(found) if each.name not in optional]
    finite = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return np.asarray(finite & (found.capacity_high <= VAGUEST * found.capacity_low))


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


def _tell_clock(out: BlockEstimates, system: int, found: FoundClock) -> None:
    out.clock_offset_minutes[system] = found.hypothesis.offset_minutes
    out.clock_saving[system] = SAVINGS.index(found.hypothesis.saving)
    out.clock_gain[system] = found.gain
    out.clock_steps[system] = found.hypothesis.steps
    out.flags[system] |= flag_bits(Flag.CLOCK_REPAIRED, ONE)[0]


def _no_steps(count: int) -> NDArray[np.object_]:
    out = np.empty(count, dtype=np.object_)
    out.fill(())
    return out


def _nothing(outcome: NDArray[np.int64], lit: NDArray[np.integer]) -> BlockEstimates:
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
        "years": _ragged([()] * count),
        "clock_steps": _no_steps(count),
    }
    numbers = {each.name: np.full(count, np.nan) for each in fields(BlockEstimates)}
    return BlockEstimates(**(numbers | kinds))
