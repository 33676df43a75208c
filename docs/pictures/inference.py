"""Pictures of the tutorial, of the method and of meters."""

from __future__ import annotations

from typing import cast

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.dates import DateFormatter, MonthLocator
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scenes import CITY, CLOCK, Scene, draw_interval, draw_truth, scene, sky, weather

import sunveil
from sunveil.inference.fleet_part import SiteSkies
from sunveil.plots import plot_clear_days, plot_score_map
from sunveil.plots.skyline_and_scores import seen_readings
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    QUIET,
    SMALL,
    as_polar,
    dress,
    name_axes,
)
from sunveil.simulate import fast_clock, simulate_loads

# Which days the meters are shown on: a clear one and one with clouds.
SHOWN_DAYS = ("2019-06-11", "2019-06-13")
CLEAR_DAY = "2019-05-24"
FAST = 60.0
# The hour that begins at noon of Denver's standard time. [h UTC]
NOON = 19


def draw_clear_days() -> Figure:
    """Return clear days of the tutorial's system, measured and modelled."""
    shown = scene(3)
    axes = plot_clear_days(shown.record, weather(), shown.found)
    return _figure(axes[0])


def draw_map() -> Figure:
    """Return how many readings of the tutorial's system each plane explains."""
    shown = scene(3)
    ax = plot_score_map(shown.record, weather(), shown.found, truth=shown.truth.plane)
    return _figure(ax)


def draw_envelope() -> Figure:
    """Return the noon readings of a year below what the estimate gives under a clear sky."""
    shown = scene(3)
    seen = seen_readings(shown.record, SiteSkies.under(weather()), shown.found)
    noon = pd.DatetimeIndex(seen.starts).hour == NOON
    figure, ax = plt.subplots(figsize=(8.0, 3.2), layout="constrained")
    dress(ax)
    days = seen.starts[noon]
    ax.plot(days, seen.modelled[noon], color=CONTRAST, lw=1.6, label="modelled, clear sky")
    ax.plot(days, seen.power[noon], "o", ms=3, color=ACCENT, alpha=0.6, label="measured")
    ax.set_ylim(0.0, None)
    ax.xaxis.set_major_locator(MonthLocator(bymonth=(1, 3, 5, 7, 9, 11)))
    ax.xaxis.set_major_formatter(DateFormatter("%b"))
    name_axes(ax, y="Power of the noon hour [kW]")
    ax.legend(frameon=False, fontsize=SMALL, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_meters() -> Figure:
    """Return three days of one home as four kinds of meters see them."""
    shown = scene(6)
    homes = simulate_loads(sky().true, 6, seed=3, timezone=CITY.timezone)
    load = homes.iloc[:, 0].reindex(shown.power.index).ffill()
    local = (shown.power.index + CLOCK).tz_localize(None)
    generated, used = (each.set_axis(local)[slice(*SHOWN_DAYS)] for each in (shown.power, load))
    net = generated - used
    kinds = (
        ("Generation", generated, "kW"),
        ("Net: generation less load", net, "kW"),
        ("Given to the grid alone", net.clip(lower=0.0), "kW"),
        ("Register of generation", generated.cumsum() + 4211.0, "kWh"),
    )
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 4.6), layout="constrained", sharex=True)
    for ax, (title, values, unit) in zip(axes.ravel(), kinds, strict=True):
        dress(ax)
        ax.fill_between(
            values.index, values, values.min() if unit == "kWh" else 0.0, step="post",
            color=ACCENT, alpha=0.25, lw=0,
        )  # fmt: skip
        ax.step(values.index, values, where="post", color=ACCENT, lw=1.3)
        if title.startswith("Net"):
            ax.step(generated.index, generated, where="post", color=QUIET, lw=0.9, ls=":")
            ax.axhline(0.0, color=QUIET, lw=0.6)
        ax.xaxis.set_major_formatter(DateFormatter("%d %b"))
        ax.set_xticks(pd.date_range(*SHOWN_DAYS, freq="D"))
        name_axes(ax, y=f"[{unit}]", title=title)
    return figure


def draw_clock() -> Figure:
    """Return what an hour's fault of the clock does, and that it is repaired."""
    shown = scene(12)
    fast = fast_clock(shown.power, FAST)
    given = sunveil.infer(fast, site=CITY.site, label="start", clock="given")
    repaired = sunveil.infer(fast, site=CITY.site, label="start")
    figure = plt.figure(figsize=(9.0, 3.7), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1.25, 1.0))
    ax = left.subplots()
    dress(ax)
    day = slice(CLEAR_DAY, CLEAR_DAY)
    true = _by_hour(shown, shown.power, day)
    stamped = _by_hour(shown, fast, day)
    ax.plot(*true, color=CONTRAST, lw=1.6, label="by the sun")
    ax.plot(*stamped, "o-", color=ACCENT, lw=0.9, ms=3.5, label="as stamped: an hour fast")
    name_axes(ax, x="Hour of the day", y="Power [kW]", title="24 May")
    ax.set_xticks(range(4, 23, 3))
    ax.set_xlim(4, 22)
    ax.legend(frameon=False, fontsize=SMALL, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    polar = as_polar(right.subplots(subplot_kw={"projection": "polar"}))
    draw_interval(polar, given, colour=QUIET)
    draw_interval(polar, repaired)
    draw_truth(polar, shown.truth.plane)
    marks = [
        _mark(QUIET, f"taken as given: {given.surface_azimuth:.0f}°"),
        _mark(ACCENT, f"repaired first: {repaired.surface_azimuth:.0f}°"),
        Line2D(
            [], [], ls="", marker="o", mfc="none", mec=CONTRAST, mew=1.6, ms=9,
            label=f"truth: {shown.truth.plane.surface_azimuth:.0f}°",
        ),
    ]  # fmt: skip
    polar.legend(
        handles=marks,
        frameon=False,
        fontsize=SMALL,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.12),
    )
    return figure


def _mark(colour: str, words: str) -> Line2D:
    return Line2D([], [], ls="", marker="o", color=colour, ms=5.5, label=words)


def _by_hour(shown: Scene, power: pd.Series[float], day: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles of a day's hours on standard time, and their power. [h, kW]"""
    local = power.set_axis((power.index + CLOCK).tz_localize(None))[day]
    index = cast(pd.DatetimeIndex, local.index)
    return (index.hour + index.minute / 60.0 + 0.5).to_numpy(), local.to_numpy()


def _figure(ax: plt.Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    for text in list(figure.texts):
        # these readings are simulated
        if text.get_text().startswith("private"):
            text.set_text("simulated readings")
    ax.title.set_color(INK)
    return figure
