from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from net_makers import ZONE, load_of

from sunveil import infer
from sunveil.engine import SkyTable
from sunveil.engine.net_meters import Separated, separate
from sunveil.engine.shading import PreparedSky
from sunveil.errors import SunveilError


@pytest.fixture(scope="module")
def net(rows: np.ndarray, prepared: PreparedSky) -> np.ndarray:
    return (rows[0] - load_of(prepared)).astype(np.float32)


@pytest.fixture(scope="module")
def series(net: np.ndarray, denver: SkyTable) -> pd.Series:
    index = pd.DatetimeIndex(denver.grid.times, tz="UTC")
    return pd.Series(net.astype(float), index=index, name="power_kw")


@pytest.fixture(scope="module")
def parts(net: np.ndarray, series: pd.Series, denver: SkyTable) -> Separated:
    estimate = infer(series, latitude=39.7, longitude=-105.0, altitude=1600.0, net=True)
    return separate(net, denver, estimate, timezone=ZONE)


def test_generation_less_load_is_the_reading(net: np.ndarray, parts: Separated) -> None:
    there = np.isfinite(net)
    np.testing.assert_allclose((parts.generation - parts.load)[there], net[there], atol=1e-5)
    assert (parts.generation[there] >= 0.0).all()
    assert (parts.load[there] >= -1e-5).all()
    assert "private" in repr(parts)


def test_the_band_holds_the_generation(
    rows: np.ndarray, parts: Separated, prepared: PreparedSky
) -> None:
    lit, true = prepared.slot, rows[0][prepared.slot]
    inside = (true >= parts.low[lit] - 0.02) & (true <= parts.high[lit] + 0.02)
    assert inside.mean() > 0.85
    # and not all there can be
    assert np.mean(parts.high[lit] - parts.low[lit]) < 0.6 * true.max()


def test_nothing_is_generated_at_night(parts: Separated, prepared: PreparedSky) -> None:
    dark = np.ones(len(parts.generation), dtype=bool)
    dark[prepared.sky.slot] = False
    assert not parts.generation[dark].any()


def test_a_net_meter_whose_fit_has_no_solution_is_refused_with_its_reason(
    series: pd.Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    def singular(*_: object) -> None:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(np.linalg, "solve", singular)
    with pytest.raises(SunveilError, match="no plane explains its readings"):
        infer(series, latitude=39.7, longitude=-105.0, altitude=1600.0, net=True)
