"""Utility curves: expected errors of every unit and mechanism against ε."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sunveil._options import checked
from sunveil.errors import ParameterError
from sunveil.meters.dataframes import from_pandas
from sunveil.meters.record import Record
from sunveil.paper.dpbo import DELTA, DPBO, posterior
from sunveil.paper.fit import paper_grid
from sunveil.privacy.guarantees import Days, Readings, System, Unit, check_release_epsilon
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.expected_errors import Law, azimuth_errors, release_laws
from sunveil.releases.release_choices import Choices
from sunveil.simulate.fault_rates import draw_systems
from sunveil.simulate.simulated_sky import simulate_sky
from sunveil.simulate.system_power import simulate_power
from sunveil.site import Plane, Site

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
    """A system with a known truth, or one taken to be true: private if its record is."""

    frame: ReleaseFrame  # the public frame of its releases
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
