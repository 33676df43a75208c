"""Figures of an estimate: clear days, residuals, years, household."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from sunveil._options import instance
from sunveil.errors import ParameterError, TooLittleData
from sunveil.estimates.estimate_text import show_capacity, show_orientation, year_name
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.intervals_and_rounding import Interval
from sunveil.estimates.planes_and_intervals import SEASONS, HouseholdEstimate, season_of
from sunveil.inference.fleet_part import SiteSkies
from sunveil.inference.infer import separate_record
from sunveil.meters.record import Record
from sunveil.plots.skyline_and_scores import (
    SeenReadings,
    draw_score_map,
    local_times,
    plot_skyline,
    seen_readings,
)
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    QUIET,
    SMALL,
    USUAL,
    check_inputs,
    draw_band,
    dress,
    hours_axis,
    mark_private,
    name_axes,
    name_line,
    new_axes,
    new_row,
    panels_of,
    solar_hour,
)
from sunveil.site import Array
from sunveil.weather.cache import WeatherCache
from sunveil.weather.weather_data import Weather

CLEAR_DAY_PANELS = 4

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

    Thin lines below the sum show each of two planes. Of a net meter,
    the readings lie below the modelled generation by what its household uses.

    The days are chosen by their own readings, for brightness and smoothness, and not by how well
    the model fits them.

    Privacy
    -------
    No protection: the figure shows readings, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, cache=cache, axes=axes)
    if axes is not None and len(axes) == 0:
        raise ParameterError("give at least one panel to draw a day on")
    skies = SiteSkies.under(weather, cache=cache)
    return draw_clear_days(seen_readings(record, skies, estimate), axes=axes)


def draw_clear_days(data: SeenReadings, *, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw :func:`plot_clear_days` from readings already paired with their sky."""
    days = clear_days(data, len(axes) if axes is not None else CLEAR_DAY_PANELS)
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
        name_line(panels[panel], place, words, colour)
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


# Winter, spring, summer and autumn of the north, by Okabe and Ito's palette.
_COLOURS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7")
_STYLES = ("-", "--", "-", ":")


