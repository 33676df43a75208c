"""The clocks of many systems: most are settled by first and last light alone.

The hypotheses, the evidence and the decision are those of :mod:`sunveil.fit.clocks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from sunveil.cells.tables import LANES
from sunveil.fit.clocks import (
    EXPLAINED_MINUTES,
    SAVING_MINUTES,
    SUSPICIOUS_MINUTES,
    Hypothesis,
    decide,
    propose,
    saving_days,
    saving_rule,
    unexplained,
    worth_comparing,
)
from sunveil.fit.light import THRESHOLD
from sunveil.jit import compiled
from sunveil.quick.ends import Days
from sunveil.quick.groups import Matrix
from sunveil.quick.model import CAPACITY, OUT
from sunveil.quick.newton import FREE, refine
from sunveil.quick.prepared import CAPACITIES, Prepared
from sunveil.site import Array

# How many times the energy a repaired clock must explain: a fit wavers less than a count.
LEAST_GAIN = 1.0
_WIDE = np.array([1.5, 1.0])
Shifts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """The clock of one system, and the agreement it gained over the declared one."""

    clock: Hypothesis
    gain: float = 0.0


def find_clocks(
    rows: Matrix, bright: Array, points: Array, prepared: Prepared, *, timezone: str
) -> dict[int, Found]:
    """Return the systems whose clock does not fit the sun, with the clock that does.

    Parameters
    ----------
    rows
        Readings on the long axis, NaN where there is none, shape (systems, intervals). [kW]
    bright
        Each system's bright power. [kW]
    points
        What was fitted to each under the declared clock.
    prepared
        What is known of the sky beforehand.
    timezone
        The clock that the stamps were declared to be on.
    """
    days = Days.of(prepared.sky)
    if days is None:
        return {}
    case = _Case(prepared, days, timezone, prepared.sky.axis.long.step / 60.0)
    ours = days.middles(rows, np.asarray(THRESHOLD * bright, dtype=np.float32))
    saving = saving_days(days.numbers, case.rule)
    typical = days.typical(ours, prepared.flat_light, saving=saving, minutes=case.minutes)
    doubtful = np.flatnonzero(_suspicious(typical))
    if not len(doubtful):
        return {}
    # most suspicions are only a plane that faces the rising or the setting sun
    mine = ours[0][doubtful], ours[1][doubtful]
    planes = days.modelled(prepared.sky, _sharp(points[doubtful]), prepared.constants)
    left = np.abs(days.typical(mine, planes, saving=saving, minutes=case.minutes))
    wrong = np.flatnonzero(~(np.nanmax(left, axis=1, initial=0.0) < EXPLAINED_MINUTES))
    out: dict[int, Found] = {}
    for i in wrong:
        s = int(doubtful[i])
        seen = ours[0][s], ours[1][s]
        found = _found(case, rows[s], float(bright[s]), seen, float(np.nanmax(left[i])))
        if not found.clock.declared:
            out[s] = found
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """The sky, the days and the declared clock under which clocks are told."""

    prepared: Prepared
    days: Days
    timezone: str
    minutes: float

    @property
    def rule(self) -> ZoneInfo | None:
        return saving_rule(self.prepared.sky.site, self.timezone)

    def left(self, clock: Hypothesis, point: Array, seen: tuple[Matrix, Matrix]) -> float:
        """Return how far light still is from a plane's under a clock. [minutes]"""
        plane = self.days.modelled(self.prepared.sky, point[None], self.prepared.constants)
        return unexplained(clock, self.days.ends(seen, plane, minutes=self.minutes), self.rule)


def _sharp(points: Array) -> Array:
    """Return points under the maps' own haze and the heat of a rack, as light is told by."""
    out = points.copy()
    out[:, 3], out[:, 4] = 0.0, 1.0
    return out


def _found(
    case: _Case, row: Matrix, bright: float, seen: tuple[Matrix, Matrix], kept: float
) -> Found:
    """Weigh the clocks that one system's light proposes."""
    ends = case.days.ends(seen, case.prepared.flat_light, minutes=case.minutes)
    options = propose(ends, saving_days(ends.day, case.rule), case.minutes)
    if len(options) == 1:
        return Found(options[0])
    agreed = [_explained(row, bright, option, case) for option in options]
    shares = [share for share, _ in agreed]
    left = {0: kept} | {
        i: case.left(options[i], agreed[i][1], seen) for i in worth_comparing(shares) if i > 0
    }
    return Found(*decide(options, shares, left, case.minutes, least_gain=LEAST_GAIN))


