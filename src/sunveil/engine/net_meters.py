"""Net meters of a block: clock, reliability, separation of generation and load."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sunveil._options import checked
from sunveil.engine.clock_faults import relaid
from sunveil.engine.coarse_search import believable, on_long_grid
from sunveil.engine.constants import (
    AGREES_WITHIN,
    CHUNK,
    FEWEST_CLEAR_HOURS,
    FEWEST_DAYS,
    TYPICAL_HAZE,
    TYPICAL_HEAT,
    UNKNOWN_LABEL,
)
from sunveil.engine.intervals import in_plane_axes, intervals_of
from sunveil.engine.net_fit import (
    EDGES,
    UNEXPLAINED,
    NetFit,
    NetProblem,
    NetReadings,
    NetState,
    fit_net,
    read_net,
    run,
    spike_bins,
    spikes_of,
)
from sunveil.engine.net_hours import (
    HIGH,
    HOUR_AT_MOST_ZERO,
    HOUR_CLEARNESS,
    HOUR_EXACT,
    HOUR_NIGHT,
    HOUR_NONE,
    LOAD,
    LOADS,
    LOW,
    SKIES,
    STATES,
    SUMMARY,
    emit,
    lay_loads,
    tell,
)
from sunveil.engine.net_load import (
    CELLS,
    IDLE_SHARE,
    IDLE_TOP,
    IDLE_USUAL,
    LEVEL_SHARED,
    Load,
    LoadCells,
    load_cells,
    load_from,
    load_precision,
    widths_from,
)
from sunveil.engine.net_model import (
    AT_MOST_ZERO,
    CLEAR,
    CLEARNESS,
    EXACT,
    FOUND,
    NONE,
    chain,
    weigh,
)
from sunveil.engine.power_model import (
    CAPACITY,
    CLOUD,
    EAST,
    HAZE,
    HAZE_SEASON,
    HEAT,
    LIMIT,
    NORTH,
    PARAMETERS,
    UNLIMITED,
    Sheet,
    fill_profiles,
)
from sunveil.engine.shading import PreparedSky, prepare
from sunveil.engine.sky_tables import SkyTable, in_blocks
from sunveil.estimates.estimates_table import Estimate, Estimates, not_inferred, says_anything
from sunveil.estimates.flags_and_quality import (
    INFERRED,
    NO_FIT,
    NO_WEATHER,
    NOT_NET,
    SAVINGS,
    TOO_LITTLE,
    Flag,
    flag_bits,
)
from sunveil.estimates.inference_options import Clock, InferOptions
from sunveil.estimates.planes_and_intervals import (
    DECLARED,
    FEWEST_READINGS,
    HOURS,
    SEASONS,
    ClockHypothesis,
    DaylightSaving,
    FoundClock,
    HouseholdEstimate,
)
from sunveil.grids import Places, as_placed
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.site import Array

# How skies of an hour follow each other, from clear (clearness above 0.93) over thin (0.7) and
# broken (0.35) to overcast: about the mean over fifteen real systems from 28 to 52 degrees north,
# with metered generation. All of them count as FOLLOW_READINGS.
FOLLOW = np.array(
    [
        [0.79, 0.16, 0.045, 0.005],
        [0.27, 0.47, 0.22, 0.04],
        [0.07, 0.21, 0.53, 0.19],
        [0.01, 0.03, 0.16, 0.80],
    ]
)

FOLLOW_READINGS = 4000.0

# The same of what measured weather leaves open.
FOLLOW_MEASURED = np.array(
    [
        [0.90, 0.07, 0.02, 0.01],
        [0.40, 0.45, 0.12, 0.03],
        [0.25, 0.20, 0.45, 0.10],
        [0.20, 0.10, 0.20, 0.50],
    ]
)

# Mean and deviation of clearness in each sky but the clear, and how much lies anywhere. A clear
# sky's is at least this of SPIKES: from day to day, air differs.
CLOUD_MEANS, CLOUD_WIDTHS, ANYWHERE, CLEAR_WIDTH = (0.85, 0.55, 0.2), (0.1, 0.14, 0.13), 0.03, 3

# By how much the logarithm of a high load is above the usual; its prior weight in readings; width.
HIGH_BY, HIGH_READINGS, HIGH_WIDTH = 1.2, 100.0, 0.4

# How usual, high and held loads follow each other in an hour, each with STAY_READINGS.
STAY = np.array([[0.90, 0.09, 0.01], [0.20, 0.79, 0.01], [0.15, 0.05, 0.80]])

STAY_READINGS = 2000.0

# A meter that a battery holds is about so far from zero, as a share of its highest readings.
SEPARATED_WITHIN = 0.03

# The load starts where this share of the hours of a cell would have less if all were clear, of
# hours brighter than START_ABOVE, if there are START_READINGS; ALIKE readings of a cell err alike.
START_SHARE, START_ABOVE, START_READINGS, ALIKE = 0.45, 0.15, 10, 4.0

# Few rounds: with many, what can be load or cloud drifts to the clouds, on simulated homes too.
ROUNDS = 5

# What a generation errs by beside its clearness, as half a 90% band: plane, capacity and air.
MODEL_ERROR = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class NetHours:
    """Generation and load of one net meter on the long grid, NaN without a reading: private."""

    generation: Array  # [kW] what was generated, as expected and as a 90% band
    low: Array  # [kW] what was generated, as expected and as a 90% band
    high: Array  # [kW] what was generated, as expected and as a 90% band
    load: Array  # [kW] what was used
    cell: NDArray[np.int64]  # the cell of hour and season
    by_day: NDArray[np.bool_]  # which intervals have a usable sky and a reading
    said: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"NetHours({len(self.load)} intervals, private)"


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """How skies and loads follow each other, and how much more a high load is: private."""

    skies: Array
    loads: Array
    by: float


def tell_apart(
    row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells, point: Array
) -> NetHours:
    """Tell the generation of a net meter from its load where its system is known."""
    hours = _Hours(row, prepared, cells, point)
    load, steps = hours.first_load(), hours.usual
    for _ in range(ROUNDS):
        hours.weigh(load, steps)
        weighed = load
        load, steps = hours.expected(load, steps)
    return hours.separated(row, weighed)


class _Hours:
    """One system's readings by day and night in the order of time: private."""

    def __init__(
        self, row: NDArray[np.float32], prepared: PreparedSky, cells: LoadCells, point: Array
    ) -> None:
        problem = NetProblem(read_net(row, prepared, cells), prepared, cells)
        self.readings, self.floor, many = problem.readings, problem.floor, len(row)
        self.reading = np.nan_to_num(row.astype(np.float64))
        self.kind, self.model = np.full(many, HOUR_NONE, dtype=np.int8), np.zeros(many)
        self.which, self.cell = np.zeros(many, dtype=np.int64), np.zeros(many, dtype=np.int64)
        self.night, self.offset = cells.night, np.zeros(many)
        slot = prepared.slot[problem.places]
        self.model[slot], self.kind[slot] = problem.lay(point)[0], problem.kind
        spikes = spikes_of(self.model[slot], problem.readings.top, problem.cloud)
        self.which[slot] = np.maximum(spikes, CLEAR_WIDTH)
        self.cell[prepared.slot], self.cell[cells.night] = cells.usable, cells.dark
        self.offset[prepared.slot] = LEVEL_SHARED * self.readings.level
        self.offset[cells.night] = self.readings.dark_level
        load = -self.reading[cells.night]
        usual = float(np.median(load[load > 0.0])) if (load > 0.0).any() else 0.0
        self.kind[cells.night[load > IDLE_SHARE * usual]] = HOUR_NIGHT
        self.first = np.ones(many, dtype=np.bool_)
        self.first[prepared.slot[1:]] = np.diff(prepared.day) > 0
        self.alike = ALIKE * 60.0 / prepared.minutes
        follow = FOLLOW_MEASURED if (problem.cloud > 0.0).any() else FOLLOW
        share = prepared.minutes / 60.0
        self.usual = _Chain(_sooner(follow, share), _sooner(STAY, share), HIGH_BY)
        self.logs = np.zeros((many, len(EDGES)))
        lay_loads(self.reading, self.kind, self.model, EDGES, self.offset, self.logs)
        self.bins = np.zeros((many, LOADS, len(EDGES) - 1))
        self.plain, self.found = np.empty((many, STATES)), np.empty((many, STATES))
        self.counts = np.zeros((SKIES, SKIES)), np.zeros((LOADS, LOADS))
        self.sums, self.summary = np.zeros((LOADS, 3, CELLS)), np.zeros((SUMMARY, many))

    def first_load(self) -> Load:
        """Return the load that nights show; by day, the one that clear skies would leave."""
        nights = load_from(self.readings.nights, self.readings.usual)
        centre = nights.centre.copy()
        high = (self.kind == HOUR_EXACT) & (self.model > START_ABOVE * self.model.max(initial=0.0))
        left, cell = (self.model - self.reading)[high], self.cell[high]
        for each in np.flatnonzero(np.bincount(cell, minlength=CELLS) > START_READINGS):
            load = float(np.quantile(left[cell == each], START_SHARE))
            centre[each] = np.log(max(load, np.exp(nights.centre[each] - 1.0)))
        return Load(centre, nights.width, IDLE_USUAL, LEVEL_SHARED)

    def weigh(self, load: Load, steps: _Chain) -> None:
        """Keep what a load and a chain expect of every interval."""
        means = np.stack([load.centre, load.centre + steps.by])
        widths = np.stack([load.width, np.full(CELLS, HIGH_WIDTH)])
        small = float(np.log(IDLE_TOP * self.readings.top))
        cells, held = (
            (self.cell, means, widths, load.idle, small),
            SEPARATED_WITHIN * self.readings.top,
        )
        sky = self.kind, self.model, self.logs, _sky_bins(), self.which, EDGES, cells
        emit(self.reading, *sky, held, self.floor, self.bins, self.plain)
        start = np.linalg.matrix_power(steps.skies, 256)[0]
        chain(self.plain, self.first, start, steps.skies, steps.loads, self.found, self.counts)
        out = self.bins, self.plain, self.found, self.sums, self.summary
        tell(self.reading, self.offset, *sky, *out)

    def expected(self, load: Load, steps: _Chain) -> tuple[Load, _Chain]:
        """Return the load and the chain that the last weighing expects."""
        (count, first, _), (high, upper, _) = self.sums[:2]
        by = upper.sum() - high @ load.centre + HIGH_READINGS * HIGH_BY
        by = float(by / (high.sum() + HIGH_READINGS))
        precision = load_precision()
        pull = first / load.width**2 + (upper - by * high) / HIGH_WIDTH**2
        held = (count / load.width**2 + high / HIGH_WIDTH**2) / self.alike
        pull = pull / self.alike + precision.sum(axis=1) * self.readings.usual
        centre = np.linalg.solve(precision + np.diag(held), pull)
        start = np.linalg.matrix_power(self.usual.skies, 256)[0]
        skies = self.counts[0] + FOLLOW_READINGS * start[:, None] * self.usual.skies
        loads = self.counts[1] + STAY_READINGS * self.usual.loads
        follow = _Chain(_shares(skies), _shares(loads), by)
        return Load(centre, widths_from(self.sums[0], centre), load.idle, load.shared), follow

    def separated(self, row: NDArray[np.float32], load: Load) -> NetHours:
        """Return generation and load by the last weighing, which a load was of."""
        reading, hidden = row.astype(np.float64), self.kind == HOUR_AT_MOST_ZERO
        given = np.maximum(reading, 0.0)
        generation = np.maximum(self.summary[HOUR_CLEARNESS] * self.model, given)
        error = MODEL_ERROR * generation
        down = np.hypot(np.maximum(generation - self.summary[LOW] * self.model, 0.0), error)
        up = np.hypot(np.maximum(self.summary[HIGH] * self.model - generation, 0.0), error)
        used = np.where(hidden, self.summary[LOAD], generation - reading)
        by_day = (self.kind == HOUR_EXACT) | hidden
        said = by_day.copy()
        if (reading < 0.0).any():
            said[self.night] = np.isfinite(reading[self.night])
        else:
            # a meter of exports: nothing was read of nights
            dark = self.night[np.isfinite(reading[self.night])]
            used[dark] = load.mean[self.cell[dark]]
        low = np.maximum(generation - down, given)
        return NetHours(generation, low, generation + up, used, self.cell, by_day, said)


