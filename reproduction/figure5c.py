"""What draws from DP-BO look like at ε = δ = 0.1, and how flat their distribution is: figure 5c."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reproduction.answers import (
    at_chance,
    azimuth_error,
    expected_answer,
    informative_range,
    is_near,
    short_number,
)
from reproduction.artefact import Artefact
from reproduction.experiment import DELTA, EPSILON, Experiment, paper_mechanism
from reproduction.hexagons import (
    colour_bar,
    draw_hexagons,
    dress_map,
    hexagons,
    legend_below,
    region_data,
)
from reproduction.likelihood import mark_planes, outline_likelihood, plane_data
from sunveil.paper.dpbo import DPBO
from sunveil.paper.fit import PosteriorScore
from sunveil.plots.style import (
    ACCENT,
    CONTRAST,
    INK,
    QUIET,
    SMALL,
    dress,
    loose_figure,
    mark_private,
    name_axes,
)
from sunveil.site import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

SEED = 2016
# Colours end at the count of all but the fullest regions.
FULLEST = 0.998
BINS = np.arange(0.0, 181.0, 10.0)


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedDraws:
    """Some draws at one ε, beside what is exactly to be expected of them.

    Parameters
    ----------
    epsilon
        Of one draw.
    largest, smallest
        The probabilities of the likeliest and of the least likely candidate, times |Λ|.
    exact_error, error
        Mean azimuth error, exact and of the draws. [degrees]
    near, chance_near
        Share of the draws near the maximiser, and of all candidates.
    counts
        Draws in each hexagonal region.
    relative
        The same over what an even spread would give; NaN in regions without a candidate.
    histogram
        Share of the draws by azimuth error, in bins of 10°.
    """

    epsilon: float
    largest: float
    smallest: float
    exact_error: float
    error: float
    near: float
    chance_near: float
    counts: NDArray[np.intp]
    relative: Array
    histogram: Array

    def to_dict(self) -> dict[str, Any]:
        """Return the draws as plain JSON types."""
        return {
            "epsilon": self.epsilon,
            "largest_probability_times_candidates": self.largest,
            "smallest_probability_times_candidates": self.smallest,
            "mean_azimuth_error_exact": self.exact_error,
            "mean_azimuth_error_of_draws": self.error,
            "near_share_of_draws": self.near,
            "near_share_of_candidates": self.chance_near,
            "count_by_region": self.counts.tolist(),
            "share_by_azimuth_error": self.histogram.tolist(),
        }


def simulate_draws(experiment: Experiment, mechanism: DPBO, *, draws: int) -> SimulatedDraws:
    """Return simulated draws from the posterior mean of the short run, with a fixed seed.

    Parameters
    ----------
    experiment
        The system and its searches.
    mechanism
        What is drawn by.
    draws
        How many answers.
    """
    grid, posterior = experiment.exhaustive.grid, experiment.posterior
    target, cells = experiment.exhaustive.best, hexagons()
    chosen = mechanism.simulate(posterior, draws, rng=np.random.default_rng(SEED))
    chances = mechanism.probabilities(posterior)
    azimuth, tilt = grid.surface_azimuth[chosen], grid.surface_tilt[chosen]
    counts = cells.count(azimuth, tilt)
    even = cells.count(grid.surface_azimuth, grid.surface_tilt) * (draws / len(grid))
    off, close = azimuth_error(azimuth, target.surface_azimuth), is_near(grid, target)
    return SimulatedDraws(
        epsilon=mechanism.epsilon,
        largest=float(chances.max() * len(grid)),
        smallest=float(chances.min() * len(grid)),
        exact_error=expected_answer(grid, chances, target).azimuth_error,
        error=float(off.mean()),
        near=float(close[chosen].mean()),
        chance_near=float(close.mean()),
        counts=counts,
        relative=np.divide(counts, even, out=np.full(len(cells), np.nan), where=even > 0.0),
        histogram=np.histogram(off, BINS)[0] / draws,
    )


def dp_draws(experiment: Experiment, *, draws: int) -> Artefact:
    """Draw many answers of DP-BO at ε = δ = 0.1 over the log-likelihood: figure 5c.

    Beside it stand the answers at the ε at which half of what can be known of the azimuth is told.

    Parameters
    ----------
    experiment
        The system and its searches.
    draws
        How many answers, each of which would cost ε = δ = 0.1 if it were published.
    """
    found = informative_range(experiment)
    mechanism, posterior = paper_mechanism(), experiment.posterior
    paper = simulate_draws(experiment, mechanism, draws=draws)
    others = [
        simulate_draws(experiment, DPBO(epsilon, DELTA), draws=draws)
        for epsilon in (found.first, found.half)
        if epsilon is not None
    ]
    chance = at_chance(experiment.exhaustive.grid, experiment.exhaustive.best).azimuth_error
    figure = loose_figure(10.0, 5.7)
    panels = figure.subplots(2, 2)
    cells = _draw_map(panels[0, 0], experiment, paper)
    if others:
        more = _draw_map(panels[0, 1], experiment, others[-1])
        colour_bar([panels[0, 1]], more, "Draws in a hexagon")
    else:
        panels[0, 1].set_axis_off()
    colour_bar([panels[0, 0]], cells, "Draws in a hexagon")
    _draw_extremes(panels[1, 0], posterior, [paper, *others])
    _draw_errors(panels[1, 1], [paper, *others])
    legend_below(panels[0, 0])
    if experiment.subject.private:
        mark_private(panels[0, 0])
    return Artefact(
        name="5c-dp-draws",
        title=f"{draws:,} draws of DP-BO at ε = δ = 0.1 (figure 5c)",
        words=(
            f"At ε = {EPSILON:g} the likeliest candidate is drawn {paper.largest:.4f} times as"
            " often as if all were equally likely, and the least likely"
            f" {paper.smallest:.4f} times: the draws lie {paper.error:.1f}° from the maximiser's"
            " azimuth on average, where chance"
            f" gives {chance:.1f}°. {_other_words(others)} To publish all {draws:,} would cost"
            f" ε = {mechanism.guarantee(posterior, draws=draws).epsilon:,.6g}."
        ),
        figure=figure,
        data={
            "private": experiment.subject.private,
            "draws": draws,
            "seed": SEED,
            "delta": DELTA,
            "bound": mechanism.bound.value,
            "sensitivity": mechanism.sensitivity(posterior),
            "score_span": float(np.ptp(posterior.mean)),
            "maximiser": plane_data(experiment.exhaustive.best),
            "chance_azimuth_error": chance,
            "information": found.to_dict(),
            "regions": region_data(hexagons()),
            "at": [each.to_dict() for each in (paper, *others)],
            "guarantee": {
                "one_draw": mechanism.guarantee(posterior).to_dict(),
                "all_draws": mechanism.guarantee(posterior, draws=draws).to_dict(),
            },
        },
    )


def _other_words(others: list[SimulatedDraws]) -> str:
    if not others:
        return "No ε makes the answers better than chance."
    return " ".join(
        f"At ε = {short_number(each.epsilon)} it is {each.exact_error:.1f}°." for each in others
    )


def _draw_map(ax: Axes, experiment: Experiment, drawn: SimulatedDraws) -> PolyCollection:
    """Colour regions by how many draws fell in them, under lines of log-likelihood."""
    dress_map(
        ax, title=f"ε = {short_number(drawn.epsilon)}: azimuth error {drawn.error:.1f}° on average"
    )
    counts = np.where(np.isnan(drawn.relative), np.nan, drawn.counts.astype(np.float64))
    cells = draw_hexagons(ax, counts, cmap="YlGnBu", zorder=0.5)
    cells.set_clim(0.0, max(float(np.nanquantile(counts, FULLEST)), 1.0))
    outline_likelihood(ax, experiment.short)
    mark_planes(ax, experiment)
    return cells


def _draw_extremes(ax: Axes, posterior: PosteriorScore, drawn: list[SimulatedDraws]) -> None:
    """Draw the probabilities of the likeliest and the least likely candidate against ε."""
    dress(ax)
    epsilons = np.logspace(-2.0, 4.0, 61)
    ends = np.array([_extremes(posterior, epsilon) for epsilon in epsilons])
    for column, colour, words in ((0, CONTRAST, "likeliest"), (1, ACCENT, "least likely")):
        ax.plot(epsilons, ends[:, column], color=colour, linewidth=1.7, label=words)
    for each in drawn:
        ax.axvline(each.epsilon, color=QUIET, linewidth=0.8, linestyle=(0, (3, 2)), zorder=1.5)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(0.01, 100.0)
    ax.set_xlim(epsilons[0], epsilons[-1])
    ax.yaxis.set_major_formatter("{x:g}")
    ax.legend(loc="lower left", framealpha=1.0, edgecolor="white", fontsize=SMALL, labelcolor=INK)
    name_axes(
        ax, x="Privacy parameter ε", y="Probability times |Λ|", title="How flat the distribution is"
    )


def _extremes(posterior: PosteriorScore, epsilon: float) -> tuple[float, float]:
    chances = DPBO(epsilon, DELTA).probabilities(posterior)
    return float(chances.max() * len(chances)), float(chances.min() * len(chances))


def _draw_errors(ax: Axes, drawn: list[SimulatedDraws]) -> None:
    """Draw how the draws' azimuth errors are spread, beside an even spread."""
    dress(ax)
    looks = ((CONTRAST, "-"), (ACCENT, "-"), ("#009E73", (0, (5, 1.5))))
    for each, (colour, line) in zip(drawn, looks, strict=False):
        ax.stairs(
            100.0 * each.histogram,
            BINS,
            baseline=None,
            color=colour,
            linestyle=line,
            linewidth=1.6,
            label=f"ε = {short_number(each.epsilon)}",
        )
    ax.axhline(100.0 / (len(BINS) - 1), color=QUIET, linewidth=0.9, label="even spread")
    ax.set_xlim(0.0, 180.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xticks([0, 45, 90, 135, 180], ["0°", "45°", "90°", "135°", "180°"])
    ax.legend(loc="upper right", frameon=False, fontsize=SMALL, labelcolor=INK)
    name_axes(
        ax,
        x="Azimuth error of a draw",
        y="Draws per 10° [%]",
        title="How far draws lie from the maximiser",
    )
