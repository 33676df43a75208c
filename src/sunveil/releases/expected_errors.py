"""Expected errors, utility curves."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from sunveil._options import all_named, checked, number
from sunveil.errors import ParameterError
from sunveil.grids import Places, as_placed
from sunveil.meters.record import Record
from sunveil.privacy.guarantees import Days, Readings, System, Unit, check_epsilon
from sunveil.privacy.mechanisms import Axis, Exponential, PermuteAndFlip, Placement, Score
from sunveil.releases.candidate_frame import ReleaseFrame
from sunveil.releases.prior_and_votes import equivalent_epsilon
from sunveil.releases.release_answer import ExpectedErrors, Spread
from sunveil.releases.release_choices import Choices
from sunveil.releases.scores import count_score, placement, with_prior
from sunveil.site import Array, Plane, Site, TimeGrid


def mean_errors(errors: Mapping[ExpectedErrors, int]) -> ExpectedErrors:
    """Return the errors to expect of several systems, averaged over them."""
    count = sum(errors.values())

    def mean(name: str, part: str) -> float:
        own = ((getattr(getattr(each, name), part), times) for each, times in errors.items())
        return float(sum(error * times for error, times in own)) / count

    azimuth, tilt, capacity = (
        Spread(mean(name, "mean"), mean(name, "within")) for name in ("azimuth", "tilt", "capacity")
    )
    basis = "; ".join(dict.fromkeys(each.basis for each in errors))
    return ExpectedErrors(azimuth, tilt, capacity, basis)


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """The distribution of one error."""

    errors: Array  # the errors that occur
    probabilities: Array  # how likely each is

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
    """The distributions of a release's three errors."""

    azimuth: Law  # [degrees] of the plane
    tilt: Law  # [degrees] of the plane
    capacity: Law  # [%] of the capacity

    @property
    def means(self) -> tuple[float, float, float]:
        """The expected errors of azimuth, tilt [degrees] and capacity [%]."""
        return self.azimuth.mean, self.tilt.mean, self.capacity.mean


def release_laws(
    frame: ReleaseFrame,
    record: Record,
    truth: Plane,
    capacity_kw: float,
    *,
    protect: Unit,
    epsilons: Sequence[float],
    exponential: bool = False,
) -> list[ErrorLaws]:
    """Return the exact laws of a release's errors at each ε, for a system with a known truth."""
    # Made of a record, they are as private as it is.
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
        own = frame.resolved(protect, each, differenced=record.differenced)
        # counts depend on how days vote and on the mounts alone, and take longest
        kind = own.choices.thresholds, len(own.mounts)
        if kind not in counted:
            counted[kind] = count_score(own, record, protect)
        law = mechanism(each).probabilities(with_prior(own, counted[kind]))
        found.append(framed_laws(own, law, truth, capacity_kw))
    return found


def framed_laws(
    frame: ReleaseFrame, probabilities: Array, truth: Plane, capacity_kw: float
) -> ErrorLaws:
    """Return the laws of a draw from a frame's candidates."""
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
    """Return the laws of a draw from the axes of whole records."""
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


# Where the window lies for the stated errors: others differ at the ends of axes alone.
TYPICAL_PLANE, TYPICAL_KW = Plane(180.0, 25.0), 6.0

# One roof in ten is flatter (sunveil.simulate.fault_rates.US).
FLAT_PLANE = Plane(180.0, 13.0)

UNKNOWN_LABEL = "it is unknown whether timestamps mark the start, middle or end of an interval"

QUANTITIES = ("azimuth", "tilt", "capacity")

ErrorTable = dict[str, Any]


@checked
def typical_errors(
    # the intervals of the record: how many days there are, and how long an interval is
    time_grid: TimeGrid,
    # the public choices, which decide the window's law and tell whether it is a net meter
    choices: Choices,
    *,
    clear: bool,  # whether candidates are modelled under a clear sky, or under measured weather
    protect: Unit,
    epsilon: float,
    differenced: bool = False,  # whether the record holds differences of a register
    # how far its clock may be off, where the label of its stamps is not declared
    # (:attr:`Record.label_shifts <sunveil.meters.Record>`). The errors then hold for each of
    # them. [minutes]
    shifts: tuple[float, ...] = (0.0,),
    latitude: float = 0.0,
    table: ErrorTable | None = None,  # the table; the package's own if None
) -> ExpectedErrors:
    """Return the errors to expect of a release, without looking at any record."""
    check_epsilon(epsilon)
    latitude = number("latitude", latitude, low=-90.0, high=90.0, unit="degrees")
    if not shifts:
        raise ParameterError("shifts must be at least one, (0.0,) where the label is declared")
    shifts = tuple(number("shifts", each, low=-60.0, high=60.0, unit="minutes") for each in shifts)
    table = table or typical_table(net=choices.net is not None)
    with all_named("table", "a table of typical errors, or leave it out"):
        rows = table["clear" if clear else "measured"]
    if not isinstance(protect, Readings | Days):
        found = _of_window(choices, rows, epsilon)
        return _over_labels(found, shifts, latitude)
    each = equivalent_epsilon(protect, epsilon, time_grid, differenced=differenced)
    name = "readings" if isinstance(protect, Readings) else "days"
    where, places = math.log(each), np.log(rows["worth"])

    def look_up(quantity: str) -> Spread:
        columns = rows[name][quantity]
        mean, within = (np.interp(where, places, columns[part]) for part in ("mean", "within"))
        return Spread(float(mean), float(within))

    azimuth, tilt, capacity = map(look_up, QUANTITIES)
    found = ExpectedErrors(azimuth, tilt, capacity, basis=rows["basis"])
    return _over_labels(found, shifts, latitude)


