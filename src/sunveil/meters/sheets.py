"""Tables that are read whole: workbooks, and lists of records in JSON."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from datetime import datetime, time
from typing import Any

import numpy as np
import pyarrow as pa

from sunveil.errors import MeterError
from sunveil.meters.cells import RoleCells
from sunveil.meters.columns import ColumnRoles, find_roles
from sunveil.meters.contents import Content, unreadable
from sunveil.meters.header import TableColumn, find_columns
from sunveil.meters.options import MeterOptions
from sunveil.meters.textcells import to_texts

# Rows that are looked at to find the header, or what columns hold.
HEAD = 300


def read_workbook(content: Content, options: MeterOptions) -> RoleCells:
    """Return the columns of the first sheet of a workbook that holds times and readings.

    Parameters
    ----------
    content
        The file.
    options
        What the curator says of it.
    """
    problem: MeterError | None = None
    for rows in _sheets(content):
        try:
            _, first, columns, _ = find_columns(rows[:HEAD], options, where=content.name)
            roles = find_roles(columns, options, where=content.name)
            return cells_of_rows(columns, roles, rows[first:], content=content)
        except MeterError as error:
            problem = problem or error
    raise problem or MeterError(f"{content.name} has no sheet with a header and readings")


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
    """Yield the rows of every filled sheet; one that is damaged is raised where no other is."""
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
            texts[cell["column"]] = _as_text(cell["value"])
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
    """Return the columns of a table of texts that hold what is read.

    Parameters
    ----------
    columns, roles
        Its columns, and which of them hold what.
    body
        The cells, row by row, without the header.
    content
        The file that they are from.
    numbers
        The number of each row; from 1 in their order when left out.
    said
        What the file says of itself outside its table: unit, timezone, label.
    """

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


def _as_text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell.date())  # a workbook's dates are midnights
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell).strip()
