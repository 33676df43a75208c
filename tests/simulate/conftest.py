from __future__ import annotations

import pytest

from sunveil.simulate import SimulatedSky, SystemTruth, simulate_sky
from sunveil.site import Plane, Site

GOLDEN = Site(39.742, -105.1727, 1795.0)


@pytest.fixture(scope="session")
def mixed_sky() -> SimulatedSky:
    return simulate_sky(GOLDEN, 2019, seed=11, step_minutes=10, clear_days=0.4)


@pytest.fixture(scope="session")
def bright_sky() -> SimulatedSky:
    return simulate_sky(GOLDEN, 2019, seed=12, step_minutes=10, clear_days=0.9)


@pytest.fixture
def south_roof() -> SystemTruth:
    return SystemTruth(
        system_id="south",
        site=GOLDEN,
        planes=((Plane(180.0, 30.0), 1.0),),
        dc_capacity_kw=5.0,
        timezone="America/Denver",
    )
