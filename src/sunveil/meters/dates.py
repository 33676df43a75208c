"""How stamps are written, and what they say: stamps are public, readings are never looked at."""

from __future__ import annotations

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

from sunveil.errors import MeterError, ParameterError, ask

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
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}|(19|20)\d{6})"
    r"([T ,]\s*\d{1,2}([:.]?\d{2}){0,2}.{0,40})?"
)
_EPOCH = re.compile(r"(\d{9,10}|\d{12,13}|\d{15,16}|\d{18,19})(\.\d*)?")
_EXCEL = re.compile(r"[2-7]\d{4}(\.\d+)?")
# Offsets of the zones that exports write behind a stamp; others are too ambiguous. [min]
_ZONES = {"Z": 0, "UTC": 0, "GMT": 0, "CET": 60, "CEST": 120, "MEZ": 60, "MESZ": 120}
_OFFSET = r"^(?P<w>.*:\d\d(?:[.,]\d+)?) ?(?P<o>Z|UTC|GMT|CEST|CET|MESZ|MEZ|[+-]\d\d(?::?\d\d)?)$"
_SAMPLE = 200


@dataclass(frozen=True, slots=True, eq=False)
class ReadStamps:
    """What stamps say.

    Parameters
    ----------
    wall
        What the clock showed, ``NO_TIME`` where a stamp cannot be read. [µs since 1970]
    offset
        How far each says that its clock is ahead of UTC, NaN where it does not say. [min]
    form
        How they are written: strptime's letters, ``"epoch"`` or ``"excel"``.
    ranged
        Whether stamps name the start and the end of an interval.
    """

    wall: NDArray[np.int64]
    offset: NDArray[np.float64]
    form: str
    ranged: bool = False


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


def read_stamps(texts: pa.Array, form: str | None, *, where: str) -> ReadStamps:
    """Return what stamps say.

    Parameters
    ----------
    texts
        The stamps, each once.
    form
        How they are written, in strptime's letters; None to find it.
    where
        The name of the source, for messages.
    """
    clean = _tidied(texts)
    found = pc.extract_regex(clean, r"^(?P<a>.*\d) (?:-|–|—|TO|BIS|/) (?P<b>.*:.*)$")
    ranged = bool(pc.any(pc.is_valid(found)).as_py())
    if ranged:
        clean = pc.coalesce(pc.struct_field(found, "a"), clean)
    if form is not None and "%z" in form.lower():
        return _by_own_format(texts, form)
    if form is None or form == EPOCH_FORMAT:
        epoch = _epoch(clean)
        if form == EPOCH_FORMAT or _mostly(epoch != NO_TIME, clean):
            return ReadStamps(epoch, np.where(epoch == NO_TIME, np.nan, 0.0), EPOCH_FORMAT)
    if form is None or form == EXCEL_FORMAT:
        excel = _excel(clean)
        if form == EXCEL_FORMAT or _mostly(excel != NO_TIME, clean):
            return ReadStamps(excel, np.full(len(excel), np.nan), EXCEL_FORMAT)
    clean, offset = _without_offset(clean)
    clean, more = _without_fraction(clean)
    form = _valid(form) if form is not None else find_format(clean, where=where)
    wall = _parsed_alike(clean, form)
    return ReadStamps(np.where(wall == NO_TIME, NO_TIME, wall + more), offset, form, ranged)


