"""The header of a table, and the unit that a header names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters import vocabulary
from sunveil.meters.file_types import SEPARATORS, cut
from sunveil.meters.numbers_and_dates import is_clock, is_stamp
from sunveil.meters.reading_options import ADDED, COLUMN_FIELDS, MeterOptions, Unit
from sunveil.meters.vocabulary import fold

NAMED = ", ".join(unit.value for unit in Unit)

# Nobody meters less than a single module, and no plant behind one meter is larger. [kW]
SMALLEST, LARGEST = 0.05, 500_000.0

# Of the readings that are not zero, this share is below the usual peak; stand-ins may be above it.
_PEAK_SHARE = 0.95


def _any(words: tuple[str, ...]) -> str:
    return rf"(?:{'|'.join(re.escape(word) for word in words)})"


_JOINT = r"[\s\-_.*'·×]*"
_JOINTS = str.maketrans(dict.fromkeys("⋅•∙", "·") | dict.fromkeys("‐‑‒–—−", "-") | {"’": "'"})
_UNIT = re.compile(
    rf"(?<![a-z])(?:(?P<letter>[km])|(?P<kilo>{_any(vocabulary.KILO)}){_JOINT}|(?P<mega>{_any(vocabulary.MEGA)}){_JOINT})?"
    rf"{_any(vocabulary.WATT)}(?:{_JOINT}(?P<hour>{_any(vocabulary.HOUR)}))?(?![a-z])"
)
_OTHER = re.compile(
    rf"(?<![a-z])(?:{_any(vocabulary.OTHER_UNITS)}{_JOINT}{_any(vocabulary.HOUR)}?(?![a-z])|irradiance|m\^?2(?!\d))"
)
_SIZE_BEFORE = re.compile(r"(?<![a-z\d.,])(?:\d+|\d+[.,]\d+\s?)$")
_SIZE_AFTER = re.compile(rf"{_JOINT}{_any(vocabulary.SIZES)}(?![a-z])")
_BEHIND_W = re.compile(rf"_$|[(\[/]\s*$|(?<![a-z]){_any(vocabulary.BEFORE_W)}[\s_\-,:]+$")
_PER = re.compile(rf"[\s)\]]*(?:/|{_any(vocabulary.PER)}\b)\s*(?P<word>[a-z]*)")

# Prices, a prefix apart from its watt, "W m-2" and "kW (h)".
_ODD_BEFORE = re.compile(
    rf"(?<![a-z])(?:{_any(vocabulary.PRICES)}\s*/|{_any(vocabulary.PER)}\b|[kmgt][\s\-_.])\s*$"
)
_ODD_AFTER = re.compile(r"[\s*.·]*[a-z]{1,3}\s?\^?-\s?\d")
_HOUR_APART = re.compile(rf"\s*[(\[,;]\s*{_any(vocabulary.HOUR)}(?![a-z])")

# Where words are written together: generationKWh, PVkWh, PowerkW. Other words that end in k or m
# before a W stay whole: SolarparkWh may be either unit.
_SEAM = re.compile(
    r"(?<=[a-z])(?=[A-VX-Z])|(?<=[a-jln-z])(?=W)|(?<=[A-Z])(?=kWh?(?![A-Za-z]))"
    rf"|(?i:{'|'.join(f'(?<={word})' for word in vocabulary.BEFORE_KW)})(?=[km]W)"
)

# PVDAQ names its channels like inv2_ac_power__4213, and counts them in W.
_PVDAQ = re.compile(r"(^|_)ac_power(_|$)", re.IGNORECASE)


def unit_in_name(name: str) -> Unit | None:
    """Return the unit that a header says, None where it says none or may mean another.

    >>> unit_in_name("inv2_ac_power_w__1047")
    <Unit.W: 'W'>
    >>> unit_in_name("Usage (Real energy in kilowatt-hours)")
    <Unit.KWH: 'kWh'>
    """
    found = units_in(name)
    return found.pop() if len(found) == 1 else None


def units_in(*labels: str) -> set[Unit | None]:
    """Return the units that labels name; None stands for one that is not a reading's."""
    found: set[Unit | None] = set()
    for text in map(_plain, labels):
        if _OTHER.search(text):
            found.add(None)
        for each in _UNIT.finditer(text):
            before, after = text[: each.start()], text[each.end() :]
            alone = each[0] == text.strip()
            west = each[0] == "w" and not alone and not _BEHIND_W.search(before)
            if not (west or _SIZE_BEFORE.search(before) or _SIZE_AFTER.match(after)):
                found.add(_unit_of(each, before, after))
    return found


