"""Text tables, every line by itself: whatever a cell holds, other lines are read the same.

Lines end at line breaks, whether or not a quote is open; cells are then cut within the line. A cell
with stray bytes, quotes or separators in it can spoil its own line and no other.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
# A quoted cell with line breaks in it has at most so many lines.
_LONGEST_CELL = 20


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
        return next(csv.reader([line], delimiter=separator), [])
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
            long = self.is_torn(width)
            if place > private[1]:
                at = np.where(long, self.first[1:] - (width - place), at)
            elif place >= private[0]:
                have = have & ~long
        picked = np.where(have, at, 0)
        return self.cells.take(pa.array(picked, mask=~have))

    def is_torn(self, width: int) -> NDArray[np.bool_]:
        """Return which lines have more cells than the header, and not only empty ones."""
        filled = np.asarray(pc.not_equal(self.cells, "")).astype(np.int64)
        before = np.concatenate([[0], np.cumsum(filled)])
        beyond = np.minimum(self.first[:-1] + width, self.first[1:])
        return np.asarray(before[self.first[1:]] - before[beyond] > 0)


def iter_blocks(file: BinaryIO, *, skip: int, separator: str, width: int) -> Iterator[LineBlock]:
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
    """
    seen = 0
    for lines in _line_arrays(file):
        rows = np.arange(seen, seen + len(lines), dtype=np.int64) - skip + 1
        seen += len(lines)
        if rows[-1] < 1:
            continue
        if rows[0] < 1:
            lines, rows = lines.filter(pa.array(rows >= 1)), rows[rows >= 1]
        yield _cut_block(lines, rows, separator, width)


def iter_lines(file: BinaryIO) -> Iterator[str]:
    """Yield the lines of a text file."""
    for lines in _line_arrays(file):
        yield from lines.to_pylist()


def _cut_block(
    lines: pa.StringArray, rows: NDArray[np.int64], separator: str, width: int
) -> LineBlock:
    quoted = pc.match_substring(lines, '"')
    if pc.any(quoted).as_py():
        lines, rows = _mended(lines, rows, separator, width)
        quoted = pc.match_substring(lines, '"')
        plain = [_unquoted(line, separator) for line in lines.filter(quoted).to_pylist()]
        lines = pc.replace_with_mask(lines, quoted, pa.array(plain, pa.string()))
    parts = pc.split_pattern(lines, separator)
    cells = pc.utf8_trim(parts.flatten(), ' \t"\ufeff\xa0')
    kept = pc.match_substring(cells, _KEPT)
    if pc.any(kept).as_py():
        cells = pc.replace_substring(cells, _KEPT, separator)
    return LineBlock(cells, np.asarray(parts.offsets.to_numpy(), dtype=np.int64), rows)


def _mended(
    lines: pa.StringArray, rows: NDArray[np.int64], separator: str, width: int
) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """Join lines that a line break within a quoted cell has parted.

    One line must leave a quote open, and another soon after close it: a stray quote mark in some
    cell joins nothing.
    """
    odd = np.flatnonzero(np.asarray(pc.count_substring(lines, '"')) % 2 == 1)
    parted: dict[int, int] = {}
    last = -1
    for opening, closing in pairwise(odd.tolist()):
        if opening > last and closing - opening <= _LONGEST_CELL:
            first, second = lines[opening].as_py(), lines[closing].as_py()
            # a line that has all of its columns may just have a stray quote mark in one of them
            short = first.count(separator) + 1 < width
            if _leaves_open(first, separator) and (short or _closes(second, separator)):
                parted[opening], last = closing, closing
    if not parted:
        return lines, rows
    texts = lines.to_pylist()
    kept = np.ones(len(texts), dtype=bool)
    for opening, closing in parted.items():
        texts[opening] = " ".join(texts[opening : closing + 1])
        kept[opening + 1 : closing + 1] = False
    return pa.array(texts, pa.string()).filter(pa.array(kept)), rows[kept]


def _leaves_open(line: str, separator: str) -> bool:
    """Whether a line opens a quote at the start of a cell and does not close it."""
    at = 0
    while at < len(line):
        if line[at] == '"' and (at == 0 or line[at - 1] == separator):
            end = at + 1
            while (end := line.find('"', end)) >= 0 and line[end : end + 2] == '""':
                end += 2
            if end < 0:
                return True
            at = end
        at += 1
    return False


def _closes(line: str, separator: str) -> bool:
    """Whether the first quote mark of a line ends a cell that an earlier line began."""
    line = line.replace('""', "")
    at = line.find('"')
    follows = line[at + 1 : at + 2]
    if at == 0:
        return follows in ("", separator)
    return line[at - 1] != separator


def _unquoted(line: str, separator: str) -> str:
    return separator.join(cell.replace(separator, _KEPT) for cell in cut(line, separator))


def _line_arrays(file: BinaryIO) -> Iterator[pa.StringArray]:
    rest = b""
    encoding = ""
    while data := file.read(_BLOCK):
        if not encoding:
            encoding = _encoding(data)
            if encoding != "utf-8":  # rare enough to be taken whole
                data = _text(data + file.read(), encoding).encode()
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
        data = _text(data, "utf-8").encode()
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10) + 1
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
    return pc.utf8_rtrim(lines, "\n")


def _encoding(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if is_wide_text(data):
        return "utf-16-be" if data[0] == 0 else "utf-16-le"
    return "utf-8"


def _text(data: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return decode(data).removeprefix("\ufeff")
    return data[: len(data) // 2 * 2].decode(encoding, errors="replace").removeprefix("\ufeff")


def read_text_table(
    path: Path, *, where: str, private: Collection[str] = ()
) -> dict[str, pa.ChunkedArray]:
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
) -> dict[str, pa.ChunkedArray]:
    with content.open() as file:
        head = read_head(file)
    skip = next((i for i, line in enumerate(head) if line.strip()), None)
    if skip is None:
        raise MeterError(f"{where} is empty")
    separator = max(SEPARATORS, key=head[skip].count)
    names = [cell.strip(' \t"\ufeff\xa0') for cell in cut(head[skip], separator)]
    held_back = [place for place, name in enumerate(names) if name in private]
    ends = (held_back[0], held_back[-1]) if held_back else None
    chunks: list[list[pa.Array]] = [[] for _ in names]
    with content.open() as file:
        for block in iter_blocks(file, skip=skip + 1, separator=separator, width=len(names)):
            full = pa.array(_is_filled(block, len(names)))
            for place, held in enumerate(chunks):
                column = block.column(place, width=len(names), private=ends)
                held.append(_without_blanks(column).filter(full))
    return {
        name: pa.chunked_array(held, pa.string()) for name, held in zip(names, chunks, strict=True)
    }


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
