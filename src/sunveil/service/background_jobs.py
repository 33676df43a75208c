"""Background jobs in processes of their own, which survive a restart."""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from sunveil._files import write_whole
from sunveil.errors import ParameterError
from sunveil.service import job_runner as runner


class JobState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        return self is not JobState.RUNNING


# What work does before, or without, counting systems.
PHASE_WORDS = {
    "compiling": "compiling the engine, which takes about half a minute once on a machine",
    "reading": "reading the files",
    "gathering": "sorting the readings by system",
}

STATE_WORDS = {
    JobState.RUNNING: "running",
    JobState.DONE: "finished",
    JobState.FAILED: "failed",
    JobState.STOPPED: "stopped before its end",
    JobState.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class JobProgress:
    done: int  # parts of the work
    total: int  # parts of the work
    systems: int | None = None  # that are done, where that was said
    all_systems: int | None = None
    rate: float | None = None  # [1/s] how many systems a second
    seconds_left: float | None = None  # [s] how long it may still take
    doing: str = ""  # what is being done, such as `reading`; empty where that was not said

    @property
    def share(self) -> float:
        return min(self.done / self.total, 1.0) if self.total > 0 else 0.0

    @property
    def words(self) -> str:
        if self.total <= 0:
            return PHASE_WORDS.get(self.doing, "starting")
        if self.systems is None or self.all_systems is None:
            return PHASE_WORDS.get(self.doing) or f"{self.done:,} of {self.total:,} parts"
        return f"{self.systems:,} of {self.all_systems:,} systems"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "share": round(self.share, 4)}


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    job_id: str  # its name: the same work has the same name, and so is never done twice at once
    kind: str  # what kind of work it is, such as `infer`
    about: str  # what it is about: a dataset's name or key
    state: JobState  # where it stands
    progress: JobProgress | None  # how far it is, where it has said so
    message: str | None  # why it failed, in one sentence
    made_at: float  # [s since 1970] when it was first started
    ended_at: float | None  # [s since 1970]
    runs: int  # how often it was started

    def to_dict(self) -> dict[str, Any]:
        return {
            "job_id": self.job_id,
            "kind": self.kind,
            "about": self.about,
            "state": self.state.value,
            "words": self.words,
            "progress": None if self.progress is None else self.progress.to_dict(),
            "message": self.message,
        }

    @property
    def words(self) -> str:
        far = self.progress
        if self.state is not JobState.RUNNING:
            return STATE_WORDS[self.state]
        if far is None:
            return "starting"
        said = far.words
        if far.seconds_left is not None and far.done < far.total:
            said += f", {duration(far.seconds_left)} left"
        return said


def duration(seconds: float) -> str:
    """Return a time in words that change no faster than a reader reads."""
    if seconds < 90.0:
        return "about a minute" if seconds > 45.0 else "less than a minute"
    minutes = math.ceil(seconds / 60.0)
    if minutes < 90:
        return f"about {minutes} minutes"
    return f"about {math.ceil(minutes / 60.0)} hours"


# How much of the end of a file is looked at. [bytes]
TAIL = 64 * 1024
MESSAGE_PREFIX = "sunveil: "

# Pauses between attempts at a lock: one who only looks holds it for an instant. [s]
LOCK_PAUSES = (0.0, 0.01, 0.02, 0.05)


@contextmanager
def held_lock(folder: Path) -> Iterator[int | None]:
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


NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")

# How long a cancelled command may take to end by itself. [s]
CANCEL_SECONDS = 5.0

# What lies between two steps for longer than this was left by a process that was killed. [s]
STEP_SECONDS = 60.0


