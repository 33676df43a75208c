from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.plots.publication_figures import plot_differencing, plot_planes

TRUE = np.array([2.0, 5.0, 9.0])
OFF = np.array([40.0, -30.0, 8.0])


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def attack(**changes):
    found = {"true_kw": TRUE, "rule_kw": TRUE, "private_kw": TRUE + OFF}
    found |= {"stated_sd_kw": 50.0, "private": False} | changes
    axes = plot_differencing(
        found.pop("true_kw"), found.pop("rule_kw"), found.pop("private_kw"), **found
    )
    axes[0].get_figure().canvas.draw()
    return axes


def marks(ax) -> int:
    return sum("private" in text.get_text() for text in ax.get_figure().texts)


def test_the_attack_is_drawn_as_recovered_against_true():
    rule, ours = attack()
    np.testing.assert_allclose(rule.collections[0].get_offsets(), np.column_stack([TRUE, TRUE]))
    np.testing.assert_allclose(ours.collections[0].get_offsets()[:, 1], [42.0, -25.0, 17.0])
    assert "[kW]" in rule.get_xlabel()
    assert any("±50 kW" in text.get_text() for text in ours.get_legend().get_texts())


def test_a_figure_of_real_households_is_marked_private():
    assert marks(attack(private=True)[0]) == 1
    assert marks(attack()[0]) == 0


def test_suppressed_households_are_left_out_of_the_figure():
    rule, _ = attack(rule_kw=np.array([2.0, np.nan, 9.0]))
    assert np.ma.count(rule.collections[0].get_offsets()[:, 1]) == 2


def test_an_attack_is_drawn_on_axes_that_are_given():
    _, given = plt.subplots(1, 2)
    assert attack(axes=given) == tuple(given)


@pytest.mark.parametrize("changes", [{"rule_kw": TRUE[:2]}, {"axes": [None]}])
def test_a_figure_that_cannot_be_drawn_is_refused(changes):
    with pytest.raises(ParameterError):
        attack(**changes)


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
