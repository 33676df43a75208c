"""What releases are worth: expected errors against ε, for every unit and mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sunveil.errors import ParameterError
from sunveil.meters.record import Record
from sunveil.paper import paper_grid
from sunveil.privacy.dpbo import DPBO
from sunveil.privacy.guarantee import check_release_epsilon
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip
from sunveil.privacy.units import Days, Readings
from sunveil.releases.errors import ErrorLaws, Law, azimuth_errors, framed_laws, window_laws
from sunveil.releases.frame import Frame
from sunveil.releases.release import DELTA, posterior
from sunveil.releases.score import placement, unit_score
from sunveil.site import Plane

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Curve:
    """The expected errors of one mechanism for one unit against ε.

    Parameters
    ----------
    unit, mechanism
        What is protected, and how.
    kind
        ``worst-case`` or ``conditional``.
    epsilons
        Where the errors were computed.
    azimuth, tilt
        Mean errors at each. [degrees]
    capacity
        Mean errors at each; None where the mechanism releases none. [%]
    """

    unit: str
    mechanism: str
    kind: str
    epsilons: tuple[float, ...]
    azimuth: tuple[float, ...]
    tilt: tuple[float, ...]
    capacity: tuple[float, ...] | None

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
    """A system whose truth is known, or taken to be: private where its record is.

    Parameters
    ----------
    frame
        The public frame of its releases.
    record
        Its readings.
    plane, dc_capacity_kw
        What errors are measured against. [kW]
    """

    frame: Frame
    record: Record
    plane: Plane
    dc_capacity_kw: float

    def __repr__(self) -> str:
        return "KnownSystem(private)"


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
        none = kind == "conditional"
        curves.append(
            Curve(
                unit=unit,
                mechanism=mechanism,
                kind=kind,
                epsilons=tuple(float(e) for e in epsilons),
                azimuth=azimuth,
                tilt=tilt,
                capacity=None if none else capacity,
            )
        )
    return curves


def _all_means(
    system: KnownSystem, epsilons: Sequence[float]
) -> dict[tuple[str, str, str], list[tuple[float, float, float]]]:
    frame, record = system.frame, system.record
    out: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    for unit, name in ((Readings(1), "readings:1"), (Days(1), "days:1")):
        for epsilon in epsilons:
            settled = frame.settled(unit, epsilon, differenced=record.differenced)
            score = unit_score(settled, record, unit)
            for kind in (PermuteAndFlip, Exponential):
                label = "permute-and-flip" if kind is PermuteAndFlip else "exponential"
                chances = kind(epsilon).probabilities(score)
                laws = framed_laws(frame, chances, system.plane, system.dc_capacity_kw)
                out.setdefault((name, label, "worst-case"), []).append(laws.means)
    out["system", "window", "worst-case"] = [window_error(system, e).means for e in epsilons]
    if not record.differenced:  # which the paper's mechanism does not take
        out["readings:1", "paper", "conditional"] = paper_means(system, epsilons)
    return out


def window_error(system: KnownSystem, epsilon: float) -> ErrorLaws:
    """Return the laws of a whole record's release."""
    placed = placement(system.frame, system.record)
    probabilities = system.frame.choices.window(epsilon).probabilities(placed)
    return window_laws(
        placed.axes,
        probabilities,
        system.plane,
        system.dc_capacity_kw,
        lowest_kw=system.frame.choices.capacities.low,
    )


def paper_means(
    system: KnownSystem, epsilons: Sequence[float], *, delta: float = DELTA
) -> list[tuple[float, float, float]]:
    """Return the expected errors of the paper's mechanism; it releases no capacity.

    Parameters
    ----------
    system
        The system.
    epsilons
        Where to compute them.
    delta
        δ of the mechanism.
    """
    grid = paper_grid()
    score = posterior(system.record, system.frame.weather, delta=delta)
    errors = azimuth_errors(grid.surface_azimuth, system.plane)
    tilts = np.abs(grid.surface_tilt - system.plane.surface_tilt)
    out = []
    for epsilon in epsilons:
        chances = DPBO(epsilon, delta).probabilities(score)
        out.append((Law(errors, chances).mean, Law(tilts, chances).mean, float("nan")))
    return out