def _sooner(step: Array, share: float) -> Array:
    """Return how states follow each other after a share of an hour."""
    return share * step + (1.0 - share) * np.eye(len(step))


def _shares(counts: Array) -> Array:
    """Return counts as shares of their rows."""
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


@functools.lru_cache(maxsize=1)
def _sky_bins() -> Array:
    """Return the histograms of clearness of each sky, shape (widths, SKIES, bins)."""
    spikes = spike_bins()
    anywhere = np.diff(EDGES) * (EDGES[1:] < 1.3)
    out = np.empty((len(spikes), SKIES, len(EDGES) - 1))
    out[:, 0] = spikes
    for sky, (mean, width) in enumerate(zip(CLOUD_MEANS, CLOUD_WIDTHS, strict=True), start=1):
        out[:, sky] = np.diff(ndtr((EDGES - mean) / width))
    out /= out.sum(axis=2, keepdims=True)
    return np.asarray((1.0 - ANYWHERE) * out + ANYWHERE * anywhere / anywhere.sum())


# No net meter: more than this share of the readings at night is above zero by more than that share
# of the highest readings, or less than this share of the daylight readings is above zero.
MOST_AT_NIGHT, IDLE, LEAST_EXPORTING = 0.3, 0.02, 0.03

# Export in a smaller share of the daylight readings hides a plane, ...
LITTLE_EXPORT = 1.0 / 3.0