def is_unit(cell: str) -> bool:
    """Whether a cell holds a unit and nothing else."""
    return _UNIT.fullmatch(_plain(cell).strip(" ()[]")) is not None


def find_unit(label: str) -> tuple[Unit | None, tuple[str, ...]]:
    """Return the unit that the header of a column says, None without any, and what was assumed."""
    if not units_in(label) and _PVDAQ.search(label):
        return Unit.W, (f"The unit of {label} was taken to be W, as in PVDAQ.",)
    return unit_in_name(label), ()


def only_plausible_unit(values: NDArray[np.float64]) -> tuple[Unit | None, str]:
    """Return W or kW where readings of power are possible in one of them alone, and why.

    >>> only_plausible_unit(np.array([0.0, 3.2, 5.1]))[0]
    <Unit.KW: 'kW'>
    >>> only_plausible_unit(np.array([0.0, 3200.0, 5100.0]))[0] is None
    True
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    if not len(sizes):
        return Unit.KW, "all readings are zero"
    peak = float(np.quantile(sizes, _PEAK_SHARE))
    if SMALLEST <= peak < 1000.0 * SMALLEST:
        return Unit.KW, "in W it would be less than a single module"
    if LARGEST < peak <= 1000.0 * LARGEST:
        return Unit.W, "in kW it would be larger than any plant behind one meter"
    return None, ""


def missing_unit(where: str, column: str, units: str = "") -> MeterError:
    """Return the error for readings without a unit, or with one in a column that is not read."""
    named = f"column {column!r}" if column else "readings"
    if units:
        said = (
            f"{where} has the unit of its {named} in column {units!r}, which releases do not read"
        )
    else:
        said = f"{where} does not clearly say the unit of its {named}"
    return MeterError(f"{said}: give option `power_unit` as one of {NAMED}")


def _plain(label: str) -> str:
    """Return a label in small letters without accents, words that are written together parted."""
    text = unicodedata.normalize("NFKD", label).translate(_JOINTS)
    text = "".join(each for each in text if not unicodedata.combining(each))
    return _SEAM.sub(" ", text).lower()


def _unit_of(found: re.Match[str], before: str, after: str) -> Unit | None:
    """Return the unit that is written at a place of a label, None where it is no reading's."""
    prefix = "M" if found["mega"] or found["letter"] == "m" else "k"
    if not (found["mega"] or found["kilo"] or found["letter"]):
        prefix = ""
    energy = found["hour"] is not None
    odd = _ODD_BEFORE.search(before) or _ODD_AFTER.match(after)
    if odd or (not energy and _HOUR_APART.match(after)):
        return None
    if per := _PER.match(after):
        if not energy or per["word"] not in (*vocabulary.INTERVAL, *vocabulary.HOUR):
            return None
        energy = per["word"] in vocabulary.INTERVAL
    return Unit(f"{prefix}W{'h' * energy}")


# Rows above the first reading that are looked at.
_DEEPEST = 200

# What stands below names beside units of power and energy.
_HINT = re.compile(
    r"\[?\(?\s*(k|m|M|G)?(VA(rh?|r)?|V|A|Hz|°?C|°?F|%|W/m²|W/m2|kWh/kWp|h|s|min|€|\$|EUR|USD)"
    r"\s*\)?\]?"
    r"|counter|analog|status|mean|average|\[?[dmyhs]+[-/.][dmyhs]+[-/.][dmyhs]+.*",
    re.IGNORECASE,
)

# Digits that are no part of a unit such as m2.
_DIGITS = re.compile(r"(?<![A-Za-z^-])\d")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """What is known of a column before its readings are looked at."""

    name: str  # its name in the header
    below: tuple[str, ...] = ()  # what stands below its name, in rows of units and the like
    cells: tuple[str, ...] = ()  # some of its first cells; none where they must not be looked at
    is_time: bool | None = None  # what its type in the file says; None where the file has no types
    is_number: bool | None = None
    is_sure: bool = True

    @property
    def shown(self) -> str:
        """Its name for messages, empty where it might be a cell."""
        return self.name if self.is_sure else ""

    @property
    def folded(self) -> str:
        """Its name in small plain letters, words parted by single spaces."""
        return fold(self.name)

    @property
    def label(self) -> str:
        """Everything that its header says."""
        return " ".join((self.name, *self.below))


