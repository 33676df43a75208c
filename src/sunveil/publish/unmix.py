"""What an analyst does with many releases of whole systems: estimate the fleet behind them.

A release by the window answers y with probability (1 + g [y in the window of x]) / Z, where x is
the system's own place, g = e^ε - 1, and Z is the same for every system. Along one axis the shares h
of answers and f of systems are therefore bound by

    Z h = r + g i W f,

where r values and i values of a window lie beside each value of the axis, and W says which values
are in whose window. ``unbiased`` solves this for shares of groups. ``em`` finds the shares, none of
them negative, under which the answers are likeliest. Nothing here is private: only releases are
looked at, so that no privacy is spent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.privacy.score import Axis
from sunveil.privacy.select import SLACK
from sunveil.privacy.window import Window, window_members
from sunveil.publish.publication import Column, PublishedTable

Array = NDArray[np.float64]
Places = NDArray[np.int64]

QUANTITIES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
METHODS = ("unbiased", "em")
# Directions of the channel that carry less than this share of its strongest are not looked along.
_WEAKEST = 1e-9
_STEPS, _STILL = 500, 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Estimated shares of a fleet's systems in groups of one axis's values.

    Parameters
    ----------
    share
        Of each group; the unbiased ones may be negative.
    standard_error
        Of each share, over the draws of the releases.
    worst_bias
        How far a share can be off on average, whatever the fleet: windows that are moved inwards at
        the ends of a range, or that fit the circle a whole number of times, hide some differences.
        None where it is not known.
    """

    share: Array
    standard_error: Array
    worst_bias: Array | None


def unmix(
    places: Places,
    window: Window,
    axis: int,
    *,
    groups: Places | None = None,
    method: str = "unbiased",
    replicates: int = 60,
    seed: int = 0,
) -> Shares:
    """Return the shares of a fleet along one axis, from one release of each of its systems.

    Parameters
    ----------
    places
        Where each release lies: one row per system, one column per axis.
    window
        The mechanism that drew them.
    axis
        Which axis.
    groups
        The group of each value of the axis, counted from 0; every value alone when left out.
    method
        ``unbiased`` or ``em``.
    replicates, seed
        How many fleets the error of ``em`` is found from, by simulation.
    """
    if method not in METHODS:
        raise ParameterError(f"method is one of {', '.join(METHODS)}, and {method!r} is not")
    counts = _counts(places, window, axis)
    chosen = np.arange(len(counts)) if groups is None else np.asarray(groups)
    if chosen.shape != counts.shape or chosen.dtype.kind != "i" or chosen.min() < 0:
        raise ParameterError("groups name one group, 0 or above, for every value of the axis")
    members = (np.arange(int(chosen.max()) + 1)[:, None] == chosen[None, :]).astype(np.float64)
    if method == "unbiased":
        return _unbiased(counts, window, axis, members)
    return _likeliest(counts, window, axis, members, replicates=replicates, seed=seed)


def unmix_joint(places: Places, window: Window, *, steps: int = 200) -> Array:
    """Return the likeliest shares of a fleet over all axes together, in their shape.

    Parameters
    ----------
    places
        Where each release lies: one row per system, one column per axis.
    window
        The mechanism that drew them.
    steps
        How often the shares are improved; fewer leave them smoother.
    """
    for axis in range(len(window.axes)):
        _counts(places, window, axis)
    shape = tuple(axis.size for axis in window.axes)
    flat = np.ravel_multi_index(tuple(places.T), shape)
    seen = np.bincount(flat, minlength=window.size).reshape(shape) / len(places)
    inside = [_inside(a, w) for a, w in zip(window.axes, window.widths, strict=True)]
    gain, total = _gain(window)
    found = np.full(shape, 1.0 / window.size)
    for _ in range(steps):
        ratio = seen / (1.0 + gain * _along(inside, found)) * total
        found *= (ratio.sum() + gain * _along([w.T for w in inside], ratio)) / total
    return np.asarray(found / found.sum())


