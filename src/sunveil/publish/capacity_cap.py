"""The cap of large capacities, chosen privately."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError
from sunveil.privacy.discrete_noise import Sensitivity, Spending
from sunveil.privacy.guarantees import System
from sunveil.privacy.mechanisms import Score

Array = NDArray[np.float64]

Whole = NDArray[np.int64]

PROOF = "docs/proofs/clip.md"

# The lowest rung, above nearly every home. [kW]
LOWEST_KW = 25.0

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
    """How the clip of a fleet's totals is chosen: public."""

    rungs: tuple[float, ...]  # the clips to choose from. [kW]
    spending: Spending  # what the choice and the totals cost together
    systems: int  # how many systems the fleet has

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


_SEED, _EACH, _MOST = 18, 6, 2000

# Of the systems, how many are commercial: evenly spread in the logarithm from 50 to 500 kW.
_COMMERCIAL = {"1%": 0.01, "3%": 0.03, "5%": 0.05, "8%": 0.08, "10%": 0.10}


def mixes() -> tuple[str, ...]:
    """Return the names of the public mixes."""
    shares = (f"homes, {share} of 50 to 500 kW" for share in _COMMERCIAL)
    return ("homes", "large homes", *shares, "homes, 4.5% of 20 to 1000 kW", "homes and one large",
            "log-normal, σ 1", "log-normal, σ 1.5", "log-normal, σ 2")  # fmt: skip


def make_mix(name: str, systems: int, rng: np.random.Generator) -> Array:
    """Return the capacities of a fleet of a public mix. [kW]"""
    homes = np.clip(5.0 * np.exp(0.5 * rng.standard_normal(systems)), 1.0, 20.0)
    place, draw = rng.random(systems), rng.random(systems)
    if name == "large homes":
        return np.asarray(np.minimum(1.8 * homes, 25.0))
    if name.startswith("log-normal"):
        spread = float(name.split()[-1])
        return np.clip(5.0 * np.exp(spread * rng.standard_normal(systems)), 0.3, 2000.0)
    if name == "homes and one large":
        return np.where(np.arange(systems) == 0, 100.0 + 500.0 * draw, homes)
    if "20 to 1000" in name:
        return np.where(place < 0.045, 20.0 * 50.0**draw, homes)
    share = next((s for words, s in _COMMERCIAL.items() if f" {words} " in name), 0.0)
    return np.where(place < share, 50.0 * 10.0**draw, homes)


@lru_cache(maxsize=16)
def _fleets(size: int) -> tuple[Array, ...]:
    return tuple(
        make_mix(name, size, np.random.default_rng((_SEED, size, place, each)))
        for place, name in enumerate(mixes())
        for each in range(_EACH)
    )


def expected_error(rule: ClipRule, *, groups: int = 1) -> float:
    """Return the mean error of a total before its clip is chosen, as a share of it."""
    chances, cuts, totals = _outlook(rule)
    missed = np.array([_mean_missed(rule, cut / groups, rule.deviations()) for cut in cuts])
    return float((groups * (chances * missed).sum(axis=1) / totals).mean())


def expected_cut(rule: ClipRule) -> float:
    """Return what the chosen clip cuts off on average over public mixes, as a share of a total."""
    # It is the bias of totals: noise is as often above as below, and what is cut off is always
    # missing. It is the same share in every group.
    chances, cuts, totals = _outlook(rule)
    return float(((chances * cuts).sum(axis=1) / totals).mean())


def mix_error(rule: ClipRule, capacities_kw: Array) -> float:
    """Return the exact mean error of a fleet's total, as a share of it: private."""
    chances, cuts = _chances(rule, capacities_kw)
    missed = _mean_missed(rule, cuts, rule.deviations())
    scale = rule.systems / len(capacities_kw)
    return float((chances * missed).sum() / (scale * capacities_kw.sum()))


def stated_errors(rule: ClipRule, clip_kw: float, *, share: float = 1.0) -> Mapping[str, float]:
    """Return the errors of a total with a chosen clip, as in public mixes of systems."""
    # `mean` is the mean error, `nine` what nine in ten are within, and `cut` what is cut off on
    # average: by so much the total is too low. [kW]
    place = rule.rungs.index(clip_kw)
    chances, lost, _ = _outlook(rule)
    weights = chances[:, place] / chances[:, place].sum()
    cuts = share * lost[:, place]
    deviation = rule.deviations()[place]
    mean = float((weights * _mean_missed(rule, cuts, deviation)).sum())
    low, high = 0.0, float(cuts.max()) + 50.0 * deviation
    for _ in range(60):
        middle = (low + high) / 2.0
        inside = float((weights * _within(rule, cuts, deviation, middle)).sum())
        low, high = (middle, high) if inside < 0.9 else (low, middle)
    cut = float((weights * cuts).sum())
    return {"mean": mean, "nine": float(high), "cut": cut}


@lru_cache(maxsize=64)
def _outlook(rule: ClipRule) -> tuple[Array, Array, Array]:
    """Return chances and cuts of every rung, and the total, of every public fleet. [-, kW, kW]"""
    # the last rung is public: no system is larger, in these fleets neither
    fleets = [np.minimum(fleet, rule.rungs[-1]) for fleet in
              _fleets(min(max(rule.systems, 1), _MOST))]  # fmt: skip
    found = [_chances(rule, fleet) for fleet in fleets]
    totals = [fleet.sum() * rule.systems / len(fleet) for fleet in fleets]
    return np.array([p for p, _ in found]), np.array([cut for _, cut in found]), np.array(totals)


def _chances(rule: ClipRule, capacities_kw: Array) -> tuple[Array, Array]:
    """Return how likely each rung is, and what it cuts off. [kW]"""
    scale = rule.systems / len(capacities_kw)
    above = np.rint(scale * rule.above(capacities_kw)).astype(np.int64)
    cuts = [np.maximum(capacities_kw - rung, 0.0).sum() for rung in rule.rungs]
    return rule.probabilities(above), scale * np.array(cuts)


def _mean_missed(rule: ClipRule, cuts: Array, deviation: Array | float) -> Array:
    """Return the mean of |noise - cut|. [kW]"""
    if rule.spending.concentrated:
        far = cuts / (math.sqrt(2.0) * deviation)
        bell = math.sqrt(2.0 / math.pi) * deviation * np.exp(-(far**2))
        return np.asarray(bell + cuts * _erf(far))
    scale = deviation / math.sqrt(2.0)
    return np.asarray(cuts + scale * np.exp(-cuts / scale))


def _within(rule: ClipRule, cuts: Array, deviation: float, missed: float) -> Array:
    """Return how likely |noise - cut| is to be at most something."""

    def up_to(noise: Array) -> Array:
        if rule.spending.concentrated:
            return np.asarray(0.5 * (1.0 + _erf(noise / (math.sqrt(2.0) * deviation))))
        tail = 0.5 * np.exp(-np.abs(noise) * math.sqrt(2.0) / deviation)
        return np.where(noise < 0.0, tail, 1.0 - tail)

    return up_to(cuts + missed) - up_to(cuts - missed)


def _erf(values: Array) -> Array:
    return np.array([math.erf(value) for value in np.atleast_1d(values)])
