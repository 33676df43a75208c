from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sunveil.grids import Grid
from sunveil.meters import Record, from_pandas
from sunveil.privacy import Days, Readings, System
from sunveil.privacy.mechanisms import Exponential
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.prior_and_votes import (
    MountChoices,
    Mounts,
    PlanePairs,
    PlanePrior,
    SingleAxisTrackers,
    mount_offsets,
    sun_angles,
)
from sunveil.releases.release import draw_release, release
from sunveil.releases.score_kernels import Capacities
from sunveil.releases.scores import placement, unit_score
from sunveil.site import TimeGrid
from sunveil.weather import Weather

GRID = Choices().grid()


def offsets(prior: PlanePrior, *, levels_per_nat: float) -> np.ndarray:
    return mount_offsets(prior, Mounts(GRID), None, 40.0, levels_per_nat=levels_per_nat)


def planes(*pairs: tuple[float, float]) -> Grid:
    azimuths, tilts = np.array(pairs, dtype=float).T
    return Grid(azimuths, tilts)


def test_planes_of_the_equators_side_are_likelier_and_at_the_equator_none():
    grid = planes((180, 30), (90, 30), (0, 30))
    north, south, middle = (PlanePrior().density(grid, at) for at in (40.0, -40.0, 0.0))
    assert north[0] > north[1] > north[2]
    np.testing.assert_allclose(south, north[::-1])
    np.testing.assert_allclose(middle, middle[0])


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


def test_whole_records_and_a_prior_that_is_switched_off_have_no_offset(frame):
    assert not frame.resolved(System(), 1.0).offsets().any()
    off = replace(frame, choices=replace(frame.choices, planes=None))
    assert not off.resolved(Days(1), 0.01).offsets().any()
    assert frame.resolved(Days(1), 0.01).offsets().any()


FEW = MountChoices(
    45.0, (30.0,), (0.5, 0.7), axis_step=90.0, gcrs=(0.4,), readings_worth=0.0, days_worth=0.0
)
RIDGE = {(90.0, 30.0, 0.7), (270.0, 30.0, 0.3)}


@pytest.fixture(scope="module")
def mounted(record: Record, weather: Weather) -> ReleaseFrame:
    """A frame with single planes, pairs and trackers."""
    choices = Choices(step=30.0, capacities=Capacities(1.0, 30.0, 0.05), mounts=FEW)
    return frame_of(record, weather, choices)


@pytest.fixture(scope="module")
def ridge(clear_power: Callable[..., pd.Series]) -> Record:
    """A cloudless system of 5 kW, seven tenths of it to the east and the rest to the west."""
    days = {"start": "2019-03-10", "days": 60}
    east, west = (
        clear_power(azimuth, 30.0, dc_capacity_kw=size, **days)
        for azimuth, size in ((90.0, 3.5), (270.0, 1.5))
    )
    return from_pandas(east + west, label="start", cleaning="each", power_unit="kW")


def test_pairs_are_ridges_and_corners_each_of_them_once():
    pairs = PlanePairs.of(MountChoices())
    assert len(pairs) == 5 * (24 + 48 + 3 * 48)
    turned = (pairs.first - pairs.second) % 360.0
    assert set(turned.round(6)) == {90.0, 180.0, 270.0}
    assert (pairs.share >= 0.5).all()
    told = {
        frozenset([(a, t, round(s, 6)), (b, t, round(1.0 - s, 6))])
        for a, b, t, s in zip(pairs.first, pairs.second, pairs.tilt, pairs.share, strict=True)
    }
    assert len(told) == len(pairs)


def test_the_effective_plane_is_that_of_the_summed_normal():
    pairs = PlanePairs(
        np.array([90.0, 180.0, 90.0]),
        np.array([270.0, 270.0, 270.0]),
        np.full(3, 30.0),
        np.array([0.5, 0.5, 0.75]),
    )
    azimuth, tilt = pairs.effective
    np.testing.assert_allclose(azimuth, [180.0, 225.0, 90.0])
    assert tilt[0] == 0.0
    np.testing.assert_allclose(tilt[1:], [22.2077, 16.1021], atol=1e-3)


def test_a_tracker_follows_the_sun_and_lies_flat_without():
    trackers = SingleAxisTrackers(np.array([180.0, 180.0]), np.array([0.0, 0.5]), 55.0)
    # due east at 45 degrees, low in the east, and below the horizon
    low = np.radians(5.0)
    sun = np.array([[0.5**0.5, 0.0, 0.5**0.5], [np.cos(low), 0.0, np.sin(low)], [0.0, 0.6, -0.8]])
    eager, shy = (trackers.normals(number, *sun_angles(sun)) for number in (0, 1))
    np.testing.assert_allclose(eager[0], sun[0], atol=1e-9)
    np.testing.assert_allclose(np.degrees(np.arccos(eager[1, 2])), 55.0)
    assert np.degrees(np.arccos(shy[1, 2])) < 15.0
    np.testing.assert_allclose(eager[2], [0.0, 0.0, 1.0], atol=1e-9)


