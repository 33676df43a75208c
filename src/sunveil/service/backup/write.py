"""Writing a backup while the service runs.

**Why it is consistent.** The database is copied first, at one instant of its own; then the files of
the data folder. What the database of that instant refers to lies in the folder by then, and stays:
files of a dataset are put in place before its row, and are never changed afterwards (another
edition has a folder of its own). Only datasets of which nothing was charged can be removed; one
that is removed in between is missed at the restore, which says so. What came later is in the folder
without being referred to, and harms nothing. Releases, charges and answers are in the database.

What a job is just writing is taken as far as it was; after a restore it is taken up from there.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sunveil import __version__
from sunveil.errors import SunveilError
from sunveil.ledger.high_water import HighWaterMark
from sunveil.service.backup.dumps import dump_database, kind_of
from sunveil.service.settings import ServiceSettings

MANIFEST, DATABASE, FOLDER = "manifest.json", "database", "data"
FORMAT = 1
# Of the ledger in the folder: in the dump, or of processes that run now.
LEDGER_FILES = ("sunveil.db",)


@dataclass(frozen=True, slots=True)
class BackupSummary:
    """What a backup holds.

    Parameters
    ----------
    files
        How many files of the data folder.
    size
        Of the backup. [bytes]
    marks
        How far each dataset's chain is.
    skipped
        Links and other things in the folder that are no files, and are not in it.
    """

    files: int
    size: int
    marks: dict[str, HighWaterMark]
    skipped: int


def back_up_service(settings: ServiceSettings, out: Path) -> BackupSummary:
    """Write the database and the data folder of a service into one file.

    Parameters
    ----------
    settings
        Where both are.
    out
        The file, which must not be there yet: readable by its owner only.
    """
    if not settings.data.is_dir():
        raise SunveilError("there is no such data folder; name the folder of a service")
    if out.exists():
        raise SunveilError("there is a file of this name already; a backup overwrites nothing")
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = out.with_name(f".{out.name}.part")
    try:
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".backup-") as scratch:
            dump = Path(scratch) / DATABASE
            marks = dump_database(settings.where, dump)
            files, skipped = _write(settings, dump, aside, marks=marks)
        aside.rename(out)
    except OSError as error:
        raise SunveilError(
            f"the backup cannot be written: {(error.strerror or 'refused').lower()}; check the disk"
            " and the rights of its folder"
        ) from None
    finally:
        with suppress(OSError):
            aside.unlink()
    return BackupSummary(files, out.stat().st_size, marks, skipped)


def _write(
    settings: ServiceSettings, dump: Path, aside: Path, *, marks: dict[str, HighWaterMark]
) -> tuple[int, int]:
    """Write the archive, and return how many files it has and how many links it has not."""
    digests: dict[str, str] = {}
    skipped = 0
    aside.unlink(missing_ok=True)
    with (
        open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        digests[DATABASE] = _add(archive, dump, DATABASE)
        for path in _files_below(settings.data):
            if path.is_symlink() or not path.is_file():
                skipped += path.is_symlink()
                continue
            name = f"{FOLDER}/{path.relative_to(settings.data)}"
            with suppress(FileNotFoundError):  # gone since it was listed
                digests[name] = _add(archive, path, name)
        manifest = {
            "format": FORMAT,
            "version": __version__,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "kind": kind_of(settings.where),
            "data": str(settings.data),
            "marks": {name: [mark.length, mark.head] for name, mark in marks.items()},
            "digests": digests,
        }
        text = json.dumps(manifest, indent=1).encode()
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode = len(text), 0o600
        archive.addfile(info, io.BytesIO(text))
        archive.close()
        file.flush()
        os.fsync(file.fileno())
    return len(digests) - 1, skipped


def _files_below(data: Path) -> Iterator[Path]:
    """Yield everything below the data folder that belongs into a backup."""
    for folder, names, files in os.walk(data):
        here = Path(folder)
        # what begins with a dot is on its way in or out
        names[:] = sorted(name for name in names if not name.startswith("."))
        for name in names:
            if (here / name).is_symlink():
                yield here / name
        for name in sorted(files):
            own = here == data and name.startswith(LEDGER_FILES)
            if not own and name != "lock" and not name.startswith("."):
                yield here / name


class _Exactly(io.RawIOBase):
    """A file as long as it was when it was opened, and the digest of what was read.

    Parameters
    ----------
    file
        An open file, which others may be adding to.
    size
        How long it was. [bytes]
    """

    def __init__(self, file: io.BufferedReader, size: int) -> None:
        self._file, self._left = file, size
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, none beyond the length."""
        wanted = self._left if size < 0 else min(size, self._left)
        found = self._file.read(wanted)
        self._left -= len(found)
        self.digest.update(found)
        return found


def _add(archive: tarfile.TarFile, path: Path, name: str) -> str:
    """Add a file to the archive, and return its digest."""
    with path.open("rb") as file:
        info = archive.gettarinfo(arcname=name, fileobj=file)
        info.mode, info.uid, info.gid, info.uname, info.gname = 0o600, 0, 0, "", ""
        # hard links are files of their own here
        info.type, info.linkname = tarfile.REGTYPE, ""
        info.size = os.fstat(file.fileno()).st_size
        read = _Exactly(file, info.size)
        archive.addfile(info, read)
    return read.digest.hexdigest()
