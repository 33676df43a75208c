from __future__ import annotations

import numpy as np
import pytest
from engine_makers import plane_of, row_of

from sunveil.engine import infer_generation
from sunveil.engine.coarse_search import padded, search
from sunveil.engine.final_fit import fit_finally
from sunveil.engine.shading import ELEVATION_STEP, FEWEST, LAYERS, find_shade, sky_patches
from sunveil.estimates.planes_and_intervals import AZIMUTH_STEP, COLUMNS
from sunveil.simulate import western_horizon
from sunveil.site import Plane


def plain_hidden(power, have, model, dimmest, patch):
    """Patches of sky whose bright readings are dark, one by one."""
    out = np.zeros(len(patch), dtype=bool)
    for each in np.unique(patch):
        own = (patch == each) & (have > 0.0) & (model > dimmest)
        if own.sum() < 8:
            continue
        share = np.sort(power[own] / model[own])
        if share[int(0.9 * (own.sum() - 1) + 0.5)] < 0.72:
            out |= (patch == each) & (model > dimmest)
    return out


def test_patches_tell_directions_apart():
    azimuth, elevation = np.meshgrid(np.arange(6.0, 360.0, 12.0), np.arange(2.5, 90.0, 5.0))
    a, e = np.radians(azimuth.ravel()), np.radians(elevation.ravel())
    sun = np.stack([np.cos(e) * np.sin(a), np.cos(e) * np.cos(a), np.sin(e)], axis=1)
    found = sky_patches(sun)
    assert len(np.unique(found)) == len(sun)
    assert found.max() < LAYERS * COLUMNS
    np.testing.assert_array_equal(found, np.arange(18).repeat(COLUMNS) * COLUMNS + found % COLUMNS)
    assert sky_patches(np.array([[0.0, 0.0, 1.0]]))[0] < LAYERS * COLUMNS


def test_what_is_hidden_is_what_a_plain_loop_hides(prepared):
    rng = np.random.default_rng(0)
    size = len(prepared.patch)
    model = rng.uniform(0.0, 5.0, (2, size)).astype(np.float32)
    power = (model * rng.uniform(0.5, 1.1, model.shape)).astype(np.float32)
    hill = (prepared.sky.sun[:, 0] < -0.5) & (prepared.sky.sun[:, 2] < 0.5)
    power[0, hill] *= 0.5
    have = (rng.random(model.shape) < 0.9).astype(np.float32)
    kept, share, _ = find_shade(
        padded(power),
        padded(have),
        padded(model),
        dimmest=np.array([0.2, 0.2]),
        patch=prepared.patch,
    )
    for system in range(2):
        hidden = plain_hidden(power[system], have[system], model[system], 0.2, prepared.patch)
        np.testing.assert_array_equal(kept[system, :size] > 0.0, (have[system] > 0.0) & ~hidden)
        own = (hidden & (have[system] > 0.0)).sum() / have[system].sum()
        assert share[system] == pytest.approx(own, rel=1e-5)
    assert share[0] > 0.05
    assert share[1] < 0.01


def test_a_horizon_is_found_and_clouds_are_not(power_of, prepared, rows):
    shaded = row_of(power_of(240.0, 25.0, horizon=western_horizon()), prepared.sky.grid)
    given = np.stack([shaded, rows[0]])
    fit = fit_finally(search(given, prepared), prepared)
    left_out = ((fit.days.weights > 0.0) & (fit.kept == 0.0))[:, : len(prepared.slot)]
    assert left_out[0].mean() > 0.03
    # of what is left out, nearly all lies low in the west
    sun = prepared.sky.sun[left_out[0]]
    assert np.mean((sun[:, 0] < 0.0) & (sun[:, 2] < np.sin(np.radians(40.0)))) > 0.9
    assert left_out[1].mean() < 0.01


def test_a_skyline_is_as_high_as_the_highest_hidden_patch_from_the_horizon_up():
    """Upwards through patches that are hidden or were not seen, to the first with a bright sun."""
    layers = np.arange(6)
    seen = {
        0: "ddddbb",  # hidden up to 20°
        1: "bddddd",  # the sun shows below: no skyline
        2: "--ddbb",  # nobody saw the lowest patches
        3: "dd--db",  # nor those in the middle
        4: "bbbbbb",
        5: "------",
    }
    patch, power = [], []
    for column, kinds in seen.items():
        for layer in layers:
            if kinds[layer] != "-":
                patch += [layer * COLUMNS + column] * FEWEST
                power += [1.0 if kinds[layer] == "b" else 0.5] * FEWEST
    given = padded(np.array([power], dtype=np.float32))
    there = padded(np.ones((1, len(power)), dtype=np.float32))
    found = find_shade(
        given, there, there, dimmest=np.zeros(1), patch=np.array(patch, dtype=np.int32)
    )
    assert found.skyline[0, :6].tolist() == [20.0, 0.0, 20.0, 25.0, 0.0, 0.0]
    assert not found.skyline[0, 6:].any()


def test_a_known_horizon_is_the_skyline(power_of, denver, rows):
    def hill(azimuth):
        return np.where((azimuth > 240.0) & (azimuth < 300.0), 20.0, 0.0)

    shaded = row_of(power_of(240.0, 25.0, horizon=hill), denver.grid)
    found = infer_generation(np.stack([shaded, rows[0]]), denver)
    sectors = np.arange(COLUMNS) * AZIMUTH_STEP
    behind = (sectors >= 240.0) & (sectors < 300.0)
    # as far up as the sun comes in each sector: in the last, only low in summer
    elevation = np.degrees(np.arcsin(denver.sun[:, 2]))
    sector = (np.degrees(np.arctan2(denver.sun[:, 0], denver.sun[:, 1])) % 360.0) // AZIMUTH_STEP
    highest = np.array([elevation[sector == each].max() for each in np.flatnonzero(behind)])
    expected = np.minimum(20.0, highest)
    np.testing.assert_allclose(found.skyline[0, behind], expected, atol=ELEVATION_STEP)
    # a patch beside the hill may be half hidden
    far = (sectors < 240.0 - AZIMUTH_STEP) | (sectors >= 300.0 + AZIMUTH_STEP)
    assert not found.skyline[0, far].any()
    assert not found.skyline[1].any()
    assert found[1].skyline == ()
    assert found[0].skyline == tuple(found.skyline[0].tolist())


def test_a_plane_behind_a_horizon_is_inferred_without_it(power_of, denver):
    shaded = row_of(power_of(240.0, 25.0, horizon=western_horizon()), denver.grid)
    found = infer_generation(shaded[None], denver)
    assert plane_of(found, 0).angle_to(Plane(240.0, 25.0)) < 2.5
    assert found.dc_capacity_kw[0] == pytest.approx(6.0, rel=0.05)
