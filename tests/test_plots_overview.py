from __future__ import annotations

import datetime as dt

import matplotlib.pyplot as plt
import numpy as np

from plot_makers import GOLDEN, estimate_of, sunny
from sunveil.estimates import YearEstimate
from sunveil.estimates.estimates_table import EstimateSource
from sunveil.inference.fleet_part import SiteSkies
from sunveil.plots.estimate_figures import plot_estimate, residual_table
from sunveil.plots.skyline_and_scores import seen_readings
from sunveil.plots.style import PRIVATE


def test_one_figure_shows_everything_that_an_estimate_rests_on():
    record, _ = sunny()
    years = tuple(YearEstimate(dt.date(year, 1, 1), 201.0, 30.0, 5.0) for year in (2018, 2019))
    source = EstimateSource(record, SiteSkies.at(GOLDEN), GOLDEN)
    estimate = estimate_of(source=source, years=years, skyline=(20.0,) * 30)
    panels = plot_estimate(estimate)
    assert set(panels) == {
        *(f"day {number}" for number in (1, 2, 3, 4)),
        *("map", "residuals", "skyline", "year azimuth", "year tilt", "year capacity"),
    }
    figure = panels["map"].get_figure(root=True)
    assert {ax.get_figure(root=True) for ax in panels.values()} == {figure}
    assert [text.get_text() for text in figure.texts].count(PRIVATE) == 1
    plt.close(figure)
    assert estimate.plot().texts[0].get_text() == PRIVATE
    plt.close("all")


def test_residuals_tell_mornings_from_afternoons_of_a_plane_that_is_turned_wrongly():
    record, _ = sunny()
    skies = SiteSkies.at(GOLDEN)
    right = residual_table(seen_readings(record, skies, estimate_of()))
    assert np.nanmax(np.abs(right)) < 0.15
    east = estimate_of(plane=type(estimate_of().plane)(160.0, 30.0))
    wrong = residual_table(seen_readings(record, skies, east))
    assert np.nanmean(wrong[:, 7:10]) < -0.3
    assert np.nanmean(wrong[:, 14:17]) > 0.3
