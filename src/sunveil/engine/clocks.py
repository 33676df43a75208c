"""Clocks: find stamps that do not fit the sun, and say how to repair them.

A clock left free to the minute is nearly confounded with the azimuth, so only plausible faults
are considered: whole and half hours, half an interval (a stamp that names another instant of its
interval than declared), an hour of daylight saving left in or taken out twice, and each of these
from some day on. First and last light decide, compared with those of the plane that is found under
each clock: real planes explain nearly as much energy under a clock that is half an hour off, so
energy has a say only where a clock explains far less of it than another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.hypotheses import DECLARED, ClockHypothesis, FoundClock, relaid
from sunveil.engine.light import (
    Daylight,
    Season,
    measured_daylight,
    modelled_daylight,
    moved_together,
    typical_leads,
)
from sunveil.engine.model import EAST
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.search import Searched, search
from sunveil.engine.stepping import Laid, find_steps
from sunveil.engine.steps import may_have_steps
from sunveil.estimate import DaylightSaving
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.site import Array

Matrix = NDArray[np.float32]

# A plane moves the middle of its light by up to so much for each degree that it leans to the east
# or west; together with what shows of a flat one, less than this is within the usual. [minutes]
LEAN_MINUTES, USUAL_MINUTES = 1.3, 15.0
# More of a lean moves light no further. [degrees]
MOST_LEAN = 30.0
# First and last light of right clocks are hardly ever off together by more than this: 0 to 7
# minutes on real systems, under the planes that fit them; half an hour makes 3 to 30. [minutes]
TOGETHER_MINUTES = 4.0
# An hour of daylight saving, within what light can tell of an unknown plane. [minutes]
SAVING_MINUTES = (35.0, 85.0)
# Half of that shows where a plane takes up the rest. [minutes]
LEAST_SEASONAL_MINUTES = 20.0
# Clocks are plausible so close to what light says of a flat plane. [minutes]
PLAUSIBLE_MINUTES = 45.0
# Clocks that explain less of the energy than this share of the best are out.
AS_GOOD = 0.85
# A clock that leaves less than this unexplained is right without looking further. [minutes]
EXPLAINED_MINUTES = 6.0
# A repair leaves so much less of first and last light unexplained, and at most this share of it:
# a clock that is a quarter of an hour off is not made one off to the other side. [minutes]
LEAST_MINUTES, MOST_LEFT = 4.0, 0.6
# Half an hour is half a long interval, a common mistake, but a rare one of short intervals, whose
# start for their end is a quarter.
MOST_LEFT_RARE = 0.25
# What the middle of a day's light counts beside what moves both its ends.
MIDDLE_SHARE = 0.5
# An undeclared label is told where light is off by less than this share of the interval: half an
# interval moves it by a fifth to a half of one under the plane that fits then.
TOLD_SHARE = 1.0 / 12.0


@dataclass(frozen=True, slots=True, eq=False)
class RepairedSystems:
    """Systems of a block whose clocks were repaired, and what was found under those: private.

    Parameters
    ----------
    systems
        Which systems of the block.
    clocks
        Their clocks.
    searched
        What a search found of their readings where those belong; None where there are no systems.
    """

    systems: NDArray[np.intp]
    clocks: tuple[FoundClock, ...]
    searched: Searched | None


NOBODY = RepairedSystems(np.empty(0, dtype=np.intp), (), None)


@dataclass(frozen=True, slots=True, eq=False)
class BlockClocks:
    """What light says of the clocks of a block: private.

    Parameters
    ----------
    whole, half
        The systems that move by whole intervals, and those that belong half an interval earlier.
    off_label
        Which systems' light is too far from what the declared clock says for an undeclared label
        to be told by it.
    """

    whole: RepairedSystems
    half: RepairedSystems
    off_label: NDArray[np.bool_]


def propose(
    base: float, winter: float, summer: float, *, more: Sequence[float] = ()
) -> list[ClockHypothesis]:
    """Return the clocks that first and last light make plausible, the declared one first.

    Parameters
    ----------
    base, winter, summer
        How far light runs ahead of a flat plane's over the year, outside daylight saving, and
        within. [minutes]
    more
        Offsets that are plausible besides whole and half hours. [minutes]
    """
    kind = DaylightSaving.AS_DECLARED
    if SAVING_MINUTES[0] < abs(summer - winter) < SAVING_MINUTES[1]:
        kind = DaylightSaving.LEFT_IN if summer > winter else DaylightSaving.APPLIED_TWICE
        base = winter
    out = [DECLARED]
    if kind is not DaylightSaving.AS_DECLARED:
        out.append(ClockHypothesis(0.0, kind))
    offsets = (*(30.0 * np.arange(-26, 27)), *more)
    out += [
        ClockHypothesis(float(offset), kind)
        for offset in offsets
        if offset != 0.0 and abs(offset - base) <= PLAUSIBLE_MINUTES
    ]
    return out


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
    good = np.flatnonzero(shares >= AS_GOOD * shares.max()).tolist()
    best = min(good, key=lambda place: left[place])
    rare = short and hypotheses[best].offset_minutes % 60.0 != 0.0
    most = (MOST_LEFT_RARE if rare else MOST_LEFT) * left[0]
    return int(best) if left[best] <= min(left[0] - LEAST_MINUTES, most) else 0


def find_clocks(
    rows: Matrix,
    searched: Searched,
    prepared: PreparedSky,
    *,
    timezone: str,
    label_known: bool = True,
) -> BlockClocks:
    """Return the systems whose declared clock does not fit the sun, repaired.

    Parameters
    ----------
    rows
        Readings on the long grid, NaN where there is none, shape (systems, intervals). [kW]
    searched
        What a search found under the declared clock.
    prepared
        The sky.
    timezone
        The declared clock, whose daylight saving counts.
    label_known
        Whether somebody said which instant of its interval a stamp names.
    """
    off_label = np.full(len(rows), not label_known)
    if prepared.days.count == 0 or not len(rows):
        return BlockClocks(NOBODY, NOBODY, off_label)
    saving, minutes = prepared.calendars(timezone)[0].saving, prepared.minutes
    light, flat = _light_of(rows, searched, prepared, saving)
    looked_at = (_suspicious(flat, searched.points) | off_label) & searched.enough
    suspects = np.flatnonzero(looked_at)
    # most suspicions are only a plane that faces the rising or the setting sun
    own_light = light.take(suspects), _planes_light(searched.take(suspects), prepared)
    own = typical_leads(*own_light, saving, Season.ALL, minutes=minutes)
    if not label_known:
        off_label[suspects] = ~(np.abs(own.mean(axis=0)) <= TOLD_SHARE * minutes)
    together = np.abs(moved_together(own)) > TOGETHER_MINUTES
    doubt = np.flatnonzero(together | _seasonal(flat.mean(axis=1))[suspects])
    leads = _leads(*(each.take(doubt) for each in own_light), saving, minutes)
    swing = np.abs(moved_together(leads[Season.SUMMER] - leads[Season.WINTER]))
    trials = [
        _Trial(int(s), _plausible(flat[:, :, s], prepared, label_known), left, share)
        for s, left, share, here in zip(
            suspects[doubt],
            unexplained(leads).tolist(),
            searched.explained[suspects[doubt]].tolist(),
            together[doubt] | (swing > LEAST_SEASONAL_MINUTES),
            strict=True,
        )
        if here
    ]
    won = _settle(trials, rows, prepared, timezone)
    for s in np.flatnonzero(
        may_have_steps(light, prepared.flat, minutes=minutes) & searched.enough
    ).tolist():
        own_search = searched.take(np.array([s]))
        declared = Laid(DECLARED, rows[s : s + 1], prepared, own_search, half=False)
        stepped = find_steps(declared, won.get(s), timezone=timezone)
        won |= {} if stepped is None else {s: stepped}
    off_label[list(won)] = False
    whole, half = (_repaired(won, searched, half=side) for side in (False, True))
    return BlockClocks(whole, half, off_label)


def _light_of(
    rows: Matrix, searched: Searched, prepared: PreparedSky, saving: NDArray[np.bool_]
) -> tuple[Daylight, Array]:
    """Return the light of systems, and how far it runs ahead of a flat plane's by season."""
    bright, minutes = searched.readings.bright, prepared.minutes
    light = measured_daylight(rows, bright, prepared.days)
    leads = _leads(light, prepared.flat, saving, minutes)
    far_off = np.flatnonzero(np.isnan(leads[Season.ALL, 0]) & searched.enough)
    if len(far_off):
        # light about midnight: such days are counted from noon to noon
        half = prepared.days.per_day // 2
        late = measured_daylight(
            np.roll(rows[far_off], half, axis=1), bright[far_off], prepared.days
        )
        behind = _leads(late, prepared.flat, saving, minutes)[Season.ALL].mean(axis=0) < 0.0
        # within half a day of noon, whichever side
        late.bounds[:] += np.where(behind, half, -half)[:, None]
        light.bounds[:, far_off], light.energy[far_off] = late.bounds, late.energy
        leads[:, :, far_off] = _leads(late, prepared.flat, saving, minutes)
    return light, leads


