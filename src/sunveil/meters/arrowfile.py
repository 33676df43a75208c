"""Parquet and Feather: tables with types, which their files state."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

from sunveil.errors import MeterError, ParameterError, ask
from sunveil.meters.cells import RoleCells
from sunveil.meters.columns import find_roles
from sunveil.meters.contents import Content, FileKind, unreadable
from sunveil.meters.header import TableColumn
from sunveil.meters.options import MeterOptions, parse_timezone
from sunveil.meters.textcells import decode

_SAMPLE = 200


def read_arrow(content: Content, options: MeterOptions) -> RoleCells:
    """Return the columns of a Parquet or Feather file that hold what is read.

    Parameters
    ----------
    content
        The file.
    options
        What the curator says of it.
    """
    return cells_of_table(_table(content), options, where=content.name, stem=content.stem)


def cells_of_table(table: pa.Table, options: MeterOptions, *, where: str, stem: str) -> RoleCells:
    """Return the columns of a table with types that hold what is read.

    Parameters
    ----------
    table
        The table.
    options
        What the curator says of it.
    where, stem
        Its name for messages, and the name of its system where no column names them.
    """
    names = table.column_names
    if any(pa.types.is_list(each) or pa.types.is_large_list(each) for each in table.schema.types):
        raise MeterError(
            f"{where} holds lists of readings: such files are read with a table of systems"
            f" ({ask('systems')})"
        )
    columns = tuple(
        describe_column(table.column(at), name, options) for at, name in enumerate(names)
    )
    roles = find_roles(columns, options, where=where)
    picked = {"time": roles.time, "date": roles.date, "system": roles.system, "kind": roles.kind}
    cells = {name: _plain(table.column(at)) for name, at in picked.items() if at is not None}
    return RoleCells(
        where,
        stem,
        columns,
        roles,
        np.arange(1, table.num_rows + 1, dtype=np.int64),
        power=tuple(_plain(table.column(at)) for at in roles.power),
        imported=tuple(_plain(table.column(at)) for at in roles.imported),
        zone=_stored_zone(table.schema, names[roles.time]),
        **cells,
    )


def _table(content: Content) -> pa.Table:
    try:
        with content.open() as file:
            if content.kind is FileKind.PARQUET:
                source = pa.PythonFile(file) if content.path is None else content.path
                return _sound(pq.read_table(source))
            return _sound(feather.read_table(file))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = error if isinstance(error, FileNotFoundError) else ValueError()
        raise unreadable(content.name, reason) from None


def _sound(table: pa.Table) -> pa.Table:
    """Return a table whose buffers have been checked, with every cell of text readable.

    Bytes that are no text spoil their own cell alone.
    """
    raw = pa.table(
        [_as_bytes(column) for column in table.columns],
        names=table.column_names,
        metadata=table.schema.metadata,
    )
    raw.validate(full=True)
    texts = [
        _as_text(column) if pa.types.is_binary(column.type) else column for column in raw.columns
    ]
    return pa.table(texts, names=table.column_names, metadata=table.schema.metadata)


def _as_bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not _is_text(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        column.validate(full=True)
        column = column.cast(column.type.value_type)
    return column.cast(pa.binary())


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        cells = [None if each is None else decode(each) for each in column.to_pylist()]
        return pa.chunked_array([pa.array(cells, pa.string())])


def describe_column(column: pa.ChunkedArray, name: str, options: MeterOptions) -> TableColumn:
    """Return what the type of a column says of it, and some cells where it is text.

    Parameters
    ----------
    column
        The column.
    name
        Its name.
    options
        Whether its cells may be looked at.
    """
    found = typed_column(name, column.type)
    if found.is_time is not None or options.declared_only:
        return found
    cells = column[:_SAMPLE].to_pylist()
    return TableColumn(name, cells=tuple(str(each) for each in cells if each is not None))


def typed_column(name: str, kind: pa.DataType) -> TableColumn:
    """Return what the type of a column says of it."""
    is_time = bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))
    if _is_text(kind):
        return TableColumn(name)
    return TableColumn(name, is_time=is_time, is_number=_is_number(kind))


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))


def _is_text(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array of texts, numbers or times."""
    if pa.types.is_dictionary(column.type) or pa.types.is_large_string(column.type):
        column = column.cast(pa.string())
    array = column.combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def _stored_zone(schema: pa.Schema, name: str) -> str | None:
    """Return the zone that pandas wrote beside a column of instants, or the type's own."""
    zone = getattr(schema.field(name).type, "tz", None)
    if zone is None:
        return None
    try:
        described = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["columns"]
        zone = next(c["metadata"]["timezone"] for c in described if c["field_name"] == name)
    except (StopIteration, KeyError, TypeError, ValueError):
        pass
    try:
        return parse_timezone(str(zone))[1]
    except ParameterError:
        return "UTC"
