"""Exact audit of mechanisms on adversarial neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from sunveil._options import whole
from sunveil.errors import ParameterError
from sunveil.privacy.discrete_noise import (
    CountNoise,
    Counts,
    DiscreteGaussian,
    DiscreteLaplace,
    Sensitivity,
)
from sunveil.privacy.guarantees import (
    ConcentratedGuarantee,
    Days,
    Guaranteed,
    Readings,
    System,
    Unit,
    check_release_epsilon,
)
from sunveil.privacy.mechanisms import Axis, Exponential, PermuteAndFlip, Placement, Score
from sunveil.privacy.two_level_window import best_window

Array = NDArray[np.float64]

Input = TypeVar("Input")

AnyInput = TypeVar("AnyInput", contravariant=True)

PAIRS, DRAWS, FEWEST_PAIRS, FEWEST_DRAWS, MOST = 2000, 1000, 40, 200, 10_000_000

TIGHT = 0.8  # from this share of the claim on, it could not be much smaller

# A right sampler is called wrong less than once in a million times: the chi-square law is exact for
# many draws per cell only, and its tail at this level holds to within that for this many.
ALARM_P_VALUE = 1e-9

FEWEST_PER_CELL = 50.0

# Inputs of mechanisms: many candidates, one far ahead; a grid of planes and capacities.
CANDIDATES, LEAD = 200, 20.0  # [nats]

AXES = (Axis(24, 15.0, wraps=True), Axis(7, 15.0), Axis(10, 0.3))

UNITS: tuple[tuple[Unit, int], ...] = ((Readings(1), 1), (Days(1), 128))


class Mechanism(Protocol[AnyInput]):
    """What can be audited: it says what it promises and how likely each output is, and draws."""

    def guarantee(self, score: AnyInput, /) -> Guaranteed: ...

    def probabilities(self, score: AnyInput, /) -> Array: ...

    def draw(self, score: AnyInput, /) -> int | tuple[int, ...]: ...


def privacy_loss(mechanism: Mechanism[Input], first: Input, second: Input) -> float:
    """Return the largest |log p - log q| over all outputs: what one draw can tell a pair apart."""
    return _loss(_logs(mechanism, first), _logs(mechanism, second))


@dataclass(frozen=True, slots=True)
class ExactFinding:
    """How far apart a mechanism's neighbours are at most, and what it claims."""

    mechanism: str
    unit: str
    epsilon: float
    largest: float  # infinite where one neighbour has outputs that the other cannot have
    pairs: int

    @property
    def holds(self) -> bool:
        """Whether no pair is further apart than claimed. No allowance is made for rounding."""
        return self.largest <= self.epsilon

    @property
    def share(self) -> float:
        """The largest loss as a share of the claimed ε."""
        return self.largest / self.epsilon

    @property
    def verdict(self) -> str:
        """What a table says of it; tight: the claim could not be much smaller."""
        return ("holds, tight" if self.share >= TIGHT else "holds") if self.holds else "BROKEN"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types; an infinite loss is null."""
        largest = self.largest if math.isfinite(self.largest) else None
        return {**asdict(self), "largest": largest, "holds": self.holds}


def audit_exact(
    mechanism: Mechanism[Input], pairs: Iterable[tuple[Input, Input]], *, name: str | None = None
) -> ExactFinding:
    """Return the largest privacy loss of a mechanism over pairs of neighbours."""
    claim: Any = None
    largest, count, before = 0.0, 0, None
    for first, second in pairs:
        ours, other = mechanism.guarantee(first), mechanism.guarantee(second)
        if ours != other or claim not in (None, ours) or isinstance(ours, ConcentratedGuarantee):
            raise ParameterError("an audit's pairs must all be under one claim of ε")
        # pairs come with many neighbours of one record after another
        if before is not first:
            claim, before, logs = ours, first, _logs(mechanism, first)
        largest = max(largest, _loss(logs, _logs(mechanism, second)))
        count += 1
    if claim is None:
        raise ParameterError("an audit needs at least one pair of neighbours")
    made = (name or type(mechanism).__name__, str(claim.unit), claim.epsilon)
    return ExactFinding(*made, largest, count)


@dataclass(frozen=True, slots=True)
class SamplerFinding:
    """How some draws compare with the probabilities that were computed for them."""

    mechanism: str
    unit: str
    draws: int
    cells: int  # outputs, or groups of rare outputs, that were distinguished
    p_value: float  # how often a right sampler is as far off; 0 for an impossible draw

    @property
    def holds(self) -> bool:
        """Whether the draws look as they should."""
        return self.p_value >= ALARM_P_VALUE

    @property
    def verdict(self) -> str:
        """What a table says of it; where one output takes nearly all draws, nothing is tested."""
        tested = self.cells > 1 or not self.holds
        return ("holds" if tested else "too peaked, not tested") if self.holds else "BROKEN"

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types."""
        return {**asdict(self), "holds": self.holds}


def audit_sampler(
    mechanism: Mechanism[Input], score: Input, draws: int, *, name: str | None = None
) -> SamplerFinding:
    """Compare a mechanism's draws with its computed probabilities, by a chi-square test."""
    whole("draws", draws, low=FEWEST_DRAWS, high=MOST)
    table = mechanism.probabilities(score)
    law = table.ravel()
    drawn = [mechanism.draw(score) for _ in range(draws)]
    places = [d if isinstance(d, int) else int(np.ravel_multi_index(d, table.shape)) for d in drawn]
    seen = np.bincount(places, minlength=len(law))
    cell = _cells(draws * law)
    possible = len(seen) == len(law) and not seen[law == 0.0].any()
    p_value = _p_value(seen, draws * law, cell=cell) if possible else 0.0
    made = (name or type(mechanism).__name__, str(mechanism.guarantee(score).unit))
    return SamplerFinding(*made, draws, int(cell.max()) + 1, p_value)


