"""From cells to numbers, each by itself: a number, or a missing value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
# Short enough that Arrow never meets a number that is too large for it.
_PLAIN = r"^[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?$"
_NUMBER = re.compile(r"([+-]?)([\d.,' \u00a0\u202f\u2009]*\d[.,]?)([eE][+-]?\d{1,4})?")
_SUFFIX = re.compile(r"\s*([kKM]?)[wW]([hH]?)$")
_INFINITE = frozenset({"inf", "infinity", "1.#inf"})
_FACTORS = {"": 1e-3, "k": 1.0, "K": 1.0, "M": 1e3}
_SPACES = re.compile("[ '\u00a0\u202f\u2009]")


@dataclass(frozen=True, slots=True, eq=False)
class CellNumbers:
    """The numbers that cells hold.

    Parameters
    ----------
    values
        Numbers as written, NaN where a cell is empty or holds none.
    text
        Which cells hold something that is no number.
    with_unit
        Which cells carry a unit of their own; their values are in kW or kWh.
    energy
        Which of these are energy.
    """

    values: Numbers
    text: NDArray[np.bool_]
    with_unit: NDArray[np.bool_]
    energy: NDArray[np.bool_]


def cell_numbers(cells: pa.Array, decimal: str) -> CellNumbers:
    """Return the numbers in cells of text, where the decimal mark is known."""
    size = len(cells)
    plain, filled = _plain(cells, decimal)
    values = np.asarray(plain.to_numpy(zero_copy_only=False), dtype=np.float64)
    others = np.flatnonzero(filled & np.isnan(values))
    flags = np.zeros((3, size), dtype=bool)
    if len(others):
        coded = cells.take(pa.array(others)).dictionary_encode()
        parsed = [parse_number(each, decimal) for each in coded.dictionary.to_pylist()]
        code = coded.indices.to_numpy()
        values[others] = np.array([each[0] for each in parsed])[code]
        flags[0, others] = np.isnan(values[others]) & ~_blank(coded)[code]
        flags[1, others] = np.array([each[1] != "" for each in parsed])[code]
        flags[2, others] = np.array([each[1] == "energy" for each in parsed])[code]
    return CellNumbers(values, flags[0], flags[1], flags[2])


def _plain(cells: pa.Array, decimal: str) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return the plain numbers among cells, null elsewhere, and which cells are not empty."""
    filled = np.asarray(pc.fill_null(pc.not_equal(cells, ""), False))
    if decimal == ",":
        dotted = pc.match_substring(cells, ".")
        cells = pc.replace_substring(cells, ",", ".")
        cells = pc.if_else(dotted, pa.scalar(None, pa.string()), cells)
    fits = pc.match_substring_regex(cells, _PLAIN)
    return pc.cast(pc.if_else(fits, cells, pa.scalar(None, pa.string())), pa.float64()), filled


def _blank(coded: pa.DictionaryArray) -> NDArray[np.bool_]:
    return np.array([is_blank(each) for each in coded.dictionary.to_pylist()], dtype=bool)


def is_blank(cell: str | None) -> bool:
    """Whether a cell says that there is no reading."""
    return cell is None or cell.strip().lower() in _BLANKS


_BLANKS = frozenset({"", "nan", "na", "n/a", "#n/a", "null", "none", "-", "--", "---", "nat"})


def parse_number(cell: str | None, decimal: str) -> tuple[float, str]:
    """Return the number in a cell, and ``"power"`` or ``"energy"`` where it carries a unit.

    Spaces, apostrophes and the mark that is not the decimal one may part thousands. With a unit of
    its own a number comes in kW or kWh.

    >>> parse_number("1.234,5", ",")
    (1234.5, '')
    >>> parse_number("1,234W", ".")
    (1.234, 'power')
    """
    text = (cell or "").strip().replace("\u2212", "-")
    if text.lower().lstrip("+-") in _INFINITE:
        return (-math.inf if text.startswith("-") else math.inf), ""
    kind, factor = "", 1.0
    if unit := _SUFFIX.search(text):
        kind, factor = ("energy" if unit[2] else "power"), _FACTORS[unit[1]]
        text = text[: unit.start()].rstrip()
    found = _NUMBER.fullmatch(text)
    digits = None if found is None else _digits(found[2], decimal)
    if found is None or digits is None:
        return math.nan, ""
    value = float(f"{found[1]}{digits}{found[3] or ''}") * factor
    return value, kind


