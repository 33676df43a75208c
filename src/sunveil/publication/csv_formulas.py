"""Text of CSV files that a spreadsheet would run, made harmless and read back."""

from __future__ import annotations

import math
import re
from typing import Any

# How formulas begin, for DuckDB, which writes tables; the last four are the wide forms that some
# spreadsheets take for the first.
PATTERN = r"^'*[=+\-@\t\r\n＝＋－＠]"


SAID = (
    "Texts that a spreadsheet would take for a formula (they begin with =, +, -, @, a tab or a line"
    " break) have an apostrophe before them in CSV files, and only there."
)


_DANGEROUS = re.compile(PATTERN)


_DEFUSED = re.compile(r"^'+[=+\-@\t\r\n＝＋－＠]")


def defuse(text: str) -> str:
    """Return a text as it stands in a CSV file.

    >>> defuse("=HYPERLINK(1)"), defuse("'=1"), defuse("F-1")
    ("'=HYPERLINK(1)", "''=1", 'F-1')
    """
    return f"'{text}" if _DANGEROUS.match(text) else text


def restore(text: str) -> str:
    """Return the text that :func:`defuse` was given.

    >>> restore("'=HYPERLINK(1)"), restore("'tis")
    ('=HYPERLINK(1)', "'tis")
    """
    return text[1:] if _DEFUSED.match(text) else text


def defused(cell: Any) -> Any:
    """Return a cell as a CSV file has it: a text that looks like a formula gets an apostrophe."""
    if cell is None or (isinstance(cell, float) and not math.isfinite(cell)):
        return ""
    if isinstance(cell, list | tuple):
        cell = " ".join(str(each) for each in cell)
    return defuse(cell) if isinstance(cell, str) else cell
