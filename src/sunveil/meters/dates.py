"""How the stamps of a text column are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

ISO = re.compile(
    r"\s*\d{4}-\d{1,2}-\d{1,2}([T ]\s*\d{1,2}:\d{2}(:\d{2}([.,]\d*)?)?"
    r"\s*(Z|UTC|GMT|[+-]\d{2}(:?\d{2})?)?)?\s*",
    re.IGNORECASE,
)
# Seconds since 1970 from 1980 on, or as many milliseconds.
EPOCH = re.compile(r"\s*(\d{9,10}|\d{12,13})(\.\d*)?\s*")
# What is a number is no date, unless the reader is told so.
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_DATES = (
    "%m/%d/%Y",
    "%d/%m/%Y",
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%Y",
    "%d.%m.%y",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y%m%d",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%b %d %Y",
)
_CLOCKS = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M", "T%H:%M:%S", " %H%M", "")
FORMATS = tuple(date + clock for date in _DATES for clock in _CLOCKS)


def looks_like_time(cells: Sequence[str]) -> bool:
    """Whether the first cells of a column are stamps; numbers alone are not."""
    filled = [cell for cell in cells if cell.strip()]
    if not filled:
        return False
    if all(ISO.fullmatch(cell) for cell in filled):
        return True
    if _NUMBER.fullmatch(filled[0]):
        return False
    return bool(fitting_formats(filled))


def fitting_formats(cells: Sequence[str]) -> list[str]:
    """Return the formats that every one of some cells fits."""
    filled = [" ".join(cell.split()) for cell in cells if cell.strip()]
    return [form for form in FORMATS if filled and all(_fits(cell, form) for cell in filled)]


def _fits(cell: str, form: str) -> bool:
    try:
        datetime.strptime(cell, form)
    except ValueError:
        return False
    return True
