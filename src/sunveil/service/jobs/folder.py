"""The folder of one job: small files, each written whole, and the lock that says it runs.

::

    job.json        what it is, and its command; written before anything is started
    lock            held by the runner and by the command for as long as either lives
    process.json    the process group of the run
    progress.jsonl  what the command says on its standard output
    log.txt         what it says on its standard error: for the curator's machine only
    end.json        how the last run ended
    cancelled       there where somebody cancelled it

A process may be killed at any instant: the lock is then free and no end is written, which is how a
job that stopped is known. No process id is trusted: a group is signalled only while the lock is
held, and then it cannot be another's.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sunveil.service.jobs.job import BackgroundJob, JobProgress, JobState

# How much of the end of a file is looked at. [bytes]
TAIL = 64 * 1024
MESSAGE_PREFIX = "sunveil: "
# Pauses between attempts at a lock: one who only looks holds it for an instant. [s]
LOCK_PAUSES = (0.0, 0.01, 0.02, 0.05)


@contextmanager
def held_lock(folder: Path) -> Iterator[int | None]:
    """Yield the descriptor of a job's lock, or None where another process holds it."""
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        yield lock if any(_taken(lock, pause) for pause in LOCK_PAUSES) else None
    finally:
        os.close(lock)


def _taken(lock: int, pause: float) -> bool:
    time.sleep(pause)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_running(folder: Path) -> bool:
    """Return whether a process holds a job's lock."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        # shared, so that two who look at once do not take each other for the work
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(lock)


def read_job(folder: Path) -> BackgroundJob:
    """Return a job as it stands. Raises FileNotFoundError where there is none."""
    stored = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    running = is_running(folder)
    end = None if running else _read(folder / "end.json")
    state = _state(folder, end, running=running)
    return BackgroundJob(
        job_id=folder.name,
        kind=stored["kind"],
        about=stored["about"],
        state=state,
        progress=last_progress(folder / "progress.jsonl"),
        message=_message(folder, end) if state is JobState.FAILED else None,
        made_at=stored["made_at"],
        ended_at=None if end is None else (folder / "end.json").stat().st_mtime,
        runs=stored["runs"],
    )


def last_progress(path: Path) -> JobProgress | None:
    """Return the last whole line of progress in a file."""
    for line in reversed(_tail(path)):
        with suppress(ValueError, TypeError, KeyError):
            stored = json.loads(line)
            if stored["event"] == "progress":
                return JobProgress(
                    int(stored["done"]),
                    int(stored["total"]),
                    _count(stored.get("systems")),
                    _count(stored.get("of")),
                    _number(stored.get("rate")),
                    _number(stored.get("seconds_left")),
                    str(stored.get("doing") or ""),
                )
    return None


def group_of(folder: Path) -> int | None:
    """Return the process group of a job's last run."""
    stored = _read(folder / "process.json")
    return None if stored is None else int(stored["group"])


def _state(folder: Path, end: dict[str, Any] | None, *, running: bool) -> JobState:
    if running:
        return JobState.RUNNING
    if end is not None and end["code"] == 0:
        return JobState.DONE
    if (folder / "cancelled").exists():
        return JobState.CANCELLED
    # a command that was killed has not failed: it can go on where it was
    return JobState.STOPPED if end is None or end["code"] < 0 else JobState.FAILED


def _message(folder: Path, end: dict[str, Any] | None) -> str:
    """Return the command's own sentence; whatever else it said stays in its log."""
    for line in reversed(_tail(folder / "log.txt")):
        text = line.decode("utf-8", "replace").strip()
        if text.startswith(MESSAGE_PREFIX):
            return text.removeprefix(MESSAGE_PREFIX)
    code = None if end is None else end["code"]
    return f"the work ended with code {code} and said nothing that can be shown; see its log"


def _tail(path: Path) -> list[bytes]:
    """Return the last whole lines of a file that may be growing."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL))
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []
    return lines[1 if size > TAIL else 0 : -1]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return found


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None
