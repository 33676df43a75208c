from __future__ import annotations

import numpy as np
import pytest
from engine_makers import PLANES, point_of, rows_of
from oracle import angle_between

from sunveil.engine import InferOptions, make_sky_table
from sunveil.engine import coarse_search as searching
from sunveil.engine.coarse_search import ENOUGH, refine_systems, search
from sunveil.engine.power_model import PARAMETERS
from sunveil.engine.shading import prepare, shares_for
from sunveil.estimates.planes_and_intervals import FEWEST_READINGS
from sunveil.simulate import SystemTruth, simulate_power, simulate_sky
from sunveil.site import Plane, Site, TimeGrid


def test_a_search_ends_in_the_neighbourhood_of_the_truth(prepared, rows):
    found = search(rows, prepared)
    for point, plane in zip(found.points, PLANES, strict=True):
        assert angle_between(point, point_of(*plane)) < 3.0
    assert (found.explained > 0.4).all()
    assert found.enough.all()


def test_some_of_what_was_found_is_that_of_some_systems(prepared, rows):
    found = search(rows, prepared)
    some = found.take(np.array([2, 0]))
    np.testing.assert_array_equal(some.points, found.points[[2, 0]])
    np.testing.assert_array_equal(some.readings.power, found.readings.power[[2, 0]])
    np.testing.assert_array_equal(some.envelope, found.envelope[[2, 0]])


def test_so_few_readings_are_not_enough(prepared, rows):
    few = np.full_like(rows[:2], np.nan)
    lit = prepared.slot[rows[0, prepared.slot] > 0.0]
    few[0, lit[:FEWEST_READINGS]] = rows[0, lit[:FEWEST_READINGS]]
    few[1, lit[: FEWEST_READINGS - 1]] = rows[0, lit[: FEWEST_READINGS - 1]]
    assert search(few, prepared).enough.tolist() == [True, False]


def test_each_system_is_refined_on_its_own_share_of_its_readings(prepared, rows):
    given = rows.copy()
    given[1, 2000:] = np.nan
    found = search(given, prepared)
    shares = shares_for(ENOUGH, found.readings.count)
    assert shares[1] > shares[0]
    start = found.points + np.array([2.0, 1.0, 0.03, 0.0, 0.0, 0.0, 0.0])
    together = start.copy()
    explained = refine_systems(
        prepared, found.readings, together, shares, systems=np.arange(len(given))
    )
    for place in range(len(given)):
        alone = start[place : place + 1].copy()
        own = refine_systems(
            prepared,
            found.readings,
            alone,
            shares[place : place + 1],
            systems=np.array([place]),
        )
        np.testing.assert_array_equal(alone[0], together[place])
        assert own[0] == explained[place]


def test_what_is_doubtful_is_looked_at_again_by_its_readings(monkeypatch):
    """Where no day is clear, bright powers are not those of a clear sky."""
    site = Site(55.0, 8.0, 10.0)
    sky = make_sky_table(site, TimeGrid(1_546_300_800, 3600, 8760))
    weather = simulate_sky(site, 2019, seed=1, step_minutes=15, clear_days=0.0)
    powers = [
        simulate_power(
            SystemTruth("one", site, ((Plane(azimuth, tilt), 1.0),), 6.0, dc_ac_ratio=1.0),
            weather,
            seed=3,
        )
        for azimuth, tilt in ((270.0, 30.0), (135.0, 30.0), (180.0, 10.0), (180.0, 30.0))
    ]
    rows, prepared = rows_of(powers, sky.grid), prepare(sky, InferOptions())
    twice = search(rows, prepared)
    monkeypatch.setattr(searching, "DOUBTFUL", -1.0)
    once = search(rows, prepared)
    assert (once.explained <= 0.4).any()
    assert (twice.explained >= once.explained).all()
    assert (twice.explained > 1.05 * once.explained).any()
    # what was not doubtful stays
    sure = once.explained > 0.4
    np.testing.assert_array_equal(twice.points[sure], once.points[sure])


@pytest.mark.parametrize("count", [0, 1])
def test_no_system_and_one_system_are_searched_too(prepared, rows, count):
    assert search(rows[:count], prepared).points.shape == (count, PARAMETERS)
