"""Tables that are read whole: workbooks, and lists of records in JSON."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import datetime, time
from typing import Any

import numpy as np
import pyarrow as pa

from sunveil.errors import MeterError, debugging
from sunveil.meters.cells import RoleCells
from sunveil.meters.columns import find_roles
from sunveil.meters.contents import Content, unreadable
from sunveil.meters.header import find_columns
from sunveil.meters.options import MeterOptions
from sunveil.meters.textcells import to_texts

_HEAD = 300


def read_workbook(content: Content, options: MeterOptions) -> RoleCells:
    """Return the columns of the first sheet of a workbook that holds times and readings.

    Parameters
    ----------
    content
        The file.
    options
        What the curator says of it.
    """
    filled = [rows for rows in _sheets(content) if len(rows) > 1]
    if not filled:
        raise MeterError(f"{content.name} has no sheet with a header and readings")
    problem: MeterError | None = None
    for rows in filled:
        try:
            return cells_of_rows([_as_texts(row) for row in rows], options, content=content)
        except MeterError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def read_workbook_table(content: Content) -> dict[str, pa.Array]:
    """Return the first filled sheet of a workbook as texts by the names in its first row."""
    rows = next((each for each in _sheets(content) if len(each) > 1), None)
    if rows is None:
        raise MeterError(f"{content.name} has no sheet with a header and rows")
    names, *body = (_as_texts(row) for row in rows)
    filled = [row for row in body if any(row)]
    return {
        name: to_texts([row[at] if at < len(row) else "" for row in filled])
        for at, name in enumerate(names)
        if name
    }


def _sheets(content: Content) -> list[list[tuple[object, ...]]]:
    """Return the rows of every sheet of a workbook."""
    from openpyxl import load_workbook  # for workbooks alone: it takes longer than reading a year

    try:
        with content.open() as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of cells that are no dates, and become no readings
            return [_rows(sheet) for sheet in load_workbook(file, read_only=True, data_only=True)]
    except Exception as error:  # a damaged workbook fails in as many ways as it has parts
        raise unreadable(content.name, error) from (error if debugging() else None)


def _rows(sheet: Any) -> list[tuple[object, ...]]:
    # what a file says of its own size is often wrong
    if hasattr(sheet, "reset_dimensions"):
        sheet.reset_dimensions()
        return list(sheet.iter_rows(values_only=True))
    return []  # a sheet that is a chart


def cells_of_rows(
    rows: Sequence[Sequence[str]],
    options: MeterOptions,
    *,
    content: Content,
    said: dict[str, str] | None = None,
) -> RoleCells:
    """Return the columns of a table of texts that hold what is read.

    Parameters
    ----------
    rows
        The cells, row by row, with the header.
    options
        What the curator says of them.
    content
        The file that they are from.
    said
        What the file says of itself outside its table: unit, timezone, label.
    """
    _, first, columns, _ = find_columns(rows[:_HEAD], options, where=content.name)
    roles = find_roles(columns, options, where=content.name)
    body = rows[first:]

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
        np.arange(1, len(body) + 1, dtype=np.int64),
        time,
        tuple(each for each in map(column, roles.power) if each is not None),
        date=column(roles.date),
        system=column(roles.system),
        kind=column(roles.kind),
        unit=column(roles.unit),
        imported=column(roles.imported),
        separator="" if said is None else None,
        said=said or {},
    )


def _as_texts(row: Sequence[object]) -> list[str]:
    return [_as_text(cell) for cell in row]


def _as_text(cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, datetime) and cell.time() == time():
        return str(cell.date())  # a workbook's dates are midnights
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return str(cell).strip()
