from __future__ import annotations

import numpy as np
import pytest
from engine_makers import point_of
from oracle import DIFFERENCES, angle_between, best_plane, oracle_of

from sunveil.engine import Clock, InferOptions
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.coarse_search import padded, run_refine, search
from sunveil.engine.constants import ERRORS
from sunveil.engine.final_fit import fit_finally
from sunveil.engine.power_model import (
    _OUT,
    BLOCK,
    CAPACITY,
    LIMIT,
    NO_LIMIT,
    PARAMETERS,
    _linearise,
)
from sunveil.engine.shading import PreparedSky


@pytest.fixture(scope="module")
def oracle(denver):
    return oracle_of(denver)


def linearised(prepared, power, point, bright):
    """Return the rows of a linearisation over the usable intervals."""
    sheet, usable = prepared.sky.sheet, prepared.sky.usable
    out = np.empty((len(sheet), _OUT, BLOCK), dtype=np.float32)
    readings = padded(power[None].astype(np.float32))[0]
    have = padded(np.ones((1, usable), dtype=np.float32))[0]
    _linearise(sheet, readings, have, point, bright, 1.0, prepared.numbers, out)
    return out.transpose(1, 0, 2).reshape(_OUT, -1)[:, :usable].astype(np.float64)


@pytest.mark.parametrize(
    ("azimuth", "tilt", "haze", "heat", "season"),
    [
        (180.0, 30.0, 0.0, 1.0, 0.0),
        (95.0, 12.0, -0.5, 1.2, 0.3),
        (300.0, 85.0, 0.5, 0.5, -0.4),
        (0.0, 0.0, 0.0, 1.25, 0.0),
        (200.0, 35.0, 0.25, 1.0, 0.0),
        (15.0, 45.0, 1.5, 1.6, 1.0),
        (240.0, 89.9, -2.0, 1.0, 0.0),
    ],
)
def test_the_compiled_model_is_the_plain_one(prepared, oracle, azimuth, tilt, haze, heat, season):
    point = point_of(azimuth, tilt, haze=haze, heat=heat, season=season)
    mine = profiles_of(prepared.sky.sheet, point[None], prepared.numbers)[0]
    theirs = oracle.power(point)
    np.testing.assert_allclose(mine[: len(theirs)], theirs, atol=1e-3)
    assert theirs.max() > 0.1
    # what is left of the last block is night
    assert (mine[len(theirs) :] == 0.0).all()


def test_a_hazier_winter_dims_january_and_not_july(prepared):
    points = np.array([point_of(180.0, 30.0, season=season) for season in (0.0, 1.0)])
    even, hazy = profiles_of(prepared.sky.sheet, points, prepared.numbers)[:, : prepared.sky.usable]
    month = prepared.seconds.astype("M8[s]").astype("M8[M]").astype(int) % 12
    ratio = [hazy[month == each].sum() / even[month == each].sum() for each in range(12)]
    assert ratio[0] < 0.98
    assert ratio[6] > 1.01
    assert ratio[3] == pytest.approx(1.0, abs=0.01)
    assert ratio[9] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    "point",
    [
        point_of(220.0, 25.4, 7.0, haze=0.3, heat=1.25),
        point_of(80.0, 62.6, 0.4, haze=-0.7, heat=1.0, season=0.4),
        point_of(10.0, 8.5, 30.0, haze=1.2, heat=0.8, season=-0.3),
        point_of(220.0, 25.4, 7.0, haze=0.3, heat=1.25, limit=4.0),
    ],
)
def test_derivatives_are_those_of_the_model(prepared, point):
    """Against differences of the compiled model itself: the same function, to first order."""
    sheet, usable = prepared.sky.sheet, prepared.sky.usable

    def power(at):
        free = profiles_of(sheet, at[None], prepared.numbers)[0, :usable].astype(np.float64)
        return np.minimum(free * np.exp(at[CAPACITY]), np.exp(at[LIMIT]))

    model = power(point)
    rows = linearised(prepared, model, point, bright=model.max())
    np.testing.assert_allclose(rows[0], model, rtol=1e-4, atol=1e-5 * model.max())
    slopes = rows[4:] / rows[1]
    for place in range(PARAMETERS):
        step = DIFFERENCES * (np.arange(PARAMETERS) == place)
        ends = power(point + step), power(point - step)
        differences = (ends[0] - ends[1]) / (2.0 * step[place])
        if place == LIMIT and point[LIMIT] >= NO_LIMIT:
            assert (slopes[place] == 0.0).all()
            continue
        # a few lie within a step of where power begins, the limit begins, or diffuse light ends
        far = np.abs(slopes[place] - differences)[model > 0.04 * model.max()]
        assert np.quantile(far, 0.98) < 1e-3 * np.abs(differences).max(), place


