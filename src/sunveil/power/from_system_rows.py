"""Observations from published rows and their stated errors."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.power.posterior import (
    MOST_PLANES,
    CellGrid,
    CellPrior,
    FleetMixture,
    Observation,
    cell_prior,
    cell_weights,
    draw_cells,
    lay_planes,
)
from sunveil.privacy.mechanisms import SLACK, Axis, Placement
from sunveil.privacy.two_level_window import Window
from sunveil.publication.published_tables import PublishedTable

# Mean errors of rows that tell nothing but the public prior of releases, at the least ε of
# releases/typical.json. [degrees, degrees, %]
CHANCE_AZIMUTH, CHANCE_TILT, CHANCE_CAPACITY = 47.5, 17.9, 6600.0

# Up to this share of such rows, every row is taken at its word.
FEW_LOST = 0.02

# Largest share of rows taken to be lost.
MOST_LOST = 0.97

# Error of the logarithm of capacity where too many rows are lost to estimate it.
USUAL_CAPACITY_ERROR = 0.05

# Errors are stated as measured on a few dozen systems: those of a fleet lie about them. The spread
# of the logarithm of how many rows are lost for one that is not, and of the three errors' sizes.
# All rows share them, so that a large fleet does not average them out.
LOST_SPREAD, ERROR_SPREAD = 0.3, 0.2

_SECTORS, _BANDS, _CLASSES = 16, 9, 12

# Values that stand for a cell where its systems are blurred.
_INSIDE = 12


@dataclass(frozen=True, slots=True)
class RowErrors:
    """The law of the errors of rows, as the errors that are stated for them have it."""

    lost: float  # share of rows that tell nothing of their systems
    azimuth: float  # [degrees] mean absolute errors of the others
    tilt: float  # [degrees] mean absolute errors of the others
    capacity: float  # mean absolute error of the logarithm of their capacity

    @classmethod
    def stated(cls, errors: Mapping[str, tuple[float, float]]) -> RowErrors:
        """Return the law that has the stated means."""
        # A row by chance has a capacity by chance, off by thousands of percent: the mean error of
        # capacity tells how many there are.
        lost = min(errors["dc_capacity_kw"][0] / CHANCE_CAPACITY, MOST_LOST)
        kept = 1.0 - lost
        reach = 0.9 / kept
        capacity = USUAL_CAPACITY_ERROR
        if reach < 0.99:
            capacity = float(np.log1p(errors["dc_capacity_kw"][1] / 100.0) / -np.log1p(-reach))
        return cls(
            lost=lost,
            azimuth=max((errors["surface_azimuth"][0] - CHANCE_AZIMUTH * lost) / kept, 0.5),
            tilt=max((errors["surface_tilt"][0] - CHANCE_TILT * lost) / kept, 0.5),
            capacity=float(np.clip(capacity, 0.005, 0.3)),
        )

    def moved(self, deviations: Sequence[float]) -> RowErrors:
        """Return the law that many deviations from the stated one."""
        lost, *others = deviations
        odds = self.lost / (1.0 - self.lost) * np.exp(LOST_SPREAD * lost)
        azimuth, tilt, capacity = (float(np.exp(ERROR_SPREAD * each)) for each in others)
        return RowErrors(
            float(odds / (1.0 + odds)),
            self.azimuth * azimuth,
            self.tilt * tilt,
            self.capacity * capacity,
        )


@functools.lru_cache(maxsize=2)
def row_laws(capacities_kw: tuple[float, float], errors: RowErrors) -> tuple[Array, ...]:
    """Return the law, and how it changes where each of its four numbers is a deviation higher."""
    prior = cell_prior(row_grid(capacities_kw), largest_kw=capacities_kw[1])
    found = [row_law(prior, errors)]
    for place in range(4):
        step = np.eye(4)[place]
        high, low = (row_law(prior, errors.moved(sign * step)) for sign in (1.0, -1.0))
        found.append((high - low) / 2.0)
    return tuple(found)


def row_grid(capacities_kw: tuple[float, float]) -> CellGrid:
    """Return the cells in which rows of which many tell nothing are looked at."""
    classes = np.geomspace(*capacities_kw, _CLASSES + 1)
    bands = np.linspace(0.0, 90.0, _BANDS + 1)
    return CellGrid(_SECTORS, 0.0, tuple(map(float, bands)), tuple(map(float, classes)))


def row_law(prior: CellPrior, errors: RowErrors) -> Array:
    """Return how likely a row in each cell is for a system in each."""
    grid = prior.grid
    sectors, _, classes = grid.shape
    middle = 180.0 / sectors
    turn = _blurred(np.linspace(-middle, 360.0 - middle, sectors + 1), errors.azimuth, turns=True)
    lean = _blurred(np.array(grid.tilt_edges), errors.tilt, mirrored=True)
    size = _blurred(np.log(np.array(grid.capacity_edges_kw)), errors.capacity)
    near = np.kron(np.kron(turn, lean), size)
    planes = prior.shares.sum(axis=2).ravel()
    chance = np.repeat(planes, classes) / classes
    return np.asarray((1.0 - errors.lost) * near + errors.lost * chance[:, None])


def _blurred(edges: Array, scale: float, *, turns: bool = False, mirrored: bool = False) -> Array:
    """Return how likely a value of one cell is found in another after an exponential error."""
    cells = len(edges) - 1
    values = edges[:-1, None] + np.diff(edges)[:, None] * (np.arange(_INSIDE) + 0.5) / _INSIDE
    ends = edges.copy() if turns else np.append(edges[:-1], np.inf)
    if not (turns or mirrored):
        ends[0] = -np.inf
    found = np.zeros((cells, cells, _INSIDE))
    for way in (-360.0, 0.0, 360.0) if turns else (0.0,):
        found += np.diff(_below((ends + way)[:, None, None] - values, scale), axis=0)
    if mirrored:
        found += np.diff(_below(-ends[::-1, None, None] - values, scale), axis=0)[::-1]
    law = found.mean(axis=2)
    return np.asarray(law / law.sum(axis=0))


def _below(away: Array, scale: float) -> Array:
    """Return how often an exponential error of either sign is below a number."""
    tail = np.exp(-np.abs(away) / scale) / 2.0
    return np.where(away < 0.0, tail, 1.0 - tail)


Array = NDArray[np.float64]

Places = NDArray[np.int64]

QUANTITIES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")

# Cells along each of up to three axes: azimuth, tilt and capacity.
_MOST_CELLS = (18, 10, 14)


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


def seen_shares(table: PublishedTable, public: Mapping[str, Any]) -> Array:
    """Return the share of a publication's rows in every cell of :func:`channel`."""
    window = window_of(public)
    places = places_of(table, public)
    _check(places, window)
    return np.asarray(_seen(places, _cells(window))[:, 0])


