"""What several of the curator's pages need: a dataset by its name, and numbers from forms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form
from starlette.requests import Request

from sunveil.errors import ReleaseNotFound
from sunveil.ledger.records import Dataset
from sunveil.service.context import Service, service_of
from sunveil.service.curator.inference import job_of, update_state
from sunveil.service.jobs import BackgroundJob
from sunveil.service.problems import Problem
from sunveil.service.store.datasets import Served, find_promised, find_served

ShortText = Annotated[str, Form(max_length=200)]


@dataclass(frozen=True, slots=True)
class DatasetView:
    """A dataset with all that a page about it needs.

    Parameters
    ----------
    served
        What the service keeps of it.
    promised
        As the ledger knows it; None before its promise is made.
    job
        Its inference; None before it is started.
    """

    served: Served
    promised: Dataset | None
    job: BackgroundJob | None

    def template_values(self) -> dict[str, Any]:
        """Return the values that every template about a dataset needs."""
        return {"dataset": self.served, "promised": self.promised, "job": self.job}


def dataset_view(request: Request, name: str) -> DatasetView:
    """Return the dataset of a request, or refuse with a 404."""
    return dataset_view_of(service_of(request), name)


def dataset_view_of(service: Service, name: str) -> DatasetView:
    """Return a dataset of a service by its name, or refuse with a 404."""
    try:
        with service.store.reading() as connection:
            served = find_served(connection, name)
            promised = find_promised(connection, name)
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
    """Return the letter of what a promise adds up."""
    return "ε" if promised.promise.measure == "epsilon" else "ρ"
