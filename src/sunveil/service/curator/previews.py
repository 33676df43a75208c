"""The preview of a dataset as a job: what was read, before anything is inferred."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from sunveil.errors import ParameterError
from sunveil.service.context import Service
from sunveil.service.curator.inference import jobs_of
from sunveil.service.jobs import BackgroundJob, JobState
from sunveil.service.store.datasets import NEW, Served

KIND = "preview"
FILE = "preview.json"


@dataclass(frozen=True, slots=True)
class DatasetPreview:
    """The preview of a dataset, as it stands.

    Parameters
    ----------
    job
        The work.
    found
        What was read, once the work is done: private.
    """

    job: BackgroundJob
    found: dict[str, Any] | None

    @property
    def blocks(self) -> bool:
        """Whether an inference must not be started: the files are still read, or too large."""
        too_large = self.job.state is JobState.FAILED and "reading.memory" in (
            self.job.message or ""
        )
        return self.job.state is JobState.RUNNING or too_large


def preview_of(service: Service, served: Served) -> DatasetPreview | None:
    """Return the preview of a dataset, started if it never was and the inference is yet to come.

    It reads the edition that is to be inferred. None where there are no readings to look at.
    """
    coming = served.upcoming
    if coming.meters is None or "systems_table" not in coming.extra:
        return None
    folder = coming.path(service.settings.datasets)
    if not folder.is_dir():
        return None
    order = {
        "meters": str(folder / coming.meters),
        "table": str(folder / str(coming.extra["systems_table"])),
        "out": str(folder / FILE),
        "options": coming.extra.get("options", {}),
        "limits": asdict(service.settings.reading),
    }
    command = [
        sys.executable, "-m", "sunveil.service.uploads.preview_job", json.dumps(order)
    ]  # fmt: skip
    jobs = jobs_of(service)
    job = jobs.get(_job_id(served))
    if job is None and coming.state == NEW:
        job = jobs.start(_job_id(served), command, kind=KIND, about=served.name)
    if job is None:
        return None
    found = None
    if job.state is JobState.DONE:
        with suppress(OSError, ValueError):
            found = json.loads((folder / FILE).read_text(encoding="utf-8"))
    return DatasetPreview(job, found)


def forget_preview(service: Service, name: str) -> None:
    """Forget what was read of a dataset, so that it is read anew when its page is next shown."""
    jobs = jobs_of(service)
    for job in jobs.all(about=name):
        if job.kind == KIND:
            if not job.state.over:
                jobs.cancel(job.job_id)
            with suppress(ParameterError):
                jobs.remove(job.job_id)


def _job_id(served: Served) -> str:
    edition = served.upcoming.folder.rpartition("/")[2]
    return f"{KIND}-{served.name}" + ("" if edition == served.folder else f"-{edition}")[:30]
