"""Which capacity the systems of a total are held at: chosen from a public ladder, and paid for.

A clip that is too low cuts large systems off; one that is too high adds noise for systems that are
not there. How many systems are above each rung is private, so a part of what totals cost is spent
on the choice.

Proof: ``docs/proofs/clip.md``. Measured: ``docs/totals-benchmarks.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.privacy.counting import Sensitivity
from sunveil.privacy.score import Score
from sunveil.privacy.units import System
from sunveil.publish.spending import Spending

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

PROOF = "docs/proofs/clip.md"
# The lowest rung, above nearly every home. [kW]
LOWEST_KW = 25.0
# What no system is taken to be larger than, unless the curator knows better. [kW]
LARGEST_KW = 2000.0
# Of what totals cost, for the choice of the clip.
CLIP_SHARE = Fraction(1, 3)
# Found by `python -m benchmarks.totals --tune` over public mixes of systems.
_FLAT, _STEEPER, _FLATTEST, _NOISE, _USUAL = -0.25, 1.0, -0.5, 2.0, 300.0
# A system above a rung counts this much, so that public offsets can be fractions of a system.
_SYSTEM = 64


def check_largest(largest_kw: float) -> float:
    """Return the largest capacity that a system is taken to have, or refuse it. [kW]"""
    if not 1.0 <= largest_kw <= 1e6:
        raise ParameterError("largest_kw must be from 1 to 1e6 kW: the largest connection allowed")
    return float(largest_kw)


def ladder(largest_kw: float) -> tuple[float, ...]:
    """Return the public clips to choose from, each twice the last up to the largest. [kW]"""
    check_largest(largest_kw)
    steps = max(math.ceil(math.log2(largest_kw / LOWEST_KW)), 0)
    return (*(LOWEST_KW * 2.0**step for step in range(steps)), float(largest_kw))


@lru_cache(maxsize=256)
def _relative_deviation(spending: Spending) -> float:
    """Return the standard deviation of a total's noise as a multiple of the clip."""
    width = 1_000_000
    return spending.noise.deviation(Sensitivity(width, width**2)) / width


@dataclass(frozen=True, slots=True)
class ClipRule:
    """How the clip of a fleet's totals is chosen: public.

    Parameters
    ----------
    rungs
        The clips to choose from. [kW]
    spending
        What the choice and the totals cost together.
    systems
        How many systems the fleet has.
    """

    rungs: tuple[float, ...]
    spending: Spending
    systems: int

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def chosen_with(self) -> Spending | None:
        """What the choice costs; None where there is nothing to choose."""
        return self.spending.part(CLIP_SHARE) if len(self.rungs) > 1 else None

    @property
    def drawn_with(self) -> Spending:
        """What the totals cost."""
        return self.spending.part(1 - CLIP_SHARE) if len(self.rungs) > 1 else self.spending

    def deviations(self) -> Array:
        """Return the standard deviation of a total's noise at each rung. [kW]"""
        return _relative_deviation(self.drawn_with) * np.array(self.rungs)

    def offsets(self) -> Array:
        """Return what each rung is set back by before a row is looked at. [nats]

        It grows as a total's noise does against what the fleet may add up to; in large fleets,
        where that is little, with the logarithm of the rung too.
        """
        rungs = np.array(self.rungs)
        quiet = max(1.5 * math.sqrt(2.0) * self.systems * rungs[-1] / self.deviations()[-1], 1.0)
        slope = max(_FLAT + _STEEPER * math.log(quiet / _USUAL), _FLATTEST)
        return np.asarray(slope * np.log(rungs / rungs[0]) + _NOISE * rungs / quiet)

    def above(self, capacities_kw: Array) -> Whole:
        """Return how many systems are above each rung: private. A missing capacity is not."""
        held = np.nan_to_num(capacities_kw, nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        return np.array([int((held > rung).sum()) for rung in self.rungs[:-1]] + [0])

    def score(self, above: Whole) -> Score:
        """Return minus the systems above each rung and its offset, as a score: private.

        Privacy
        -------
        Neighbours replace one capacity. It rises or falls, so that the numbers above rungs all grow
        by 0 or 1, or all shrink: one-sided, ``docs/proofs/clip.md``.
        """
        assert self.chosen_with is not None
        back = self.offsets() / self.chosen_with.selection.epsilon
        levels = -_SYSTEM * above - np.rint(_SYSTEM * back).astype(np.int64)
        return Score(levels.astype(np.int64), _SYSTEM, System(), PROOF, one_sided=True)

    def probabilities(self, above: Whole) -> Array:
        """Return how likely each rung is to be chosen: private."""
        if self.chosen_with is None:
            return np.ones(1)
        return self.chosen_with.selection.probabilities(self.score(above))

    @checked
    def draw(self, capacities_kw: Array) -> float:
        """Return the rung that is chosen: one release. [kW]"""
        if self.chosen_with is None:
            return self.rungs[0]
        return self.rungs[self.chosen_with.selection.draw(self.score(self.above(capacities_kw)))]
