from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.privacy.score import Axis, Placement
from sunveil.privacy.window import Window, best_window, window_members
from sunveil.publish.publication import Column, PublishedTable
from sunveil.publish.unmix import (
    channel,
    places_of,
    unmix,
    unmix_joint,
    unmix_systems,
    values_of,
    window_of,
)
from sunveil.releases.choices import Choices
from sunveil.scores import Capacities

AXES = (Axis(24, 15.0, wraps=True), Axis(10, 10.0), Axis(12, 0.25))
WINDOW = Window(4.0, AXES, (7, 3, 5))


def fleet(number: int, seed: int = 0) -> np.ndarray:
    """Return places of systems that face mostly south, with capacities that go with tilts."""
    rng = np.random.default_rng(seed)
    azimuth = np.rint(rng.normal(12.0, 2.5, number)).astype(int) % 24
    tilt = np.clip(np.rint(rng.normal(3.0, 1.2, number)), 0, 9).astype(int)
    capacity = np.clip(np.rint(2 + tilt + rng.normal(0.0, 1.0, number)), 0, 11).astype(int)
    return np.stack([azimuth, tilt, capacity], axis=1)


def released(truth: np.ndarray, window: Window, rng: np.random.Generator) -> np.ndarray:
    """Draw releases: from the window with g b / Z, else from anywhere."""
    gain = np.expm1(window.epsilon)
    near = rng.random(len(truth)) < gain * window.inside / (window.size + gain * window.inside)
    out = np.empty_like(truth)
    for number, (axis, width) in enumerate(zip(window.axes, window.widths, strict=True)):
        members = np.stack([window_members(axis, width, p) for p in range(axis.size)])
        close = members[truth[:, number], rng.integers(width, size=len(truth))]
        out[:, number] = np.where(near, close, rng.integers(axis.size, size=len(truth)))
    return out


def shares(places: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.bincount(groups[places], minlength=groups.max() + 1) / len(places)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).sum() / 2.0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_channel_of_an_axis_is_the_windows_own(axis):
    small = Window(1.3, (Axis(5, wraps=True), Axis(4), Axis(3)), (2, 3, 1))
    others = tuple(number for number in range(3) if number != axis)
    for value in range(small.axes[axis].size):
        place = tuple(value if number == axis else 1 for number in range(3))
        law = small.probabilities(Placement(place, small.axes)).sum(axis=others)
        assert channel(small, axis)[:, value] == pytest.approx(law, rel=1e-6)


