"""What is known of a job: what it is, how far it is and how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class JobState(StrEnum):
    """Whether a job runs, and how it ended if it does not."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"

    @property
    def over(self) -> bool:
        """Whether the job has ended, in whatever way."""
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
    """How much of a job is done, as its command last reported.

    Parameters
    ----------
    done, total
        Parts of the work that are done, and all of them.
    systems, all_systems
        Systems that are done, and all of them, where that was said.
    rate
        How many systems a second. [1/s]
    seconds_left
        How long it may still take. [s]
    doing
        What is being done, such as ``reading``; empty where that was not said.
    """

    done: int
    total: int
    systems: int | None = None
    all_systems: int | None = None
    rate: float | None = None
    seconds_left: float | None = None
    doing: str = ""

    @property
    def share(self) -> float:
        """The part of the work that is done, from 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total > 0 else 0.0

    @property
    def words(self) -> str:
        """The progress in words, by systems where they are known."""
        if self.total <= 0:
            return PHASE_WORDS.get(self.doing, "starting")
        if self.systems is None or self.all_systems is None:
            return PHASE_WORDS.get(self.doing) or f"{self.done:,} of {self.total:,} parts"
        return f"{self.systems:,} of {self.all_systems:,} systems"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON types."""
        return {
            "done": self.done,
            "total": self.total,
            "systems": self.systems,
            "all_systems": self.all_systems,
            "share": round(self.share, 4),
            "rate": self.rate,
            "seconds_left": self.seconds_left,
            "doing": self.doing,
        }


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """A piece of long work in processes of its own, as it stands.

    Parameters
    ----------
    job_id
        Its name: the same work has the same name, and so is never done twice at once.
    kind
        What kind of work it is, such as ``infer``.
    about
        What it is about: a dataset's name or key.
    state
        Where it stands.
    progress
        How far it is, where it has said so.
    message
        Why it failed, in one sentence.
    made_at, ended_at
        When it was first started, and when it ended. [s since 1970]
    runs
        How often it was started.
    """

    job_id: str
    kind: str
    about: str
    state: JobState
    progress: JobProgress | None
    message: str | None
    made_at: float
    ended_at: float | None
    runs: int

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain JSON types."""
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
        """The state and the progress in words."""
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
