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
    light_against,
    offsets_by_day,
    with_offsets,
)
from sunveil.site import Array

Matrix = NDArray[np.float32]

# What steps must explain of the light beyond their price, over all days. [minutes]
LEAST_GAIN = 200.0
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
        """Return what of the light its clock leaves unexplained, with the price of its steps."""
        against = light_against(self.leads(), np.zeros(1)).sum()
        return float(against) + PRICE * len(self.hypothesis.steps)


def find_steps(declared: Laid, repaired: Laid | None, *, timezone: str) -> Laid | None:
    """Return a system with its clock's steps repaired, None where it shows none.

    Parameters
    ----------
    declared
        The system under its declared clock.
    repaired
        The same under the clock that it was found to be on, where that is another one.
    timezone
        The declared clock, whose daylight saving counts.
    """
    plain = repaired or declared
    cost = plain.cost()
    if cost < PRICE + LEAST_GAIN:
        return None
    # half of a record an hour off may look like all of it half an hour off, or like daylight saving
    bases = [declared] if repaired is None else [repaired, declared]
    found = [each for base in bases for each in _with_steps(base, declared, timezone)]
    if not found:
        return None
    best = min(found, key=Laid.cost)
    # days that fit together let a plane explain more of them: 2 to 25% on real systems
    explained = best.searched.explained[0] >= plain.searched.explained[0]
    return best if explained and best.cost() + LEAST_GAIN <= cost else None


def _with_steps(base: Laid, declared: Laid, timezone: str) -> list[Laid]:
    """Return clocks with steps that explain more than the one before, the last one the most."""
    step, clock = declared.prepared.sky.grid.long.step, base.hypothesis
    best, found = base, []
    for _ in range(ROUNDS):
        days = best.prepared.calendars(timezone)[0]
        ahead = best.hypothesis.ahead_seconds(days) - clock.ahead_seconds(days)
        clocks = set()
        for offsets in offsets_by_day(best.leads() + ahead / 60.0, step=step):
            # either end of the record, or neither, may be where the clock is right
            for shift in (0.0, offsets[0], offsets[-1]):
                clocks.add(with_offsets(clock, offsets - shift, days))
        tried = [
            _lay(each, declared, timezone) for each in clocks if 0 < len(each.steps) <= MOST_STEPS
        ]
        last, best = best, min([*tried, best], key=Laid.cost)
        if best is last:
            break
        found.append(best)
    return found


def _lay(clock: ClockHypothesis, declared: Laid, timezone: str) -> Laid:
    """Lay readings where a clock puts them, and search for their plane."""
    prepared = declared.prepared
    step = prepared.sky.grid.long.step
    half = clock.needs_half_grid(step)
    sky = prepared.half if half else prepared
    moved = relaid(declared.rows, clock, prepared.calendars(timezone)[1], step)
    return Laid(clock, moved, sky, search(moved, sky), half=half)
