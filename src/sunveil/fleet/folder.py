"""The folder that a run writes: who may write it, what it holds, and what a stopped run left."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sunveil.errors import ParameterError, SourceError, ask
from sunveil.files import write_whole

RUN = "run.json"
SUMMARY = "summary.json"
PAGE = "summary.html"
_WORK = ".work"
README = """\
# Estimates of a fleet: private

Everything in this folder was inferred from meter readings and is as private as they are: do not
publish it or pass it on. `sunveil publish` makes tables from it that may be.

| file | what it holds |
|---|---|
| `estimates/part-*.parquet` | one row per inferred system, with planes, 90% intervals and flags |
| `refused.parquet` | one row per system without an estimate, with the reason |
| `summary.html`, `summary.json` | what the run came to, as a page and as numbers |
| `run.json` | what was assumed; the fingerprint of inputs and settings |
"""


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep a folder for one run: another that is asked for it meanwhile is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / ".lock", mode=0o600, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        raise ParameterError(
            f"another run is writing to {folder}; wait for it, or choose another folder"
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


def begin(folder: Path, description: dict[str, Any], *, restart: bool) -> bool:
    """Make a folder ready, and return whether a run that was stopped is taken up.

    Parameters
    ----------
    folder
        The folder, held by this run.
    description
        What ``run.json`` says of the run; its ``fingerprint`` decides.
    restart
        Throw away what an earlier run left.
    """
    if restart:
        _clear(folder)
    before = _before(folder)
    if before is None:
        # what a run was writing when it was killed, before anything else was there
        for path in folder.glob(".run.json.*.part"):
            path.unlink()
        others = [path.name for path in folder.iterdir() if path.name != ".lock"]
        if others:
            raise ParameterError(
                f"{folder} holds {others[0]}, which no run over a fleet wrote; name a new folder"
            )
    if before is not None and before["fingerprint"] != description["fingerprint"]:
        other = "over other readings, systems or settings"
        if any(before.get(name) != description[name] for name in ("version", "engine")):
            other = f"of another version of Sunveil ({before.get('version', 'unknown')})"
        raise ParameterError(
            f"{folder} holds a run {other}; name a new folder, or throw that run away with"
            f" {ask('restart')}"
        )
    if before is None:
        write_whole(folder / RUN, as_json(description))
    write_whole(folder / "README.md", README)
    (folder / _WORK).mkdir(mode=0o700, exist_ok=True)  # it may hold readings
    (folder / _WORK / "refused").mkdir(exist_ok=True)
    (folder / "estimates").mkdir(exist_ok=True)
    _sweep(folder)
    return before is not None


_OURS = {
    RUN,
    SUMMARY,
    _WORK,
    ".lock",
    "estimates",
    "refused.parquet",
    PAGE,
    "README.md",
}


def _before(folder: Path) -> dict[str, Any] | None:
    """Return what ``run.json`` says of the run that a folder holds; None where there is none."""
    try:
        found = json.loads((folder / RUN).read_text(encoding="utf-8"))
        return {**found, "fingerprint": str(found["fingerprint"])}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise SourceError(
            f"{folder / RUN} cannot be read; throw that run away with {ask('restart')}, or name a"
            " new folder"
        ) from None


def _clear(folder: Path) -> None:
    for name in sorted(_OURS - {".lock"}):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what a killed run left half-written."""
    for place in (folder, folder / "estimates", folder / _WORK / "refused"):
        for path in place.glob(".*.part"):
            path.unlink(missing_ok=True)
    for path in (folder / _WORK / "gathered").glob(".*.part"):
        shutil.rmtree(path, ignore_errors=True)


def finish(folder: Path) -> None:
    """Remove what was needed on the way only."""
    shutil.rmtree(folder / _WORK, ignore_errors=True)


def as_json(values: dict[str, Any]) -> str:
    """Return plain types as JSON text."""
    return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
