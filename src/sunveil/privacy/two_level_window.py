"""Two-level window mechanism for whole records."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError
from sunveil.privacy.guarantees import Guarantee, System, check_release_epsilon
from sunveil.privacy.mechanisms import SLACK, Axis, Placement, draw_uniform, draw_weighted

Array = NDArray[np.float64]

Priors = tuple[tuple[float, ...], ...]

# Distances are compared as whole multiples of this share of chance error, so that what ties in
# real numbers ties here too.
_GRAIN = 2.0**-40

# Along a range with more values than this, errors are averaged over this many places, with equal
# shares of the prior. More changed the loss of the chosen window by less than a ten-thousandth.
_PLACES = 5


@dataclass(frozen=True, slots=True)
class Window:
    """Draw a candidate near a placement, e^ε times as likely inside its window as outside.

    Privacy
    -------
    Pure ε-DP for the whole record. Proof: ``docs/proofs/window.md``.
    """

    epsilon: float  # what one draw costs
    axes: tuple[Axis, ...]  # the public axes of the candidates
    inside: int  # how many candidates the window holds, chosen without looking at any record

    def __post_init__(self) -> None:
        check_fields(self)
        check_release_epsilon(self.epsilon)
        if not self.axes:
            raise ParameterError("a window has at least one axis")
        if not 1 <= self.inside <= self.size:
            raise ParameterError("a window holds at least one candidate and no more than there are")

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return math.prod(axis.size for axis in self.axes)

    @checked
    def guarantee(self, placement: Placement) -> Guarantee:
        """Return what one draw for the placement promises."""
        self._check(placement)
        return Guarantee(System(), self.epsilon, 0.0, "docs/proofs/window.md")

    @checked
    def members(self, placement: Placement) -> NDArray[np.bool_]:
        """Return which candidates are in the window around a placement, in the shape of the axes.

        The ``inside`` nearest ones; of those as far as the farthest, the first in the order of the
        axes, counted from the place along an axis that wraps.
        """
        self._check(placement)
        apart = _distances(self.axes, placement.place)
        far = apart.ravel()
        farthest = np.partition(far, self.inside - 1)[self.inside - 1]
        held = far < farthest
        ties = np.flatnonzero(far == farthest)
        held[ties[: self.inside - int(held.sum())]] = True
        turns = [p if a.wraps else 0 for a, p in zip(self.axes, placement.place, strict=True)]
        return np.roll(held.reshape(apart.shape), turns, axis=tuple(range(len(self.axes))))

    @checked
    def probabilities(self, placement: Placement) -> Array:
        """Return the probability of every candidate, in the shape of the axes."""
        likelier = math.exp(self.epsilon - SLACK)
        # from the numbers of candidates, so that it is to the last bit the same for every placement
        total = self.inside * likelier + (self.size - self.inside)
        return np.where(self.members(placement), likelier / total, 1.0 / total)

    @checked
    def draw(self, placement: Placement) -> tuple[int, ...]:
        """Return the place of one candidate along each axis: one release."""
        held = self.members(placement)
        outside = self.size - self.inside
        logs = [self.epsilon - SLACK + math.log(self.inside)]
        if outside:
            logs.append(math.log(outside))
        near = draw_weighted(np.array(logs)) == 0
        among = np.flatnonzero(held if near else ~held)
        chosen = among[draw_uniform(self.inside if near else outside)]
        return tuple(int(place) for place in np.unravel_index(chosen, held.shape))

    @checked
    def expected_errors(self, priors: Sequence[Array] | None = None) -> tuple[float, ...]:
        """Return the expected error along each axis, over records placed by public priors."""
        gain = math.expm1(self.epsilon - SLACK)
        found = np.zeros(len(self.axes))
        for place, weight in _places(self.axes, _checked(self.axes, priors)):
            held = self.members(Placement(place, self.axes))
            for number, axis in enumerate(self.axes):
                others = tuple(n for n in range(len(self.axes)) if n != number)
                apart = _apart(axis, place[number])
                near = float(held.sum(axis=others) @ apart)
                error = (self.size * apart.mean() + gain * near) / (self.size + gain * self.inside)
                found[number] += weight * error
        return tuple(found.tolist())

    def _check(self, placement: Placement) -> None:
        if placement.axes != self.axes:
            raise ParameterError("the placement is among other candidates than the window's")


@checked
def best_window(
    epsilon: float, axes: tuple[Axis, ...], *, priors: Sequence[Array] | None = None
) -> Window:
    """Return the window with the least expected error, from public inputs only.

    The error is the mean over the axes of the expected error along each, as a share of what a
    uniformly random answer would give.
    """
    check_release_epsilon(epsilon)
    if not axes:
        raise ParameterError("a window has at least one axis")
    nearest = _nearest(axes, _checked(axes, priors))
    gain = math.expm1(epsilon - SLACK)
    held = np.arange(1, len(nearest) + 1)
    loss = (nearest[-1] + gain * nearest) / (len(nearest) + gain * held)
    return Window(epsilon, axes, int(loss.argmin()) + 1)


@functools.lru_cache(maxsize=16)
def _nearest(axes: tuple[Axis, ...], priors: Priors) -> Array:
    """Return the summed distance of the 1, 2, ... nearest candidates, averaged over places."""
    # It is all that ε is weighed against, and the same for every ε.
    total = np.zeros(math.prod(axis.size for axis in axes))
    for place, weight in _places(axes, priors):
        total += weight * np.cumsum(np.sort(_distances(axes, place), axis=None))
    total.setflags(write=False)
    return total


def _distances(axes: tuple[Axis, ...], place: tuple[int, ...]) -> NDArray[np.int64]:
    """Return how far every candidate is from a place: shares of chance error, added up."""
    # In the shape of the axes, but counted from the place along those that wrap.
    found = np.zeros((), dtype=np.int64)
    for axis, at in zip(axes, place, strict=True):
        shares = _apart(axis, 0 if axis.wraps else at) / _chance(axis)
        found = np.add.outer(found, np.rint(shares / _GRAIN).astype(np.int64))
    return np.asarray(found)


@functools.lru_cache(maxsize=64)
def _chance(axis: Axis) -> float:
    """Return the mean error of a uniformly random value, over all places."""
    found = float(np.mean([_apart(axis, place).mean() for place in range(axis.size)]))
    return found if found > 0.0 else 1.0


def _apart(axis: Axis, place: int) -> Array:
    """Return the mean distance of every value from the truth, in the unit of the axis."""
    # The truth lies anywhere within half a step of the place it was rounded to.
    apart = np.abs(np.arange(axis.size) - place).astype(np.float64)
    apart[place] = 0.25
    if axis.wraps:
        # Rounding away from a value across the circle is rounding towards it the other way round.
        apart = np.minimum(apart, axis.size - np.maximum(apart, 0.25))
        apart[2.0 * apart == axis.size] -= 0.25
    return apart * axis.step


def _places(axes: tuple[Axis, ...], priors: Priors) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield places that stand for all, with their weights: on a circle one does."""
    along = [_places_along(axis, prior) for axis, prior in zip(axes, priors, strict=True)]
    for chosen in itertools.product(*along):
        yield tuple(place for place, _ in chosen), math.prod(weight for _, weight in chosen)


def _places_along(axis: Axis, prior: tuple[float, ...]) -> list[tuple[int, float]]:
    if axis.wraps:
        return [(0, 1.0)]
    weights = np.array(prior) / math.fsum(prior)
    there = np.flatnonzero(weights)
    if len(there) <= _PLACES:
        return [(int(place), float(weights[place])) for place in there]
    middles = (np.arange(_PLACES) + 0.5) / _PLACES
    found = np.searchsorted(np.cumsum(weights), middles)
    return [(int(place), 1.0 / _PLACES) for place in np.minimum(found, axis.size - 1)]


def _checked(axes: tuple[Axis, ...], priors: Sequence[Array] | None) -> Priors:
    if priors is None:
        return tuple((1.0,) * axis.size for axis in axes)
    if len(priors) != len(axes):
        raise ParameterError("give one prior per axis")
    for axis, prior in zip(axes, priors, strict=True):
        usable = len(prior) == axis.size and bool((np.asarray(prior) >= 0.0).all())
        if not (usable and 0.0 < float(np.sum(prior)) < math.inf):
            raise ParameterError("a prior has one weight of zero or more per value, not all zero")
    return tuple(tuple(float(weight) for weight in prior) for prior in priors)
