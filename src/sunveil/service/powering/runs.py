"""Runs of power: one folder each, a queue of one, and bounds on how many there are."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sunveil.errors import ParameterError
from sunveil.files import write_whole
from sunveil.ledger.chain import canonical
from sunveil.service.jobs import BackgroundJob, BackgroundJobs, JobState
from sunveil.service.power_orders import (
    CLEAR_SKY,
    FILES,
    MOST_ROWS,
    PowerOrder,
    PowerRefused,
    PowerRun,
    groups_in,
)

KIND = "power"
ORDER, FOUND, MADE = "order.json", "found.json", "made"
# Runs that are waiting or being made: of one analyst, and of all. One is made at a time.
MOST_OWN, MOST_WAITING = 2, 20
# Runs that are kept; the oldest go first.
MOST_KEPT = 200
WEATHER_ENDS = (".csv", ".epw", ".parquet")


class PowerRuns:
    """The runs of a service.

    Parameters
    ----------
    folder
        Where they are kept: nothing in it is private.
    weather
        Folder of the weather files that whoever runs the service has put there, if any.
    """

    def __init__(self, folder: Path, *, weather: Path) -> None:
        self._folder, self._weather = folder, weather

    def start(
        self, release: str, body: Mapping[str, Any], order: PowerOrder, *, analyst: str
    ) -> PowerRun:
        """Start a run, or return the one that was ordered before.

        Parameters
        ----------
        release, body
            The release's id, and all of it: public.
        order
            Where and when.
        analyst
            Whose queue it waits in.
        """
        run = run_id(release, order)
        known = self.find(release, run)
        if known is not None and known.state != "failed":
            return known
        self._check(body, order)
        jobs = self._jobs()
        self._make_room(jobs.all(), jobs, analyst)
        place = self._folder / run
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        weather = None if order.weather == CLEAR_SKY else str(self._weather / order.weather)
        ordered = {
            "release": release,
            "order": order.model_dump(mode="json"),
            "weather": weather,
            "body": dict(body),
        }
        write_whole(place / ORDER, json.dumps(ordered), private=True)
        command = [
            sys.executable, "-m", "sunveil.service.powering.job", str(place.absolute())
        ]  # fmt: skip
        job = jobs.start(_job(run), command, kind=KIND, about=analyst)
        if job.state.over and job.state is not JobState.DONE:
            job = jobs.resume(job.job_id)
        return self._run(release, run, order, job)

    def find(self, release: str, run: str) -> PowerRun | None:
        """Return a run of a release by its id."""
        job = self._jobs().get(_job(run))
        order = self._ordered(release, run)
        return None if job is None or order is None else self._run(release, run, order, job)

    def runs_of(self, release: str) -> list[PowerRun]:
        """Return the runs of a release, the newest first, without what was found."""
        found = []
        for job in self._jobs().all():
            run = job.job_id.removeprefix(f"{KIND}-")
            order = self._ordered(release, run)
            if order is not None:
                found.append(PowerRun(run, release, order, *_state(job)))
        return found

    def file(self, release: str, run: str, name: str) -> Path | None:
        """Return where a file of a run that is done lies.

        Parameters
        ----------
        release, run
            Which run, of which release.
        name
            The file's name.
        """
        path = self._folder / run / MADE / name
        known = name in FILES and self._ordered(release, run) is not None
        return path if known and path.is_file() else None

    def weathers(self) -> list[str]:
        """Return the names of the weather files that the service has."""
        if not self._weather.is_dir():
            return []
        found = (path for path in self._weather.iterdir() if path.suffix.lower() in WEATHER_ENDS)
        return sorted(path.name for path in found if path.is_file())

    def _jobs(self) -> BackgroundJobs:
        return BackgroundJobs(self._folder / "jobs")

    def _check(self, body: Mapping[str, Any], order: PowerOrder) -> None:
        rows = order.intervals * (1 if order.whole else groups_in(body))
        if rows > MOST_ROWS:
            raise PowerRefused(
                f"This makes {rows:,} intervals of all groups together, and {MOST_ROWS:,} are made"
                " at most; take a shorter span, longer intervals, or one sum of all groups."
            )
        if order.weather != CLEAR_SKY and order.weather not in self.weathers():
            raise PowerRefused(
                "The service has no weather of this name; take the clear sky, or one that it lists."
            )

    def _make_room(self, known: list[BackgroundJob], jobs: BackgroundJobs, analyst: str) -> None:
        """Refuse what is too many at once, and forget the oldest runs beyond those kept."""
        waiting = [job for job in known if not job.state.over]
        if sum(job.about == analyst for job in waiting) >= MOST_OWN:
            raise PowerRefused(
                f"You have {MOST_OWN} runs of power that are not done; order more when they are.",
                busy=True,
            )
        if len(waiting) >= MOST_WAITING:
            raise PowerRefused("Too many runs of power are waiting; order it later.", busy=True)
        for job in [job for job in known if job.state.over][MOST_KEPT - 1 :]:
            with suppress(ParameterError):
                jobs.remove(job.job_id)
                run = job.job_id.removeprefix(f"{KIND}-")
                shutil.rmtree(self._folder / run, ignore_errors=True)

    def _ordered(self, release: str, run: str) -> PowerOrder | None:
        """Return what was ordered, if there is such a run and it is of this release."""
        try:
            told = json.loads((self._folder / run / ORDER).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return PowerOrder(**told["order"]) if told["release"] == release else None

    def _run(self, release: str, run: str, order: PowerOrder, job: BackgroundJob) -> PowerRun:
        state, words = _state(job)
        found = None
        if state == "done":
            path = self._folder / run / FOUND
            found = json.loads(path.read_text(encoding="utf-8"))
        return PowerRun(run, release, order, state, words, found)


def run_id(release: str, order: PowerOrder) -> str:
    """Return the id of a run: the same order of the same release has the same."""
    told = canonical({"release": release, "order": order.model_dump(mode="json")})
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _job(run: str) -> str:
    return f"{KIND}-{run}"


def _state(job: BackgroundJob) -> tuple[str, str]:
    """Return a job's state and words as an analyst is told them."""
    if not job.state.over:
        return "running", job.words
    if job.state is JobState.DONE:
        return "done", job.words
    return "failed", job.message or "it was stopped before its end; order it again"
