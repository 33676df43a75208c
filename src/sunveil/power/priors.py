"""Public priors: how fleets face and how large their systems are where a publication does not say.

They are made of the two public lists that the simulator draws from (systems of the US and of the
UK, counted in :mod:`sunveil.simulate.systems`), weighed alike, and wide: fleets differ from both.
What a publication leaves open (the tilt of a sector, the planes within a cell, the sizes within a
class) is filled from here, with the spread that is stated here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sunveil.publish.bins import Bins
from sunveil.simulate.systems import EUROPE, TILT_EDGES, US, FleetStatistics
from sunveil.site import Array

Whole = NDArray[np.int64]

LISTS = (US, EUROPE)
# How far the logarithms of a fleet's shares lie from the lists': of sectors, bands, classes, and of
# the cells of sector and band together. The two lists differ by 0.9 (sectors), 1.0 (bands).
SECTOR_SPREAD, BAND_SPREAD, CLASS_SPREAD, CELL_SPREAD = 0.9, 1.0, 0.7, 0.5
# By how many of its own deviations the logarithm of a fleet's sizes is larger or smaller than the
# lists' together: each of the two is 0.9 away.
SIZE_SPREAD = 0.9
# How much more alike, or less, a fleet's sizes are than those of both lists together, which are
# twice as wide as either: one deviation halves the variance of their logarithm. Sizes more than two
# deviations off count as two.
WIDTH_SPREAD, WIDEST = 1.0, 2.0
# Systems that are no home's begin here [kW]. Many groups have none of them and a few have many: the
# logarithm of their share spreads widely, about a middle that leaves its mean to the lists.
LARGE_KW, LARGE_SPREAD = 20.0, 2.0
# The share of systems that could not be inferred, and how far its logarithm spreads.
UNKNOWN_SHARE, UNKNOWN_SPREAD = 0.02, 1.5
# How much steeper or flatter sizes fall within classes than in the lists, in all classes alike: of
# sizes whose logarithm has the variance 0.2 and lies 0.3 higher, they fall by 0.3 / 0.2 less.
SIZE_SLOPE = 1.5
# A list's shares are never taken for zero.
_LEAST = 1e-4
# Planes that stand for a cell: so many azimuths by so many tilts.
WITHIN = (3, 3)
# How sure the lists are of where planes stand within a cell, in systems.
WITHIN_SYSTEMS = 40.0
# DC capacity over the inverter's limit: evenly between these.
RATIOS = (1.0, 1.3)


@dataclass(frozen=True, slots=True)
class CellGrid:
    """Sectors of azimuth, bands of tilt and classes of capacity that a fleet is told in.

    Parameters
    ----------
    sectors
        How many sectors the compass is cut into.
    centre
        Azimuth of the middle of the first. [degrees]
    tilt_edges, capacity_edges_kw
        Where bands [degrees] and classes [kW] begin and end.
    """

    sectors: int
    centre: float
    tilt_edges: tuple[float, ...]
    capacity_edges_kw: tuple[float, ...]

    @classmethod
    def of(cls, bins: Bins) -> CellGrid:
        """Return the cells of published bins."""
        return cls(bins.sectors, 0.0, bins.tilt_edges, bins.capacity_edges_kw)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many sectors, bands and classes there are."""
        return self.sectors, len(self.tilt_edges) - 1, len(self.capacity_edges_kw) - 1

    def places(self, azimuth: Array, tilt: Array, capacity: Array) -> tuple[Whole, Whole, Whole]:
        """Return the sector, band and class of systems; those beyond the ends are in the last.

        Parameters
        ----------
        azimuth, tilt
            Of their planes. [degrees]
        capacity
            Of the systems. [kW]
        """
        turned = np.floor(np.mod((azimuth - self.centre) * self.sectors / 360.0 + 0.5,
                                 self.sectors)).astype(np.int64) % self.sectors  # fmt: skip
        return turned, _band(tilt, self.tilt_edges), _band(capacity, self.capacity_edges_kw)


@dataclass(frozen=True, slots=True, eq=False)
class CellPrior:
    """What is known of cells before anything was published.

    Parameters
    ----------
    grid
        The cells.
    shares
        Shares of systems by sector, band and class; they add up to 1.
    mean_kw, spread_kw
        Mean and standard deviation of the capacity of the systems of each class. [kW]
    large
        Which classes are of systems that are no home's.
    surface_azimuth, surface_tilt
        The planes that stand for each cell of sector and band, shape (cells, planes). [degrees]
    within
        The share of each of them, in the same shape; each row adds up to 1.
    """

    grid: CellGrid
    shares: Array
    mean_kw: Array
    spread_kw: Array
    large: NDArray[np.bool_]
    surface_azimuth: Array
    surface_tilt: Array
    within: Array

    @property
    def planes(self) -> int:
        """How many cells of sector and band there are."""
        return len(self.within)


