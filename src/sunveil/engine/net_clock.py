"""The clock of a net meter: stamps that are an hour off, or that save daylight unasked.

A household hides first and last light, and a plane turned by eighteen degrees across explains most
of what an hour does to the middle of the day. What is left shows in all hours together: where the
sun is down nothing may be generated, and where it is up the load may not follow it. So clocks are
compared by how likely each makes all readings, day and night, under its own plane and its own
load. A repair must be likelier week after week.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.hypotheses import ClockHypothesis, relaid
from sunveil.engine.model import CAPACITY, CLOUD, EAST, Sheet, fill_profiles
from sunveil.engine.net_fit import NetFit, fit_net
from sunveil.engine.net_judge import ACROSS_PER_MINUTE
from sunveil.engine.net_load import CELLS, IDLE_TOP, LoadCells
from sunveil.engine.net_model import AT_MOST_ZERO, EXACT, FOUND, NONE, weigh
from sunveil.engine.net_problem import (
    EDGES,
    UNEXPLAINED,
    NetProblem,
    NetReadings,
    NetState,
    read_net,
    spike_bins,
    spikes_of,
)
from sunveil.engine.net_steps import run
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.skytable import in_blocks
from sunveil.estimate import DaylightSaving
from sunveil.household import HOURS
from sunveil.site import Array

# A first look takes so many steps, from the plane turned as the clock is, on one of so many days.
LOOK_STEPS, LOOK_DAYS = 3, 6
# A clock is fitted in earnest where by that look it is likelier by so many standard errors: one
# that is an hour off, and one that saves daylight, which right clocks look less like.
SUSPECT_HOUR, SUSPECT_SAVING = 1.5, 0.0
# The declared clock gives way to one that is likelier by so many standard errors of a week's mean.
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
    """The intervals of some solar days, nights among them: public.

    Parameters
    ----------
    places
        Where they stand on the long grid.
    begins
        Where each day begins among them, and where the last ends.
    weeks
        Which days begin a week, and how many days there are.
    lit, sheet
        Which of them see light, and their sky.
    cloud
        What measured clouds hide.
    """

    places: NDArray[np.intp]
    begins: NDArray[np.intp]
    weeks: NDArray[np.intp]
    lit: NDArray[np.intp]
    sheet: Sheet
    cloud: Array


@functools.lru_cache(maxsize=16)
def whole_days(prepared: PreparedSky, every: int) -> WholeDays:
    """Return the intervals of one in so many solar days, as a fit of such days has them."""
    sky, long = prepared.sky, prepared.sky.grid.long
    day = (long.first + sky.turn + long.step * np.arange(long.count)) // 86400
    chosen = day % every == 0
    places, day = np.flatnonzero(chosen), day[chosen]
    first = np.flatnonzero(np.diff(day, prepend=-1))
    weeks = np.flatnonzero(np.diff(day[first] // WEEK, prepend=-1))
    light = np.flatnonzero(chosen[sky.slot])
    lit = np.searchsorted(places, sky.slot[light])
    cloud = np.zeros(len(places))
    cloud[lit] = sky.rows[CLOUD, light]
    ends = np.append(first, len(places)), np.append(weeks, len(first))
    return WholeDays(places, *ends, lit, in_blocks(sky.rows[:, light]), cloud)


def likelihood_by_week(
    row: NDArray[np.float32],
    readings: NetReadings,
    state: NetState,
    prepared: PreparedSky,
    cells: LoadCells,
    every: int = 1,
) -> Array:
    """Return the log-likelihood of all readings, day and night, by week.

    Parameters
    ----------
    row
        Generation less load on the long grid, NaN where there is none. [kW]
    readings
        The same as the fit has it.
    state
        Where the fit ended.
    prepared, cells
        The sky, and the cells of its intervals.
    every
        Of so many days one is looked at.
    """
    whole = whole_days(prepared, every)
    power = row[whole.places].astype(np.float64)
    kind = np.where(power == 0.0, AT_MOST_ZERO, EXACT).astype(np.int8)
    kind[np.isnan(power)] = NONE
    power = np.nan_to_num(power)
    capacity = np.exp(state.point[CAPACITY])
    profile = np.empty((1, whole.sheet.shape[0] * whole.sheet.shape[2]), dtype=np.float32)
    fill_profiles(whole.sheet, state.point[None, :], prepared.numbers, profile)
    model = np.full(len(power), LEAST_LIGHT * capacity)
    model[whole.lit] = np.maximum(capacity * profile[0, : len(whole.lit)], model[whole.lit])
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
    """A clock that a net meter may be on, with its fit: private.

    Parameters
    ----------
    hypothesis
        The clock.
    row
        The readings where it puts them, on the long grid. [kW]
    fit
        Their fit.
    weeks
        Their log-likelihood by week.
    """

    hypothesis: ClockHypothesis
    row: NDArray[np.float32]
    fit: NetFit
    weeks: Array

    def __repr__(self) -> str:
        return "NetClock(private)"


def find_net_clock(
    row: NDArray[np.float32], fit: NetFit, prepared: PreparedSky, cells: LoadCells, timezone: str
) -> NetClock | None:
    """Return the clock that the readings of a net meter are on; None for the declared one.

    Parameters
    ----------
    row
        Generation less load on the long grid, NaN where there is none. [kW]
    fit
        Its fit under the declared clock.
    prepared, cells
        The sky, and the cells of its intervals.
    timezone
        The declared clock, whose daylight saving counts.
    """
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
    """Return by how many standard errors the mean of weeks is above nothing, ends left out."""
    inner = weeks[1:-1]
    if len(inner) < FEWEST_WEEKS:
        return -np.inf
    return float(inner.mean() / max(inner.std(ddof=1), 1e-9) * np.sqrt(len(inner)))


def _look(
    row: NDArray[np.float32], ahead: Array, fit: NetFit, prepared: PreparedSky, cells: LoadCells
) -> Array:
    """Return about how likely moved readings are by week, by a few steps on a few days.

    ``ahead`` is how far they were moved [hours]. Steps start where the fit of unmoved ones would
    be: its plane turned, its load as much earlier in each season.
    """
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
