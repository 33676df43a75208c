"""Where the header of a table is, and what it says of each column."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from sunveil.errors import MeterError, ask
from sunveil.meters import vocabulary
from sunveil.meters.dates import is_clock, is_stamp
from sunveil.meters.options import MeterOptions
from sunveil.meters.textcells import SEPARATORS, cut
from sunveil.meters.units import is_unit, unit_in_name

# Rows above the first reading that are looked at.
_DEEPEST = 200
# What stands below names beside units of power and energy.
_HINT = re.compile(
    r"\[?\(?\s*(k|m|M|G)?(VA(rh?|r)?|V|A|Hz|°?C|°?F|%|W/m²|W/m2|kWh/kWp|h|s|min|€|\$|EUR|USD)"
    r"\s*\)?\]?"
    r"|counter|analog|status|mean|average|\[?[dmyhs]+[-/.][dmyhs]+[-/.][dmyhs]+.*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """What is known of a column before its readings are looked at.

    Parameters
    ----------
    name
        Its name in the header.
    below
        What stands below its name, in rows of units and the like.
    cells
        Some of its first cells; none where they must not be looked at.
    is_time, is_number
        What its type in the file says; None where the file has no types.
    is_sure
        Whether its name is one, and not a cell of a row that was taken for a header.
    """

    name: str
    below: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    is_time: bool | None = None
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
    """The header of a text table.

    Parameters
    ----------
    separator
        What stands between cells.
    above
        How many lines stand above the header.
    skip
        How many lines stand above the first row of readings.
    columns
        The columns, in order.
    named
        Whether there is a row of names.
    decimal
        The decimal mark, where a line above the header states it.
    """

    separator: str
    above: int
    skip: int
    columns: tuple[TableColumn, ...]
    named: bool = True
    decimal: str | None = None


def fold(text: str) -> str:
    """Return a text in small plain letters, words parted by single spaces."""
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss"))
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain)
    return " ".join(re.sub(r"[^a-z0-9]+", " ", spaced.lower()).split())


def find_head(lines: Sequence[str], options: MeterOptions, *, where: str) -> TableHead:
    """Return the header of a text table, from what stands above its first row of readings.

    Only lines above the first line with a stamp are taken for a header, whatever cells hold.

    Parameters
    ----------
    lines
        The first lines of the file.
    options
        What the curator says of it.
    where
        The name of the file, for messages.
    """
    if not any(line.strip() for line in lines):
        raise MeterError(f"{where} is empty")
    if options.declared_only and options.skip_rows is None:
        options = options.changed({"skip_rows": _named_line(lines, options)})
    if options.declared_only and options.skip_rows is not None:
        line = next((each for each in lines[options.skip_rows :] if each.strip()), "")
        separator = options.separator or max(SEPARATORS, key=line.count)
    else:
        separator = options.separator or _find_separator(lines, options.skip_rows or 0)
    rows = [_cells(line, separator) for line in lines]
    above, skip, columns, named = find_columns(rows, options, where=where)
    return TableHead(separator, above, skip, columns, named, _stated_decimal(lines[:skip]))


def _named_line(lines: Sequence[str], options: MeterOptions) -> int | None:
    """Return the last line without a stamp that names a column of times, None without any.

    Whatever readings hold, they cannot make such a line: theirs have a stamp, or are left open by
    a quote.
    """
    known = {*vocabulary.TIMES, *vocabulary.DATES}
    known |= {fold(each) for each in (options.time_column, options.date_column) if each}
    found = None
    for at, line in enumerate(lines[:_DEEPEST]):
        if line.count('"') % 2:
            continue
        ways = [_cells(line, each) for each in options.separator or SEPARATORS]
        if any(is_stamp(cell) for cells in ways for cell in cells):
            continue
        if any(len(cells) > 1 and known & {fold(cell) for cell in cells} for cells in ways):
            found = at
    return found


def _stated_decimal(lines: Sequence[str]) -> str | None:
    """Return the decimal mark that SMA's files state above their header."""
    for line in lines[:5]:
        if found := re.search(r"\|Decimalpoint (comma|dot|point)", line):
            return "," if found[1] == "comma" else "."
    return None


