from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from engine_makers import PLANES, flags, point_of, rows_of

from sunveil.engine import infer_generation
from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.one_or_two_planes import (
    FEWEST,
    _own_share,
    below_limit,
    by_mixture,
    mixture_grid,
    screen,
    share_explained,
)
from sunveil.estimates import Flag
from sunveil.simulate import Tracker, tracking


def test_powers_at_the_limit_say_nothing():
    power = np.array([[0.0, 1.0, 3.8, 3.9, 4.0]], dtype=np.float32)
    limited = below_limit(power, point_of(180.0, 30.0, limit=4.0)[None])
    np.testing.assert_array_equal(limited, power * [[0, 1, 1, 0, 0]])
    np.testing.assert_array_equal(below_limit(power, point_of(180.0, 30.0)[None]), power)


def test_a_plane_owns_what_faces_about_as_it_does():
    grid = mixture_grid()
    place = 1 + int(np.flatnonzero(grid.surface_tilt == 35.0)[3])
    azimuth = grid.surface_azimuth[place - 1]
    shares = np.zeros((1, 1 + len(grid)))
    shares[0, [0, 1, place]] = 1.0, 2.0, 3.0
    assert _own_share(shares, point_of(azimuth, 33.0)[None])[0] == pytest.approx(4.0 / 6.0)
    assert _own_share(shares, point_of(azimuth, 55.0)[None])[0] == pytest.approx(1.0 / 6.0)


def test_so_few_bright_powers_say_nothing(prepared):
    groups, probe = prepared.probe
    envelope = np.full((1, len(groups)), np.nan, dtype=np.float32)
    envelope[:, : FEWEST - 1] = 1.0
    suspect, _ = screen(
        envelope,
        np.array([1.0]),
        point_of(0.0, 80.0)[None],
        sheet=probe,
        numbers=prepared.numbers,
    )
    assert not suspect[0]


def test_a_mixture_explains_a_roof_with_two_sides_and_one_plane_does_not(prepared):
    planes = np.stack([point_of(97.0, 50.0), point_of(277.0, 50.0), point_of(187.0, 10.0)])
    sheet, numbers = prepared.sky.sheet, prepared.numbers
    east, west, flat = profiles_of(sheet, planes, numbers)
    power, one, bright = east + west, np.float32(1.7) * flat, float(np.quantile(east + west, 0.98))
    noise = 1.0 + 0.02 * np.random.default_rng(1).standard_normal(len(power))
    noisy = (power * noise * (power > 0.05)).astype(np.float32)
    assert share_explained(noisy, power, bright, numbers) > 0.9
    alone = share_explained(noisy, one, bright, numbers)
    assert alone < 0.5
    found = by_mixture(noisy[None], np.array([bright]), planes[2:], sheet=sheet, numbers=numbers)
    assert 1.3 * alone < found[0] < 1.0


def test_single_planes_are_not_flagged(denver, rows):
    found = infer_generation(rows, denver)
    for place in range(len(PLANES)):
        assert Flag.NOT_ONE_PLANE not in flags(found, place)


def test_two_axes_are_told_from_one_plane(denver, power_of):
    change = partial(tracking, tracker=Tracker(dual_axis=True))
    found = infer_generation(rows_of([power_of(change=change)], denver.grid), denver)
    assert Flag.NOT_ONE_PLANE in flags(found, 0)
