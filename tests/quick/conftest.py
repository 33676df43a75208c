from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sunveil.cells import CellSky, cell_of, make_cell_sky
from sunveil.quick.constants import Constants, QuickOptions, constants_of
from sunveil.simulate import SimulatedSky, simulate_sky
from sunveil.site import Site
from sunveil.timegrid import TimeGrid

FIRST = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())


@pytest.fixture(scope="session")
def denver() -> CellSky:
    """A clear year over Denver."""
    return make_cell_sky(cell_of(39.7, -105.0, 1609.0), TimeGrid(FIRST, 3600, 8760))


@pytest.fixture(scope="session")
def constants() -> Constants:
    return constants_of(QuickOptions(), clear=True)


@pytest.fixture(scope="session")
def weathered(denver: CellSky) -> SimulatedSky:
    """A year of changing weather at the centre of Denver's cell."""
    site = Site(denver.site.latitude, denver.site.longitude, denver.site.altitude)
    return simulate_sky(site, 2019, seed=8, step_minutes=15, clear_days=0.5)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(2)
