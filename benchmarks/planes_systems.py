"""Systems whose planes or trackers are known: simulated ones, and sums of real homes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from benchmarks import real
from benchmarks.independent import independent_fleet
from benchmarks.simulated import SATELLITE
from sunveil.errors import SunveilError
from sunveil.estimates.estimates_table import Estimate
from sunveil.inference.fleet_part import SiteSkies
from sunveil.inference.infer import infer_records
from sunveil.meters import from_pandas
from sunveil.simulate import (
    Horizon,
    SystemTruth,
    Tracker,
    simulate_fleet,
    tracking,
    western_horizon,
)
from sunveil.simulate.roster import (
    HALF_TURN,
    LARGER_SHARE,
    draw_trackers,
    ridge_azimuths,
    second_planes,
)
from sunveil.site import Plane, Site

SEED = 19_019
HOMES = tuple(name for name in real.LOADERS if name.startswith("fontana"))
# Below the first of these tilts two planes of a roof look like one. [degrees]
LEAST_TILT, MOST_TILT, FLATTEST = 15.0, 45.0, 4.0
# How high a western horizon shades systems. [degrees]
SHADE = 30.0
Change = Callable[[SystemTruth], SystemTruth]


@dataclass(frozen=True, slots=True, eq=False)
class KnownMounts:
    """A system whose planes or whose tracker are known.

    Parameters
    ----------
    name
        What it is called.
    power
        Mean AC power of each interval, on a clock with its zone. [kW]
    site
        Where it is.
    planes
        Its planes with their shares of the capacity, the largest first; none of a tracker.
    dc_capacity_kw
        Its whole capacity; NaN where nobody knows. [kW]
    tracker
        What turns it, if anything does.
    label
        Which instant of its interval a stamp names.
    """

    name: str
    power: pd.Series
    site: Site
    planes: tuple[tuple[Plane, float], ...]
    dc_capacity_kw: float = math.nan
    tracker: Tracker | None = None
    label: str = "start"

    @property
    def apart(self) -> float:
        """The angle between the first two planes. [degrees]"""
        return self.planes[0][0].angle_to(self.planes[1][0])


Answer = tuple[KnownMounts, Estimate | None]


def infer_known(system: KnownMounts) -> Estimate | None:
    """Return the estimate of a system under the embedded clear sky, None where it is refused."""
    site = system.site
    try:
        record = from_pandas(
            system.power, system_id=system.name, label=system.label, power_unit="kW"
        )
    except SunveilError:
        return None
    skies = SiteSkies(site.latitude, site.longitude, site.altitude)
    found = next(infer_records([record], skies))
    return None if isinstance(found, SunveilError) else found


def answered(systems: Iterable[KnownMounts], *, workers: int = 2) -> list[Answer]:
    """Return systems with their estimates, inferred by some processes."""
    known = list(systems)
    with ProcessPoolExecutor(workers) as pool:
        return list(zip(known, pool.map(infer_known, known, chunksize=4), strict=True))


def simulated(
    count: int, *, seed: int, change: Change | None = None, horizon: Horizon | None = None
) -> Iterator[KnownMounts]:
    """Yield systems of Sunveil's own simulator: hourly year, all weather, 2% noise.

    Parameters
    ----------
    count
        How many.
    seed
        The same seed gives the same systems.
    change
        Applied to each before it makes power.
    horizon
        What hides the sun from all of them.
    """
    fleet = simulate_fleet(count, seed=seed, errors=SATELLITE, change=change, horizon=horizon)
    for truth, power, _ in fleet:
        yield _known(truth, power)


def independent(count: int, *, seed: int, change: Change | None = None) -> Iterator[KnownMounts]:
    """Yield systems of another physics, with skylines, dirt, snow and gaps.

    Parameters
    ----------
    count, seed, change
        As for :func:`simulated`.
    """
    for one in independent_fleet(count, seed=seed, change=change):
        yield _known(one.truth, one.power)


def shaded(count: int, *, seed: int) -> Iterator[KnownMounts]:
    """Yield single planes behind a western horizon."""
    return simulated(count, seed=seed, horizon=western_horizon(SHADE))


def _known(truth: SystemTruth, power: pd.Series) -> KnownMounts:
    planes = () if truth.tracker else tuple(sorted(truth.planes, key=lambda each: -each[1]))
    return KnownMounts(
        name=truth.system_id,
        power=power,
        site=truth.site,
        planes=planes,
        dc_capacity_kw=truth.dc_capacity_kw,
        tracker=truth.tracker,
    )


def pairs(*, seed: int, low: bool = False) -> Change:
    """Return what puts systems on two planes about ridges and corners.

    Parameters
    ----------
    seed
        Of what is drawn, in the order of the systems.
    low
        Whether their tilts are below ``LEAST_TILT``, where nothing tells two planes from one.
    """
    rng = np.random.default_rng([SEED, seed])
    least, most = (FLATTEST, LEAST_TILT) if low else (LEAST_TILT, 90.0)

    def change(truth: SystemTruth) -> SystemTruth:
        plane = truth.plane
        if not least <= plane.surface_tilt < most:
            tilt = float(rng.uniform(least, min(most, MOST_TILT)))
            plane = replace(plane, surface_tilt=tilt)
        while True:
            pair = with_second_plane(replace(truth, planes=((plane, 1.0),)), rng=rng)
            if low or pair.planes[1][0].surface_tilt >= least:
                return pair

    return change


def trackers(*, seed: int) -> Change:
    """Return what puts systems on single-axis trackers; the seed is as for :func:`pairs`."""
    rng = np.random.default_rng([SEED, seed])
    return lambda truth: on_tracker(truth, rng=rng)


def real_systems(names: Sequence[str] | None = None) -> Iterator[KnownMounts]:
    """Yield real systems with the planes of their labels, where they have any."""
    cases, missing = real.load_all(names=names or tuple(real.LOADERS))
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", flush=True)
    yield from map(of_case, cases)


def of_case(case: real.RealCase) -> KnownMounts:
    """Return a real system with the plane of its label, if it has one."""
    labelled = case.azimuth is not None and case.tilt is not None
    return KnownMounts(
        name=case.name,
        power=case.power,
        site=case.site,
        planes=((Plane(case.azimuth, case.tilt), 1.0),) if labelled else (),
        dc_capacity_kw=case.dc_kw or math.nan,
        label=case.label,
    )


def sums_of_homes(homes: Sequence[Answer]) -> Iterator[KnownMounts]:
    """Yield the sum of any two homes, whose planes are what each home's own readings give.

    Parameters
    ----------
    homes
        The homes with their estimates.
    """
    for (one, first), (other, second) in combinations(homes, 2):
        if first is None or second is None:
            continue
        whole = first.dc_capacity_kw + second.dc_capacity_kw
        parts = [(each.plane, each.dc_capacity_kw / whole) for each in (first, second)]
        yield KnownMounts(
            name=f"{one.name} and {other.name}",
            power=(one.power + other.power).dropna(),
            site=one.site,
            planes=tuple(sorted(parts, key=lambda each: -each[1])),
            dc_capacity_kw=whole,
        )


def with_second_plane(truth: SystemTruth, *, rng: np.random.Generator) -> SystemTruth:
    """Return a system that stands on two planes, about a ridge or about a corner."""
    first, tilt = np.array([truth.plane.surface_azimuth]), np.array([truth.plane.surface_tilt])
    share = float(rng.uniform(*LARGER_SHARE))
    turn = np.array([rng.choice([HALF_TURN, HALF_TURN, 90.0, -90.0])])
    if turn[0] == HALF_TURN:
        first = ridge_azimuths(rng, first)
    second = second_planes(rng, first, tilt, turn=turn)
    planes = [Plane(float(azimuth[0]), float(own[0])) for azimuth, own in ((first, tilt), second)]
    return replace(truth, planes=((planes[0], share), (planes[1], 1.0 - share)))


def on_tracker(truth: SystemTruth, *, rng: np.random.Generator) -> SystemTruth:
    """Return a system that turns about one axis."""
    drawn = {name: values[0].item() for name, values in draw_trackers(rng, 1).items()}
    return tracking(truth, Tracker(**drawn))
