from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from engine_makers import row_of
from net_makers import cells_of, load_of

from sunveil.engine.net_fit import NetFit, fit_net, net_starts
from sunveil.engine.net_model import CLEARNESS
from sunveil.engine.power_model import CAPACITY, EAST, NORTH
from sunveil.engine.shading import PreparedSky

PowerMaker = Callable[..., pd.Series]
AZIMUTH, TILT, CAPACITY_KW = 215.0, 25.0, 6.0


@pytest.fixture(scope="module")
def generation(power_of: PowerMaker, prepared: PreparedSky) -> np.ndarray:
    return row_of(power_of(AZIMUTH, TILT), prepared.sky.grid)


@pytest.fixture(scope="module")
def net(generation: np.ndarray, prepared: PreparedSky) -> np.ndarray:
    return (generation - load_of(prepared)).astype(np.float32)


@pytest.fixture(scope="module")
def fit(net: np.ndarray, prepared: PreparedSky) -> NetFit:
    return fit_net(net, prepared, cells_of(prepared))


def is_right(fit: NetFit) -> None:
    point = fit.state.point
    assert np.degrees(np.arctan2(point[EAST], point[NORTH])) % 360.0 == pytest.approx(
        AZIMUTH, abs=8.0
    )
    assert np.hypot(point[EAST], point[NORTH]) == pytest.approx(TILT, abs=4.0)
    assert np.exp(point[CAPACITY]) == pytest.approx(CAPACITY_KW, rel=0.1)


def test_the_plane_is_told_from_the_net(fit: NetFit) -> None:
    is_right(fit)
    assert (np.linalg.eigvalsh(fit.information) > 0.0).all()


def test_exports_alone_tell_it_too(net: np.ndarray, prepared: PreparedSky) -> None:
    is_right(fit_net(np.maximum(net, 0.0), prepared, cells_of(prepared)))


def test_some_start_is_near(net: np.ndarray, fit: NetFit, prepared: PreparedSky) -> None:
    starts = net_starts(net, fit.state.load, prepared)
    far = np.hypot(*(starts[:, [EAST, NORTH]] - fit.state.point[[EAST, NORTH]]).T)
    assert far.min() < 15.0


def test_what_is_expected_goes_with_the_generation(
    generation: np.ndarray, net: np.ndarray, fit: NetFit, prepared: PreparedSky
) -> None:
    told, true = fit.found[CLEARNESS] * fit.model, generation[prepared.slot]
    clipped = np.maximum(net[prepared.slot], 0.0)
    assert np.corrcoef(told, true)[0, 1] > 0.9
    assert np.abs(told - true).mean() < 0.7 * np.abs(clipped - true).mean()


def test_days_without_readings_do_not_count(net: np.ndarray, prepared: PreparedSky) -> None:
    gap = net.copy()
    gap[3000:5000] = np.nan
    found = fit_net(gap, prepared, cells_of(prepared))
    is_right(found)
    assert not found.model[(prepared.slot > 3024) & (prepared.slot < 4976)].any()
