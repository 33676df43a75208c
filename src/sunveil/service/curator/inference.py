"""Preview and inference jobs; dataset views."""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Form
from starlette.requests import Request

from sunveil.errors import ParameterError, ReleaseNotFound
from sunveil.ledger.promises import Dataset
from sunveil.service.background_jobs import BackgroundJob, BackgroundJobs, JobState
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.curator.results import FleetResults
from sunveil.service.store.database import Served, Transaction
from sunveil.service.store.datasets import (
    NEW,
    READING_FIELDS,
    READING_FLAGS,
    all_served,
    change_served,
    find_promised,
    find_served,
)

INFERENCE_JOB = "infer"
OUTPUT = "inferred"
INFERRING, READY, FAILED = "inferring", "ready", "failed"

# Options of the command that a curator may set.
OPTIONS = (*READING_FIELDS, "mount", "force")

# Those that are given by their name alone.
FLAGS = (*READING_FLAGS, "force")


def jobs_of(service: Service) -> BackgroundJobs:
    settings = service.settings
    return BackgroundJobs(settings.data / "jobs", memory=settings.most_job_memory)


def job_id(dataset: str) -> str:
    return f"{INFERENCE_JOB}-{dataset}"


def job_of(service: Service, dataset: str) -> BackgroundJob | None:
    return jobs_of(service).get(job_id(dataset))


def results_of(service: Service, served: Served) -> FleetResults:
    return FleetResults(served.path(service.settings.datasets) / OUTPUT)


def inference_command(service: Service, served: Served) -> list[str]:
    datasets = service.settings.datasets
    if served.meters is None or "systems_table" not in served.extra:
        raise ParameterError(f"the dataset {served.name} has no readings to infer from")
    words = [
        sys.executable, "-m", "sunveil", "infer", str(served.path(datasets, served.meters)),
        "--systems", str(served.path(datasets, str(served.extra["systems_table"]))),
        "--out", str(served.path(datasets, OUTPUT)),
        "--json",
    ]  # fmt: skip
    given: dict[str, Any] = served.extra.get("options", {})
    for name in (name for name in OPTIONS if given.get(name)):
        option = f"--{name.replace('_', '-')}"
        words.append(option if name in FLAGS else f"{option}={given[name]}")
    return words


def start_inference(service: Service, name: str) -> BackgroundJob:
    with service.store.reading() as db:
        served = find_served(db, name)
    jobs = jobs_of(service)
    command = inference_command(service, served.upcoming)
    job = jobs.start(job_id(name), command, kind=INFERENCE_JOB, about=name)
    if job.state.over and job.state is not JobState.DONE:
        job = jobs.resume(job.job_id, command)
    update_state(service, served)
    return job


def infer_now(service: Service, name: str) -> Served:
    start_inference(service, name)
    while not (job := job_of(service, name)) or not job.state.over:
        time.sleep(0.1)
    with service.store.reading() as db:
        served = find_served(db, name)
    return update_state(service, served)


def update_state(service: Service, served: Served) -> Served:
    # The job's own folder is right, and the database follows it; called by pages and by the watch.
    worked_on = served.upcoming
    job = None if worked_on.state == READY else job_of(service, served.name)
    if job is None:
        return served
    changes = _changes(service, worked_on, job)
    if changes["state"] == worked_on.state:
        return served
    with service.store.changing() as db:
        note_changes(db, served.name, changes)
        return find_served(db, served.name)


def note_changes(db: Transaction, name: str, changes: dict[str, Any]) -> None:
    served = find_served(db, name)
    coming = served.extra.get("next")
    if coming is None or changes["state"] == READY:
        change_served(db, name, **{**(coming or {}), **changes})
    else:
        extra = {**served.extra, "next": {**coming, **changes}}
        change_served(db, name, extra=extra)


def update_states(service: Service) -> None:
    """Update the states of all inferences, and start those that can start."""
    with service.store.reading() as db:
        waiting = [each for each in all_served(db) if each.upcoming.state != READY]
    for served in waiting:
        infer_if_clear(service, update_state(service, served))


def _changes(service: Service, served: Served, job: BackgroundJob) -> dict[str, Any]:
    if job.state is JobState.RUNNING:
        return {"state": INFERRING}
    results = results_of(service, served)
    if job.state is not JobState.DONE or not results.exist:
        return {"state": FAILED}
    # the systems that the public table names, whether they could be inferred or not; a dataset in
    # which nobody could be is ready too: it answers that all are unknown
    return {"state": READY, "estimates": OUTPUT, "systems": results.summary().listed}


