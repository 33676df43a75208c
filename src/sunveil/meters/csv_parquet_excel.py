"""CSV, Parquet, Feather and workbooks as one table type."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather as feather
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sunveil._extras import require_extras
from sunveil.errors import MeterError, ParameterError
from sunveil.meters.file_types import (
    Content,
    FileKind,
    LineBlock,
    cut,
    decode,
    iter_blocks,
    read_head,
    to_texts,
    unreadable,
)
from sunveil.meters.find_columns import ColumnRoles, find_roles, refuse_consumption
from sunveil.meters.header_and_units import (
    TableColumn,
    TableHead,
    find_columns,
    find_head,
    first_names,
    units_in,
)
from sunveil.meters.numbers_and_dates import CellNumbers, Rows
from sunveil.meters.reading_options import AUTO, MeterOptions, parse_timezone


@dataclass(frozen=True, slots=True, eq=False)
class RoleCells:
    """The columns of a table that hold what is read."""

    where: str  # the name of the file, for messages
    stem: str  # the name of its system, where no column names them
    columns: tuple[TableColumn, ...]  # all columns of the table
    roles: ColumnRoles  # which of them hold what
    rows: Rows  # the number of each row, from 1
    time: pa.Array  # their cells: texts, or times where the file has types
    power: tuple[pa.Array, ...]
    date: pa.Array | None = None  # their cells: texts, or times where the file has types
    system: pa.Array | None = None  # their cells: texts, or times where the file has types
    kind: pa.Array | None = None  # their cells: texts, or times where the file has types
    unit: pa.Array | None = None  # their cells: texts, or times where the file has types
    imported: tuple[pa.Array, ...] = ()
    torn: NDArray[np.bool_] | None = None
    short: NDArray[np.bool_] | None = None
    separator: str | None = None  # what stands between cells, where the table is a text
    zone: str | None = None  # the clock that a file states beside its instants
    said: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RowReadings:
    """The readings of a table, row by row; of a table of days, column after column."""

    rows: Rows  # the number of each row, from 1
    numbers: CellNumbers
    commas: NDArray[np.float64] | None
    evidence: NDArray[np.int8] | None
    blank_stamp: NDArray[np.bool_]  # rows that have words or nothing where the stamp should be
    torn: NDArray[np.bool_] | None  # lines that have more cells than the header
    imported: RowReadings | None = None
    added: tuple[RowReadings, ...] = ()

    def of(self, part: Rows, size: int) -> RowReadings:
        """Return the readings of some rows, `size` to a row, in the order of time."""

        def turned(flat: Any) -> Any:
            return None if flat is None else flat.reshape(size, -1)[:, part].T.reshape(-1)

        def spread(each: Any) -> Any:
            return None if each is None else np.repeat(each[part], size)

        numbers = self.numbers
        return RowReadings(
            rows=spread(self.rows),
            numbers=CellNumbers(
                turned(numbers.values),
                turned(numbers.text),
                turned(numbers.with_unit),
                turned(numbers.energy),
            ),
            commas=turned(self.commas),
            evidence=turned(self.evidence),
            blank_stamp=spread(self.blank_stamp),
            torn=spread(self.torn),
            imported=None if self.imported is None else self.imported.of(part, size),
            added=tuple(each.of(part, size) for each in self.added),
        )


_SAMPLE = 200


def read_arrow(content: Content, options: MeterOptions) -> RoleCells:
    """Return the columns of a Parquet or Feather file that hold what is read."""
    return cells_of_table(_table(content), options, where=content.name, stem=content.stem)


def cells_of_table(table: pa.Table, options: MeterOptions, *, where: str, stem: str) -> RoleCells:
    """Return the columns of a table with types that hold what is read."""
    names = table.column_names
    if any(pa.types.is_list(each) or pa.types.is_large_list(each) for each in table.schema.types):
        raise MeterError(
            f"{where} holds lists of readings: such files are read with a table of systems"
            " (option `systems`)"
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
    """Check the buffers of a table and make every text cell readable."""
    # Bytes that are no text spoil their own cell alone.
    raw = pa.table(
        [_as_bytes(column) for column in table.columns],
        names=table.column_names,
        metadata=table.schema.metadata,
    )
    raw.validate(full=True)
    texts = [
        _column_as_text(column) if pa.types.is_binary(column.type) else column
        for column in raw.columns
    ]
    return pa.table(texts, names=table.column_names, metadata=table.schema.metadata)


def _as_bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not _is_text(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        column.validate(full=True)
        column = column.cast(column.type.value_type)
    return column.cast(pa.binary())


def _column_as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        cells = [None if each is None else decode(each) for each in column.to_pylist()]
        return pa.chunked_array([pa.array(cells, pa.string())])


def describe_column(column: pa.ChunkedArray, name: str, options: MeterOptions) -> TableColumn:
    """Return what the type of a column says of it, and some cells where it is text."""
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


# Rows that are looked at to find the header, or what columns hold.
HEAD = 300


def read_workbook(content: Content, options: MeterOptions) -> RoleCells:
    """Return the columns of the first sheet of a workbook that holds times and readings."""
    problem: MeterError | None = None
    days: RoleCells | None = None
    for rows in _sheets(content):
        try:
            at = first_names([[row] for row in rows[:HEAD]], options)
            _, first, columns, _ = find_columns(
                rows[:HEAD], options, where=content.name, names_at=at
            )
            roles = find_roles(columns, options, where=content.name)
            found = cells_of_rows(columns, roles, rows[first:], content=content)
        except MeterError as error:
            problem = problem or error
            continue
        # stamps of one system must not choose the sheet of another
        if options.declared_only or not _is_of_days(found):
            return found
        days = days or found
    if days is not None:
        return days
    raise problem or MeterError(f"{content.name} has no sheet with a header and readings")


def _is_of_days(table: RoleCells) -> bool:
    """Whether the rows of a table are totals of days: all their times are dates."""
    if table.roles.date is not None or table.roles.minutes is not None:
        return False
    return not pc.any(pc.match_substring(table.time, ":")).as_py() and bool(
        pc.all(pc.match_substring_regex(table.time, r"^\d{4}-\d\d-\d\d$")).as_py()
    )


def read_workbook_table(content: Content) -> dict[str, pa.Array]:
    """Return the first filled sheet of a workbook as texts by the names in its first row."""
    rows = next(_sheets(content), None)
    if rows is None:
        raise MeterError(f"{content.name} has no sheet with a header and rows")
    names, *body = rows
    filled = [row for row in body if any(row)]
    return {
        name: to_texts([row[at] if at < len(row) else "" for row in filled])
        for at, name in enumerate(names)
        if name
    }


def _sheets(content: Content) -> Iterator[list[list[str]]]:
    """Yield the rows of each sheet with data; raise for a damaged one if no sheet has any."""
    require_extras("files", purpose="a workbook")
    from openpyxl import load_workbook  # for workbooks alone: it takes longer than reading a year

    filled, damaged = 0, None
    with content.open() as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of cells that are no dates, and become no readings
        try:
            sheets = load_workbook(file, read_only=True, data_only=True).worksheets
        except Exception as error:  # a damaged workbook fails in as many ways as it has parts
            raise unreadable(content.name, error) from error
        for sheet in sheets:
            try:
                rows = _rows(sheet)
            except Exception as error:  # and so does a damaged sheet
                damaged = error
                continue
            if len(rows) > 1:
                filled += 1
                yield rows
    if damaged is not None and not filled:
        raise unreadable(content.name, damaged) from damaged


def _rows(sheet: Any) -> list[list[str]]:
    """Return the rows of a sheet as texts; a cell that cannot be read is empty."""
    from openpyxl.worksheet._reader import ROW_TAG, WorkSheetParser
    from openpyxl.xml.functions import iterparse

    book, rows = sheet.parent, []
    with sheet._get_source() as source:
        # iter_rows would stop at the first cell that is not as it should be
        parser = WorkSheetParser(
            source,
            sheet._shared_strings,
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,
            timedelta_formats=book._timedelta_formats,
        )
        for _, element in iterparse(source):
            if element.tag == ROW_TAG:
                rows.append(_row(parser, element))
                element.clear()
    return rows


def _row(parser: Any, row: Any) -> list[str]:
    texts: dict[int, str] = {}
    parser.col_counter = 0
    for element in row:
        last = parser.col_counter
        try:
            cell = parser.parse_cell(element)
            texts[cell["column"]] = _field_as_text(cell["value"])
        except Exception:  # a damaged cell fails in as many ways as it has types
            parser.col_counter = max(parser.col_counter, last + 1)
    return [texts.get(at, "") for at in range(1, max(texts, default=0) + 1)]


def cells_of_rows(
    columns: tuple[TableColumn, ...],
    roles: ColumnRoles,
    body: Sequence[Sequence[str]],
    *,
    content: Content,
    numbers: Sequence[int] | None = None,
    said: dict[str, str] | None = None,
) -> RoleCells:
    """Return the columns of a table of texts that hold what is read."""

    def column(at: int | None) -> pa.Array | None:
        if at is None:
            return None
        return to_texts([row[at] if at < len(row) else "" for row in body])

    time = column(roles.time)
    assert time is not None
    return RoleCells(
        content.name,
        content.stem,
        columns,
        roles,
        np.asarray(range(1, len(body) + 1) if numbers is None else numbers, dtype=np.int64),
        time,
        tuple(each for each in map(column, roles.power) if each is not None),
        date=column(roles.date),
        system=column(roles.system),
        kind=column(roles.kind),
        unit=column(roles.unit),
        imported=tuple(each for each in map(column, roles.imported) if each is not None),
        separator="" if said is None else None,
        said=said or {},
    )


def _field_as_text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell.date())  # a workbook's dates are midnights
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell).strip()


# Wider than any line.
_ANY_WIDTH = 1 << 40


def read_text(content: Content, options: MeterOptions) -> RoleCells:
    """Return the columns of a text table that hold what is read."""
    where = content.name
    with content.open() as file:
        lines = read_head(file)
    if is_status_line(lines):
        with content.open() as file:
            content = Content(where, data=file.read().replace(b";", b"\n"))
        lines = lines[0].split(";")
    head = find_head(lines, options, where=where)
    roles = find_roles(head.columns, options, where=where)
    if options.power_column is None and not roles.net and head.named:
        above = [cell for line in lines[: head.above] for cell in cut(line, head.separator)]
        refuse_consumption([each for each in above if " " not in each.strip()], where)
    _refuse_open_decimal(head, options, where)
    if options.declared_only:
        _refuse_parted_flows(roles, where)
    return _streamed(content, head, roles)


def is_status_line(lines: Sequence[str]) -> bool:
    """Whether a file is one line of records parted by semicolons, as PVOutput's API answers."""
    return len(lines) == 1 and bool(re.match(r"\d{8},\d\d:\d\d,[^;]*;\d{8},", lines[0]))