def _leads(light: Daylight, modelled: Daylight, saving: NDArray[np.bool_], minutes: float) -> Array:
    """Return how far light runs ahead in each season, shape (3, 2, systems). [minutes]"""
    return np.array(
        [typical_leads(light, modelled, saving, season, minutes=minutes) for season in Season]
    )


def _planes_light(searched: Searched, prepared: PreparedSky) -> Daylight:
    """Return the light of the planes that a search found."""
    return modelled_daylight(
        searched.points,
        searched.readings.bright,
        prepared.sky,
        prepared.numbers,
        prepared.days,
    )


def _suspicious(flat: Array, points: Array) -> NDArray[np.bool_]:
    """Return which systems' light is not plainly that of a right clock."""
    typical = flat.mean(axis=1)
    lean = np.minimum(np.abs(points[:, EAST]), MOST_LEAN)
    return (np.abs(typical[Season.ALL]) + LEAN_MINUTES * lean > USUAL_MINUTES) | _seasonal(typical)


def _seasonal(typical: Array) -> NDArray[np.bool_]:
    """Return which systems' light moves by about an hour with daylight saving."""
    swing = np.abs(typical[Season.SUMMER] - typical[Season.WINTER])
    return np.asarray((swing > SAVING_MINUTES[0]) & (swing < SAVING_MINUTES[1]))


