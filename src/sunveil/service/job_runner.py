"""The program that runs one background job and records how it ended."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

# How much less than the service the work is hurried.
NICENESS = 5
COULD_NOT_START = 127


def main(folder: Path, lock: int) -> None:
    """Detach, run the job's command, and record how it ended."""
    if os.fork():
        # the parent need not wait for the work
        os._exit(0)
    os.setsid()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # asked to stop, the command stops, and this writes that it did
        signal.signal(name, _stay)
    write_json(folder / "process.json", {"group": os.getpid()})
    os.nice(NICENESS)
    write_json(folder / "end.json", {"code": _run(folder, lock)})


def write_json(path: Path, content: dict[str, object]) -> None:
    aside = path.with_name(f".{path.name}.part")
    with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


def _run(folder: Path, lock: int) -> int:
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    adding = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    said, complaints = (
        os.open(folder / name, adding, 0o600) for name in ("progress.jsonl", "log.txt")
    )
    if job.get("memory"):
        # what the command starts inherits it, each process for itself
        resource.setrlimit(resource.RLIMIT_DATA, (job["memory"], job["memory"]))
    try:
        return subprocess.run(
            job["command"],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=complaints,
            pass_fds=(lock,),
            cwd=folder,
            check=False,
        ).returncode
    except OSError:
        return COULD_NOT_START
    finally:
        os.close(said)
        os.close(complaints)


def _stay(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: unlike ignoring a signal, this is not handed on to the command."""


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
