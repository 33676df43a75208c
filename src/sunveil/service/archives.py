"""Archives unpacked within limits, whatever they hold."""

from __future__ import annotations

import bz2
import gzip
import lzma
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from sunveil.meters.file_types import FileKind, kind_of
from sunveil.service.settings import UploadLimits, size_text
from sunveil.service.uploads import (
    UploadRefused,
    UploadTooLarge,
    check_disk_space,
    is_document,
    is_litter,
    placed_name,
    quoted,
    safe_path,
)

CHUNK = 256 * 1024

# A small file may be packed to almost nothing without being an attack. [bytes]
SMALL = 1024 * 1024
ENCRYPTED = 0x1
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    gzip.BadGzipFile,
    EOFError,
    RuntimeError,
    ValueError,
    FileExistsError,
    NotADirectoryError,
)

ARCHIVES = {".zip", ".zst", ".tar", ".tgz", ".7z", ".rar"}

# What packs one file, by its first bytes.
OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}


def unpack(
    archive: Path, into: Path, *, limits: UploadLimits, left_out: list[str] | None = None
) -> list[Path]:
    # Sizes are counted as they are unpacked: what an archive says of itself is believed in nothing.
    try:
        with zipfile.ZipFile(archive) as opened:
            named = [] if left_out is None else left_out
            entries = list(_entries(opened, limits=limits, left_out=named))
            return _write_all(opened, entries, into, limits=limits)
    except BROKEN:
        raise UploadRefused("the archive cannot be unpacked: it is broken; pack it again") from None


def _entries(
    opened: zipfile.ZipFile, *, limits: UploadLimits, left_out: list[str]
) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the archive's tables with their paths, or refuse it before anything is written."""
    found = opened.infolist()
    if len(found) > limits.files:
        raise UploadTooLarge(
            f"the archive has {len(found):,} entries, and at most {limits.files:,} are taken"
        )
    seen: set[str] = set()
    for entry in found:
        if entry.is_dir() or is_litter(PurePosixPath(entry.filename)):
            continue
        path = safe_path(entry.filename)
        _check_kind(entry, path)
        if is_document(path):
            left_out.append(str(path))
            continue
        path = placed_name(path)
        if (name := str(path).casefold()) in seen:
            raise UploadRefused(f"the archive has two files named {quoted(entry.filename)}")
        seen.add(name)
        yield entry, path


def _check_kind(entry: zipfile.ZipInfo, path: PurePosixPath) -> None:
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise UploadRefused(
            f"the archive's {quoted(entry.filename)} is a link or a device; pack files only"
        )
    if entry.flag_bits & ENCRYPTED:
        raise UploadRefused("the archive is encrypted; pack it without a password")
    if entry.compress_type not in METHODS:
        raise UploadRefused("the archive is packed in an unusual way; pack it with deflate")
    if path.suffix.lower() in ARCHIVES:
        raise UploadRefused(
            f"the archive has another archive in it, {quoted(entry.filename)}; pack tables only"
        )


def _write_all(
    opened: zipfile.ZipFile,
    entries: list[tuple[zipfile.ZipInfo, PurePosixPath]],
    into: Path,
    *,
    limits: UploadLimits,
) -> list[Path]:
    check_disk_space(
        into, min(sum(e.file_size for e, _ in entries), limits.unpacked), spare=limits.spare
    )
    left, written = limits.unpacked, []
    for entry, path in entries:
        target = into.joinpath(*path.parts)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if target.exists():
            raise UploadRefused(f"two files are named {quoted(entry.filename)}; rename one")
        with opened.open(entry) as source, target.open("xb") as file:
            name = f"the archive's {quoted(entry.filename)}"
            packed, write = entry.compress_size, file.write
            left -= _count(source, name, packed=packed, left=left, limits=limits, write=write)
        written.append(target)
    return written


def _count(
    source: Any,
    name: str,
    *,
    packed: int,
    left: int,
    limits: UploadLimits,
    write: Callable[[bytes], object] | None = None,
) -> int:
    """Return how much comes out of what is packed, or refuse it as soon as that is too much."""
    allowed, size = max(SMALL, limits.ratio * packed), 0
    while chunk := source.read(CHUNK):
        size += len(chunk)
        if size > left:
            raise UploadTooLarge(
                f"the upload unpacks to more than the {size_text(limits.unpacked)} that this"
                " service takes"
            )
        if size > allowed:
            raise UploadRefused(
                f"{name} unpacks to more than {limits.ratio} times its size, as no meter data do"
            )
        if write is not None:
            write(chunk)
    return size


def unpacked_size(path: Path, name: str, *, limits: UploadLimits) -> int:
    kind, size = kind_of(path), path.stat().st_size
    try:
        if kind is FileKind.WORKBOOK:
            with zipfile.ZipFile(path) as opened:
                return _workbook_size(opened, name, limits=limits)
        if kind is FileKind.PACKED:
            with path.open("rb") as file:
                head = file.read(8)
            opener = next(opener for mark, opener in OPENERS.items() if head.startswith(mark))
            with opener(path) as source:
                start = source.read(8)
                if start.startswith((b"PK", *OPENERS)):
                    raise UploadRefused(f"{name} is packed twice; unpack it once")
                return len(start) + _count(
                    source, name, packed=size, left=limits.unpacked, limits=limits
                )
    except BROKEN:
        raise UploadRefused(f"{name} cannot be unpacked: it is broken; pack it again") from None
    return size


def _workbook_size(opened: zipfile.ZipFile, name: str, *, limits: UploadLimits) -> int:
    left = limits.unpacked
    for entry in opened.infolist():
        with opened.open(entry) as source:
            left -= _count(source, name, packed=entry.compress_size, left=left, limits=limits)
    return limits.unpacked - left
