"""Bringing a backup back: into an empty place, with nobody logged in, and never behind its mark.

A backup is an old copy of the ledger by its nature: what was spent since is not in it. Where it is
known how far the ledger was (a high-water mark at the place that is restored to, or one that is
given), a backup behind it is refused: its promise could be spent twice. A restore in another place
finds no mark there, and sets one; it must then be the only one that goes on.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, select, update

from sunveil.errors import LedgerConflict, SunveilError
from sunveil.files import write_whole
from sunveil.ledger.database import default_marks, open_engine, reading
from sunveil.ledger.high_water import HighWaterMark, HighWaterMarks
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.verify import Verdict
from sunveil.service.backup.dumps import chain_ends, check_empty, kind_of, load_database
from sunveil.service.backup.write import DATABASE, FOLDER, FORMAT, MANIFEST
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.base import Store, now
from sunveil.service.store.datasets import all_served
from sunveil.service.store.schema import links, secrets, sessions, tokens
from sunveil.service.store.schema import served as served_table

DAMAGED = "this file is no backup of a service, or it was damaged; take another one"


@dataclass(frozen=True, slots=True)
class Restored:
    """What came back.

    Parameters
    ----------
    made
        When the backup was made, in UTC.
    verdicts
        What the verification of each dataset found.
    missing
        Datasets whose files are not in the backup: they were removed while it was made.
    """

    made: str
    verdicts: tuple[Verdict, ...]
    missing: tuple[str, ...]


def restore_service(
    backup: Path, settings: ServiceSettings, *, mark: Path | None = None
) -> Restored:
    """Bring a service back from a backup, revoke all tokens and sessions, and verify its ledger.

    Parameters
    ----------
    backup
        The file.
    settings
        Where it is brought back: a folder that is empty or not there, and an empty database.
    mark
        A high-water mark that was kept apart, such as ``sunveil.db.mark`` of the old folder.
    """
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
    return _higher(found, HighWaterMarks(given).all())


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


def _higher(
    one: Mapping[str, HighWaterMark], other: Mapping[str, HighWaterMark]
) -> dict[str, HighWaterMark]:
    found = dict(one)
    for name, mark in other.items():
        if name not in found or found[name].length < mark.length:
            found[name] = mark
    return found


def _begin_again(
    settings: ServiceSettings, manifest: dict[str, Any], known: Mapping[str, HighWaterMark]
) -> Restored:
    """Set marks, log everybody out, and let paths be those of the new folder."""
    Ledger(settings.where).close()  # refuses one of another version
    _set_marks(settings.where)
    store = Store(settings.where)
    try:
        with store.changing() as connection:
            revoke_everything(connection)
            _move_paths(connection, manifest["data"], str(settings.data))
            served = all_served(connection)
    finally:
        store.close()
    _move_jobs(settings.data / "jobs", manifest["data"], str(settings.data))
    missing = tuple(each.name for each in served if not each.path(settings.datasets).is_dir())
    with Ledger(settings.where) as ledger:
        verdicts = tuple(ledger.verify(name, mark=known.get(name)) for name in ledger.names())
    return Restored(manifest["made"], verdicts, missing)


def revoke_everything(connection: Connection) -> None:
    """Revoke every token, end every session, and forget the set-up link and links of accounts.

    Whatever opens the service beside a password belongs here.
    """
    connection.execute(update(tokens).where(tokens.c.revoked.is_(None)).values(revoked=now()))
    connection.execute(delete(sessions))
    connection.execute(delete(secrets))
    connection.execute(delete(links))


def _set_marks(where: str) -> None:
    """Note how far each chain is, so that an older copy is noticed from now on."""
    engine = open_engine(where)
    try:
        with reading(engine) as connection:
            reached = chain_ends(connection)
        with default_marks(engine).moving_all(reached):
            pass
    finally:
        engine.dispose()


def _move_paths(connection: Connection, old: str, new: str) -> None:
    """Let datasets whose files were only named be found in the new folder."""
    columns = ("folder", "meters", "places", "estimates", "extra")
    for row in connection.execute(select(served_table)).all():
        changes = {
            name: value.replace(f"{old}/", f"{new}/")
            for name in columns
            if (value := getattr(row, name)) is not None and f"{old}/" in value
        }
        if changes:
            connection.execute(
                update(served_table).where(served_table.c.name == row.name).values(changes)
            )


def _move_jobs(jobs: Path, old: str, new: str) -> None:
    """Let work that was cut short be taken up here."""
    for path in jobs.glob("*/job.json"):
        stored = json.loads(path.read_text(encoding="utf-8"))
        words = [str(word).replace(f"{old}/", f"{new}/") for word in stored["command"]]
        stored["command"] = [sys.executable, *words[1:]]
        write_whole(path, json.dumps(stored), private=True)
        (path.parent / "process.json").unlink(missing_ok=True)


def _empty(folder: Path) -> None:
    for each in folder.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink(missing_ok=True)
