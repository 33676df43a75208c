"""The inference of a dataset as a job: how it is started, and what is done when it has ended."""

from __future__ import annotations

import sys
import time
from typing import Any

from sunveil.errors import ParameterError
from sunveil.service.context import Service
from sunveil.service.curator.results import Results
from sunveil.service.jobs import Job, Jobs, State
from sunveil.service.store.datasets import Served, all_served, change_served, find_served

KIND = "infer"
OUTPUT = "inferred"
INFERRING, READY, FAILED = "inferring", "ready", "failed"
# Options of the command that a curator may set, in the order they are shown.
OPTIONS = ("timezone", "unit", "label", "mount")


def jobs_of(service: Service) -> Jobs:
    """Return the jobs of a service."""
    return Jobs(service.settings.data / "jobs")


def job_id(dataset: str) -> str:
    """Return the name of a dataset's inference."""
    return f"{KIND}-{dataset}"


def job_of(service: Service, dataset: str) -> Job | None:
    """Return a dataset's inference, if it was ever started."""
    return jobs_of(service).get(job_id(dataset))


def results_of(service: Service, served: Served) -> Results:
    """Return what the inference of a dataset has left."""
    return Results(served.path(service.settings.datasets) / OUTPUT)


def command(service: Service, served: Served) -> list[str]:
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
    return words + [f"--{name}={given[name]}" for name in OPTIONS if given.get(name)]


def begin(service: Service, name: str) -> Job:
    """Start a dataset's inference, or take it up where it stopped."""
    with service.store.reading() as connection:
        served = find_served(connection, name)
    jobs = jobs_of(service)
    job = jobs.start(job_id(name), command(service, served), kind=KIND, about=name)
    if job.state.over and job.state is not State.DONE:
        job = jobs.resume(job.job_id)
    settle(service, served)
    return job


def infer_now(service: Service, name: str) -> Served:
    """Infer a dataset, and return it when that has ended."""
    begin(service, name)
    while not (job := job_of(service, name)) or not job.state.over:
        time.sleep(0.1)
    with service.store.reading() as connection:
        served = find_served(connection, name)
    return settle(service, served)


def settle(service: Service, served: Served) -> Served:
    """Note in the database how an inference stands, and return the dataset as it then is.

    It may be called at any time and any number of times, by pages and by the service's watch: what
    the job's own folder says is right, and the database follows it.
    """
    job = None if served.state == READY else job_of(service, served.name)
    if job is None:
        return served
    changes = _changes(service, served, job)
    if changes["state"] == served.state:
        return served
    with service.store.changing() as connection:
        change_served(connection, served.name, **changes)
        return find_served(connection, served.name)


def settle_all(service: Service) -> None:
    """Note how all inferences stand."""
    with service.store.reading() as connection:
        waiting = [each for each in all_served(connection) if each.state != READY]
    for served in waiting:
        settle(service, served)


def _changes(service: Service, served: Served, job: Job) -> dict[str, Any]:
    if job.state is State.RUNNING:
        return {"state": INFERRING}
    results = results_of(service, served)
    if job.state is not State.DONE or not results.there:
        return {"state": FAILED}
    found = results.summary()
    if not found.inferred:
        return {"state": FAILED}
    # the systems that the public table names, whether they could be inferred or not
    return {"state": READY, "estimates": OUTPUT, "systems": found.listed}
