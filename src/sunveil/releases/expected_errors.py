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
from sunveil.meters.dataframes import from_pandas
from sunveil.meters.record import Record
from sunveil.paper.dpbo import DELTA, DPBO, posterior
from sunveil.paper.fit import paper_grid
from sunveil.privacy.guarantees import (
    Days,
    Readings,
    System,
    Unit,
    check_epsilon,
    check_release_epsilon,
)
from sunveil.privacy.mechanisms import Axis, Exponential, PermuteAndFlip, Placement, Score
from sunveil.releases.candidate_frame import Frame, frame_of
from sunveil.releases.prior_and_votes import worth
from sunveil.releases.release_answer import ExpectedErrors, Spread
from sunveil.releases.release_choices import Choices
from sunveil.releases.scores import count_score, placement, with_prior
from sunveil.simulate.fault_rates import draw_systems
from sunveil.simulate.simulated_sky import simulate_sky
from sunveil.simulate.system_power import simulate_power
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
    frame: Frame,
    record: Record,
    truth: Plane,
    capacity_kw: float,
    *,
    protect: Unit,
    epsilons: Sequence[float],
    exponential: bool = False,
) -> list[ErrorLaws]:
    """Return the exact laws of a release's errors at each ε, for a system whose truth is known."""
    # None: made of a record, they are as private as it is.
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


# Where the window is laid whose errors are told: those of others differ at the ends of axes alone.
TYPICAL_PLANE, TYPICAL_KW = Plane(180.0, 25.0), 6.0


# One roof in ten is flatter (sunveil.simulate.fault_rates.US).
FLAT_PLANE = Plane(180.0, 13.0)


UNKNOWN_LABEL = "it is unknown whether timestamps mark the start, middle or end of an interval"


QUANTITIES = ("azimuth", "tilt", "capacity")


ErrorTable = dict[str, Any]


@checked
def typical_errors(
    time_grid: TimeGrid,
    choices: Choices,
    *,
    clear: bool,
    protect: Unit,
    epsilon: float,
    differenced: bool = False,
    shifts: tuple[float, ...] = (0.0,),
    latitude: float = 0.0,
    table: ErrorTable | None = None,
) -> ExpectedErrors:
    """Return the errors to expect of a release, without looking at any record.

    Parameters
    ----------
    time_grid
        The intervals of the record: how many days there are, and how long an interval is.
    choices
        The public choices, which decide the window's law and tell whether it is a net meter.
    clear
        Whether candidates are modelled under a clear sky, or under measured weather.
    protect, epsilon
        Of the release.
    differenced
        Whether the record holds differences of a register.
    shifts
        How far its clock may be off, where the label of its stamps is not declared
        (:attr:`Record.label_shifts <sunveil.meters.Record>`). The errors then hold for each of
        them. [minutes]
    latitude
        Of the system, which says how far such a clock turns a plane. [degrees]
    table
        Where to look; the package's own table when left out.
    """
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
    each = worth(protect, epsilon, time_grid, differenced=differenced)
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


EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


# The year that systems are simulated over, and the steps of its sky. [minutes]
SIMULATED_YEAR, SKY_MINUTES = 2019, 15


# The mechanism that releases no capacity.
PLANES_ALONE = "paper"


