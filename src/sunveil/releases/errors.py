"""Exact distributions of a release's errors against a known plane and capacity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sunveil.meters.record import Record
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip
from sunveil.privacy.score import Axis, Score
from sunveil.privacy.units import System, Unit
from sunveil.releases.answer import Spread
from sunveil.releases.frame import Frame
from sunveil.releases.score import count_score, placement, with_prior
from sunveil.site import Array, Plane


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """The distribution of one error.

    Parameters
    ----------
    errors
        The errors that occur.
    probabilities
        How likely each is.
    """

    errors: Array
    probabilities: Array

    def __repr__(self) -> str:
        return f"Law({len(self.errors)} errors, as private as what they were made of)"

    @property
    def mean(self) -> float:
        """The expected error."""
        return float(self.probabilities @ self.errors / self.probabilities.sum())

    @property
    def spread(self) -> Spread:
        """The expected error, and what nine in ten stay within."""
        order = np.argsort(self.errors)
        total = np.cumsum(self.probabilities[order])
        nine = min(int(np.searchsorted(total, 0.9 * total[-1])), len(total) - 1)
        return Spread(self.mean, float(self.errors[order][nine]))

    @classmethod
    def pooled(cls, laws: Sequence[Law]) -> Law:
        """Return the law of an error that follows each of some laws equally often."""
        return cls(
            np.concatenate([law.errors for law in laws]),
            np.concatenate([law.probabilities / law.probabilities.sum() for law in laws]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ErrorLaws:
    """The distributions of a release's three errors.

    Parameters
    ----------
    azimuth, tilt
        Of the plane. [degrees]
    capacity
        Of the capacity. [%]
    """

    azimuth: Law
    tilt: Law
    capacity: Law

    @property
    def means(self) -> tuple[float, float, float]:
        """The expected errors of azimuth, tilt [degrees] and capacity [%]."""
        return self.azimuth.mean, self.tilt.mean, self.capacity.mean


def release_laws(
    frame: Frame,
    record: Record,
    truth: Plane,
    capacity_kw: float,
    *,
    protect: Unit,
    epsilons: Sequence[float],
    exponential: bool = False,
) -> list[ErrorLaws]:
    """Return the exact laws of a release's errors at each ε, for a system whose truth is known.

    Parameters
    ----------
    frame, record
        The public frame, and the readings.
    truth, capacity_kw
        What errors are measured against. [kW]
    protect, epsilons
        Of the releases.
    exponential
        Whether the exponential mechanism draws, in place of permute-and-flip.

    Privacy
    -------
    None: made of a record, they are as private as it is.
    """
    if isinstance(protect, System):
        placed = placement(frame, record)
        lowest = frame.choices.capacities.low
        chances = [frame.choices.window(each).probabilities(placed) for each in epsilons]
        return [
            window_laws(placed.axes, each, truth, capacity_kw, lowest_kw=lowest) for each in chances
        ]
    mechanism = Exponential if exponential else PermuteAndFlip
    counted: dict[tuple[object, int], Score] = {}
    found = []
    for each in epsilons:
        own = frame.settled(protect, each, differenced=record.differenced)
        # counts depend on how days vote and on the mounts alone, and take longest
        kind = own.choices.thresholds, len(own.mounts)
        if kind not in counted:
            counted[kind] = count_score(own, record, protect)
        law = mechanism(each).probabilities(with_prior(own, counted[kind]))
        found.append(framed_laws(own, law, truth, capacity_kw))
    return found


def framed_laws(frame: Frame, probabilities: Array, truth: Plane, capacity_kw: float) -> ErrorLaws:
    """Return the laws of a draw from a frame's candidates.

    Parameters
    ----------
    frame
        The public frame.
    probabilities
        Of every candidate, in the order of the frame's scores.
    truth, capacity_kw
        What errors are measured against. [kW]
    """
    table = probabilities.reshape(frame.shape).sum(axis=0)
    planes = table.sum(axis=1)
    return ErrorLaws(
        Law(azimuth_errors(frame.grid.surface_azimuth, truth), planes),
        Law(np.abs(frame.grid.surface_tilt - truth.surface_tilt), planes),
        Law(capacity_errors(frame.choices.capacities.values, capacity_kw), table.sum(axis=0)),
    )


def window_laws(
    axes: tuple[Axis, ...],
    probabilities: Array,
    truth: Plane,
    capacity_kw: float,
    *,
    lowest_kw: float,
) -> ErrorLaws:
    """Return the laws of a draw from the axes of whole records.

    Parameters
    ----------
    axes
        Azimuth, tilt [degrees] and the logarithm of capacity.
    probabilities
        Of every place, in the shape of the axes.
    truth, capacity_kw
        What errors are measured against. [kW]
    lowest_kw
        The capacity at which the third axis begins. [kW]
    """
    azimuth, tilt, capacity = (
        np.linspace(0.0, axis.step * (axis.size - 1), axis.size) for axis in axes
    )
    return ErrorLaws(
        Law(azimuth_errors(azimuth, truth), probabilities.sum(axis=(1, 2))),
        Law(np.abs(tilt - truth.surface_tilt), probabilities.sum(axis=(0, 2))),
        Law(
            capacity_errors(lowest_kw * np.exp(capacity), capacity_kw),
            probabilities.sum(axis=(0, 1)),
        ),
    )


def azimuth_errors(azimuths: Array, truth: Plane) -> Array:
    """Return the errors of azimuths, the short way round. [degrees]"""
    return np.asarray(np.abs((azimuths - truth.surface_azimuth + 180.0) % 360.0 - 180.0))


def capacity_errors(capacities: Array, truth_kw: float) -> Array:
    """Return the errors of capacities, as shares of the truth. [%]"""
    return np.asarray(100.0 * np.abs(capacities / truth_kw - 1.0))
