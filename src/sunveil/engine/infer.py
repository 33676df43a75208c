"""Infer a block of systems, whatever their meters see."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil._options import checked
from sunveil.engine.bright_envelope import points_of, profiles_of
from sunveil.engine.clear_days import dull_winters, widened_upward
from sunveil.engine.clipping import exclude, largest_capacity, shown_capacity, widened
from sunveil.engine.clock_faults import BlockClocks, Laid, find_clocks, hold_both
from sunveil.engine.coarse_search import Searched, believable, on_long_grid, search, with_nights
from sunveil.engine.constants import (
    AGREEING,
    CHUNK,
    CLIPPED_SHARE,
    FEWEST_CLEAR_HOURS,
    FEWEST_DAYS,
    LOW_AGREEMENT_CLEAR,
    LOW_AGREEMENT_MEASURED,
    REPAIRED_LABEL,
    UNKNOWN_LABEL,
    SystematicErrors,
)
from sunveil.engine.final_fit import FinalFit, fit_finally
from sunveil.engine.intervals import intervals_of
from sunveil.engine.net_meters import infer_net_block
from sunveil.engine.one_or_two_planes import tracker_likeness
from sunveil.engine.plausibility import find_doubts
from sunveil.engine.power_model import (
    CAPACITY,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NO_LIMIT,
    NORTH,
    FittedReadings,
)
from sunveil.engine.shading import PreparedSky, prepare
from sunveil.engine.sky_tables import SkyTable, make_sky_table
from sunveil.engine.trackers import FoundTracker, find_trackers, put_trackers
from sunveil.engine.two_planes import (
    FIRST,
    PAIR_PARAMETERS,
    SECOND,
    covariance_of_both,
    fit_pairs,
    linearised,
    pair_covariance,
    plane_estimates,
    plane_intervals,
    plane_of_both,
    planes_of,
)
from sunveil.engine.yearly_fits import fit_years, year_covariances, year_tuples
from sunveil.estimates.columns import objects
from sunveil.estimates.estimates_table import Estimates, not_inferred, says_anything
from sunveil.estimates.flags_and_quality import (
    EXPORTED_ONLY,
    INFERRED,
    NO_FIT,
    NO_WEATHER,
    SAVINGS,
    TOO_LITTLE,
    WRONG_PLACE,
    Doubt,
    Flag,
    flag_bits,
)
from sunveil.estimates.inference_options import Clock, InferOptions
from sunveil.estimates.planes_and_intervals import FAR_MINUTES, ClockHypothesis, FoundClock
from sunveil.grids import Grid, Places, as_placed
from sunveil.meters.record import SHORT_INTERVAL, Label
from sunveil.meters.time_steps import FARTHEST, hours_apart
from sunveil.site import Array, Site, TimeGrid


class Kinds(NamedTuple):
    """What kind of system each of a block is, one entry each but for trackers: private."""

    two: NDArray[np.bool_]  # whether it stands on two planes that are known
    unexplained: NDArray[np.bool_]  # whether it is more than one plane, and nothing tells which
    unresolved: NDArray[np.bool_]
    planes: NDArray[Any]  # A tuple of two `PlaneEstimate` for each pair, none of the others
    covariance: Array
    radius: Array  # [degrees]
    trackers: dict[int, FoundTracker]  # those that follow the sun, by system


def tell_kinds(fit: FinalFit, errors: SystematicErrors, places: Places | None) -> Kinds:
    """Tell what the systems of a block are, and move the points and models of pairs."""
    # The point of a pair is then the one plane that stands for both, with the capacity of both, and
    # its model is that of both, so that what is asked of a fit next is asked of the pair. A pair is
    # fitted to the whole of its record at once, whatever its years say.
    suspects, beyond_doubt = fit.suspects()
    likeness = tracker_likeness(fit.searched, fit.points, fit.prepared)
    pairs = fit_pairs(fit, np.union1d(suspects, likeness.suspects()))
    trackers = find_trackers(fit, pairs, likeness, errors)
    out = _one_plane(fit)._replace(trackers=trackers)
    out.unexplained[suspects[beyond_doubt]] = True
    out.unexplained[pairs.systems[pairs.sure]] = True
    out.two[pairs.systems[pairs.resolved]] = True
    out.unexplained[out.two] = False
    out.unresolved[np.intersect1d(pairs.systems[pairs.unresolved], suspects[~beyond_doubt])] = True
    for each in (out.unexplained, out.unresolved):
        each[[*trackers]] = False
    for place in np.flatnonzero(pairs.resolved).tolist():
        s, pair = pairs.systems[place], pairs.pairs[place]
        covariance = pair_covariance(fit, pairs, place, errors)
        placed = pair if places is None else _placed(pair, fit, places.take(s[None]))
        out.planes[s] = plane_estimates(placed, covariance)
        out.covariance[s] = covariance_of_both(pair, covariance)
        out.radius[s] = plane_intervals(pair, covariance).plane_error_degrees.max()
        fit.points[s], fit.model[s] = plane_of_both(pair), pairs.model[place]
        fit.skyline[s] = pairs.skyline[place]
    return out


def _one_plane(fit: FinalFit) -> Kinds:
    """Return every system as one plane."""
    size, parameters = fit.points.shape
    planes = objects([()] * size)
    two, unexplained, unresolved = np.zeros((3, size), dtype=bool)
    covariance = np.zeros((size, parameters, parameters))
    return Kinds(two, unexplained, unresolved, planes, covariance, np.zeros(size), {})


def _placed(pair: Array, fit: FinalFit, place: Places) -> Array:
    """Return a pair as it is where its system stands."""
    both = place.take(np.zeros(2, dtype=np.intp))
    planes = as_placed(planes_of(pair), fit.prepared.sky.site, both)
    out = pair.copy()
    out[FIRST], out[SECOND] = planes[:, [EAST, NORTH, CAPACITY]]
    return out


# Flags of readings that no single plane gives.
_SUSPECT = sum(1 << tuple(Flag).index(each) for each in (Flag.LOW_AGREEMENT, Flag.NOT_ONE_PLANE))

ONE = np.ones(1, dtype=bool)

# A plane that leans to the pole by more than this hardly sees the winter's sun. [degrees]
MOST_TO_POLE = 15.0


@checked
def infer_generation(
    power: Matrix,
    sky: SkyTable,
    *,
    options: InferOptions | None = None,
    timezone: str = "UTC",
    label_known: bool = True,
    places: Places | None = None,
) -> Estimates:
    """Infer every system of a block as generation alone."""
    prepared = prepare(sky, options or InferOptions())
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
    rows: Matrix, prepared: PreparedSky, *, timezone: str, label_known: bool, places: Places | None
) -> Estimates:
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
    out = not_inferred(np.full(len(rows), TOO_LITTLE), searched.readings.daylight_readings)
    for systems, found, sky in ((right, searched.take(right), prepared), *_by_sky(clocks.repaired)):
        _complete(out, systems, found, sky, minutes, places)
    for s, laid in clocks.repaired.items():
        _tell_clock(out, s, laid, searched)
    other = not_inferred(np.full(len(rows), TOO_LITTLE), searched.readings.daylight_readings)
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
    out: Estimates, systems: NDArray[np.intp], rows: Matrix, top: Array, prepared: PreparedSky
) -> None:
    suspect = (out.flags[systems] & _SUSPECT) > 0
    found = find_doubts(rows, top, prepared, suspect=suspect)
    found[out.outcome[systems] == TOO_LITTLE] = Doubt.NONE
    for kind in set(found.tolist()) - {Doubt.NONE}:
        doubted = systems[found == kind]
        if prepared.options.force:
            flag = Flag(Doubt(kind).name.lower())
            out.flags[doubted] |= flag_bits(flag, np.ones(len(doubted), dtype=bool))
        else:
            out.refuse(doubted, NO_FIT + kind)


def _complete(
    out: Estimates,
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


def _by_sky(clocks: dict[int, Laid]) -> Iterator[tuple[NDArray[np.intp], Searched, PreparedSky]]:
    """Yield the systems with clocks that share a sky, and what a search found of them there."""
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
) -> Estimates:
    """Return the final fits of those systems that have readings enough, and how sure they are."""
    enough = np.flatnonzero(searched.enough)
    out = not_inferred(
        np.full(len(searched.points), TOO_LITTLE), searched.readings.daylight_readings
    )
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
    two = kinds.two & ~excluded
    spread = intervals_of(points, covariance)
    widened_upward(spread, np.hypot(points[:, EAST], points[:, NORTH]), hazy)
    spread = widened(spread, shown_capacity(fit), excluded, most)
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
        Flag.PLANES_UNRESOLVED: kinds.unresolved,
        Flag.TWO_PLANES: two,
        Flag.CAPACITY_BOUNDED: excluded,
        Flag.FEW_CLEAR_HOURS: clear_hours < FEWEST_CLEAR_HOURS,
        Flag.SEASONAL_HAZE: hazy,
    }
    none = objects([()] * len(enough))
    found = Estimates.of(
        outcome=np.full(len(enough), INFERRED, dtype=np.uint8),
        surface_azimuth=np.degrees(np.arctan2(points[:, EAST], points[:, NORTH])) % 360.0,
        surface_tilt=np.minimum(np.hypot(points[:, EAST], points[:, NORTH]), 90.0),
        dc_capacity_kw=np.exp(points[:, CAPACITY]),
        haze_summer=points[:, HAZE] - points[:, HAZE_SEASON],
        haze_winter=points[:, HAZE] + points[:, HAZE_SEASON],
        heat=points[:, HEAT],
        ac_limit_kw=np.where(limited, np.exp(np.minimum(points[:, LIMIT], NO_LIMIT)), np.nan),
        agreement=agreement,
        clear_hours=clear_hours,
        trend_percent_per_year=100.0 * years.trends(len(enough)),
        skyline=fit.skyline,
        years=np.where(kinds.two, none, year_tuples(years, points, fit.points)),
        planes=np.where(two, kinds.planes, none),
        daylight_readings=fit.searched.readings.daylight_readings.astype(np.int32),
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


def _tell_clock(out: Estimates, system: int, laid: Laid, searched: Searched) -> None:
    out.clock_offset_minutes[system] = laid.hypothesis.offset_minutes
    out.clock_daylight_saving[system] = SAVINGS.index(laid.hypothesis.saving)
    out.clock_gain[system] = laid.searched.explained[0] - searched.explained[system]
    out.clock_steps[system] = laid.hypothesis.steps
    out.flags[system] |= flag_bits(Flag.CLOCK_REPAIRED, ONE)[0]


Matrix = NDArray[np.float32]


@checked
def infer_block(
    # readings on ``sky.grid``, NaN where there is none, shape (systems, intervals). [kW]
    power: Matrix,
    sky: SkyTable,
    *,
    # whether the meters count generation less load; meters of exports alone are detected
    net: bool,
    options: InferOptions | None = None,  # assumptions and switches of the inference
    # the declared clock of the timestamps; its dates of daylight saving are used
    timezone: str = "UTC",
    label: Label = Label.START,  # which instant of its interval a timestamp marks
    label_known: bool = True,  # whether that label was declared
    places: Places | None = None,  # places of the systems; that of the sky by default
) -> Estimates:
    """Infer every system of a block; estimates are as private as the readings."""
    infer_all = infer_net_block if net else infer_generation
    found = infer_all(
        power, sky, options=options, timezone=timezone, label_known=label_known, places=places
    )
    if net:
        # what is taken from the grid is nowhere in such readings
        unseen = (found.outcome == INFERRED) & ~np.any(power < 0.0, axis=1)
        found.flags[:] |= flag_bits(Flag.EXPORTED_ONLY, unseen)
    elif len(left_over := np.flatnonzero(_exports_only(found))):
        again = infer_net_block(
            power[left_over],
            sky,
            options=options,
            timezone=timezone,
            label_known=label_known,
            places=None if places is None else places.take(left_over),
        )
        inferred = again.outcome == INFERRED
        again.flags[:] |= flag_bits(Flag.EXPORTED_ONLY, inferred)
        found.put(left_over, again)
        found.refuse(left_over[~inferred], EXPORTED_ONLY)
    _refuse_far_clocks(found, timezone, sky, places, force=options is not None and options.force)
    _name_labels(found, label, sky.grid.step / 60.0)
    return found


def _name_labels(found: Estimates, label: Label, interval_minutes: float) -> None:
    """Say what the clocks of a block are: half an interval is a label, anything else an offset."""
    found.set(clock_label=label)
    for row in np.flatnonzero(found.clock_offset_minutes):
        offset = float(found.clock_offset_minutes[row])
        clock = FoundClock(ClockHypothesis(offset, steps=found.clock_steps[row]))
        named = clock.finding(label, interval_minutes)
        found.clock_offset_minutes[row] = named.offset_minutes
        found.clock_label[row] = tuple(Label).index(named.label)


def _refuse_far_clocks(
    found: Estimates, timezone: str, sky: SkyTable, places: Places | None, *, force: bool
) -> None:
    """Refuse repairs by hours of clocks that do not speak for the place, or flag them if forced."""
    # Stamps in UTC look the same as a system that stands elsewhere.
    longitude = sky.site.longitude if places is None else places.longitude
    vouched = hours_apart(timezone, longitude) <= FARTHEST
    at_best = [
        min(abs(each) for each in (offset, *(step.offset_minutes for step in steps)))
        for offset, steps in zip(found.clock_offset_minutes, found.clock_steps, strict=True)
    ]
    far = (found.outcome == INFERRED) & ~vouched & (np.array(at_best) >= FAR_MINUTES)
    if force:
        found.flags[:] |= flag_bits(Flag.WRONG_PLACE, far)
    else:
        found.refuse(np.flatnonzero(far), WRONG_PLACE)


def _exports_only(found: Estimates) -> NDArray[np.bool_]:
    """Return which systems count only what a household leaves over, refused or forced."""
    forced = flag_bits(Flag.EXPORTED_ONLY, np.ones(1, dtype=bool))[0]
    return np.asarray((found.outcome == EXPORTED_ONLY) | (found.flags & forced > 0))


NOTICE = "Compiling the engine: this takes about half a minute, once on this machine."

# Kernels that were compiled before are loaded within this time. [s]
_PATIENCE = 3.0

_GRID = TimeGrid(1559347200, 3600, 40 * 24)


@checked
def compile_kernels(say: Callable[[str], None] | None = None, *, net: bool = True) -> None:
    """Compile the kernels of the engine, or load them where this was done before.

    Two made-up systems are inferred, one of them with a wrong clock, one also behind a net meter,
    and two planes are modelled.
    """
    timer = threading.Timer(_PATIENCE, say or (lambda _: None), (NOTICE,))
    timer.daemon = True
    timer.start()
    try:
        options = InferOptions()
        sky = make_sky_table(Site(40.0, 0.0, 0.0), _GRID)
        plane = points_of(Grid(np.array([180.0]), np.array([30.0])))
        power = np.zeros((2, _GRID.count), dtype=np.float32)
        numbers = prepare(sky, options).numbers
        power[:, sky.slot[: sky.usable]] = profiles_of(sky.sheet, plane, numbers)[0, : sky.usable]
        power[1] = np.roll(power[1], 2)
        infer_generation(power, sky, options=options)
        if net:
            infer_net_block(power[:1] - np.float32(0.1), sky, options=options)
        nothing = np.zeros(sky.sheet.shape[0] * sky.sheet.shape[2], dtype=np.float32)
        silent = FittedReadings(sky.sheet, nothing, nothing, 1.0, 1.0, numbers)
        linearised(np.zeros(PAIR_PARAMETERS), silent)
    finally:
        timer.cancel()
