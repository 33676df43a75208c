"""Figures of a fleet's power: days, ramps, duration, each with its band."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from sunveil.plots.style import ACCENT, CONTRAST, QUIET, dress, name_axes, new_axes
from sunveil.power.result import FleetPower

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAND_LABEL = "what nine in ten draws are within"


def typical_and_extreme_days(
    power: FleetPower, *, group: str | None = None, zone: str = "UTC"
) -> tuple[str, str]:
    """Return the day whose energy is in the middle, and the one with the highest power.

    Parameters
    ----------
    power
        The fleet's power.
    group
        Which group.
    zone
        The place's time zone.
    """
    values = power.power_kw[power.place(group)]
    dates = power.times.tz_convert(ZoneInfo(zone)).strftime("%Y-%m-%d").to_numpy()
    starts = np.flatnonzero(np.r_[True, dates[1:] != dates[:-1]])
    lengths = np.diff(np.r_[starts, len(dates)])
    energy = np.add.reduceat(values, starts)
    whole = np.flatnonzero(lengths >= lengths.max())
    middle = whole[np.argsort(energy[whole])[len(whole) // 2]]
    highest = np.argmax(np.maximum.reduceat(values, starts))
    return str(dates[starts[middle]]), str(dates[starts[highest]])


def plot_power_day(
    power: FleetPower,
    day: str,
    *,
    group: str | None = None,
    zone: str = "UTC",
    ax: Axes | None = None,
) -> Axes:
    """Draw the power of one day with its band.

    Parameters
    ----------
    power
        The fleet's power.
    day
        Its date, by the place's clock.
    group, zone
        Which group, and the place's time zone.
    ax
        Where to draw; new axes when left out.
    """
    ax = ax or new_axes()
    place = power.place(group)
    local = power.times.tz_convert(ZoneInfo(zone))
    own = local.strftime("%Y-%m-%d").to_numpy() == day
    hours = (local.hour + local.minute / 60.0).to_numpy()[own] + power.grid.step / 7200.0
    ax.fill_between(hours, power.low_kw[place][own], power.high_kw[place][own], color=ACCENT,
                    alpha=0.22, lw=0.0, label=BAND_LABEL)  # fmt: skip
    ax.plot(hours, power.power_kw[place][own], color=ACCENT, lw=1.5)
    ax.set_xlim(0.0, 24.0)
    ax.set_xticks(range(0, 25, 4))
    ax.set_ylim(bottom=0.0)
    dress(ax)
    name_axes(ax, x=f"Hour ({zone})", y="Power [kW]", title=day)
    return ax


def plot_power_ramps(
    power: FleetPower, *, group: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often the power changes by how much between intervals, by daylight.

    Parameters
    ----------
    power
        The fleet's power.
    group
        Which group.
    ax
        Where to draw; new axes when left out.
    """
    ax = ax or new_axes()
    place = power.place(group)
    values = power.power_kw[place]
    ramps = np.diff(values)[(values[1:] > 0.0) | (values[:-1] > 0.0)]
    ax.hist(ramps, bins=60, color=ACCENT, alpha=0.75)
    for share in (0.01, 0.99):
        ax.axvline(float(np.quantile(ramps, share)), color=CONTRAST, lw=1.0, ls="--")
    dress(ax)
    title = "Ramps between intervals, by day; dashed: 1% are beyond each"
    name_axes(ax, x=f"Change in {power.grid.step // 60} minutes [kW]", y="Intervals", title=title)
    return ax


def plot_power_duration(
    power: FleetPower, *, group: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw for how many hours the power is above what, with its band.

    Parameters
    ----------
    power
        The fleet's power.
    group
        Which group.
    ax
        Where to draw; new axes when left out.
    """
    ax = ax or new_axes()
    place = power.place(group)
    hours = (np.arange(power.grid.count) + 0.5) * power.grid.step / 3600.0
    low, middle, high = (
        np.sort(each[place])[::-1] for each in (power.low_kw, power.power_kw, power.high_kw)
    )
    keep = max(int((high > 0.0).sum()), 2)
    ax.fill_between(hours[:keep], low[:keep], high[:keep], color=ACCENT, alpha=0.22, lw=0.0,
                    label=BAND_LABEL)  # fmt: skip
    ax.plot(hours[:keep], middle[:keep], color=ACCENT, lw=1.5)
    ax.legend(fontsize=8.0, frameon=False, labelcolor=QUIET)
    ax.set_xlim(0.0, hours[keep - 1])
    ax.set_ylim(bottom=0.0)
    dress(ax)
    name_axes(ax, x="Hours with more power", y="Power [kW]", title="Duration curve")
    return ax
