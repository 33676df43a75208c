"""Systems that look unusual, settled by the reader of single files: same rules, same words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.fleet.database import cursor, named, parquet
from sunveil.fleet.layouts import Columns, FileLayout, Stamp
from sunveil.fleet.reading import NO_TIME, filled, hashes
from sunveil.meters.assemble import RawSystem
from sunveil.meters.clock import Stamps
from sunveil.meters.wording import name_rows
from sunveil.site import Array

# Stamps, readings, numbers of rows and, where it is counted apart, what was taken from the grid.
RowsOfSystem = tuple[NDArray[np.int64], Array, NDArray[np.int64], Array | None]
# So many systems are read anew at a time.
_AT_ONCE = 64


def raws_of(
    paths: Sequence[Path],
    columns: Columns,
    names: Sequence[str],
    *,
    gathered: bool,
    declared_only: bool = False,
) -> Iterator[tuple[str, RawSystem | MeterError]]:
    """Yield some systems of Parquet files as the files give them.

    Parameters
    ----------
    paths
        The files.
    columns
        What to read.
    names
        The systems.
    gathered
        Whether the files were made on the way, so that their rows mean nothing to anybody.
    declared_only
        Whether readings must not be looked at: a row without a time is then no row, whether or not
        it has one.
    """
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
