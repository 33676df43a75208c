"""What a report is made of."""

from __future__ import annotations

from dataclasses import dataclass

from sunveil.estimate import Estimate
from sunveil.meters.record import Record
from sunveil.plots.errors import has_one_plane
from sunveil.simulate import SystemTruth
from sunveil.weather import Weather


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One system of a report: private data.

    Parameters
    ----------
    truth
        What is true of it, where that is known.
    record, weather
        What the estimate was inferred from.
    estimate
        The estimate.
    """

    truth: SystemTruth | None
    record: Record
    weather: Weather
    estimate: Estimate

    @property
    def known(self) -> SystemTruth | None:
        """The truth where there is one and it is one fixed plane, which an estimate can meet."""
        return self.truth if self.truth is not None and has_one_plane(self.truth) else None
