"""File type by magic bytes, archives; splitting text into lines and fields, each line alone."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sunveil.errors import MeterError

# Packed files are unpacked in memory, up to this size. [bytes]
_LARGEST_UNPACKED = 4 << 30
_PACKINGS = (".gz", ".bz2", ".xz", ".lzma")
_TABLES = (
    *(".csv", ".txt", ".tsv", ".dat", ".parquet", ".pq", ".feather", ".arrow"),
    *(".xml", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm", ".zip"),
)

# Names that a folder of meters is searched for.
ENDINGS = (*_TABLES, *(table + packing for table in _TABLES for packing in _PACKINGS))
READABLE = "CSV, Excel (.xlsx), Parquet, Feather, JSON or Green Button XML, plain or zipped"

# Errors of damaged archives.
_BROKEN = (
    *(OSError, EOFError, ValueError, RuntimeError, struct.error),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)


class FileKind(StrEnum):
    """File type, from its magic bytes."""

    EMPTY = "empty"
    TEXT = "text"
    JSON = "json"
    XML = "xml"
    PARQUET = "parquet"
    FEATHER = "feather"
    WORKBOOK = "workbook"
    OLD_WORKBOOK = "old workbook"
    ARCHIVE = "archive"
    PACKED = "packed"
    BINARY = "binary"


_MAGIC = (
    (b"PAR1", FileKind.PARQUET),
    (b"ARROW1", FileKind.FEATHER),
    (b"PK\x03\x04", FileKind.ARCHIVE),
    (b"PK\x05\x06", FileKind.ARCHIVE),
    (b"\x1f\x8b", FileKind.PACKED),
    (b"BZh", FileKind.PACKED),
    (b"\xfd7zXZ\x00", FileKind.PACKED),
    (b"\xd0\xcf\x11\xe0", FileKind.OLD_WORKBOOK),
)

# Byte order marks, and the two ways in which a text without one starts in UTF-16.
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Content:
    """One table-like thing to read: a file, or what was packed inside one."""

    name: str  # its name, without folders and without what a packing adds to it
    path: Path | None = None  # where it lies; None for what was unpacked into `data`
    data: bytes | None = None  # its bytes, where it was packed
    problem: MeterError | None = None  # the error of unpacking

    def open(self) -> BinaryIO:
        """Return it opened for reading; the caller closes it."""
        if self.problem is not None:
            raise self.problem
        if self.data is not None:
            return io.BytesIO(self.data)
        assert self.path is not None
        try:
            return self.path.open("rb")
        except OSError as error:
            raise unreadable(self.name, error) from None

    @property
    def kind(self) -> FileKind:
        """File type, from its magic bytes."""
        with self.open() as file:
            try:
                kind = _kind(file)
                # an archive begins with its first member, which may be damaged
                unknown = kind in (FileKind.TEXT, FileKind.BINARY)
                named = unknown and self.name.lower().endswith(".zip")
                return FileKind.ARCHIVE if named and zipfile.is_zipfile(file) else kind
            except OSError as error:
                raise unreadable(self.name, error) from None

    @property
    def stem(self) -> str:
        """Its name without its ending: the name of the system in it."""
        lower = self.name.lower()
        ending = next((each for each in _TABLES if lower.endswith(each)), "")
        # some file systems take accented letters apart, and tables of systems do not
        return unicodedata.normalize("NFC", self.name[: len(self.name) - len(ending)] or self.name)


def stem(path: Path) -> str:
    """Return a file's name without its endings: the name of the system in it."""
    name = path.name
    packing = next((each for each in _PACKINGS if name.lower().endswith(each)), "")
    return Content(name[: len(name) - len(packing)]).stem or name


def kind_of(path: Path) -> FileKind:
    """Return the type of a file, from its magic bytes."""
    return Content(path.name, path).kind


def contents_of(path: Path) -> Iterator[Content]:
    """Yield a file, or the members of an archive; a damaged member raises when it is opened."""
    yield from _unpacked(Content(path.name, path), depth=0)


def unreadable(where: str, error: BaseException) -> MeterError:
    """Return the error for a file that cannot be opened or read."""
    reason = getattr(error, "strerror", None) or "it is damaged or not what its name says"
    return MeterError(f"{where} cannot be read: {reason}")


