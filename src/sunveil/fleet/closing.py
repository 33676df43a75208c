"""What is written when all parts are done: the table of refusals, and what the run came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sunveil.errors import SourceError
from sunveil.estimate import Flag
from sunveil.files import write_whole
from sunveil.fleet.arrow import numbers, plain, read_file, texts
from sunveil.fleet.done import UNREAD, estimates_file, refused_file
from sunveil.fleet.folder import SUMMARY, as_json
from sunveil.fleet.gather import not_gathered
from sunveil.fleet.job import Desk
from sunveil.fleet.output import refused_table, write_table
from sunveil.fleet.plan import Part
from sunveil.fleet.systems import Refused, Systems

_READ = ("system_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw", "agreement", "flags")
AZIMUTHS = tuple(range(0, 361, 10))
TILTS = tuple(range(0, 91, 5))
# A geometric grid of capacities. [kW]
CAPACITIES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 50.0, 100.0, 1000.0, 1e9)


def close(desk: Desk, parts: Sequence[Part]) -> dict[str, Any]:
    """Write ``refused.parquet`` and ``summary.json``, and return the latter.

    Parameters
    ----------
    desk
        The run.
    parts
        All parts of the plan, each of which is done.
    """
    folder, work = desk.job.folder, desk.job.work
    estimates = pa.concat_tables(
        read_file(estimates_file(folder, part.number), columns=_READ) for part in parts
    )
    told = pa.concat_tables(
        [refused_table([], None), *(read_file(refused_file(work, p.number)) for p in parts)]
    )
    unread = _unread(desk, told)
    named = told.filter(pc.not_equal(told.column("kind"), _unread_kind()))
    seen = {*estimates.column("system_id").to_pylist(), *named.column("system_id").to_pylist()}
    _refuse_twice(estimates)
    rest = [*desk.systems.refused, *_unseen(desk, seen, unread)]
    refused = pa.concat_tables([named, refused_table(rest, None)]).sort_by(
        [("system_id", "ascending"), ("kind", "ascending")]
    )
    write_table(folder / "refused.parquet", _with_keys(refused, desk.systems))
    summary = _summary(desk, estimates, refused, unread)
    write_whole(folder / SUMMARY, as_json(summary), private=True)
    return summary


def _with_keys(refused: pa.Table, systems: Systems) -> pa.Table:
    """Return refusals with the public keys of their systems, where the table has them."""
    names = [*systems.ids.to_pylist(), *(each.system_id for each in systems.refused)]
    place = {name: row for row, name in enumerate(names)}
    found = [place.get(name, -1) for name in refused["system_id"].to_pylist()]
    where = np.array(found, dtype=np.int64)
    rows = numbers(where, where >= 0)
    for key in systems.keys.column_names:
        both = pa.chunked_array(
            [*systems.keys[key].chunks, *systems.refused_keys[key].chunks],
            systems.keys[key].type,
        )
        refused = refused.append_column(key, both.take(rows))
    known = pc.is_valid(rows)
    return refused.append_column("in_systems", known)


def _unread_kind() -> pa.Scalar:
    return texts([UNREAD])[0]


def _unread(desk: Desk, told: pa.Table) -> list[str]:
    """Return the sentences about files that could not be read."""
    within = told.filter(pc.equal(told.column("kind"), _unread_kind())).column("reason").to_pylist()
    before = [reason for _, reason in (*desk.job.source.unreadable, *not_gathered(desk.job.work))]
    return sorted({*before, *within})


def _unseen(desk: Desk, seen: set[str], unread: list[str]) -> list[Refused]:
    """Return refusals of the systems that no readings were found of."""
    unseen = (name for name in desk.names if name not in seen)
    if not unread:
        end = "has no readings in the fleet; check its name in both"
        return [Refused(name, "no readings", f"system {name} {end}") for name in unseen]
    # a file that is named after a system is most likely its own
    named = {Path(sentence.split(" ")[0]).stem: sentence for sentence in reversed(unread)}
    more = f" (and {len(unread) - 1} more)" if len(unread) > 1 else ""
    start = "has no readings that can be read:"
    return [
        Refused(name, "unreadable", f"system {name} {start} {named.get(name) or unread[0] + more}")
        for name in unseen
    ]


def _refuse_twice(estimates: pa.Table) -> None:
    names = estimates.column("system_id")
    if len(names) == pc.count_distinct(names).as_py():
        return
    twice = Counter(names.to_pylist()).most_common(1)[0][0]
    raise SourceError(
        f"system {twice} is in several files of the fleet; join its readings into one file"
    )


def _summary(
    desk: Desk, estimates: pa.Table, refused: pa.Table, unread: list[str]
) -> dict[str, Any]:
    raised = pc.value_counts(pc.list_flatten(estimates.column("flags"))).to_pylist()
    flags = {each["values"]: each["counts"] for each in raised}
    kinds = Counter(refused.column("kind").to_pylist())
    return {
        "inferred": estimates.num_rows,
        "refused": refused.num_rows,
        "cells": len(desk.cells.cells),
        "flags": {flag.value: flags.get(flag.value, 0) for flag in Flag},
        "refused_by_kind": dict(sorted(kinds.items(), key=lambda each: (-each[1], each[0]))),
        "unread_files": unread,
        "notes": list(desk.systems.notes),
        "total_dc_capacity_kw": round(float(pc.sum(estimates["dc_capacity_kw"]).as_py() or 0.0), 1),
        "medians": {
            name: _median(estimates.column(name))
            for name in ("surface_tilt", "dc_capacity_kw", "agreement")
        },
        "azimuth": _histogram(estimates["surface_azimuth"], AZIMUTHS),
        "tilt": _histogram(estimates["surface_tilt"], TILTS),
        "capacity": _histogram(estimates["dc_capacity_kw"], CAPACITIES),
    }


def _median(column: Any) -> float | None:
    values = plain(column)
    return round(float(np.median(values)), 3) if len(values) else None


def _histogram(column: Any, edges: Sequence[float]) -> dict[str, Any]:
    counts, _ = np.histogram(plain(column), bins=np.asarray(edges, dtype=np.float64))
    return {"edges": list(edges), "counts": counts.tolist()}
