"""DuckDB access: rows of a part as Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sunveil._extras import optional_package
from sunveil.fleet.file_layouts import Columns, FileLayout, Stamp, named

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = optional_package("duckdb", purpose="a fleet")

# What one process may hold while it reads or parts readings.
MEMORY = "384MB"


@cache
def _parent() -> duckdb.DuckDBPyConnection:
    # One thread each: partitions run beside each other, so that both cores are busy already.
    return duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "threads": "1",
            "memory_limit": MEMORY,
        },
    )


def cursor() -> duckdb.DuckDBPyConnection:
    """Return a connection of its own for the calling thread."""
    return _parent().cursor()


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def unglobbed(path: Path | str) -> str:
    """Return a path in which DuckDB sees no wildcards."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def parquet(paths: Iterable[Path | str], *, hive: bool = False) -> str:
    """Return SQL that reads Parquet files as one table, in their order."""
    listed = ", ".join(quoted(unglobbed(path)) for path in paths)
    keys = ", hive_partitioning=true, hive_types_autocast=false" if hive else ""
    return f"read_parquet([{listed}], union_by_name=false{keys})"


# What reading a damaged file raises.
DAMAGE = (duckdb.Error, pa.ArrowException, OSError)


# Rows of a batch: large enough to cost little each, small enough to stay in the processor's cache
# from DuckDB's hands to ours.
_BATCH = 131_072


# The same of lists, each of which is a system.
_BATCH_LISTS = 1_000_000


# Blank stamps.
NO_TIME = np.iinfo(np.int64).min


# Stamps before 1980 and after 2100 are no readings of PV systems. [s since 1970]
EARLIEST, LATEST = 315_532_800, 4_133_980_800


Rows = tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float32]]


def read_rows(
    paths: Sequence[Path], columns: Columns, *, low: Any = None, high: Any = None
) -> Iterator[Rows]:
    """Yield the hash of the system, the stamp and the reading of each row, in their order."""
    if not paths:
        return
    table = parquet(paths, hive=bool(columns.hive))
    picked = ", ".join(_picked(columns))
    where = range_of(columns, low, high)
    lists = columns.layout is FileLayout.LISTS
    turn, size = (_from_lists, _BATCH_LISTS) if lists else (_from_long, _BATCH)
    reader = cursor().sql(f"SELECT {picked} FROM {table}{where}").to_arrow_reader(size)
    for batch in reader:
        if batch.num_rows:
            yield turn(batch, columns)


def range_of(columns: Columns, low: Any, high: Any) -> str:
    """Return the condition of a range of names, as SQL."""
    system = named(columns.system)
    ends = [
        f"{system} {sign} {end if isinstance(end, int) else quoted(str(end))}"
        for sign, end in ((">=", low), ("<", high))
        if end is not None
    ]
    return f" WHERE {' AND '.join(ends)}" if ends else ""


def hashes(ids: pa.Array) -> NDArray[np.uint64]:
    """Return the hashes of names, as the rows have them."""
    if not len(ids):
        return np.empty(0, dtype=np.uint64)
    table = pa.table({"s": ids})
    found = cursor().from_arrow(table).project("hash(s::VARCHAR) AS h").to_arrow_table()
    return np.asarray(found.column("h").to_numpy(), dtype=np.uint64)


def system_names(
    paths: Sequence[Path], columns: Columns, *, low: Any = None, high: Any = None
) -> list[str]:
    """Return the names of all systems that some files have rows of."""
    table = parquet(paths, hive=bool(columns.hive))
    system = columns.name_sql()
    found = cursor().execute(
        f"SELECT DISTINCT {system} AS s FROM {table}{range_of(columns, low, high)} ORDER BY s"
    )
    return ["" if row[0] is None else str(row[0]) for row in found.fetchall()]


def _picked(columns: Columns) -> list[str]:
    picked = [f"hash({columns.name_sql()}) AS h"]
    plain = columns.power_kind == "float"
    value = named(columns.power)
    if columns.layout is FileLayout.LONG:
        assert columns.time is not None
        time = named(columns.time)
        stamp = time if columns.stamp is Stamp.INSTANT else f"{time}::TIMESTAMP"
        return [*picked, f"{stamp} AS t", f"{value if plain else f'{value}::DOUBLE'} AS v"]
    picked.append(f"{value if plain else f'{value}::DOUBLE[]'} AS v")
    kind = "TIMESTAMPTZ" if columns.stamp is Stamp.INSTANT else "TIMESTAMP"
    if columns.time is not None:
        return [*picked, f"{named(columns.time)}::{kind}[] AS t"]
    assert columns.start is not None
    assert columns.length is not None
    start, length = named(columns.start), named(columns.length)
    return [*picked, f"{start}::{kind} AS t", f"{length}::DOUBLE AS d"]


def _from_long(batch: Any, columns: Columns) -> Rows:
    del columns
    return (
        filled(batch.column("h"), 0).view(np.uint64),
        stamps(batch.column("t")),
        _values(batch.column("v")),
    )


def _from_lists(batch: Any, columns: Columns) -> Rows:
    """Lay lists out as rows."""
    lists = batch.column("v")
    sizes = filled(pc.list_value_length(lists), 0).astype(np.int64)
    names = np.repeat(filled(batch.column("h"), 0).view(np.uint64), sizes)
    values = _values(lists.flatten())
    if columns.time is None:
        begin = np.repeat(stamps(batch.column("t")), sizes)
        each = np.repeat(_lengths(batch.column("d")), sizes)
        rank = np.arange(len(values)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        blank = (begin == NO_TIME) | (each == NO_TIME)
        return names, np.where(blank, NO_TIME, begin + rank * np.where(blank, 0, each)), values
    times = batch.column("t")
    lengths = filled(pc.list_value_length(times), 0).astype(np.int64)
    found = stamps(times.flatten())
    if not (lengths == sizes).all():
        # lists of unequal length have no times, which is settled like any other missing time
        found = _fitted(found, lengths, sizes)
    return names, found, values


def _fitted(
    found: NDArray[np.int64], lengths: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    ends = np.cumsum(lengths)
    return np.concatenate(
        [
            found[end - length : end] if length == size else np.full(size, NO_TIME)
            for end, length, size in zip(ends, lengths, sizes, strict=True)
        ]
    )


def _lengths(column: Any) -> NDArray[np.int64]:
    minutes = np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    bad = ~np.isfinite(minutes)
    return np.where(bad, NO_TIME, np.rint(np.where(bad, 0.0, minutes) * 6e7)).astype(np.int64)


def stamps(column: Any) -> NDArray[np.int64]:
    """Return a column of times as microseconds, ``NO_TIME`` where blank."""
    wanted = pa.timestamp("us", column.type.tz)
    same = column if column.type == wanted else column.cast(wanted)
    return filled(same.view(pa.int64()), NO_TIME)


def filled(column: Any, blank: int) -> NDArray[Any]:
    """Return a column of whole numbers, with a number of their own kind where blank."""
    if column.null_count:
        column = pc.fill_null(column, pa.scalar(blank, column.type))
    return np.asarray(column.to_numpy())


def _values(column: Any) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as such
        values = column.to_numpy(zero_copy_only=False)
        return np.asarray(values.astype(np.float32, copy=False))
