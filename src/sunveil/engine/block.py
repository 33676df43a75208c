"""The engine: all systems of a block, which share a sky, a grid of times and a declared clock.

One system is a block of one. :func:`infer_block` reads as the method's page tells it: lay the
readings onto the sky, search the neighbourhood of each plane, find the clock, refine without what
hides the sun, say how sure each answer is, and refuse what is no generation at its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from sunveil.cell import Places, as_placed
from sunveil.checked import checked
from sunveil.engine.assumed import (
    AGREEING,
    CLIPPED_SHARE,
    FEWEST_CLEAR_HOURS,
    FEWEST_DAYS,
    LOW_AGREEMENT_CLEAR,
    LOW_AGREEMENT_MEASURED,
    REPAIRED_LABEL,
    UNKNOWN_LABEL,
    Clock,
    EngineOptions,
    SystematicErrors,
)
from sunveil.engine.ceiling import exclude, largest_capacity, shown_capacity, widened
from sunveil.engine.clear import dull_winters, haze_covariances
from sunveil.engine.clocks import BlockClocks, find_clocks
from sunveil.engine.final import fit_finally
from sunveil.engine.hypotheses import FAR_MINUTES
from sunveil.engine.intervals import intervals_of
from sunveil.engine.kinds import tell_kinds
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
from sunveil.engine.outcomes import (
    INFERRED,
    NO_FIT,
    NO_WEATHER,
    SAVINGS,
    TOO_LITTLE,
    BlockEstimates,
    flag_bits,
    hold_both,
    no_tuples,
    not_inferred,
    says_anything,
    year_tuples,
)
from sunveil.engine.plausible import Doubt, doubts
from sunveil.engine.prepared import PreparedSky, prepare
from sunveil.engine.readings import believable, on_long_grid, with_nights
from sunveil.engine.search import Searched, search
from sunveil.engine.skytable import SkyTable
from sunveil.engine.stepping import Laid
from sunveil.engine.tracker_outcomes import put_trackers
from sunveil.engine.years import fit_years, year_covariances
from sunveil.estimate import Flag
from sunveil.meters.clock import FARTHEST, hours_apart
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.site import Array

Matrix = NDArray[np.float32]

# Flags of readings that no single plane gives.
_STRANGE = sum(1 << tuple(Flag).index(each) for each in (Flag.LOW_AGREEMENT, Flag.NOT_ONE_PLANE))
ONE = np.ones(1, dtype=bool)
# A plane that leans to the pole by more than this hardly sees the winter's sun. [degrees]
MOST_TO_POLE = 15.0
# Readings of a block that are worked on at once. [numbers]
CHUNK = 1_500_000


@checked
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
    out = not_inferred(np.full(len(power), NO_WEATHER), np.zeros(len(power), dtype=np.int32))
    size = max(1, CHUNK // sky.grid.count)
    for first in range(0, len(power), size):
        part = np.arange(first, min(first + size, len(power)))
        own = np.ascontiguousarray(power[first : part[-1] + 1], dtype=np.float32)
        rows = on_long_grid(with_nights(believable(own), sky.grid.step), sky.grid)
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
        return not_inferred(np.full(len(rows), NO_WEATHER), np.zeros(len(rows), dtype=np.int32))
    searched = search(rows, prepared)
    # light tells the label of a long interval, but not that of a short one
    short = prepared.sky.grid.step < SHORT_INTERVAL
    nowhere = np.zeros(len(rows), dtype=bool)
    clocks = BlockClocks({}, {}, nowhere, nowhere)
    if prepared.options.clock is not Clock.GIVEN:
        clocks = find_clocks(
            rows, searched, prepared, timezone=timezone, label_known=label_known or short
        )
    unknown = clocks.off_label | (short and not label_known)
    minutes = np.where(
        unknown, UNKNOWN_LABEL * prepared.sky.grid.step / 60.0, SystematicErrors().clock_minutes
    )
    for s, laid in clocks.repaired.items():
        if laid.hypothesis.is_small():
            minutes[s] = max(minutes[s], REPAIRED_LABEL)
    right = np.setdiff1d(np.arange(len(rows)), [*clocks.repaired])
    out = not_inferred(np.full(len(rows), TOO_LITTLE), searched.readings.lit)
    for systems, found, sky in ((right, searched.take(right), prepared), *_by_sky(clocks.repaired)):
        _complete(out, systems, found, sky, minutes, places)
    for s, laid in clocks.repaired.items():
        _tell_clock(out, s, laid, searched)
    other = not_inferred(np.full(len(rows), TOO_LITTLE), searched.readings.lit)
    for systems, found, sky in _by_sky(clocks.doubtful):
        _complete(other, systems, found, sky, minutes, places)
        hold_both(out, other, systems)
    doubtful = np.isin(np.arange(len(rows)), [*clocks.doubtful])
    flags = {
        Flag.LABEL_UNKNOWN: unknown,
        Flag.CLOCK_UNCHECKED: clocks.unchecked,
        Flag.CLOCK_DOUBTFUL: doubtful,
    }
    for flag, where in flags.items():
        out.flags[:] |= flag_bits(flag, where & (out.outcome == INFERRED))
    # whether it is generation, and here, is asked of readings where they fit the sun best, but for
    # clocks so far off that the place is as doubtful
    longitude = prepared.sky.site.longitude if places is None else places.longitude
    vouched = np.broadcast_to(hours_apart(timezone, longitude) <= FARTHEST, len(rows))
    moved = clocks.repaired | {
        s: laid
        for s, laid in clocks.doubtful.items()
        if vouched[s] or abs(laid.hypothesis.offset_minutes) < FAR_MINUTES
    }
    top = searched.readings.top.copy()
    for s, laid in moved.items():
        rows[s], top[s] = laid.rows[0], laid.searched.readings.top[0]
    half = np.array([s for s, laid in moved.items() if laid.half], dtype=np.intp)
    whole = np.setdiff1d(np.arange(len(rows)), half)
    _question(out, whole, rows[whole], top[whole], prepared)
    if len(half):
        _question(out, half, rows[half], top[half], prepared.half)
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
            out.put(doubted, not_inferred(np.full(len(doubted), NO_FIT + doubt), out.lit[doubted]))


def _complete(
    out: BlockEstimates,
    systems: NDArray[np.intp],
    searched: Searched,
    prepared: PreparedSky,
    clock_minutes: Array,
    places: Places | None,
) -> None:
    """Fill the estimates of some systems of a block from what was searched of them."""
    for each in np.unique(clock_minutes[systems]).tolist():
        here = np.flatnonzero(clock_minutes[systems] == each)
        chosen = systems[here]
        own = None if places is None else places.take(chosen)
        errors = SystematicErrors(clock_minutes=each)
        out.put(chosen, _completed(searched.take(here), prepared, errors, own))


def _by_sky(
    clocks: dict[int, Laid],
) -> Iterator[tuple[NDArray[np.intp], Searched, PreparedSky]]:
    """Yield the systems whose clocks share a sky, and what a search found of them there."""
    for half in (False, True):
        own = {s: laid for s, laid in clocks.items() if laid.half is half}
        if own:
            found = Searched.joined([laid.searched for laid in own.values()])
            yield np.array([*own]), found, next(iter(own.values())).prepared


def _faces_winter(points: Array, prepared: PreparedSky) -> NDArray[np.bool_]:
    """Return which planes see the winter's sun; others get smooth light at best."""
    to_pole = points[:, NORTH] * np.sign(prepared.sky.site.latitude)
    return np.asarray(to_pole < MOST_TO_POLE)


