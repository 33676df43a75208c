"""Total and mean capacity by group, each system's held between two bounds.

The bounds are public, or the upper one is chosen from a public ladder (:mod:`sunveil.publish.clip`)
for the whole fleet.

Proof: ``docs/proofs/counts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.fleet.results import FleetRows
from sunveil.privacy.counting import Counts, Sensitivity
from sunveil.privacy.units import System
from sunveil.publish.bins import FleetGroups
from sunveil.publish.clip import ClipRule
from sunveil.publish.clip_errors import stated_errors
from sunveil.publish.counts import PROOF, key_columns
from sunveil.publish.publication import Column, PublishedTable
from sunveil.publish.spending import Spending

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_LARGEST_KW = 1e8


@dataclass(frozen=True, slots=True)
class DrawnTotals:
    """Drawn totals: public.

    Parameters
    ----------
    totals
        By group. [W]
    clip_kw
        What capacities were held between. [kW]
    deviation_kw
        Standard deviation of the noise of one total. [kW]
    rule
        How the upper bound was chosen; None where it was given.
    """

    totals: Whole
    clip_kw: tuple[float, float]
    deviation_kw: float
    rule: ClipRule | None = None


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


def total_deviation(*, clip_kw: tuple[float, float], spending: Spending) -> float:
    """Return the standard deviation of the noise of a total. [kW]"""
    return spending.noise.deviation(total_sensitivity(clip_kw)) / 1e3


def draw_totals(
    rows: FleetRows, groups: FleetGroups, *, clip_kw: tuple[float, float], spending: Spending
) -> DrawnTotals:
    """Draw the totals of all groups once, between given bounds.

    Parameters
    ----------
    rows
        The fleet: private.
    groups
        Public.
    clip_kw
        Public bounds that every capacity is held between. [kW]
    spending
        What the draw costs.
    """
    drawn = spending.noise.draw(group_totals(rows, groups, clip_kw=clip_kw))
    return DrawnTotals(drawn, clip_kw, total_deviation(clip_kw=clip_kw, spending=spending))


def draw_clipped_totals(rows: FleetRows, groups: FleetGroups, rule: ClipRule) -> DrawnTotals:
    """Draw a clip for the whole fleet, and the totals of all groups with it.

    Parameters
    ----------
    rows
        The fleet: private.
    groups
        Public.
    rule
        How the clip is chosen, and what both draws cost together.
    """
    clip = 0.0, rule.draw(np.asarray(rows.dc_capacity_kw, dtype=np.float64))
    found = draw_totals(rows, groups, clip_kw=clip, spending=rule.drawn_with)
    return DrawnTotals(found.totals, clip, found.deviation_kw, rule)


def total_table(
    found: DrawnTotals, groups: FleetGroups, *, cut_kw: Sequence[float] | None = None
) -> PublishedTable:
    """Return the table of totals and means, each with its error.

    Parameters
    ----------
    found
        The drawn totals.
    groups
        Public.
    cut_kw
        What is known of the part above given bounds: how much it is at most, by group. [kW]
    """
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
    rows = tuple(_rows(found, groups, cut_kw))
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


def _rows(
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
