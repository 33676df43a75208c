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
from sunveil.errors import MeterError
from sunveil.fleet.file_layouts import Columns, FileLayout, Stamp, named
from sunveil.meters.build_record import RawSystem
from sunveil.meters.numbers_and_dates import name_rows
from sunveil.meters.record import UNREAD, RefusedSystem
from sunveil.meters.time_steps import Stamps
from sunveil.site import Array

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
        # lists of unequal length have no times, which is treated like any other missing time
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


# Stamps, readings, numbers of rows and, where it is counted apart, what was taken from the grid.
RowsOfSystem = tuple[NDArray[np.int64], Array, NDArray[np.int64], Array | None]

# How many systems are read again at a time.
_AT_ONCE = 64


def raws_of(
    paths: Sequence[Path],
    columns: Columns,
    names: Sequence[str],
    *,
    gathered: bool,
    declared_only: bool = False,
) -> Iterator[tuple[str, RawSystem | MeterError]]:
    """Yield some systems of Parquet files as the files give them."""
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        for name, rows, file in _some(paths, columns, some):
            where = f"system {name}" if gathered else f"{file}, system {name},"
            if gathered or columns.layout is FileLayout.LISTS:
                rows = rows[0], rows[1], np.arange(len(rows[2])), rows[3]
            yield name, _raw(rows, columns, name, where, declared_only=declared_only)


def _some(
    paths: Sequence[Path], columns: Columns, names: Sequence[str]
) -> Iterator[tuple[str, RowsOfSystem, str]]:
    """Yield the rows of some systems, and the name of the file that the first of them is from."""
    system = columns.name_sql()
    # by the hash, which is compared sooner than a name
    wanted = hashes(pa.array(names, pa.string()))
    listed = ", ".join(str(each) for each in wanted)
    found = (
        cursor()
        .sql(
            f"SELECT hash({system}) AS h, filename AS f, {_columns(columns)}"
            f" FROM {parquet(paths, hive=bool(columns.hive))} WHERE hash({system}) IN ({listed})"
        )
        .to_arrow_table()
    )
    seen = found.column("h").to_numpy()
    micros = filled(found.column("w"), NO_TIME)
    values = found.column("v").to_numpy().astype(np.float64)
    number = found.column("r").to_numpy()
    taken = found.column("i").to_numpy().astype(np.float64) if columns.taken else None
    for name, each in sorted(zip(names, wanted, strict=True)):
        rows = np.flatnonzero(seen == each)
        if len(rows):
            file = Path(found.column("f")[int(rows[0])].as_py()).name
            apart = None if taken is None else taken[rows]
            yield name, (micros[rows], values[rows], number[rows], apart), file


def _columns(columns: Columns) -> str:
    """Return what is read of each row, as SQL."""
    kind = "" if columns.stamp is Stamp.INSTANT else "::TIMESTAMP"
    lists = columns.layout is FileLayout.LISTS

    def number(name: str | None) -> str:
        value = named(name or "")
        return f"unnest({value})::DOUBLE" if lists else f"{value}::DOUBLE"

    numbers = f"{number(columns.power)} AS v, file_row_number AS r"
    if columns.taken:
        numbers += f", {number(columns.taken)} AS i"
    if not lists:
        assert columns.time is not None
        return f"epoch_us({named(columns.time)}{kind}) AS w, {numbers}"
    if columns.time is not None:
        time = f"list_transform({named(columns.time)}, lambda x: epoch_us(x{kind}))"
        return f"unnest({time}) AS w, {numbers}"
    assert columns.start is not None
    assert columns.length is not None
    start, length = f"epoch_us({named(columns.start)}{kind})", named(columns.length)
    place = f"generate_subscripts({named(columns.power)}, 1)"
    return f"{start} + ({place} - 1) * round({length} * 6e7)::BIGINT AS w, {numbers}"


def _raw(
    rows: RowsOfSystem, columns: Columns, name: str, where: str, *, declared_only: bool
) -> RawSystem | MeterError:
    """Return a system's rows as its file gives them."""
    micros, values, number, taken = rows
    number = number.astype(np.int64) + 1
    timeless = micros == NO_TIME
    lost = timeless & ~np.isnan(values)
    if lost.any() and not declared_only:
        return MeterError(
            f"{where} has readings without a time at {name_rows(number[lost])}; remove them"
        )
    kept = ~timeless
    if not kept.any():
        return MeterError(f"{where} has no times at all in its column of times")
    wall = micros[kept].astype(np.int64)
    instant = columns.stamp is Stamp.INSTANT
    offset = np.full(len(wall), 0.0 if instant else np.nan)
    stamps = Stamps(wall, offset, columns.zone if instant else None)
    return RawSystem(
        name,
        where,
        number[kept],
        stamps,
        values[kept],
        columns.unit,
        columns.notes,
        net=columns.net,
        imported=None if taken is None else taken[kept],
    )


def sound_files(
    paths: Sequence[Path], columns: Columns, low: Any, high: Any
) -> tuple[list[Path], list[RefusedSystem]]:
    """Return the files that can be read to their end, and refusals of the others."""
    sound, refused = [], []
    for path in paths:
        try:
            for _ in read_rows([path], columns, low=low, high=high):
                pass
        except DAMAGE:
            refused.append(RefusedSystem("", UNREAD, f"{path.name} cannot be read: it is damaged"))
        else:
            sound.append(path)
    return sound, refused