class BackgroundJobs:
    def __init__(
        self, folder: Path, *, cancel_seconds: float = CANCEL_SECONDS, memory: int | None = None
    ) -> None:
        self._folder = folder
        self._cancel_seconds, self._memory = cancel_seconds, memory
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()

    def start(self, job_id: str, command: Sequence[str], *, kind: str, about: str) -> BackgroundJob:
        """Start work that was never started before, or say how that of this name stands."""
        folder = self._path(job_id)
        if not folder.exists():
            self._make(folder, command, kind=kind, about=about)
            return self._run(folder)
        return read_job(folder)

    def resume(self, job_id: str, command: Sequence[str] | None = None) -> BackgroundJob:
        """Run work again that is not running; a new command may name files in a new place."""
        return self._run(self._known(job_id), command)

    def get(self, job_id: str) -> BackgroundJob | None:
        try:
            return read_job(self._path(job_id))
        except FileNotFoundError:
            return None

    def all(self, about: str | None = None) -> list[BackgroundJob]:
        found = []
        for path in self._folder.iterdir():
            if NAME.fullmatch(path.name):
                with suppress(FileNotFoundError):
                    found.append(read_job(path))
        mine = [job for job in found if about is None or job.about == about]
        return sorted(mine, key=lambda job: job.made_at, reverse=True)

    def cancel(self, job_id: str) -> BackgroundJob:
        """Stop work: ask its processes to end, and kill them if they do not."""
        folder = self._known(job_id)
        if is_running(folder):
            write_whole(folder / "cancelled", "", private=True)
        for number in (signal.SIGTERM, signal.SIGKILL):
            self._signal(folder, number)
            if self._until(lambda: not is_running(folder)):
                break
        return read_job(folder)

    def remove(self, job_id: str) -> None:
        folder = self._known(job_id)
        with held_lock(folder) as lock:
            if lock is None:
                raise ParameterError("this work is running; cancel it before it is removed")
            aside = self._folder / f".gone-{secrets.token_hex(8)}"
            folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)

    # -- one job

    def _path(self, job_id: str) -> Path:
        if not NAME.fullmatch(job_id):
            raise ParameterError(
                "the name of a job is small letters, digits and hyphens, 100 at most"
            )
        return self._folder / job_id

    def _known(self, job_id: str) -> Path:
        folder = self._path(job_id)
        if not folder.is_dir():
            raise ParameterError("there is no such job; it may have been removed")
        return folder

    def _make(self, folder: Path, command: Sequence[str], *, kind: str, about: str) -> None:
        """Make a job's folder whole, or find that somebody was faster."""
        aside = self._folder / f".new-{secrets.token_hex(8)}"
        aside.mkdir(mode=0o700)
        stored = {
            "kind": kind,
            "about": about,
            "command": list(command),
            "made_at": time.time(),
            "runs": 0,
        }
        write_whole(aside / "job.json", json.dumps(stored), private=True)
        try:
            aside.rename(folder)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            if not folder.is_dir():
                raise

    def _run(self, folder: Path, command: Sequence[str] | None = None) -> BackgroundJob:
        with held_lock(folder) as lock:
            if lock is not None:
                _make_ready(folder, self._memory, command)
                # the lock goes over to the runner as it is: it is free at no instant in between
                subprocess.run(
                    [sys.executable, "-P", runner.__file__, str(folder.absolute()), str(lock)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(lock,),
                    # what ends the service's own group, at any instant, does not end the work
                    start_new_session=True,
                    check=True,
                )
        return read_job(folder)

    def _signal(self, folder: Path, number: signal.Signals) -> None:
        """Signal a job's process group, which is not used again while its lock is held."""
        # a runner that has only just been started has yet to say which group it is
        self._until(lambda: group_of(folder) is not None or not is_running(folder))
        group = group_of(folder)
        if group is not None and is_running(folder):
            with suppress(ProcessLookupError):
                os.killpg(group, number)

    def _until(self, happened: Callable[[], bool]) -> bool:
        last = time.monotonic() + self._cancel_seconds
        while not happened():
            if time.monotonic() > last:
                return False
            time.sleep(0.02)
        return True

    def _sweep(self) -> None:
        """Remove what a process that was killed left between two steps."""
        for path in self._folder.glob(".*-*"):
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > STEP_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)


def _make_ready(folder: Path, memory: int | None, command: Sequence[str] | None) -> None:
    """Make a job new to its runner, under the limit of memory that holds now; the lock is held."""
    stored = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    stored["runs"] += 1
    stored["memory"] = memory
    stored["command"] = stored["command"] if command is None else list(command)
    write_whole(folder / "job.json", json.dumps(stored), private=True)
    for name in ("end.json", "process.json", "cancelled", "progress.jsonl", "log.txt"):
        (folder / name).unlink(missing_ok=True)
