from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from engine_makers import PLANES, rows_of

from sunveil.engine import InferOptions, SkyTable, make_sky_table
from sunveil.engine.shading import PreparedSky, prepare
from sunveil.simulate import SimulatedSky, SystemTruth, simulate_power, simulate_sky
from sunveil.site import Plane, Site, TimeGrid

DENVER = Site(39.7, -105.0, 1600.0)
FIRST = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())

PowerMaker = Callable[..., pd.Series]


@pytest.fixture(scope="session")
def denver() -> SkyTable:
    """A clear year over Denver, hour by hour."""
    return make_sky_table(DENVER, TimeGrid(FIRST, 3600, 8760))


@pytest.fixture(scope="session")
def prepared(denver: SkyTable) -> PreparedSky:
    return prepare(denver, InferOptions())


@pytest.fixture(scope="session")
def weathered() -> SimulatedSky:
    """A year of changing weather over Denver."""
    return simulate_sky(DENVER, 2019, seed=8, step_minutes=15, clear_days=0.5)


@pytest.fixture(scope="session")
def power_of(weathered: SimulatedSky) -> PowerMaker:
    """Return a maker of simulated readings of one system at Denver."""

    def make(
        azimuth: float = 180.0,
        tilt: float = 30.0,
        *,
        change: Callable[[SystemTruth], SystemTruth] | None = None,
        **settings: object,
    ) -> pd.Series:
        truth = SystemTruth("one", DENVER, ((Plane(azimuth, tilt), 1.0),), 6.0, dc_ac_ratio=1.0)
        truth = truth if change is None else change(truth)
        return simulate_power(truth, weathered, **{"seed": 5, "step_minutes": 60, **settings})

    return make


@pytest.fixture(scope="session")
def powers(power_of: PowerMaker) -> list[pd.Series]:
    return [power_of(*plane, seed=3 + n) for n, plane in enumerate(PLANES)]


@pytest.fixture(scope="session")
def rows(powers: list[pd.Series], denver: SkyTable) -> np.ndarray:
    """Readings of four systems on Denver's grid."""
    out = rows_of(powers, denver.grid)
    out.flags.writeable = False
    return out
