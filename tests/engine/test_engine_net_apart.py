from __future__ import annotations

import numpy as np
import pytest
from net_makers import cells_of, load_of

from sunveil.engine.net_fit import fit_net
from sunveil.engine.net_meters import NetHours, household_of, tell_apart
from sunveil.engine.shading import PreparedSky
from sunveil.estimates.planes_and_intervals import HOURS
from sunveil.site import Array


@pytest.fixture(scope="module")
def generation(rows: np.ndarray) -> np.ndarray:
    return rows[0].astype(np.float64)


@pytest.fixture(scope="module")
def point(generation: np.ndarray, prepared: PreparedSky) -> Array:
    net = (generation - load_of(prepared)).astype(np.float32)
    return fit_net(net, prepared, cells_of(prepared)).state.point


def told(generation: np.ndarray, load: np.ndarray, prepared: PreparedSky, point: Array) -> NetHours:
    net = (generation - load).astype(np.float32)
    return tell_apart(net, prepared, cells_of(prepared), point)


def test_the_household_is_told(generation: np.ndarray, prepared: PreparedSky, point: Array) -> None:
    load = load_of(prepared)
    hours = told(generation, load, prepared, point)
    household = household_of(hours, 0.4)
    assert household.mean_load_kw == pytest.approx(load.mean(), rel=0.1)
    used = np.minimum(generation, load).sum() / generation.sum()
    assert household.self_consumption == pytest.approx(used, abs=0.06)
    assert household.exporting == 0.4
    # evenings are higher than nights
    assert household.load_kw[0][19] > 1.2 * household.load_kw[0][3]
    assert "private" in repr(household)
    assert "private" in repr(hours)


def test_a_load_that_comes_every_day_is_no_cloud(
    generation: np.ndarray, prepared: PreparedSky, point: Array
) -> None:
    load = load_of(prepared)
    quiet = told(generation, load, prepared, point)
    ten = quiet.lit & (quiet.cell % HOURS == 10)
    extra = 0.4 * generation[ten].max()
    hours = told(generation, load + extra * ten, prepared, point)
    assert np.mean((hours.load - quiet.load)[ten]) > 0.93 * extra
    assert hours.generation[ten].sum() == pytest.approx(generation[ten].sum(), rel=0.05)


def test_a_battery_that_holds_the_meter_hides_no_sun(
    generation: np.ndarray, prepared: PreparedSky, point: Array
) -> None:
    load, noise = load_of(prepared), np.random.default_rng(4).normal(0.0, 0.02, len(generation))
    quiet = told(generation, load, prepared, point)
    morning = quiet.lit & np.isin(quiet.cell % HOURS, (9, 10)) & (generation > load)
    held = np.where(morning, np.maximum(generation - np.abs(noise), load), load)
    hours = told(generation, held, prepared, point)
    share = hours.generation[morning].sum() / generation[morning].sum()
    assert share == pytest.approx(1.0, abs=0.05)


def test_exports_alone_leave_the_load_to_expectation(
    generation: np.ndarray, prepared: PreparedSky, point: Array
) -> None:
    load, cells = load_of(prepared), cells_of(prepared)
    exports = np.maximum(generation - load, 0.0).astype(np.float32)
    hours = tell_apart(exports, prepared, cells, point)
    hidden = hours.lit & (exports == 0.0)
    # what was not seen is at least what was generated, by expectation, and more than that
    assert (hours.load[hidden] > hours.generation[hidden]).mean() > 0.95
    assert hours.load[hidden].mean() == pytest.approx(load[hidden].mean(), rel=0.35)
    assert not hours.said[cells.night].any()
    assert (hours.load[cells.night] > 0.0).all()
    # what a household takes at night is not known, and so is not its mean
    assert np.isnan(household_of(hours, 0.4).mean_load_kw)


def test_nothing_is_told_where_nothing_was_read(
    generation: np.ndarray, prepared: PreparedSky, point: Array
) -> None:
    load = load_of(prepared)
    load[3000:5000] = np.nan
    hours = told(generation, load, prepared, point)
    assert np.isnan(hours.load[3000:5000]).all()
    assert not (hours.lit | hours.said)[3000:5000].any()
    assert np.isfinite(household_of(hours, 0.4).mean_load_kw)