@dataclass(frozen=True, slots=True)
class OneCount:
    """The noise of one count, as a mechanism with answers near it and all others."""

    noise: CountNoise

    def guarantee(self, score: Counts) -> Guaranteed:
        return self.noise.guarantee(score)

    def probabilities(self, score: Counts) -> Array:
        near = np.arange(-self._reach(score), self._reach(score) + 1)
        law = np.exp(self.noise.log_probabilities(near, score.sensitivity))
        return np.append(law, max(0.0, 1.0 - float(law.sum())))

    def draw(self, score: Counts) -> int:
        reach, drawn = self._reach(score), int(self.noise.draw(score)[0] - score.values[0])
        return drawn + reach if abs(drawn) <= reach else 2 * reach + 1

    def _reach(self, score: Counts) -> int:
        return math.ceil(4.0 * self.noise.deviation(score.sensitivity))


def run_audit(
    *, epsilon: float = 1.0, pairs: int = PAIRS, draws: int = DRAWS, seed: int = 1
) -> tuple[list[ExactFinding], list[SamplerFinding]]:
    """Audit every mechanism with neighbours that are made to lose as much as can be."""
    check_release_epsilon(epsilon)
    whole("pairs", pairs, low=FEWEST_PAIRS, high=MOST)
    whole("draws", draws, low=FEWEST_DRAWS, high=MOST)
    whole("seed", seed, low=0, high=2**32 - 1)
    rng = np.random.default_rng(seed)
    exact: list[ExactFinding] = []
    samplers: list[SamplerFinding] = []
    for unit, most in UNITS:
        for kind, name in ((PermuteAndFlip, "permute-and-flip"), (Exponential, "exponential")):
            for called, one_sided in ((name, False), (f"{name}, one-sided", True)):
                made = _scores(unit, most, epsilon, pairs, rng, one_sided=one_sided)
                exact.append(audit_exact(kind(epsilon), made, name=called))
            near = Score(rng.integers(0, 4 * most + 1, CANDIDATES), most, unit, "none")
            samplers.append(audit_sampler(kind(epsilon), near, draws, name=name))
    window = best_window(epsilon, AXES)
    exact.append(audit_exact(window, _placements(pairs, rng), name="window"))
    samplers.append(audit_sampler(window, Placement((0, 0, 0), AXES), draws, name="window"))
    # a replaced row leaves one cell and enters another
    cell = Counts(np.zeros(1, dtype=np.int64), Sensitivity(2, 2), System(), "none")
    for noise, name in (
        (DiscreteLaplace(epsilon), "discrete-laplace"),
        (DiscreteGaussian(epsilon**2 / 2.0), "discrete-gaussian"),
    ):
        samplers.append(audit_sampler(OneCount(noise), cell, draws, name=name))
    return exact, samplers


def _scores(
    unit: Unit, most: int, epsilon: float, pairs: int, rng: np.random.Generator, *, one_sided: bool
) -> Iterator[tuple[Score, Score]]:
    """Yield scores, every other led by one candidate, and neighbours that gain at one other."""
    lead = math.ceil(2.0 * most * LEAD / epsilon)
    least = 0 if one_sided else -most
    for number in range(pairs):
        levels = rng.integers(0, 4 * most + 1, CANDIDATES)
        levels[rng.integers(CANDIDATES)] += lead * (number % 2)
        moved = rng.integers(least, (most if number % 4 > 1 else least) + 1, CANDIDATES)
        moved[rng.integers(CANDIDATES)] = most
        ours, theirs = levels, levels + moved
        yield Score(ours, most, unit, "", one_sided), Score(theirs, most, unit, "", one_sided)


def _placements(pairs: int, rng: np.random.Generator) -> Iterator[tuple[Placement, Placement]]:
    sizes = [axis.size for axis in AXES]
    for _ in range(pairs):
        ours, theirs = rng.integers(0, sizes, (2, len(sizes))).tolist()
        yield Placement(tuple(ours), AXES), Placement(tuple(theirs), AXES)


def _logs(mechanism: Mechanism[Input], score: Input) -> Array:
    exact = getattr(mechanism, "log_probabilities", None)
    if exact is not None:
        return np.asarray(exact(score)).ravel()
    with np.errstate(divide="ignore"):
        return np.log(mechanism.probabilities(score)).ravel()


def _loss(ours: Array, theirs: Array) -> float:
    if len(ours) != len(theirs):
        return math.inf
    apart = np.subtract(ours, theirs, where=ours != theirs, out=np.zeros(len(ours)))
    return float(np.abs(apart).max())


def _cells(expected: Array) -> NDArray[np.intp]:
    """Return the cell of every output: rare ones share one, and the last has what is left over."""
    cell = np.zeros(len(expected), dtype=np.intp)
    number, held, left = 0, 0.0, float(expected.sum())
    for place in np.argsort(-expected).tolist():
        cell[place] = number
        held += float(expected[place])
        left -= float(expected[place])
        if held >= FEWEST_PER_CELL and left >= FEWEST_PER_CELL:
            number, held = number + 1, 0.0
    return cell


def _p_value(seen: NDArray[np.intp], expected: Array, *, cell: NDArray[np.intp]) -> float:
    wanted = np.bincount(cell, weights=expected)
    found = np.bincount(cell, weights=seen)
    statistic = float(((found - wanted) ** 2 / wanted).sum())
    return float(chi2.sf(statistic, len(wanted) - 1)) if len(wanted) > 1 else 1.0
