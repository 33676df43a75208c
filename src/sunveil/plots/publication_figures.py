"""Published tables, utility, differencing, power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sunveil._options import flag, shown
from sunveil.errors import ParameterError
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    QUIET,
    SMALL,
    as_polar,
    check_inputs,
    draw_band,
    dress,
    dress_polar,
    mark_private,
    name_axes,
    new_axes,
    new_polar,
    panels_of,
)
from sunveil.power.power_result import FleetPower
from sunveil.publication.published_tables import Publication, PublishedTable
from sunveil.releases.utility_curves import Curve


def plot_planes(
    systems: Sequence[Sequence[int]],
    *,
    sectors: Sequence[str],
    bands: Sequence[str],
    sd: float,
    ax: Axes | None = None,
) -> Axes:
    """Draw how many systems face where, each count written in its cell."""
    counts = np.asarray(systems)
    if counts.shape != (len(sectors), len(bands)):
        raise ParameterError("a map of planes needs one count for every sector and band")
    ax = ax if ax is not None else new_axes(6.4, 4.2)
    shown = counts.T
    ax.imshow(shown, cmap="Blues", origin="lower", aspect="auto", vmin=0)
    # light text over the darker half
    dark = 0.55 * max(int(shown.max()), 1)
    for (band, sector), count in np.ndenumerate(shown):
        colour = "white" if count > dark else INK
        ax.text(sector, band, f"{count:,}", ha="center", va="center", fontsize=SMALL, color=colour)
    ax.set_xticks(range(len(sectors)), list(sectors), fontsize=SMALL)
    ax.set_yticks(range(len(bands)), list(bands), fontsize=SMALL)
    ax.tick_params(length=0.0, labelcolor=INK)
    for spine in ax.spines.values():
        spine.set_visible(False)
    title = f"Systems by plane; each count has a standard deviation of {sd:.3g}"
    name_axes(ax, x="Sector", y="Tilt [°]", title=title)
    return ax


BAND_LABEL = "what nine in ten draws are within"


def typical_and_extreme_days(
    power: FleetPower, *, group: str | None = None, zone: str = "UTC"
) -> tuple[str, str]:
    """Return the day of median energy, and the one with the highest power."""
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
    """Draw the power of one day with its band."""
    ax = ax or new_axes()
    place = power.place(group)
    local = power.times.tz_convert(ZoneInfo(zone))
    own = local.strftime("%Y-%m-%d").to_numpy() == day
    hours = (local.hour + local.minute / 60.0).to_numpy()[own] + power.grid.step / 7200.0
    lines = (each[place][own] for each in (power.low_kw, power.power_kw, power.high_kw))
    draw_band(ax, hours, *lines, words=BAND_LABEL)
    ax.set_xlim(0.0, 24.0)
    ax.set_xticks(range(0, 25, 4))
    ax.set_ylim(bottom=0.0)
    dress(ax)
    name_axes(ax, x=f"Hour ({zone})", y="Power [kW]", title=day)
    return ax


def plot_power_ramps(
    power: FleetPower, *, group: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often the power changes by how much between intervals, by daylight."""
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
    """Draw for how many hours the power is above what, with its band."""
    ax = ax or new_axes()
    place = power.place(group)
    hours = (np.arange(power.grid.count) + 0.5) * power.grid.step / 3600.0
    low, middle, high = (
        np.sort(each[place])[::-1] for each in (power.low_kw, power.power_kw, power.high_kw)
    )
    keep = max(int((high > 0.0).sum()), 2)
    draw_band(ax, hours[:keep], low[:keep], middle[:keep], high[:keep], words=BAND_LABEL)
    ax.legend(fontsize=8.0, frameon=False, labelcolor=QUIET)
    ax.set_xlim(0.0, hours[keep - 1])
    ax.set_ylim(bottom=0.0)
    dress(ax)
    name_axes(ax, x="Hours with more power", y="Power [kW]", title="Duration curve")
    return ax