def plot_separated(
    record: Record,
    weather: Weather,
    estimate: Estimate,
    *,
    cache: WeatherCache | None = None,
    axes: Sequence[Axes] | None = None,
) -> tuple[Axes, ...]:
    """Draw generation and load of a net meter on typical days by season.

    Privacy
    -------
    No protection: the figure shows what a household uses by the hour, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, cache=cache, axes=axes)
    _household(estimate)
    panels = panels_of(
        axes, len(SEASONS), 10.0, 2.9, share=True, what="give four panels, one for each season"
    )
    found = separate_record(record, SiteSkies.under(weather, cache=cache), estimate)
    days = typical_days(found, record.timezone)
    hours = np.arange(HOURS) + 0.5
    for ax, name, day in zip(panels, SEASONS, days, strict=True):
        dress(ax)
        generation, low, high, load = day
        draw_band(ax, hours, low, generation, high)
        ax.lines[-1].set_gid("generation")
        ax.plot(hours, load, color=CONTRAST, linewidth=1.6, gid="load")
        hours_axis(ax, 0.0, 24.0)
        name_axes(ax, x=f"Hour, {record.timezone}", title=season_name(name))
    top = 1.18 * float(np.nanmax(days))
    panels[0].set_ylim(0.0, top)
    panels[0].set_ylabel("Mean power [kW]", fontsize=USUAL, color=INK)
    for place, words, colour in ((0.03, "generation", ACCENT), (0.5, "load", CONTRAST)):
        name_line(panels[0], place, words, colour)
    mark_private(panels[0])
    return panels


def typical_days(found: pd.DataFrame, timezone: str) -> Array:
    """Return the mean of each hour of each season, NaN where nothing was read."""
    # Shape (seasons, 4, hours): generation, both ends of its band, and load. [kW]
    starts = pd.DatetimeIndex(found.index).tz_localize(None).to_numpy()
    local = local_times(starts, timezone)
    season = season_of(local.month.to_numpy())
    means = found.groupby([season, local.hour.to_numpy()]).mean()
    out = np.full((len(SEASONS), found.shape[1], HOURS), np.nan)
    for (number, hour), row in zip(means.index, means.to_numpy(), strict=True):
        out[number, :, hour] = row
    return out


def plot_load(estimate: Estimate, *, ax: Axes | None = None) -> Axes:
    """Draw the mean load of a household by the hour, a line for each season.

    Privacy
    -------
    No protection: the figure shows what a household uses by the hour, and is marked so.
    """
    check_inputs(estimate=estimate, ax=ax)
    home = _household(estimate)
    ax = new_axes(5.2, 3.4) if ax is None else ax
    dress(ax)
    for name, load, colour, style in zip(SEASONS, home.load_kw, _COLOURS, _STYLES, strict=True):
        if np.isfinite(load).any():
            hours = np.arange(HOURS) + 0.5
            ax.plot(hours, load, color=colour, linestyle=style, linewidth=1.6, gid=name)
            ax.lines[-1].set_label(season_name(name))
    ax.set_ylim(0.0, 1.3 * float(np.nanmax(home.load_kw)))
    hours_axis(ax, 0.0, 24.0)
    name_axes(ax, x="Hour of the declared clock", y="Mean load [kW]", title="Load by hour")
    ax.legend(loc="upper left", ncols=2, frameon=False, fontsize=SMALL, labelcolor=INK)
    mark_private(ax)
    return ax


def season_name(name: str) -> str:
    """Return a season in words, such as ``December to February``.

    >>> season_name("dec-feb")
    'Dec to Feb'
    """
    return " to ".join(month.capitalize() for month in name.split("-"))


def _household(estimate: Estimate) -> HouseholdEstimate:
    if estimate.household is None:
        raise ParameterError(
            f"system {estimate.system_id} is no net meter: there is no household to draw"
        )
    return estimate.household


MONTHS = "JFMAMJJASOND"
HOURS = 24

# Of the readings of an hour and month, the brighter ones say what the panels give: clouds only
# take away. Under a clear sky's model the median would show the clouds.
BRIGHT = 0.9

# Fewer readings than this say nothing of their hour and month.
FEWEST = 4

# Where the colours may end, so that figures can be compared: the first that holds nearly all
# differences. [% of the capacity]
SCALES, NEARLY_ALL = (5.0, 10.0, 20.0, 40.0), 0.98

# Hours and months without readings, darker than no difference.
MISSING = "#D6D6D6"


def plot_residuals(
    record: Record,
    weather: Weather,
    estimate: Estimate,
    *,
    cache: WeatherCache | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far bright readings lie above or below the model, by hour and month.

    A plane that is turned wrongly shows mornings above and afternoons below the model, or the
    reverse; one that is tilted wrongly, summers against winters; shade, a dark patch.

    Privacy
    -------
    No protection: the figure is made of readings, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, cache=cache, ax=ax)
    data = seen_readings(record, SiteSkies.under(weather, cache=cache), estimate)
    return draw_residuals(data, ax=new_axes(5.6, 3.4) if ax is None else ax)


def draw_residuals(data: SeenReadings, *, ax: Axes) -> Axes:
    """Draw :func:`plot_residuals` from readings already paired with their sky."""
    shares = 100.0 * residual_table(data) / data.estimate.dc_capacity_kw
    seen = np.isfinite(shares)
    widest = float(np.quantile(np.abs(shares[seen]), NEARLY_ALL)) if seen.any() else 0.0
    most = next((scale for scale in SCALES if widest <= scale), SCALES[-1])
    dress(ax)
    ax.grid(visible=False)
    mesh = ax.pcolormesh(
        np.arange(HOURS + 1),
        np.arange(len(MONTHS) + 1),
        shares,
        cmap="RdBu",
        vmin=-most,
        vmax=most,
        rasterized=True,
        gid="residuals",
    )
    ax.set_facecolor(MISSING)
    hours = np.flatnonzero(seen.any(axis=0))
    if len(hours):
        ax.set_xlim(float(hours[0]), float(hours[-1] + 1))
    ax.set_yticks(np.arange(len(MONTHS)) + 0.5, list(MONTHS))
    ax.invert_yaxis()
    name_axes(ax, x="Solar time [h]", y="Month", title="Bright readings against the model")
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.9, pad=0.03, aspect=22, extend="both")
    bar.set_label("Measured less modelled\n[% of DC capacity]", fontsize=USUAL, color=INK)
    bar.ax.tick_params(width=0.6, length=3.0, color=QUIET, labelcolor=INK, labelsize=SMALL)
    bar.outline.set_linewidth(0.0)
    mark_private(ax)
    return ax


def residual_table(data: SeenReadings) -> Array:
    """Return by month and solar hour how far bright readings lie above the model. [kW]"""
    month = data.starts.astype("datetime64[M]").astype(np.int64) % len(MONTHS)
    hour = np.clip(solar_hour(data.sky.site, data.sun).astype(np.int64), 0, HOURS - 1)
    known = np.isfinite(data.generated)
    cell = (month * HOURS + hour)[known]
    apart = (data.generated - data.modelled)[known]
    return _quantiles(cell, apart, count=len(MONTHS) * HOURS).reshape(len(MONTHS), HOURS)


def _quantiles(cell: NDArray[np.int64], values: Array, *, count: int) -> Array:
    """Return the bright quantile of the values in each cell, NaN where there are few."""
    found = np.full(count, np.nan)
    order = np.lexsort((values, cell))
    cell, values = cell[order], values[order]
    edges = np.searchsorted(cell, np.arange(count + 1))
    for place in range(count):
        part = values[edges[place] : edges[place + 1]]
        if len(part) >= FEWEST:
            found[place] = np.quantile(part, BRIGHT)
    return found


YEAR_PANELS = 3

# Wrap year labels beyond this many.
MOST_BESIDE = 3

# Room left beyond what is drawn, as a share of it.
MARGIN = 0.25


def plot_years(estimate: Estimate, *, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Draw azimuth, tilt and capacity of each year, over the estimate and its 90% interval.

    Privacy
    -------
    No protection: the figure shows what was inferred from readings, and is marked so.
    """
    check_inputs(estimate=estimate, axes=axes)
    if not estimate.years:
        raise ParameterError(
            f"system {estimate.system_id} has no estimates of single years: its record is shorter"
            " than 1.75 years, or it has two planes or a tracker"
        )
    words = "give three panels: for azimuth, tilt and capacity"
    panels = panels_of(axes, YEAR_PANELS, 10.0, 2.3, what=words)
    below = " " if len(estimate.years) <= MOST_BESIDE else "\n"
    names = [year_name(year).replace(" ", below) for year in estimate.years]
    whole = estimate.azimuth_interval.width >= 360.0
    near = estimate.surface_azimuth
    azimuths = _beside(np.array([year.surface_azimuth for year in estimate.years]), near)
    low, high = _beside(
        np.array([estimate.azimuth_interval.low, estimate.azimuth_interval.high]), near
    )
    around = Interval(near - 180.0, near + 180.0) if whole else Interval(low, high)
    tilts = np.array([year.surface_tilt for year in estimate.years])
    capacities = np.array([year.dc_capacity_kw for year in estimate.years])
    drawn = (
        (azimuths, near, around, "Azimuth [°]"),
        (tilts, estimate.surface_tilt, estimate.tilt_interval, "Tilt [°]"),
        (capacities, estimate.dc_capacity_kw, estimate.capacity_interval, "DC capacity [kW]"),
    )
    for ax, (values, pooled, interval, name) in zip(panels, drawn, strict=True):
        _draw(ax, values, pooled, interval)
        name_axes(ax, title=name)
        ax.set_xticks(range(len(names)), names)
    panels[0].yaxis.set_major_formatter(lambda value, _: f"{value % 360.0:g}")
    mark_private(panels[0])
    return panels