# ... and so does a load of more than this multiple of the generation.
HEAVY_LOAD = 3.0

# A battery holds the meter within this share of the highest readings, for more than that share of
# the daylight readings and this many times as often as just beside it. Homes without one cross zero
# in 4 to 16% of daylight and no more often than the powers beside it; with one they stay there for
# 35% and more, ten times as often.
HELD_WITHIN, HELD_SHARE, HELD_OFTEN = 0.02, 0.25, 4.0

# A meter sees import where more than this share of the daylight readings is below zero.
TAKES = 0.01

# A load that is lower at night, as a share of the one by day, comes and goes with the sun.
LEAST_AT_NIGHT = 0.2

# By how much a minute of the clock turns a plane, whatever its tilt. [degrees across]
ACROSS_PER_MINUTE = 0.3

# A fit that explains readings by so large a share of clouds brighter than a clear sky, by air so
# many standard deviations from the usual, or by so few clear hours has not found the plane.
BRIGHTER, BRIGHTEST_CLOUDS, STRANGE_AIR, FEWEST_CLEAR = 1.08, 0.05, 3.5, 0.2


@dataclass(frozen=True, slots=True, eq=False)
class NetErrors:
    # Wider than the homes ask for that it was calibrated on: systems in other climates err more.

    tilt: float = 3.2  # [degrees] standard deviations along the plane's tilt and across it
    across: float = 1.3  # [degrees] standard deviations along the plane's tilt and across it
    capacity: float = 0.07  # standard deviation as a fraction of the capacity
    stretch: float = 0.9  # factor on the standard deviations that the fit states