def test_every_mount_tells_what_it_is(mounted):
    mounts = mounted.mounts
    singles, pairs, trackers = mounts.sizes
    assert (singles, pairs, trackers) == (len(mounted.choices.grid()), 36, 4)
    assert len(mounts) == len(mounted.grid) == singles + pairs + trackers
    (one,) = mounts.planes(3)
    assert (one.surface_azimuth, one.surface_tilt, one.share) == (60.0, 30.0, 1.0)
    first, second = mounts.planes(singles)
    assert first.share + second.share == pytest.approx(1.0)
    assert [mounts.tracker(each) for each in (0, singles + pairs - 1)] == [None, None]
    told = [mounts.tracker(singles + pairs + each) for each in range(trackers)]
    assert [(each.axis_azimuth, each.gcr) for each in told] == [
        (90.0, None),
        (90.0, 0.4),
        (180.0, None),
        (180.0, 0.4),
    ]
    assert mounts.planes(singles + pairs) == ()
    alone = Mounts(mounts.singles)
    assert alone.planes(3) == ()
    assert alone.tracker(3) is None


def test_a_pair_gives_what_its_planes_give_together(mounted):
    powers = np.where(np.isfinite(mounted.profiles[0][0]), np.exp(mounted.profiles[0][0]), np.nan)
    pairs, singles = mounted.mounts.pairs, mounted.mounts.singles

    def single(azimuth: float) -> np.ndarray:
        at = (singles.surface_azimuth == azimuth) & (singles.surface_tilt == 30.0)
        return powers[np.flatnonzero(at)[0]]

    place = np.flatnonzero((pairs.first == 90.0) & (pairs.second == 270.0) & (pairs.share == 0.7))
    found = powers[len(singles) + place[0]]
    both = 0.7 * single(90.0) + 0.3 * single(270.0)
    lit = np.isfinite(both)  # elsewhere one of them is below the floor
    assert lit.sum() > 200
    np.testing.assert_allclose(found[lit], both[lit], rtol=1e-5)


@pytest.mark.parametrize("unit", [Readings(1), Days(1)])
def test_a_ridge_and_one_plane_are_released_as_such(mounted, ridge, clear_power, unit):
    own = mounted.resolved(unit, 20.0)
    drawn = draw_release(unit_score(own, ridge, unit), own, epsilon=20.0)
    assert {(p.surface_azimuth, p.surface_tilt, p.share) for p in drawn.planes} == RIDGE
    assert drawn.tracker is None
    assert drawn.surface_azimuth == pytest.approx(90.0)
    assert drawn.surface_tilt == pytest.approx(13.0, abs=0.1)
    assert drawn.dc_capacity_kw == pytest.approx(5.0, rel=0.16)
    power = clear_power(210.0, 30.0, dc_capacity_kw=5.0, start="2019-03-10", days=60)
    record = from_pandas(power, label="start", cleaning="each", power_unit="kW")
    alone = draw_release(unit_score(own, record, unit), own, epsilon=20.0).to_dict()
    plane = {"surface_azimuth": 210.0, "surface_tilt": 30.0}
    assert alone["planes"] == [plane | {"share": 1.0}]
    assert alone.items() >= plane.items()


def test_pairs_and_trackers_have_their_share_of_the_prior(mounted):
    prior, mounts = mounted.choices.planes, mounted.mounts
    nats = mount_offsets(prior, mounts, FEW, 40.0, levels_per_nat=1e6) / 1e6
    weights = np.exp(nats)
    singles, pairs, _ = mounts.sizes
    parts = np.split(weights / weights.sum(), [singles, singles + pairs])
    np.testing.assert_allclose(
        [part.sum() for part in parts],
        [1.0 - FEW.pairs - FEW.trackers, FEW.pairs, FEW.trackers],
        rtol=1e-5,
    )
    alone = mount_offsets(prior, Mounts(mounts.singles), None, 40.0, levels_per_nat=1e6) / 1e6
    np.testing.assert_allclose(nats[:singles] - nats[0], alone - alone[0], atol=1e-5)


@pytest.mark.parametrize(("unit", "behind"), [(Readings(1), 6), (Days(1), 2)])
def test_pairs_and_trackers_stand_behind_by_the_margin(mounted, unit, behind):
    """60 days of 24 hours, half of them by day, or of four votes: 0.8% of each."""
    own = replace(mounted, choices=replace(mounted.choices, planes=None)).resolved(unit, 20.0)
    offsets = own.offsets()
    singles = len(mounted.mounts.singles)
    assert not offsets[:singles].any()
    assert set(offsets[singles:]) == {-behind}
    assert not own.of_singles().offsets().any()


@pytest.mark.parametrize(
    ("unit", "epsilon", "told"),
    [
        (Days(1), 0.69, False),
        (Days(1), 0.71, True),
        (Readings(1), 0.19, False),
        (Readings(1), 0.21, True),
        (Days(3), 1.0, False),
        (System(), 30.0, False),
    ],
)
def test_they_are_candidates_where_a_release_is_worth_enough(unit, epsilon, told):
    choices = Choices().resolved(unit, epsilon, TimeGrid(0, 3600, 365 * 24), differenced=False)
    assert (choices.mounts is not None) is told


def test_a_frame_without_them_scores_as_one_that_never_had_them(record, weather, mounted):
    bare = frame_of(record, weather, replace(mounted.choices, mounts=None))
    ours, theirs = (
        unit_score(each.resolved(Days(1), 0.5), record, Days(1))
        for each in (mounted.of_singles(), bare)
    )
    np.testing.assert_array_equal(ours.levels, theirs.levels)
    assert mounted.of_singles().fingerprint() == bare.fingerprint() != mounted.fingerprint()
    assert placement(mounted, record).place == placement(bare, record).place


def test_whole_records_and_small_releases_do_not_tell_the_number_of_planes(record, weather):
    for unit, epsilon in ((System(), 8.0), (Days(1), 0.2)):
        drawn = release(record, weather, protect=unit, epsilon=epsilon)
        assert drawn.planes == ()
        assert drawn.tracker is None
        assert "mounts" not in drawn.public
