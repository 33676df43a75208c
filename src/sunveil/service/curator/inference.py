"""The inference of a dataset as a job: how it is started, and what is done when it has ended."""

from __future__ import annotations

import sys
import time
from typing import Any

from sqlalchemy import Connection

from sunveil.errors import ParameterError
from sunveil.service.context import Service
from sunveil.service.curator.results import FleetResults
from sunveil.service.jobs import BackgroundJob, BackgroundJobs, JobState
from sunveil.service.store.datasets import (
    READING_FIELDS,
    READING_FLAGS,
    Served,
    all_served,
    change_served,
    find_served,
)

KIND = "infer"
OUTPUT = "inferred"
INFERRING, READY, FAILED = "inferring", "ready", "failed"
# Options of the command that a curator may set.
OPTIONS = (*READING_FIELDS, "mount", "force")
# Those that are given by their name alone.
FLAGS = (*READING_FLAGS, "force")


def jobs_of(service: Service) -> BackgroundJobs:
    """Return the jobs of a service."""
    settings = service.settings
    return BackgroundJobs(settings.data / "jobs", memory=settings.most_job_memory)


def job_id(dataset: str) -> str:
    """Return the name of a dataset's inference."""
    return f"{KIND}-{dataset}"


def job_of(service: Service, dataset: str) -> BackgroundJob | None:
    """Return a dataset's inference, if it was ever started."""
    return jobs_of(service).get(job_id(dataset))


def results_of(service: Service, served: Served) -> FleetResults:
    """Return what the inference of a dataset has left."""
    return FleetResults(served.path(service.settings.datasets) / OUTPUT)


def inference_command(service: Service, served: Served) -> list[str]:
    """Return the command that infers a dataset, and goes on where it was."""
    folder = served.path(service.settings.datasets)
    if served.meters is None or "systems_table" not in served.extra:
        raise ParameterError(f"the dataset {served.name} has no readings to infer from")
    words = [
        sys.executable, "-m", "sunveil", "infer", str(folder / served.meters),
        "--systems", str(folder / str(served.extra["systems_table"])),
        "--out", str(folder / OUTPUT),
        "--json",
    ]  # fmt: skip
    given: dict[str, Any] = served.extra.get("options", {})
    for name in (name for name in OPTIONS if given.get(name)):
        option = f"--{name.replace('_', '-')}"
        words.append(option if name in FLAGS else f"{option}={given[name]}")
    return words


def start_inference(service: Service, name: str) -> BackgroundJob:
    """Start a dataset's inference, or take it up where it stopped."""
    with service.store.reading() as connection:
        served = find_served(connection, name)
    jobs = jobs_of(service)
    command = inference_command(service, served.upcoming)
    job = jobs.start(job_id(name), command, kind=KIND, about=name)
    if job.state.over and job.state is not JobState.DONE:
        job = jobs.resume(job.job_id)
    update_state(service, served)
    return job


def infer_now(service: Service, name: str) -> Served:
    """Infer a dataset, and return it when that has ended."""
    start_inference(service, name)
    while not (job := job_of(service, name)) or not job.state.over:
        time.sleep(0.1)
    with service.store.reading() as connection:
        served = find_served(connection, name)
    return update_state(service, served)


def update_state(service: Service, served: Served) -> Served:
    """Note in the database how an inference stands, and return the dataset as it then is.

    It may be called at any time and any number of times, by pages and by the service's watch: what
    the job's own folder says is right, and the database follows it.
    """
    worked_on = served.upcoming
    job = None if worked_on.state == READY else job_of(service, served.name)
    if job is None:
        return served
    changes = _changes(service, worked_on, job)
    if changes["state"] == worked_on.state:
        return served
    with service.store.changing() as connection:
        note_changes(connection, served.name, changes)
        return find_served(connection, served.name)


def note_changes(connection: Connection, name: str, changes: dict[str, Any]) -> None:
    """Note how the inference of a dataset stands; a next edition takes its place once it is ready.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    name
        The dataset's name.
    changes
        New values of its fields, or of those of the edition that is on its way.
    """
    served = find_served(connection, name)
    coming = served.extra.get("next")
    if coming is None or changes["state"] == READY:
        change_served(connection, name, **{**(coming or {}), **changes})
    else:
        extra = {**served.extra, "next": {**coming, **changes}}
        change_served(connection, name, extra=extra)


def update_states(service: Service) -> None:
    """Note in the database how the inferences of all datasets stand that are not ready."""
    with service.store.reading() as connection:
        waiting = [each for each in all_served(connection) if each.upcoming.state != READY]
    for served in waiting:
        update_state(service, served)


def _changes(service: Service, served: Served, job: BackgroundJob) -> dict[str, Any]:
    if job.state is JobState.RUNNING:
        return {"state": INFERRING}
    results = results_of(service, served)
    if job.state is not JobState.DONE or not results.exist:
        return {"state": FAILED}
    # the systems that the public table names, whether they could be inferred or not; a dataset in
    # which nobody could be is ready too: it answers that all are unknown
    return {"state": READY, "estimates": OUTPUT, "systems": results.summary().listed}