PLANES = {"surface_azimuth", "surface_tilt", "dc_capacity_kw"}
SURVIVAL = {"kind", "of", "difference", "noise_error"}
SHARES = {"quantity", "group", "share", "share_error"}

# Of a dot, for a system of the middle capacity. [square points]
_DOT = 14.0


def plot_published_systems(table: PublishedTable, *, ax: Axes | None = None) -> PolarAxes:
    """Draw published planes on a compass, each dot as large as its capacity."""
    _need(table, PLANES)
    polar = new_polar() if ax is None else as_polar(ax)
    azimuth, tilt = (np.array(table.column(c), float) for c in ("surface_azimuth", "surface_tilt"))
    capacity = np.array([np.nan if c is None else c for c in table.column("dc_capacity_kw")], float)
    size = np.full(len(capacity), _DOT)
    known = np.isfinite(capacity)
    if known.any():
        size[known] *= np.clip(capacity[known] / np.median(capacity[known]), 0.2, 8.0)
    faint = float(np.clip(30.0 / np.sqrt(max(len(tilt), 1)), 0.15, 0.8))
    polar.scatter(
        np.radians(azimuth),
        tilt,
        s=size,
        color=ACCENT,
        alpha=faint,
        linewidths=0.0,
        rasterized=True,
    )
    dress_polar(polar)
    polar.set_title("Published planes; a dot's area is the capacity", fontsize=SMALL, loc="left")
    return polar


def plot_shares(table: PublishedTable, quantity: str, *, ax: Axes | None = None) -> Axes:
    """Draw the shares of a fleet that were estimated from its published systems."""
    _need(table, SHARES)
    names = ("group", "share", "share_error")
    columns = zip(table.column("quantity"), *(table.column(n) for n in names), strict=True)
    rows = [row[1:] for row in columns if row[0] == quantity]
    if not rows:
        raise ParameterError(f"the table {table.name} has no shares of {quantity}")
    ax = new_axes() if ax is None else ax
    dress(ax)
    labels, share, error = zip(*rows, strict=True)
    places = np.arange(len(labels))
    heights = [100.0 * each for each in share]
    ax.bar(places, heights, width=0.7, color=ACCENT, alpha=0.35, label="likeliest")
    spans = [100.0 * each for each in error]
    name = "± one standard error"
    ax.errorbar(places, heights, yerr=spans, fmt="o", ms=3.5, lw=1.0, color=CONTRAST, label=name)
    ax.set_xticks(places, labels)
    ax.legend(frameon=False, fontsize=SMALL)
    name_axes(ax, x=quantity.replace("_", " "), y="Share of systems [%]")
    return ax


def plot_survival(table: PublishedTable, *, ax: Axes | None = None) -> Axes:
    """Draw the distance of a synthetic table from its counts, next to that of the noise alone."""
    _need(table, SURVIVAL)
    columns = zip(
        *(table.column(c) for c in ("kind", "of", "difference", "noise_error")), strict=True
    )
    rows = [row[1:] for row in columns if row[0] == "distance"]
    if not rows:
        raise ParameterError(f"the table {table.name} has no distances")
    ax = new_axes() if ax is None else ax
    dress(ax)
    names, away, noise = zip(*rows, strict=True)
    places = np.arange(len(names))
    ax.barh(
        places - 0.18, [100.0 * each for each in away], height=0.34, color=ACCENT, label="synthetic"
    )
    ax.barh(
        places + 0.18, [100.0 * each for each in noise], height=0.34, color=CONTRAST, label="noise"
    )
    ax.set_yticks(places, [name.replace(" x ", "\n× ") for name in names])
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize=SMALL)
    name_axes(ax, x="Distance from the noisy counts [% of systems]")
    return ax


