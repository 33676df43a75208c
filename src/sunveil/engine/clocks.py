"""Clocks: find stamps that do not fit the sun, and say how to repair them.

A clock left free to the minute is nearly confounded with the azimuth, so only plausible faults
are considered: whole and half hours, half an interval (a stamp that names another instant of its
interval than declared), and an hour of daylight saving left in or taken out twice. First and last
light propose; how much energy a plane explains under each clock decides, and the declared clock
stays unless the evidence is strong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.light import (
    Daylight,
    Season,
    measured_daylight,
    modelled_daylight,
    typical_lead,
)
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.search import Searched, search
from sunveil.estimate import ClockFinding, DaylightSaving
from sunveil.meters.record import Label
from sunveil.site import Array

Matrix = NDArray[np.float32]

# Less than this is within what light can tell of an unknown plane. [minutes]
SUSPICIOUS_MINUTES = 18.0
# An hour of daylight saving, within what light can tell. [minutes]
SAVING_MINUTES = (35.0, 85.0)
# Clocks that explain nearly as much as the best are told apart by light alone.
AS_GOOD = 0.92
# A clock that leaves less than this of first and last light unexplained is right. [minutes]
EXPLAINED_MINUTES = 12.0
# What a rare fault must explain beyond a common one. [minutes]
RARE_MINUTES = 8.0
# One that leaves more than this cannot be right when another explains the light. [minutes]
DECISIVE_MINUTES = 35.0
# How many minutes more of first and last light a repair must explain. [minutes]
LEAST_LIGHT_MINUTES = 10.0
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class ClockHypothesis:
    """One clock: how far the stamps run ahead of the declared clock, and how they save daylight."""

    offset_minutes: float = 0.0
    saving: DaylightSaving = DaylightSaving.AS_DECLARED

    @property
    def declared(self) -> bool:
        """True when this is the clock as it was declared."""
        return self.offset_minutes == 0.0 and self.saving is DaylightSaving.AS_DECLARED

    def ahead_seconds(self, saving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how far each stamp runs ahead, given which lie in daylight saving. [s]"""
        hour = {
            DaylightSaving.AS_DECLARED: 0,
            DaylightSaving.LEFT_IN: _HOUR,
            DaylightSaving.APPLIED_TWICE: -_HOUR,
        }[self.saving]
        return np.asarray(round(self.offset_minutes * 60.0) + hour * saving.astype(np.int64))

    def needs_half_grid(self, step: int) -> bool:
        """Whether stamps have to move by a part of an interval of so many seconds."""
        return round(self.offset_minutes * 60.0) % step != 0


DECLARED = ClockHypothesis()


@dataclass(frozen=True, slots=True)
class FoundClock:
    """The clock that fits the sun, and the share of energy that it explains beyond the declared."""

    hypothesis: ClockHypothesis = DECLARED
    gain: float = 0.0

    def finding(self, label: Label, interval_minutes: float) -> ClockFinding:
        """Say what was found: half an interval is another label, anything else an offset.

        Parameters
        ----------
        label
            The label that was declared.
        interval_minutes
            Length of the record's own intervals. [minutes]
        """
        offset, labels = self.hypothesis.offset_minutes, tuple(Label)
        if interval_minutes >= 30.0 and abs(offset) == interval_minutes / 2.0:
            place = labels.index(label) + (1 if offset > 0.0 else -1)
            if 0 <= place < len(labels):
                offset, label = 0.0, labels[place]
        return ClockFinding(
            offset_minutes=offset,
            label=label,
            daylight_saving=self.hypothesis.saving,
            gain=self.gain,
        )


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


def propose(base: float, winter: float, summer: float) -> list[ClockHypothesis]:
    """Return the clocks that first and last light make plausible, the declared one first.

    Parameters
    ----------
    base, winter, summer
        How far light runs ahead over the year, outside daylight saving, and within. [minutes]
    """
    kind = DaylightSaving.AS_DECLARED
    if SAVING_MINUTES[0] < abs(summer - winter) < SAVING_MINUTES[1]:
        kind = DaylightSaving.LEFT_IN if summer > winter else DaylightSaving.APPLIED_TWICE
        base = winter
    out = [DECLARED]
    if kind is not DaylightSaving.AS_DECLARED:
        out.append(ClockHypothesis(0.0, kind))
    if abs(base) > SUSPICIOUS_MINUTES:
        for offset in 30.0 * np.arange(-26, 27):
            away = abs(offset - base)
            near = away <= (30.0 if offset % 60.0 == 0.0 else 20.0)
            if offset != 0.0 and near:
                out.append(ClockHypothesis(float(offset), kind))
    return out


