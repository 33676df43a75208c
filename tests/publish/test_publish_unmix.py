from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.power.from_system_rows import channel, places_of, seen_shares, window_of
from sunveil.privacy.mechanisms import Axis, Placement
from sunveil.privacy.two_level_window import Window
from sunveil.publication.published_tables import Column, PublishedTable
from sunveil.releases import Choices
from sunveil.releases.score_kernels import Capacities

AXES = (Axis(24, 15.0, wraps=True), Axis(10, 10.0), Axis(12, 0.25))
WINDOW = Window(4.0, AXES, 105)
NAMES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")


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
    """Return fifty places, the rows published of them, and the public choices."""
    choices = Choices(capacities=Capacities(1.0, 30.0, 0.05))
    window = choices.window(4.0)
    public = {"choices": choices.to_dict(), "epsilon": 4.0, "window_candidates": window.inside}
    assert window_of(public) == window
    places = np.random.default_rng(0).integers([axis.size for axis in window.axes], size=(50, 3))
    azimuth, tilt, logs = (
        axis.step * place for axis, place in zip(window.axes, places.T, strict=True)
    )
    columns = tuple(Column(name, "number", "") for name in NAMES)
    rows = zip(azimuth.tolist(), tilt.tolist(), np.exp(logs).tolist(), strict=True)
    return places, PublishedTable("systems", "", columns, tuple(rows)), public


def test_published_rows_are_taken_back_to_their_places(published):
    places, table, public = published
    np.testing.assert_array_equal(places_of(table, public), places)


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