@dataclass(frozen=True, slots=True)
class Curve:
    """The expected errors of one mechanism for one unit against ε."""

    unit: str  # what is protected, and how
    mechanism: str  # what is protected, and how
    kind: str  # `worst-case` or `conditional`
    epsilons: tuple[float, ...]  # where the errors were computed
    azimuth: tuple[float, ...]  # [degrees] mean errors at each
    tilt: tuple[float, ...]  # [degrees] mean errors at each
    capacity: tuple[float, ...] | None  # [%]

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as plain JSON types."""
        return {
            "unit": self.unit,
            "mechanism": self.mechanism,
            "guarantee": self.kind,
            "epsilon": list(self.epsilons),
            "surface_azimuth_degrees": list(self.azimuth),
            "surface_tilt_degrees": list(self.tilt),
            "dc_capacity_percent": None if self.capacity is None else list(self.capacity),
        }


@dataclass(frozen=True, slots=True, eq=False)
class KnownSystem:
    """A system whose truth is known, or taken to be: private where its record is."""

    frame: Frame  # the public frame of its releases
    record: Record  # its readings
    plane: Plane  # [kW] what errors are measured against
    dc_capacity_kw: float  # [kW] what errors are measured against

    def __repr__(self) -> str:
        return "KnownSystem(private)"


@checked
def utility_curves(
    systems: Sequence[KnownSystem], epsilons: Sequence[float] = EPSILONS
) -> list[Curve]:
    """Return the expected errors of every unit and mechanism, averaged over systems.

    Parameters
    ----------
    systems
        The systems.
    epsilons
        Where to compute them.

    Privacy
    -------
    None: curves of real records are for the curator alone. Those of simulated systems are public.
    """
    if not systems or not epsilons:
        raise ParameterError("a utility curve needs at least one system and one ε")
    for epsilon in epsilons:
        check_release_epsilon(epsilon)
    rows: dict[tuple[str, str, str], list[list[tuple[float, float, float]]]] = {}
    for system in systems:
        for name, means in _all_means(system, epsilons).items():
            rows.setdefault(name, []).append(means)
    curves = []
    for (unit, mechanism, kind), found in rows.items():
        mean = np.mean(found, axis=0)
        azimuth, tilt, capacity = (tuple(float(v) for v in column) for column in mean.T)
        curves.append(
            Curve(
                unit=unit,
                mechanism=mechanism,
                kind=kind,
                epsilons=tuple(float(e) for e in epsilons),
                azimuth=azimuth,
                tilt=tilt,
                capacity=None if mechanism == PLANES_ALONE else capacity,
            )
        )
    return curves


def simulated_systems(
    site: Site, *, systems: int, seed: int, choices: Choices | None = None
) -> list[KnownSystem]:
    """Return systems simulated at a place over a year of hours, with a satellite's weather."""
    sky = simulate_sky(site, SIMULATED_YEAR, seed=seed, step_minutes=SKY_MINUTES)
    found: list[KnownSystem] = []
    for place, drawn in enumerate(draw_systems(systems, seed=seed)):
        truth = replace(drawn, site=site)
        power = simulate_power(truth, sky, seed=seed + place)
        record = from_pandas(
            power, system_id=truth.system_id, label="start", cleaning="each", power_unit="kW"
        )
        frame = found[0].frame if found else frame_of(record, sky.satellite, choices)
        found.append(KnownSystem(frame, record, truth.plane, truth.dc_capacity_kw))
    return found


def _all_means(
    system: KnownSystem, epsilons: Sequence[float]
) -> dict[tuple[str, str, str], list[tuple[float, float, float]]]:
    def means(unit: Unit, *, exponential: bool = False) -> list[tuple[float, float, float]]:
        laws = release_laws(
            system.frame,
            system.record,
            system.plane,
            system.dc_capacity_kw,
            protect=unit,
            epsilons=epsilons,
            exponential=exponential,
        )
        return [each.means for each in laws]

    out: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    for unit, name in ((Readings(1), "readings:1"), (Days(1), "days:1")):
        out[name, "permute-and-flip", "worst-case"] = means(unit)
        out[name, "exponential", "worst-case"] = means(unit, exponential=True)
    out["system", "window", "worst-case"] = means(System())
    # the paper's mechanism takes neither net meters nor registers
    if not system.record.net and not system.record.differenced:
        out["readings:1", "paper", "conditional"] = paper_means(system, epsilons)
    return out


def paper_means(
    system: KnownSystem, epsilons: Sequence[float], *, delta: float = DELTA
) -> list[tuple[float, float, float]]:
    """Return the expected errors of the paper's mechanism; it releases no capacity."""
    score = posterior(system.record, system.frame.weather, delta=delta)
    grid, truth = paper_grid(), system.plane
    means = []
    for epsilon in epsilons:
        chances = DPBO(epsilon, delta).probabilities(score)
        azimuth = Law(azimuth_errors(grid.surface_azimuth, truth), chances).mean
        tilt = Law(np.abs(grid.surface_tilt - truth.surface_tilt), chances).mean
        means.append((azimuth, tilt, float("nan")))
    return means