@lru_cache(maxsize=8)
def cell_prior(grid: CellGrid, *, largest_kw: float = 2000.0) -> CellPrior:
    """Return what the public lists say of some cells.

    Parameters
    ----------
    grid
        The cells.
    largest_kw
        The largest capacity that a system may have: public. [kW]
    """
    azimuth, facing = _fine_azimuths()
    tilt, leaning = _fine_tilts()
    size, sized = _fine_sizes(largest_kw)
    sector = grid.places(azimuth, azimuth, azimuth)[0]
    band, kind = _band(tilt, grid.tilt_edges), _band(size, grid.capacity_edges_kw)
    margins = [
        _margin(place, weight, count)
        for place, weight, count in zip(
            (sector, band, kind), (facing, leaning, sized), grid.shape, strict=True
        )
    ]
    means, spreads = _moments(size, sized, kind, grid, largest_kw)
    across = [_parts(azimuth, facing, sector == n, WITHIN[0], turn=True) for n in
              range(grid.sectors)]  # fmt: skip
    up = [_parts(tilt, leaning, band == n, WITHIN[1], edges=grid.tilt_edges[n : n + 2]) for n in
          range(grid.shape[1])]  # fmt: skip
    pairs = [(one, other) for one in across for other in up]
    return CellPrior(
        grid=grid,
        shares=np.einsum("i,j,k->ijk", *margins),
        mean_kw=means,
        spread_kw=spreads,
        large=np.array([LARGE_KW <= low < largest_kw for low in grid.capacity_edges_kw[:-1]]),
        surface_azimuth=np.array([np.repeat(a, len(t)) for (a, _), (t, _) in pairs]),
        surface_tilt=np.array([np.tile(t, len(a)) for (a, _), (t, _) in pairs]),
        within=np.array([np.outer(w, v).ravel() for (_, w), (_, v) in pairs]),
    )


def _margin(place: Whole, weight: Array, count: int) -> Array:
    shares = np.maximum(np.bincount(place, weights=weight, minlength=count), _LEAST)
    return np.asarray(shares / shares.sum())


def _fine_azimuths() -> tuple[Array, Array]:
    """Return azimuths in steps of one degree, and how many systems of the lists face each."""
    azimuth = np.arange(360.0)
    return azimuth, np.mean([_facing(each, azimuth) for each in LISTS], axis=0)


def _facing(statistics: FleetStatistics, azimuth: Array) -> Array:
    total = np.zeros(len(azimuth))
    for place, weight in enumerate(statistics.azimuths):
        away = np.abs((azimuth - 45.0 * place + 180.0) % 360.0 - 180.0)
        if statistics.bin_spread is None:
            law = (away < 22.5).astype(np.float64)
        else:
            law = np.exp(-0.5 * (away / statistics.bin_spread) ** 2)
        total += weight * law / law.sum()
    return np.asarray(total / total.sum())


def _fine_tilts() -> tuple[Array, Array]:
    """Return tilts in steps of half a degree, and how many systems of the lists have each."""
    tilt = np.arange(0.25, 90.0, 0.5)
    edges = np.array(TILT_EDGES)
    place = np.searchsorted(edges, tilt, side="right") - 1
    inside = place < len(edges) - 1
    total = np.zeros(len(tilt))
    for statistics in LISTS:
        density = np.array(statistics.tilts) / np.diff(edges)
        total[inside] += density[place[inside]] / density[place[inside]].sum()
    total += 1e-4
    return tilt, total / total.sum()


def _fine_sizes(largest_kw: float) -> tuple[Array, Array]:
    """Return capacities in even steps of their logarithm, and how many systems have each."""
    size = np.exp(np.linspace(math.log(0.3), math.log(max(largest_kw, 1.0)), 400))
    total = np.zeros(len(size))
    for each in LISTS:
        homes = np.exp(-0.5 * (np.log(size / each.median_kw) / each.spread) ** 2)
        homes *= size <= each.largest_home_kw
        large = ((size >= 20.0) & (size <= 1000.0)).astype(np.float64)
        total += (1.0 - each.commercial) * homes / homes.sum()
        total += each.commercial * large / max(large.sum(), 1.0)
    return size, total / total.sum()


def _moments(
    size: Array, weight: Array, kind: Whole, grid: CellGrid, largest_kw: float
) -> tuple[Array, Array]:
    """Return mean and spread of the capacities of every class. [kW]"""
    edges = np.minimum(np.array(grid.capacity_edges_kw), max(largest_kw, 1.0))
    mean, spread = np.empty(grid.shape[2]), np.empty(grid.shape[2])
    for place in range(grid.shape[2]):
        own = weight * (kind == place)
        if own.sum() <= 1e-9:  # nothing is known of such systems but their class
            low, high = edges[place], max(edges[place + 1], edges[place] + 0.1)
            mean[place], spread[place] = (low + high) / 2.0, (high - low) / math.sqrt(12.0)
            continue
        own = own / own.sum()
        mean[place] = own @ size
        spread[place] = math.sqrt(float(own @ (size - mean[place]) ** 2))
    return mean, spread


def _parts(
    values: Array,
    weight: Array,
    inside: NDArray[np.bool_],
    count: int,
    *,
    turn: bool = False,
    edges: tuple[float, ...] = (0.0, 0.0),
) -> tuple[Array, Array]:
    """Return values that stand for a bin, each for an equal width of it, and their shares."""
    own, law = values[inside], weight[inside] + 1e-9
    if turn:
        middle = math.degrees(math.atan2(*(law @ f(np.radians(own)) for f in (np.sin, np.cos))))
        own = (own - middle + 180.0) % 360.0 - 180.0 + middle
    low, high = (own.min() - 0.5, own.max() + 0.5) if turn else edges
    cuts = np.linspace(low, high, count + 1)
    place = np.clip(np.searchsorted(cuts, own, side="right") - 1, 0, count - 1)
    held = np.bincount(place, weights=law, minlength=count)
    mean = np.bincount(place, weights=law * own, minlength=count) / np.maximum(held, 1e-30)
    empty = held <= 0.0
    mean[empty] = ((cuts[1:] + cuts[:-1]) / 2.0)[empty]
    return np.mod(mean, 360.0) if turn else mean, held / held.sum()


def _band(values: Array, edges: tuple[float, ...]) -> Whole:
    return np.searchsorted(np.array(edges[1:-1]), values, side="right").astype(np.int64)
