"""Measured against modelled power on clear days."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError, TooLittleData
from sunveil.estimate import Estimate
from sunveil.infer import SiteSkies
from sunveil.meters.record import Record
from sunveil.plots.inputs import check_inputs
from sunveil.plots.seen import SeenReadings, seen_readings
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    QUIET,
    SMALL,
    USUAL,
    dress,
    halo,
    hours_axis,
    mark_private,
    name_axes,
    new_row,
    solar_hour,
)
from sunveil.site import Array
from sunveil.weather import Weather, WeatherCache

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 4
# A day with fewer daylight readings than this share of its season's fullest is not looked at.
NEARLY_WHOLE = 0.9
# Nor is one with so little of the brightest day's energy: nothing was running.
RUNNING = 0.03
YEAR = 365
# How much clearer a day at the end of its span must be than one in the middle.
OFF_CENTRE = 0.4


def plot_clear_days(
    record: Record,
    weather: Weather,
    estimate: Estimate,
    *,
    cache: WeatherCache | None = None,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw measured and modelled power on the clearest days across the record's last year.

    What each of two planes would give stands below their sum as a thin line. Of a net meter,
    the readings lie below the modelled generation by what its household uses.

    The days are chosen by their own readings, for brightness and smoothness, and not by how well
    the model fits them.

    Parameters
    ----------
    record, weather
        What the estimate was inferred from.
    estimate
        The estimate, whose clock is used.
    cache
        Where clear skies are kept.
    axes
        One panel per day; four new ones when left out.

    Privacy
    -------
    None: the figure shows readings, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, cache=cache, axes=axes)
    if axes is not None and len(axes) == 0:
        raise ParameterError("give at least one panel to draw a day on")
    skies = SiteSkies.under(weather, cache=cache)
    return draw_clear_days(seen_readings(record, skies, estimate), axes=axes)


def draw_clear_days(data: SeenReadings, *, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw :func:`plot_clear_days` from readings already paired with their sky."""
    days = clear_days(data, len(axes) if axes is not None else PANELS)
    if len(days) == 0:
        raise TooLittleData(f"system {data.estimate.system_id} has no day with any power to draw")
    hours = solar_hour(data.sky.site, data.sun)
    panels = tuple(axes) if axes is not None else new_row(len(days), 10.0, 2.9, share=True)
    shown = np.isin(data.day, days)
    top = 1.18 * float(max(data.power[shown].max(), data.modelled[shown].max()))
    is_net = data.estimate.household is not None
    bottom = min(0.0, 1.1 * float(data.power[shown].min())) if is_net else 0.0
    for ax, day in zip(panels, days, strict=False):
        _draw_day(ax, hours, data, day=int(day))
        hours_axis(ax, float(hours[shown].min()) - 0.3, float(hours[shown].max()) + 0.3)
        ax.set_ylim(bottom, top)
    for ax in panels[len(days) :]:
        ax.set_axis_off()
    panels[0].set_ylabel("AC power [kW]", fontsize=USUAL, color=INK)
    names = [(0, 0.03, "measured", ACCENT), (0, 0.42, "modelled", CONTRAST)]
    if is_net:
        names[1] = (0, 0.42, "generation", CONTRAST)
        panels[0].set_ylabel("AC power, net [kW]", fontsize=USUAL, color=INK)
    if len(data.parts) > 1 and len(days) > 1:
        names.append((1, 0.03, "thin: each plane", CONTRAST))
    for panel, place, words, colour in names:
        _name_line(panels[panel], place, words, colour)
    mark_private(panels[0])
    return panels


def clear_days(data: SeenReadings, count: int) -> NDArray[np.int64]:
    """Return the clearest day of each of ``count`` spans of the record's last year, in order."""
    recent = data.day > data.day.max() - YEAR
    day, number = np.unique(data.day[recent], return_inverse=True)
    clearness = _clearness(data.power[recent], number)
    place = (day - day[0]) * count / (day[-1] - day[0] + 1)
    spans = place.astype(np.int64)
    # days from the middle of their span, where equally clear, show the seasons better
    clearness -= OFF_CENTRE * np.abs(place - spans - 0.5)
    chosen = []
    for span in range(count):
        members = np.flatnonzero((spans == span) & np.isfinite(clearness))
        if len(members):
            chosen.append(day[members[clearness[members].argmax()]])
    return np.asarray(chosen, dtype=np.int64)


def _clearness(power: Array, number: NDArray[np.intp]) -> Array:
    """Return how bright and smooth each day is; -inf where nothing ran or it has gaps."""
    count = np.bincount(number)
    energy = np.bincount(number, weights=np.maximum(power, 0.0)).astype(np.float64)
    bends = np.zeros(len(power))
    bends[1:-1] = np.abs(power[2:] - 2.0 * power[1:-1] + power[:-2])
    inner = np.zeros(len(power), dtype=bool)
    inner[1:-1] = (number[2:] == number[1:-1]) & (number[:-2] == number[1:-1])
    rough = np.bincount(number, weights=np.where(inner, bends, 0.0))
    nearby = _running_top(energy)
    fullest = _running_top(count.astype(float))
    running = (energy > 0.0) & (energy >= RUNNING * energy.max())
    usable = running & (count >= NEARLY_WHOLE * fullest)
    bright = np.divide(energy, nearby, out=np.zeros(len(energy)), where=nearby > 0.0)
    roughness = np.divide(rough, energy, out=np.zeros(len(energy)), where=energy > 0.0)
    return np.where(usable, bright - roughness, -np.inf)


def _running_top(values: Array, reach: int = 15) -> Array:
    """Return the largest value within ``reach`` days on either side."""
    padded = np.pad(values, reach, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)
    return np.asarray(windows.max(axis=1))


def _draw_day(ax: Axes, hours: Array, data: SeenReadings, *, day: int) -> None:
    dress(ax)
    today = data.day == day
    ax.plot(hours[today], data.modelled[today], color=CONTRAST, linewidth=1.6, gid="modelled")
    for part in data.parts if len(data.parts) > 1 else ():
        ax.plot(hours[today], part[today], color=CONTRAST, linewidth=0.8, alpha=0.75, gid="plane")
    if data.estimate.household is not None:
        ax.axhline(0.0, color=QUIET, linewidth=0.8)
    ax.plot(
        hours[today],
        data.power[today],
        linestyle="none",
        marker="o",
        markersize=3.6,
        color=ACCENT,
        markeredgecolor="white",
        markeredgewidth=0.4,
        gid="measured",
    )
    date = np.datetime64(day, "D").astype(object)
    name_axes(ax, x="Solar time [h]", title=f"{date.day} {date:%b %Y}")


def _name_line(ax: Axes, place: float, words: str, colour: str) -> None:
    """Name dots or lines above a panel's curves."""
    halo(
        ax.text(place, 0.97, words, transform=ax.transAxes, va="top", fontsize=SMALL, color=colour)
    )