def _refuse_open_decimal(head: TableHead, options: MeterOptions, where: str) -> None:
    """Refuse a release without a declared decimal mark: readings must not decide it."""
    stated = options.decimal != AUTO or head.decimal is not None
    if options.declared_only and not stated and head.separator != ",":
        parted = {";": "semicolons", "\t": "tabs"}.get(head.separator, "another mark than commas")
        raise MeterError(
            f"{where} parts its cells by {parted}, so its decimal mark may be a comma or a point:"
            " state it with option `decimal` (, or .)"
        )


def _refuse_parted_flows(roles: ColumnRoles, where: str) -> None:
    """Refuse a release with times between its readings: a damaged reading would move them."""
    if roles.minutes is not None or len(roles.counted) == 1:
        return
    first, last = min(roles.counted), max(roles.counted)
    others = (roles.time, roles.date, roles.system)
    if any(at is not None and first < at < last for at in others):
        raise MeterError(
            f"{where} has its times or systems between the columns of what is given to the grid and"
            " what is taken from it: put these side by side"
        )


def _streamed(content: Content, head: TableHead, roles: ColumnRoles) -> RoleCells:
    places = {
        "time": roles.time,
        "date": roles.date,
        "system": roles.system,
        "kind": roles.kind,
        "unit": roles.unit,
    }
    # a line of a whole day is torn as a whole, and so are the columns of a net meter
    read = roles.counted
    # without a header nothing but a line itself says how many cells it has
    width = len(head.columns) if head.named else _ANY_WIDTH
    private = (min(read), max(read)) if head.named else None
    cells: dict[str, list[pa.Array]] = {name: [] for name, at in places.items() if at is not None}
    power: list[list[pa.Array]] = [[] for _ in read]
    rows, torn, short = [], [], []
    with content.open() as file:
        blocks = iter_blocks(
            file, skip=head.skip, separator=head.separator, width=width, private=private
        )
        for block in blocks:
            kept = _is_row(block, roles, width=width, private=private)
            mask = pa.array(kept)
            for name, at in places.items():
                if at is not None:
                    found = block.column(at, width=width, private=private)
                    cells[name].append(found.filter(mask).dictionary_encode())
            for place, held in zip(read, power, strict=True):
                held.append(block.column(place, width=width, private=private).filter(mask))
            rows.append(block.rows[kept])
            torn.append(block.is_torn(width)[kept])
            short.append((block.counts < width)[kept] & head.named)
    if not rows:
        raise MeterError(f"{content.name} has a header but no readings")
    whole = [pa.concat_arrays(held) for held in power]
    said = {} if head.decimal is None else {"decimal": head.decimal}
    if head.unit is not None and not units_in(*(head.columns[at].label for at in read)):
        said["unit"] = head.unit
    return RoleCells(
        content.name,
        content.stem,
        head.columns,
        roles,
        np.concatenate(rows),
        power=tuple(whole[: len(roles.power)]),
        imported=tuple(whole[len(roles.power) :]),
        torn=np.concatenate(torn),
        short=np.concatenate(short),
        separator=head.separator,
        said=said,
        **{name: _unified(held) for name, held in cells.items()},
    )


def _is_row(
    block: LineBlock, roles: ColumnRoles, *, width: int, private: tuple[int, int] | None
) -> NDArray[np.bool_]:
    """Return which lines are rows: others are blank, or end before their time or system."""
    kept = block.counts > 1
    for at in (roles.time, roles.date, roles.system):
        if at is not None:
            kept &= np.asarray(block.column(at, width=width, private=private).is_valid())
    return kept


def _unified(chunks: list[pa.Array]) -> pa.Array:
    """Return coded cells of several blocks under one code."""
    return pa.concat_arrays(pa.chunked_array(chunks).unify_dictionaries().chunks)