def channel(window: Window, axis: int) -> Array:
    """Return how likely each value of an axis (rows) is released where each is true (columns)."""
    gain, total = _gain(window)
    beside = window.size / window.axes[axis].size
    within = window.inside / window.widths[axis]
    inside = _inside(window.axes[axis], window.widths[axis])
    return np.asarray((beside + gain * within * inside) / total)


def window_of(public: Mapping[str, Any]) -> Window:
    """Return the window of a publication of whole systems, from its public choices."""
    try:
        choices = public["choices"]
        azimuth, tilt, capacity = choices["window_steps"]
        low, high = choices["capacities_kw"]
        axes = (
            Axis(round(360.0 / azimuth), azimuth, wraps=True),
            Axis(math.floor(90.0 / tilt) + 1, tilt),
            Axis(math.ceil(math.log(high / low) / capacity) + 1, capacity),
        )
        return Window(float(public["epsilon"]), axes, tuple(public["window_widths"]))
    except (KeyError, TypeError):
        raise ParameterError(
            "these are no releases of whole systems: their public choices name no window"
        ) from None


def places_of(table: PublishedTable, public: Mapping[str, Any]) -> Places:
    """Return where the rows of a publication of whole systems lie on the axes of its window."""
    window = window_of(public)
    low = public["choices"]["capacities_kw"][0]
    azimuth, tilt, capacity = (np.array(table.column(name), float) for name in QUANTITIES)
    values = (azimuth, tilt, np.log(capacity / low))
    places = [np.rint(v / axis.step) for v, axis in zip(values, window.axes, strict=True)]
    return np.stack(places, axis=1).astype(np.int64)


