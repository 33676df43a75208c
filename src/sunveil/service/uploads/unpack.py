"""Archives, unpacked as if each were an attack."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sunveil.service.uploads.errors import UploadRefused, UploadTooLarge
from sunveil.service.uploads.file_names import quoted, safe_path
from sunveil.service.uploads.limits import UploadLimits, size_text
from sunveil.service.uploads.staging import check_disk_space

CHUNK = 256 * 1024
# A small file may be packed to almost nothing without being an attack. [bytes]
SMALL = 1024 * 1024
ENCRYPTED = 0x1
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    ValueError,
    FileExistsError,
    NotADirectoryError,
)
TABLES = {".csv", ".parquet", ".pq"}
PACKED = {".zip", ".gz", ".bz2", ".xz", ".zst", ".tar", ".tgz", ".7z", ".rar"}


def unpack(archive: Path, into: Path, *, limits: UploadLimits) -> list[Path]:
    """Unpack an archive of tables, and return its files.

    Sizes are counted as they are unpacked: what an archive says of itself is believed in nothing.

    Parameters
    ----------
    archive
        The archive.
    into
        A folder.
    limits
        What is taken at most.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = list(_entries(opened, limits=limits))
            return _write_all(opened, entries, into, limits=limits)
    except BROKEN:
        raise UploadRefused("the archive cannot be unpacked: it is broken; pack it anew") from None


def _entries(
    opened: zipfile.ZipFile, *, limits: UploadLimits
) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the archive's tables with their paths, or refuse it before anything is written."""
    found = opened.infolist()
    if len(found) > limits.files:
        raise UploadTooLarge(
            f"the archive has {len(found):,} entries, and at most {limits.files:,} are taken"
        )
    seen: set[str] = set()
    for entry in found:
        if entry.is_dir() or _is_litter(entry.filename):
            continue
        path = safe_path(entry.filename)
        _check_kind(entry, path)
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
    if path.suffix.lower() in PACKED:
        raise UploadRefused(
            f"the archive has another archive in it, {quoted(entry.filename)}; pack tables only"
        )
    if path.suffix.lower() not in TABLES:
        raise UploadRefused(
            f"the archive's {quoted(entry.filename)} is neither Parquet nor CSV; pack tables only"
        )


def _is_litter(name: str) -> bool:
    """Return whether an entry is what a file manager leaves in archives."""
    parts = name.split("/")
    return parts[0] == "__MACOSX" or parts[-1] in (".DS_Store", "Thumbs.db", "desktop.ini")


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
        left -= _write(opened, entry, target, left=left, ratio=limits.ratio, limits=limits)
        written.append(target)
    return written


def _write(
    opened: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    target: Path,
    *,
    left: int,
    ratio: int,
    limits: UploadLimits,
) -> int:
    allowed, size = max(SMALL, ratio * entry.compress_size), 0
    with opened.open(entry) as source, target.open("xb") as file:
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > left:
                raise UploadTooLarge(
                    f"the archive unpacks to more than the {size_text(limits.unpacked)} that this"
                    " service takes"
                )
            if size > allowed:
                raise UploadRefused(
                    f"the archive's {quoted(entry.filename)} unpacks to more than {ratio} times its"
                    " size, as no meter data do"
                )
            file.write(chunk)
    return size