@dataclass(frozen=True, slots=True)
class TableHead:
    """The header of a text table."""

    separator: str  # what stands between cells
    above: int  # how many lines stand above the header
    skip: int  # how many lines stand above the first row of readings
    columns: tuple[TableColumn, ...]  # the columns, in order
    named: bool = True  # whether there is a row of names
    decimal: str | None = None  # the decimal mark, where a line above the header states it
    unit: str | None = None  # the unit, where a line above the header states it


def find_head(lines: Sequence[str], options: MeterOptions, *, where: str) -> TableHead:
    """Return the header of a text table: the first line that names columns, above any reading."""
    if not any(line.strip() for line in lines):
        raise MeterError(f"{where} is empty")
    names_at = _declared_names(lines, options) if options.declared_only else None
    if names_at is None and (not options.declared_only or options.skip_rows is None):
        names_at = first_names([_ways(line, options) for line in lines[:_DEEPEST]], options, lines)
    if options.separator is not None:
        separator = options.separator
    elif names_at is not None:
        separator = _separator_of(lines[names_at], options)
    else:
        separator = _find_separator(lines, options.skip_rows or 0)
    rows = [_cells(line, separator) for line in lines]
    above, skip, columns, named = find_columns(rows, options, where=where, names_at=names_at)
    decimal, unit = _stated_decimal(lines[:skip]), _stated_unit(rows[: above if named else 0])
    return TableHead(separator, above, skip, columns, named, decimal, unit)


def _declared_names(lines: Sequence[str], options: MeterOptions) -> int | None:
    """Return the line of names where the curator says how many stand above it."""
    if options.skip_rows is None:
        return None
    filled = (at for at in range(options.skip_rows, len(lines)) if lines[at].strip())
    at = next(filled, None)
    return None if at is None or _has_stamp(_ways(lines[at], options)) else at


def first_names(
    ways_of_lines: Sequence[Sequence[Sequence[str]]],
    options: MeterOptions,
    lines: Sequence[str] = (),
) -> int | None:
    """Return the first line that names a column of times which the next line with a stamp has."""
    # Lines are given as their cells, in each way in which they may be cut.
    # One that names other columns too goes before one that does not. No reading has a say: all of
    # them stand below the first line with a stamp. Text in quotes names no column.
    found: list[tuple[int, bool, set[int]]] = []
    sure: list[int] = []
    behind = options.skip_rows or 0
    for at, ways in enumerate(ways_of_lines):
        if at < behind:
            continue
        if _has_stamp(ways):
            stamped = {place for cells in ways for place in _stamped(cells)}
            if sure := [at for at, _, places in found if places & stamped]:
                break
            continue
        behind = _behind_quotes(lines, at, options) if lines else at + 1
        if behind == at + 1 and (named := _named_in(ways, options)):
            found.append((at, *named))
    several = [at for at, more, _ in found if more and (at in sure or not sure)]
    return next(iter((*several, *sure)), None)


def _behind_quotes(lines: Sequence[str], at: int, options: MeterOptions) -> int:
    """Return the line behind a cell in quotes that a line leaves open, above the next stamp."""
    if lines[at].count('"') % 2:
        for after in range(at + 1, min(len(lines), _DEEPEST)):
            if _has_stamp(_ways(lines[after], options)):
                break
            if lines[after].count('"') % 2:
                return after + 1
    return at + 1


def _named_in(ways: Sequence[Sequence[str]], options: MeterOptions) -> tuple[bool, set[int]] | None:
    """Return whether a line names other columns beside times, and the places of those."""
    # None where it names no column of times. Places are counted from both ends of the line.
    own = (options.time_column, options.date_column)
    times = {*vocabulary.TIMES, *vocabulary.DATES, *(fold(each) for each in own if each)}
    others = {*vocabulary.CLOCKS, *vocabulary.SYSTEMS}
    for cells in ways:
        words = [fold(cell) for cell in cells]
        places = [at for at, word in enumerate(words) if word in times]
        if len(cells) > 1 and places:
            more = len(places) > 1 or any(
                word in others or unit_in_name(cell) is not None
                for word, cell in zip(words, cells, strict=True)
                if word not in times
            )
            return more, {at - from_end for at in places for from_end in (0, len(cells))}
    return None


