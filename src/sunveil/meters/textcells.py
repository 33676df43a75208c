"""Text tables, every line by itself: whatever a cell holds, other lines are read the same.

Lines end at line breaks, whether or not a quote is open; cells are then cut within the line. A cell
with stray bytes, quotes or separators in it can spoil its own line and no other.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters.contents import Content, FileKind, contents_of, is_wide_text

# How much is looked at to find the header: so many lines, and so much of each. [characters]
HEAD = 400
_LONGEST_LINE = 1 << 16
_BLOCK = 1 << 24
# Stands for a separator within quotes while a line is cut.
_KEPT = "\x1f"
SEPARATORS = ",;\t|"


def _latin(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


# Bytes that are not UTF-8 are taken one by one for Latin-1, so that none changes its neighbours.
codecs.register_error("sunveil-latin", _latin)


def decode(data: bytes) -> str:
    """Return bytes as text, those that are not UTF-8 one by one as Latin-1."""
    return data.decode("utf-8", errors="sunveil-latin")


def read_head(file: BinaryIO) -> list[str]:
    """Return the first lines of a text file, each cut short: however long a cell is."""
    lines: list[str] = []
    for block in _line_arrays(file):
        lines += pc.utf8_slice_codeunits(block[: HEAD - len(lines)], 0, _LONGEST_LINE).to_pylist()
        if len(lines) >= HEAD:
            break
    return lines


def cut(line: str, separator: str) -> list[str]:
    """Return the cells of one line, without their quotes."""
    if '"' not in line or line.count('"') % 2:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error:
        return line.split(separator)


@dataclass(frozen=True, slots=True, eq=False)
class LineBlock:
    """Some lines of a file, cut into cells.

    Parameters
    ----------
    cells
        All cells, line after line, without spaces and quotes around them.
    first
        Where the cells of each line begin among them, and where the last one ends.
    rows
        The number of each line, from 1 at the first one below what was skipped.
    """

    cells: pa.StringArray
    first: NDArray[np.int64]
    rows: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many cells each line has."""
        return np.diff(self.first)

    def column(
        self, place: int, *, width: int, private: tuple[int, int] | None = None
    ) -> pa.StringArray:
        """Return the cells of one column, null where a line does not have it.

        Parameters
        ----------
        place
            The column, from 0.
        width
            How many columns the header has.
        private
            The first and the last of the columns whose cells may hold separators that tear a line
            apart: these are then null, and what stands after them is counted from the line's end.
        """
        counts = self.counts
        at = self.first[:-1] + place
        have = counts > place
        if private is not None:
            if place > private[1]:
                at = np.where(counts > width, self.first[1:] - (width - place), at)
            elif place >= private[0]:
                have = have & ~self.is_torn(width)
        picked = np.where(have, at, 0)
        return self.cells.take(pa.array(picked, mask=~have))

    def is_torn(self, width: int) -> NDArray[np.bool_]:
        """Return which lines have more cells than the header, and not only empty ones."""
        filled = np.asarray(pc.not_equal(self.cells, "")).astype(np.int64)
        before = np.concatenate([[0], np.cumsum(filled)])
        beyond = np.minimum(self.first[:-1] + width, self.first[1:])
        return np.asarray(before[self.first[1:]] - before[beyond] > 0)


def iter_blocks(
    file: BinaryIO,
    *,
    skip: int,
    separator: str,
    width: int,
    private: tuple[int, int] | None = None,
) -> Iterator[LineBlock]:
    """Yield the lines of a text file below some that are skipped, cut into cells.

    Parameters
    ----------
    file
        The file, at its start.
    skip
        How many lines to skip.
    separator
        What stands between cells.
    width
        How many columns the header has.
    private
        The first and the last of the columns whose cells may hold anything: see
        :meth:`LineBlock.column`.
    """
    seen = 0
    for lines in _line_arrays(file):
        rows = np.arange(seen, seen + len(lines), dtype=np.int64) - skip + 1
        seen += len(lines)
        if rows[-1] < 1:
            continue
        if rows[0] < 1:
            lines, rows = lines.filter(pa.array(rows >= 1)), rows[rows >= 1]
        yield _cut_block(lines, rows, separator, width, private)