def test_weights_are_welschs_and_the_dim_have_none(prepared, oracle):
    point = point_of(180.0, 30.0, 5.0)
    model = oracle.power(point)
    power = model * np.random.default_rng(0).uniform(0.5, 1.2, len(model))
    rows = linearised(prepared, power, point, bright=4.0)
    deviation = oracle.deviation(rows[0], 4.0)
    np.testing.assert_allclose(1.0 / rows[1], deviation, rtol=1e-3)
    residual = (power - rows[0]) / deviation
    np.testing.assert_allclose(rows[2], residual, atol=2e-3 * np.abs(residual).max())
    expected = np.exp(-0.5 * (rows[2] / ERRORS.reach) ** 2)
    expected[rows[0] < 0.04 * 4.0] = 0.0
    # beyond sixteen it stops falling
    np.testing.assert_allclose(rows[3], expected, rtol=0.01, atol=2e-7)
    assert (rows[3] == 0.0).sum() > 100


@pytest.fixture(scope="module")
def plain_fits(prepared, oracle, rows):
    return {
        place: best_plane(oracle, rows[place][prepared.slot].astype(np.float64))
        for place in (0, 2, 3)
    }


def test_a_refinement_ends_where_the_plain_fit_ends(prepared, rows, plain_fits):
    for place, theirs in plain_fits.items():
        power = rows[place : place + 1, prepared.slot]
        mine = theirs[None] + np.array([3.0, -2.0, 0.05, 0.1, -0.05, 0.1, 0.0])
        run_refine(
            prepared,
            prepared.sky.sheet,
            (padded(power), padded(np.ones_like(power))),
            np.array([np.quantile(power, 0.98)]),
            mine,
            share=1.0,
            most=30,
        )
        assert angle_between(mine[0], theirs) < 0.05
        assert mine[0, CAPACITY] == pytest.approx(theirs[CAPACITY], abs=0.002)


def test_a_limit_is_refined_as_the_plain_fit_does(prepared, oracle, rows):
    power = np.minimum(rows[0][prepared.slot], 3.4).astype(np.float64)
    start = point_of(184.0, 27.0, 6.1, haze=-0.2, heat=1.25, limit=3.5)
    theirs = oracle.fit(power, start)
    have = padded(np.ones((1, len(power)), dtype=np.float32))
    run_refine(
        prepared,
        prepared.sky.sheet,
        (padded(power[None].astype(np.float32)), have),
        np.array([np.quantile(power, 0.98)]),
        mine := start[None].copy(),
        share=1.0,
        most=30,
    )
    assert np.exp(mine[0, LIMIT]) == pytest.approx(3.4, rel=0.01)
    assert angle_between(mine[0], theirs) < 0.05
    assert mine[0, CAPACITY] == pytest.approx(theirs[CAPACITY], abs=0.002)


def test_search_and_final_fit_end_where_the_plain_fit_ends(denver, oracle, rows, plain_fits):
    """All of it: thinned searches, few steps, Newton's and Gauss's; nothing is shaded here."""
    prepared = PreparedSky(denver, InferOptions(clock=Clock.GIVEN))
    fit = fit_finally(search(rows, prepared), prepared)
    for place, plain in plain_fits.items():
        power = rows[place][prepared.slot].astype(np.float64)
        theirs = oracle.fit(power, plain, say=fit.kept[place, : len(power)])
        assert angle_between(fit.points[place], theirs) < 0.05
        assert fit.points[place, CAPACITY] == pytest.approx(theirs[CAPACITY], abs=0.002)