ShortText = Annotated[str, Form(max_length=200)]


@dataclass(frozen=True, slots=True)
class DatasetView:
    served: Served  # what the service keeps of it
    promised: Dataset | None  # as the ledger knows it; None before its promise is made
    job: BackgroundJob | None  # its inference; None before it is started

    def template_values(self) -> dict[str, Any]:
        return {"dataset": self.served, "promised": self.promised, "job": self.job}


def dataset_view(request: Request, name: str) -> DatasetView:
    return dataset_view_of(service_of(request), name)


def dataset_view_of(service: Service, name: str) -> DatasetView:
    try:
        with service.store.reading() as db:
            served = find_served(db, name)
            promised = find_promised(db, name)
    except ReleaseNotFound:
        raise Problem(404, "There is no such dataset; it may have been removed.") from None
    return DatasetView(update_state(service, served), promised, job_of(service, name))


def parse_number(text: str, what: str) -> float:
    """Return the number in a text, with a comma or a point; ``what`` names it in a refusal."""
    try:
        found = float(text.strip().replace(",", "."))
    except ValueError:
        raise Problem(422, f"{what} is a number; correct it.") from None
    if not math.isfinite(found):
        raise Problem(422, f"{what} is a finite number; correct it.")
    return found


def measure_sign(promised: Dataset) -> str:
    return "ε" if promised.promise.measure == "epsilon" else "ρ"


PREVIEW_JOB = "preview"
FILE = "preview.json"


@dataclass(frozen=True, slots=True)
class DatasetPreview:
    job: BackgroundJob  # the work
    found: dict[str, Any] | None  # what was read, once the work is done: private

    @property
    def blocks(self) -> bool:
        """Whether an inference cannot start: the files are being read, or cannot be read."""
        return self.found is None

    @property
    def clear(self) -> bool:
        """Whether the files leave nothing open: every system was read and has a place."""
        found = self.found
        return (
            found is not None
            and bool(found["in_both"])
            and not (
                any(found[key] for key in ("refused", "table_refused", "unread", "not_read"))
                or any(found[key]["count"] for key in ("only_files", "only_table"))
            )
        )


def preview_of(service: Service, served: Served) -> DatasetPreview | None:
    """Return the preview of a dataset, started if it never was and the inference is yet to come."""
    # It reads the edition that is to be inferred. None where there are no readings to look at.
    coming = served.upcoming
    if coming.meters is None or "systems_table" not in coming.extra:
        return None
    datasets = service.settings.datasets
    folder = coming.path(datasets)
    if not folder.is_dir():
        return None
    order = {
        "meters": str(coming.path(datasets, coming.meters)),
        "table": str(coming.path(datasets, str(coming.extra["systems_table"]))),
        "out": str(folder / FILE),
        "options": coming.extra.get("options", {}),
        "limits": asdict(service.settings.reading),
    }
    command = [
        sys.executable, "-m", "sunveil.service.limited_process", json.dumps(order)
    ]  # fmt: skip
    jobs = jobs_of(service)
    job = jobs.get(_job_id(served))
    if job is None and coming.state == NEW:
        job = jobs.start(_job_id(served), command, kind=PREVIEW_JOB, about=served.name)
    if job is None:
        return None
    found = None
    if job.state is JobState.DONE:
        with suppress(OSError, ValueError):
            found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return DatasetPreview(job, found)


def infer_if_clear(service: Service, served: Served, preview: DatasetPreview | None = None) -> bool:
    """Start the inference of a new dataset if its files leave nothing open; return whether it did.

    A new version of a dataset waits for its curator, since it replaces the one that is served.
    """
    if served.state != NEW or served.upcoming is not served or job_of(service, served.name):
        return False
    preview = preview or preview_of(service, served)
    if preview is None or not preview.clear:
        return False
    start_inference(service, served.name)
    return True


def forget_preview(service: Service, name: str) -> None:
    """Forget what was read of a dataset, so that its files are read again."""
    jobs = jobs_of(service)
    for job in jobs.all(about=name):
        if job.kind == PREVIEW_JOB:
            if not job.state.over:
                jobs.cancel(job.job_id)
            with suppress(ParameterError):
                jobs.remove(job.job_id)


def _job_id(served: Served) -> str:
    edition = served.upcoming.folder.rpartition("/")[2]
    return f"{PREVIEW_JOB}-{served.name}" + ("" if edition == served.folder else f"-{edition}")[:30]
