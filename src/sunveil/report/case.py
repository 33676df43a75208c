"""What a report is made of."""

from __future__ import annotations

from dataclasses import dataclass

from sunveil.arguments import check_fields
from sunveil.estimate import Estimate
from sunveil.meters.record import Record
from sunveil.planes import PlaneEstimate
from sunveil.plots.errors import comparable_planes, is_comparable
from sunveil.simulate import SystemTruth
from sunveil.site import Plane
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

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def known(self) -> SystemTruth | None:
        """The truth where there is one and the estimate tells as many planes, or the tracker."""
        told = self.truth is not None and is_comparable(self.truth, self.estimate)
        return self.truth if told else None

    @property
    def planes(self) -> list[tuple[Plane, PlaneEstimate]]:
        """Each true plane with the inferred one, where they are known and told."""
        return [] if self.truth is None else comparable_planes(self.truth, self.estimate)

    @property
    def worst_angle(self) -> float | None:
        """Largest angle between a true plane and the inferred one, where known. [degrees]"""
        angles = [plane.angle_to(found.plane) for plane, found in self.planes]
        return max(angles, default=None)
