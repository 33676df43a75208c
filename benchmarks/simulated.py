"""Simulated fleets: the whole of one, and each stress alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice

import numpy as np
import pandas as pd

from benchmarks.measure import Outcome, Truth, ours, run_peers
from benchmarks.stressed_systems import missing_and_snow, summer_only
from sunveil.simulate import (
    SatelliteErrors,
    SystemTruth,
    Tracker,
    clipped,
    daylight_saving_stamps,
    east_west,
    fast_clock,
    simulate_fleet,
    tracking,
    western_horizon,
)
from sunveil.site import Plane
from sunveil.weather import Weather

System = tuple[SystemTruth, pd.Series, Weather]
SEED = 2026
# Smoothed clouds and another turbidity, as the bar names them; a product's calibration is apart.
SATELLITE = SatelliteErrors(ghi_bias=0.0, dni_bias=0.0)
CALIBRATED_BADLY = SatelliteErrors()


def truth_of(system: SystemTruth) -> Truth:
    """Return what a simulated system really is."""
    return Truth(system.plane.surface_azimuth, system.plane.surface_tilt, system.dc_capacity_kw)


def _one(job: tuple[System, str, bool, bool]) -> dict[str, Outcome]:
    (system, power, satellite), weather, peers, slow = job
    truth = truth_of(system)
    given = satellite if weather == "satellite" else "clearsky"
    out = {"sunveil": ours(power, system.site, truth, weather=given)}
    if peers:
        theirs = satellite if weather == "satellite" else None
        out |= run_peers(power, system.site, truth, weather=theirs, slow=slow)
    return out


def measure(
    systems: Iterator[System], weather: str, *, peers: int = 0, slow: int = 0, workers: int = 2
) -> list[dict[str, Outcome]]:
    """Infer every system; the first few also with the peers."""
    jobs = ((one, weather, n < peers, n < slow) for n, one in enumerate(systems))
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(_one, jobs))


def fleet(count: int, *, errors: SatelliteErrors = SATELLITE, seed: int = SEED) -> Iterator[System]:
    """Yield a fleet drawn like a real one: hourly year, all weather, 2% noise."""
    # the order is by site: shuffled, so that the first few are not all of one place
    systems = list(simulate_fleet(count, seed=seed, errors=errors))
    order = np.random.default_rng(seed).permutation(len(systems))
    return (systems[i] for i in order)


def _changed(change: Callable[[int, System], pd.Series]) -> Callable[[int], Iterator[System]]:
    def make(count: int) -> Iterator[System]:
        for n, one in enumerate(simulate_fleet(count, seed=SEED + 1, errors=SATELLITE)):
            yield one[0], change(n, one), one[2]

    return make


def _opposite(rng: np.random.Generator) -> Callable[[SystemTruth], SystemTruth]:
    def change(system: SystemTruth) -> SystemTruth:
        azimuth = float(rng.choice([90.0, 270.0]) + rng.normal(0.0, 15.0))
        plane = Plane(azimuth, float(rng.uniform(12.0, 40.0)))
        alone = replace(system, planes=((plane, 1.0),))
        return east_west(alone, share=float(rng.uniform(0.35, 0.65)))

    return change


def _trackers() -> Callable[[SystemTruth], SystemTruth]:
    kinds = [
        Tracker(dual_axis=False, backtrack=True),
        Tracker(dual_axis=False, backtrack=False),
        Tracker(dual_axis=True, backtrack=False),
    ]
    turn = iter(range(10_000))
    return lambda system: tracking(system, kinds[next(turn) % len(kinds)])


STRESSES: dict[str, Callable[[int], Iterator[System]]] = {
    "DC/AC 1.7 clipping": lambda n: simulate_fleet(
        n, seed=SEED + 1, errors=SATELLITE, change=lambda one: clipped(one, 1.7)
    ),
    "35° western horizon": lambda n: simulate_fleet(
        n, seed=SEED + 1, errors=SATELLITE, horizon=western_horizon(35.0)
    ),
    "daylight-saving stamps": _changed(
        lambda _, one: daylight_saving_stamps(one[1], one[0].timezone)
    ),
    "a clock 1 h fast": _changed(lambda _, one: fast_clock(one[1], 60)),
    "June to August only": _changed(lambda _, one: summer_only(one[1])),
    "5% of days missing and snow": _changed(
        lambda n, one: missing_and_snow(one[1], seed=n, timezone=one[0].timezone)
    ),
}

NOT_ONE_PLANE: dict[str, Callable[[int], Iterator[System]]] = {
    "east-west pairs": lambda n: simulate_fleet(
        n, seed=SEED + 2, errors=SATELLITE, change=_opposite(np.random.default_rng(SEED))
    ),
    "trackers": lambda n: simulate_fleet(n, seed=SEED + 2, errors=SATELLITE, change=_trackers()),
    "fixed single planes": lambda n: islice(fleet(n, seed=SEED + 3), n),
}
