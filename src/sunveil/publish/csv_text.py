"""Texts in CSV files, such that no spreadsheet takes one for a formula.

A spreadsheet runs a cell that begins with ``=``, ``+``, ``-``, ``@`` or a control character, and
names of groups may begin so. Such a text gets an apostrophe before it, which spreadsheets show as a
sign of text. It can be undone: a text that already has apostrophes before such a character gets one
more. Numbers are left alone: a column of numbers is never text.
"""

from __future__ import annotations

import re

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
