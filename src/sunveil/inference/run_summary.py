"""Refusals and summary statistics at the end of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil._files import write_whole
from sunveil.estimates.estimates_table import IN_SYSTEMS, REFUSED, write_table
from sunveil.estimates.flags_and_quality import Flag, Quality
from sunveil.estimates.read_write import (
    SUMMARY,
    FleetPlanes,
    every_plane,
    planes_of_column,
    trackers_of_column,
    unresolved_of_column,
)
from sunveil.fleet.gather import not_gathered
from sunveil.fleet.run_context import RunContext
from sunveil.fleet.systems_table import SystemTable
from sunveil.inference.fleet_part import estimates_file, read_part
from sunveil.meters.file_types import stem
from sunveil.meters.record import UNREAD, RefusedSystem


def as_json(values: dict[str, Any]) -> str:
    """Return plain types as JSON text."""
    return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


AZIMUTHS = tuple(range(0, 361, 10))

TILTS = tuple(range(0, 91, 5))

# A geometric grid of capacities. [kW]
CAPACITIES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 50.0, 100.0, 1000.0, 1e9)


def close(context: RunContext, parts: Sequence[int]) -> dict[str, Any]:
    """Write ``refused.parquet`` and ``summary.json``, and return the latter."""
    folder = context.job.folder
    rows = [read_part(context.job, number) for number in parts]
    estimates = pa.concat_tables([each for each, _ in rows])
    refusals = [each for _, table in rows for each in table.to_pylist()]
    unread = _unread(context, [each for each in refusals if each["kind"] == UNREAD])
    named = [each for each in refusals if each["kind"] != UNREAD]
    estimates, twice = _once(context, parts, estimates)
    seen = {*estimates.column("system_id").to_pylist(), *(each["system_id"] for each in named)}
    seen |= {each.system_id for each in twice}
    rest = [*context.systems.refused, *twice, *_unseen(context, seen, unread)]
    refused = _with_keys(_refused(named, rest), context.systems)
    write_table(folder / "refused.parquet", refused)
    summary = _summary(context, estimates, refused, sorted({reason for _, reason in unread}))
    write_whole(folder / SUMMARY, as_json(summary), private=True)
    return summary


def _refused(named: list[dict[str, Any]], rest: list[RefusedSystem]) -> pa.Table:
    """Return all refusals in the order of the systems: those of parts, and those of no part."""
    every = [(each["system_id"], each["kind"], each["reason"], each["partition"]) for each in named]
    every += [(each.system_id, each.kind, each.reason, -1) for each in rest]
    every.sort(key=lambda each: each[:2])
    where = np.array([each[3] for each in every], dtype=np.int32)
    columns = [pa.array([each[place] for each in every], pa.string()) for place in range(3)]
    return pa.table([*columns, pa.array(where, mask=where < 0)], schema=REFUSED)


def _with_keys(refused: pa.Table, systems: SystemTable) -> pa.Table:
    """Return refusals with the public keys of their systems, where the table has them."""
    names = [*systems.ids.to_pylist(), *(each.system_id for each in systems.refused)]
    place = {name: row for row, name in enumerate(names)}
    found = [place.get(name, -1) for name in refused["system_id"].to_pylist()]
    rows = np.array(found, dtype=np.int64)
    for key in systems.keys.column_names:
        both = pa.chunked_array(
            [*systems.keys[key].chunks, *systems.refused_keys[key].chunks], systems.keys[key].type
        )
        refused = refused.append_column(key, both.take(pa.array(rows, mask=rows < 0)))
    return refused.append_column(IN_SYSTEMS, pa.array(rows >= 0))


def _unread(context: RunContext, within: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the files that could not be read: each one's name without its ending, and why."""
    before = (*context.job.source.unreadable, *not_gathered(context.job.work))
    return sorted(
        {
            *((stem(Path(name)), reason) for name, reason in before),
            *((each["system_id"], each["reason"]) for each in within),
        }
    )


def _unseen(
    context: RunContext, seen: set[str], unread: list[tuple[str, str]]
) -> list[RefusedSystem]:
    """Return refusals of the systems that no readings were found of."""
    # A file that is named after a system is that system's own, and says nothing of others.
    own = dict(reversed(unread))
    common = [reason for name, reason in unread if name not in context.place]
    more = f" (and {len(common) - 1} more)" if len(common) > 1 else ""
    refused = []
    for name in (name for name in context.names if name not in seen):
        if name in own or common:
            reason = own.get(name) or common[0] + more
            message = f"system {name} has no readings that can be read: {reason}"
            refused.append(RefusedSystem(name, "unreadable", message))
        else:
            message = f"system {name} has no readings in the fleet; check its name in both"
            refused.append(RefusedSystem(name, "no readings", message))
    return refused


