"""Workbooks as spreadsheets write them, through openpyxl."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import openpyxl


def workbook(sheets: Mapping[str, Iterable[Sequence[Any]]]) -> bytes:
    """Return an XLSX file of some sheets, each a list of rows of cells of any type."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()
