"""A published table of sectors and bands, as a map of counts with their error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sunveil.errors import ParameterError
from sunveil.plots.style import INK, SMALL, name_axes, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_planes(
    systems: Sequence[Sequence[int]],
    *,
    sectors: Sequence[str],
    bands: Sequence[str],
    sd: float,
    ax: Axes | None = None,
) -> Axes:
    """Draw how many systems face where, each count written in its cell.

    Parameters
    ----------
    systems
        Published counts, one row per sector and one column per band.
    sectors, bands
        Their names.
    sd
        Stated standard deviation of a cell. [systems]
    ax
        Axes to draw on; new ones when left out.
    """
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
