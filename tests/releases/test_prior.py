from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.grids import Grid
from sunveil.privacy import Days, Readings, System
from sunveil.privacy.mechanisms import Exponential
from sunveil.releases import Choices
from sunveil.releases.prior_and_votes import Mounts, PlanePrior, mount_offsets
from sunveil.releases.scores import reading_score, unit_score

GRID = Choices().grid()


def offsets(prior: PlanePrior, *, levels_per_nat: float) -> np.ndarray:
    return mount_offsets(prior, Mounts(GRID), None, 40.0, levels_per_nat=levels_per_nat)


def planes(*pairs: tuple[float, float]) -> Grid:
    azimuths, tilts = np.array(pairs, dtype=float).T
    return Grid(azimuths, tilts)


def test_planes_of_the_equators_side_are_likelier_in_both_hemispheres():
    grid = planes((180, 30), (90, 30), (0, 30))
    north, south = (PlanePrior().density(grid, latitude) for latitude in (40.0, -40.0))
    assert north[0] > north[1] > north[2]
    np.testing.assert_allclose(south, north[::-1])


def test_at_the_equator_no_side_is_likelier():
    found = PlanePrior().density(planes((180, 30), (90, 30), (0, 30)), 0.0)
    np.testing.assert_allclose(found, found[0])


@pytest.mark.parametrize("latitude", [-70.0, 0.0, 10.0, 45.0])
def test_no_plane_is_unlikely_by_more_than_four_nats(latitude):
    found = np.log(PlanePrior().density(GRID, latitude))
    assert np.ptp(found) < 4.1


def test_the_prior_is_a_distribution_over_azimuths_and_tilts():
    tilts, azimuths = np.meshgrid(np.arange(0.25, 90.0, 0.5), np.arange(0.0, 360.0, 2.0))
    found = PlanePrior().density(Grid(azimuths.ravel(), tilts.ravel()), 40.0)
    assert found.mean() == pytest.approx(1.0, abs=1e-3)


def test_offsets_give_rings_their_share_whatever_their_number_of_azimuths():
    """Under the exponential mechanism and no readings, planes are drawn as the prior says."""
    flat = PlanePrior(concentration=0.0, spread=1e6, anywhere=1.0)
    nats = offsets(flat, levels_per_nat=1e6) / 1e6
    shares = np.exp(nats) / np.exp(nats).sum()
    rings = [shares[GRID.surface_tilt == tilt].sum() for tilt in (0.0, 4.0, 8.0, 40.0)]
    np.testing.assert_allclose(np.array(rings) / rings[-1], [0.5, 1.0, 1.0, 1.0], rtol=1e-4)


def test_offsets_are_whole_levels_and_at_most_zero():
    found = offsets(PlanePrior(), levels_per_nat=20.0)
    assert found.dtype == np.int64
    assert found.max() == 0
    assert not offsets(PlanePrior(), levels_per_nat=0.05).any()


def test_a_mechanism_takes_offsets_for_a_prior(frame, record):
    """Draws are as likely as those without a prior, times the prior, to a level's rounding."""
    epsilon, bare = 0.1, replace(frame, choices=replace(frame.choices, planes=None))
    chances = [
        Exponential(epsilon)
        .probabilities(unit_score(each.resolved(Readings(1), epsilon), record, Readings(1)))
        .reshape(frame.shape)
        for each in (frame, bare)
    ]
    prior = mount_offsets(PlanePrior(), frame.mounts, None, 39.74, levels_per_nat=1e6) / 1e6
    wanted = chances[1] * np.exp(prior)[:, np.newaxis]
    ratio = np.log(chances[0] / (wanted / wanted.sum()))
    assert np.abs(ratio).max() <= 2.0 * 0.5 * epsilon / 2.0 + 1e-6


def test_the_offset_is_the_same_for_every_record_and_moves_no_sensitivity(frame, record, changed):
    settled = frame.resolved(Readings(3), 0.2)
    empty = changed(dict.fromkeys(range(len(record.power_kw)), 0.0))
    for each in (record, empty):
        score, count = unit_score(settled, each, Readings(3)), reading_score(settled, each, 3)
        added = (score.levels - count.levels).reshape(frame.shape)
        np.testing.assert_array_equal(
            added, np.broadcast_to(settled.offsets()[:, None], added.shape)
        )
        assert score.sensitivity == count.sensitivity == 3


def test_whole_records_and_a_prior_that_is_switched_off_have_no_offset(frame):
    assert not frame.resolved(System(), 1.0).offsets().any()
    off = replace(frame, choices=replace(frame.choices, planes=None))
    assert not off.resolved(Days(1), 0.01).offsets().any()
    assert frame.resolved(Days(1), 0.01).offsets().any()
