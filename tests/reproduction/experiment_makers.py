"""A real experiment on a coarse grid: 36 x 9 candidates, searches of 20 and 40 steps."""

from __future__ import annotations

from functools import cache

from reproduction.experiment import Experiment, run_experiment
from reproduction.subject import simulated_subject
from sunveil.grids import plane_grid

SHORT, LONG = 20, 40


@cache
def small_experiment() -> Experiment:
    """Return the simulated system, searched on a grid of ten degrees."""
    grid = plane_grid(10.0, 10.0, highest_tilt=80.0)
    return run_experiment(simulated_subject(), grid=grid, steps=(SHORT, LONG))
