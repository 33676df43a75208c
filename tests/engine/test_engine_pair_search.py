from __future__ import annotations

import numpy as np
from engine_makers import pair_of
from scipy.optimize import nnls
from test_engine_pair_fit import readings_of

from sunveil.engine.two_planes import KINDS, _all_pairs, find_pairs, pair_grid, pair_table


def test_every_pair_has_the_capacities_of_non_negative_least_squares():
    rng = np.random.default_rng(3)
    rows, value = rng.uniform(0.0, 1.0, (len(pair_grid()), 40)), rng.uniform(0.0, 3.0, 40)
    worth, one, two = _all_pairs(rows @ rows.T, rows @ value)
    table = pair_table()
    for place in rng.integers(0, len(worth), 60):
        chosen = rows[[table.first[place], table.second[place]]]
        expected, left = nnls(chosen.T, value)
        if expected.min() <= 0.0:
            assert worth[place] == -np.inf
            continue
        np.testing.assert_allclose([one[place], two[place]], expected, rtol=1e-4)
        gained = 0.5 * (value @ value - left**2) + table.prior[place]
        assert abs(worth[place] - gained) < 1e-3


def test_kinds_of_pairs_are_told_by_their_azimuths():
    table, azimuth = pair_table(), pair_grid().surface_azimuth
    turned = np.abs((azimuth[table.first] - azimuth[table.second] + 180.0) % 360.0 - 180.0)
    assert table.kinds[0].all()
    assert (turned[table.kinds[1]] >= 160.0).all()
    assert ((turned[table.kinds[2]] >= 70.0) & (turned[table.kinds[2]] <= 110.0)).all()


def test_the_search_finds_the_neighbourhood_of_both_planes(prepared):
    truth = pair_of((100.0, 27.0, 4.0), (190.0, 27.0, 2.5))
    readings = readings_of(truth, prepared)
    point = np.concatenate([[0.0, -10.0, 2.0], truth[6:]])
    found = find_pairs(point, readings)
    assert len(found) == len(KINDS)
    azimuth = np.degrees(np.arctan2(found[0, [0, 3]], found[0, [1, 4]])) % 360.0
    np.testing.assert_allclose(np.sort(azimuth), [100.0, 190.0], atol=15.0)
    np.testing.assert_array_equal(found[:, 6:], np.tile(truth[6:], (len(KINDS), 1)))
    apart = [np.abs(found[0, :5] - other[:5]).max() for other in found[1:]]
    assert min(apart) > 3.0
