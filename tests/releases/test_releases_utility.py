from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.plots import plot_utility
from sunveil.plots.style import loose_figure
from sunveil.releases import Choices
from sunveil.releases.score_kernels import Capacities
from sunveil.releases.utility_curves import Curve, KnownSystem, simulated_systems, utility_curves
from sunveil.site import Site

EPSILONS = (0.05, 0.5, 5.0)


@pytest.fixture(scope="module")
def systems() -> list[KnownSystem]:
    coarse = Choices(step=10.0, capacities=Capacities(1.0, 40.0, 0.05))
    return simulated_systems(Site(39.74, -105.17), systems=2, seed=1, choices=coarse)


@pytest.fixture(scope="module")
def curves(systems) -> dict[tuple[str, str], Curve]:
    return {(c.unit, c.mechanism): c for c in utility_curves(systems, EPSILONS)}


def test_more_privacy_costs_accuracy_and_the_papers_mechanism_alone_is_conditional(curves):
    for curve in curves.values():
        assert curve.azimuth[0] >= curve.azimuth[-1] - 0.5
        assert curve.tilt[0] >= curve.tilt[-1] - 0.5
    # a reading is cheaper to protect than a day, and a day than all
    units = [("readings:1", "permute-and-flip"), ("days:1", "permute-and-flip")]
    reading, day, whole = (curves[key].azimuth[0] for key in (*units, ("system", "window")))
    assert reading < day < whole
    odd = {name for name, curve in curves.items() if curve.kind == "conditional"}
    without_capacity = {name for name, curve in curves.items() if curve.capacity is None}
    assert odd == without_capacity == {("readings:1", "paper")}


def test_a_curve_is_the_mean_over_its_systems(systems, curves):
    alone = [{(c.unit, c.mechanism): c for c in utility_curves([one], EPSILONS)} for one in systems]
    for name, curve in curves.items():
        mean = np.mean([each[name].tilt for each in alone], axis=0)
        np.testing.assert_allclose(curve.tilt, mean, rtol=1e-9)


def test_simulated_systems_are_the_same_for_the_same_seed_and_share_a_frame(systems):
    site, choices = systems[0].frame.weather.site, systems[0].frame.choices
    again = simulated_systems(site, systems=2, seed=1, choices=choices)
    assert [each.plane for each in again] == [each.plane for each in systems]
    assert (again[1].record.power_kw == systems[1].record.power_kw).all()
    assert systems[0].frame is systems[1].frame
    other = simulated_systems(site, systems=1, seed=2, choices=choices)
    assert other[0].plane != systems[0].plane
    assert repr(systems[0]) == "KnownSystem(private)"


@pytest.mark.parametrize("epsilons", [(), (0.0,), (float("nan"),)])
def test_curves_need_epsilons_that_a_release_can_have(systems, epsilons):
    with pytest.raises(ParameterError):
        utility_curves(systems, epsilons)


def test_the_figure_has_a_line_per_curve_and_says_when_it_is_private(curves):
    for private in (False, True):
        figure = loose_figure(11.0, 4.4)
        panels = plot_utility(
            list(curves.values()), private=private, axes=list(figure.subplots(1, 3))
        )
        assert [len(ax.get_lines()) for ax in panels] == [6, 6, 5]
        said = any("private" in text.get_text() for text in figure.texts)
        assert said is private


def test_the_figure_needs_curves_and_three_panels(curves):
    with pytest.raises(ParameterError, match="at least one curve"):
        plot_utility([], private=False)
    with pytest.raises(ParameterError, match="three panels"):
        plot_utility(list(curves.values()), private=False, axes=[loose_figure(3, 3).subplots()])
