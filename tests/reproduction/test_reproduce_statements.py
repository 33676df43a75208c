from __future__ import annotations

from dataclasses import replace

import numpy as np
from experiment_makers import small_experiment

from reproduction.figure6 import DELTAS, EPSILONS
from reproduction.statements import (
    accuracy,
    falls_with_delta,
    falls_with_epsilon,
    likelihood,
    maximiser,
    regret,
    sampling,
)
from sunveil.paper import DPBO
from sunveil.site import Plane


def rmse(epsilon: float, delta: float) -> float:
    experiment = small_experiment()
    grid, best = experiment.exhaustive.grid, experiment.exhaustive.best
    chances = DPBO(epsilon, delta).probabilities(experiment.posterior)
    along = (chances @ grid.surface_azimuth - best.surface_azimuth) / 360
    up = (chances @ grid.surface_tilt - best.surface_tilt) / 90
    return float(np.sqrt((along**2 + up**2) / 2))


def test_a_maximiser_near_the_reported_plane_holds_and_a_far_one_does_not():
    experiment = small_experiment()
    best = experiment.exhaustive.best
    for turn, holds in ((-9.0, True), (11.0, False), (180.0, False)):
        plane = Plane((best.surface_azimuth + turn) % 360.0, best.surface_tilt)
        told = maximiser(replace(experiment, subject=replace(experiment.subject, reported=plane)))
        assert told.holds is holds
    assert (
        "11° of azimuth"
        in maximiser(
            replace(
                experiment,
                subject=replace(
                    experiment.subject,
                    reported=Plane(best.surface_azimuth + 11.0, best.surface_tilt),
                ),
            )
        ).why
    )


def test_the_papers_likelihood_cannot_be_told_from_other_readings():
    told = likelihood(small_experiment())
    assert told.holds is None
    # the root of 0.31 over twelve months
    assert "16.1%" in told.why


def test_sampling_holds_only_if_the_fullest_region_is_at_the_maximiser():
    experiment = small_experiment()
    short, best = experiment.short, experiment.exhaustive.best_index
    # as steep, and the other way: azimuths stand in tens of degrees, tilt by tilt
    away = best // 36 * 36 + (best + 18) % 36
    for where, holds in ((best, True), (away, False)):
        points = np.concatenate([short.points[:9], [best], np.full(10, where)])
        changed = replace(short, points=points, scores=experiment.exhaustive.scores[points])
        assert sampling(replace(experiment, short=changed)).holds is holds


def test_linear_regret_does_not_hold_as_sublinear():
    experiment = small_experiment()
    assert regret(experiment).holds is True
    worst = int(experiment.exhaustive.scores.argmin())
    runs = [
        replace(
            run,
            points=np.full(len(run.points), worst),
            scores=np.full(len(run.points), experiment.exhaustive.scores[worst]),
        )
        for run in (experiment.short, experiment.long)
    ]
    assert regret(replace(experiment, short=runs[0], long=runs[1])).holds is False


def test_the_papers_accuracy_does_not_hold_and_the_bound_says_why():
    experiment = small_experiment()
    told = accuracy(experiment, draws=500)
    assert told.holds is False
    bound = DPBO(0.1, 0.1).sensitivity(experiment.posterior)
    assert f"bound is {bound:.1f}" in told.why
    assert f"at most {0.1 * np.ptp(experiment.short.mean) / (2 * bound):.4f}" in told.why


def test_monotonicity_in_epsilon_is_told_as_it_is():
    told = falls_with_epsilon(small_experiment(), draws=500)
    values = [rmse(epsilon, 0.1) for epsilon in EPSILONS if epsilon <= 1e4]
    assert told.holds is bool((np.diff(values) < 0).all())
    assert f"{values[0]:.4f} to {values[-1]:.4f}" in told.measured


def test_monotonicity_in_delta_is_told_with_its_size():
    told = falls_with_delta(small_experiment(), draws=500)
    table = np.array([[rmse(e, d) for e in EPSILONS if e <= 1e4] for d in DELTAS])
    assert told.holds is bool((np.diff(table, axis=0) < 0).all())
    here = rmse(0.1, DELTAS[-1]) - rmse(0.1, DELTAS[0])
    assert f"{here:+.6f} at ε = 0.1" in told.measured
