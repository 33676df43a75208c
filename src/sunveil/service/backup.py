"""Backup and restore."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, delete, func, inspect, make_url, select, update

from sunveil import __version__
from sunveil.errors import LedgerConflict, LedgerError, SunveilError
from sunveil.ledger.hash_chain import HighWaterMark, HighWaterMarks
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.ledger_database import (
    datasets,
    default_marks,
    is_url,
    open_engine,
    reading,
    translated_errors,
)
from sunveil.ledger.verify_chain import Verdict
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.database import Link, Secret, Session, Store, TokenRow, Transaction, now
from sunveil.service.store.datasets import all_served

SQLITE, POSTGRESQL = "sqlite", "postgresql"


def kind_of(where: str) -> str:
    return POSTGRESQL if is_url(where) else SQLITE


@contextmanager
def _opened(where: str) -> Iterator[Engine]:
    engine = open_engine(where)
    try:
        yield engine
    finally:
        engine.dispose()


def dump_database(where: str, out: Path) -> dict[str, HighWaterMark]:
    # Others may change it meanwhile: SQLite's own backup copies all pages under one lock of a
    # reader, and `pg_dump` reads one snapshot.
    os.close(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if kind_of(where) == POSTGRESQL:
        return _dump_postgresql(where, out)
    if not Path(where).is_file():
        raise LedgerError("there is no database in this folder; name the folder of a service")
    try:
        with (
            closing(sqlite3.connect(f"file:{quote(where)}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(out)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
    except sqlite3.Error as error:
        raise LedgerError(
            f"the database cannot be copied ({type(error).__name__}); check the disk, and try again"
        ) from None
    with _opened(str(out)) as engine, reading(engine) as connection:
        return chain_ends(connection)


def _dump_postgresql(where: str, out: Path) -> dict[str, HighWaterMark]:
    with _opened(where) as engine, reading(engine) as connection:
        # what is read here and what is dumped are of one instant
        ends = chain_ends(connection)
        snapshot = connection.execute(select(func.pg_export_snapshot())).scalar_one()
        options = ["--format=custom", "--no-owner", f"--snapshot={snapshot}"]
        _run_tool("pg_dump", where, [*options, "--file", str(out)])
    return ends


def chain_ends(connection: Connection) -> dict[str, HighWaterMark]:
    rows = connection.execute(select(datasets.c.name, datasets.c.length, datasets.c.head))
    return {row.name: HighWaterMark(row.length, row.head) for row in rows}


def load_database(dump: Path, where: str) -> None:
    if kind_of(where) == POSTGRESQL:
        options = ["--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error"]
        _run_tool(
            "pg_restore", where, [*options, "--dbname", make_url(where).database or "", str(dump)]
        )
        return
    shutil.copyfile(dump, where)
    Path(where).chmod(0o600)
    with closing(sqlite3.connect(where)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def check_empty(where: str) -> None:
    if kind_of(where) == SQLITE:
        if Path(where).exists():
            raise SunveilError("there is a database at the new place; a restore needs an empty one")
        return
    with (
        _opened(where) as engine,
        translated_errors(engine),
        engine.connect() as connection,
    ):
        tables = inspect(connection).get_table_names()
    if tables:
        raise SunveilError("the new database holds tables already; a restore needs an empty one")


def _run_tool(tool: str, where: str, options: Sequence[str]) -> None:
    """Run one of PostgreSQL's programs; the password is in no list of processes."""
    url = make_url(where)
    given = {"PGHOST": url.host, "PGPORT": url.port, "PGUSER": url.username}
    given |= {"PGPASSWORD": url.password, "PGDATABASE": url.database}
    environment = os.environ | {name: str(value) for name, value in given.items() if value}
    try:
        done = subprocess.run([tool, *options], env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        raise SunveilError(
            f"{tool} is not installed here; install PostgreSQL's client programs, and try again"
        ) from None
    if done.returncode:
        raise SunveilError(
            f"{tool} could not copy the database; check that it is as new as the server, that the"
            " database can be reached, and that its user may read and make tables"
        )


MANIFEST, DATABASE, FOLDER = "manifest.json", "database", "data"
FORMAT = 1

# Not in a backup: the database, which is dumped, and what is of processes that run now.
LEDGER_FILES = ("sunveil.db",)
OF_PROCESSES = ("lock", "process.json")


@dataclass(frozen=True, slots=True)
class BackupSummary:
    files: int  # how many files of the data folder
    size: int  # [bytes] of the backup
    marks: dict[str, HighWaterMark]  # how far each dataset's chain is
    skipped: int  # links and other things in the folder that are no files, and are not in it


def back_up_service(settings: ServiceSettings, out: Path) -> BackupSummary:
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
            if not own and name not in OF_PROCESSES and not name.startswith("."):
                yield here / name


class _Exactly(io.RawIOBase):
    """A file as long as it was when it was opened, and the digest of what was read."""

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
    with path.open("rb") as file:
        info = archive.gettarinfo(arcname=name, fileobj=file)
        info.mode, info.uid, info.gid, info.uname, info.gname = 0o600, 0, 0, "", ""
        # hard links are files of their own here
        info.type, info.linkname = tarfile.REGTYPE, ""
        info.size = os.fstat(file.fileno()).st_size
        read = _Exactly(file, info.size)
        archive.addfile(info, read)
    return read.digest.hexdigest()


DAMAGED = "this file is no backup of a service, or it was damaged; take another one"


@dataclass(frozen=True, slots=True)
class Restored:
    made: str  # when the backup was made, in UTC
    verdicts: tuple[Verdict, ...]  # what the verification of each dataset found
    missing: tuple[str, ...]


def restore_service(
    backup: Path, settings: ServiceSettings, *, mark: Path | None = None
) -> Restored:
    """Bring a service back from a backup, revoke all tokens and sessions, and verify its ledger."""
    if settings.data.exists() and any(settings.data.iterdir()):
        raise SunveilError("the new folder is not empty; a restore needs one that is")
    check_empty(settings.where)
    settings.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.data.chmod(0o700)
    try:
        manifest = _unpack(backup, settings)
        _check_kind(settings.where, manifest["kind"])
        known = _known_marks(settings.where, mark)
        _check_marks(known, manifest["marks"])
        load_database(settings.data / DATABASE, settings.where)
        (settings.data / DATABASE).unlink()
        return _begin_again(settings, manifest, known)
    except BaseException:
        _empty(settings.data)
        raise


def _check_kind(where: str, kind: str) -> None:
    if kind_of(where) != kind:
        named = "PostgreSQL" if kind == "postgresql" else "a file"
        raise SunveilError(
            f"this is a backup of a database in {named}; restore it into the same, and move it with"
            " sunveil ledger move"
        )


def _unpack(backup: Path, settings: ServiceSettings) -> dict[str, Any]:
    """Unpack a backup into the folder, check every digest, and return its manifest."""
    found: dict[str, str] = {}
    manifest: dict[str, Any] | None = None
    try:
        with tarfile.open(backup, mode="r:") as archive:
            for member in archive:
                source = archive.extractfile(member)
                if source is None or manifest is not None:
                    raise SunveilError(DAMAGED)
                if member.name == MANIFEST:
                    manifest = json.load(source)
                    continue
                path = _place(member.name, settings.data)
                _make_folders(path, settings.data)
                with path.open("xb") as file:
                    path.chmod(0o600)
                    shutil.copyfileobj(source, file)
                with path.open("rb") as file:
                    found[member.name] = hashlib.file_digest(file, "sha256").hexdigest()
        if manifest is None or manifest["format"] != FORMAT or manifest["digests"] != found:
            raise SunveilError(DAMAGED)
    except (tarfile.TarError, ValueError, KeyError, EOFError):
        raise SunveilError(DAMAGED) from None
    return manifest


def _place(name: str, data: Path) -> Path:
    """Return where a member goes; nothing goes outside of the folder."""
    parts = Path(name).parts
    if name == DATABASE:
        return data / DATABASE
    if len(parts) < 2 or parts[0] != FOLDER or ".." in parts:
        raise SunveilError(DAMAGED)
    return data.joinpath(*parts[1:])


def _make_folders(path: Path, data: Path) -> None:
    """Make the folders that a file lies in, each its owner's alone."""
    for folder in [*reversed(path.relative_to(data).parents)][1:]:
        (data / folder).mkdir(exist_ok=True, mode=0o700)


def _known_marks(where: str, given: Path | None) -> dict[str, HighWaterMark]:
    """Return how far the ledger is known to have been, at the new place and by a file."""
    engine = open_engine(where, create=kind_of(where) == "sqlite")
    engine.dispose()
    found = default_marks(engine).all()
    if given is None:
        return found
    if not given.is_file():
        raise SunveilError("there is no such mark; name the file that was kept apart")
    for name, mark in HighWaterMarks(given).all().items():
        if name not in found or found[name].length < mark.length:
            found[name] = mark
    return found


def _check_marks(known: Mapping[str, HighWaterMark], reached: Mapping[str, Any]) -> None:
    """Refuse a backup that is behind a mark that is known."""
    behind = sorted(
        name for name, mark in known.items() if reached.get(name, (0, ""))[0] < mark.length
    )
    if behind:
        raise LedgerConflict(
            f"this backup is older than what was spent of {', '.join(behind)}: the promise could be"
            " spent twice; restore the newest backup, and where none reaches the mark, nothing"
            " more may be asked of these datasets"
        )


def _begin_again(
    settings: ServiceSettings, manifest: dict[str, Any], known: Mapping[str, HighWaterMark]
) -> Restored:
    """Set marks, sign everybody out, and verify the ledger."""
    Ledger(settings.where).close()  # refuses one of another version
    _set_marks(settings.where)
    store = Store(settings.where)
    try:
        with store.changing() as db:
            revoke_everything(db)
            served = all_served(db)
    finally:
        store.close()
    missing = []
    for each in served:
        each.path(settings.datasets).mkdir(parents=True, exist_ok=True, mode=0o700)
        files = filter(None, (each.meters, each.table, each.estimates))
        if not all(each.path(settings.datasets, name).exists() for name in files):
            missing.append(each.name)
    with Ledger(settings.where) as ledger:
        verdicts = tuple(ledger.verify(name, mark=known.get(name)) for name in ledger.names())
    return Restored(manifest["made"], verdicts, tuple(missing))


def revoke_everything(db: Transaction) -> None:
    """Revoke every token, end every session, and forget the set-up link and links of accounts."""
    # Whatever opens the service beside a password belongs here.
    db.execute(update(TokenRow).where(TokenRow.revoked.is_(None)).values(revoked=now()))
    db.execute(delete(Session))
    db.execute(delete(Secret))
    db.execute(delete(Link))


def _set_marks(where: str) -> None:
    """Note how far each chain is, so that an older copy is noticed from now on."""
    with _opened(where) as engine:
        with reading(engine) as connection:
            reached = chain_ends(connection)
        with default_marks(engine).moving_all(reached):
            pass


def _empty(folder: Path) -> None:
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)
