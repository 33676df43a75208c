"""The paper's experiment on one system: fit score, GP-UCB for 100 and for 300 steps, DP draws."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reproduction.subject import Subject
from sunveil.grids import Grid
from sunveil.paper.dpbo import DPBO
from sunveil.paper.fit import FitScore, PosteriorScore, paper_grid, paper_score, posterior_score
from sunveil.paper.grid_and_bayesian_search import (
    BayesResult,
    SearchResult,
    SearchSettings,
    search_bayesian,
    search_exhaustive,
)

SHORT, LONG = 100, 300
EPSILON = DELTA = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """One system, searched exhaustively and by GP-UCB.

    Parameters
    ----------
    subject
        The system.
    score
        Its fit score, as a function of candidates.
    exhaustive
        The fit score of all 360 x 90 candidates.
    short, long
        GP-UCB over the same candidates, for 100 and for 300 steps.
    """

    subject: Subject
    score: FitScore
    exhaustive: SearchResult
    short: BayesResult
    long: BayesResult

    @property
    def misfit(self) -> float:
        """Root mean square misfit of the maximiser, as a share of a day's peak."""
        return math.sqrt(max(-float(self.exhaustive.scores.max()), 0.0) / len(self.score.days))

    @property
    def posterior(self) -> PosteriorScore:
        """What DP-BO draws from: the posterior mean after 100 steps."""
        return posterior_score(self.short)


def run_experiment(
    subject: Subject, *, grid: Grid | None = None, steps: tuple[int, int] = (SHORT, LONG)
) -> Experiment:
    """Run the paper's section IV on a system, its eq. 2 to the letter.

    There is no warm start, as algorithm 2 has none.

    Parameters
    ----------
    subject
        The system.
    grid
        The candidates; the paper's 360 x 90 when left out.
    steps
        Of the two runs of GP-UCB.
    """
    grid = grid or paper_grid()
    score = paper_score(subject.record, subject.weather, group=subject.group, to_the_letter=True)
    exhaustive = search_exhaustive(grid, score)
    optimum = float(np.max(exhaustive.scores))
    short, long = (
        search_bayesian(
            grid, score, settings=SearchSettings(steps=each, warm_start=0), optimum=optimum
        )
        for each in steps
    )
    return Experiment(subject, score, exhaustive, short, long)


def paper_mechanism(epsilon: float = EPSILON, delta: float = DELTA) -> DPBO:
    """Return DP-BO at the paper's ε = δ = 0.1, with the appendix's bound."""
    return DPBO(epsilon, delta)