def _unpacked(content: Content, *, depth: int) -> Iterator[Content]:
    if content.problem is not None or content.kind not in (FileKind.PACKED, FileKind.ARCHIVE):
        yield content
    elif depth == 2:
        problem = MeterError(f"{content.name} is packed more than twice; unpack it first")
        yield replace(content, problem=problem)
    else:
        archive = content.kind is FileKind.ARCHIVE
        for each in _entries(content) if archive else _inflated(content):
            for found in _unpacked(each, depth=depth + 1):
                # within an archive a damaged one is refused by its own name
                inner = archive and depth > 0 and found.problem is not None
                yield replace(found, name=content.name) if inner else found


_OPENERS: dict[bytes, Callable[[BinaryIO], IO[bytes]]] = {
    b"\x1f": gzip.open,  # type: ignore[dict-item]
    b"B": bz2.BZ2File,
    b"\xfd": lzma.LZMAFile,
}


def _inflated(content: Content) -> Iterator[Content]:
    lower = content.name.lower()
    ending = next((each for each in _PACKINGS if lower.endswith(each)), "")
    name = content.name[: len(content.name) - len(ending)]
    with content.open() as file:
        head = file.read(4)
        file.seek(0)
        yield _read(lambda: _OPENERS[head[:1]](file), name, content.name)


def _entries(content: Content) -> Iterator[Content]:
    """Yield the files of an archive, in the order of their names; an .xlsx file is none."""
    with content.open() as file:
        try:
            archive = zipfile.ZipFile(file)
        except _BROKEN as error:
            yield replace(content, problem=unreadable(content.name, error))
            return
        entries = [
            each
            for each in sorted(archive.infolist(), key=lambda each: each.filename)
            if not each.is_dir() and _is_meter_file(each.filename)
        ]
        if not entries:
            problem = f"{content.name} holds no meter files: {READABLE} are read"
            yield replace(content, problem=MeterError(problem))
        for entry in entries:
            name = PurePosixPath(entry.filename).name
            yield _read(partial(archive.open, entry), name, name)


def _is_meter_file(name: str) -> bool:
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    return not hidden and name.lower().endswith(ENDINGS)


def _read(opened: Callable[[], IO[bytes]], name: str, where: str) -> Content:
    """Return what comes out of what is packed, under a name; ``where`` is named in its problem."""
    try:
        with opened() as file:
            data = file.read(_LARGEST_UNPACKED + 1)
    except _BROKEN as error:
        return Content(name, problem=unreadable(where, error))
    if len(data) > _LARGEST_UNPACKED:
        problem = f"{where} holds more than 4 GB in one file; unpack it first"
        return Content(name, problem=MeterError(problem))
    return Content(name, data=data)


def _kind(file: BinaryIO) -> FileKind:
    head = file.read(512)
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            if kind is FileKind.ARCHIVE and _is_workbook(file):
                return FileKind.WORKBOOK
            return kind
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        return FileKind.EMPTY if len(head) < 512 else FileKind.TEXT
    if head.startswith(_WIDE_MARKS) or is_wide_text(head):
        return FileKind.TEXT
    if start.startswith(b"<"):
        return FileKind.XML
    if start.startswith((b"{", b"[")) and not _is_bracketed_header(start):
        return FileKind.JSON
    # Only the beginning decides: a stray byte later in the file damages its own cell alone.
    controls = any(byte < 9 for byte in start.split(b"\n")[0][:16])
    return FileKind.BINARY if controls else FileKind.TEXT


def is_wide_text(head: bytes) -> bool:
    """Whether bytes without a byte order mark begin like plain letters in UTF-16."""
    first = head[:8]
    return len(first) == 8 and (not any(first[1::2]) or not any(first[::2])) and any(first)


def _is_bracketed_header(start: bytes) -> bool:
    """Whether a line begins like ``[kWh];...``: a column's unit, not JSON."""
    line = start.split(b"\n")[0]
    return line.startswith(b"[") and b"]" in line and b'"' not in line and b"{" not in line


def _is_workbook(file: BinaryIO) -> bool:
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except _BROKEN:
        return False


