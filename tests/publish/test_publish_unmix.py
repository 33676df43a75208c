from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.power.from_system_rows import (
    channel,
    places_of,
    seen_shares,
    window_of,
)
from sunveil.privacy.mechanisms import Axis, Placement
from sunveil.privacy.two_level_window import Window, best_window
from sunveil.publication.published_tables import Column, PublishedTable
from sunveil.releases import Choices
from sunveil.releases.score_kernels import Capacities

AXES = (Axis(24, 15.0, wraps=True), Axis(10, 10.0), Axis(12, 0.25))
WINDOW = Window(4.0, AXES, 105)


def values_of(window: Window) -> list[np.ndarray]:
    """Return the azimuths, tilts and capacities of the axes, where the least is 1 kW."""
    azimuth, tilt, logs = (np.arange(axis.size) * axis.step for axis in window.axes)
    return [azimuth, tilt, np.exp(logs)]


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


def test_the_channel_is_the_windows_own_where_every_value_is_a_cell():
    small = Window(1.3, (Axis(6, wraps=True), Axis(4), Axis(3)), 17)
    found = channel(small)
    for number, place in enumerate(np.ndindex(6, 4, 3)):
        law = small.probabilities(Placement(place, small.axes))
        assert found[:, number] == pytest.approx(law.ravel(), rel=1e-12)


def test_the_channel_of_cells_counts_what_the_window_holds_in_each():
    found = channel(WINDOW)
    cells = (12, 10, 12)  # of 24, 10 and 12 values
    assert found.shape == (1440, 1440)
    assert found.sum(axis=0) == pytest.approx(1.0)
    for at in ((0, 0, 0), (7, 3, 5), (11, 9, 11)):
        place = (2 * at[0], at[1], at[2])  # the middle of two values is the first
        law = WINDOW.probabilities(Placement(place, AXES)).reshape(12, 2, 10, 12).sum(axis=1)
        column = np.ravel_multi_index(at, cells)
        assert found[:, column] == pytest.approx(law.ravel(), rel=1e-9)


@pytest.fixture(scope="module")
def published() -> tuple[np.ndarray, PublishedTable, dict]:
    """Return places of 300 systems, their published rows, and the public choices."""
    choices = Choices(capacities=Capacities(1.0, 30.0, 0.05))
    public = {
        "choices": choices.to_dict(),
        "epsilon": 4.0,
        "window_candidates": best_window(4.0, choices.axes()).inside,
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
    azimuth, tilt, capacity = values_of(window)
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
    azimuth, tilt, capacity = values_of(window_of(public))
    for number, row in enumerate(table.rows[:50]):
        a, t, c = places[number]
        assert (azimuth[a], tilt[t], capacity[c]) == pytest.approx(row)


def test_what_is_no_release_of_whole_systems_is_refused(published):
    _, table, public = published
    with pytest.raises(ParameterError, match="no window"):
        places_of(table, {"choices": public["choices"], "epsilon": 1.0})
    small = replace(table, rows=((400.0, 20.0, 5.0),))
    with pytest.raises(ParameterError, match="outside the axes"):
        seen_shares(small, public)
    with pytest.raises(ParameterError, match="one row of places"):
        seen_shares(replace(table, rows=()), public)
    boxes = {name: each for name, each in public.items() if name != "window_candidates"}
    with pytest.raises(ParameterError, match="no window"):  # a window of another shape
        places_of(table, {**boxes, "window_widths": [3, 3, 3]})
