"""Hexagonal regions of azimuth and tilt, as the paper bins its figures.

The regions are regular on paper, 10° of azimuth wide, in 20 rows over the tilts from 0 to 90°. They
close around the compass: what lies past north on the left lies in the same region on the right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sunveil.plots.style import INK, QUIET, SMALL, USUAL, dress, name_axes
from sunveil.site import Array, Plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.colorbar import Colorbar

COLUMNS, ROWS = 36, 20
WIDTH, HEIGHT = 360.0 / COLUMNS, 90.0 / ROWS
# How much longer a degree of tilt is drawn than one of azimuth, for regular hexagons.
ASPECT = WIDTH * math.sqrt(3.0) / 2.0 / HEIGHT
# Whole degrees stand in the middle of their cell, so that none lies on an upright edge.
FIRST = -0.5
COMPASS_TICKS = {0: "0° N", 90: "90° E", 180: "180° S", 270: "270° W"}


@dataclass(frozen=True, slots=True, eq=False)
class Hexagons:
    """The regions, by their middles.

    Parameters
    ----------
    surface_azimuth, surface_tilt
        One entry per region. [degrees]
    """

    surface_azimuth: Array
    surface_tilt: Array

    def __len__(self) -> int:
        return len(self.surface_tilt)

    def of(self, azimuth: Array, tilt: Array) -> NDArray[np.intp]:
        """Return the region of each plane: the one whose middle is nearest on paper."""
        middles = _flat(self.surface_azimuth, self.surface_tilt)
        _, nearest = cKDTree(middles, boxsize=np.array([360.0, 0.0])).query(_flat(azimuth, tilt))
        return np.asarray(nearest, dtype=np.intp)

    def count(self, azimuth: Array, tilt: Array) -> NDArray[np.intp]:
        """Return how many of the planes lie in each region."""
        return np.bincount(self.of(azimuth, tilt), minlength=len(self))

    def mean(self, azimuth: Array, tilt: Array, *, values: Array) -> Array:
        """Return the mean of values at planes in each region; NaN where it holds none.

        Parameters
        ----------
        azimuth, tilt
            The planes. [degrees]
        values
            One value per plane.
        """
        where = self.of(azimuth, tilt)
        count = np.bincount(where, minlength=len(self))
        total = np.bincount(where, weights=values, minlength=len(self))
        empty = np.full(len(self), np.nan)
        return np.asarray(np.divide(total, count, out=empty, where=count > 0))


@cache
def hexagons() -> Hexagons:
    """Return the regions, row by row from flat to upright."""
    row, column = np.divmod(np.arange(COLUMNS * ROWS), COLUMNS)
    shifted = column + 0.5 + 0.5 * (row % 2)
    azimuth = np.mod(FIRST + WIDTH * shifted, 360.0)
    return Hexagons(azimuth, FIRST + HEIGHT * (row + 0.5))


def _flat(azimuth: Array, tilt: Array) -> Array:
    """Return positions on paper, in degrees of azimuth from 0 to below 360."""
    # the remainder of a tiny negative number can be the divisor itself
    turned = np.mod(np.mod(azimuth, 360.0), 360.0)
    return np.column_stack([turned, ASPECT * tilt])


def draw_hexagons(ax: Axes, values: Array, **style: Any) -> PolyCollection:
    """Colour every region by its value, those on the seam at both ends; NaN stays empty.

    Parameters
    ----------
    ax
        Where to draw.
    values
        One value per region.
    **style
        Handed to matplotlib's collection: colour map, norm, order.
    """
    from matplotlib.collections import PolyCollection

    middles, chosen = _with_seam(hexagons())
    turn = np.radians(30.0 + 60.0 * np.arange(6))
    radius = WIDTH / math.sqrt(3.0)
    corners = radius * np.column_stack([np.cos(turn), np.sin(turn) / ASPECT])
    cells = PolyCollection(
        [*(middles[:, None, :] + corners)],
        array=np.ma.masked_invalid(values[chosen]),
        edgecolors="white",
        linewidths=0.35,
        **style,
    )
    ax.add_collection(cells, autolim=False)
    return cells


def _with_seam(cells: Hexagons) -> tuple[Array, NDArray[np.intp]]:
    """Return the middles, those across north twice, and which region each is of."""
    at = np.column_stack([cells.surface_azimuth, cells.surface_tilt])
    seam = np.flatnonzero(cells.surface_azimuth > 360.0 + FIRST - WIDTH / 4.0)
    again = at[seam] - np.array([360.0, 0.0])
    return np.concatenate([at, again]), np.concatenate([np.arange(len(at)), seam])


def dress_map(ax: Axes, *, title: str = "") -> None:
    """Lay axes out as a map of azimuth and tilt on which the regions are regular."""
    dress(ax)
    ax.grid(visible=False)
    ax.set_xlim(FIRST, 360.0 + FIRST)
    ax.set_ylim(FIRST - HEIGHT / 6.0, 90.0 + FIRST + HEIGHT / 6.0)
    ax.set_aspect(ASPECT)
    ax.set_xticks(list(COMPASS_TICKS), list(COMPASS_TICKS.values()))
    ax.set_yticks([0, 30, 60, 90], ["0°", "30°", "60°", "90°"])
    name_axes(ax, x="Surface azimuth", y="Surface tilt", title=title)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def mark_plane(ax: Axes, plane: Plane, **style: Any) -> None:
    """Mark a plane on a map.

    Parameters
    ----------
    ax
        The map, azimuth across and tilt up.
    plane
        The plane.
    **style
        Handed to matplotlib's ``plot``.
    """
    ax.plot([plane.surface_azimuth], [plane.surface_tilt], linestyle="none", **style)


def colour_bar(axes: Sequence[Axes], cells: PolyCollection, label: str) -> Colorbar:
    """Explain the colours beside a map, or a row of them.

    Parameters
    ----------
    axes
        The maps that share the colours.
    cells
        What :func:`draw_hexagons` drew on one of them.
    label
        What the colours mean.
    """
    bar = axes[0].figure.colorbar(cells, ax=list(axes), shrink=0.75, pad=0.015, aspect=18)
    bar.set_label(label, fontsize=USUAL, color=INK)
    bar.ax.minorticks_off()
    bar.ax.tick_params(width=0.6, length=3.0, color=QUIET, labelcolor=INK, labelsize=SMALL)
    bar.outline.set_visible(False)
    return bar


def legend_below(ax: Axes, columns: int = 3) -> None:
    """Name the marks of a figure beneath its maps, where they hide nothing."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower left",  # the right corner may say that the figure is private
        ncols=columns,
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        handlelength=1.2,
        columnspacing=1.6,
    )


def region_data(cells: Hexagons) -> dict[str, list[float]]:
    """Return the middles of the regions as plain JSON types. [degrees]"""
    return {
        "surface_azimuth": cells.surface_azimuth.tolist(),
        "surface_tilt": cells.surface_tilt.tolist(),
    }
