"""What GP-UCB came to believe, where it looked, and what that cost: figures 5a and 5b."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reproduction.answers import NEAR_AZIMUTH, NEAR_TILT, is_near
from reproduction.artefact import Artefact
from reproduction.experiment import Experiment
from reproduction.fleet_search import fleet_search
from reproduction.hexagons import (
    colour_bar,
    draw_hexagons,
    dress_map,
    hexagons,
    legend_below,
    region_data,
)
from reproduction.likelihood import (
    draw_likelihood,
    draw_probability,
    likelihood_map,
    mark_planes,
    plane_data,
    plane_words,
)
from reproduction.maximiser_law import maximiser_law
from sunveil.paper.grid_and_bayesian_search import BayesResult
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    QUIET,
    SMALL,
    USUAL,
    dress,
    halo,
    loose_figure,
    mark_private,
    name_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

__all__ = ["fleet_search", "posterior_map", "regret_curves", "regret_growth", "sampled_hexagons"]


def posterior_map(experiment: Experiment) -> Artefact:
    """Draw the posterior log-likelihood of azimuth and tilt after the long run: figure 5a."""
    run = experiment.long
    drawn, law = likelihood_map(run), maximiser_law(run)
    figure = loose_figure(7.6, 7.4)
    panels = figure.subplots(2, 1)
    titles = ("The posterior mean of the fit score", "Which region holds the maximiser")
    for ax, title in zip(panels, titles, strict=True):
        dress_map(ax, title=f"{title}, after {len(run.points)} steps of GP-UCB")
        mark_planes(ax, experiment, run.best)
    draw_likelihood(panels[0], drawn)
    draw_probability(panels[1], law)
    legend_below(panels[0])
    if experiment.subject.private:
        mark_private(panels[0])
    top = run.grid[int(run.likelihood.argmax())]
    return Artefact(
        name="5a-posterior-map",
        title="Posterior log-likelihood over azimuth and tilt (figure 5a)",
        words=(
            f"After {len(run.points)} of {len(run.grid):,} candidates the posterior mean is highest"
            f" at {plane_words(top)}, {drawn.highest:.4f}; the exhaustive maximiser is"
            f" {plane_words(experiment.exhaustive.best)}. Read as the caption has it, the"
            " log-probability that a hexagon holds the maximiser, the highest is"
            f" {law.highest_log:.2f}. Each hexagon of the upper map is the mean of its candidates;"
            " grey ones of the lower held the maximiser of none of the functions drawn."
        ),
        figure=figure,
        data={
            **_common(experiment, run),
            "posterior_maximiser": plane_data(top),
            **drawn.to_dict(),
            "maximiser": plane_data(experiment.exhaustive.best),
            "holds_the_maximiser": law.to_dict(),
        },
    )


def sampled_hexagons(experiment: Experiment) -> Artefact:
    """Draw how often GP-UCB looked at each hexagonal region in the short run: figure 5b."""
    run = experiment.short
    grid, cells = run.grid, hexagons()
    azimuth, tilt = grid.surface_azimuth[run.points], grid.surface_tilt[run.points]
    counts = cells.count(azimuth, tilt)
    figure = loose_figure(7.6, 4.5)
    ax = figure.add_subplot()
    dress_map(ax, title=f"Where GP-UCB looked in {len(run.points)} steps")
    _draw_counts(ax, counts.astype(np.float64))
    mark_planes(ax, experiment)
    legend_below(ax)
    if experiment.subject.private:
        mark_private(ax)
    close = is_near(grid, experiment.exhaustive.best)
    near, area = float(close[run.points].mean()), float(close.mean())
    return Artefact(
        name="5b-sampled-hexagons",
        title="How often each hexagonal region was looked at (figure 5b)",
        words=(
            f"{near:.0%} of the {len(run.points)} steps lie within {NEAR_AZIMUTH:g}° of azimuth and"
            f" {NEAR_TILT:g}° of tilt of the maximiser, where {area:.1%} of the candidates are. The"
            " rest are spread over the whole grid and its edges, where the prior is least sure."
        ),
        figure=figure,
        data={
            **_common(experiment, run),
            "regions": {**region_data(cells), "count": counts.tolist()},
            "points": {"surface_azimuth": azimuth.tolist(), "surface_tilt": tilt.tolist()},
            "near_share": near,
            "near_share_of_candidates": area,
        },
    )


def regret_curves(experiment: Experiment) -> Artefact:
    """Draw instantaneous, cumulative and average regret over the steps, on logarithmic axes."""
    short, long = experiment.short, experiment.long
    figure = loose_figure(10.0, 3.3)
    panels = figure.subplots(1, 3)
    steps = np.arange(1, len(long.points) + 1)
    curves = (
        ("Instantaneous regret $r_t$", _positive(long.regret), "o"),
        ("Cumulative regret $R_t$", long.cumulative_regret, ""),
        ("Average regret $R_t / t$", long.cumulative_regret / steps, ""),
    )
    for ax, (title, values, marker) in zip(panels, curves, strict=True):
        _draw_regret(ax, values, ends=(len(short.points), len(long.points)), marker=marker)
        name_axes(ax, x="Steps $t$", title=title)
    panels[0].set_ylabel("Fit score below the maximum", fontsize=USUAL, color=INK)
    at_random = float(experiment.exhaustive.scores.max() - experiment.exhaustive.scores.mean())
    _draw_random(panels[1], steps.astype(np.float64), at_random)
    if experiment.subject.private:
        mark_private(panels[0])
    growth = regret_growth(short, long)
    average = [float(run.cumulative_regret[-1] / len(run.points)) for run in (short, long)]
    return Artefact(
        name="regret",
        title="Regret of GP-UCB (section III-A)",
        words=(
            f"The average regret falls from {average[0]:.4f} after {len(short.points)} steps to"
            f" {average[1]:.4f} after {len(long.points)}: between the two, the cumulative regret"
            f" grows with the power {growth:.2f} of the steps, where 1 would be linear."
            " The first part of the longer run is the shorter one."
        ),
        figure=figure,
        data={
            "private": experiment.subject.private,
            "growth": growth,
            "at_random": at_random,
            "short": _regret_data(short),
            "long": _regret_data(long),
        },
    )


def regret_growth(short: BayesResult, long: BayesResult) -> float:
    """Return the power of t with which R_t grows from the end of one run to that of a longer."""
    sums = [float(run.cumulative_regret[-1]) for run in (short, long)]
    if min(sums) <= 0.0:
        return 0.0
    return math.log(sums[1] / sums[0]) / math.log(len(long.points) / len(short.points))


def _common(experiment: Experiment, run: BayesResult) -> dict[str, Any]:
    return {
        "private": experiment.subject.private,
        "steps": len(run.points),
        "candidates": len(run.grid),
        "length_scale": list(run.settings.kernel.length_scale),
        "reported": plane_data(experiment.subject.reported),
        "maximiser": plane_data(experiment.exhaustive.best),
        "best_looked_at": plane_data(run.best),
    }


def _draw_counts(ax: Axes, counts: Floats) -> None:
    """Colour regions by how often they were looked at, in whole numbers, the others in grey."""
    import matplotlib as mpl
    from matplotlib.colors import BoundaryNorm, ListedColormap

    draw_hexagons(ax, np.zeros(len(counts)), cmap=ListedColormap(["#F2F2F2"]), zorder=0.4)
    most = max(int(counts.max()), 1)
    colours = ListedColormap(mpl.colormaps["PuBu"](np.linspace(0.3, 0.95, most)))
    cells = draw_hexagons(
        ax,
        np.where(counts > 0, counts, np.nan),
        cmap=colours,
        norm=BoundaryNorm(np.arange(most + 1) + 0.5, most),
        zorder=0.5,
    )
    bar = colour_bar([ax], cells, "Times looked at")
    bar.set_ticks(list(range(1, most + 1, max(1, math.ceil(most / 8)))))


def _positive(values: Floats) -> Floats:
    """Return values for a logarithmic axis, on which a step of no regret has no place."""
    return np.where(values > 0.0, values, np.nan)


def _draw_regret(ax: Axes, values: Floats, *, ends: tuple[int, int], marker: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    dress(ax)
    steps = np.arange(1, len(values) + 1)
    style: dict[str, Any] = (
        {"marker": marker, "markersize": 2.6, "linestyle": "none"} if marker else {"linewidth": 1.6}
    )
    ax.loglog(steps, values, color=ACCENT, **style)
    for end in ends:
        ax.axvline(end, color=QUIET, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1.5)
        text = ax.text(
            end,
            1.0,
            f"{end} ",
            transform=ax.get_xaxis_transform(),
            ha="right",
            va="top",
            fontsize=SMALL,
            color=QUIET,
        )
        halo(text)
        if not marker:
            ax.plot(end, values[end - 1], "o", markersize=4.5, color=CONTRAST, zorder=3)
            halo(
                ax.annotate(
                    f"{values[end - 1]:.3g}",
                    (end, values[end - 1]),
                    xytext=(-4, -5),
                    textcoords="offset points",
                    ha="right",
                    va="top",
                    fontsize=SMALL,
                    color=CONTRAST,
                )
            )
    ax.set_xlim(0.9, 1.25 * ends[1])
    ax.margins(y=0.14)
    ax.xaxis.set_major_formatter("{x:g}")
    if not marker:
        # the sums span few decades, which powers of ten would label poorly
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())


def _draw_random(ax: Axes, steps: Floats, each: float) -> None:
    """Draw what steps at random would cost: linear regret."""
    ax.plot(steps, each * steps, color=QUIET, linewidth=0.9, zorder=1.4)
    halo(
        ax.annotate(
            "at random",
            (steps[-1], each * steps[-1]),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=SMALL,
            color=QUIET,
        )
    )


def _regret_data(run: BayesResult) -> dict[str, Any]:
    cumulative = run.cumulative_regret
    return {
        "steps": len(run.points),
        "instantaneous": run.regret.tolist(),
        "cumulative": cumulative.tolist(),
        "average": (cumulative / np.arange(1, len(cumulative) + 1)).tolist(),
    }