NET_ERRORS = NetErrors()


@dataclass(frozen=True, slots=True, eq=False)
class NetJudgement:
    """What is thought of the fit of one net meter: private."""

    flags: tuple[Flag, ...]  # what to know before trusting it
    covariance: Array

    def __repr__(self) -> str:
        return "NetJudgement(private)"


def is_net(row: Matrix, prepared: PreparedSky) -> bool:
    """Return whether readings look like generation less a load: above zero by day, not at night."""
    light, night = row[prepared.slot], _without(prepared.sky.slot, row)
    light = light[np.isfinite(light)]
    if not len(light):
        return True
    idle = IDLE * np.quantile(np.abs(light), 0.98)
    at_night = np.count_nonzero(night > idle) > MOST_AT_NIGHT * len(night)
    return bool(np.mean(light > 0.0) >= LEAST_EXPORTING and not at_night)


def judge_net(
    fit: NetFit, row: Matrix, prepared: PreparedSky, *, label_known: bool = True
) -> NetJudgement:
    """Judge the fit of one net meter."""
    step = prepared.sky.grid.step
    unknown = not label_known and step < SHORT_INTERVAL
    turned = ACROSS_PER_MINUTE * UNKNOWN_LABEL * step / 60.0 if unknown else 0.0
    errors = replace(NET_ERRORS, across=math.hypot(NET_ERRORS.across, turned))
    read = fit.readings.power[fit.have]
    generation = (fit.found[CLEARNESS] * fit.model)[fit.have]
    by_day = np.maximum(generation - read, 0.0)
    at_night = np.maximum(-_without(prepared.slot, row), 0.0)
    takes = np.mean(read < 0.0) > TAKES
    # a meter that sees no import reads zero where there is any
    storage = held_at_zero(read if takes else read[read > 0.0])
    found = {
        Flag.NET_METER: True,
        Flag.LITTLE_EXPORT: fit.exporting < LITTLE_EXPORT,
        Flag.HEAVY_LOAD: by_day.sum() + at_night.sum() > HEAVY_LOAD * generation.sum(),
        Flag.STORAGE: storage,
        Flag.LOAD_FOLLOWS_SUN: takes
        and not storage
        and len(at_night) > 0
        and float(at_night.mean()) < LEAST_AT_NIGHT * float(by_day.mean()),
        Flag.LOW_AGREEMENT: is_strange(fit, prepared),
        Flag.LABEL_UNKNOWN: unknown,
    }
    flags = tuple(flag for flag, there in found.items() if there)
    return NetJudgement(flags, with_systematic_errors(fit, errors))


def held_at_zero(power: Array) -> bool:
    """Return whether something holds a meter at zero, as a battery does."""
    size = np.abs(power)
    within = HELD_WITHIN * np.quantile(size, 0.99) if len(size) else 0.0
    held = np.count_nonzero(size < within)
    beside = np.count_nonzero((size >= within) & (size < 3.0 * within)) / 2.0
    return bool(held > HELD_SHARE * len(size) and held > HELD_OFTEN * beside)


def is_strange(fit: NetFit, prepared: PreparedSky) -> bool:
    """Return whether a fit explains readings by a sky that no place has."""
    middles = 0.5 * (EDGES[1:] + EDGES[:-1])
    bright = fit.state.clouds[middles > BRIGHTER].sum()
    numbers = prepared.numbers
    air = abs(fit.state.point[HAZE] - numbers.haze_mean) / numbers.haze_deviation
    clear = fit.found[CLEAR][fit.have].mean()
    return bool(bright > BRIGHTEST_CLOUDS or air > STRANGE_AIR or clear < FEWEST_CLEAR)


