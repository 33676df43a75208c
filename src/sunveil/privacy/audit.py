"""Checks of privacy claims that can fail: of exact probabilities, and of what is really drawn.

An audit looks for a pair of neighbours whose outputs tell them apart more than was claimed. One
that finds none proves nothing; the proofs do. One that finds some shows a fault, in the proof, in
the code, or in the audit. ``docs/audit.md`` says what each check can and cannot show. That nothing
chosen before a score sees the data is for :mod:`sunveil.privacy.independence`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from sunveil.errors import ParameterError
from sunveil.privacy.guarantee import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Guarantee,
    Guaranteed,
)

Array = NDArray[np.float64]
Input = TypeVar("Input")
AnyInput = TypeVar("AnyInput", contravariant=True)

# From this share of the claim on, what was found says that the claim could not be much smaller.
TIGHT = 0.8
# A right sampler is called wrong less than once in a million times: the chi-square law is exact for
# many draws per cell only, and its tail at this level holds to within that for this many.
ALARM_P_VALUE = 1e-9
FEWEST_PER_CELL = 50.0
FEWEST_DRAWS = 200


class AuditedMechanism(Protocol[AnyInput]):
    """What can be audited exactly: it says what it promises, and how likely each output is."""

    def guarantee(self, score: AnyInput, /) -> Guaranteed:
        """Return what one draw promises."""

    def probabilities(self, score: AnyInput, /) -> Array:
        """Return the probability of every output."""


class Sampler(AuditedMechanism[AnyInput], Protocol[AnyInput]):
    """What can be audited by drawing from it."""

    def draw(self, score: AnyInput, /) -> int | tuple[int, ...]:
        """Return the index of one output."""


def privacy_loss(mechanism: AuditedMechanism[Input], first: Input, second: Input) -> float:
    """Return the largest |log p - log q| over all outputs: what one draw can tell a pair apart.

    Parameters
    ----------
    mechanism
        What is audited.
    first, second
        What it takes, for two neighbours.
    """
    return _loss(_logs(mechanism, first), _logs(mechanism, second))


def privacy_delta(
    mechanism: AuditedMechanism[Input], first: Input, second: Input, *, epsilon: float
) -> float:
    """Return the least δ with which a pair is (ε, δ) apart: Σ max(0, p - e^ε q), the worse way.

    Parameters
    ----------
    mechanism
        What is audited.
    first, second
        What it takes, for two neighbours.
    epsilon
        The ε that is claimed.
    """
    return _delta(_logs(mechanism, first), _logs(mechanism, second), epsilon)


@dataclass(frozen=True, slots=True)
class ExactFinding:
    """What the exact audit of one mechanism found.

    Parameters
    ----------
    mechanism, unit
        What was audited, and what its neighbours differ in.
    kind
        ``worst-case``, or ``conditional`` for what is not promised for every pair.
    epsilon, delta
        The claim.
    largest
        The largest privacy loss of a pair; infinite where one neighbour has outputs that the other
        cannot have.
    delta_needed
        The least δ with which all pairs are (ε, δ) apart at the claimed ε.
    pairs
        How many pairs were looked at.
    """

    mechanism: str
    unit: str
    kind: str
    epsilon: float
    delta: float
    largest: float
    delta_needed: float
    pairs: int

    @property
    def holds(self) -> bool:
        """Whether no pair was further apart than claimed. No allowance is made for rounding."""
        if self.delta == 0.0:
            return self.largest <= self.epsilon
        return self.delta_needed <= self.delta

    @property
    def required(self) -> bool:
        """Whether the claim is made for every pair."""
        return self.kind == "worst-case"

    @property
    def share(self) -> float:
        """The largest loss as a share of the claimed ε."""
        return self.largest / self.epsilon

    @property
    def tight(self) -> bool:
        """Whether some pair comes so close to the claim that it could not be much smaller."""
        return self.holds and self.share >= TIGHT

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types; an infinite loss is null."""
        largest = self.largest if math.isfinite(self.largest) else None
        extra = {"holds": self.holds, "required": self.required, "tight": self.tight}
        return {**asdict(self), "largest": largest, **extra}


