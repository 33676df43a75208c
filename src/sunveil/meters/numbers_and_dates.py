"""One field parsed: numbers, timestamps, the order of dates."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sunveil.errors import MeterError, ParameterError
from sunveil.meters.vocabulary import MONTHS, ZONES

# Where a stamp cannot be read. [µs]
NO_TIME = np.iinfo(np.int64).min
EPOCH_FORMAT = "epoch"
EXCEL_FORMAT = "excel"
_DAY = 86_400_000_000

# What counts since 1970 are taken for stamps: the years 1980 to 2100. [µs]
_EARLIEST, _LATEST = 315_532_800_000_000, 4_133_980_800_000_000
_DATES = (
    "%Y-%m-%d",
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
    "%d-%m-%y",
    "%Y%m%d",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d %Y",
    "%B %d %Y",
    "%d/%b/%Y",
    "%Y-%b-%d",
)
_CLOCKS = (" %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H%M", " %H%M%S", " %I %p", "")
FORMATS = (
    *(date + clock for date in _DATES for clock in _CLOCKS),
    *("%Y%m%d%H%M", "%Y%m%d%H%M%S", "%H:%M %d/%m/%Y", "%H:%M %m/%d/%Y", "%H:%M %d.%m.%Y"),
)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AP]M)?", re.IGNORECASE)
_DATED = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/. ](\d{1,2}|[A-Za-z]{3,9})[-/. ,]+\d{2,4}"
    r"|\d{1,2}[-/. ]+(de )?[^\W\d_]{3,10}\.?( de)?[-/. ]+\d{4}"
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}|(19|20)\d{6})"
    r"([T ,]\s*\d{1,2}([:.]?\d{2}){0,2}.{0,40})?"
)
_EPOCH = re.compile(r"(\d{9,10}|\d{12,13}|\d{15,16}|\d{18,19})(\.\d*)?")
_EXCEL = re.compile(r"[2-7]\d{4}(\.\d+)?")
_ZONE = "|".join(ZONES)

# A zone, an offset or both, such as CEST, +0200, CEST+0200, (UTC+2).
_OFFSET = (
    rf"^(?P<w>.*:\d\d(?:[.,]\d+)?) ?\(?"
    rf"(?:(?P<z>{_ZONE})|(?:{_ZONE})? ?(?P<o>[+-]\d\d?(?::?\d\d)?))\)?$"
)
_MONTHS = tuple(
    (rf"(^|[^\p{{L}}])(?:{'|'.join(names)}|{short})\.?([^\p{{L}}.]|$)", rf"\1{short}\2")
    for short, names in MONTHS.items()
)
_SAMPLE = 200


@dataclass(frozen=True, slots=True, eq=False)
class ReadStamps:
    """What stamps say."""

    wall: NDArray[np.int64]  # [µs since 1970]
    offset: NDArray[np.float64]  # [min]
    form: str  # how they are written: strptime's letters, `"epoch"` or `"excel"`
    ranged: bool = False  # whether stamps name the start and the end of an interval


def is_stamp(cell: str) -> bool:
    """Whether a cell is a date, with or without a time of day, or seconds since 1970."""
    text = cell.strip()
    if _EPOCH.fullmatch(text):
        seconds = float(text[:10] if len(text.split(".")[0]) != 9 else text)
        return 3.0e8 < seconds < 4.2e9
    return bool(_DATED.fullmatch(text)) and _is_date(text)


def _is_date(text: str) -> bool:
    """Whether a text that is shaped like a date is one, and not a number with two marks."""
    digits = re.match(r"(\d+)[-/. ](\w+)", text)
    if digits is None:
        return True
    first, second = digits.groups()
    return not (second.isdigit() and len(first) < 3 and int(first) > 12 and int(second) > 12)


def is_clock(cell: str) -> bool:
    """Whether a cell is a time of day without a date."""
    return bool(_CLOCK.fullmatch(cell.strip()))


class WrittenStamps:
    """The different stamps of a table. How some of them are read is for these alone to say."""

    def __init__(self, texts: pa.Array, form: str | None) -> None:
        own = form not in (None, EPOCH_FORMAT, EXCEL_FORMAT)
        self._form = _valid(form) if form is not None and own else form
        self._zoned = _by_own_format(texts, form) if form and own and "%z" in form.lower() else None
        clean = _tidied(texts)
        found = pc.extract_regex(clean, r"^(?P<a>.*\d) (?:-|–|—|TO|BIS|/) (?P<b>.*:.*)$")
        self._ranged = np.asarray(pc.is_valid(found))
        clean = pc.coalesce(pc.struct_field(found, "a"), clean)
        self._filled = np.asarray(pc.fill_null(pc.not_equal(clean, ""), False))
        self._counted = {EPOCH_FORMAT: _epoch(clean), EXCEL_FORMAT: _excel(clean)}
        clean, self._offset = _without_offset(clean)
        self._texts, self._more = _without_fraction(clean)
        # what each format reads of them all
        self._walls: dict[str, NDArray[np.int64]] = {}

    def read(self, which: NDArray[np.int64], *, where: str) -> ReadStamps:
        """Return what some stamps say."""
        if self._zoned is not None:
            zoned = self._zoned
            return ReadStamps(zoned.wall[which], zoned.offset[which], zoned.form)
        for form, walls in self._counted.items():
            wall = walls[which]
            if self._form == form or (self._form is None and self._mostly(wall, which)):
                zone = 0.0 if form == EPOCH_FORMAT else np.nan
                return ReadStamps(wall, np.where(wall == NO_TIME, np.nan, zone), form)
        form = self._form or self._find_format(which, where=where)
        wall = self._parsed_alike(which, form)
        return ReadStamps(
            np.where(wall == NO_TIME, NO_TIME, wall + self._more[which]),
            self._offset[which],
            form,
            bool(self._ranged[which].any()),
        )

    def _mostly(self, wall: NDArray[np.int64], which: NDArray[np.int64]) -> bool:
        filled = self._filled[which]
        return bool(filled.any()) and 2 * int(((wall != NO_TIME) & filled).sum()) > filled.sum()

    def _find_format(self, which: NDArray[np.int64], *, where: str) -> str:
        """Return the format that reads most of some stamps, into the shortest record."""
        # Day and month swapped scatter a record over the year, so the shorter one is the true one.
        filled = which[self._filled[which]]
        sample = filled[:: max(1, len(filled) // _SAMPLE)][: 2 * _SAMPLE]
        cells = self._texts.take(pa.array(sample)).to_pylist()
        # which digits they are is no part of a shape, and stamps of one source have few shapes
        shapes = frozenset(re.sub(r"\d", "0", cell) for cell in cells)
        counted = {
            form: sum(
                len(cell) == _LENGTHS.get(form, len(cell)) and wall != NO_TIME
                for cell, wall in zip(cells, self._parsed(form)[sample], strict=True)
            )
            for form in _formats_of(shapes)
        }
        most = max(counted.values(), default=0)
        likely = [form for form, count in counted.items() if count and 2 * count >= most]
        if len(likely) < 2:
            return likely[0] if likely else "%Y-%m-%d %H:%M:%S"
        scored = []
        for form in likely:
            wall = self._parsed(form)[which]
            read = wall[wall != NO_TIME]
            scored.append((-len(read), int(np.ptp(read)) if len(read) else 0, form))
        scored.sort(key=lambda each: each[:2])
        date_of = [
            next((date for date in _DATES if each[2].startswith(date)), "") for each in scored
        ]
        if scored[0][:2] == scored[1][:2] and date_of[0] != date_of[1]:
            raise MeterError(
                f"{where} has dates that can be read in two ways: set option `time_format` to"
                f" {scored[0][2]} or to {scored[1][2]}"
            )
        return scored[0][2]

    def _parsed(self, form: str) -> NDArray[np.int64]:
        """Return all stamps read by a format."""
        if form not in self._walls:
            texts = pd.Series(self._texts.to_pylist(), dtype=object)
            self._walls[form] = _micros(pd.to_datetime(texts, format=form, errors="coerce"))
        return self._walls[form]

    def _parsed_alike(self, which: NDArray[np.int64], form: str) -> NDArray[np.int64]:
        """Read stamps by a format, or by its date with a shorter time of day or none."""
        wall = self._parsed(form)[which]
        date = next((each for each in _DATES if form.startswith(each)), None)
        if date is None or form not in FORMATS:
            return wall
        for clock in (" %H:%M:%S", " %H:%M", ""):
            if (wall == NO_TIME).any():
                wall = np.where(wall == NO_TIME, self._parsed(date + clock)[which], wall)
        return wall


_SHAPES = {
    "%Y": r"\d{4}",
    "%b": "[A-Z]{3,4}",
    "%B": "[A-Z]{3,9}",
    "%p": "[AP]M",
    "%y": r"\d{2}",
    **{f"%{letter}": r"\d{1,2}" for letter in "mdHMSI"},
}


@cache
def _shape(form: str) -> re.Pattern[str]:
    """Return what a stamp of a format looks like."""
    shape = re.escape(form).replace(r"\%", "%").replace("\\ ", " ")
    for letter, pattern in _SHAPES.items():
        shape = shape.replace(letter, pattern)
    return re.compile(shape)


@cache
def _formats_of(shapes: frozenset[str]) -> tuple[str, ...]:
    """Return the formats that some shapes of stamps may have."""
    return tuple(form for form in FORMATS if any(map(_shape(form).fullmatch, shapes)))


def _tidied(texts: pa.Array) -> pa.Array:
    """Return stamps in capitals with single spaces, without weekday, T and commas."""
    text = pc.utf8_upper(pc.utf8_trim(texts, ' \t"\xa0'))
    for pattern, new in (
        (r"[\s\x{a0}\x{202f}]+", " "),
        (r"(\d) ?T ?(\d)", r"\1 \2"),
        (r"(\d),? ?([AP])\.? ?M\.?($| )", r"\1 \2M\3"),
        (r"^(MON|TUE|WED|THU|FRI|SAT|SUN)[A-Z]*[,.]? ", ""),
        (r"([A-Z0-9]), ", r"\1 "),
        (r" DST$", ""),
        (r"^(\d\d\.\d\d\.\d{4}|\d{4}-\d\d-\d\d) (\d\d)\.(\d\d)(\.\d\d)?$", r"\1 \2:\3"),
    ):
        text = pc.replace_substring_regex(text, pattern, new)
    if not pc.any(pc.match_substring_regex(text, r"\p{L}{3}")).as_py():
        return text
    for pattern, new in (
        *_MONTHS,
        (r"^(\d{1,2})(?:\.? |\.? DE )([A-Z]{3})\.?(?: DE)? (\d{4})", r"\1 \2 \3"),
        # as C's ctime writes it: JUN 20 00:00:00 CEST 2024
        (r"^([A-Z]{3} \d{1,2}) (\d\d:\d\d:\d\d)( [A-Z]{3,4})? (\d{4})$", r"\1 \4 \2\3"),
    ):
        text = pc.replace_substring_regex(text, pattern, new)
    return text


def _epoch(texts: pa.Array) -> NDArray[np.int64]:
    """Return counts since 1970, of seconds or of thousandths thereof, as microseconds."""
    whole = pc.if_else(
        pc.match_substring_regex(texts, rf"^{_EPOCH.pattern}$"),
        pc.replace_substring_regex(texts, r"\.\d*$", ""),
        pa.scalar(None, pa.string()),
    )
    short = pc.less(pc.utf8_length(whole), 19)
    whole = pc.if_else(pc.or_(short, pc.less(whole, "5")), whole, pa.scalar(None, pa.string()))
    count = np.asarray(pc.fill_null(pc.cast(whole, pa.int64()), 0).to_numpy(zero_copy_only=False))
    scaled = np.select(
        [count < 10**11, count < 10**14, count < 10**17],
        [count * 1_000_000, count * 1000, count],
        count // 1000,
    )
    return np.where((scaled < _EARLIEST) | (scaled >= _LATEST), NO_TIME, scaled)


def _excel(texts: pa.Array) -> NDArray[np.int64]:
    """Return days since the end of 1899, as spreadsheets count them, as microseconds."""
    fits = pc.match_substring_regex(texts, rf"^{_EXCEL.pattern}$")
    days = pc.cast(pc.if_else(fits, texts, pa.scalar(None, pa.string())), pa.float64())
    number = np.asarray(days.to_numpy(zero_copy_only=False), dtype=np.float64)
    seconds = np.rint((np.nan_to_num(number, nan=25569.0) - 25569.0) * 86_400.0)
    return np.where(np.isnan(number), NO_TIME, seconds.astype(np.int64) * 1_000_000)


def _without_offset(texts: pa.Array) -> tuple[pa.Array, NDArray[np.float64]]:
    found = pc.extract_regex(texts, _OFFSET)
    if not pc.any(pc.is_valid(found)).as_py():
        return texts, np.full(len(texts), np.nan)
    written = pc.binary_join_element_wise(
        pc.struct_field(found, "z"), pc.struct_field(found, "o"), ""
    )
    coded = written.dictionary_encode()
    minutes = np.array([_minutes(each) for each in coded.dictionary.to_pylist()] or [0.0])
    code = np.asarray(pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False))
    known = np.asarray(pc.is_valid(found))
    return pc.coalesce(pc.struct_field(found, "w"), texts), np.where(known, minutes[code], np.nan)


def _minutes(text: str) -> float:
    if text in ZONES:
        return float(ZONES[text])
    hours, minutes = re.fullmatch(r"[+-](\d\d?):?(\d\d)?", text).groups()  # type: ignore[union-attr]
    return (-1.0 if text[0] == "-" else 1.0) * (60 * int(hours) + int(minutes or 0))


def _without_fraction(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return stamps without fractions of seconds and without 24:00, and what to add. [µs]"""
    found = pc.extract_regex(texts, r"^(?P<w>.*:\d\d:\d\d)[.,](?P<f>\d{1,9})$")
    more = np.zeros(len(texts), dtype=np.int64)
    if pc.any(pc.is_valid(found)).as_py():
        part = pc.cast(pc.binary_join_element_wise("0", pc.struct_field(found, "f"), "."), "double")
        seconds = np.nan_to_num(np.asarray(part.to_numpy(zero_copy_only=False)))
        more = np.rint(seconds * 1e6).astype(np.int64)
        texts = pc.coalesce(pc.struct_field(found, "w"), texts)
    midnight = pc.match_substring_regex(texts, r" 24:00(:00)?$")
    if pc.any(midnight).as_py():
        texts = pc.replace_substring_regex(texts, r" 24:00(:00)?$", r" 00:00\1")
        more = more + _DAY * np.asarray(pc.fill_null(midnight, False)).astype(np.int64)
    return texts, more


