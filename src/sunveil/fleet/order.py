"""How the systems of a fleet lie in its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.fleet.database import cursor, named, parquet
from sunveil.fleet.layouts import FileLayout
from sunveil.fleet.plain_files import files_together
from sunveil.fleet.reading import hashes
from sunveil.fleet.source import FileOrder, FleetSource, SourceFile
from sunveil.fleet.systems import SystemTable
from sunveil.meters.options import MeterOptions

_DEFAULTS = MeterOptions()


@dataclass(frozen=True, slots=True, eq=False)
class FleetOrder:
    """How the systems of a fleet lie in its files.

    Parameters
    ----------
    order
        Whether files are ranges of names, hold whole systems, or share systems.
    members
        Numbers of the known systems of each file, where these had to be looked up.
    together
        Of files that only the reader of single files knows: a number for each, the same for files
        that share a system.
    """

    order: FileOrder
    members: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    together: Mapping[str, int] = field(default_factory=dict)


def find_order(
    source: FleetSource,
    systems: SystemTable,
    options: MeterOptions = _DEFAULTS,
    *,
    workers: int = 1,
) -> FleetOrder:
    """Return how systems lie in files: as footers tell, or the names alone where they do not.

    Parameters
    ----------
    source
        The files.
    systems
        The table of systems.
    options
        How the meters are read.
    workers
        How many files to look at at a time.
    """
    files = [file.name for file in source.files]
    if source.columns.layout is FileLayout.FILES:
        if len(files) == 1:
            return FleetOrder(FileOrder.WHOLE)
        groups = files_together(source.paths(files), options)
        return FleetOrder(FileOrder.WHOLE, together=dict(zip(files, groups, strict=True)))
    if _sorted(source.files):
        return FleetOrder(FileOrder.SORTED)
    with ThreadPoolExecutor(workers) as pool:
        found = list(pool.map(lambda file: _names(source, file), files))
    every = np.concatenate([np.empty(0, dtype=np.uint64), *found])
    if len(np.unique(every)) < len(every):
        return FleetOrder(FileOrder.SPREAD)
    return FleetOrder(FileOrder.WHOLE, dict(zip(files, _numbers(found, systems), strict=True)))


def by_name(files: Sequence[SourceFile]) -> list[SourceFile]:
    """Return files in the order of the systems in them."""
    return sorted(files, key=lambda file: (file.bounds or ("", ""), file.name))


def _sorted(files: Sequence[SourceFile]) -> bool:
    """Whether each file is a range of names, and ranges do not overlap but at their ends."""
    if any(file.bounds is None for file in files):
        return False
    bounds = [file.bounds for file in by_name(files) if file.bounds is not None]
    return all(before[1] <= after[0] for before, after in pairwise(bounds))


def _numbers(found: list[NDArray[np.uint64]], systems: SystemTable) -> list[NDArray[np.int64]]:
    """Return the numbers of the systems that the table knows, file by file."""
    known = hashes(systems.ids)
    if not len(known):
        return [np.empty(0, dtype=np.int64) for _ in found]
    order = np.argsort(known)
    numbers = []
    for names in found:
        place = np.minimum(np.searchsorted(known, names, sorter=order), len(known) - 1)
        here = order[place]
        numbers.append(np.sort(here[known[here] == names]))
    return numbers


def _names(source: FleetSource, name: str) -> NDArray[np.uint64]:
    """Return hashes of the names of a file's systems; none, where it is damaged within."""
    columns = source.columns
    table = parquet(source.paths([name]), hive=bool(columns.hive))
    system = columns.name_sql()
    try:
        found = (
            cursor()
            .sql(f"SELECT hash(s) AS h FROM (SELECT DISTINCT {system} AS s FROM {table})")
            .to_arrow_table()
        )
    except (duckdb.Error, pa.ArrowException):
        return np.empty(0, dtype=np.uint64)
    return np.asarray(found.column("h").to_numpy(), dtype=np.uint64)


def find_span(source: FleetSource) -> tuple[int, int] | None:
    """Return the first and last stamp of a fleet, from its footers or else its times. [µs]"""
    if source.span is not None or source.columns.layout is not FileLayout.LONG:
        return source.span
    columns = source.columns
    if columns.time is None:
        raise MeterError("the fleet has no column of times")
    table = parquet(source.paths(file.name for file in source.files), hive=bool(columns.hive))
    time = f"epoch_us({named(columns.time)}{'' if columns.stamp == 'instant' else '::TIMESTAMP'})"
    try:
        found = cursor().execute(f"SELECT min({time}), max({time}) FROM {table}").fetchone()
    except duckdb.Error:
        return None
    return None if found is None or found[0] is None else (int(found[0]), int(found[1]))
