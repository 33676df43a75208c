"""Evenly spaced intervals of time: what readings, skies and releases are laid onto."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields, shown
from sunveil.errors import ParameterError

DAY = 86400
# Shorter intervals are averaged to this length for a fit: the sky knows no more. [s]
LONG = 1800


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """A public run of evenly spaced intervals.

    Parameters
    ----------
    first
        Start of the first interval. [s since 1970, UTC]
    step
        Length of an interval. [s]
    count
        How many intervals.
    """

    first: int
    step: int
    count: int

    def __post_init__(self) -> None:
        check_fields(self)
        if not 60 <= self.step <= 3600:
            raise ParameterError(
                f"intervals must be 1 to 60 minutes long, and {shown(self.step)} seconds are not"
            )
        if self.count < 1:
            raise ParameterError("a grid of times needs at least one interval")

    @property
    def starts(self) -> NDArray[np.int64]:
        """Start of each interval. [s since 1970, UTC]"""
        return self.first + self.step * np.arange(self.count, dtype=np.int64)

    @property
    def times(self) -> NDArray[np.datetime64]:
        """Start of each interval, as UTC instants."""
        return self.starts.astype("datetime64[s]")

    @property
    def days(self) -> int:
        """How many days it spans, the last one begun counted whole."""
        return -(-self.count * self.step // DAY)

    @property
    def per_long(self) -> int:
        """How many intervals make one of 30 minutes; 1 where they are not averaged."""
        return LONG // self.step if self.step < LONG and LONG % self.step == 0 else 1

    @property
    def lead(self) -> int:
        """How many intervals are missing before the first for it to begin a long one."""
        return (self.first - self.first % self.step) % (self.per_long * self.step) // self.step

    @property
    def long(self) -> TimeGrid:
        """The grid on which readings are compared with the sky."""
        if self.per_long == 1:
            return self
        count = -(-(self.count + self.lead) // self.per_long)
        return TimeGrid(self.first - self.lead * self.step, self.per_long * self.step, count)

    def moved(self, seconds: int) -> TimeGrid:
        """Return the grid some seconds later."""
        return TimeGrid(self.first + seconds, self.step, self.count)
