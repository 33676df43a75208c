"""Weigh plausible clocks: a plane is searched for under each, and first and last light decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.hypotheses import ClockHypothesis, relaid
from sunveil.engine.light import (
    Daylight,
    Season,
    measured_daylight,
    modelled_daylight,
    moved_together,
    typical_leads,
)
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.search import Searched, search
from sunveil.engine.stepping import Laid
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.site import Array

Matrix = NDArray[np.float32]

# Clocks that explain less of the energy than this share of the best are out.
AS_GOOD = 0.85
# A clock that leaves less than this unexplained is right without looking further. [minutes]
EXPLAINED_MINUTES = 6.0
# A repair leaves so much less of first and last light unexplained, and at most this share of it:
# a clock that is a quarter of an hour off is not made one off to the other side. [minutes]
LEAST_MINUTES, MOST_LEFT = 4.0, 0.6
# Whole hours are common faults. Half an hour is half a long interval, a label's, but hardly ever a
# fault of short intervals, whose start for their end is a quarter.
MOST_LEFT_SHORT = 0.25
# What half an hour may leave at most of what a whole one does.
MOST_LEFT_BESIDE = 0.5
# A repair leaves no more than this: of real systems with planted faults, what parts right clocks
# from wrong ones best came to 8 to 10 with each system left out in turn. [minutes]
MOST_MINUTES = 10.0
# What the middle of a day's light counts beside what moves both its ends.
MIDDLE_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class ClockTrial:
    """A system whose clock is in doubt.

    Parameters
    ----------
    system
        Which system of the block.
    hypotheses
        Its plausible clocks, the declared one first.
    left
        Minutes of first and last light that the declared one leaves unexplained.
    share
        Share of the energy that a plane explains under it.
    """

    system: int
    hypotheses: list[ClockHypothesis]
    left: float
    share: float


def leads_by_season(
    light: Daylight, modelled: Daylight, saving: NDArray[np.bool_], minutes: float
) -> Array:
    """Return how far light runs ahead in each season, shape (3, 2, systems). [minutes]

    Parameters
    ----------
    light, modelled
        Daylight of systems and of planes.
    saving
        Which days lie in daylight saving.
    minutes
        Length of an interval. [minutes]
    """
    return np.array(
        [typical_leads(light, modelled, saving, season, minutes=minutes) for season in Season]
    )


def planes_light(searched: Searched, prepared: PreparedSky) -> Daylight:
    """Return the light of the planes that a search found."""
    return modelled_daylight(
        searched.points,
        searched.readings.bright,
        prepared.sky,
        prepared.numbers,
        prepared.days,
    )


def unexplained(leads: Array) -> Array:
    """Return how much of first and last light is unexplained, in the worst season. [minutes]

    Parameters
    ----------
    leads
        How far light runs ahead, shape (seasons, 2, systems), NaN where there are too few days
        for it; all of it is unexplained where the year has too few. [minutes]
    """
    each = [np.abs(moved_together(one)) + MIDDLE_SHARE * np.abs(one.mean(axis=0)) for one in leads]
    worst = np.max(np.nan_to_num(each, nan=0.0), axis=0)
    return np.where(np.isnan(leads[Season.ALL, 0]), np.inf, worst)


def decide(
    hypotheses: Sequence[ClockHypothesis], shares: Array, left: Array, *, short: bool
) -> int:
    """Return the place of the clock that the evidence is for.

    Parameters
    ----------
    hypotheses
        The clocks, the declared one first.
    shares
        Share of the energy that a plane explains under each.
    left
        Minutes of first and last light that each leaves unexplained.
    short
        Whether the readings are of intervals below half an hour.
    """
    good = np.flatnonzero((shares >= AS_GOOD * shares.max()) & (left <= MOST_MINUTES))
    half = np.array([each.offset_minutes % 60.0 != 0.0 for each in hypotheses])[good]
    chosen = 0
    most_half = MOST_LEFT_SHORT if short else MOST_LEFT
    for places, share in ((good[~half], MOST_LEFT), (good[half], most_half)):
        if len(places):
            best = int(places[left[places].argmin()])
            most = min(share * left[0], (MOST_LEFT_BESIDE if chosen else 1.0) * left[chosen])
            if left[best] <= min(left[chosen] - LEAST_MINUTES, most):
                chosen = best
    return chosen


def settle(
    trials: Sequence[ClockTrial], rows: Matrix, prepared: PreparedSky, timezone: str
) -> tuple[dict[int, Laid], dict[int, Laid]]:
    """Search for a plane under each plausible clock, and weigh them.

    Parameters
    ----------
    trials
        The systems in doubt.
    rows
        Readings of all systems on the long grid, shape (systems, intervals). [kW]
    prepared
        The sky.
    timezone
        The declared clock, whose daylight saving counts.

    Returns
    -------
    tuple of dict
        By system: the clocks that the evidence is for where it is not the declared one, and the
        best of the others where neither they nor the declared one explain the light.
    """
    step = prepared.sky.grid.long.step
    pairs = [(t, h) for t in trials for h in t.hypotheses[1:]]
    halves = np.array([h.needs_half_grid(step) for _, h in pairs], dtype=bool)
    systems = np.array([t.system for t, _ in pairs], dtype=np.intp)
    shares, left = np.full(len(pairs), -1.0), np.full(len(pairs), np.inf)
    laid: dict[int, Laid] = {}
    settled = np.zeros(len(pairs), dtype=bool)
    for half in (False, True):
        # the sky half an interval earlier is made only for whom no whole one explains the light
        chosen = np.flatnonzero((halves == half) & ~settled)
        if not len(chosen):
            continue
        sky = prepared.half if half else prepared
        days, stamps = sky.calendars(timezone)
        moved = np.concatenate(
            [relaid(rows[systems[i], None], pairs[i][1], stamps, step) for i in chosen]
        )
        found = search(moved, sky)
        # light again, now that each clock has its plane: the right one explains the day's bounds
        light = measured_daylight(moved, found.readings.bright, sky.days)
        left[chosen] = unexplained(
            leads_by_season(light, planes_light(found, sky), days.saving, sky.minutes)
        )
        shares[chosen] = found.explained
        for place, i in enumerate(chosen.tolist()):
            own = found.take(np.array([place]))
            laid[i] = Laid(pairs[i][1], moved[place : place + 1], sky, own, half=half)
        settled = np.isin(systems, systems[left < EXPLAINED_MINUTES])
    short = prepared.sky.grid.step < SHORT_INTERVAL
    return _winners(trials, shares, left, laid, short=short)


def _winners(
    trials: Sequence[ClockTrial], shares: Array, left: Array, laid: dict[int, Laid], *, short: bool
) -> tuple[dict[int, Laid], dict[int, Laid]]:
    """Return the clocks that the evidence is for, and those of systems it is for none of."""
    winners, doubtful, first = {}, {}, 0
    for trial in trials:
        last = first + len(trial.hypotheses) - 1
        best = decide(
            trial.hypotheses,
            np.r_[trial.share, shares[first:last]],
            np.r_[trial.left, left[first:last]],
            short=short,
        )
        if best:
            winners[trial.system] = laid[first + best - 1]
        elif trial.left > MOST_MINUTES:
            doubtful[trial.system] = laid[first + int(left[first:last].argmin())]
        first = last
    return winners, doubtful
