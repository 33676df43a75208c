"""The paper's experiment on one system: fit score, GP-UCB for 100 and for 300 steps, DP draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sunveil.paper import FitScore, paper_grid, paper_score, posterior_score
from sunveil.privacy.dpbo import DPBO, PosteriorScore
from sunveil.reproduce.subject import Subject
from sunveil.search.bayesopt import BayesResult, SearchSettings, search_bayesian
from sunveil.search.exhaustive import SearchResult, search_exhaustive

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
    def posterior(self) -> PosteriorScore:
        """What DP-BO draws from: the posterior mean after 100 steps."""
        return posterior_score(self.short)


def run_experiment(subject: Subject) -> Experiment:
    """Run the paper's section IV on a system, with no warm start, as algorithm 2 has none."""
    grid = paper_grid()
    score = paper_score(subject.record, subject.weather)
    exhaustive = search_exhaustive(grid, score)
    optimum = float(np.max(exhaustive.scores))
    short, long = (
        search_bayesian(
            grid, score, settings=SearchSettings(steps=steps, warm_start=0), optimum=optimum
        )
        for steps in (SHORT, LONG)
    )
    return Experiment(subject, score, exhaustive, short, long)


def paper_mechanism(epsilon: float = EPSILON, delta: float = DELTA) -> DPBO:
    """Return DP-BO at the paper's ε = δ = 0.1, with the appendix's bound."""
    return DPBO(epsilon, delta)