# The header is searched in this many lines, and in this much of each. [characters]
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
    """Some lines of a file, cut into cells."""

    cells: pa.StringArray  # all cells, line after line, without spaces and quotes around them
    first: NDArray[np.int64]
    rows: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many cells each line has."""
        return np.diff(self.first)

    def column(
        self, place: int, *, width: int, private: tuple[int, int] | None = None
    ) -> pa.StringArray:
        """Return the cells of one column, null where a line does not have it."""
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
    file: BinaryIO, *, skip: int, separator: str, width: int, private: tuple[int, int] | None = None
) -> Iterator[LineBlock]:
    """Yield the lines of a text file below some that are skipped, cut into cells."""
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
    """Return the cells of a line with quotes, such that no private cell moves another."""
    # Quotes hold separators together only where a line has more of them than the header. Where
    # quotes in private cells make that unclear, the public cells are counted from both ends.
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
    """Return the columns of a plain CSV file as texts, by their names; empty cells are null."""
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
    """Join the lines of a row with a line break in a quoted cell."""
    # A line that has as many cells as the header is a row of its own. A shorter one continues the
    # row above it while a quote is open there, up to the line that closes it. In a table with
    # private columns, shorter lines without a quote are a row only where they make one together:
    # otherwise they are what a line break in a private cell left over, and name no system. Where
    # most lines are as wide as the header, the rest of a row may be any line that completes it.
    begun = np.asarray(pc.count_substring(lines, separator), dtype=np.int64) + 1
    further = begun.copy()
    has_quote = np.asarray(pc.match_substring(lines, '"'), dtype=bool)
    heads = has_quote if private is None else has_quote | (begun < width)
    if not heads.any():
        return lines
    texts = lines.to_pylist()
    if private is not None:
        for at in np.flatnonzero(has_quote).tolist():  # the public cells at the end of a row
            left, rest = _leading(texts[at], separator, private[0])
            begun[at] = len(left) + rest.count(separator) + 1
            right, rest = _trailing(texts[at], separator, width - 1 - private[1])
            further[at] = len(right) + rest.count(separator) + 1
    mark = re.escape(separator)
    first_opens = re.compile(f'(?:[^"]*{mark})?"(?!{mark})')
    last_opens = re.compile(f'(?:^|{mark})"(?!{mark})(?:[^"]|"")*$')
    kept = np.ones(len(texts), dtype=bool)
    regular = 2 * np.count_nonzero(further >= width) >= len(texts)
    end = 0
    # a lone cell is what a line break left of the last one
    for begin in np.flatnonzero(heads & (begun > 1)).tolist():
        if begin < end:
            continue
        end = at = begin + 1
        found, is_open = int(begun[begin]), last_opens.search(texts[begin])
        while is_open and at < len(texts) and not first_opens.match(texts[at]):
            if further[at] >= width and (found >= width or not has_quote[at]):
                break
            found += int(further[at]) - 1
            at += 1
            if has_quote[at - 1]:
                is_open = last_opens.search(texts[at - 1])
                end = at
        if private is not None and not has_quote[begin] and begun[begin] > private[1]:
            # its private cells are all there: what follows can only bring its public ones
            while at < len(texts) and begun[at] == 1 and not has_quote[at]:
                at += 1
            lacking = width - int(begun[begin])
            remains = at < len(texts) and not has_quote[at] and begun[at] <= private[1]
            if remains and begun[at] == lacking + 1:
                texts[begin] += separator + texts[at].split(separator, 1)[1]
                kept[at], end = False, at + 1
            continue
        while private is not None and not has_quote[begin] and found < width and at < len(texts):
            completes = regular and found + further[at] == width + 1
            if not completes and (has_quote[at] or begun[at] > private[1]):
                break
            found += int(further[at]) - 1
            at += 1
            end = at
        texts[begin] = " ".join(texts[begin:end])
        kept[begin + 1 : end] = False
        if private is not None and found < width:
            leads = has_quote[begin] and private[0] > 0
            kept[begin] = leads or begun[begin] > private[1]
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
    """Return the different texts among cells, and the number of each cell's text."""
    # Cells without anything in them are the empty text.
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