def values_of(public: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return the azimuths, tilts [degrees] and capacities [kW] of the axes of a window."""
    azimuth, tilt, capacity = (
        np.arange(axis.size, dtype=np.float64) * axis.step for axis in window_of(public).axes
    )
    low = float(public["choices"]["capacities_kw"][0])
    return azimuth, tilt, low * np.exp(capacity)


def unmix_systems(
    table: PublishedTable,
    public: Mapping[str, Any],
    *,
    sectors: int = 8,
    tilt_edges: Sequence[float] = (20.0, 40.0, 60.0),
    capacity_edges_kw: Sequence[float] = (3.0, 6.0, 12.0),
    seed: int = 0,
) -> PublishedTable:
    """Return a fleet's shares by azimuth, tilt and capacity, estimated from its published systems.

    Parameters
    ----------
    table, public
        The table and the public choices of a publication of whole systems.
    sectors
        How many sectors the compass is cut into; the first is centred on north.
    tilt_edges, capacity_edges_kw
        Where bands of tilt [degrees] and classes of capacity [kW] meet.
    seed
        For the errors that are found by simulation.
    """
    azimuths, tilts, capacities = values_of(public)
    turn = 360.0 / sectors
    cut = [
        (np.floor((azimuths / turn + 0.5) % sectors), [f"{k * turn:g}°" for k in range(sectors)]),
        (np.searchsorted(tilt_edges, tilts, side="right"), _spans(tilt_edges, "°")),
        (
            np.searchsorted(capacity_edges_kw, capacities, side="right"),
            _spans(capacity_edges_kw, " kW"),
        ),
    ]
    places, window = places_of(table, public), window_of(public)
    rows: list[tuple[Any, ...]] = []
    for axis, (groups, labels) in enumerate(cut):
        kinds = [
            unmix(places, window, axis, groups=groups.astype(np.int64), method=m, seed=seed)
            for m in METHODS
        ]
        for number, label in enumerate(labels[: len(kinds[0].share)]):
            rows.append((QUANTITIES[axis], label, *_numbers(kinds, number)))
    return PublishedTable(
        "shares",
        "Shares of the fleet, estimated from the releases of its systems.",
        _COLUMNS,
        tuple(rows),
    )


_COLUMNS = (
    Column("quantity", "string", "What the group is a group of."),
    Column("group", "string", "Middle of a sector, or the span of a band or class."),
    Column("share", "number", "Unbiased share of the systems; may be negative."),
    Column("share_error", "number", "Its standard error."),
    Column("share_worst_bias", "number", "How far it can be off on average, whatever the fleet."),
    Column("likeliest_share", "number", "Likeliest share, none negative, adding up to one."),
    Column("likeliest_share_error", "number", "Its standard error, by simulation."),
)


def _numbers(kinds: Sequence[Shares], number: int) -> tuple[float, ...]:
    unbiased, likeliest = kinds
    assert unbiased.worst_bias is not None
    found = (
        unbiased.share,
        unbiased.standard_error,
        unbiased.worst_bias,
        likeliest.share,
        likeliest.standard_error,
    )
    return tuple(round(float(column[number]), 6) for column in found)


def _spans(edges: Sequence[float], unit: str) -> list[str]:
    between = [f"{a:g} to {b:g}{unit}" for a, b in pairwise(edges)]
    return [f"below {edges[0]:g}{unit}", *between, f"{edges[-1]:g}{unit} and above"]


def _unbiased(counts: Places, window: Window, axis: int, members: Array) -> Shares:
    matrix = channel(window, axis)
    # weighed as is best for a fleet that is spread evenly; so they also add up to one
    scale = 1.0 / np.sqrt(matrix.mean(axis=1))
    # what one release at each value adds to each share
    adds = members @ np.linalg.pinv(scale[:, None] * matrix, rcond=_WEAKEST) * scale
    number = counts.sum()
    share = adds @ counts / number
    means = adds @ matrix
    # the spread of what systems at each value add: this fleet's lies between the least and the most
    spreads = adds**2 @ matrix - means**2
    spread = adds**2 @ counts / number - share
    spread = np.clip(spread, spreads.min(axis=1), spreads.max(axis=1))
    bias = np.abs(members - means).max(axis=1)
    return Shares(
        share, np.sqrt(np.maximum(spread, 0.0) / number), np.where(bias < 1e-7, 0.0, bias)
    )


def _likeliest(
    counts: Places, window: Window, axis: int, members: Array, *, replicates: int, seed: int
) -> Shares:
    matrix = channel(window, axis)
    number = int(counts.sum())
    found = _climb(matrix, counts[:, None] / number)
    law = matrix @ found[:, 0]
    again = np.random.default_rng(seed).multinomial(number, law / law.sum(), size=replicates)
    others = members @ _climb(matrix, again.T / number)
    return Shares((members @ found)[:, 0], others.std(axis=1, ddof=1), None)


def _climb(matrix: Array, seen: Array) -> Array:
    """Return the likeliest shares behind each column of shares of answers."""
    found = np.full((matrix.shape[1], seen.shape[1]), 1.0 / matrix.shape[1])
    for _ in range(_STEPS):
        better = found * (matrix.T @ (seen / (matrix @ found)))
        still = np.abs(better - found).max() < _STILL
        found = better
        if still:
            break
    return np.asarray(found / found.sum(axis=0))


def _counts(places: Places, window: Window, axis: int) -> Places:
    if places.ndim != 2 or places.shape[1] != len(window.axes) or len(places) == 0:
        raise ParameterError("give one row of places per release, with one column per axis")
    size = window.axes[axis].size
    column = places[:, axis]
    if column.min() < 0 or column.max() >= size:
        raise ParameterError("a release lies outside the axes of the window; give its own window")
    return np.bincount(column, minlength=size)


def _gain(window: Window) -> tuple[float, float]:
    """Return g, and Z."""
    gain = math.expm1(window.epsilon - SLACK)
    return gain, window.size + gain * window.inside


def _inside(axis: Axis, width: int) -> Array:
    """Return which values (rows) are in the window of which (columns)."""
    found = np.zeros((axis.size, axis.size))
    for place in range(axis.size):
        found[window_members(axis, width, place), place] = 1.0
    return found


def _along(matrices: Sequence[Array], values: Array) -> Array:
    """Return values with each matrix applied along its own axis."""
    for number, matrix in enumerate(matrices):
        values = np.moveaxis(np.tensordot(matrix, values, axes=(1, number)), 0, number)
    return values
