"""Totals, means, quantiles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.estimates.read_write import FleetRows
from sunveil.privacy.discrete_noise import Counts, Sensitivity, Spending
from sunveil.privacy.guarantees import System
from sunveil.privacy.mechanisms import Score
from sunveil.publication.published_tables import Column, PublishedTable
from sunveil.publish.capacity_cap import ClipRule, check_largest, stated_errors
from sunveil.publish.noisy_counts import PROOF, FleetGroups, key_columns, largest_planes

Array = NDArray[np.float64]

QUANTILES_PROOF = "docs/proofs/quantiles.md"

QUANTITIES = ("dc_capacity_kw", "surface_tilt")

# The lowest capacity of the grid, and the least that each is above the last.
_SMALLEST_KW, _STEP_SHARE = 0.5, 0.02

_STEP_DEGREES = 0.5


@dataclass(frozen=True, slots=True)
class QuantileGrid:
    """Public values, evenly spaced or with even ratios."""

    low: float  # the first and the last
    high: float  # the first and the last
    steps: int  # how many steps lie between them
    geometric: bool = False  # whether ratios are even, rather than differences

    @property
    def values(self) -> Array:
        """The values, from the lowest to the highest."""
        return (np.geomspace if self.geometric else np.linspace)(
            self.low, self.high, self.steps + 1
        )

    def places(self, values: Array) -> NDArray[np.int64]:
        """Return the nearest place of each value; a missing one is at the first."""
        low, high = self.low, self.high
        held = np.clip(np.nan_to_num(values, nan=-np.inf), low, high)
        if self.geometric:
            held, low, high = np.log(held), math.log(low), math.log(high)
        return np.clip(np.rint((held - low) * self.steps / (high - low)), 0, self.steps).astype(
            np.int64
        )


def grids(largest_kw: float) -> dict[str, QuantileGrid]:
    """Return the public grid of each quantity: capacities up to the largest that there may be."""
    ratio = check_largest(largest_kw) / _SMALLEST_KW
    steps = math.ceil(math.log(ratio) / math.log1p(_STEP_SHARE))
    capacity = QuantileGrid(_SMALLEST_KW, float(largest_kw), steps, geometric=True)
    tilt = QuantileGrid(0.0, 90.0, round(90.0 / _STEP_DEGREES))
    return dict(zip(QUANTITIES, (capacity, tilt), strict=True))


def check_quantiles(quantiles: Sequence[float]) -> tuple[float, ...]:
    """Return the probabilities in order, or refuse them."""
    if any(not 0.0 < each < 1.0 for each in quantiles) or len(set(quantiles)) != len(quantiles):
        raise ParameterError("quantiles are distinct probabilities above 0 and below 1")
    return tuple(sorted(float(each) for each in quantiles))


def rank_score(values: Array, grid: QuantileGrid, *, probability: float) -> Score:
    """Return how many ranks each grid value misses the quantile by, as a score: private."""
    # Neighbours replace one value. Sensitivity 1: `docs/proofs/quantiles.md`.
    tally = np.bincount(grid.places(values), minlength=grid.steps + 1)
    up_to = np.cumsum(tally)
    rank = math.ceil(probability * len(values))
    missed = np.maximum(np.maximum(up_to - tally - rank + 1, rank - up_to), 0)
    return Score(-missed.astype(np.int64), 1, System(), QUANTILES_PROOF)


def rank_error(grid: QuantileGrid, *, spending: Spending) -> float:
    """Return what the expected error in ranks is at most, whatever the data. [systems]"""
    return 2.0 * math.log(grid.steps + 1) / spending.selection.epsilon


def draw_quantiles(
    rows: FleetRows,
    groups: FleetGroups,
    *,
    largest_kw: float,
    probabilities: Sequence[float],
    spending: Spending,
) -> PublishedTable:
    """Draw every quantile of both quantities in every group."""
    ordered = check_quantiles(probabilities)
    each = part_of(spending, len(ordered))
    columns = (
        *key_columns(groups),
        Column(
            "quantity", "string", "dc_capacity_kw [kW], or the largest plane's surface_tilt [°]."
        ),
        Column("probability", "number", "Which quantile."),
        Column("value", "number", "The quantile, a value of a public grid; none in empty groups."),
        Column("rank_error", "number", "Expected error, at most, in ranks of the group [systems]."),
    )
    found = tuple(_quantile_rows(rows, groups, grids(largest_kw), ordered, each))
    return PublishedTable("quantiles", "Quantiles of capacity and tilt.", columns, found)


def part_of(spending: Spending, quantiles: int) -> Spending:
    """Return what one quantile of one quantity costs: together they stay within the whole."""
    return spending.part(Fraction(1, len(QUANTITIES) * quantiles))


def _quantile_rows(
    rows: FleetRows,
    groups: FleetGroups,
    public: dict[str, QuantileGrid],
    probabilities: tuple[float, ...],
    spending: Spending,
) -> Iterator[tuple[Any, ...]]:
    mechanism = spending.selection
    tilts = largest_planes(rows).surface_tilt
    known = dict(zip(QUANTITIES, (rows.dc_capacity_kw, tilts), strict=True))
    for group, name in enumerate(groups.names):
        head = () if groups.key is None else (name,)
        inside = groups.place == group
        for quantity, grid in public.items():
            values = known[quantity][inside]
            scores = [rank_score(values, grid, probability=p) for p in probabilities]
            # in order, as quantiles are: sorting what was drawn costs nothing
            places = sorted(mechanism.draw(score) for score in scores) if len(values) else None
            error = round(rank_error(grid, spending=spending), 4)
            for i, p in enumerate(probabilities):
                value = None if places is None else float(f"{grid.values[places[i]]:.6g}")
                yield (*head, quantity, p, value, error)


Whole = NDArray[np.int64]

_LARGEST_KW = 1e8


@dataclass(frozen=True, slots=True)
class DrawnTotals:
    """Drawn totals: public."""

    totals: Whole  # [W] by group
    clip_kw: tuple[float, float]  # [kW] what capacities were held between
    deviation_kw: float  # [kW] standard deviation of the noise of one total
    rule: ClipRule | None = None  # how the upper bound was chosen; None where it was given


def check_clip(clip_kw: tuple[float, float]) -> tuple[int, int]:
    """Return public clipping bounds in whole watts, or refuse them. [W]"""
    low, high = clip_kw
    if not (0.0 <= low < high <= _LARGEST_KW) or round(1e3 * low) == round(1e3 * high):
        raise ParameterError(
            "clip_kw must be a lower bound of 0 or more and an upper one above it, at most"
            f" {_LARGEST_KW:g} kW"
        )
    return round(1e3 * low), round(1e3 * high)


def watts(capacities_kw: Array, clip_kw: tuple[float, float]) -> Whole:
    """Return capacities in whole watts between public bounds; a missing one is the lower. [W]"""
    low, high = check_clip(clip_kw)
    held = np.clip(np.nan_to_num(capacities_kw, nan=-np.inf), low / 1e3, high / 1e3)
    return np.rint(1e3 * held).astype(np.int64)


def group_totals(rows: FleetRows, groups: FleetGroups, *, clip_kw: tuple[float, float]) -> Counts:
    """Return the total of every group in watts: private."""
    # Neighbours replace the values of one row and leave its key, which moves one total by at most
    # the width of the clipping: `docs/proofs/counts.md`.
    each = watts(rows.dc_capacity_kw, clip_kw)
    totals = np.zeros(len(groups.names), dtype=np.int64)
    np.add.at(totals, groups.place, each)
    return Counts(totals, total_sensitivity(clip_kw), System(), PROOF)


def total_sensitivity(clip_kw: tuple[float, float]) -> Sensitivity:
    """Return how far a replaced row moves the totals: one of them, by the width of the bounds."""
    low, high = check_clip(clip_kw)
    return Sensitivity(high - low, (high - low) ** 2)


def total_deviation(*, clip_kw: tuple[float, float], spending: Spending) -> float:
    """Return the standard deviation of the noise of a total. [kW]"""
    return spending.noise.deviation(total_sensitivity(clip_kw)) / 1e3


def draw_totals(
    rows: FleetRows, groups: FleetGroups, *, clip_kw: tuple[float, float], spending: Spending
) -> DrawnTotals:
    """Draw the totals of all groups once, between given bounds."""
    drawn = spending.noise.draw(group_totals(rows, groups, clip_kw=clip_kw))
    return DrawnTotals(drawn, clip_kw, total_deviation(clip_kw=clip_kw, spending=spending))


def draw_clipped_totals(rows: FleetRows, groups: FleetGroups, rule: ClipRule) -> DrawnTotals:
    """Draw a clip for the whole fleet, and the totals of all groups with it."""
    clip = 0.0, rule.draw(np.asarray(rows.dc_capacity_kw, dtype=np.float64))
    found = draw_totals(rows, groups, clip_kw=clip, spending=rule.drawn_with)
    return DrawnTotals(found.totals, clip, found.deviation_kw, rule)


def total_table(
    found: DrawnTotals, groups: FleetGroups, *, cut_kw: Sequence[float] | None = None
) -> PublishedTable:
    """Return the table of totals and means, each with its error."""
    errors = (
        Column("error_kw", "number", "Mean error of the total, noise and what is cut off together,"
               " as in public mixes of systems [kW]."),
        Column("error_90_kw", "number", "What nine in ten such errors are within [kW]."),
        Column("cut_kw", "number", "What is cut off on average in such mixes, by which the total is"
               " too low [kW]."),
    )  # fmt: skip
    cut = Column(
        "cut_at_most_kw",
        "number",
        "What is cut off at most, by the drawn classes of capacity [kW].",
    )
    columns = (
        *key_columns(groups),
        Column("systems", "integer", "Systems of the group: public."),
        Column("total_kw", "number", "Total DC capacity, within what the bounds allow [kW]."),
        Column("noisy_total_kw", "number", "The same as drawn: unbiased for held capacities [kW]."),
        Column("held_at_kw", "number", "What larger systems were held at [kW]."),
        Column("total_sd_kw", "number", "Standard deviation of the noise in it [kW]."),
        *(errors if found.rule is not None else ()),
        *((cut,) if cut_kw is not None else ()),
        Column("mean_kw", "number", "Mean DC capacity [kW]."),
        Column("mean_sd_kw", "number", "Standard deviation of its noise before the bounds [kW]."),
    )
    rows = tuple(_total_rows(found, groups, cut_kw))
    return PublishedTable("totals", _about(found), columns, rows)


def _about(found: DrawnTotals) -> str:
    """Return what the table is: public choices only, since what is drawn is in its cells."""
    low, high = (f"{bound:g}" for bound in found.clip_kw)
    about = f"DC capacity, each system's held between {low} and {high} kW."
    if found.rule is None:
        unknown = "What systems have above that is cut off; how much is not known, so that no error"
        return f"{about} {unknown} of the whole is stated."
    if found.rule.chosen_with is None:
        return f"{about} No system is taken to be larger."
    rungs = found.rule.rungs
    ladder = f"a public ladder of {len(rungs)} from {rungs[0]:g} to {rungs[-1]:g} kW"
    return (
        f"DC capacity, each system's held at `held_at_kw`, which was drawn from {ladder} by how"
        " many systems are above it."
    )


def _total_rows(
    found: DrawnTotals, groups: FleetGroups, cut_kw: Sequence[float] | None
) -> Iterator[tuple[Any, ...]]:
    low, high = check_clip(found.clip_kw)
    deviation, sizes = found.deviation_kw, [int(size) for size in groups.sizes]
    errors = {size: _errors(found, size, sum(sizes)) for size in set(sizes)}
    cuts: list[tuple[float, ...]] = [
        () if cut_kw is None else (cut_kw[i],) for i in range(len(sizes))
    ]
    for name, size, total, cut in zip(groups.names, sizes, found.totals, cuts, strict=True):
        held = int(np.clip(total, size * low, size * high)) / 1e3
        mean = (held / size, round(deviation / size, 6)) if size else (None, None)
        head = () if groups.key is None else (name,)
        noise = high / 1e3, round(deviation, 6)
        yield (*head, size, held, int(total) / 1e3, *noise, *errors[size], *cut, *mean)


def _errors(found: DrawnTotals, size: int, systems: int) -> tuple[float, ...]:
    if found.rule is None:
        return ()
    if size == 0:
        return 0.0, 0.0, 0.0
    errors = stated_errors(found.rule, found.clip_kw[1], share=size / systems)
    return tuple(round(errors[name], 3) for name in ("mean", "nine", "cut"))
