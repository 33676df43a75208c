"""Total and mean capacity by group, with public clipping.

Proof: ``docs/proofs/counts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.fleet.results import FleetRows
from sunveil.privacy.counting import Counts, DiscreteLaplace, Sensitivity
from sunveil.privacy.units import System
from sunveil.publish.bins import FleetGroups
from sunveil.publish.counts import PROOF, key_columns
from sunveil.publish.publication import Column, PublishedTable

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_LARGEST_KW = 1e8


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
    """Return the total of every group in watts: private.

    Parameters
    ----------
    rows, groups
        The fleet, and which group each of its systems is in.
    clip_kw
        Public bounds that every capacity is held to. [kW]

    Privacy
    -------
    Neighbours replace the values of one row and leave its key, which moves one total by at most the
    width of the clipping: ``docs/proofs/counts.md``.
    """
    each = watts(rows.dc_capacity_kw, clip_kw)
    totals = np.zeros(len(groups.names), dtype=np.int64)
    np.add.at(totals, groups.place, each)
    return Counts(totals, total_sensitivity(clip_kw), System(), PROOF)


def total_sensitivity(clip_kw: tuple[float, float]) -> Sensitivity:
    """Return how far a replaced row moves the totals: one of them, by the width of the bounds."""
    low, high = check_clip(clip_kw)
    return Sensitivity(high - low, (high - low) ** 2)


def total_deviation(*, clip_kw: tuple[float, float], epsilon: float) -> float:
    """Return the standard deviation of the noise of a total. [kW]"""
    return DiscreteLaplace(epsilon).deviation(total_sensitivity(clip_kw)) / 1e3


def draw_totals(
    rows: FleetRows, groups: FleetGroups, *, clip_kw: tuple[float, float], epsilon: float
) -> Whole:
    """Draw the totals of all groups once. [W]

    Parameters
    ----------
    rows
        The fleet: private.
    groups
        Public.
    clip_kw
        Public bounds that every capacity is held between. [kW]
    epsilon
        What the draw costs.
    """
    return DiscreteLaplace(epsilon).draw(group_totals(rows, groups, clip_kw=clip_kw))


def total_table(
    drawn: Whole, groups: FleetGroups, *, clip_kw: tuple[float, float], epsilon: float
) -> PublishedTable:
    """Return the table of totals and means, each with its error.

    Parameters
    ----------
    drawn
        The drawn totals. [W]
    groups
        Public.
    clip_kw, epsilon
        What they were drawn with.
    """
    deviation = total_deviation(clip_kw=clip_kw, epsilon=epsilon)
    columns = (
        *key_columns(groups),
        Column("systems", "integer", "Systems of the group: public."),
        Column("total_kw", "number", "Total DC capacity, within what the bounds allow [kW]."),
        Column("noisy_total_kw", "number", "The same as drawn: unbiased for held capacities [kW]."),
        Column("total_sd_kw", "number", "Standard deviation of the noise in it [kW]."),
        Column("mean_kw", "number", "Mean DC capacity [kW]."),
        Column("mean_sd_kw", "number", "Standard deviation of its noise before the bounds [kW]."),
    )
    low, high = check_clip(clip_kw)
    about = f"DC capacity, each system's held between {low / 1e3:g} and {high / 1e3:g} kW."
    rows = tuple(_rows(drawn, groups, low, high, deviation))
    return PublishedTable("totals", about, columns, rows)


def _rows(
    drawn: Whole, groups: FleetGroups, low: int, high: int, deviation: float
) -> Iterator[tuple[Any, ...]]:
    for name, size, total in zip(groups.names, groups.sizes, drawn, strict=True):
        held = int(np.clip(total, size * low, size * high)) / 1e3
        mean = (held / int(size), round(deviation / int(size), 6)) if size else (None, None)
        head = () if groups.key is None else (name,)
        yield (*head, int(size), held, int(total) / 1e3, round(deviation, 6), *mean)
