from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.power.from_system_rows import (
    channel,
    places_of,
    unmix,
    unmix_joint,
    unmix_systems,
    values_of,
    window_of,
)
from sunveil.privacy.mechanisms import Axis, Placement
from sunveil.privacy.two_level_window import Window, best_window
from sunveil.publication.published_tables import Column, PublishedTable
from sunveil.releases import Choices
from sunveil.releases.score_kernels import Capacities

AXES = (Axis(24, 15.0, wraps=True), Axis(10, 10.0), Axis(12, 0.25))
WINDOW = Window(4.0, AXES, 105)


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
    out = np.stack([rng.integers(axis.size, size=len(truth)) for axis in window.axes], axis=1)
    rows, which = np.unique(truth[:, 1:], axis=0, return_inverse=True)
    for number, beside in enumerate(rows):
        held = window.members(Placement((0, *beside.tolist()), window.axes))
        here = np.flatnonzero(near & (which.ravel() == number))
        drawn = np.argwhere(held)[rng.integers(window.inside, size=len(here))]
        drawn[:, 0] = (drawn[:, 0] + truth[here, 0]) % window.axes[0].size
        out[here] = drawn
    return out


def shares(places: np.ndarray, groups: np.ndarray) -> np.ndarray:
    return np.bincount(groups[places], minlength=groups.max() + 1) / len(places)


def distance(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).sum() / 2.0)


@pytest.mark.parametrize(
    ("window", "two"), [(Window(1.3, (Axis(6, wraps=True), Axis(4), Axis(3)), 17), 1), (WINDOW, 2)]
)
def test_the_channel_counts_what_the_window_holds_in_each_cell(window, two):
    """Cells have one value of the azimuth, or two, of which the middle is the first."""
    found = channel(window)
    around, tilts, capacities = (axis.size for axis in window.axes)
    cells = (around // two, tilts, capacities)
    assert found.shape == (np.prod(cells),) * 2
    assert found.sum(axis=0) == pytest.approx(1.0)
    for number, (cell, *beside) in list(enumerate(np.ndindex(cells)))[:: 1 if two == 1 else 97]:
        law = window.probabilities(Placement((two * cell, *beside), window.axes))
        expected = law.reshape(around // two, two, tilts, capacities).sum(axis=1)
        assert found[:, number] == pytest.approx(expected.ravel(), rel=1e-9)


GROUPS = [np.arange(24) // 3, np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 2]), np.arange(12) // 4]


def test_the_likeliest_shares_are_shares_and_beat_the_raw_histogram():
    truth = fleet(1500, seed=3)
    rng = np.random.default_rng(5)
    ours, raw = np.zeros((2, 3)), np.zeros((2, 3))
    for seed in range(2):
        places = released(truth, WINDOW, rng)
        found = unmix(places, WINDOW, GROUPS, replicates=3, seed=seed)
        for axis, (each, groups) in enumerate(zip(found, GROUPS, strict=True)):
            assert each.share.min() >= 0.0
            assert each.share.sum() == pytest.approx(1.0)
            real = shares(truth[:, axis], groups)
            ours[seed, axis] = distance(each.share, real)
            raw[seed, axis] = distance(shares(places[:, axis], groups), real)
    assert (ours.mean(axis=0) < 0.5 * raw.mean(axis=0)).all()


def test_the_stated_error_is_near_the_real_spread():
    truth = fleet(1500, seed=3)
    rng = np.random.default_rng(7)
    found = [unmix(released(truth, WINDOW, rng), WINDOW, GROUPS)[0] for _ in range(5)]
    spread = np.std([each.share for each in found], axis=0, ddof=1)
    told = np.mean([each.standard_error for each in found], axis=0)
    large = np.mean([each.share for each in found], axis=0) > 0.05
    assert large.sum() >= 3
    assert np.all(told[large] > 0.4 * spread[large])
    assert np.all(told[large] < 3.0 * spread[large])


def test_the_joint_shares_keep_what_goes_together():
    truth = fleet(4000, seed=1)
    places = released(truth, WINDOW, np.random.default_rng(2))
    joint = unmix_joint(places, WINDOW)
    assert joint.shape == (12, 10, 12)
    assert joint.min() >= 0.0
    assert joint.sum() == pytest.approx(1.0)

    def correlation(table: np.ndarray) -> float:
        tilt, capacity = np.meshgrid(np.arange(10), np.arange(12), indexing="ij")
        a, b = tilt - (table * tilt).sum(), capacity - (table * capacity).sum()
        return float((table * a * b).sum() / np.sqrt((table * a**2).sum() * (table * b**2).sum()))

    real = np.corrcoef(truth[:, 1], truth[:, 2])[0, 1]
    raw = np.corrcoef(places[:, 1], places[:, 2])[0, 1]
    assert real > 0.7
    assert correlation(joint.sum(axis=0)) > 0.45 > 0.3 > raw


@pytest.fixture(scope="module")
def published() -> tuple[np.ndarray, PublishedTable, dict]:
    """Return places of 3,000 systems, their published rows, and the public choices."""
    choices = Choices(capacities=Capacities(1.0, 30.0, 0.05))
    inside = best_window(4.0, choices.axes()).inside
    public = {"choices": choices.to_dict(), "epsilon": 4.0, "window_candidates": inside}
    window = window_of(public)
    assert window == choices.window(4.0)
    rng = np.random.default_rng(0)
    spans = ((30, 43), (2, 9), (10, 20))
    truth = np.stack([rng.integers(*span, 3000) for span in spans], axis=1)
    truth[:, 0] %= window.axes[0].size
    places = released(truth, window, rng)
    values = (each[at].tolist() for each, at in zip(values_of(public), places.T, strict=True))
    names = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
    columns = tuple(Column(name, "number", "") for name in names)
    rows = tuple(zip(*values, strict=True))
    return truth, PublishedTable("systems", "", columns, rows), public


def test_published_rows_are_taken_back_to_their_places_and_shares_find_the_fleet(published):
    truth, table, public = published
    places = places_of(table, public)
    values = values_of(public)
    for place, row in zip(places[:50], table.rows, strict=False):
        assert [each[at] for each, at in zip(values, place, strict=True)] == pytest.approx(row)
    found = unmix_systems(table, public)
    for name in ("surface_azimuth", "surface_tilt", "dc_capacity_kw"):
        shares_of = [row[2] for row in found.rows if row[0] == name]
        assert sum(shares_of) == pytest.approx(1.0, abs=1e-4)
    real = np.bincount(np.floor((truth[:, 0] * 5.0 / 45.0 + 0.5) % 8).astype(int), minlength=8)
    sectors = [row for row in found.rows if row[0] == "surface_azimuth"]
    assert [row[1] for row in sectors][:3] == ["0°", "45°", "90°"]
    for row, share in zip(sectors, real / len(truth), strict=True):
        assert abs(row[2] - share) < 5.0 * row[3] + 0.05


def test_what_is_no_release_of_whole_systems_is_refused(published):
    _, table, public = published
    bare = {name: each for name, each in public.items() if name != "window_candidates"}
    for other in (bare, {**bare, "window_widths": [3, 3, 3]}):  # a window of another shape
        with pytest.raises(ParameterError, match="no window"):
            places_of(table, other)
    for places, groups, said in (
        (np.array([[24, 0, 0]]), GROUPS, "outside the axes"),
        (np.zeros((3, 2), dtype=np.int64), GROUPS, "one column per axis"),
        (fleet(5), [np.zeros(3, dtype=np.int64)] * 3, "one group"),
    ):
        with pytest.raises(ParameterError, match=said):
            unmix(places, WINDOW, groups)