def _separator_of(line: str, options: MeterOptions) -> str:
    """Return what stands between the cells of a line of names."""
    naming = [each for each in SEPARATORS if _named_in([_cells(line, each)], options)]
    return max(naming or SEPARATORS, key=line.count)


def _ways(line: str, options: MeterOptions) -> list[list[str]]:
    return [_cells(line, each) for each in options.separator or SEPARATORS]


def _has_stamp(ways: Sequence[Sequence[str]]) -> bool:
    return any(is_stamp(cell) for cells in ways for cell in cells)


def _stamped(cells: Sequence[str]) -> set[int]:
    """Return the places of stamps among cells, counted from both ends."""
    places = [at for at, cell in enumerate(cells) if is_stamp(cell)]
    return {at - from_end for at in places for from_end in (0, len(cells))}


def _stated_decimal(lines: Sequence[str]) -> str | None:
    """Return the decimal mark that SMA's files state above their header."""
    for line in lines[:5]:
        if found := re.search(r"\|Decimalpoint (comma|dot|point)", line):
            return "," if found[1] == "comma" else "."
    return None


def _stated_unit(rows: Sequence[Sequence[str]]) -> str | None:
    """Return the unit in a cell beside or below the word for it, above the header."""
    for number, row in enumerate(rows):
        for at, cell in enumerate(row):
            if fold(cell) in vocabulary.UNITS:
                below = [each[at] for each in rows[number + 1 : number + 2] if at < len(each)]
                if units := [each for each in (*row[at + 1 : at + 2], *below) if is_unit(each)]:
                    return units[0]
    return None


def find_columns(
    rows: Sequence[Sequence[str]], options: MeterOptions, *, where: str, names_at: int | None = None
) -> tuple[int, int, tuple[TableColumn, ...], bool]:
    """Return how many rows stand above the header and above the readings, and the columns."""
    # The last is whether the columns have names.
    above = options.skip_rows or 0
    if names_at is None:
        first = _first_data_row(rows, above)
    else:
        first = next(
            (at for at in range(names_at, len(rows)) if any(map(is_stamp, rows[at]))), None
        )
        above = names_at
    if first is None:
        first = _below_header(rows, above, options, where)
    if names_at is None:
        names_at = _names_row(rows, above, first)
    if names_at is None:
        return first, first, _unnamed(rows[first:], options, where), False
    names = _stripped(rows[names_at])
    if len(names) < 2:
        raise MeterError(
            f"{where} is not a table of times and readings: its header must name at least two"
            " columns; say what stands between them with option `separator`"
        )
    units = list(takewhile(_is_of_units, rows[names_at + 1 : first]))
    sure = _are_names(names)
    sample = [] if options.declared_only else [row for row in rows[first:] if any(row)]
    columns = tuple(
        TableColumn(
            name,
            tuple(row[at] for row in units if at < len(row) and row[at]),
            tuple(row[at] for row in sample if at < len(row)),
            is_sure=sure,
        )
        for at, name in enumerate(names)
    )
    # a release drops rows without a time later, so that it skips nothing below the names here
    return names_at, names_at + 1 if options.declared_only else first, columns, True


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip(' \t"\ufeff\xa0') for cell in cut(line, separator)]


def _stripped(row: Sequence[str]) -> list[str]:
    """Return a row without the empty cells at its end."""
    cells = list(row)
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _find_separator(lines: Sequence[str], above: int) -> str:
    for line in lines[:3]:
        if re.fullmatch(r"sep=.", line.strip().strip('"')):
            return line.strip().strip('"')[-1]
    found = []
    for separator in SEPARATORS:
        rows = [_cells(line, separator) for line in lines[: _DEEPEST + 100]]
        first = _first_data_row(rows, above)
        if first is None:
            continue
        header = next((row for row in reversed(rows[above:first]) if any(row)), rows[first])
        found.append((len(header) if len(header) > 1 else 0, separator))
    if not found:
        line = next((each for each in lines[above:] if each.strip()), "")
        return max(SEPARATORS, key=line.count)
    return max(found, key=lambda each: each[0])[1]


