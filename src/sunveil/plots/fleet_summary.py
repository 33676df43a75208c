"""What a fleet's estimates come to: a compass of azimuths, and counts in classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sunveil.errors import ParameterError
from sunveil.plots.style import (
    ACCENT,
    COMPASS,
    FAINT,
    INK,
    QUIET,
    SMALL,
    USUAL,
    as_polar,
    dress,
    halo,
    name_axes,
    new_axes,
    new_polar,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.projections.polar import PolarAxes


def plot_fleet_azimuths(counts: Sequence[float], *, ax: Axes | None = None) -> PolarAxes:
    """Draw how many systems face each way, as petals on a compass, north up and clockwise.

    Parameters
    ----------
    counts
        Systems in equal sectors of azimuth, from north on; a petal's area is their number. One with
        two planes counts by their shares.
    ax
        Polar axes to draw on; new ones when left out.
    """
    from matplotlib.ticker import MaxNLocator

    polar = as_polar(ax) if ax is not None else new_polar()
    polar.set_theta_zero_location("N")
    polar.set_theta_direction(-1)
    wide = 2.0 * np.pi / max(len(counts), 1)
    ticks = MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]).tick_values(0, max([1, *counts]))
    rings = [tick for tick in ticks if tick > 0]
    polar.bar(
        wide * (np.arange(len(counts)) + 0.5),
        np.sqrt(np.asarray(counts, dtype=np.float64)),
        width=0.93 * wide,
        color=ACCENT,
        linewidth=0.0,
        zorder=3,
    )
    polar.set_rlim(0.0, float(np.sqrt(rings[-1])))
    names = [f"{int(tick):,}" for tick in rings]
    polar.set_rgrids(np.sqrt(rings).tolist(), names, angle=22.5, fontsize=SMALL, color=QUIET)
    polar.set_thetagrids(np.arange(0.0, 360.0, 45.0).tolist(), COMPASS, fontsize=USUAL, color=INK)
    polar.grid(visible=True, color=FAINT, linewidth=0.8)
    polar.spines["polar"].set_color(FAINT)
    for label in polar.get_yticklabels():
        halo(label)
        label.set_zorder(4)
    return polar


def plot_fleet_classes(
    counts: Sequence[float], edges: Sequence[str], *, name: str, ax: Axes | None = None
) -> Axes:
    """Draw how many systems each class has, as bars of one width.

    Parameters
    ----------
    counts
        Systems in each class.
    edges
        What stands under the edges of the classes, one more than these; some may be empty.
    name
        The name of the quantity, with its unit.
    ax
        Axes to draw on; new ones when left out.
    """
    from matplotlib.ticker import MaxNLocator

    if len(edges) != len(counts) + 1:
        raise ParameterError("classes need one more edge than there are counts")
    ax = ax if ax is not None else new_axes(5.6, 3.0)
    ax.bar(np.arange(len(counts)) + 0.5, counts, width=0.93, color=ACCENT, linewidth=0.0)
    dress(ax)
    ax.grid(visible=False, axis="x")
    ax.tick_params(axis="x", length=0.0)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(0.0, len(counts))
    ax.set_ylim(0.0, 1.05 * max([1, *counts]))
    named = [place for place, edge in enumerate(edges) if edge]
    ax.set_xticks(named, [edges[place] for place in named])
    ax.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.yaxis.set_major_formatter("{x:,.0f}")
    name_axes(ax, x=name, y="Systems")
    return ax