def _draw(ax: Axes, values: Array, pooled: float, interval: Interval) -> None:
    """Draw years as dots over the band and the line of the whole record."""
    dress(ax)
    ax.grid(visible=False, axis="x")
    ax.axhspan(interval.low, interval.high, color=ACCENT, alpha=0.14, linewidth=0.0, gid="interval")
    ax.axhline(pooled, color=ACCENT, linewidth=1.4, gid="estimate")
    ax.plot(
        range(len(values)),
        values,
        linestyle="none",
        marker="o",
        markersize=6.0,
        color=CONTRAST,
        markeredgecolor="white",
        gid="years",
    )
    ax.set_xlim(-0.5, len(values) - 0.5)
    low, high = min(interval.low, values.min()), max(interval.high, values.max())
    room = MARGIN * (high - low)
    ax.set_ylim(low - room, high + room)


def _beside(azimuth: Array, near: float) -> Array:
    """Return azimuths without the seam at north, within half a turn of one. [degrees]"""
    return np.asarray((azimuth - near + 180.0) % 360.0 - 180.0 + near)


# As wide as a column of text: a wider figure would be shrunk there, and its words with it. [inches]
WIDTH = 9.0

# Heights of the rows: days, map beside residuals, skyline, years. [inches]
DAYS, MIDDLE, SKYLINE, YEARS = 2.5, 3.9, 2.7, 2.2
TITLE = 0.35