def with_systematic_errors(fit: NetFit, errors: NetErrors = NET_ERRORS) -> Array:
    """Return the covariance of a fit with what it cannot see, shape (PARAMETERS, PARAMETERS)."""
    covariance = errors.stretch**2 * fit.covariance
    axes = in_plane_axes(fit.state.point[None, :])[0]
    bias = np.array([errors.tilt, errors.across]) ** 2
    covariance[:2, :2] += np.einsum("ai,a,aj->ij", axes, bias, axes)
    covariance[CAPACITY, CAPACITY] += errors.capacity**2
    return covariance


def _without(slot: NDArray[np.integer], row: Matrix) -> Matrix:
    """Return the readings of a row but for some intervals. [kW]"""
    rest = np.ones(len(row), dtype=bool)
    rest[slot] = False
    return row[rest & np.isfinite(row)]


# Steps of a first look, from the plane turned as the clock is, on one of LOOK_DAYS days.
LOOK_STEPS, LOOK_DAYS = 3, 6

# A clock is fitted in earnest where by that look it is likelier by this many standard errors: one
# that is an hour off, and one that saves daylight, which right clocks look less like.
SUSPECT_HOUR, SUSPECT_SAVING = 1.5, 0.0

# The declared clock gives way to one likelier by this many standard errors of a week's mean.
SURE = 3.5

# A week, and how many are the fewest that have a say. [days, weeks]
WEEK, FEWEST_WEEKS = 7, 8

HOUR = 3600

# Power of a plane where there is no light, which kernels need above zero. [kW/kW]
LEAST_LIGHT = 1e-4

PLAUSIBLE = {
    ClockHypothesis(-60.0): SUSPECT_HOUR,
    ClockHypothesis(60.0): SUSPECT_HOUR,
    ClockHypothesis(0.0, DaylightSaving.LEFT_IN): SUSPECT_SAVING,
    ClockHypothesis(0.0, DaylightSaving.APPLIED_TWICE): SUSPECT_SAVING,
}


@dataclass(frozen=True, slots=True, eq=False)
class WholeDays:
    """The intervals of some solar days, nights among them: public."""

    places: NDArray[np.intp]  # where they stand on the long grid
    begins: NDArray[np.intp]  # where each day begins among them, and where the last ends
    weeks: NDArray[np.intp]  # which days begin a week, and how many days there are
    light: NDArray[np.intp]  # which of them see light, and their sky
    sheet: Sheet  # which of them see light, and their sky
    cloud: Array  # what measured clouds hide


