"""The posterior log-likelihood over azimuth and tilt, in hexagons: the ground of figures 5a and 5c.

The paper does not say what its log-likelihood is. Drawn are the two readings that a map can show:
the posterior mean of the fit score, and the logarithm of the probability that a region holds the
maximiser (:mod:`reproduction.maximiser_law`), which is what the caption says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.experiment import Experiment
from reproduction.hexagons import colour_bar, draw_hexagons, hexagons, mark_plane, region_data
from reproduction.maximiser_law import FUNCTIONS, MaximiserLaw
from sunveil.paper.grid_and_bayesian_search import BayesResult
from sunveil.plots.style import CONTRAST, INK, halo
from sunveil.site import Array, Plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

# Where lines are drawn, in shares of the whole span below the highest.
LINES = (0.01, 0.05, 0.2, 0.6)


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodMap:
    """The mean log-likelihood of each hexagonal region.

    Parameters
    ----------
    values
        One entry per region; NaN where it holds no candidate.
    highest, lowest
        Over all candidates.
    """

    values: Array
    highest: float
    lowest: float

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain JSON types."""
        values = [None if np.isnan(value) else float(value) for value in self.values]
        return {
            "regions": {**region_data(hexagons()), "log_likelihood": values},
            "highest": self.highest,
            "lowest": self.lowest,
        }


def likelihood_map(result: BayesResult) -> LikelihoodMap:
    """Return the posterior mean of a run, binned in hexagons."""
    grid, likelihood = result.grid, result.likelihood
    return LikelihoodMap(
        hexagons().mean(grid.surface_azimuth, grid.surface_tilt, values=likelihood),
        float(likelihood.max()),
        float(likelihood.min()),
    )


def draw_likelihood(ax: Axes, drawn: LikelihoodMap) -> None:
    """Colour a map by the log-likelihood itself, as the paper's colour bar has it."""
    cells = draw_hexagons(
        ax,
        drawn.values,
        cmap=_part("viridis", 0.0, 1.0),
        zorder=0.5,
    )
    cells.set_clim(drawn.lowest, drawn.highest)
    colour_bar([ax], cells, "Log-likelihood")


def draw_probability(ax: Axes, law: MaximiserLaw) -> None:
    """Colour a map by the logarithm of how likely each region is to hold the maximiser."""
    rare = 1.0 / FUNCTIONS
    logs = np.log(np.where(law.probability > 0.0, law.probability, np.nan))
    draw_hexagons(ax, np.zeros(len(logs)), cmap=_plain("#F2F2F2"), zorder=0.4)
    cells = draw_hexagons(ax, logs, cmap=_part("viridis", 0.0, 1.0), zorder=0.5)
    cells.set_clim(math.log(rare), 0.0)
    colour_bar([ax], cells, "Log-probability of holding\nthe maximiser")


def outline_likelihood(ax: Axes, result: BayesResult) -> None:
    """Draw the log-likelihood as lines with their values, closer to each other near the highest."""
    grid, likelihood = result.grid, result.likelihood
    azimuths, tilts = np.unique(grid.surface_azimuth), np.unique(grid.surface_tilt)
    levels = likelihood.max() - max(float(np.ptp(likelihood)), 1e-12) * np.array(LINES[::-1])
    lines = ax.contour(
        azimuths,
        tilts,
        likelihood.reshape(len(tilts), len(azimuths)),
        levels=levels,
        colors=INK,
        linewidths=0.8,
        linestyles="solid",
        zorder=1.5,
    )
    for name in ax.clabel(lines, fmt=lambda level: f"{level:.2g}", fontsize=7.0):
        halo(name)


def _plain(colour: str) -> Colormap:
    from matplotlib.colors import ListedColormap

    return ListedColormap([colour])


def _part(name: str, first: float, last: float) -> Colormap:
    """Return a part of a colour map, so that marks read over its darkest end."""
    import matplotlib as mpl
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list(
        f"{name}-part", mpl.colormaps[name](np.linspace(first, last, 128))
    )


def mark_planes(ax: Axes, experiment: Experiment, best: Plane | None = None) -> None:
    """Mark the reported plane, the maximiser and the best candidate looked at.

    Parameters
    ----------
    ax
        The map, azimuth across and tilt up.
    experiment
        The system, with its reported plane and its maximiser.
    best
        The best candidate looked at; not marked when left out.
    """
    reported = experiment.subject.reported
    ring = {"marker": "o", "markersize": 13.0, "fillstyle": "none", "markeredgewidth": 1.8}
    if reported is not None:
        mark_plane(ax, reported, **{**ring, "markeredgewidth": 3.6}, color="white")
        mark_plane(ax, reported, **ring, color=CONTRAST, label=f"reported {plane_words(reported)}")
    found = experiment.exhaustive.best
    cross = {"marker": "+", "markersize": 11.0}
    mark_plane(ax, found, **cross, markeredgewidth=3.2, color="white")
    mark_plane(
        ax, found, **cross, markeredgewidth=1.4, color=INK, label=f"maximiser {plane_words(found)}"
    )
    if best is not None:
        mark_plane(
            ax,
            best,
            marker="D",
            markersize=4.2,
            color="#F0E442",
            markeredgecolor=INK,
            markeredgewidth=0.6,
            label=f"best looked at {plane_words(best)}",
        )


def plane_words(plane: Plane) -> str:
    """Return a plane as the paper writes it."""
    return f"({plane.surface_azimuth:.0f}°, {plane.surface_tilt:.0f}°)"


def plane_data(plane: Plane | None) -> dict[str, float] | None:
    """Return a plane as plain JSON types. [degrees]"""
    if plane is None:
        return None
    return {"surface_azimuth": plane.surface_azimuth, "surface_tilt": plane.surface_tilt}
