"""What a net meter tells of its household: generation and load on typical days of each season."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sunveil.errors import ParameterError
from sunveil.estimate import Estimate
from sunveil.household import HOURS, SEASONS, HouseholdEstimate, season_of
from sunveil.infer import SiteSkies
from sunveil.meters.record import Record
from sunveil.plots.inputs import check_inputs
from sunveil.plots.seen import local_times
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    SMALL,
    USUAL,
    dress,
    halo,
    hours_axis,
    mark_private,
    name_axes,
    new_axes,
    new_row,
)
from sunveil.separate import separate_record
from sunveil.site import Array
from sunveil.weather import Weather, WeatherCache

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    """Draw the generation of a net meter and the load it was told from, on typical days by season.

    Parameters
    ----------
    record, weather
        What the estimate was inferred from.
    estimate
        The estimate, whose clock is used.
    cache
        Where clear skies are kept.
    axes
        Four panels, one for each season; new ones when left out.

    Privacy
    -------
    None: the figure shows what a household uses by the hour, and is marked so.
    """
    check_inputs(record=record, weather=weather, estimate=estimate, cache=cache, axes=axes)
    _household(estimate)
    if axes is not None and len(axes) != len(SEASONS):
        raise ParameterError("give four panels, one for each season")
    found = separate_record(record, SiteSkies.under(weather, cache=cache), estimate)
    days = typical_days(found, record.timezone)
    panels = tuple(axes) if axes is not None else new_row(len(SEASONS), 10.0, 2.9, share=True)
    hours = np.arange(HOURS) + 0.5
    for ax, name, day in zip(panels, SEASONS, days, strict=True):
        dress(ax)
        generation, low, high, load = day
        ax.fill_between(hours, low, high, color=ACCENT, alpha=0.18, linewidth=0.0, gid="band")
        ax.plot(hours, generation, color=ACCENT, linewidth=1.6, gid="generation")
        ax.plot(hours, load, color=CONTRAST, linewidth=1.6, gid="load")
        hours_axis(ax, 0.0, 24.0)
        name_axes(ax, x=f"Hour, {record.timezone}", title=season_name(name))
    top = 1.18 * float(np.nanmax(days))
    panels[0].set_ylim(0.0, top)
    panels[0].set_ylabel("Mean power [kW]", fontsize=USUAL, color=INK)
    for place, words, colour in ((0.03, "generation", ACCENT), (0.5, "load", CONTRAST)):
        halo(
            panels[0].text(
                place,
                0.97,
                words,
                transform=panels[0].transAxes,
                va="top",
                fontsize=SMALL,
                color=colour,
            )
        )
    mark_private(panels[0])
    return panels


def typical_days(found: pd.DataFrame, timezone: str) -> Array:
    """Return the mean of each hour of each season, NaN where nothing was read.

    Shape (seasons, 4, hours): generation, both ends of its band, and load. [kW]

    Parameters
    ----------
    found
        What :func:`sunveil.separate` returned.
    timezone
        The clock whose hours are meant.
    """
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

    Parameters
    ----------
    estimate
        The estimate of a net meter.
    ax
        Axes to draw on; new ones when left out.

    Privacy
    -------
    None: the figure shows what a household uses by the hour, and is marked so.
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
