from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest

from sunveil.errors import ParameterError
from sunveil.plots.publication_figures import plot_planes


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def test_a_map_writes_every_count_and_the_error():
    ax = plot_planes(
        [[1, 2300], [0, 4]], sectors=("N", "S"), bands=("0 to 30", "30 to 90"), sd=13.8
    )
    ax.get_figure().canvas.draw()
    assert {text.get_text() for text in ax.texts} == {"1", "2,300", "0", "4"}
    assert "13.8" in ax.get_title(loc="left")
    place = {text.get_text(): text.get_position() for text in ax.texts}
    assert place["2,300"] == (0, 1)


def test_a_map_of_an_empty_fleet_can_be_drawn_where_it_is_told():
    _, given = plt.subplots()
    assert plot_planes([[0]], sectors=("N",), bands=("0 to 90",), sd=1.0, ax=given) is given


def test_a_map_with_counts_that_do_not_fit_is_refused():
    with pytest.raises(ParameterError, match="one count"):
        plot_planes([[1, 2]], sectors=("N", "S"), bands=("0 to 90",), sd=1.0)