def iter_lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a text file."""
    for lines in _line_arrays(file):
        yield from lines.to_pylist()


def _cut_block(
    lines: pa.StringArray,
    rows: NDArray[np.int64],
    separator: str,
    width: int,
    private: tuple[int, int] | None,
) -> LineBlock:
    quoted = pc.match_substring(lines, '"')
    if pc.any(quoted).as_py():
        plain = [
            separator.join(
                cell.replace(separator, _KEPT)
                for cell in _cells_of(line, separator, width, private)
            )
            for line in lines.filter(quoted).to_pylist()
        ]
        lines = pc.replace_with_mask(lines, quoted, pa.array(plain, pa.string()))
    parts = pc.split_pattern(lines, separator)
    cells = pc.utf8_trim(parts.flatten(), ' \t"\ufeff\xa0')
    kept = pc.match_substring(cells, _KEPT)
    if pc.any(kept).as_py():
        cells = pc.replace_substring(cells, _KEPT, separator)
    return LineBlock(cells, np.asarray(parts.offsets.to_numpy(), dtype=np.int64), rows)


def _cells_of(line: str, separator: str, width: int, private: tuple[int, int] | None) -> list[str]:
    """Return the cells of a line with quotes, such that no private cell moves another.

    Quotes hold separators together only where a line has more of them than the header. Where quotes
    in private cells make that unclear, the public cells are counted from both ends.
    """
    raw, quoted = line.split(separator), cut(line, separator)
    if len(quoted) < len(raw) and _is_as_wide(raw, width):
        first, last = private or (width, width)
        spoilt = [first <= place <= last and '"' in cell for place, cell in enumerate(raw)]
        return ["" if lost else cell for cell, lost in zip(raw, spoilt, strict=True)]
    if private is None or len(raw) < width or _is_as_wide(quoted, width):
        return quoted
    left, rest = _leading(line, separator, private[0])
    right, rest = _trailing(rest, separator, width - 1 - private[1])
    return [*left, *rest.split(separator), *right]


def _is_as_wide(cells: Sequence[str], width: int) -> bool:
    """Whether a line has as many cells as the header, but for empty ones at its end."""
    return len(cells) >= width and not any(cells[width:])


def _leading(line: str, separator: str, count: int) -> tuple[list[str], str]:
    """Return the first cells of a line without their quotes, and what follows them."""
    mark = re.escape(separator)
    cell = re.compile(f'(?:"((?:[^"]|"")*)"|([^{mark}]*)){mark}')
    cells: list[str] = []
    at = 0
    while len(cells) < count and (found := cell.match(line, at)):
        cells.append(found[2] if found[1] is None else found[1].replace('""', '"'))
        at = found.end()
    return cells, line[at:]


def _trailing(line: str, separator: str, count: int) -> tuple[list[str], str]:
    """Return the last cells of a line without their quotes, and what stands before them."""
    cells, rest = _leading(line[::-1], separator, count)
    return [cell[::-1] for cell in reversed(cells)], rest[::-1]


def _line_arrays(file: BinaryIO) -> Iterator[pa.StringArray]:
    rest = b""
    encoding = ""
    while data := file.read(_BLOCK):
        if not encoding:
            encoding = _encoding(data)
            if encoding != "utf-8":  # rare enough to be taken whole
                data = _narrowed(data + file.read(), encoding)
            data = data.removeprefix(codecs.BOM_UTF8)
        data = rest + data
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        if end:
            yield _lines(data[:end])
    if rest:
        yield _lines(rest + b"\n")


def _lines(data: bytes) -> pa.StringArray:
    """Return the lines of a stretch of bytes that ends with a line break."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        data = decode(data).encode()
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10) + 1
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
    return pc.utf8_rtrim(lines, "\n")


def _encoding(data: bytes) -> str:
    if data.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if data.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    if is_wide_text(data):
        return "utf-16-be" if data[0] == 0 else "utf-16-le"
    return "utf-8"


def _narrowed(data: bytes, encoding: str) -> bytes:
    """Return UTF-16 as UTF-8, cell by cell: an odd byte in one of them shifts no other."""
    ends = rb"(\x00[\n,;\t])" if encoding == "utf-16-be" else rb"([\n,;\t]\x00)"
    return b"".join(
        part.decode(encoding, errors="replace").encode() for part in re.split(ends, data)
    )


def read_text_table(
    path: Path, *, where: str, private: Collection[str] = ()
) -> dict[str, pa.StringArray]:
    """Return the columns of a plain CSV file as texts, by their names; empty cells are null.

    Parameters
    ----------
    path
        The file, plain or packed; its first line that is not empty names the columns.
    where
        Its name, for messages.
    private
        Columns whose cells decide on nothing but themselves: one with separators in it leaves the
        other columns of its line as they are.
    """
    found = list(contents_of(path))
    if len(found) != 1 or found[0].kind is not FileKind.TEXT:
        raise MeterError(f"{where} is not one text table: give CSV with a header, or Parquet")
    return _plain_table(found[0], where, private)


