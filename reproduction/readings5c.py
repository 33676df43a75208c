"""Every reading of the paper under which figure 5c could look as printed, and what each costs.

The figure shows 10,000 draws at ε = δ = 0.1 gathered around the maximiser. As written, the
mechanism cannot do that; here are the readings that come to mind, each with the error of its draws
and with what is left of the privacy that it is drawn for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reproduction.answers import at_chance, azimuth_error, is_near
from reproduction.artefact import Artefact
from reproduction.experiment import DELTA, EPSILON, SHORT, Experiment
from sunveil.paper.dpbo import DPBO, Bound, nu, phi_bar
from sunveil.paper.grid_and_bayesian_search import Kernel, Scaling, SearchSettings, search_bayesian
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

# Mean azimuth errors below this look like draws around the maximiser. [degrees]
AS_PRINTED = 20.0
DRAWS_TOGETHER = 10_000
INTERVALS = 24
# Squared irradiance of a clear noon, which a normalised score of 1 stands for. [(W/m²)²]
NOON_SQUARED = 1000.0**2
CONDITIONAL, WORST, NONE = "conditional", "worst case", "none left"
NOT_COVERED = "not covered"


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of figure 5c.

    Parameters
    ----------
    name
        What is read otherwise.
    azimuth_error
        Mean azimuth error of its draws, against the maximiser. [degrees]
    near
        Share of its draws within 10° of azimuth and 6° of tilt of it.
    day_epsilon
        What one draw is worth in the worst case for any one day, if the exhaustive score is drawn
        from: the factor on the score, whose sensitivity is 1. None where no draw is made by it.
    privacy
        What is left: a conditional claim, a worst-case one, none that the argument covers, or none.
    """

    name: str
    azimuth_error: float
    near: float
    day_epsilon: float | None
    privacy: str

    @property
    def as_printed(self) -> bool:
        """Whether figure 5c could look as printed under it."""
        return self.azimuth_error < AS_PRINTED

    def to_dict(self) -> dict[str, Any]:
        """Return the reading as plain JSON types."""
        return {
            "reading": self.name,
            "mean_azimuth_error": self.azimuth_error,
            "near_share": self.near,
            "could_look_as_printed": self.as_printed,
            "epsilon_for_any_day": self.day_epsilon,
            "privacy": self.privacy,
        }


def readings_of_5c(experiment: Experiment, weekly: Experiment | None = None) -> list[Reading]:
    """Return every reading, as written first.

    Parameters
    ----------
    experiment
        The system and its searches.
    weekly
        The same system with its days in weeks, where it was run.
    """
    return [
        *_bounds(experiment),
        *_scales(experiment),
        *([] if weekly is None else _of_weeks(weekly)),
        *_kernels(experiment),
        *_without_a_draw(experiment),
    ]


def _reading(
    experiment: Experiment, name: str, chances: Array, *, factor: float | None, privacy: str
) -> Reading:
    grid, target = experiment.exhaustive.grid, experiment.exhaustive.best
    off = azimuth_error(grid.surface_azimuth, target.surface_azimuth)
    return Reading(
        name=name,
        azimuth_error=float((chances * off).sum()),
        near=float(chances[is_near(grid, target)].sum()),
        day_epsilon=factor,
        privacy=privacy,
    )


def _softmax(scores: Array, factor: float) -> Array:
    """Return probabilities ∝ exp(factor · score / 2)."""
    weights = np.exp(factor / 2.0 * (scores - scores.max()))
    return np.asarray(weights / weights.sum())


def _bounds(experiment: Experiment) -> Iterator[Reading]:
    """Yield the readings that differ in what bounds the sensitivity."""
    mean, posterior = experiment.short.mean, experiment.posterior
    mechanism = DPBO(EPSILON, DELTA)
    wide = mechanism.sensitivity(posterior)
    other = replace(mechanism, bound=Bound.ALGORITHM_2).sensitivity(posterior)
    narrow = narrow_bound(experiment)
    for name, bound, privacy in (
        (f"as written: the appendix's bound, {wide:.1f}", wide, CONDITIONAL),
        (f"algorithm 2's own bound, {other:.1f}", other, CONDITIONAL),
        (f"σ of the posterior in the bound in place of 1: {narrow:.1f}", narrow, CONDITIONAL),
    ):
        factor = EPSILON / bound
        yield _reading(experiment, name, _softmax(mean, factor), factor=factor, privacy=privacy)
    scores = experiment.exhaustive.scores
    yield _reading(
        experiment,
        "the exhaustive score with its worst-case sensitivity for a solar day, 1",
        _softmax(scores, EPSILON),
        factor=EPSILON,
        privacy=WORST,
    )
    together = EPSILON * DRAWS_TOGETHER / wide
    yield _reading(
        experiment,
        f"ε = {EPSILON * DRAWS_TOGETHER:,.0f}: what {DRAWS_TOGETHER:,} draws cost together",
        _softmax(mean, together),
        factor=together,
        privacy=NONE,
    )


def narrow_bound(experiment: Experiment) -> float:
    """Return the appendix's bound with the posterior's largest deviation where it takes 1."""
    candidates, steps = len(experiment.short.grid), len(experiment.short.points)
    deviation = math.sqrt(float(experiment.short.variance.max()))
    wide = math.sqrt(phi_bar(steps + 1, candidates, DELTA))
    return 2.0 * (deviation * wide + math.sqrt(nu(candidates, DELTA)))