def _first_data_row(rows: Sequence[Sequence[str]], above: int) -> int | None:
    """Return the first row with a stamp that the next row with any has at the same place too."""
    # Rows between them are narrower: the remains of a line that was torn apart.
    filled = [at for at in range(above, min(len(rows), _DEEPEST + 100)) if any(rows[at])]
    stamped = [(at, places) for at in filled if (places := _stamped(rows[at]))]
    for (at, places), (after, others) in pairwise(stamped):
        between = [len(_stripped(row)) for row in rows[at + 1 : after]]
        if places & others and max(between, default=0) < len(_stripped(rows[after])):
            return at
    # a lone row of readings is the last one
    if stamped and stamped[-1][0] == filled[-1] and len(_stripped(rows[filled[-1]])) > 1:
        return filled[-1]
    return None


def _below_header(
    rows: Sequence[Sequence[str]], above: int, options: MeterOptions, where: str
) -> int:
    """Return the row below the first one that is filled, where no stamp is known as such."""
    first = next((at for at in range(above, len(rows)) if any(rows[at])), None)
    if first is None or first + 1 >= len(rows) or not any(any(row) for row in rows[first + 1 :]):
        raise MeterError(f"{where} has a header but no readings")
    clocks = any(is_clock(cell) for row in rows[first + 1 : first + 4] for cell in row)
    if clocks and options.date_column is None and options.time_format is None:
        raise MeterError(
            f"{where} has times of day without their dates: add a column of dates, known as date or"
            " named with option `date_column`"
        )
    return first + 1


def _names_row(rows: Sequence[Sequence[str]], above: int, first: int) -> int | None:
    """Return the row of names: the last wide one above the readings that is not made of units."""
    widths = {at: len(_stripped(rows[at])) for at in range(above, first)}
    widest = max(widths.values(), default=0)
    wide = [at for at, width in widths.items() if width >= max(2, widest // 2)]
    known = {*vocabulary.TIMES, *vocabulary.DATES}
    for at in reversed(wide):  # an unreadable time does not make a row the header
        if known & {fold(cell) for cell in rows[at]}:
            return at
    for at in reversed(wide):
        filled = [cell for cell in rows[at] if cell]
        if 2 * sum(map(_is_hint, filled)) < len(filled) or len(wide) == 1:
            return None if _is_readings(filled) else at
    if wide:
        return wide[-1]
    alone = [at for at in range(above, first) if any(rows[at])]
    return alone[-1] if alone and len(rows[first]) < 2 else None


def _is_hint(cell: str) -> bool:
    return is_unit(cell) or bool(_HINT.fullmatch(cell))


def _is_of_units(row: Sequence[str]) -> bool:
    """Whether a row below the names says their units: readings have stamps, and these digits."""
    return any(map(_is_hint, row)) and not any(_DIGITS.search(cell) for cell in row)


def _are_names(names: Sequence[str]) -> bool:
    """Whether a row is surely made of names of columns: these may be shown, cells may not."""
    if any(is_stamp(name) or re.fullmatch(r"[+-]?\d[\d.,' ]*", name) for name in names[1:]):
        return False
    words = [fold(name) for name in names]
    if any(word in vocabulary.SURE_TIMES for word in words):
        return True
    known = {*vocabulary.TIMES, *vocabulary.DATES, *vocabulary.CLOCKS, *vocabulary.SYSTEMS}
    hits = [
        word in known or unit_in_name(name) is not None
        for word, name in zip(words, names, strict=True)
    ]
    return sum(hits) > 1


def _is_readings(cells: Sequence[str]) -> bool:
    """Whether a row is made of numbers: readings, not names."""
    numbers = sum(bool(re.fullmatch(r"[+-]?[\d.,]+", cell)) for cell in cells)
    # pandas heads a series without a name with a lone 0
    return numbers > 1 and numbers == len(cells)


def _unnamed(
    rows: Sequence[Sequence[str]], options: MeterOptions, where: str
) -> tuple[TableColumn, ...]:
    # How many cells a line has depends on what its readings hold.
    if not options.declared_only:
        width = len(_stripped(rows[0])) if rows else 0
        columns = range(max(width, 1))
        return tuple(
            TableColumn("", cells=tuple(row[at] for row in rows if at < len(row))) for at in columns
        )
    if options.time_column is None or (options.power_column or options.export_column) is None:
        raise MeterError(
            f"{where} has no header: name its columns in a first line such as time,power_kw, or"
            " number them from 1 with options `time_column` and `power_column`"
        )
    named = [each for name in COLUMN_FIELDS for each in (getattr(options, name) or "").split(ADDED)]
    places = [int(each) for each in named if each.isdecimal() and len(each) < 6]
    return (TableColumn(""),) * max(places, default=1)
