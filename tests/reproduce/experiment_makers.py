"""A real experiment on a coarse grid: 36 x 9 candidates, searches of 20 and 40 steps."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from sunveil.grids import plane_grid
from sunveil.paper import paper_score
from sunveil.reproduce.experiment import Experiment
from sunveil.reproduce.subject import simulated_subject
from sunveil.search.bayesopt import SearchSettings, search_bayesian
from sunveil.search.exhaustive import search_exhaustive

SHORT, LONG = 20, 40


@cache
def small_experiment() -> Experiment:
    """Return the simulated system, searched on a grid of ten degrees."""
    subject = simulated_subject()
    grid = plane_grid(10.0, 10.0, highest_tilt=80.0)
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


def private_experiment() -> Experiment:
    """Return the same as if it were somebody's, with no plane reported."""
    experiment = small_experiment()
    return replace(experiment, subject=replace(experiment.subject, reported=None, private=True))