def unexplained(
    measured: Daylight,
    modelled: Daylight,
    hypotheses: Sequence[ClockHypothesis],
    *,
    saving: NDArray[np.bool_],
    minutes: float,
) -> Array:
    """Return how far light still is from planes' under clocks, the worst season. [minutes]

    Parameters
    ----------
    measured, modelled
        The daylight of readings and of planes, a row for each clock.
    hypotheses
        The clocks.
    saving
        Which solar days lie in daylight saving.
    minutes
        Length of an interval. [minutes]
    """
    ahead = np.array([each.ahead_seconds(saving) for each in hypotheses]) / 60.0
    moved = Daylight((measured.middle - ahead / minutes).astype(np.float32), measured.energy)
    leads = [
        np.abs(typical_lead(moved, modelled, saving, season, minutes=minutes)) for season in Season
    ]
    return np.asarray(np.nan_to_num(np.array(leads), nan=0.0).max(axis=0))


def decide(
    hypotheses: Sequence[ClockHypothesis], shares: Array, left: Array, *, interval_minutes: float
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
    interval_minutes
        Length of an interval. [minutes]
    """
    # half an hour is half a long interval, a common mistake, but a rare one of short intervals
    rare = 0.0 if interval_minutes >= 30.0 else RARE_MINUTES
    good = np.flatnonzero(shares >= AS_GOOD * shares.max()).tolist()
    best = min(good, key=lambda i: left[i] + rare * (hypotheses[i].offset_minutes % 60.0 != 0.0))
    agrees = shares[best] >= shares[0]
    # a short record may agree as well with a turned plane, but its days cannot begin at night
    decisive = left[0] > DECISIVE_MINUTES and left[best] < EXPLAINED_MINUTES
    if not (agrees or decisive) or left[best] > left[0] - LEAST_LIGHT_MINUTES:
        return 0
    return int(best)


def relaid(
    rows: Matrix, hypothesis: ClockHypothesis, saving: NDArray[np.bool_], step: int
) -> Matrix:
    """Return readings moved to where a clock puts them; what leaves the grid is lost.

    Parameters
    ----------
    rows
        Readings on the long grid, shape (systems, intervals).
    hypothesis
        The clock.
    saving
        Which intervals lie in daylight saving.
    step
        Length of an interval; parts of it that remain are the half grid's. [s]
    """
    place = np.arange(rows.shape[1]) - hypothesis.ahead_seconds(saving) // step
    inside = (place >= 0) & (place < rows.shape[1])
    out = np.full_like(rows, np.nan)
    out[:, place[inside]] = rows[:, inside]
    return out


def repaired_rows(
    rows: Matrix, repaired: RepairedSystems, prepared: PreparedSky, *, timezone: str
) -> Matrix:
    """Return the readings of repaired systems where their clocks put them.

    Parameters
    ----------
    rows
        Readings of the block on the long grid, shape (systems, intervals).
    repaired
        Some of its systems.
    prepared
        The sky under the declared clock.
    timezone
        The declared clock, whose daylight saving counts.
    """
    saved, step = prepared.saving(timezone)[1], prepared.sky.grid.long.step
    moved = [
        relaid(rows[s : s + 1], clock.hypothesis, saved, step)
        for s, clock in zip(repaired.systems, repaired.clocks, strict=True)
    ]
    return np.concatenate(moved)


def find_clocks(
    rows: Matrix, searched: Searched, prepared: PreparedSky, *, timezone: str
) -> tuple[RepairedSystems, RepairedSystems]:
    """Return the systems whose declared clock does not fit the sun, repaired.

    First those that move by whole intervals, then those that belong half an hour earlier.

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
    """
    if prepared.days.count == 0 or not len(rows):
        return NOBODY, NOBODY
    saving, saved_intervals = prepared.saving(timezone)
    minutes = prepared.minutes
    measured = measured_daylight(rows, searched.readings.bright, prepared.days)
    leads = _leads(measured, prepared, saving)
    far_off = np.flatnonzero(np.isnan(leads[Season.ALL]) & searched.enough)
    if len(far_off):
        # light about midnight: such days are counted from noon to noon
        half = prepared.days.per_day // 2
        late = measured_daylight(
            np.roll(rows[far_off], half, axis=1), searched.readings.bright[far_off], prepared.days
        )
        behind = _leads(late, prepared, saving)[Season.ALL] < 0.0
        # within half a day of noon, whichever side
        late.middle[:] += np.where(behind, half, -half)[:, None]
        measured.middle[far_off], measured.energy[far_off] = late.middle, late.energy
        leads[:, far_off] = _leads(late, prepared, saving)
    seasonal = np.abs(leads[Season.SUMMER] - leads[Season.WINTER])
    suspicious = np.abs(leads[Season.ALL]) > SUSPICIOUS_MINUTES
    suspicious |= (seasonal > SAVING_MINUTES[0]) & (seasonal < SAVING_MINUTES[1])
    suspects = np.flatnonzero(suspicious & searched.enough)
    if not len(suspects):
        return NOBODY, NOBODY
    # most suspicions are only a plane that faces the rising or the setting sun
    theirs = modelled_daylight(
        searched.points[suspects], prepared.sky, prepared.numbers, prepared.days
    )
    left = unexplained(
        _rows_of(measured, suspects),
        theirs,
        [DECLARED] * len(suspects),
        saving=saving,
        minutes=minutes,
    )
    trials = [
        _Trial(
            int(s),
            propose(*(float(each) for each in leads[:, s])),
            float(kept),
            float(searched.explained[s]),
        )
        for s, kept in zip(suspects, left, strict=True)
        if kept >= EXPLAINED_MINUTES
    ]
    return _settle(
        [trial for trial in trials if len(trial.hypotheses) > 1],
        rows,
        measured,
        prepared,
        saving=saving,
        saved_intervals=saved_intervals,
    )


def _leads(measured: Daylight, prepared: PreparedSky, saving: NDArray[np.bool_]) -> Array:
    """Return how far light runs ahead of a flat plane's in each season, shape (3, systems)."""
    return np.array(
        [
            typical_lead(measured, prepared.flat, saving, season, minutes=prepared.minutes)
            for season in Season
        ]
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """A system whose clock is in doubt, its plausible clocks, and what the declared explains."""

    system: int
    hypotheses: list[ClockHypothesis]
    left: float
    share: float


def _settle(
    trials: Sequence[_Trial],
    rows: Matrix,
    measured: Daylight,
    prepared: PreparedSky,
    *,
    saving: NDArray[np.bool_],
    saved_intervals: NDArray[np.bool_],
) -> tuple[RepairedSystems, RepairedSystems]:
    """Search for a plane under each plausible clock, and weigh the evidence."""
    step = prepared.sky.grid.long.step
    pairs = [(t, h) for t in trials for h in t.hypotheses[1:]]
    if not pairs:
        return NOBODY, NOBODY
    halves = np.array([h.needs_half_grid(step) for _, h in pairs])
    systems = np.array([t.system for t, _ in pairs])
    shares, left = np.full(len(pairs), -1.0), np.full(len(pairs), np.inf)
    searches: dict[bool, tuple[NDArray[np.intp], Searched]] = {}
    settled = np.zeros(len(pairs), dtype=bool)
    for half in (False, True):
        # the sky half an hour earlier is made only for whom no whole interval explains the light
        chosen = np.flatnonzero((halves == half) & ~settled)
        if not len(chosen):
            continue
        moved = [
            relaid(rows[t.system : t.system + 1], h, saved_intervals, step)
            for t, h in (pairs[i] for i in chosen)
        ]
        found = search(np.concatenate(moved), prepared.half if half else prepared)
        # light again, now that each clock has its plane: the right one explains the day's bounds
        left[chosen] = unexplained(
            _rows_of(measured, systems[chosen]),
            modelled_daylight(found.points, prepared.sky, prepared.numbers, prepared.days),
            [pairs[i][1] for i in chosen],
            saving=saving,
            minutes=prepared.minutes,
        )
        shares[chosen], searches[half] = found.explained, (chosen, found)
        good = (left < EXPLAINED_MINUTES) & (shares >= np.array([t.share for t, _ in pairs]))
        settled = np.isin(systems, systems[good])
    winners: list[tuple[int, FoundClock]] = []
    first = 0
    for trial in trials:
        last = first + len(trial.hypotheses) - 1
        explained = np.r_[trial.share, shares[first:last]]
        best = decide(
            trial.hypotheses,
            explained,
            np.r_[trial.left, left[first:last]],
            interval_minutes=prepared.minutes,
        )
        if best:
            gain = float(explained[best] - explained[0])
            winners.append((first + best - 1, FoundClock(trial.hypotheses[best], gain)))
        first = last
    by_whole, by_half = (
        _repaired([w for w in winners if halves[w[0]] == side], systems, searches.get(side))
        for side in (False, True)
    )
    return by_whole, by_half


def _repaired(
    winners: Sequence[tuple[int, FoundClock]],
    systems: NDArray[np.intp],
    searched: tuple[NDArray[np.intp], Searched] | None,
) -> RepairedSystems:
    """Return the systems whose winning clocks share a sky, with their part of its search."""
    if not winners or searched is None:
        return NOBODY
    pairs = np.array([pair for pair, _ in winners])
    tried, found = searched
    return RepairedSystems(
        systems[pairs],
        tuple(clock for _, clock in winners),
        found.take(np.searchsorted(tried, pairs)),
    )


def _rows_of(daylight: Daylight, systems: NDArray[np.intp]) -> Daylight:
    return Daylight(daylight.middle[systems], daylight.energy[systems])
