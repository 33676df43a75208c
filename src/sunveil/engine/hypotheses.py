"""Clocks that stamps may be on, and readings moved to where a clock puts them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.saving import ClockCalendar
from sunveil.estimate import ClockFinding, ClockStep, DaylightSaving
from sunveil.meters.record import Label

Matrix = NDArray[np.float32]

_HOUR = 3600
# Offsets of labels, or no larger. [minutes]
SMALL_MINUTES = 30.0
# A clock is moved this far only if its zone is that of the place. [minutes]
FAR_MINUTES = 120.0


@dataclass(frozen=True, slots=True)
class ClockHypothesis:
    """One clock: how far the stamps run ahead of the declared clock, and how they save daylight.

    Parameters
    ----------
    offset_minutes
        How far ahead outside daylight saving, before the first step. [minutes]
    saving
        How daylight is saved, against what was declared.
    steps
        Days from which on the offset is another one.
    """

    offset_minutes: float = 0.0
    saving: DaylightSaving = DaylightSaving.AS_DECLARED
    steps: tuple[ClockStep, ...] = ()

    def ahead_seconds(self, calendar: ClockCalendar) -> NDArray[np.int64]:
        """Return how far each stamp of a calendar runs ahead. [s]"""
        hour = {
            DaylightSaving.AS_DECLARED: 0,
            DaylightSaving.LEFT_IN: _HOUR,
            DaylightSaving.APPLIED_TWICE: -_HOUR,
        }[self.saving]
        ahead = np.full(len(calendar.day), round(self.offset_minutes * 60.0), dtype=np.int64)
        for step in self.steps:
            ahead[calendar.day >= step.day] = round(step.offset_minutes * 60.0)
        return ahead + hour * calendar.saving

    def is_small(self) -> bool:
        """Whether the clock is off by half an hour at most, which a plane nearly hides."""
        far = max(
            abs(each) for each in (self.offset_minutes, *(s.offset_minutes for s in self.steps))
        )
        return self.saving is DaylightSaving.AS_DECLARED and 0.0 < far <= SMALL_MINUTES

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
        steps = self.hypothesis.steps
        if interval_minutes >= 30.0 and abs(offset) == interval_minutes / 2.0 and not steps:
            place = labels.index(label) + (1 if offset > 0.0 else -1)
            if 0 <= place < len(labels):
                offset, label = 0.0, labels[place]
        return ClockFinding(offset, label, self.hypothesis.saving, self.gain, steps)


def relaid(rows: Matrix, hypothesis: ClockHypothesis, calendar: ClockCalendar, step: int) -> Matrix:
    """Return readings moved to where a clock puts them; what leaves the grid is lost.

    Parameters
    ----------
    rows
        Readings on the long grid, shape (systems, intervals).
    hypothesis
        The clock.
    calendar
        That of the intervals.
    step
        Length of an interval; parts of it that remain are the half grid's. [s]
    """
    place = np.arange(rows.shape[1]) - hypothesis.ahead_seconds(calendar) // step
    inside = (place >= 0) & (place < rows.shape[1])
    out = np.full_like(rows, np.nan)
    out[:, place[inside]] = rows[:, inside]
    return out
