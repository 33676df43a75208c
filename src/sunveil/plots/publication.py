"""Figures of publications: published systems, estimated shares, and how synthetic tables keep.

All of them are drawn from published tables alone, so that they are as public as these.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sunveil.errors import ParameterError
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    SMALL,
    as_polar,
    dress,
    dress_polar,
    name_axes,
    new_axes,
    new_polar,
)
from sunveil.publish.publication import Publication, PublishedTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.projections.polar import PolarAxes

PLANES = {"surface_azimuth", "surface_tilt", "dc_capacity_kw"}
SURVIVAL = {"kind", "of", "difference", "noise_error"}
SHARES = {"quantity", "group", "share", "share_error"}
# Of a dot, for a system of the middle capacity. [square points]
_DOT = 14.0


def plot_published_systems(table: PublishedTable, *, ax: Axes | None = None) -> PolarAxes:
    """Draw published planes on a compass, each dot as large as its capacity.

    Parameters
    ----------
    table
        One system per row.
    ax
        Polar axes; new ones when left out.
    """
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
    """Draw the shares of a fleet that were estimated from its published systems.

    Parameters
    ----------
    table
        The table of :func:`sunveil.publish.unmix.unmix_systems`.
    quantity
        Which of its quantities.
    ax
        Plain axes; new ones when left out.
    """
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
    """Draw how far a synthetic table is from its counts, beside what the noise alone would make.

    Parameters
    ----------
    table
        The table of :func:`sunveil.publish.survival.survival`.
    ax
        Plain axes; new ones when left out.
    """
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