def _suspicious(typical: Array) -> NDArray[np.bool_]:
    """Return which systems' light speaks for more than the declared clock."""
    base, winter, summer = typical.T
    with np.errstate(invalid="ignore"):
        low, high = SAVING_MINUTES
        step = np.abs(summer - winter)
        return np.asarray((np.abs(base) > SUSPICIOUS_MINUTES) | ((step > low) & (step < high)))


def shifts_of(clock: Hypothesis, prepared: Prepared, timezone: str) -> tuple[Shifts, bool]:
    """Return by how many intervals each stamp is too late, and whether half an interval is left.

    Parameters
    ----------
    clock
        How far the stamps run ahead.
    prepared
        The sky of the declared axis.
    timezone
        The declared clock, whose daylight saving counts.
    """
    step = prepared.sky.axis.long.step
    ahead = clock.ahead_seconds(prepared.saving(timezone))
    return np.floor_divide(ahead, step), bool((ahead % step != 0).any())


def relaid(row: Matrix, shifts: Shifts) -> Matrix:
    """Return readings moved to where they belong; what leaves the axis is lost."""
    out = np.full(len(row), np.nan, dtype=np.float32)
    place = np.arange(len(row)) - shifts
    inside = (place >= 0) & (place < len(row))
    out[place[inside]] = row[inside]
    return out


def _moved(row: Matrix, clock: Hypothesis, case: _Case) -> tuple[Matrix, Prepared]:
    """Return readings where a clock puts them, and the coarse sky they then belong to."""
    shifts, half = shifts_of(clock, case.prepared, case.timezone)
    under = case.prepared.coarse_half if half else case.prepared
    return (relaid(row, shifts) if shifts.any() else row), under


def _explained(row: Matrix, bright: float, clock: Hypothesis, case: _Case) -> tuple[float, Array]:
    """Return the share of energy that the best plane explains under a clock, and the plane."""
    moved, under = _moved(row, clock, case)
    few, coarse = under.sky.few, under.coarse
    best, place = best_plane(
        moved, under.few_slots, np.float32(bright), coarse.logs, *coarse.bins.numbers
    )
    point: Array = coarse.points[best].copy()
    # the capacity whose tolerance the best window spans
    point[CAPACITY] = np.log(bright * CAPACITIES.low) + CAPACITIES.step * place
    power = np.zeros(few.shape[0] * LANES, dtype=np.float32)
    have = np.zeros_like(power)
    values = moved[under.few_slots]
    there = np.isfinite(values)
    have[: len(values)] = there
    power[: len(values)][there] = values[there]
    share = refine(
        few,
        power,
        have,
        point,
        bright,
        _WIDE,
        8,
        under.thinned(case.prepared.sky.every),
        np.empty((few.shape[0], OUT, LANES), dtype=np.float32),
        np.zeros((FREE, FREE)),
    )
    return float(share), _sharp(point[None])[0]


@compiled
def best_plane(row, slots, bright, logs, lowest, per_step, width, capacities):  # type: ignore[no-untyped-def]
    """Return the plane, and the place of the capacity, with which most readings agree."""
    power = np.empty(len(slots), dtype=np.float32)
    for k in range(len(slots)):
        value = row[slots[k]]
        power[k] = np.log(value / bright) if value > 0.0 else -np.inf
    bins = capacities + width - 1
    tally = np.empty(bins, dtype=np.int64)
    best, where, most = 0, 0, -1
    for plane in range(logs.shape[0]):
        tally[:] = 0
        for k in range(len(slots)):
            place = (power[k] - logs[plane, k] - lowest) * per_step
            if place >= 0.0 and place < bins:
                tally[int(place)] += 1
        running = 0
        for b in range(bins):
            running += tally[b]
            if b >= width:
                running -= tally[b - width]
            if running > most:
                best, where, most = plane, b - width + 1, running
    return best, where