def cell_edges(public: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return where the cells of :func:`channel` begin and end along each axis."""
    # Azimuths and tilts in degrees, capacities in kW; each cell reaches half a step beyond its
    # outermost values.
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
    """Return how likely a release in each cell (rows) is for a system in each (columns)."""
    # For a system in the middle of its cell.
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


def _cells(window: Window) -> list[_Cells]:
    return [_Cells.along(a, most) for a, most in zip(window.axes, _MOST_CELLS, strict=False)]


def _seen(places: Places, cells: Sequence[_Cells]) -> Array:
    """Return the share of releases in every cell, as one column."""
    inside = tuple(each.of_value[at] for each, at in zip(cells, places.T, strict=True))
    shape = tuple(len(each.middles) for each in cells)
    flat = np.ravel_multi_index(inside, shape)
    return np.asarray(np.bincount(flat, minlength=math.prod(shape))[:, None] / len(places))


def _check(places: Places, window: Window) -> None:
    if len(window.axes) > len(_MOST_CELLS):
        raise ParameterError("a fleet is estimated along three axes at most")
    if places.ndim != 2 or places.shape[1] != len(window.axes) or len(places) == 0:
        raise ParameterError("give one row of places per release, with one column per axis")
    sizes = [axis.size for axis in window.axes]
    if places.min() < 0 or (places.max(axis=0) >= sizes).any():
        raise ParameterError("a release lies outside the axes of the window; give its own window")


def moved_rows(
    azimuth: Array,
    tilt: Array,
    capacity: Array,
    errors: RowErrors,
    *,
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of a fleet in which every row is moved by an error of the stated size."""
    # Where many errors do not cancel out, such as on either side of south, they are corrected for
    # to first order; so a plane's capacity may be below zero in a draw, and the sum over planes is
    # not.
    where = np.zeros(len(azimuth), dtype=np.int64)
    given = _on_grid(azimuth, tilt, capacity, where)[2][0]
    weights = []
    for _ in range(draws):
        turned = azimuth + rng.laplace(0.0, errors.azimuth, len(azimuth))
        leaning = np.abs(tilt + rng.laplace(0.0, errors.tilt, len(tilt)))
        sized = capacity * np.exp(rng.laplace(0.0, errors.capacity, len(capacity)))
        planes = _on_grid(turned, np.minimum(leaning, 90.0), sized, where)
        # rows have been blurred once already: what a second blur adds is taken away instead
        weights.append(2.0 * given - planes[2][0])
    return FleetMixture(
        key=None,
        groups=("all",),
        systems=np.array([float(len(azimuth))]),
        surface_azimuth=planes[0],
        surface_tilt=planes[1],
        weights=np.stack(weights)[:, None, :].astype(np.float32),
        about=(
            "Made from rows of single systems: in each draw every row is moved by an error of the"
            f" stated size (azimuth {errors.azimuth:.1f}°, tilt {errors.tilt:.1f}°, capacity"
            f" {100 * errors.capacity:.1f}% on average).",
        ),
    )


def _on_grid(
    azimuth: Array, tilt: Array, capacity: Array, where: NDArray[np.int64]
) -> tuple[Array, Array, Array]:
    """Return planes of the grid, whatever number of rows there is: draws share their planes."""
    many = max(MOST_PLANES + 1 - len(azimuth), 0)
    azimuth, tilt, capacity = (
        np.append(each, np.zeros(many)) for each in (azimuth, tilt, capacity)
    )
    where = np.append(where, np.zeros(many, dtype=np.int64))
    return lay_planes(azimuth, tilt, capacity, where, 1)


def window_mixture(
    table: PublishedTable, public: Mapping[str, Any], *, draws: int, rng: np.random.Generator
) -> FleetMixture:
    """Return draws of a fleet that agree with its systems' releases by the window."""
    azimuth, tilt, capacity = cell_edges(public)
    grid = CellGrid(len(azimuth) - 1, float(azimuth[:2].mean()), tuple(tilt), tuple(capacity))
    prior = cell_prior(grid, largest_kw=float(public["choices"]["capacities_kw"][1]))
    return unmixed(prior, channel(window_of(public)), len(table.rows) * seen_shares(table, public),
                   draws=draws, rng=rng)  # fmt: skip


def unmixed(
    prior: CellPrior,
    law: Array,
    seen: Array,
    *,
    draws: int,
    rng: np.random.Generator,
    drifts: Sequence[Array] = (),
) -> FleetMixture:
    """Return draws of a fleet from releases by a known law over its own cells."""
    systems = float(seen.sum())
    unknown = np.zeros((len(law), 1))
    moves = tuple(np.hstack([each, unknown]) for each in drifts)
    observed = Observation(np.hstack([law, unknown]), seen, None, moves)
    found = draw_cells(prior, systems, [observed], total=None, draws=draws, rng=rng, unknown=False)
    return FleetMixture(
        key=None,
        groups=("all",),
        systems=np.array([systems]),
        surface_azimuth=prior.surface_azimuth.ravel(),
        surface_tilt=prior.surface_tilt.ravel(),
        weights=cell_weights(prior, found, rng)[:, None, :],
        about=(
            "Made from rows of single systems, each of which is noisy on purpose: the fleet was"
            " estimated through the law of their noise, beginning from public lists of systems.",
        ),
    )


def lossy_mixture(
    azimuth: Array,
    tilt: Array,
    capacity: Array,
    errors: RowErrors,
    *,
    capacities_kw: tuple[float, float],
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of a fleet with many rows that carry no information."""
    grid = row_grid(capacities_kw)
    prior = cell_prior(grid, largest_kw=capacities_kw[1])
    place = np.ravel_multi_index(grid.places(azimuth, tilt, capacity), grid.shape)
    seen = np.bincount(place, minlength=prior.shares.size).astype(np.float64)
    law, *drifts = row_laws(capacities_kw, errors)
    return unmixed(prior, law, seen, draws=draws, rng=rng, drifts=drifts)