def _by_own_format(texts: pa.Array, form: str) -> ReadStamps:
    """Read stamps by a format with an offset in it, which gives instants."""
    cells = pd.Series(pc.utf8_trim_whitespace(texts).to_pylist(), dtype=object)
    wall = _micros(
        pd.to_datetime(cells, format=form, errors="coerce", utc=True).dt.tz_localize(None)
    )
    return ReadStamps(wall, np.where(wall == NO_TIME, np.nan, 0.0), form)


def _micros(read: pd.Series[Any]) -> NDArray[np.int64]:
    lost = read.isna().to_numpy()
    return np.where(lost, NO_TIME, read.to_numpy().astype("M8[us]").view(np.int64))


def _valid(form: str) -> str:
    try:
        datetime.strptime(datetime(2020, 12, 31, 13, 59, 58).strftime(form), form)
    except ValueError:
        raise ParameterError(
            f"time_format {form!r} is not understood: write it like %Y-%m-%d %H:%M"
        ) from None
    return form


# Digits without marks fit many formats; their number tells which one is meant.
_LENGTHS = {
    "%Y%m%d": 8,
    "%Y%m%d%H%M": 12,
    "%Y%m%d%H%M%S": 14,
    "%Y%m%d %H%M": 13,
    "%Y%m%d %H%M%S": 15,
}
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
    """The numbers that cells hold."""

    values: Numbers  # numbers as written, NaN where a cell is empty or holds none
    text: NDArray[np.bool_]  # which cells hold something that is no number
    with_unit: NDArray[np.bool_]
    energy: NDArray[np.bool_]  # which of these are energy


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


Rows = NDArray[np.int64]


def name_rows(rows: Rows) -> str:
    """Return ``"row 7"``, ``"rows 7 to 9"`` or ``"rows 7 to 90 (12 of them)"``."""
    # Rows are counted from 1 at the first row under the header.
    first, last = int(rows.min()), int(rows.max())
    if first == last:
        return f"row {first}"
    span = f"rows {first} to {last}"
    return span if len(rows) == last - first + 1 else f"{span} ({len(rows)} of them)"


def name_time(seconds: int) -> str:
    """Return a UTC second as ``"2016-07-01 00:00 UTC"``."""
    return str(np.datetime64(int(seconds), "s")).replace("T", " ")[:16] + " UTC"


def count(number: int, noun: str = "reading", plural: str | None = None) -> str:
    """Return ``"1 reading"`` or ``"5 readings"``."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def percent(part: float, whole: float) -> str:
    """Return a share in words, never as ``"0%"`` when it is not nothing."""
    share = 100.0 * part / whole
    return f"{share:.0f}%" if share >= 1.0 else "less than 1%"
