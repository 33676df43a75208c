"""The tables of the page on real systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks import real
from benchmarks.measure import number
from benchmarks.real_case import QUANTITIES
from benchmarks.real_scores import PEERS, SUNVEIL, Coverage, RealAnswer, counted, errors, held
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.intervals_and_rounding import Interval

NAMES = {"azimuth": "azimuth [°]", "tilt": "tilt [°]", "capacity": "capacity [%]"}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def summary_lines(sets: Mapping[str, Sequence[RealAnswer]]) -> list[str]:
    """Return means and medians of the absolute errors of every tool over sets of systems.

    Parameters
    ----------
    sets
        Systems by what they are called together.
    """
    head = ["systems", "tool", *(f"{name}, mean / median" for name in NAMES.values()), "no answer"]
    rows = []
    for name, answered in sets.items():
        for tool in (SUNVEIL, *PEERS):
            ours = [one for one in answered if tool == SUNVEIL or tool in one.peers]
            if not ours:
                continue
            cells = [_mean_and_median(counted(ours, tool, quantity)) for quantity in QUANTITIES]
            silent = sum(not errors(one, tool) for one in ours)
            rows.append([f"{name} ({len(ours)})", tool, *cells, f"{silent}" if silent else ""])
    return table(head, rows)


def interval_lines(columns: Mapping[str, Mapping[str, Coverage]]) -> list[str]:
    """Return how often the intervals held the labels.

    Parameters
    ----------
    columns
        Coverages by quantity, by what the column is called.
    """
    heads = [(f"{name}: held", f"{name}: median width") for name in columns]
    rows = []
    for quantity, name in NAMES.items():
        cells = []
        for found in (column[quantity] for column in columns.values()):
            share = 100.0 * found.held / found.count if found.count else math.nan
            cells += [f"{found.held} of {found.count} ({number(share, 0)}%)"]
            cells += [number(found.median_width)]
        rows.append([name, *cells])
    return table(["quantity", *(cell for pair in heads for cell in pair)], rows)


def system_lines(answered: Sequence[RealAnswer]) -> list[str]:
    """Return a row for every system: its label, what Sunveil and the peers say, and how wrong."""
    head = ["system", "label: azimuth, tilt, kW", "azimuth [90%]", "tilt [90%]", "kW [90%]"]
    head += ["errors: azimuth / tilt / capacity", "90% hold them", "flags", *PEERS]
    peered = any(one.peers for one in answered)
    rows = []
    for one in answered:
        cells = [one.case.name, _label(one.case), *_estimate_cells(one)]
        rows.append(cells + [_peer_cell(one, tool) for tool in PEERS if peered])
    return table(head if peered else head[: -len(PEERS)], rows)


def _estimate_cells(one: RealAnswer) -> list[str]:
    found = one.estimate
    if found is None:
        return ["refused", "", "", "", "", ""]
    kept = {name: "yes" if holds else "no" for name, holds in held(one.case, found).items()}
    says = ", ".join(
        text if name in one.case.counts else f"({text})" for name, text in kept.items()
    )
    return [
        _with_interval(found.surface_azimuth, found.azimuth_interval, 1),
        _with_interval(found.surface_tilt, found.tilt_interval, 1),
        _with_interval(found.dc_capacity_kw, found.capacity_interval, _digits(found)),
        _signed(errors(one), one.case),
        says,
        ", ".join(flag.value for flag in found.flags),
    ]


def _digits(found: Estimate) -> int:
    return max(0, 2 - math.floor(math.log10(found.dc_capacity_kw)))


def _with_interval(value: float, interval: Interval, digits: int) -> str:
    low, high = (number(bound, digits) for bound in (interval.low, interval.high))
    return f"{number(value, digits)} [{low} to {high}]"


def _signed(found: Mapping[str, float], case: real.RealCase) -> str:
    """Return signed errors; those of labels that do not count in brackets."""
    cells = []
    for quantity in QUANTITIES:
        if quantity not in found:
            cells.append("-")
            continue
        text = f"{found[quantity]:+.1f}"
        cells.append(text if quantity in case.counts else f"({text})")
    return " / ".join(cells)


def _peer_cell(one: RealAnswer, tool: str) -> str:
    if tool not in one.peers:
        return ""
    found = errors(one, tool)
    return _signed(found, one.case).removesuffix(" / -") if found else "none"


def _label(case: real.RealCase) -> str:
    values = (case.azimuth, case.tilt, case.dc_kw)
    return ", ".join("-" if value is None else f"{value:,g}" for value in values)


def _mean_and_median(found: np.ndarray) -> str:
    if len(found) == 0:
        return "-"
    return f"{number(float(found.mean()))} / {number(float(np.median(found)))}"
