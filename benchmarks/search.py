"""GP-UCB and the paper's private draw: ``python -m benchmarks.search``.

Times 300 steps over the paper's 360 x 90 candidates against the same loop with scikit-learn, times
10,000 simulated draws, and counts how often 100 steps find the maximiser of the paper's fit score
under each reading of its kernel's unit.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from sunveil.grids import Grid
from sunveil.meters import from_pandas
from sunveil.paper.dpbo import DPBO
from sunveil.paper.fit import FitScore, PosteriorScore, paper_grid, paper_score
from sunveil.paper.grid_and_bayesian_search import (
    BayesResult,
    Kernel,
    Scaling,
    SearchResult,
    SearchSettings,
    phi,
    search_bayesian,
    search_exhaustive,
)
from sunveil.simulate import simulate_fleet
from sunveil.site import Array

SEED = 30_303
SYSTEMS = 20
LONG, SHORT, DRAWS = 300, 100, 10_000
RADIAN = 180.0 / math.pi
# What the kernel's unit may mean, and what is done to scores before they meet the prior.
PRIORS = {
    "one degree, (1°, 1°)": ((1.0, 1.0), Scaling()),
    "the unit square, (360°, 90°)": ((360.0, 90.0), Scaling()),
    "one radian, (57.3°, 57.3°)": ((RADIAN, RADIAN), Scaling()),
    "one radian, (ℓ + 0.3) / 0.3": ((RADIAN, RADIAN), Scaling.public(-0.3, 0.3)),
}


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A simulated system with the fit score of every candidate."""

    score: FitScore
    exhaustive: SearchResult

    def looked_up(self, part: Grid) -> Array:
        """Return the scores of integer planes without computing them, so that only the GP runs."""
        index = 360 * part.surface_tilt.astype(int) + part.surface_azimuth.astype(int)
        return self.exhaustive.scores[index]


def cases(count: int) -> Iterator[Case]:
    """Yield simulated systems whose seed is used nowhere else."""
    grid = paper_grid()
    for truth, power, weather in simulate_fleet(count, seed=SEED, sky_minutes=10):
        record = from_pandas(power, system_id=truth.system_id, label="start", power_unit="kW")
        score = paper_score(record, weather)
        yield Case(score, search_exhaustive(grid, score))


def run(score: Callable[[Grid], Array], settings: SearchSettings) -> tuple[BayesResult, float]:
    """Return a run of GP-UCB over the paper's grid and its seconds."""
    grid = paper_grid()
    began = time.perf_counter()
    found = search_bayesian(grid, score, settings=settings)
    return found, time.perf_counter() - began


def with_scikit_learn(case: Case, steps: int) -> tuple[list[int], Array, Array, float]:
    """Return the picks of the same loop with scikit-learn, its last posterior, and its seconds."""
    grid, settings = paper_grid(), SearchSettings()
    points = settings.kernel.coordinates(grid.surface_azimuth, grid.surface_tilt)
    mean, deviation = np.zeros(len(grid)), np.ones(len(grid))
    seen: list[int] = []
    began = time.perf_counter()
    for t in range(1, steps + 1):
        width = math.sqrt(phi(t, len(grid), settings.delta))
        seen.append(int((mean + width * deviation).argmax()))
        model = GaussianProcessRegressor(
            RBF(1.0 / math.sqrt(2.0), "fixed"), alpha=settings.jitter, optimizer=None
        )
        model.fit(points[seen], case.exhaustive.scores[seen])
        mean, deviation = model.predict(points, return_std=True)
    return seen, mean, deviation**2, time.perf_counter() - began


def near(found: BayesResult, case: Case) -> bool:
    """Tell whether a run came within 10° of azimuth and 6° of tilt of the maximiser."""
    one, best = found.best, case.exhaustive.best
    turned = (one.surface_azimuth - best.surface_azimuth + 180.0) % 360.0 - 180.0
    return abs(turned) <= 10.0 and abs(one.surface_tilt - best.surface_tilt) <= 6.0


def print_times(case: Case) -> None:
    """Print what 300 steps and 10,000 draws take."""
    settings = SearchSettings(steps=LONG, warm_start=0)
    run(case.looked_up, SearchSettings(steps=20, warm_start=0))
    with_scikit_learn(case, 5)
    ours, seconds = run(case.looked_up, settings)
    _, whole = run(case.score, settings)
    seen, mean, variance, theirs = with_scikit_learn(case, LONG)
    same = int((ours.points == seen).sum())
    score = PosteriorScore(ours.mean, len(ours.points))
    began = time.perf_counter()
    DPBO(0.1, 0.1).simulate(score, DRAWS, rng=np.random.default_rng(SEED))
    drawn = time.perf_counter() - began
    print(f"| {LONG} steps of GP-UCB over 360 x 90 candidates | |\n|---|---|")
    print(f"| ours, scores looked up [s] | {seconds:.2f} |")
    print(f"| ours, fit score computed at each step [s] | {whole:.2f} |")
    print(f"| scikit-learn, scores looked up [s] | {theirs:.1f} |")
    print(f"| scikit-learn over ours | {theirs / seconds:.0f} |")
    print(f"| the same picks | {same} of {LONG} |")
    print(f"| largest difference of the mean | {np.abs(ours.mean - mean).max():.1e} |")
    print(f"| largest difference of the variance | {np.abs(ours.variance - variance).max():.1e} |")
    print(f"| {DRAWS:,} simulated draws over {len(ours.grid):,} candidates [s] | {drawn:.3f} |")


def print_found(fleet: list[Case]) -> None:
    """Print how often 100 steps find the maximiser, and how far off the worst plane is."""
    print(f"\n| unit of the kernel | azimuth wraps | found of {len(fleet)} | farthest plane [°] |")
    print("|---|---|---|---|")
    for words, (scale, scaling) in PRIORS.items():
        for wrap in (False, True):
            kernel = Kernel(scale, wrap)
            settings = SearchSettings(steps=SHORT, warm_start=0, kernel=kernel, scaling=scaling)
            runs = [run(case.looked_up, settings)[0] for case in fleet]
            found = sum(near(one, case) for one, case in zip(runs, fleet, strict=True))
            farthest = max(
                one.best.angle_to(case.exhaustive.best)
                for one, case in zip(runs, fleet, strict=True)
            )
            print(f"| {words} | {'yes' if wrap else 'no'} | {found} | {farthest:.1f} |", flush=True)


def main() -> None:
    """Print both tables."""
    # scikit-learn warns of variances that rounding made negative, at every step
    warnings.filterwarnings("ignore", message="Predicted variances smaller than 0")
    fleet = []
    for number, case in enumerate(cases(SYSTEMS), start=1):
        print(f"system {number} of {SYSTEMS}", end="\r", file=sys.stderr)
        fleet.append(case)
    print(file=sys.stderr)
    print_times(fleet[0])
    print_found(fleet)


if __name__ == "__main__":
    main()