def _plausible(flat: Array, prepared: PreparedSky, label_known: bool) -> list[ClockHypothesis]:
    """Return the plausible clocks of a system; half of half an hour is one of unknown labels."""
    more = () if label_known or prepared.minutes != 30.0 else (15.0,)
    return propose(*flat.mean(axis=1).tolist(), more=more)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A system whose clock is in doubt, its plausible clocks, and what the declared explains."""

    system: int
    hypotheses: list[ClockHypothesis]
    left: float
    share: float


def _settle(
    trials: Sequence[_Trial], rows: Matrix, prepared: PreparedSky, timezone: str
) -> dict[int, Laid]:
    """Search for a plane under each plausible clock, and return those that the evidence is for."""
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
            _leads(light, _planes_light(found, sky), days.saving, sky.minutes)
        )
        shares[chosen] = found.explained
        for place, i in enumerate(chosen.tolist()):
            own = found.take(np.array([place]))
            laid[i] = Laid(pairs[i][1], moved[place : place + 1], sky, own, half=half)
        settled = np.isin(systems, systems[left < EXPLAINED_MINUTES])
    short = prepared.sky.grid.step < SHORT_INTERVAL
    return _winners(trials, shares, left, laid, short=short)


def _winners(
    trials: Sequence[_Trial], shares: Array, left: Array, laid: dict[int, Laid], *, short: bool
) -> dict[int, Laid]:
    """Return the clocks that the evidence is for, by system, where it is not the declared one."""
    winners, first = {}, 0
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
        first = last
    return winners


def _repaired(won: dict[int, Laid], searched: Searched, *, half: bool) -> RepairedSystems:
    """Return the systems whose clocks share a sky."""
    chosen = [system for system, laid in won.items() if laid.half == half]
    if not chosen:
        return NOBODY
    systems = np.array(chosen)
    gains = [float(won[s].searched.explained[0] - searched.explained[s]) for s in chosen]
    clocks = [FoundClock(won[s].hypothesis, gain) for s, gain in zip(chosen, gains, strict=True)]
    return RepairedSystems(
        systems, tuple(clocks), Searched.joined([won[s].searched for s in chosen])
    )