class ExactAudit(Generic[Input]):
    """The exact audit of one mechanism, over pairs as they come.

    Parameters
    ----------
    mechanism
        What is audited.
    name
        What it is called in the finding.
    """

    def __init__(self, mechanism: AuditedMechanism[Input], *, name: str | None = None) -> None:
        self._mechanism = mechanism
        self._name = _name(mechanism, name)
        self._claim: Guarantee | ConditionalGuarantee | None = None
        self._largest = self._delta = 0.0
        self._pairs = 0
        # pairs come with many neighbours of one record after another
        self._last: tuple[Input, Array] | None = None

    def add_pair(self, first: Input, second: Input) -> None:
        """Take one more pair of neighbours into account."""
        claim, other = self._mechanism.guarantee(first), self._mechanism.guarantee(second)
        if isinstance(claim, ConcentratedGuarantee):
            raise ParameterError("a claim of ρ has no largest ratio; audit_gaussian looks at it")
        if claim != other or self._claim not in (None, claim):
            raise ParameterError("an audit's pairs must all be under one claim")
        self._claim = claim
        if self._last is None or self._last[0] is not first:
            self._last = first, _logs(self._mechanism, first)
        ours, theirs = self._last[1], _logs(self._mechanism, second)
        self._largest = max(self._largest, _loss(ours, theirs))
        self._delta = max(self._delta, _delta(ours, theirs, claim.epsilon))
        self._pairs += 1

    def finding(self) -> ExactFinding:
        """Return what was found so far."""
        if self._claim is None:
            raise ParameterError("an audit needs at least one pair of neighbours")
        return ExactFinding(
            mechanism=self._name,
            unit=str(self._claim.unit),
            kind=str(self._claim.to_dict()["kind"]),
            epsilon=self._claim.epsilon,
            delta=self._claim.delta,
            largest=self._largest,
            delta_needed=self._delta,
            pairs=self._pairs,
        )


def audit_exact(
    mechanism: AuditedMechanism[Input],
    pairs: Iterable[tuple[Input, Input]],
    *,
    name: str | None = None,
) -> ExactFinding:
    """Return the largest privacy loss of a mechanism over pairs of neighbours.

    Parameters
    ----------
    mechanism
        What is audited.
    pairs
        What it takes, for two neighbours each; they are looked at as they come.
    name
        What it is called in the finding.
    """
    audit = ExactAudit(mechanism, name=name)
    for first, second in pairs:
        audit.add_pair(first, second)
    return audit.finding()


@dataclass(frozen=True, slots=True)
class SamplerFinding:
    """How some draws compare with the probabilities that were computed for them.

    Parameters
    ----------
    mechanism, unit
        What was drawn from.
    draws
        How many draws there were.
    cells
        How many outputs, or groups of rare outputs, were told apart.
    p_value
        How often a right sampler would be as far off; 0 for a draw that should be impossible.
    """

    mechanism: str
    unit: str
    draws: int
    cells: int
    p_value: float

    @property
    def tested(self) -> bool:
        """Whether there was anything to tell apart: not where one output takes nearly all draws."""
        return self.cells > 1 or self.p_value == 0.0

    @property
    def holds(self) -> bool:
        """Whether the draws look as they should."""
        return self.p_value >= ALARM_P_VALUE

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types."""
        return {**asdict(self), "tested": self.tested, "holds": self.holds}


def audit_sampler(
    mechanism: Sampler[Input], score: Input, draws: int, *, name: str | None = None
) -> SamplerFinding:
    """Hold a mechanism's draws against its computed probabilities, by a chi-square test.

    Parameters
    ----------
    mechanism, score
        What is drawn from.
    draws
        How often.
    name
        What it is called in the finding.
    """
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < FEWEST_DRAWS:
        raise ParameterError(f"a test of a sampler takes {FEWEST_DRAWS} draws or more")
    table = mechanism.probabilities(score)
    law = table.ravel()
    drawn = [mechanism.draw(score) for _ in range(draws)]
    places = [d if isinstance(d, int) else int(np.ravel_multi_index(d, table.shape)) for d in drawn]
    seen = np.bincount(places, minlength=len(law))
    cell = _cells(draws * law)
    count = int(cell.max()) + 1
    possible = len(seen) == len(law) and not seen[law == 0.0].any()
    p_value = _p_value(seen, draws * law, cell=cell) if possible else 0.0
    unit = str(mechanism.guarantee(score).unit)
    return SamplerFinding(_name(mechanism, name), unit, draws, count, p_value)


def _name(mechanism: object, name: str | None) -> str:
    return type(mechanism).__name__ if name is None else name


def _logs(mechanism: AuditedMechanism[Input], score: Input) -> Array:
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


def _delta(ours: Array, theirs: Array, epsilon: float) -> float:
    if len(ours) != len(theirs):
        return 1.0
    ways = ((ours, theirs), (theirs, ours))
    return max(float(np.maximum(np.exp(a) - np.exp(epsilon + b), 0.0).sum()) for a, b in ways)


def _cells(expected: Array) -> NDArray[np.intp]:
    """Return the cell of every output: rare ones share one.

    Each cell is expected FEWEST_PER_CELL times or more. What is left over goes to the last one.
    """
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
