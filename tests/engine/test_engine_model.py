from __future__ import annotations

import numpy as np
import pytest
from engine_makers import point_of
from oracle import angle_between, best_plane, oracle_of

from sunveil.engine import Clock, InferOptions
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.coarse_search import search
from sunveil.engine.final_fit import fit_finally
from sunveil.engine.power_model import CAPACITY
from sunveil.engine.shading import PreparedSky


@pytest.fixture(scope="module")
def oracle(denver):
    return oracle_of(denver)


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


@pytest.fixture(scope="module")
def plain_fits(prepared, oracle, rows):
    return {
        place: best_plane(oracle, rows[place][prepared.slot].astype(np.float64))
        for place in (0, 2, 3)
    }


def test_search_and_final_fit_end_where_the_plain_fit_ends(denver, oracle, rows, plain_fits):
    """All of it: thinned searches, few steps, Newton's and Gauss's; nothing is shaded here."""
    prepared = PreparedSky(denver, InferOptions(clock=Clock.GIVEN))
    fit = fit_finally(search(rows, prepared), prepared)
    for place, plain in plain_fits.items():
        power = rows[place][prepared.slot].astype(np.float64)
        theirs = oracle.fit(power, plain, say=fit.kept[place, : len(power)])
        assert angle_between(fit.points[place], theirs) < 0.05
        assert fit.points[place, CAPACITY] == pytest.approx(theirs[CAPACITY], abs=0.002)