@functools.lru_cache(maxsize=16)
def whole_days(prepared: PreparedSky, every: int) -> WholeDays:
    """Return the intervals of every ``every``-th solar day, as a fit of such days has them."""
    sky, long = prepared.sky, prepared.sky.grid.long
    day = (long.first + sky.turn + long.step * np.arange(long.count)) // 86400
    chosen = day % every == 0
    places, day = np.flatnonzero(chosen), day[chosen]
    first = np.flatnonzero(np.diff(day, prepend=-1))
    weeks = np.flatnonzero(np.diff(day[first] // WEEK, prepend=-1))
    daylight = np.flatnonzero(chosen[sky.slot])
    light = np.searchsorted(places, sky.slot[daylight])
    cloud = np.zeros(len(places))
    cloud[light] = sky.rows[CLOUD, daylight]
    ends = np.append(first, len(places)), np.append(weeks, len(first))
    return WholeDays(places, *ends, light, in_blocks(sky.rows[:, daylight]), cloud)


def likelihood_by_week(
    row: NDArray[np.float32],
    readings: NetReadings,
    state: NetState,
    prepared: PreparedSky,
    cells: LoadCells,
    every: int = 1,
) -> Array:
    """Return the log-likelihood of all readings, day and night, by week."""
    whole = whole_days(prepared, every)
    power = row[whole.places].astype(np.float64)
    kind = np.where(power == 0.0, AT_MOST_ZERO, EXACT).astype(np.int8)
    kind[np.isnan(power)] = NONE
    power = np.nan_to_num(power)
    capacity = np.exp(state.point[CAPACITY])
    profile = np.empty((1, whole.sheet.shape[0] * whole.sheet.shape[2]), dtype=np.float32)
    fill_profiles(whole.sheet, state.point[None, :], prepared.numbers, profile)
    model = np.full(len(power), LEAST_LIGHT * capacity)
    model[whole.light] = np.maximum(capacity * profile[0, : len(whole.light)], model[whole.light])
    levels = np.zeros(int(cells.every_day.max()) + 1)
    levels[cells.day] = readings.level
    offset = state.load.shared * levels[cells.every_day[whole.places]]
    cell, idle = cells.every[whole.places], (state.load.idle, IDLE_TOP * readings.top)
    which = spikes_of(model, readings.top, whole.cloud)
    scratch = np.zeros((3, CELLS)), np.zeros(len(EDGES) - 1), np.zeros(6)
    out = []
    for first, last in itertools.pairwise(whole.weeks):
        begins = whole.begins[first : last + 1]
        part = slice(begins[0], begins[-1])
        load = cell[part], offset[part], state.load.centre, state.load.width, idle
        clouds = EDGES, spike_bins(), which[part], state.clouds
        found = np.zeros((FOUND, part.stop - part.start))
        out.append(
            weigh(
                power[part], kind[part], model[part], load, begins - begins[0], clouds,
                state.chain, UNEXPLAINED / (4.0 * readings.top), found, scratch,
            )
        )  # fmt: skip
    return np.array(out)


@dataclass(frozen=True, slots=True, eq=False)
class NetClock:
    """A clock that a net meter may be on, with its fit: private."""

    hypothesis: ClockHypothesis  # the clock
    row: NDArray[np.float32]  # [kW] the readings where it puts them, on the long grid
    fit: NetFit  # their fit
    weeks: Array  # their log-likelihood by week

    def __repr__(self) -> str:
        return "NetClock(private)"


def find_net_clock(
    row: NDArray[np.float32], fit: NetFit, prepared: PreparedSky, cells: LoadCells, timezone: str
) -> NetClock | None:
    """Return the clock that the readings of a net meter are on; None for the declared one."""
    calendar, step = prepared.calendars(timezone)[1], prepared.sky.grid.long.step
    if HOUR % step:
        return None

    def moved(hypothesis: ClockHypothesis) -> NDArray[np.float32]:
        return np.asarray(relaid(row[None, :], hypothesis, calendar, step)[0])

    def tried(hypothesis: ClockHypothesis) -> NetClock:
        there = moved(hypothesis)
        found = fit_net(there, prepared, cells)
        weeks = likelihood_by_week(there, found.readings, found.state, prepared, cells)
        return NetClock(hypothesis, there, found, weeks)

    some = likelihood_by_week(row, fit.readings, fit.state, prepared, cells, LOOK_DAYS)
    suspects = []
    for each, least in PLAUSIBLE.items():
        ahead = each.ahead_seconds(calendar) / HOUR
        if ahead.any():
            weeks = _look(moved(each), ahead, fit, prepared, cells)
            suspects += [each] if standard_errors(weeks - some) > least else []
    if not suspects:
        return None
    best = max(map(tried, suspects), key=lambda each: float(each.weeks.sum()))
    if best.hypothesis.offset_minutes:
        further = tried(ClockHypothesis(2.0 * best.hypothesis.offset_minutes))
        best = further if standard_errors(further.weeks - best.weeks) > SURE else best
    declared = likelihood_by_week(row, fit.readings, fit.state, prepared, cells)
    return best if standard_errors(best.weeks - declared) > SURE else None


def standard_errors(weeks: Array) -> float:
    """Return by how many standard errors the mean of weeks is above nothing, without both ends."""
    inner = weeks[1:-1]
    if len(inner) < FEWEST_WEEKS:
        return -np.inf
    return float(inner.mean() / max(inner.std(ddof=1), 1e-9) * np.sqrt(len(inner)))


def _look(
    row: NDArray[np.float32], ahead: Array, fit: NetFit, prepared: PreparedSky, cells: LoadCells
) -> Array:
    """Return about how likely moved readings are by week, by a few steps on a few days."""
    # `ahead` is how far they were moved [hours]. Steps start where the fit of unmoved ones would
    # be: its plane turned, its load as much earlier in each season.
    season = cells.every // HOURS
    count = np.bincount(season, minlength=CELLS // HOURS)
    earlier = np.bincount(season, ahead, minlength=CELLS // HOURS) / np.maximum(count, 1)
    hour = np.arange(CELLS) % HOURS
    taken = np.arange(CELLS) - hour + (hour + np.repeat(earlier.round().astype(int), HOURS)) % HOURS
    point, load = fit.state.point.copy(), fit.state.load
    point[EAST] += 60.0 * ACROSS_PER_MINUTE * ahead.mean()
    load = replace(load, centre=load.centre[taken], width=load.width[taken])
    readings = read_net(row, prepared, cells)
    problem = NetProblem(readings, prepared, cells, LOOK_DAYS)
    state = run(problem, replace(fit.state, point=point, load=load), LOOK_STEPS)[0]
    return likelihood_by_week(row, readings, state, prepared, cells, LOOK_DAYS)


def household_of(hours: NetHours, exporting: float) -> HouseholdEstimate:
    """Return the household behind a net meter: its load by hour and season, and what it used."""
    cell, load = hours.cell[hours.said], np.maximum(hours.load[hours.said], 0.0)
    read = np.bincount(cell, minlength=CELLS).astype(np.float64)
    total = np.bincount(cell, load, minlength=CELLS)
    mean = np.where(read > 0.0, total / np.maximum(read, 1.0), np.nan)
    generation = hours.generation[hours.by_day]
    # what was given to the grid, and where the load is hidden, nothing was
    given = np.maximum(generation - hours.load[hours.by_day], 0.0)
    nights = (hours.said & ~hours.by_day).any()
    used = 1.0 - given.sum() / max(generation.sum(), 1e-12)
    return HouseholdEstimate(
        load_kw=tuple(tuple(season) for season in mean.reshape(len(SEASONS), HOURS).tolist()),
        mean_load_kw=float(total.sum() / max(read.sum(), 1.0)) if nights else float("nan"),
        self_consumption=float(used),
        exporting=exporting,
    )


Matrix = NDArray[np.float32]


@checked
def infer_net_block(
    power: Matrix,
    sky: SkyTable,
    *,
    options: InferOptions | None = None,
    timezone: str = "UTC",
    label_known: bool = True,
    places: Places | None = None,
) -> Estimates:
    """Infer every system of a block from what its meter sees of generation less load."""
    # Estimates are as private as the readings.
    prepared = prepare(sky, options or InferOptions())
    out = not_inferred(np.full(len(power), NO_WEATHER), np.zeros(len(power), dtype=np.int32))
    if not sky.usable:
        return out
    size = max(1, CHUNK // sky.grid.count)
    for first in range(0, len(power), size):
        part = np.ascontiguousarray(power[first : first + size], dtype=np.float32)
        for s, row in enumerate(on_long_grid(believable(part), sky.grid), start=first):
            here = None if places is None else places.take(np.array([s]))
            found = _infer_row(row, prepared, timezone, label_known, here)
            out.put(np.array([s]), found)
    return out


def _infer_row(
    row: NDArray[np.float32],
    prepared: PreparedSky,
    timezone: str,
    label_known: bool,
    place: Places | None,
) -> Estimates:
    """Infer one system from its readings on the long grid."""
    seen = row[prepared.slot]
    daylight = np.array([np.count_nonzero(seen > 0.0)])
    net, force = is_net(row, prepared), prepared.options.force
    if not (net or force):
        return not_inferred(np.array([NOT_NET]), daylight)
    if daylight[0] < FEWEST_READINGS:
        return not_inferred(np.array([TOO_LITTLE]), daylight)
    try:
        found = _fit_row(row, prepared, timezone, label_known, daylight, place)
    except np.linalg.LinAlgError:  # no reading bears on some of what is fitted
        return not_inferred(np.array([NO_FIT]), daylight)
    found.flags[:] |= flag_bits(Flag.NOT_GENERATION, np.array([not net]))
    return found if says_anything(found)[0] else not_inferred(np.array([NO_FIT]), daylight)


def _fit_row(
    row: NDArray[np.float32],
    prepared: PreparedSky,
    timezone: str,
    label_known: bool,
    daylight: NDArray[np.integer],
    place: Places | None,
) -> Estimates:
    """Fit one net meter, its clock and its load."""
    cells, clock = load_cells(prepared, timezone), FoundClock()
    fit = fit_net(row, prepared, cells)
    if prepared.options.clock is Clock.REPAIR:
        moved = find_net_clock(row, fit, prepared, cells, timezone)
        if moved is not None:
            gain = agreement_of(moved.fit) - agreement_of(fit)
            clock, row, fit = FoundClock(moved.hypothesis, gain), moved.row, moved.fit
    judged = judge_net(fit, row, prepared, label_known=label_known)
    found = _estimates(fit, clock, judged, prepared, daylight, place)
    hours = tell_apart(row, prepared, cells, fit.state.point)
    found.household[0] = household_of(hours, fit.exporting)
    return found


def _estimates(
    fit: NetFit,
    clock: FoundClock,
    judged: NetJudgement,
    prepared: PreparedSky,
    daylight: NDArray[np.integer],
    place: Places | None,
) -> Estimates:
    """Return the estimate of one system as a block of one."""
    point = fit.state.point[None, :]
    points = point if place is None else as_placed(point, prepared.sky.site, place)
    clear_hours = np.array([fit.found[CLEAR][fit.have].sum() * prepared.minutes / 60.0])
    days = len(np.unique(prepared.day[fit.have]))
    flags = dict.fromkeys(judged.flags, True)
    flags[Flag.CLOCK_REPAIRED] = clock.hypothesis != DECLARED
    flags[Flag.TOO_LITTLE_DATA] = days < FEWEST_DAYS
    flags[Flag.FEW_CLEAR_HOURS] = bool(clear_hours[0] < FEWEST_CLEAR_HOURS)
    return Estimates.of(
        outcome=np.full(1, INFERRED, dtype=np.uint8),
        surface_azimuth=np.degrees(np.arctan2(points[:, EAST], points[:, NORTH])) % 360.0,
        surface_tilt=np.minimum(np.hypot(points[:, EAST], points[:, NORTH]), 90.0),
        dc_capacity_kw=np.exp(points[:, CAPACITY]),
        haze_summer=points[:, HAZE] - points[:, HAZE_SEASON],
        haze_winter=points[:, HAZE] + points[:, HAZE_SEASON],
        heat=points[:, HEAT],
        clock_offset_minutes=np.array([clock.hypothesis.offset_minutes]),
        clock_daylight_saving=np.array([SAVINGS.index(clock.hypothesis.saving)], dtype=np.int8),
        clock_gain=np.array([clock.gain]),
        agreement=np.array([agreement_of(fit)]),
        clear_hours=clear_hours,
        daylight_readings=daylight.astype(np.int32),
        flags=np.bitwise_or.reduce(
            [flag_bits(flag, np.array([where])) for flag, where in flags.items()]
        ),
        **asdict(intervals_of(points, judged.covariance[None])),
    )


def agreement_of(fit: NetFit) -> float:
    """Return the share of bright readings with the expected clearness of a clear sky."""
    bright = fit.have & (fit.model > 0.2 * fit.model.max(initial=0.0))
    close = np.abs(fit.found[CLEARNESS] - 1.0) <= AGREES_WITHIN
    return float((close & bright).sum() / max(bright.sum(), 1))


@dataclass(frozen=True, slots=True, eq=False)
class Separated:
    """Generation and load of a net meter on a grid, NaN where there is no reading: private."""

    generation: Array  # [kW]
    load: Array  # [kW]
    low: Array  # [kW] A 90% band of the generation
    high: Array  # [kW] A 90% band of the generation

    def __repr__(self) -> str:
        return f"Separated({len(self.generation)} intervals, private)"


def separate(
    power: NDArray[np.float32],
    sky: SkyTable,
    estimate: Estimate,
    *,
    options: InferOptions | None = None,
    timezone: str = "UTC",
) -> Separated:
    """Tell the generation of one net meter from its load, with a band.

    Parameters
    ----------
    power
        Generation less load on ``sky.grid``, NaN where there is no reading, shape (intervals,).
        [kW]
    sky
        The sky that they saw.
    estimate
        What was inferred of the system.
    options
        What was assumed.
    timezone
        The clock that the stamps were declared to be on.
    """
    prepared = prepare(sky, options or InferOptions())
    row = on_long_grid(believable(np.asarray(power, dtype=np.float32)[None, :]), sky.grid)[0]
    hours = tell_apart(row, prepared, load_cells(prepared, timezone), point_of(estimate))
    reading = np.asarray(power, dtype=np.float64)
    # what is given to the grid was generated
    given = np.maximum(reading, 0.0)
    generation = np.maximum(_on_grid(hours.generation, prepared), given)
    low = np.clip(_on_grid(hours.low, prepared), given, generation)
    high = np.maximum(_on_grid(hours.high, prepared), generation)
    load = np.where(reading == 0.0, _on_grid(hours.load, prepared), generation - reading)
    return Separated(generation, load, low, high)


def point_of(estimate: Estimate) -> Array:
    """Return what was fitted of a system, as its estimate has it."""
    haze, heat = estimate.haze, estimate.heat
    out = np.zeros(PARAMETERS)
    azimuth = np.radians(estimate.surface_azimuth)
    out[EAST] = estimate.surface_tilt * np.sin(azimuth)
    out[NORTH] = estimate.surface_tilt * np.cos(azimuth)
    out[CAPACITY], out[LIMIT] = np.log(estimate.dc_capacity_kw), UNLIMITED
    out[HAZE] = TYPICAL_HAZE if haze is None else haze
    out[HEAT] = TYPICAL_HEAT if heat is None else heat
    if haze is not None and estimate.haze_winter is not None:
        out[HAZE_SEASON] = estimate.haze_winter - haze
    return out


def _on_grid(values: Array, prepared: PreparedSky) -> Array:
    """Return what long intervals have on the grid of the readings, zero where nothing. [kW]"""
    grid = prepared.sky.grid
    long = np.repeat(np.nan_to_num(values), grid.per_long)
    return long[grid.lead : grid.lead + grid.count]
