"""What an analyst does with many releases of whole systems: estimate the fleet behind them.

A release by the window answers y with probability (1 + g [y in the window of x]) / Z, where x is
the system's own place, g = e^ε - 1, and Z is the same for every system. The window is a ball around
x, whose shape depends on how near x is to the ends of the ranges: one axis cannot be looked at
without the others. So the fleet is estimated over cells of all axes together: how likely a release
is in each cell, by the cell that the system is in, is a public table, and expectation maximisation
finds the shares, none of them negative, under which the releases are likeliest. Nothing here is
private: only releases are looked at, so that no privacy is spent.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.privacy.score import Axis, Placement
from sunveil.privacy.select import SLACK
from sunveil.privacy.window import Window
from sunveil.publish.publication import Column, PublishedTable

Array = NDArray[np.float64]
Places = NDArray[np.int64]

QUANTITIES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
# Cells along each of up to three axes: azimuth, tilt and capacity.
_MOST_CELLS = (18, 10, 14)
# More steps follow the noise of the releases, fewer leave the shares too even.
_STEPS = 150


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Estimated shares of a fleet's systems in groups of one axis's values.

    Parameters
    ----------
    share
        Of each group; none is negative, and they add up to one.
    standard_error
        Of each share, over the draws of the releases, by simulation: it leaves out that the shares
        are drawn towards even ones where ε is small.
    """

    share: Array
    standard_error: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The values of an axis in cells of neighbours: the cell of each, and each cell's middle."""

    of_value: NDArray[np.intp]
    middles: NDArray[np.intp]

    @classmethod
    def along(cls, axis: Axis, most: int) -> _Cells:
        """Return cells of equal size, on a circle exactly so."""
        fits = [count for count in range(1, min(most, axis.size) + 1) if axis.size % count == 0]
        count = max(fits) if axis.wraps else min(most, axis.size)
        of_value = np.arange(axis.size) * count // axis.size
        starts = np.searchsorted(of_value, np.arange(count + 1))
        return cls(of_value, (starts[:-1] + starts[1:] - 1) // 2)

    def in_groups(self, groups: Places) -> Array:
        """Return which share of each cell's values (columns) is in each group (rows)."""
        members = np.zeros((int(groups.max()) + 1, len(self.middles)))
        np.add.at(members, (groups, self.of_value), 1.0)
        return np.asarray(members / members.sum(axis=0))


@checked
def unmix(
    places: Places,
    window: Window,
    groups: Sequence[Places],
    *,
    replicates: int = 12,
    seed: int = 0,
) -> list[Shares]:
    """Return the shares of a fleet along every axis, from one release of each of its systems.

    Parameters
    ----------
    places
        Where each release lies: one row per system, one column per axis.
    window
        The mechanism that drew them.
    groups
        For every axis, the group of each of its values, counted from 0.
    replicates, seed
        How many fleets the errors are found from, by simulation.
    """
    cells = _cells(window)
    _check(places, window, groups)
    found, law = _likeliest(_seen(places, cells), window)
    number = len(places)
    again = np.random.default_rng(seed).multinomial(number, law / law.sum(), size=replicates)
    others, _ = _likeliest(again.T / number, window)
    shape = tuple(len(each.middles) for each in cells)
    out = []
    for axis, (each, chosen) in enumerate(zip(cells, groups, strict=True)):
        beside = tuple(n for n in range(len(shape)) if n != axis)
        members = each.in_groups(chosen)
        share = members @ found.reshape(shape).sum(axis=beside)
        spread = members @ others.reshape(*shape, -1).sum(axis=beside)
        out.append(Shares(share, spread.std(axis=1, ddof=1)))
    return out


def unmix_joint(places: Places, window: Window) -> Array:
    """Return the likeliest shares of a fleet over cells of all axes together, in their shape.

    Parameters
    ----------
    places
        Where each release lies: one row per system, one column per axis.
    window
        The mechanism that drew them.
    """
    cells = _cells(window)
    _check(places, window, None)
    found, _ = _likeliest(_seen(places, cells), window)
    return found.reshape([len(each.middles) for each in cells])


def seen_shares(table: PublishedTable, public: Mapping[str, Any]) -> Array:
    """Return the share of a publication's rows in every cell of :func:`channel`.

    Parameters
    ----------
    table, public
        The table and the public choices of a publication of whole systems.
    """
    window = window_of(public)
    places = places_of(table, public)
    _check(places, window, None)
    return np.asarray(_seen(places, _cells(window))[:, 0])


def cell_edges(public: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return where the cells of :func:`channel` begin and end along each axis.

    Azimuths and tilts in degrees, capacities in kW; each cell reaches half a step beyond its
    outermost values.
    """
    window = window_of(public)
    low = float(public["choices"]["capacities_kw"][0])
    edges = [
        axis.step * (np.searchsorted(cells.of_value, np.arange(len(cells.middles) + 1)) - 0.5)
        for axis, cells in zip(window.axes, _cells(window), strict=True)
    ]
    azimuth, tilt, capacity = (np.asarray(each, dtype=np.float64) for each in edges)
    return azimuth, tilt, np.asarray(low * np.exp(capacity))


@functools.lru_cache(maxsize=2)
def channel(window: Window) -> Array:
    """Return how likely a release in each cell (rows) is for a system in each (columns).

    For a system in the middle of its cell.
    """
    cells = _cells(window)
    shape = tuple(len(each.middles) for each in cells)
    cell_of = np.ravel_multi_index(np.ix_(*(each.of_value for each in cells)), shape)
    size = np.bincount(cell_of.ravel(), minlength=math.prod(shape))
    held = np.empty((len(size), len(size)))
    # every place on a circle is like its first: there the window only turns
    turning = [n for n, axis in enumerate(window.axes) if axis.wraps]
    still = [range(1) if n in turning else range(many) for n, many in enumerate(shape)]
    for at in itertools.product(*still):
        place = tuple(int(each.middles[k]) for each, k in zip(cells, at, strict=True))
        members = window.members(Placement(place, window.axes))
        counts = np.bincount(cell_of[members], minlength=len(size)).reshape(shape)
        for turn in itertools.product(*(range(shape[n]) for n in turning)):
            by = dict(zip(turning, turn, strict=True))
            there = np.ravel_multi_index([by.get(n, k) for n, k in enumerate(at)], shape)
            held[:, there] = np.roll(counts, turn, axis=tuple(turning)).ravel()
    gain = math.expm1(window.epsilon - SLACK)
    laws = size[:, None] + gain * held
    return np.asarray(laws / (window.size + gain * window.inside))


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
        return Window(float(public["epsilon"]), axes, int(public["window_candidates"]))
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
    groups = [np.asarray(chosen, dtype=np.int64) for chosen, _ in cut]
    found = unmix(places_of(table, public), window_of(public), groups, seed=seed)
    rows = [
        (name, label, round(float(share), 6), round(float(error), 6))
        for name, (_, labels), each in zip(QUANTITIES, cut, found, strict=True)
        for label, share, error in zip(labels, each.share, each.standard_error, strict=False)
    ]
    return PublishedTable(
        "shares",
        "Shares of the fleet, estimated from the releases of its systems.",
        _COLUMNS,
        tuple(rows),
    )


_COLUMNS = (
    Column("quantity", "string", "What the group is a group of."),
    Column("group", "string", "Middle of a sector, or the span of a band or class."),
    Column("share", "number", "Likeliest share of the systems: none negative, adding up to one."),
    Column("share_error", "number", "Its standard error, by simulation."),
)


def _spans(edges: Sequence[float], unit: str) -> list[str]:
    between = [f"{a:g} to {b:g}{unit}" for a, b in pairwise(edges)]
    return [f"below {edges[0]:g}{unit}", *between, f"{edges[-1]:g}{unit} and above"]


def _cells(window: Window) -> list[_Cells]:
    return [_Cells.along(a, most) for a, most in zip(window.axes, _MOST_CELLS, strict=False)]


def _seen(places: Places, cells: Sequence[_Cells]) -> Array:
    """Return the share of releases in every cell, as one column."""
    inside = tuple(each.of_value[at] for each, at in zip(cells, places.T, strict=True))
    shape = tuple(len(each.middles) for each in cells)
    flat = np.ravel_multi_index(inside, shape)
    return np.asarray(np.bincount(flat, minlength=math.prod(shape))[:, None] / len(places))


def _likeliest(seen: Array, window: Window) -> tuple[Array, Array]:
    """Return the likeliest shares behind each column of shares of releases, and the first's law."""
    matrix = channel(window)
    found = np.full((matrix.shape[1], seen.shape[1]), 1.0 / matrix.shape[1])
    for _ in range(_STEPS):
        found *= matrix.T @ (seen / (matrix @ found))
    found /= found.sum(axis=0)
    return found, matrix @ found[:, 0]


def _check(places: Places, window: Window, groups: Sequence[Places] | None) -> None:
    if len(window.axes) > len(_MOST_CELLS):
        raise ParameterError("a fleet is estimated along three axes at most")
    if places.ndim != 2 or places.shape[1] != len(window.axes) or len(places) == 0:
        raise ParameterError("give one row of places per release, with one column per axis")
    sizes = [axis.size for axis in window.axes]
    if places.min() < 0 or (places.max(axis=0) >= sizes).any():
        raise ParameterError("a release lies outside the axes of the window; give its own window")
    if groups is None:
        return
    for size, chosen in itertools.zip_longest(sizes, groups):
        given = np.asarray(chosen)
        if given.shape != (size,) or given.dtype.kind != "i" or given.min() < 0:
            raise ParameterError("groups name one group, 0 or above, for every value of each axis")