def _over_labels(
    found: ExpectedErrors, shifts: tuple[float, ...], latitude: float
) -> ExpectedErrors:
    """Widen errors by what timestamps may mark: the mean over it, nine in ten for each of it."""
    # The plane that fits under a clock that is off is the one that faces the same way further east
    # or west, which is farthest for flat roofs. Its capacity stays.
    if shifts == (0.0,):
        return found
    usual, flat = (_turned(plane, shifts, latitude) for plane in (TYPICAL_PLANE, FLAT_PLANE))

    def widened(spread: Spread, number: int, most: float) -> Spread:
        mean, within = spread.mean + usual[number].mean(), spread.within + flat[number].max()
        return Spread(float(min(mean, most)), float(min(within, most)))

    return replace(
        found,
        azimuth=widened(found.azimuth, 0, 180.0),
        tilt=widened(found.tilt, 1, 90.0),
        basis=f"{found.basis}; {UNKNOWN_LABEL}",
    )


def _turned(plane: Plane, shifts: tuple[float, ...], latitude: float) -> tuple[Array, Array]:
    """Return how far azimuth and tilt are off under clocks that are off. [degrees]"""
    turns, tilt = np.array(shifts) / 4.0, plane.surface_tilt
    azimuth = math.radians(plane.surface_azimuth)
    point = np.array([[tilt * math.sin(azimuth), tilt * math.cos(azimuth), 0.0]])
    site = Site(abs(latitude), 0.0, 0.0)
    around = Places(np.full(len(turns), site.latitude), turns, np.full(len(turns), math.nan))
    east, north, _ = as_placed(point.repeat(len(turns), axis=0), site, around).T
    off = np.degrees(np.arctan2(east, north)) - plane.surface_azimuth
    return _sizes("azimuth", off), _sizes("tilt", np.hypot(east, north) - tilt)


def _of_window(choices: Choices, rows: ErrorTable, epsilon: float) -> ExpectedErrors:
    """Return the errors of the window's law, laid over the errors of the places it is laid at."""
    placed = _typical_place(choices)
    chances = choices.window(epsilon).probabilities(placed)

    def spread(number: int) -> Spread:
        axis, place = placed.axes[number], placed.place[number]
        others = tuple(each for each in range(len(placed.axes)) if each != number)
        moved = axis.step * (np.arange(axis.size) - place)
        off = moved[:, None] + np.array(rows["model"][QUANTITIES[number]])
        weights = np.broadcast_to(chances.sum(axis=others)[:, None], off.shape)
        return Law(_sizes(QUANTITIES[number], off).ravel(), weights.ravel()).spread

    basis = f"the window's exact law over the model's errors on {rows['basis']}"
    return ExpectedErrors(spread(0), spread(1), spread(2), basis=basis)


def _sizes(quantity: str, off: Array) -> Array:
    """Return how large signed errors are; those of capacity are given as logarithms."""
    if quantity == "azimuth":
        return np.asarray(np.abs((off + 180.0) % 360.0 - 180.0))
    return np.abs(off) if quantity == "tilt" else np.asarray(100.0 * np.abs(np.expm1(off)))


def _typical_place(choices: Choices) -> Placement:
    azimuth, tilt, capacity = axes = choices.axes()
    far = math.log(TYPICAL_KW / choices.capacities.low) / capacity.step
    return Placement(
        (
            round(TYPICAL_PLANE.surface_azimuth / azimuth.step) % azimuth.size,
            min(round(TYPICAL_PLANE.surface_tilt / tilt.step), tilt.size - 1),
            min(max(round(far), 0), capacity.size - 1),
        ),
        axes,
    )


@functools.cache
def typical_table(*, net: bool = False) -> ErrorTable:
    """Return the package's table of errors, of net meters or of generation's own."""
    name = "typical_net.json" if net else "typical.json"
    text = files("sunveil.releases").joinpath(name).read_text(encoding="utf-8")
    table: ErrorTable = json.loads(text)
    return table
