"""DP-BO (algorithm 2) and its conditional guarantee."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, whole
from sunveil.errors import ParameterError
from sunveil.meters.record import Record
from sunveil.paper.fit import PosteriorScore, paper_grid, paper_score, posterior_score
from sunveil.paper.grid_and_bayesian_search import SearchSettings, check_delta, phi, search_bayesian
from sunveil.privacy.guarantees import ConditionalGuarantee, Readings, check_epsilon
from sunveil.privacy.mechanisms import draw_exponential
from sunveil.weather.weather_data import Weather

Array = NDArray[np.float64]

# Posterior means are rounded down to whole steps of this size before the exact draw, and clipped to
# a range that 64 bits can count in such steps: neither moves neighbours further apart.
RESOLUTION = 2.0**-20
LARGEST = 2.0**40
PROOF = "docs/reproduction.md"

CONDITION = (
    "It holds if the fit scores of both neighbours are independent draws from the Gaussian process"
    " prior, with probability 1 - δ over those draws; it does not hold for the worst case."
)

DATA_SCALED = "The scores were scaled by the data before the draw, which the argument leaves out."

UNPROVEN_BOUND = (
    "It was drawn with algorithm 2's constant, smaller than the one the appendix argues."
)

VACUOUS = "With δ of 1 or more it says nothing."

# More would not fit into memory.
MOST_DRAWS = 1_000_000_000


class Bound(StrEnum):
    """Which of the paper's two constants bounds the posterior mean's sensitivity."""

    APPENDIX = "appendix"
    ALGORITHM_2 = "algorithm-2"


def phi_bar(t: int, candidates: int, delta: float) -> float:
    """Return φ̄_t = 2 log(|Λ| t² π² / 2δ): φ_t with a third of δ (appendix)."""
    return phi(t, candidates, delta / 3.0)


def nu(candidates: int, delta: float) -> float:
    """Return ν = log(6|Λ| / δ) (appendix)."""
    return math.log(6.0 * candidates / delta)


def algorithm_2_constant(candidates: int, delta: float) -> float:
    """Return the paper's c = √(2 log(2|Λ| / δ)), which algorithm 2 uses."""
    return math.sqrt(2.0 * math.log(2.0 * candidates / delta))


@checked
def sensitivity(candidates: int, steps: int, delta: float, bound: Bound = Bound.APPENDIX) -> float:
    """Return the paper's bound Δ on ``|μ'_T - μ_T|``, which holds under the prior only."""
    check_delta(delta)
    if candidates < 1 or steps < 1:
        raise ParameterError("the sensitivity bound needs at least one candidate and one step")
    if bound is Bound.ALGORITHM_2:
        return 2.0 * math.sqrt(phi(steps + 1, candidates, delta)) + algorithm_2_constant(
            candidates, delta
        )
    wide = math.sqrt(phi_bar(steps + 1, candidates, delta))
    return 2.0 * (wide + math.sqrt(nu(candidates, delta)))


@dataclass(frozen=True, slots=True)
class DPBO:
    """Algorithm 2 of the paper: one conditional private draw of a plane.

    Parameters
    ----------
    epsilon, delta
        Nominal cost of one draw.
    bound
        Which of the paper's constants is used.

    Privacy
    -------
    (ε, δ) for one reading per draw, **conditional** on the Gaussian process prior; ``n`` draws cost
    ``n`` times as much. Argument: ``docs/reproduction.md``.
    """

    epsilon: float
    delta: float
    bound: Bound = Bound.APPENDIX

    def __post_init__(self) -> None:
        check_fields(self)
        check_epsilon(self.epsilon)
        check_delta(self.delta)

    @checked
    def sensitivity(self, score: PosteriorScore) -> float:
        """Return the bound Δ that the draw is made with."""
        return sensitivity(len(score.mean), score.steps, self.delta, self.bound)

    @checked
    def probabilities(self, score: PosteriorScore) -> Array:
        """Return Pr[λ] ∝ exp(ε μ_T(λ) / 2Δ) of every candidate."""
        exponent = self.epsilon / (2.0 * self.sensitivity(score)) * (score.mean - score.mean.max())
        weights = np.exp(exponent)
        return np.asarray(weights / weights.sum())

    @checked
    def draw(self, score: PosteriorScore) -> int:
        """Return the index of one candidate, drawn in exact arithmetic: one release."""
        mean = np.clip(score.mean, -LARGEST, LARGEST)
        levels = np.floor(mean / RESOLUTION).astype(np.int64)
        return draw_exponential(
            levels,
            sensitivity=math.ceil(self.sensitivity(score) / RESOLUTION),
            epsilon=self.epsilon,
        )

    @checked
    def simulate(
        self, score: PosteriorScore, draws: int, *, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Return many draws by floating-point randomness: to look at, never to release.

        Parameters
        ----------
        score
            What is drawn from.
        draws
            How many.
        rng
            Source of randomness, which is no source of privacy.
        """
        _check_draws(draws)
        total = np.cumsum(self.probabilities(score))
        return np.asarray(np.searchsorted(total, rng.random(draws) * total[-1], side="right"))

    @checked
    def guarantee(self, score: PosteriorScore, *, draws: int = 1) -> ConditionalGuarantee:
        """Return what some draws from one score cost together: ``draws`` times (ε, δ)."""
        _check_draws(draws)
        delta = draws * self.delta
        caveats = {
            DATA_SCALED: score.data_scaled,
            UNPROVEN_BOUND: self.bound is Bound.ALGORITHM_2,
            VACUOUS: delta >= 1.0,
        }
        return ConditionalGuarantee(
            unit=Readings(1),
            epsilon=draws * self.epsilon,
            delta=delta,
            proof=PROOF,
            condition=CONDITION,
            caveats=tuple(words for words, said in caveats.items() if said),
        )


def _check_draws(draws: object) -> None:
    whole("draws", draws, low=1, high=MOST_DRAWS)


DELTA = 0.1


def posterior(record: Record, weather: Weather, *, delta: float) -> PosteriorScore:
    # As private as the readings.
    settings = SearchSettings(warm_start=0, delta=delta)
    return posterior_score(
        search_bayesian(paper_grid(), paper_score(record, weather), settings=settings)
    )
