"""The shape of a CSV file: its separator, header and encoding, from its first lines."""

from __future__ import annotations

import csv
import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

from sunveil.errors import MeterError
from sunveil.meters.columns import MeterColumn
from sunveil.meters.dates import looks_like_time

_HEAD = 1 << 16
_SAMPLE = 100
_EMPTY = frozenset({"", "nan", "na", "n/a", "null", "none", "-", "--"})


@dataclass(frozen=True, slots=True)
class TextShape:
    """What must be known to read a CSV file.

    Parameters
    ----------
    separator
        What stands between cells.
    names
        The header's cells.
    sample
        The cells of the first rows.
    skip
        How many lines stand above the header.
    encoding
        ``"utf-8"`` or ``"latin-1"``.
    compressed
        Whether the file is gzipped.
    """

    separator: str
    names: tuple[str, ...]
    sample: tuple[tuple[str, ...], ...]
    skip: int
    encoding: str
    compressed: bool

    def cells(self, position: int) -> list[str]:
        """Return the first cells of a column."""
        return [row[position] for row in self.sample if position < len(row)]

    def columns(self) -> list[MeterColumn]:
        """Return what the columns look like."""
        return [
            MeterColumn(name, looks_like_time(self.cells(i)), self._numbers(i))
            for i, name in enumerate(self.names)
        ]

    def decimal_comma(self, position: int) -> bool:
        """Whether the numbers of a column are written with a decimal comma."""
        cells = self.cells(position)
        return (
            self.separator != ","
            and any("," in c for c in cells)
            and not any("." in c for c in cells)
        )

    def _numbers(self, position: int) -> bool:
        comma = self.decimal_comma(position)
        filled = [c.strip() for c in self.cells(position) if c.strip().lower() not in _EMPTY]
        return bool(filled) and all(_is_number(c.replace(",", ".") if comma else c) for c in filled)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def read_shape(path: Path, *, where: str) -> TextShape:
    """Return the shape of a CSV file, or say why it is none."""
    head, whole, compressed = _read_head(path, where)
    if not head.strip():
        raise MeterError(f"{where} is empty")
    text, encoding = _decode(head, where)
    lines = text.splitlines() if whole else text.splitlines()[:-1] or text.splitlines()
    skip = 0
    while skip < len(lines) and (not lines[skip].strip() or lines[skip].startswith("#")):
        skip += 1
    lines = lines[skip:]
    if not lines:
        raise MeterError(f"{where} has no header and no readings")
    separator = max(",;\t|", key=lambda each: lines[0].count(each))
    rows = [tuple(row) for row in csv.reader(lines[: _SAMPLE + 1], delimiter=separator)]
    names = tuple(cell.strip() for cell in rows[0])
    if len(names) < 2:
        raise MeterError(
            f"{where} is not a table of times and readings: its first line must name at least two"
            " columns, separated by commas"
        )
    # pandas heads a series without a name with a lone 0; other numbers and dates are readings.
    numbers = names[0] != "" and any(_is_number(name) for name in names)
    if numbers or any(looks_like_time([name]) for name in names):
        raise MeterError(
            f"{where} has no header: its first line must name the columns, such as time,power_kw"
        )
    sample = tuple(row for row in rows[1:] if any(cell.strip() for cell in row))
    if not sample:
        raise MeterError(f"{where} has a header but no readings")
    return TextShape(separator, names, sample, skip, encoding, compressed)


def _read_head(path: Path, where: str) -> tuple[bytes, bool, bool]:
    try:
        with path.open("rb") as plain:
            head = plain.read(_HEAD + 1)
        compressed = head.startswith(b"\x1f\x8b")
        if compressed:
            with gzip.open(path) as packed:
                head = packed.read(_HEAD + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(where, error) from None
    return head[:_HEAD], len(head) <= _HEAD, compressed


def unreadable(where: str, error: BaseException) -> MeterError:
    """Return the error for a file that cannot be opened or read."""
    reason = getattr(error, "strerror", None) or "it is damaged or not what its name says"
    return MeterError(f"{where} cannot be read: {reason}")


def _decode(head: bytes, where: str) -> tuple[str, str]:
    controls = sum(head.count(byte) for byte in (b"\x00", b"\x01", b"\x02", b"\x03", b"\x04"))
    if controls:
        raise MeterError(
            f"{where} is not a text file: give CSV in UTF-8, Parquet, or Green Button XML"
        )
    try:
        # The cut at the end of the head may fall inside a character.
        return head.decode("utf-8-sig", errors="strict"), "utf-8"
    except UnicodeDecodeError as error:
        if error.start >= len(head) - 4:
            return head[: error.start].decode("utf-8-sig"), "utf-8"
    return head.decode("latin-1"), "latin-1"