def _once(
    context: RunContext, parts: Sequence[int], estimates: pa.Table
) -> tuple[pa.Table, list[RefusedSystem]]:
    """Return estimates without the systems that two parts have, which are refused instead."""
    counts = Counter(estimates.column("system_id").to_pylist())
    names = sorted(name for name, count in counts.items() if count > 1)
    if not names:
        return estimates, []
    twice = pa.array(names)
    for path in (estimates_file(context.job.folder, number) for number in parts):
        table = pq.read_table(path)
        found = pc.is_in(table.column("system_id"), twice)
        if pc.any(found).as_py():
            write_table(path, table.filter(pc.invert(found)))
    reason = "is in files that were not worked on together; join its readings into one file"
    refused = [RefusedSystem(name, "meter", f"system {name} {reason}") for name in names]
    return estimates.filter(pc.invert(pc.is_in(estimates.column("system_id"), twice))), refused


def _summary(
    context: RunContext, estimates: pa.Table, refused: pa.Table, unread: list[str]
) -> dict[str, Any]:
    flags = Counter(pc.list_flatten(estimates.column("flags")).to_pylist())
    qualities = Counter(estimates.column("quality").to_pylist())
    refused_kinds = Counter(refused.column("kind").to_pylist())
    kinds = plane_kinds(estimates)
    planes = fixed_planes(estimates, kinds["tracker"])
    return {
        "inferred": estimates.num_rows,
        "refused": refused.num_rows,
        "cells": len(context.cells.cells),
        "quality": {quality.value: qualities[quality.value] for quality in Quality},
        "planes": {kind: int(found.sum()) for kind, found in kinds.items()},
        "flags": {flag.value: flags[flag.value] for flag in Flag},
        "refused_by_kind": dict(
            sorted(refused_kinds.items(), key=lambda each: (-each[1], each[0]))
        ),
        "unread_files": unread,
        "notes": list(context.systems.notes),
        "total_dc_capacity_kw": round(float(estimates["dc_capacity_kw"].to_numpy().sum()), 1),
        "medians": {
            name: _median(estimates.column(name))
            for name in ("surface_tilt", "dc_capacity_kw", "agreement")
        },
        "azimuth": _histogram(planes.surface_azimuth, AZIMUTHS, planes.share),
        "tilt": _histogram(planes.surface_tilt, TILTS, planes.share),
        "capacity": _histogram(estimates["dc_capacity_kw"].to_numpy(), CAPACITIES),
    }


def plane_kinds(estimates: pa.Table) -> dict[str, NDArray[np.bool_]]:
    """Return which systems stand on one plane, on two, turn, or cannot be resolved."""
    several = pc.greater(pc.list_value_length(estimates["planes"]), 1)
    two = np.asarray(several.to_numpy(), dtype=bool)
    tracker = trackers_of_column(estimates["tracker"])
    unresolved = unresolved_of_column(estimates["flags"]) & ~two & ~tracker
    one = ~two & ~tracker & ~unresolved
    return {"one": one, "two": two & ~tracker, "tracker": tracker, "unresolved": unresolved}


def fixed_planes(estimates: pa.Table, turned: NDArray[np.bool_]) -> FleetPlanes:
    """Return the planes of all systems but trackers, each with its share of its system."""
    planes = every_plane(
        estimates["surface_azimuth"].to_numpy(),
        estimates["surface_tilt"].to_numpy(),
        planes_of_column(estimates["planes"]),
    )
    return planes.take(~turned[planes.row])


def _median(column: Any) -> float | None:
    return round(float(np.median(column.to_numpy())), 3) if len(column) else None


def _histogram(
    values: NDArray[np.float64], edges: Sequence[float], weights: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """Return counts between edges: whole ones, or parts where planes share a system."""
    counts, _ = np.histogram(values, bins=np.asarray(edges, dtype=np.float64), weights=weights)
    rounded = (round(float(each), 2) for each in counts)
    return {"edges": list(edges), "counts": [int(n) if n.is_integer() else n for n in rounded]}
