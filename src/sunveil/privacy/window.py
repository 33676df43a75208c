"""The two-level window: the release of a whole record's place among public candidates.

Inside a window around the true place every candidate is e^ε times as likely as outside it. The
window always holds the same number of candidates, also at the ends of a range, where it is moved
and not cut: so the normaliser is the same for every record, and e^ε is the exact ratio. For a
circle this is the best of all ε-DP mechanisms: its error is 180 / (1 + e^{ε/2}) degrees on average.

Proof: ``docs/proofs/window.md``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.privacy.guarantee import Guarantee, check_release_epsilon
from sunveil.privacy.score import Axis, Placement
from sunveil.privacy.select import SLACK, draw_uniform, draw_weighted
from sunveil.privacy.units import System

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Window:
    """Draw a candidate near a placement, e^ε times as likely inside its window as outside.

    Parameters
    ----------
    epsilon
        What one draw costs.
    axes
        The public axes of the candidates.
    widths
        How many values of each axis the window spans, chosen without looking at any record.

    Privacy
    -------
    Pure ε-DP for the whole record. Proof: ``docs/proofs/window.md``.
    """

    epsilon: float
    axes: tuple[Axis, ...]
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        check_release_epsilon(self.epsilon)
        if len(self.widths) != len(self.axes) or not self.axes:
            raise ParameterError("a window has one width per axis, and at least one axis")
        if any(not 1 <= w <= a.size for w, a in zip(self.widths, self.axes, strict=True)):
            raise ParameterError("a window is at least one value wide and no wider than its axis")

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return math.prod(axis.size for axis in self.axes)

    @property
    def inside(self) -> int:
        """How many candidates a window holds."""
        return math.prod(self.widths)

    def guarantee(self, placement: Placement) -> Guarantee:
        """Return what one draw for the placement promises."""
        self._check(placement)
        return Guarantee(System(), self.epsilon, 0.0, "docs/proofs/window.md")

    def probabilities(self, placement: Placement) -> Array:
        """Return the probability of every candidate, in the shape of the axes."""
        self._check(placement)
        likelier = math.exp(self.epsilon - SLACK)
        # from the numbers of candidates, so that it is to the last bit the same for every placement
        total = self.inside * likelier + (self.size - self.inside)
        found = np.full([axis.size for axis in self.axes], 1.0 / total)
        found[np.ix_(*self._members(placement))] = likelier / total
        return found

    def draw(self, placement: Placement) -> tuple[int, ...]:
        """Return the place of one candidate along each axis: one release."""
        self._check(placement)
        outside = self.size - self.inside
        logs = [self.epsilon - SLACK + math.log(self.inside)]
        if outside:
            logs.append(math.log(outside))
        if draw_weighted(np.array(logs)) == 0:
            chosen = draw_uniform(self.inside)
            places = np.unravel_index(chosen, self.widths)
            members = self._members(placement)
            return tuple(int(m[p]) for m, p in zip(members, places, strict=True))
        free = np.ones([axis.size for axis in self.axes], dtype=bool)
        free[np.ix_(*self._members(placement))] = False
        places = np.unravel_index(np.flatnonzero(free.ravel())[draw_uniform(outside)], free.shape)
        return tuple(int(p) for p in places)

    def expected_errors(self, priors: Sequence[Array] | None = None) -> tuple[float, ...]:
        """Return the expected error along each axis, over records placed by public priors.

        Parameters
        ----------
        priors
            Weights of the values of each axis; all alike when left out.
        """
        tables = [_axis_errors(axis, prior) for axis, prior in _with_priors(self.axes, priors)]
        gain = math.expm1(self.epsilon - SLACK) * self.inside
        return tuple(
            float((self.size * everywhere + gain * inside[width - 1]) / (self.size + gain))
            for (everywhere, inside), width in zip(tables, self.widths, strict=True)
        )

    def _members(self, placement: Placement) -> list[NDArray[np.intp]]:
        return [
            window_members(axis, width, place)
            for axis, width, place in zip(self.axes, self.widths, placement.place, strict=True)
        ]

    def _check(self, placement: Placement) -> None:
        if placement.axes != self.axes:
            raise ParameterError("the placement is among other candidates than the window's")


def window_members(axis: Axis, width: int, place: int) -> NDArray[np.intp]:
    """Return the values of an axis inside the window around a place: always ``width`` of them.

    Parameters
    ----------
    axis
        The axis.
    width
        How many values the window spans.
    place
        The value that it is laid around; at the ends of a range it is moved, not cut.
    """
    start = place - (width - 1) // 2
    if axis.wraps:
        return (start + np.arange(width)) % axis.size
    start = min(max(start, 0), axis.size - width)
    return start + np.arange(width)


def best_window(
    epsilon: float, axes: tuple[Axis, ...], *, priors: Sequence[Array] | None = None
) -> Window:
    """Return the window with the least expected error, from public inputs only.

    The error is the mean over the axes of the expected error along each, as a share of what a
    uniformly random answer would give.

    Parameters
    ----------
    epsilon
        What one draw costs.
    axes
        The candidates.
    priors
        Public weights of the values of each axis; all alike when left out.
    """
    check_release_epsilon(epsilon)
    if priors is None:
        return _even_window(epsilon, axes)
    return _least(epsilon, axes, [_axis_errors(*pair) for pair in _with_priors(axes, priors)])


@functools.lru_cache(maxsize=64)
def _even_window(epsilon: float, axes: tuple[Axis, ...]) -> Window:
    """Return the best window where every place is as likely: the same for every record."""
    return _least(epsilon, axes, [_axis_errors(*pair) for pair in _with_priors(axes, None)])


def _least(epsilon: float, axes: tuple[Axis, ...], tables: Sequence[tuple[float, Array]]) -> Window:
    widths = np.ix_(*[np.arange(1, axis.size + 1) for axis in axes])
    held: Array = np.ones([axis.size for axis in axes])
    for width in widths:
        held *= width
    gain = math.expm1(epsilon - SLACK) * held
    size = float(math.prod(axis.size for axis in axes))
    loss = np.zeros(held.shape)
    for number, (everywhere, inside) in enumerate(tables):
        shape = [1] * len(axes)
        shape[number] = -1
        chance = everywhere if everywhere > 0.0 else 1.0
        loss += (size * everywhere + gain * inside.reshape(shape)) / (size + gain) / chance
    best = np.unravel_index(int(loss.argmin()), loss.shape)
    return Window(epsilon, axes, tuple(int(width) + 1 for width in best))


def _with_priors(
    axes: tuple[Axis, ...], priors: Sequence[Array] | None
) -> list[tuple[Axis, Array]]:
    given = [np.ones(axis.size) for axis in axes] if priors is None else list(priors)
    if len(given) != len(axes):
        raise ParameterError("give one prior per axis")
    pairs = []
    for axis, prior in zip(axes, given, strict=True):
        usable = len(prior) == axis.size and bool((prior >= 0.0).all())
        if not (usable and 0.0 < prior.sum() < math.inf):
            raise ParameterError("a prior has one weight of zero or more per value, not all zero")
        pairs.append((axis, np.asarray(prior / prior.sum())))
    return pairs


def _axis_errors(axis: Axis, prior: Array) -> tuple[float, Array]:
    """Return the mean distance of all values, and of a window's for every width, from the truth.

    The truth lies anywhere within half a step of the place it was rounded to.
    """
    places = np.arange(axis.size)
    apart = np.abs(places[:, None] - places[None, :]).astype(np.float64)
    np.fill_diagonal(apart, 0.25)
    if axis.wraps:
        # Rounding away from a value across the circle is rounding towards it the other way round.
        apart = np.minimum(apart, axis.size - np.maximum(apart, 0.25))
        apart[2.0 * apart == axis.size] -= 0.25
    apart *= axis.step
    everywhere = float(prior @ apart.mean(axis=1))
    if axis.wraps:  # every place is alike
        return everywhere, np.array([_near(axis, 0, apart[0], w + 1) for w in range(axis.size)])
    inside = np.zeros(axis.size)
    for p in np.flatnonzero(prior).tolist():
        inside += prior[p] * np.array([_near(axis, p, apart[p], w + 1) for w in range(axis.size)])
    return everywhere, inside


def _near(axis: Axis, place: int, apart: Array, width: int) -> float:
    return float(apart[window_members(axis, width, place)].mean())