def _completed(
    searched: Searched, prepared: PreparedSky, errors: SystematicErrors, places: Places | None
) -> BlockEstimates:
    """Return the final fits of those systems that have readings enough, and how sure they are."""
    enough = np.flatnonzero(searched.enough)
    out = not_inferred(np.full(len(searched.points), TOO_LITTLE), searched.readings.lit)
    if not len(enough):
        return out
    fit = fit_finally(searched.take(enough), prepared)
    years = fit_years(fit)
    few_days = fit.searched.readings.days < FEWEST_DAYS
    here = None if places is None else places.take(enough)
    kinds = tell_kinds(fit, errors, here)
    doubtful = kinds.unexplained | few_days | (fit.agreement() < AGREEING)
    most = largest_capacity(fit, doubtful, few_days)
    excluded = exclude(fit, doubtful)
    points = fit.points if here is None else as_placed(fit.points, prepared.sky.site, here)
    hazy = dull_winters(fit.days.smooth) & prepared.sky.clear & _faces_winter(fit.points, prepared)
    covariance = fit.covariances(errors) + year_covariances(fit.points, years, errors)
    covariance[kinds.two] = kinds.covariance[kinds.two]
    covariance += haze_covariances(fit.points, hazy)
    two = kinds.two & ~excluded
    spread = widened(intervals_of(points, covariance), shown_capacity(fit), excluded, most)
    spread.plane_error_degrees[two] = kinds.radius[two]
    agreement, clipped = fit.agreement(), fit.clipped() > CLIPPED_SHARE
    limited = clipped & (points[:, LIMIT] < NO_LIMIT)
    lowest = LOW_AGREEMENT_CLEAR if prepared.sky.clear else LOW_AGREEMENT_MEASURED
    clear_hours = fit.days.clear * prepared.minutes / 60.0
    flags = {
        Flag.CLIPPING: clipped,
        Flag.LOW_AGREEMENT: agreement < lowest,
        Flag.TOO_LITTLE_DATA: few_days,
        Flag.NOT_ONE_PLANE: kinds.unexplained | (kinds.two & excluded),
        Flag.TWO_PLANES: two,
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
        clock_steps=no_tuples(len(enough)),
        agreement=agreement,
        clear_hours=clear_hours,
        trend=100.0 * years.trends(len(enough)),
        skyline=fit.skyline,
        years=np.where(kinds.two, no_tuples(len(enough)), year_tuples(years, points, fit.points)),
        planes=np.where(two, kinds.planes, no_tuples(len(enough))),
        tracker=np.full(len(enough), None, dtype=object),
        household=np.full(len(enough), None, dtype=object),
        lit=fit.searched.readings.lit.astype(np.int32),
        flags=np.bitwise_or.reduce([flag_bits(flag, where) for flag, where in flags.items()]),
        **asdict(spread),
    )
    put_trackers(
        found,
        kinds.trackers,
        fit.searched.readings,
        placed=points[:, CAPACITY] - fit.points[:, CAPACITY],
        lowest_agreement=lowest,
    )
    out.put(enough, found)
    out.outcome[enough[~says_anything(found)]] = NO_FIT
    return out


def _tell_clock(out: BlockEstimates, system: int, laid: Laid, searched: Searched) -> None:
    out.clock_offset_minutes[system] = laid.hypothesis.offset_minutes
    out.clock_saving[system] = SAVINGS.index(laid.hypothesis.saving)
    out.clock_gain[system] = laid.searched.explained[0] - searched.explained[system]
    out.clock_steps[system] = laid.hypothesis.steps
    out.flags[system] |= flag_bits(Flag.CLOCK_REPAIRED, ONE)[0]
