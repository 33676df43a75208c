"""Single years, their median, trend and degradation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.coarse_search import modelled_power, run_refine
from sunveil.engine.constants import SystematicErrors
from sunveil.engine.final_fit import STEPS, FinalFit
from sunveil.engine.intervals import in_plane_axes
from sunveil.engine.power_model import BLOCK, CAPACITY, EAST, LIMIT, NORTH, PARAMETERS
from sunveil.estimates.columns import objects
from sunveil.estimates.planes_and_intervals import YearEstimate
from sunveil.site import DAY, Array

YEAR = 365.25 * DAY

# What is left of a record after whole years is one of its own from this share of a year on, and
# belongs to the last one else.
LEAST_YEAR = 0.75

# A year with so few clear readings beside the clearest one has no say.
LEAST_SAY = 0.2

# Years that tell how a system's output changes.
FEWEST_FOR_TREND = 3

# Weight of what is known of any system's years. [years of its own]
KNOWN_YEARS = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class YearFits:
    """Fits of single years, one entry each, system by system: private."""

    system: NDArray[np.intp]  # which system of the block each is of
    first: NDArray[np.int64]  # [s since 1970] the first instant of each year
    points: Array  # where each fit ended, shape (years, PARAMETERS)
    say: Array  # how many clear readings each had; 0 for years without a say
    level: Array  # its power over that of the whole record's plane

    @classmethod
    def joined(cls, parts: Sequence[YearFits]) -> YearFits:
        """Return the years of several fits together, those of a system in their order."""
        if not parts:
            none = np.empty(0)
            return cls(
                none.astype(np.intp), none.astype(np.int64), np.empty((0, PARAMETERS)), none, none
            )
        system, first, points, say, level = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("system", "first", "points", "say", "level")
        )
        order = np.lexsort((first, system))
        return cls(system[order], first[order], points[order], say[order], level[order])

    def of(self, system: int) -> NDArray[np.intp]:
        """Return which entries are a system's years that have a say."""
        own = np.arange(*np.searchsorted(self.system, (system, system + 1)))
        return own[self.say[own] > 0.0]

    def trends(self, count: int) -> Array:
        # The median of the slopes between any two of its years, which one bad year does not move.
        out = np.full(count, np.nan)
        for s in np.unique(self.system).tolist():
            own = self.of(s)
            if len(own) >= FEWEST_FOR_TREND:
                first, second = np.triu_indices(len(own), k=1)
                apart = (self.first[own][second] - self.first[own][first]) / YEAR
                level = np.log(self.level[own])
                out[s] = np.median((level[second] - level[first]) / apart)
        return out