def find_format(texts: pa.Array, *, where: str) -> str:
    """Return the format that reads most of some tidy stamps, into the shortest record.

    Day and month swapped scatter a record over the year, so the shorter one is the true one.
    """
    every = [each for each in texts.to_pylist() if each]
    sample = every[:: max(1, len(every) // _SAMPLE)][: 2 * _SAMPLE]
    # which digits they are is no part of a shape, and stamps of one source have few shapes
    shapes = {re.sub(r"\d", "0", cell) for cell in sample}
    shaped = [form for form in FORMATS if any(_shape(form).fullmatch(each) for each in shapes)]
    counted = {form: sum(_fits(cell, form) for cell in sample) for form in shaped}
    most = max(counted.values(), default=0)
    likely = [form for form, count in counted.items() if count and 2 * count >= most]
    if len(likely) < 2:
        return likely[0] if likely else "%Y-%m-%d %H:%M:%S"
    scored = []
    for form in likely:
        wall = _parsed(texts, form)
        read = wall[wall != NO_TIME]
        scored.append((-len(read), int(np.ptp(read)) if len(read) else 0, form))
    scored.sort(key=lambda each: each[:2])
    date_of = [next((date for date in _DATES if each[2].startswith(date)), "") for each in scored]
    if scored[0][:2] == scored[1][:2] and date_of[0] != date_of[1]:
        raise MeterError(
            f"{where} has dates that can be read in two ways: give"
            f" {ask('time_format', scored[0][2])} or {ask('time_format', scored[1][2])}"
        )
    return scored[0][2]


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


def _tidied(texts: pa.Array) -> pa.Array:
    """Return stamps in capitals with single spaces, without weekday, T and commas."""
    text = pc.utf8_upper(pc.utf8_trim(texts, ' \t"\xa0'))
    for pattern, new in (
        (r"[\s\x{a0}\x{202f}]+", " "),
        (r"(\d) ?T ?(\d)", r"\1 \2"),
        (r"(\d),? ?([AP])\.? ?M\.?($| )", r"\1 \2M\3"),
        (r"^(MON|TUE|WED|THU|FRI|SAT|SUN)[A-Z]*[,.]? ", ""),
        (r"([A-Z0-9]), ", r"\1 "),
        (r"^(\d\d\.\d\d\.\d{4}|\d{4}-\d\d-\d\d) (\d\d)\.(\d\d)(\.\d\d)?$", r"\1 \2:\3"),
    ):
        text = pc.replace_substring_regex(text, pattern, new)
    return text


def _mostly(read: NDArray[np.bool_], texts: pa.Array) -> bool:
    filled = np.asarray(pc.fill_null(pc.not_equal(texts, ""), False))
    return bool(filled.any()) and 2 * int((read & filled).sum()) > int(filled.sum())


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
    coded = pc.struct_field(found, "o").dictionary_encode()
    minutes = np.array([_minutes(each) for each in coded.dictionary.to_pylist()] or [0.0])
    code = np.asarray(pc.fill_null(coded.indices, 0).to_numpy(zero_copy_only=False))
    known = np.asarray(pc.is_valid(found))
    return pc.coalesce(pc.struct_field(found, "w"), texts), np.where(known, minutes[code], np.nan)


def _minutes(text: str) -> float:
    if text in _ZONES:
        return float(_ZONES[text])
    digits = text[1:].replace(":", "")
    return (-1.0 if text[0] == "-" else 1.0) * (60 * int(digits[:2]) + int(digits[2:] or 0))


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


def _parsed(texts: pa.Array, form: str) -> NDArray[np.int64]:
    read = pd.to_datetime(pd.Series(texts.to_pylist(), dtype=object), format=form, errors="coerce")
    return _micros(read)


def _parsed_alike(texts: pa.Array, form: str) -> NDArray[np.int64]:
    """Read stamps by a format, and those it does not fit with the clock left out or shortened."""
    wall = _parsed(texts, form)
    date = next((each for each in _DATES if form.startswith(each)), None)
    if date is None or form not in FORMATS:
        return wall
    for clock in (" %H:%M:%S", " %H:%M", ""):
        lost = wall == NO_TIME
        if lost.any() and date + clock != form:
            wall[lost] = _parsed(texts.filter(pa.array(lost)), date + clock)
    return wall


def _by_own_format(texts: pa.Array, form: str) -> ReadStamps:
    """Read stamps by a format with an offset in it, which gives instants."""
    _valid(form)
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


def _fits(cell: str, form: str) -> bool:
    if len(cell) != _LENGTHS.get(form, len(cell)):
        return False
    try:
        datetime.strptime(cell, form)
    except ValueError:
        return False
    return True