def _plain_table(
    content: Content, where: str, private: Collection[str]
) -> dict[str, pa.StringArray]:
    with content.open() as file:
        head = read_head(file)
    skip = next((i for i, line in enumerate(head) if line.strip()), None)
    if skip is None:
        raise MeterError(f"{where} is empty")
    separator = max(SEPARATORS, key=head[skip].count)
    names = [cell.strip(' \t"\ufeff\xa0') for cell in cut(head[skip], separator)]
    held_back = [place for place, name in enumerate(names) if name in private]
    ends = (held_back[0], held_back[-1]) if held_back else None
    width = len(names)
    with content.open() as file:
        lines = pa.concat_arrays([pa.array([], pa.string()), *_line_arrays(file)])[skip + 1 :]
    lines = _whole_rows(lines, separator, width, ends)
    block = _cut_block(lines, np.arange(len(lines)) + 1, separator, width, ends)
    filled = pa.array(_is_filled(block, width))
    return {
        name: _without_blanks(block.column(at, width=width, private=ends)).filter(filled)
        for at, name in enumerate(names)
    }


def _whole_rows(
    lines: pa.StringArray, separator: str, width: int, private: tuple[int, int] | None
) -> pa.StringArray:
    """Put rows together again whose quoted cells hold line breaks.

    Cells alone are counted: a line that has a quote and fewer of them than the header goes on in
    the lines below it, up to as many. A line that has them all is never joined to another.
    """
    begun = np.asarray(pc.count_substring(lines, separator), dtype=np.int64) + 1
    further = begun.copy()
    quoted = np.flatnonzero(np.asarray(pc.match_substring(lines, '"'), dtype=bool))
    if not len(quoted):
        return lines
    texts = lines.to_pylist()
    if private is not None:
        for at in quoted.tolist():  # the public cells at its end are those of a row that goes on
            left, rest = _leading(texts[at], separator, private[0])
            begun[at] = len(left) + rest.count(separator) + 1
            right, rest = _trailing(texts[at], separator, width - 1 - private[1])
            further[at] = len(right) + rest.count(separator) + 1
    kept = np.ones(len(texts), dtype=bool)
    end = 0
    # a lone cell is what a line break left of the last one
    for begin in quoted[(begun[quoted] > 1) & (begun[quoted] < width)].tolist():
        if begin < end:
            continue
        end, found = begin + 1, begun[begin]
        while found < width and end < len(texts) and further[end] < width:
            found += further[end] - 1
            end += 1
        if found < width:
            end = begin + 1
        texts[begin] = " ".join(texts[begin:end])
        kept[begin + 1 : end] = False
    return pa.array(texts, pa.string()).filter(pa.array(kept))


def _is_filled(block: LineBlock, width: int) -> NDArray[np.bool_]:
    """Return which lines are rows: others are empty, or remains of a cell with a line break."""
    counts = block.counts
    first = block.column(0, width=1)
    filled = np.asarray(pc.fill_null(pc.not_equal(first, ""), False))
    return np.asarray((counts > 1) | (filled & (width == 1)))


def _without_blanks(column: pa.StringArray) -> pa.StringArray:
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def coded(cells: pa.Array) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """Return the different texts among cells, and the number of each cell's text.

    Cells without anything in them are the empty text.
    """
    if not pa.types.is_dictionary(cells.type):
        cells = pc.fill_null(cells.cast(pa.string()), "").dictionary_encode()
    texts = cells.dictionary.cast(pa.string())
    codes = np.asarray(pc.fill_null(cells.indices, len(texts)).to_numpy(), dtype=np.int64)
    if cells.null_count:
        texts = pa.concat_arrays([texts, pa.array([""])])
    return pc.fill_null(texts, ""), codes


def decoded(cells: pa.Array) -> pa.StringArray:
    """Return cells as plain texts, empty where there is nothing in them."""
    texts, codes = coded(cells)
    return texts.take(pa.array(codes))


def to_texts(values: Sequence[str]) -> pa.StringArray:
    """Return cells as texts, null where they are empty."""
    return pa.array([each or None for each in values], pa.string())


def sound_text(text: str) -> str:
    """Return a text without halves of surrogates, which no encoding has."""
    return text if text.isascii() else text.encode("utf-8", errors="replace").decode("utf-8")