def find_columns(
    rows: Sequence[Sequence[str]], options: MeterOptions, *, where: str
) -> tuple[int, int, tuple[TableColumn, ...], bool]:
    """Return how many rows stand above the header and above the readings, and the columns.

    The last is whether the columns have names.

    Parameters
    ----------
    rows
        The cells of the first rows.
    options
        What the curator says of them.
    where
        The name of the table, for messages.
    """
    above = options.skip_rows or 0
    if options.declared_only and options.skip_rows is not None:
        first = next((at for at in range(above, len(rows)) if any(map(is_stamp, rows[at]))), None)
    else:
        first = _first_data_row(rows, above)
    if first is None:
        first = _below_header(rows, above, options, where)
    width = len(_stripped(rows[first])) if first < len(rows) else 0
    if options.declared_only and options.skip_rows is not None and first > above:
        names_at: int | None = above + next(k for k, row in enumerate(rows[above:]) if any(row))
    else:
        names_at = _names_row(rows, above, first, width)
    if names_at is None:
        return first, first, _unnamed(rows[first:], max(width, 1), options), False
    names = _stripped(rows[names_at])
    if len(names) < 2:
        raise MeterError(
            f"{where} is not a table of times and readings: its header must name at least two"
            f" columns; say what stands between them with {ask('separator')}"
        )
    # a row of units is as wide as the names: the rest of a cell with a line break is not
    below = [row for row in rows[names_at + 1 : first] if len(row) >= len(names)]
    sure = _are_names(names)
    sample = [] if options.declared_only else [row for row in rows[first:] if any(row)]
    columns = tuple(
        TableColumn(
            name,
            tuple(row[at] for row in below if at < len(row) and row[at]),
            tuple(row[at] for row in sample if at < len(row)),
            is_sure=sure,
        )
        for at, name in enumerate(names)
    )
    # what has no stamp is no row of a release: nothing below the names must be left out
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
    """Return the first row with a stamp that the next row has at the same place too."""
    filled = [at for at in range(above, min(len(rows), _DEEPEST + 100)) if any(rows[at])]
    for number, at in enumerate(filled):
        stamped = [place for place, cell in enumerate(rows[at]) if is_stamp(cell)]
        if not stamped or (len(_stripped(rows[at])) < 2 and number + 1 == len(filled)):
            continue
        after = rows[filled[number + 1]] if number + 1 < len(filled) else rows[at]
        if any(place < len(after) and is_stamp(after[place]) for place in stamped):
            return at
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
            f" named with {ask('date_column')}"
        )
    return first + 1


def _names_row(rows: Sequence[Sequence[str]], above: int, first: int, width: int) -> int | None:
    """Return the row of names: the last one as wide as the readings that is not made of units."""
    wide = [
        at
        for at in range(above, first)
        if len(_stripped(rows[at])) >= max(2, min(width, 2 if width < 4 else width // 2))
    ]
    known = {*vocabulary.TIMES, *vocabulary.DATES}
    for at in reversed(wide):  # a row whose stamp cannot be read is no header for that
        if known & {fold(cell) for cell in rows[at]}:
            return at
    for at in reversed(wide):
        told = [cell for cell in rows[at] if cell]
        hints = sum(is_unit(cell) or bool(_HINT.fullmatch(cell)) for cell in told)
        if 2 * hints < len(told) or len(wide) == 1:
            return None if _is_readings(told) else at
    if wide:
        return wide[-1]
    alone = [at for at in range(above, first) if any(rows[at])]
    return alone[-1] if alone and width < 2 else None


def _are_names(names: Sequence[str]) -> bool:
    """Whether a row is surely made of names of columns: these may be shown, cells may not."""
    if any(is_stamp(name) or re.fullmatch(r"[+-]?\d[\d.,' ]*", name) for name in names[1:]):
        return False
    words = [fold(name) for name in names]
    if any(word in vocabulary.PLAIN_TIMES for word in words):
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
    rows: Sequence[Sequence[str]], width: int, options: MeterOptions
) -> tuple[TableColumn, ...]:
    sample = [] if options.declared_only else rows
    return tuple(
        TableColumn("", cells=tuple(row[at] for row in sample if at < len(row)))
        for at in range(width)
    )