def _scales(experiment: Experiment) -> Iterator[Reading]:
    """Yield the readings that differ in what a score is measured in."""
    mean = experiment.short.mean
    bound = DPBO(EPSILON, DELTA).sensitivity(experiment.posterior)
    spread = float(experiment.exhaustive.scores.std())
    for name, times, privacy in (
        ("scores standardised by their own spread", 1.0 / spread, NOT_COVERED),
        ("scores scaled by public numbers, (ℓ + 0.3) / 0.3", 1.0 / 0.3, CONDITIONAL),
        ("no 1/N before the squares", float(INTERVALS), CONDITIONAL),
        ("days not normalised: scores in (W/m²)²", NOON_SQUARED, NONE),
    ):
        factor = EPSILON * times / bound
        yield _reading(experiment, name, _softmax(mean, factor), factor=factor, privacy=privacy)


def _of_weeks(weekly: Experiment) -> Iterator[Reading]:
    factor = EPSILON / DPBO(EPSILON, DELTA).sensitivity(weekly.posterior)
    chances = _softmax(weekly.short.mean, factor)
    name = f"weeks in place of months: {len(weekly.score.days)} groups"
    yield _reading(weekly, name, chances, factor=factor, privacy=CONDITIONAL)


def _kernels(experiment: Experiment) -> Iterator[Reading]:
    """Yield the readings that differ in the unit of λ in the kernel."""
    for name, settings in (
        ("λ in degrees in the kernel", SearchSettings(kernel=Kernel((1.0, 1.0)))),
        ("λ in shares of its range", SearchSettings(kernel=Kernel((360.0, 90.0)))),
        ("a kernel that wraps at north", SearchSettings(kernel=Kernel(wrap=True))),
        ("a prior about public numbers", SearchSettings(scaling=Scaling.public(-0.3, 0.3))),
    ):
        settings = replace(settings, steps=SHORT, warm_start=0)
        run = search_bayesian(experiment.short.grid, experiment.score, settings=settings)
        bound = DPBO(EPSILON, DELTA).sensitivity(experiment.posterior)
        factor = EPSILON / bound
        yield _reading(
            experiment,
            name,
            _softmax(run.mean, factor),
            factor=factor / run.scaling.spread,
            privacy=CONDITIONAL,
        )


def _without_a_draw(experiment: Experiment) -> Iterator[Reading]:
    """Yield the readings in which something else than algorithm 2's draw is shown."""
    short = experiment.short
    visited = np.bincount(short.points, minlength=len(short.grid)).astype(np.float64)
    factor = EPSILON / DPBO(EPSILON, DELTA).sensitivity(experiment.posterior)
    among = np.where(visited > 0.0, _softmax(short.mean, factor), 0.0)
    top = (short.mean == short.mean.max()).astype(np.float64)
    for name, chances in (
        (f"draws among the {int((visited > 0).sum())} points looked at", among),
        ("the points looked at, as often as they were", visited),
        ("the highest posterior mean, without any draw", top),
    ):
        yield _reading(experiment, name, chances / chances.sum(), factor=None, privacy=NONE)


def readings_figure(experiment: Experiment, weekly: Experiment | None = None) -> Artefact:
    """Draw the mean azimuth error of every reading of figure 5c.

    Parameters
    ----------
    experiment, weekly
        The system and its searches, by month and by week.
    """
    found = readings_of_5c(experiment, weekly)
    chance = at_chance(experiment.exhaustive.grid, experiment.exhaustive.best).azimuth_error
    figure = loose_figure(9.2, 5.4)
    ax = figure.subplots()
    dress(ax)
    ax.grid(visible=False, axis="y")
    rows = np.arange(len(found))[::-1]
    colours = {CONDITIONAL: ACCENT, WORST: "#009E73", NONE: CONTRAST, NOT_COVERED: QUIET}
    for row, each in zip(rows, found, strict=True):
        colour = colours[each.privacy]
        ax.hlines(row, 0.0, each.azimuth_error, color=colour, linewidth=1.2, alpha=0.5)
        ax.plot(each.azimuth_error, row, "o", color=colour, markersize=5.5)
        ax.text(
            102.0,
            row,
            each.privacy,
            fontsize=SMALL,
            color=colour,
            va="center",
        )
    ax.axvline(chance, color=QUIET, linewidth=0.9, linestyle=(0, (3, 2)))
    ax.axvspan(0.0, AS_PRINTED, color="#FBF3DC", zorder=0.3, linewidth=0)
    ax.text(
        chance - 0.8, len(found) - 0.35, "chance", fontsize=SMALL, color=QUIET, ha="right", va="top"
    )
    ax.text(0.8, len(found) - 0.35, "as printed", fontsize=SMALL, color=INK, va="top")
    ax.text(102.0, len(found) - 0.35, "privacy", fontsize=SMALL, color=QUIET, va="top")
    ax.set_yticks(rows, [each.name for each in found])
    ax.set_xlim(0.0, 100.0)
    ax.set_ylim(-0.6, len(found) - 0.2)
    name_axes(ax, x="Mean azimuth error of the draws, against the maximiser [°]")
    if experiment.subject.private:
        mark_private(ax)
    fit = [each.name for each in found if each.as_printed]
    return Artefact(
        name="5c-readings",
        title="The readings of figure 5c",
        words=(
            "The error of the draws under every reading of the paper, and what is left of the"
            f" privacy. {len(fit)} of {len(found)} could look as printed: {'; '.join(fit)}."
        ),
        figure=figure,
        data={
            "private": experiment.subject.private,
            "epsilon": EPSILON,
            "delta": DELTA,
            "chance_azimuth_error": chance,
            "readings": [each.to_dict() for each in found],
        },
    )
