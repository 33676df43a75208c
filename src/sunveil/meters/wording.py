"""How notes and errors name rows and times: never by the value of a reading."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def name_rows(rows: Rows) -> str:
    """Return ``"row 7"``, ``"rows 7 to 9"`` or ``"rows 7 to 90 (12 of them)"``.

    Rows are counted from 1 at the first row under the header.
    """
    first, last = int(rows.min()), int(rows.max())
    if first == last:
        return f"row {first}"
    span = f"rows {first} to {last}"
    return span if len(rows) == last - first + 1 else f"{span} ({len(rows)} of them)"


def name_time(seconds: int) -> str:
    """Return a UTC second as ``"2016-07-01 00:00 UTC"``."""
    return str(np.datetime64(int(seconds), "s")).replace("T", " ")[:16] + " UTC"


def count(number: int, noun: str = "reading", plural: str | None = None) -> str:
    """Return ``"1 reading"`` or ``"5 readings"``.

    Parameters
    ----------
    number
        How many.
    noun, plural
        What is counted, one and many; an s is added where the plural is left out.
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def percent(part: float, whole: float) -> str:
    """Return a share in words, never as ``"0%"`` when it is not nothing."""
    share = 100.0 * part / whole
    return f"{share:.0f}%" if share >= 1.0 else "less than 1%"