# Groups that no window hides: none cuts the ends of an axis, where windows are moved inwards.
GROUPS = [np.arange(24) // 3, np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2]), np.arange(12) // 4]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_unbiased_shares_are_right_on_average_and_as_uncertain_as_they_say(axis):
    truth = fleet(1500)
    rng = np.random.default_rng(11)
    real = shares(truth[:, axis], GROUPS[axis])
    found = [
        unmix(released(truth, WINDOW, rng), WINDOW, axis, groups=GROUPS[axis]) for _ in range(200)
    ]
    assert all((each.worst_bias == 0.0).all() for each in found)
    away = np.array([(each.share - real) / each.standard_error for each in found])
    assert np.abs(away.mean(axis=0)).max() < 4.0 / np.sqrt(200)
    assert away.std(axis=0).min() > 0.85
    assert away.std(axis=0).max() < 1.15
    assert found[0].share.sum() == pytest.approx(1.0)


def test_the_stated_error_is_that_of_this_fleet_and_not_of_fleets_like_it():
    truth = fleet(400)
    rng = np.random.default_rng(4)
    groups = np.arange(24) // 12  # halves, of which one holds nearly all systems or half of them
    turned = np.stack([(truth[:, 0] + 6) % 24, truth[:, 1], truth[:, 2]], axis=1)
    window = replace(WINDOW, epsilon=6.0)
    real = shares(turned[:, 0], groups)
    found = [unmix(released(turned, window, rng), window, 0, groups=groups) for _ in range(1500)]
    away = np.array([(each.share - real) / each.standard_error for each in found])
    assert away.std() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_likeliest_shares_are_shares_and_beat_the_raw_histogram(axis):
    truth = fleet(1500, seed=3)
    rng = np.random.default_rng(5)
    real = shares(truth[:, axis], GROUPS[axis])
    ours, raw = [], []
    for seed in range(12):
        places = released(truth, WINDOW, rng)
        found = unmix(places, WINDOW, axis, groups=GROUPS[axis], method="em", seed=seed)
        assert found.share.min() >= 0.0
        assert found.share.sum() == pytest.approx(1.0)
        assert found.worst_bias is None
        assert found.standard_error.max() < 0.1
        ours.append(distance(found.share, real))
        raw.append(distance(shares(places[:, axis], GROUPS[axis]), real))
    assert np.mean(ours) < 0.5 * np.mean(raw)


def test_the_error_of_the_likeliest_shares_is_near_their_real_spread():
    truth = fleet(1500, seed=3)
    rng = np.random.default_rng(7)
    found = [
        unmix(released(truth, WINDOW, rng), WINDOW, 0, groups=GROUPS[0], method="em", replicates=40)
        for _ in range(40)
    ]
    spread = np.std([each.share for each in found], axis=0, ddof=1)
    told = np.mean([each.standard_error for each in found], axis=0)
    large = np.mean([each.share for each in found], axis=0) > 0.05
    assert large.sum() >= 3
    assert np.all(told[large] > 0.7 * spread[large])
    assert np.all(told[large] < 2.0 * spread[large])


def test_what_the_window_hides_is_told_as_bias():
    ends = unmix(fleet(200), WINDOW, 1)  # values 0 and 1 have the same window
    assert ends.worst_bias[:2] == pytest.approx([0.5, 0.5])
    assert ends.worst_bias[3:7].max() == 0.0
    whole = replace(WINDOW, widths=(8, 3, 5))  # three windows make a whole circle
    assert unmix(fleet(200), whole, 0).worst_bias.min() > 0.01
    assert unmix(fleet(200), WINDOW, 0).worst_bias.max() == 0.0


def test_the_joint_shares_keep_what_goes_together():
    truth = fleet(4000, seed=1)
    places = released(truth, WINDOW, np.random.default_rng(2))
    joint = unmix_joint(places, WINDOW, steps=60)
    assert joint.shape == (24, 10, 12)
    assert joint.min() >= 0.0
    assert joint.sum() == pytest.approx(1.0)

    def correlation(table: np.ndarray) -> float:
        tilt, capacity = np.meshgrid(np.arange(10), np.arange(12), indexing="ij")
        a, b = tilt - (table * tilt).sum(), capacity - (table * capacity).sum()
        return float((table * a * b).sum() / np.sqrt((table * a**2).sum() * (table * b**2).sum()))

    real = np.corrcoef(truth[:, 1], truth[:, 2])[0, 1]
    raw = np.corrcoef(places[:, 1], places[:, 2])[0, 1]
    assert abs(correlation(joint.sum(axis=0)) - real) < 0.15 < 0.25 < abs(raw - real)


def test_on_one_axis_the_joint_shares_are_those_of_the_axis():
    window = Window(1.5, AXES[:1], WINDOW.widths[:1])
    places = released(fleet(2000)[:, :1], window, np.random.default_rng(1))
    alone = unmix(places, window, 0, method="em", replicates=2).share
    assert unmix_joint(places, window, steps=500) == pytest.approx(alone, abs=1e-6)


@pytest.fixture(scope="module")
def published() -> tuple[np.ndarray, PublishedTable, dict]:
    """Return places of 300 systems, their published rows, and the public choices."""
    choices = Choices(capacities=Capacities(1.0, 30.0, 0.05))
    public = {
        "choices": choices.to_dict(),
        "epsilon": 4.0,
        "window_widths": list(best_window(4.0, choices.axes()).widths),
    }
    window = window_of(public)
    assert window == choices.window(4.0)
    rng = np.random.default_rng(0)
    truth = np.stack(
        [
            rng.integers(30, 43, 3000) % window.axes[0].size,
            rng.integers(2, 9, 3000),
            rng.integers(10, 20, 3000),
        ],
        axis=1,
    )
    places = released(truth, window, rng)
    azimuth, tilt, capacity = values_of(public)
    rows = zip(
        azimuth[places[:, 0]].tolist(),
        tilt[places[:, 1]].tolist(),
        capacity[places[:, 2]].tolist(),
        strict=True,
    )
    names = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
    columns = tuple(Column(name, "number", "") for name in names)
    return truth, PublishedTable("systems", "", columns, tuple(rows)), public


def test_published_rows_are_taken_back_to_their_places(published):
    _, table, public = published
    places = places_of(table, public)
    azimuth, tilt, capacity = values_of(public)
    for number, row in enumerate(table.rows[:50]):
        a, t, c = places[number]
        assert (azimuth[a], tilt[t], capacity[c]) == pytest.approx(row)


def test_shares_of_published_systems_add_up_and_find_the_fleet(published):
    truth, table, public = published
    found = unmix_systems(table, public)
    for name in ("surface_azimuth", "surface_tilt", "dc_capacity_kw"):
        rows = [row for row in found.rows if row[0] == name]
        assert sum(row[2] for row in rows) == pytest.approx(1.0, abs=1e-4)
        assert sum(row[5] for row in rows) == pytest.approx(1.0, abs=1e-4)
    real = np.bincount(np.floor((truth[:, 0] * 5.0 / 45.0 + 0.5) % 8).astype(int), minlength=8)
    sectors = [row for row in found.rows if row[0] == "surface_azimuth"]
    assert [row[1] for row in sectors][:3] == ["0°", "45°", "90°"]
    for row, share in zip(sectors, real / len(truth), strict=True):
        assert abs(row[2] - share) < 5.0 * row[3] + row[4]


def test_what_is_no_release_of_whole_systems_is_refused(published):
    _, table, public = published
    with pytest.raises(ParameterError, match="no window"):
        places_of(table, {"choices": public["choices"], "epsilon": 1.0})
    with pytest.raises(ParameterError, match="outside the axes"):
        unmix(np.array([[24, 0, 0]]), WINDOW, 0)
    with pytest.raises(ParameterError, match="one column per axis"):
        unmix(np.zeros((3, 2), dtype=np.int64), WINDOW, 0)
    with pytest.raises(ParameterError, match="unbiased, em"):
        unmix(fleet(5), WINDOW, 0, method="best")
    with pytest.raises(ParameterError, match="one group"):
        unmix(fleet(5), WINDOW, 0, groups=np.zeros(3, dtype=np.int64))
