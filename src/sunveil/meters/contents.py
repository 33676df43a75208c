"""What a file is, told by its first bytes, and what is packed inside it."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from sunveil.errors import MeterError

# What is packed is held in memory: larger files are to be unpacked first. [bytes]
_LARGEST_UNPACKED = 4 << 30
_PACKINGS = (".gz", ".bz2", ".xz", ".lzma")
_TABLES = (
    *(".csv", ".txt", ".tsv", ".dat", ".parquet", ".pq", ".feather", ".arrow"),
    *(".xml", ".json", ".jsonl", ".ndjson", ".xlsx", ".xlsm", ".zip"),
)
# Names that a folder of meters is searched for.
ENDINGS = (*_TABLES, *(table + packing for table in _TABLES for packing in _PACKINGS))
READABLE = "CSV, Excel (.xlsx), Parquet, Feather, JSON or Green Button XML, plain or zipped"
# Damaged archives raise whatever their bytes happen to lead to.
_BROKEN = (
    *(OSError, EOFError, ValueError, RuntimeError, struct.error),
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile),
)


class FileKind(StrEnum):
    """What the first bytes of a file say that it is."""

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
    """One table-like thing to read: a file, or what was packed inside one.

    Parameters
    ----------
    name
        Its name, without folders and without what a packing adds to it.
    path
        Where it lies; None for what was unpacked into ``data``.
    data
        Its bytes, where it was packed.
    problem
        Why it could not be unpacked.
    """

    name: str
    path: Path | None = None
    data: bytes | None = None
    problem: MeterError | None = None

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
        """What its first bytes say that it is."""
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
    """Return what the first bytes of a file say that it is."""
    return Content(path.name, path).kind


def contents_of(path: Path) -> Iterator[Content]:
    """Yield what is to be read of a file: itself, or what is packed inside it.

    What cannot be unpacked is there too, and raises its reason when it is opened.
    """
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
    # A stray byte in some cell is that cell's affair: the very beginning alone tells.
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