def publication_figures(publication: Publication) -> dict[str, Callable[[Figure], None]]:
    """Return the figures that a publication's tables can be drawn as, by name, for its folder."""
    figures: dict[str, Callable[[Figure], None]] = {}
    for table in publication.tables:
        names = {column.name for column in table.columns}
        if names >= PLANES and "plane" not in names and table.rows:
            figures[f"{table.name}-planes"] = partial(_planes, table)
        if names >= SURVIVAL:
            figures[f"{table.name}-distances"] = partial(_distances, table)
        if names >= SHARES:
            figures[f"{table.name}-azimuth"] = partial(_shares, table)
    return figures


def _planes(table: PublishedTable, figure: Figure) -> None:
    plot_published_systems(table, ax=figure.add_subplot(projection="polar"))


def _distances(table: PublishedTable, figure: Figure) -> None:
    plot_survival(table, ax=figure.add_subplot())


def _shares(table: PublishedTable, figure: Figure) -> None:
    plot_shares(table, "surface_azimuth", ax=figure.add_subplot())


def _need(table: PublishedTable, names: set[str]) -> None:
    missing = names - {column.name for column in table.columns}
    if missing:
        raise ParameterError(f"the table {table.name} has no column {sorted(missing)[0]} to draw")


# Unit and mechanism: colour and dashes. Colours distinguish units, dashes mechanisms.
LOOKS = {
    ("readings:1", "permute-and-flip"): (ACCENT, "-"),
    ("readings:1", "exponential"): (ACCENT, (0, (1.2, 1.6))),
    ("days:1", "permute-and-flip"): (CONTRAST, "-"),
    ("days:1", "exponential"): (CONTRAST, (0, (1.2, 1.6))),
    ("system", "window"): ("#009E73", "-"),
    ("readings:1", "paper"): (QUIET, (0, (5, 2))),
}

NAMES = {"readings:1": "one reading", "days:1": "one day", "system": "whole record"}


def plot_utility(
    curves: Sequence[Curve], *, private: bool, axes: Sequence[Axes] | None = None
) -> tuple[Axes, ...]:
    """Draw the expected errors of azimuth, tilt and capacity against ε.

    Parameters
    ----------
    curves
        One per unit and mechanism.
    private
        Whether they were computed from real readings; the figure is then marked private.
    axes
        Three panels. Default: new ones.
    """
    check_inputs(axes=axes)
    flag("private", private)
    if not isinstance(curves, (list, tuple)) or not all(isinstance(each, Curve) for each in curves):
        raise ParameterError(
            "curves must be a list of curves, as sunveil.releases.expected_errors has them, and"
            f" {shown(curves)} is not"
        )
    if not curves:
        raise ParameterError("a figure of utility needs at least one curve")
    words = "utility is drawn on three panels: azimuth, tilt and capacity"
    panels = panels_of(axes, 3, 11.0, 3.9, what=words)
    for ax in panels:
        dress(ax)
        ax.set_xscale("log")
        ax.set_yscale("log")
    for curve in curves:
        colour, dashes = LOOKS.get((curve.unit, curve.mechanism), (QUIET, ":"))
        words = f"{NAMES.get(curve.unit, curve.unit)}, {curve.mechanism}"
        if curve.kind == "conditional":
            words += " (conditional)"
        for ax, errors in zip(panels, (curve.azimuth, curve.tilt, curve.capacity), strict=True):
            if errors is not None:
                ax.plot(
                    curve.epsilons,
                    errors,
                    color=colour,
                    linestyle=dashes,
                    linewidth=1.7,
                    label=words,
                )
    _finish(panels)
    if private:
        mark_private(panels[0])
    return panels


def _finish(panels: tuple[Axes, ...]) -> None:
    titles = ("Azimuth [°]", "Tilt [°]", "DC capacity [%]")
    for ax, title in zip(panels, titles, strict=True):
        name_axes(ax, x="Privacy parameter ε", y="Expected error" if ax is panels[0] else "")
        ax.set_title(title, fontsize=9.5, loc="left")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(LogLocator(subs=(1.0,) if axis is ax.xaxis else (1.0, 3.0)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
    handles, labels = panels[0].get_legend_handles_labels()
    figure = panels[0].get_figure()
    assert figure is not None
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=SMALL
    )
