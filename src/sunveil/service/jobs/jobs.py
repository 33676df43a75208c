"""Long work in processes of its own, which a restart of the service does not touch."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from sunveil.errors import INTERFACE, ParameterError, spoken
from sunveil.files import write_whole
from sunveil.service.jobs import runner
from sunveil.service.jobs.folder import group_of, held_lock, is_running, read_job
from sunveil.service.jobs.job import BackgroundJob

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
# How long a cancelled command may take to end by itself. [s]
CANCEL_SECONDS = 5.0
# What lies between two steps for longer than this was left by a process that was killed. [s]
STEP_SECONDS = 60.0


class BackgroundJobs:
    """The jobs of a service, one folder each.

    Parameters
    ----------
    folder
        Where they are kept; on this machine's own disk, since locks must hold there.
    cancel_seconds
        How long a cancelled command may take to end by itself before it is killed. [s]
    memory
        What each process of a job may hold; None for no limit. [bytes]
    """

    def __init__(
        self,
        folder: Path,
        *,
        cancel_seconds: float = CANCEL_SECONDS,
        memory: int | None = None,
    ) -> None:
        self._folder = folder
        self._cancel_seconds, self._memory = cancel_seconds, memory
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()

    def start(self, job_id: str, command: Sequence[str], *, kind: str, about: str) -> BackgroundJob:
        """Start work that was never started before, or say how that of this name stands.

        Parameters
        ----------
        job_id
            Name of the work: small letters, digits and hyphens.
        command
            What is run. It may be killed at any instant and be run again, so it must go on where
            it was.
        kind, about
            What kind of work it is, and what it is about.
        """
        folder = self._path(job_id)
        if not folder.exists():
            self._make(folder, command, kind=kind, about=about)
            return self._run(folder)
        return read_job(folder)

    def resume(self, job_id: str) -> BackgroundJob:
        """Run work again that is not running; the command goes on where it was."""
        return self._run(self._known(job_id))

    def get(self, job_id: str) -> BackgroundJob | None:
        """Return a job by its name; None where it was never started."""
        try:
            return read_job(self._path(job_id))
        except FileNotFoundError:
            return None

    def all(self, about: str | None = None) -> list[BackgroundJob]:
        """Return all jobs, or those about one thing, the newest first."""
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
            if self._ends(folder):
                break
        return read_job(folder)

    def remove(self, job_id: str) -> None:
        """Forget work that is not running."""
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

    def _run(self, folder: Path) -> BackgroundJob:
        with held_lock(folder) as lock:
            if lock is not None:
                _make_ready(folder, self._memory)
                # the lock goes over to the runner as it is: it is free at no instant in between
                subprocess.run(
                    [sys.executable, "-P", runner.__file__, str(folder.absolute()), str(lock)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(lock,),
                    env={**os.environ, INTERFACE: spoken()},
                    # what ends the service's own group, at any instant, does not end the work
                    start_new_session=True,
                    check=True,
                )
        return read_job(folder)

    def _signal(self, folder: Path, number: signal.Signals) -> None:
        """Signal a job's processes. While its lock is held, its group is nobody else's."""
        # a runner that has only just been started has yet to say which group it is
        self._until(lambda: group_of(folder) is not None or not is_running(folder))
        group = group_of(folder)
        if group is not None and is_running(folder):
            with suppress(ProcessLookupError):
                os.killpg(group, number)

    def _ends(self, folder: Path) -> bool:
        return self._until(lambda: not is_running(folder))

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


def _make_ready(folder: Path, memory: int | None) -> None:
    """Make a job new to its runner, under the limit of memory that holds now; the lock is held."""
    stored = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    stored["runs"] += 1
    stored["memory"] = memory
    write_whole(folder / "job.json", json.dumps(stored), private=True)
    for name in ("end.json", "process.json", "cancelled", "progress.jsonl", "log.txt"):
        (folder / name).unlink(missing_ok=True)
