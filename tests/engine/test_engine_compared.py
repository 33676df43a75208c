from __future__ import annotations

import numpy as np
import pytest
from engine_makers import point_of

from sunveil.engine.compared import ComparedReadings, best_mixture, best_pair
from sunveil.engine.envelope import profiles_of
from sunveil.engine.model import HAZE, LIMIT
from sunveil.engine.skytable import in_blocks


@pytest.fixture(scope="module")
def roof(prepared):
    """A steep roof on both sides of a ridge from north to south, 2% of noise on its readings."""
    planes = np.stack([point_of(97.0, 50.0), point_of(277.0, 50.0)])
    power = profiles_of(prepared.sky.sheet, planes, prepared.numbers).sum(axis=0)
    places = np.arange(0, prepared.sky.usable, 5)
    places = places[power[places] > 0.05]
    noise = 1.0 + 0.02 * np.random.default_rng(1).standard_normal(len(places))
    return power, ComparedReadings(
        places,
        (power[places] * noise).astype(np.float64),
        in_blocks(prepared.sky.rows[:, places]),
        float(np.quantile(power, 0.98)),
        prepared.numbers,
    )


def one_plane(prepared):
    point = point_of(187.0, 10.0)
    return point, 1.7 * profiles_of(prepared.sky.sheet, point[None], prepared.numbers)[0]


def test_the_right_model_explains_nearly_all(roof, prepared):
    power, compared = roof
    assert compared.explained(power) > 0.9
    assert compared.explained(one_plane(prepared)[1]) < 0.5


def test_the_best_pair_is_found_between_the_planes_of_the_grid(roof, prepared):
    power, compared = roof
    hazes = point_of(0.0, 0.0)[None, HAZE:LIMIT]
    found = best_pair(compared, hazes, one_plane(prepared)[1])
    assert found == pytest.approx(compared.explained(power), abs=0.02)


def test_a_mixture_explains_more_than_the_plane(roof, prepared):
    _, compared = roof
    point, model = one_plane(prepared)
    assert best_mixture(compared, point, model) > 1.3 * compared.explained(model)


def test_readings_are_not_shown(roof):
    assert repr(roof[1]) == f"ComparedReadings({len(roof[1].value)} readings, private)"
