"""The keys of systems, households and meters: one form, whatever file type they came from.

A household is one account under its key, so that 40031 in a CSV file, 40031.0 in a Parquet column
with a gap and " 40031" in a workbook must be the same key. A key is a text or a whole number:

- whole numbers of any type, and texts such as ``40031.0``, are the digits of the number;
- texts are trimmed and put in Unicode's form NFC; case and leading zeros count;
- empty cells and NaN are no key;
- everything else is refused: fractions, numbers that a column of floats has rounded, texts such as
  ``4.0031E+11``, truth values, dates, and signs that cannot be seen, such as a zero-width space.
"""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

from sunveil.errors import ParameterError

# Whole numbers from here on may be another's, rounded: in floats of 64, 32 and 16 bits.
_EXACT = 2**53
EXACT = {"halffloat": 2**11, "float": 2**24, "double": _EXACT}

# A whole number from a column of floats, as programs write it into text; DuckDB reads this too.
WHOLE_FLOAT = r"^(-?(0|[1-9][0-9]*))\.0+$"
_WHOLE_FLOAT = re.compile(WHOLE_FLOAT)

# A long number as spreadsheets write it: its last digits may be lost.
_ROUNDED = re.compile(r"[+-]?\d+([.,]\d+)?[eE]\+\d+")


def key_of(cell: Any, *, exact: int = _EXACT) -> str | None:
    """Return the key that a cell holds, None where it is empty.

    ``exact`` is the first whole number that the cell's column of floats may have rounded.

    >>> key_of(40031.0), key_of(" 40031"), key_of("0040031")
    ('40031', '40031', '0040031')
    """
    if cell is None:
        return None
    if isinstance(cell, bytes):
        try:
            cell = cell.decode()
        except UnicodeDecodeError:
            raise ParameterError("bytes that are no text are no key; write it as text") from None
    if isinstance(cell, str):
        return _of_text(cell)
    if isinstance(cell, bool) or not isinstance(cell, (Integral, Real, Decimal)):
        raise ParameterError("a key is a text or a whole number; write it as one of them")
    if cell != cell:  # NaN
        return None
    return _of_number(cell, exact)


def keys_of(column: Any, *, each_alone: bool = False) -> list[str | None]:
    """Return the keys of a column of Arrow's, None where a cell is empty."""
    # A cell that is no key is refused by its row; with `each_alone`, it counts as empty.
    exact = EXACT.get(str(column.type), _EXACT)
    found: list[str | None] = []
    for row, cell in enumerate(column.to_pylist(), 1):
        try:
            found.append(key_of(cell, exact=exact))
        except ParameterError as error:
            if not each_alone:
                raise ParameterError(f"row {row} below the header: {error}") from None
            found.append(None)
    return found


def _of_number(cell: Any, exact: int) -> str:
    whole = int(cell) if math.isfinite(cell) else None
    if whole is None or whole != cell:
        raise ParameterError("a number with a fraction is no key; write a whole number or a text")
    if not isinstance(cell, (Integral, Decimal)) and abs(whole) >= exact:
        raise ParameterError(
            "so large a number may have lost digits in a column of floats; write the key as text"
        )
    return str(whole)


def _of_text(text: str) -> str | None:
    text = text.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if not text.isprintable():
        raise ParameterError("a key has a sign that cannot be seen; remove it")
    if _ROUNDED.fullmatch(text):
        raise ParameterError(
            "a key in scientific notation may have lost digits; write all of them, as text"
        )
    return _of_number(float(text), _EXACT) if _WHOLE_FLOAT.match(text) else text or None
