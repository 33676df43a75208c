"""Posterior draws of a fleet; priors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.publication.published_tables import Bins
from sunveil.simulate.fault_rates import EUROPE, TILT_EDGES, US, FleetStatistics
from sunveil.site import Array

Whole = NDArray[np.int64]

LISTS = (US, EUROPE)

# How far the logarithms of a fleet's shares lie from the lists': of sectors, bands, classes, and of
# the cells of sector and band together. The two lists differ by 0.9 (sectors), 1.0 (bands).
SECTOR_SPREAD, BAND_SPREAD, CLASS_SPREAD, CELL_SPREAD = 0.9, 1.0, 0.7, 0.5

# By how many of its own deviations the logarithm of a fleet's sizes is larger or smaller than the
# lists' together: each of the two is 0.9 away.
PRIOR_SIZE_SPREAD = 0.9

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
# sizes with a logarithm of variance 0.2 that lies 0.3 higher, they fall by 0.3 / 0.2 less.
SIZE_SLOPE = 1.5

# A list's shares are never taken for zero.
_LEAST = 1e-4

# Planes that stand for a bin: azimuths by tilts.
WITHIN = (3, 3)

# How sure the lists are of where planes stand within a cell, in systems.
WITHIN_SYSTEMS = 40.0

# DC capacity over the inverter's limit: evenly between these.
RATIOS = (1.0, 1.3)


@dataclass(frozen=True, slots=True)
class CellGrid:
    """Sectors of azimuth, bands of tilt and classes of capacity of a fleet's published tables."""

    sectors: int  # how many sectors the compass is cut into
    centre: float  # [degrees] azimuth of the middle of the first
    tilt_edges: tuple[float, ...]  # where bands [degrees] and classes [kW] begin and end
    capacity_edges_kw: tuple[float, ...]  # where bands [degrees] and classes [kW] begin and end

    @classmethod
    def of(cls, bins: Bins) -> CellGrid:
        """Return the cells of published bins."""
        return cls(bins.sectors, 0.0, bins.tilt_edges, bins.capacity_edges_kw)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many sectors, bands and classes there are."""
        return self.sectors, len(self.tilt_edges) - 1, len(self.capacity_edges_kw) - 1

    def places(self, azimuth: Array, tilt: Array, capacity: Array) -> tuple[Whole, Whole, Whole]:
        """Return the sector, band and class of systems; those beyond the ends are in the last."""
        turned = np.floor(np.mod((azimuth - self.centre) * self.sectors / 360.0 + 0.5,
                                 self.sectors)).astype(np.int64) % self.sectors  # fmt: skip
        return turned, _band(tilt, self.tilt_edges), _band(capacity, self.capacity_edges_kw)


@dataclass(frozen=True, slots=True, eq=False)
class CellPrior:
    """What is known of cells before anything was published."""

    grid: CellGrid  # the cells
    shares: Array  # shares of systems by sector, band and class; they add up to 1
    mean_kw: Array  # [kW] mean and standard deviation of the capacity of the systems of each class
    spread_kw: Array  # [kW]
    large: NDArray[np.bool_]  # which classes are of systems that are no home's
    surface_azimuth: Array  # [degrees]
    surface_tilt: Array  # [degrees]
    within: Array  # the share of each of them, in the same shape; each row adds up to 1

    @property
    def planes(self) -> int:
        """How many cells of sector and band there are."""
        return len(self.within)


@lru_cache(maxsize=8)
def cell_prior(grid: CellGrid, *, largest_kw: float = 2000.0) -> CellPrior:
    """Return what the public lists say of some cells."""
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


# A drawn total is never less than this share of what its systems would usually have.
LEAST_SIZE = 0.05

_STEPS = 40

_DONE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Published numbers of one group that are linear in how many systems its cells have."""

    matrix: Array
    values: Array  # the published numbers
    deviation: Array | None
    drifts: tuple[Array, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedTotal:
    """A published total of capacity."""

    total_kw: float  # [kW] as drawn, and the standard deviation of its error
    deviation_kw: float  # [kW] as drawn, and the standard deviation of its error


@dataclass(frozen=True, slots=True, eq=False)
class CellDraws:
    """Draws of one group."""

    systems: Array  # [systems] by draw, cell of sector and band, and class
    capacity_kw: Array  # [kW] by draw and cell of sector and band


def effects(prior: CellPrior) -> Array:
    """Return B: what sectors, bands, classes, size and cells do to log shares, with spreads."""
    sectors, bands, _ = prior.grid.shape
    where = np.indices(prior.grid.shape).reshape(3, -1)
    one = [np.eye(size)[place] for size, place in zip(prior.grid.shape, where, strict=True)]
    both = np.eye(sectors * bands)[where[0] * bands + where[1]]
    spreads = (SECTOR_SPREAD, BAND_SPREAD, CLASS_SPREAD)
    columns = [spread * each for spread, each in zip(spreads, one, strict=True)]
    logs = np.log(prior.mean_kw)
    weight = prior.shares.sum(axis=(0, 1))
    middle = weight @ logs
    away = (logs - middle) / max(float(np.sqrt(weight @ (logs - middle) ** 2)), 1e-6)
    larger = PRIOR_SIZE_SPREAD * away[where[2]][:, None]
    alike = WIDTH_SPREAD * -0.5 * np.minimum(away**2, WIDEST**2)[where[2]][:, None]
    large = LARGE_SPREAD * prior.large[where[2]].astype(np.float64)[:, None]
    known = np.hstack([*columns, larger, alike, large, CELL_SPREAD * both])
    whole = np.zeros((len(known) + 1, known.shape[1] + 1))
    whole[:-1, :-1], whole[-1, -1] = known, UNKNOWN_SPREAD
    return whole


def draw_cells(
    prior: CellPrior,
    systems: float,
    observed: Sequence[Observation],
    *,
    total: ObservedTotal | None,
    draws: int,
    rng: np.random.Generator,
    unknown: bool = True,
) -> CellDraws:
    """Return draws of one group's systems and capacities by cell."""
    share = UNKNOWN_SHARE if unknown else 1e-9
    # a share that spreads so far has its mean above its middle
    usual = prior.shares * np.where(prior.large, np.exp(-(LARGE_SPREAD**2) / 2.0), 1.0)
    usual /= usual.sum()
    base = np.log(np.append((1.0 - share) * usual.ravel(), share))
    basis = effects(prior)
    middle, spread = _laplace(base, basis, _stacked(prior, systems, observed))
    z = middle + rng.standard_normal((draws, spread.shape[1])) @ spread.T
    shares = _softmax(base + z @ basis.T)[:, :-1]
    counts = systems * shares
    return _sized(prior, counts, total, rng)


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """All published counts of a group together: what shares make of them, and what was drawn."""

    matrix: Array
    values: Array
    deviation: Array
    counted: NDArray[np.bool_]
    drifts: tuple[Array, ...]

    def loss(self, shares: Array) -> float:
        """Return minus the logarithm of how likely the numbers are, but for a constant."""
        made = self.matrix @ shares
        normal = ~self.counted
        off = (self.values[normal] - made[normal]) / self.deviation[normal]
        mean = np.maximum(made[self.counted], 1e-12)
        return float(off @ off / 2.0 + (mean - self.values[self.counted] * np.log(mean)).sum())

    def spreads(self, made: Array) -> Array:
        """Return the standard deviation of every number, where shares make these of them."""
        return np.where(self.counted, np.sqrt(np.maximum(made, 1e-9)), self.deviation)


def _stacked(prior: CellPrior, systems: float, observed: Sequence[Observation]) -> _Numbers:
    """Return all published counts of a group together."""
    empty = np.zeros((0, prior.shares.size + 1))
    matrix = systems * np.concatenate([empty, *(each.matrix for each in observed)])
    values = np.concatenate([np.zeros(0), *(each.values for each in observed)])
    deviations = [
        np.ones(len(each.values)) if each.deviation is None else each.deviation for each in observed
    ]
    counted = [np.full(len(each.values), each.deviation is None) for each in observed]
    return _Numbers(
        matrix,
        values,
        np.concatenate([np.zeros(0), *deviations]),
        np.concatenate([np.zeros(0, dtype=bool), *counted]),
        tuple(_in_place(matrix, systems, observed)),
    )


def _in_place(matrix: Array, systems: float, observed: Sequence[Observation]) -> Iterator[Array]:
    """Yield every drift at the rows of its own numbers, zero elsewhere."""
    first = 0
    for each in observed:
        for drift in each.drifts:
            whole = np.zeros_like(matrix)
            whole[first : first + len(each.values)] = systems * drift
            yield whole
        first += len(each.values)


def _laplace(base: Array, basis: Array, numbers: _Numbers) -> tuple[Array, Array]:
    """Return the most likely z, and a root of its covariance."""
    # What the matrix hangs on moves the most likely z. It is not learnt from the numbers, since it
    # would take the blame for whatever else does not fit: its own spread is handed on as it is.
    z = np.zeros(basis.shape[1])

    def loss(at: Array) -> float:
        return numbers.loss(_softmax((base + basis @ at)[None, :])[0]) + float(at @ at) / 2.0

    now = loss(z)
    hessian = np.eye(len(z))
    moves = np.zeros((len(z), 0))
    for _ in range(_STEPS):
        shares = _softmax((base + basis @ z)[None, :])[0]
        slope = shares[:, None] * (basis - shares @ basis)
        made = numbers.matrix @ shares
        spread = numbers.spreads(made)
        turn = (numbers.matrix @ slope) / spread[:, None]
        hessian = np.eye(len(z)) + turn.T @ turn
        drifts = [turn.T @ ((drift @ shares) / spread) for drift in numbers.drifts]
        moves = np.array(drifts).T if drifts else moves
        step = np.linalg.solve(hessian, turn.T @ ((numbers.values - made) / spread) - z)
        size = 1.0
        while (then := loss(z + size * step)) > now and size > 1e-4:
            size /= 2.0
        if now - then < _DONE:
            break
        z, now = z + size * step, then
    # of the hessian itself, which is well away from singular where its inverse is not
    own = np.linalg.inv(np.linalg.cholesky(hessian)).T
    return z, np.hstack([own, np.linalg.solve(hessian, moves)])


def _softmax(logits: Array) -> Array:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _sized(
    prior: CellPrior, counts: Array, total: ObservedTotal | None, rng: np.random.Generator
) -> CellDraws:
    """Give drawn systems capacities: the class's mean, and the published total."""
    shaped = counts.reshape(len(counts), prior.planes, -1)
    by_class = shaped.sum(axis=1)
    usual = by_class @ prior.mean_kw
    # where systems are larger, they are so within every class alike, the more the wider it is; and
    # few do not have many's mean
    wide = np.minimum(SIZE_SLOPE * prior.spread_kw**2 / prior.mean_kw, prior.spread_kw)
    common = by_class @ wide
    spread = np.sqrt(common**2 + by_class @ prior.spread_kw**2)
    drawn = usual + spread * rng.standard_normal(len(counts))
    if total is not None:
        # every draw moves towards the published total, by how sure that is beside the draws
        variance = float(drawn.var())
        gain = variance / (variance + total.deviation_kw**2)
        seen = total.total_kw + total.deviation_kw * rng.standard_normal(len(counts))
        drawn += gain * (seen - drawn)
    capacity = shaped @ prior.mean_kw
    # a fleet has some capacity, however noisy its total is
    scale = np.maximum(drawn / np.maximum(usual, 1e-12), LEAST_SIZE)
    return CellDraws(shaped, capacity * scale[:, None])


Weights = NDArray[np.float32]

# Relative spread of the capacities of homes: so much fewer systems than there are count.
MIXTURE_SIZE_SPREAD = 0.5

# A table of more planes than this is laid onto a grid of planes.
MOST_PLANES = 2000

# Its steps. [degrees]
GRID_STEP = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class FleetMixture:
    """Capacities on planes, by draw and group."""

    key: str | None  # public column that divides the fleet; None where it is one group
    groups: tuple[str, ...]  # names of the groups
    systems: Array  # how many systems each has
    surface_azimuth: Array  # [degrees] the planes
    surface_tilt: Array  # [degrees] the planes
    weights: Weights  # [kW] capacity by draw, group and plane
    about: tuple[str, ...] = ()  # how it was made, in sentences

    @property
    def draws(self) -> int:
        """How many draws there are."""
        return len(self.weights)

    def together(self) -> FleetMixture:
        """Return the whole fleet as one group, ``all``."""
        return FleetMixture(
            key=None,
            groups=("all",),
            systems=np.array([self.systems.sum()]),
            surface_azimuth=self.surface_azimuth,
            surface_tilt=self.surface_tilt,
            weights=self.weights.sum(axis=1, keepdims=True),
            about=self.about,
        )


def cell_weights(prior: CellPrior, found: CellDraws, rng: np.random.Generator) -> Weights:
    """Return the capacities of one group on the planes that stand for its cells, by draw."""
    # Where the planes of a cell's systems stand within it is drawn as well: lists are not sure of
    # it, and few systems do not stand as many do.
    systems = found.systems.sum(axis=2) / (1.0 + MIXTURE_SIZE_SPREAD**2)
    sure = 1.0 / (1.0 / WITHIN_SYSTEMS + 1.0 / np.maximum(systems, 0.05))
    drawn = rng.standard_gamma(prior.within * sure[:, :, None] + 1e-6)
    total = drawn.sum(axis=2, keepdims=True)
    shares = np.divide(drawn, total, where=total > 0.0, out=np.broadcast_to(
        prior.within, drawn.shape).copy())  # fmt: skip
    weights = found.capacity_kw[:, :, None] * shares
    return np.asarray(weights.reshape(len(weights), -1), dtype=np.float32)


def lay_planes(
    azimuth: Array, tilt: Array, capacity: Array, place: NDArray[np.int64], groups: int
) -> tuple[Array, Array, Array]:
    """Return planes, and the capacity of every group on each."""
    # Up to a few thousand planes are taken as they are. More are shared out among the four nearest
    # planes of a grid, which moves the power of none by more than 0.2% of its capacity.
    if len(azimuth) <= MOST_PLANES:
        weights = np.zeros((groups, len(azimuth)))
        weights[place, np.arange(len(azimuth))] = capacity
        return azimuth, tilt, weights
    across, up = round(360.0 / GRID_STEP), round(90.0 / GRID_STEP) + 1
    left, right = np.divmod(np.mod(azimuth, 360.0) / GRID_STEP, 1.0)
    lower, upper = np.divmod(np.clip(tilt, 0.0, 90.0) / GRID_STEP, 1.0)
    weights = np.zeros((groups, across, up))
    for step, share in ((0, 1.0 - right), (1, right)):
        for rise, part in ((0, 1.0 - upper), (1, upper)):
            at = (
                place,
                (left.astype(np.int64) + step) % across,
                np.minimum(lower.astype(np.int64) + rise, up - 1),
            )
            np.add.at(weights, at, capacity * share * part)
    azimuths, tilts = np.meshgrid(
        GRID_STEP * np.arange(across), GRID_STEP * np.arange(up), indexing="ij"
    )
    return azimuths.ravel(), tilts.ravel(), weights.reshape(groups, -1)


def named_groups(names: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the distinct names in order, and the place of each given one."""
    if not names:
        raise ParameterError("the table has no rows, and no power can be made of it")
    distinct = tuple(sorted(set(names)))
    index = {name: place for place, name in enumerate(distinct)}
    return distinct, np.array([index[name] for name in names], dtype=np.int64)