def plot_estimate(estimate: Estimate) -> dict[str, Axes]:
    """Draw the evidence of an estimate: readings against the model.

    Clear days measured and modelled; residuals of bright readings by hour and month; the share of
    readings that each plane explains; and, where there are any, skyline and single years.

    Parameters
    ----------
    estimate
        An estimate that :func:`sunveil.infer`, ``infer_frame`` or ``infer_record`` returned in this
        process: one that was read back from a table has no readings to draw.

    Returns
    -------
    dict
        The panels of one new figure by name: ``day 1`` and so on, ``map``, ``residuals`` and, where
        there are any, ``skyline`` and ``year azimuth``, ``year tilt``, ``year capacity``.

    Privacy
    -------
    No protection: the figure shows readings, and is marked so.
    """
    instance("estimate", estimate, Estimate, give="an Estimate, as sunveil.infer returns it")
    source = estimate.source
    if source is None or not isinstance(source.skies, SiteSkies):
        raise ParameterError(
            f"the estimate of system {estimate.system_id} does not have its readings any more: plot"
            " what sunveil.infer returns, or use sunveil.plots with the record"
        )
    data = seen_readings(source.record, source.skies, estimate)
    heights = [DAYS, MIDDLE]
    heights += [SKYLINE] * bool(estimate.skyline) + [YEARS] * bool(estimate.years)
    figure = plt.figure(figsize=(WIDTH, sum(heights) + TITLE), layout="constrained")
    rows = iter(figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0])
    days = draw_clear_days(data, axes=next(rows).subplots(1, CLEAR_DAY_PANELS, sharey=True))
    left, right = next(rows).subfigures(1, 2, width_ratios=(1.0, 1.15))
    panels = {f"day {number}": ax for number, ax in enumerate(days, start=1)}
    panels["map"] = draw_score_map(data, ax=left.subplots(subplot_kw={"projection": "polar"}))
    panels["residuals"] = draw_residuals(data, ax=right.subplots())
    if estimate.skyline:
        panels["skyline"] = plot_skyline(estimate, source.site, ax=next(rows).subplots())
    if estimate.years:
        drawn = plot_years(estimate, axes=next(rows).subplots(1, 3))
        names = ("year azimuth", "year tilt", "year capacity")
        panels.update(zip(names, drawn, strict=True))
    figure.suptitle(_title(estimate), x=0.01, ha="left", fontsize=11.5, color=INK)
    mark_private(days[0])
    return panels


def _title(estimate: Estimate) -> str:
    azimuth, tilt = show_orientation(estimate)
    what = "" if estimate.tracker else "azimuth "
    turn = "" if estimate.tracker else "tilt "
    return (
        f"{estimate.system_id}: {what}{azimuth}, {turn}{tilt}, {show_capacity(estimate)} DC;"
        f" quality {estimate.quality.value}"
    )