def parts_of(seconds: NDArray[np.int64], have: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Return where the years of a record begin and end among the usable intervals."""
    if seconds[-1] - seconds[0] < (1.0 + LEAST_YEAR) * YEAR:
        return [(0, len(seconds))]
    there = np.flatnonzero(have[: len(seconds)] > 0.0)
    if not len(there):
        return []
    first, last = int(there[0]), int(there[-1])
    span = (seconds[last] - seconds[first]) / YEAR
    count = max(int(span + 1.0 - LEAST_YEAR), 1)
    edges = np.searchsorted(seconds, seconds[first] + YEAR * np.arange(1, count))
    bounds = [first, *(int(edge) for edge in edges), last + 1]
    return list(pairwise(bounds))


def weighted_median(points: Array, say: Array) -> Array:
    """Return the weighted median of each parameter, between the two middle ones."""
    order = np.argsort(points, axis=0)
    values = np.take_along_axis(points, order, axis=0)
    weight = say[order]
    middle = (np.cumsum(weight, axis=0) - 0.5 * weight) / weight.sum(axis=0)
    return np.array([np.interp(0.5, middle[:, i], values[:, i]) for i in range(points.shape[1])])


def fit_years(fit: FinalFit) -> YearFits:
    """Fit each year of records of several years by itself, and move the points to their medians."""
    seconds = fit.prepared.seconds
    alike: dict[tuple[int, int], list[int]] = {}
    for s, row in enumerate(fit.searched.readings.have):
        parts = parts_of(seconds, row)
        for year in parts if len(parts) > 1 else ():
            alike.setdefault(year, []).append(s)
    years = YearFits.joined(
        [_fit_year(fit, np.array(alike[year]), *year) for year in sorted(alike)]
    )
    moved = np.unique(years.system)
    for s in moved:
        own = np.flatnonzero(years.system == s)
        years.say[own[years.say[own] < LEAST_SAY * years.say[own].max()]] = 0.0
        own = years.of(int(s))
        fit.points[s, :LIMIT] = weighted_median(years.points[own, :LIMIT], years.say[own])
    if len(moved):
        fit.model[moved] = modelled_power(fit.points[moved], fit.prepared)
    return years


def _fit_year(fit: FinalFit, systems: NDArray[np.intp], first: int, last: int) -> YearFits:
    """Fit one year of some systems, which lies between two places of the usable intervals."""
    blocks = slice(first // BLOCK, -(-last // BLOCK))
    places = slice(blocks.start * BLOCK, blocks.stop * BLOCK)
    kept = fit.kept[systems, places]
    kept[:, : first - places.start] = 0.0
    kept[:, last - places.start :] = 0.0
    power, model = fit.searched.readings.power[systems, places], fit.model[systems, places]
    points = fit.points[systems]
    run_refine(
        fit.prepared,
        fit.prepared.sky.sheet[blocks],
        (power, kept),
        fit.searched.readings.bright[systems],
        points,
        share=1.0,
        most=STEPS,
    )
    return YearFits(
        system=systems,
        first=np.full(len(systems), fit.prepared.seconds[first]),
        points=points,
        say=kept.sum(axis=1, dtype=np.float64),
        level=_level(power, model, kept),
    )


def _level(
    power: NDArray[np.float32], model: NDArray[np.float32], kept: NDArray[np.float32]
) -> Array:
    """Return how much more power there is than a model has, by readings near it that count."""
    near = kept * (np.abs(power - model) < np.float32(0.3) * model)
    both = np.einsum("sk,sk,sk->s", near, power, model, dtype=np.float64)
    own = np.einsum("sk,sk,sk->s", near, model, model, dtype=np.float64)
    return np.asarray(np.divide(both, own, where=own > 0.0, out=np.ones_like(own)))


def year_covariances(points: Array, years: YearFits, errors: SystematicErrors) -> Array:
    """Return what years differ by, as the covariance of each system's estimate."""
    # A single year gets what the years of other systems show.
    out = np.zeros((len(points), PARAMETERS, PARAMETERS))
    known = np.array([errors.year_tilt, errors.year_across, errors.year_capacity]) ** 2
    axes = in_plane_axes(points)
    spread = np.broadcast_to(known, (len(points), 3)).copy()
    for s in np.unique(years.system):
        own = years.of(int(s))
        away = years.points[own] - points[s]
        along = np.column_stack([away[:, [EAST, NORTH]] @ axes[s].T, away[:, CAPACITY]])
        total = (along**2).sum(axis=0) + KNOWN_YEARS * known
        spread[s] = total / (len(own) - 1 + KNOWN_YEARS) / len(own)
    out[:, :2, :2] = np.einsum("sai,sa,saj->sij", axes, spread[:, :2], axes)
    out[:, CAPACITY, CAPACITY] = spread[:, 2]
    return out


def year_tuples(years: YearFits, placed: Array, fitted: Array) -> NDArray[Any]:
    """Return what the single years of each system say, at the place where it stands."""
    rows: list[tuple[YearEstimate, ...]] = [()] * len(placed)
    for s in np.unique(years.system).tolist():
        own = years.of(s)
        points = years.points[own] + (placed[s] - fitted[s])
        first = years.first[own].astype("datetime64[s]").astype("datetime64[D]")
        rows[s] = tuple(
            YearEstimate(
                day.item(),
                float(np.degrees(np.arctan2(point[EAST], point[NORTH])) % 360.0),
                float(np.hypot(point[EAST], point[NORTH])),
                float(np.exp(point[CAPACITY])),
            )
            for day, point in zip(first, points, strict=True)
        )
    return objects(rows)
