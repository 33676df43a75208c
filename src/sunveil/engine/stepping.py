"""Repair a clock that was set to another time within a record: readings relaid, and judged anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.hypotheses import ClockHypothesis, relaid
from sunveil.engine.light import measured_daylight, modelled_daylight
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.search import Searched, search
from sunveil.engine.steps import (
    MOST_STEPS,
    PRICE,
    can_be_laid,
    light_against,
    offsets_by_day,
    with_offsets,
)
from sunveil.estimate import DaylightSaving
from sunveil.site import Array

Matrix = NDArray[np.float32]

# What steps must explain of the light beyond their price, over all days. [minutes]
LEAST_GAIN = 200.0
# A clock with steps explains at least this share of the energy that the one without does.
AS_GOOD = 0.95
# Rounds of finding the days of steps: the first plane is one of days that do not fit together.
ROUNDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """The readings of one system where a clock puts them, and what a search found: private.

    Parameters
    ----------
    hypothesis
        The clock.
    rows
        The readings on the long grid, shape (1, intervals). [kW]
    prepared
        The sky that they were laid onto.
    searched
        What was found there.
    half
        Whether that is the sky half an interval earlier than the declared one.
    """

    hypothesis: ClockHypothesis
    rows: Matrix
    prepared: PreparedSky
    searched: Searched
    half: bool

    def leads(self) -> Array:
        """Return how far first and last light run ahead of the plane's, shape (2, days).

        In minutes, NaN on days that do not show it.
        """
        sky, bright = self.prepared, self.searched.readings.bright
        measured = measured_daylight(self.rows, bright, sky.days)
        own = modelled_daylight(self.searched.points, bright, sky.sky, sky.numbers, sky.days)
        return np.asarray((measured.bounds - own.bounds)[:, 0] * sky.minutes)

    def cost(self) -> float:
        """Return what of the light its clock leaves unexplained, and the price of its steps."""
        against = light_against(self.leads(), np.zeros(1)).sum()
        return float(against) + PRICE * len(self.hypothesis.steps)


def find_steps(
    declared: Laid, repaired: Laid | None, prepared: PreparedSky, *, timezone: str
) -> Laid | None:
    """Return a system with its clock's steps repaired, None where it shows none.

    Parameters
    ----------
    declared
        The system under its declared clock.
    repaired
        The same under the clock that it was found to be on, where that is another one.
    prepared
        The sky of the declared clock.
    timezone
        The declared clock, whose daylight saving counts.
    """
    plain = repaired or declared
    bases = [plain]
    if plain.hypothesis.saving is not DaylightSaving.AS_DECLARED:
        # a single step in summer looks like an hour of daylight saving
        bases.append(declared)
    tried = [_with_steps(base, declared.rows, prepared, timezone) for base in bases]
    found = [each for each in tried if each is not None]
    if not found:
        return None
    best = min(found, key=Laid.cost)
    if best.cost() + LEAST_GAIN > plain.cost():
        return None
    return best if best.searched.explained[0] >= AS_GOOD * plain.searched.explained[0] else None


def _with_steps(base: Laid, rows: Matrix, prepared: PreparedSky, timezone: str) -> Laid | None:
    """Find the days of steps and the offsets between them, in some rounds."""
    best, found = base, None
    for _ in range(ROUNDS):
        offsets = offsets_by_day(best.leads())
        if np.ptp(offsets) == 0.0:
            break
        tried = []
        # either end of the record, or neither, may be where the clock is right
        for shift in {0.0, float(offsets[0]), float(offsets[-1])}:
            calendar = best.prepared.calendars(timezone)[0]
            clock = with_offsets(best.hypothesis, offsets - shift, calendar)
            if can_be_laid(clock, prepared) and len(clock.steps) <= MOST_STEPS:
                tried.append(_lay(clock, rows, prepared, timezone))
        tried = [each for each in tried if each.cost() < best.cost()]
        if not tried:
            break
        best = found = min(tried, key=Laid.cost)
    return found if found is None or found.hypothesis.steps else None


def _lay(clock: ClockHypothesis, rows: Matrix, prepared: PreparedSky, timezone: str) -> Laid:
    """Lay readings where a clock puts them, and search for their plane."""
    step = prepared.sky.grid.long.step
    half = clock.needs_half_grid(step)
    sky = prepared.half if half else prepared
    moved = relaid(rows, clock, prepared.calendars(timezone)[1], step)
    return Laid(clock, moved, sky, search(moved, sky), half=half)