def _digits(text: str, decimal: str) -> str | None:
    """Return digits with a decimal point and without marks between thousands, None if wrong."""
    text = text.strip()
    spaced = _SPACES.sub(" ", text)
    marks = [mark for mark in text if mark in ".,"]
    last = marks[-1] if marks else ""
    whole, mark, part = spaced.rpartition(last) if last else (spaced, "", "")
    if mark and (len(set(marks)) == 2 or len(marks) == 1):
        lone = len(set(marks)) == 1
        grouped = bool(re.fullmatch(r"[1-9]\d{0,2}", whole)) and bool(re.fullmatch(r"\d{3}", part))
        if lone and mark != decimal and grouped:
            whole, part = spaced, ""  # one mark that parts thousands
    elif mark:
        whole, part = spaced, ""  # one kind of mark, several times
    joined = _ungrouped(whole)
    if joined is None or not re.fullmatch(r"\d*", part) or not (joined or part):
        return None
    return f"{joined or '0'}.{part or '0'}"


def _ungrouped(whole: str) -> str | None:
    """Return digits without the marks between their thousands, None where they are not such."""
    if re.fullmatch(r"\d*", whole):
        return whole
    if re.fullmatch(r"\d{1,3}(?:([., ])\d{3})(?:\1\d{3})*", whole):
        return re.sub(r"[., ]", "", whole)
    return None


# What a cell says of the decimal mark: it can only be a comma, only a point, or the one mark in it
# may as well part thousands; a plain number without a mark says that not all numbers have one.
COMMA, POINT, COMMA_OR_THOUSANDS, POINT_OR_THOUSANDS, NO_MARK = 1, 2, 3, 4, 5
_UNIT_BEHIND = r"(\s*[kKM]?[wW][hH]?)?$"


def decimal_evidence(cells: pa.Array) -> NDArray[np.int8]:
    """Return what each cell says of the decimal mark, 0 where it says nothing."""
    found = np.zeros(len(cells), dtype=np.int8)
    patterns = (
        (NO_MARK, r"^[+-]?\d*[1-9]\d*"),
        (COMMA_OR_THOUSANDS, r"^[+-]?[1-9]\d{0,2},\d{3}"),
        (POINT_OR_THOUSANDS, r"^[+-]?[1-9]\d{0,2}\.\d{3}"),
        (COMMA, r"^[+-]?(0*,\d+|\d+,\d{1,2}|\d+,\d{4,}|\d{4,},\d+|[\d. ]*\.[\d. ]*,\d+)"),
        (POINT, r"^[+-]?(0*\.\d+|\d+\.\d{1,2}|\d+\.\d{4,}|\d{4,}\.\d+|[\d, ]*,[\d, ]*\.\d+)"),
    )
    for code, pattern in patterns:
        fits = pc.match_substring_regex(cells, pattern + _UNIT_BEHIND)
        found[np.asarray(pc.fill_null(fits, False))] = code
    return found


def decimal_mark(evidence: NDArray[np.int8]) -> str:
    """Return the decimal mark that most cells of one system speak for."""
    counts = np.bincount(evidence, minlength=6)
    if counts[COMMA] or counts[POINT]:
        return "," if counts[COMMA] > counts[POINT] else "."
    # Three digits behind every mark there is: decimals where all numbers have them, thousands where
    # numbers below a thousand have no mark.
    if counts[COMMA_OR_THOUSANDS] > counts[POINT_OR_THOUSANDS]:
        return "." if counts[NO_MARK] else ","
    if counts[POINT_OR_THOUSANDS]:
        return "," if counts[NO_MARK] else "."
    return "."
