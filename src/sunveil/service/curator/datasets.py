"""The curator's first page, and a dataset with its inference."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.service.context import service_of
from sunveil.service.curator import adding
from sunveil.service.curator.forms import known, known_of
from sunveil.service.curator.inference import begin, job_id, jobs_of, results_of
from sunveil.service.pages import go, render
from sunveil.service.routing import curator_room
from sunveil.service.store.datasets import all_served, shares_of_dataset

room = curator_room()


@room.get("")
def home(request: Request) -> Response:
    """Show all datasets."""
    service = service_of(request)
    with service.store.reading() as connection:
        names = [served.name for served in all_served(connection)]
    found = [known_of(service, name) for name in names]
    return render(request, "curator/home.html", found=found)


@room.get("/datasets/{name}")
def overview(request: Request, name: str) -> Response:
    """Show a dataset: what it is, and what is to be done next."""
    service, found = service_of(request), known(request, name)
    told: dict[str, Any] = found.told()
    with service.store.reading() as connection:
        told["shares"] = shares_of_dataset(connection, name)
    results = results_of(service, found.served)
    told["summary"] = results.summary() if results.there else None
    return render(request, "curator/overview.html", **told)


@room.get("/datasets/{name}/progress")
def progress(request: Request, name: str) -> Response:
    """Say how far an inference is, for the page that waits for it."""
    job = known(request, name).job
    return JSONResponse(None if job is None else job.to_dict())


@room.post("/datasets/{name}/infer")
def infer(request: Request, name: str) -> Response:
    """Start an inference, or take it up where it stopped."""
    known(request, name)
    begin(service_of(request), name)
    return go(request, f"/curator/datasets/{name}")


@room.post("/datasets/{name}/cancel")
def cancel(request: Request, name: str) -> Response:
    """Stop an inference; what is finished stays."""
    known(request, name)
    jobs_of(service_of(request)).cancel(job_id(name))
    said = "The inference was stopped. It can be taken up where it was."
    return go(request, f"/curator/datasets/{name}", said=said, kind="note")


@room.post("/datasets/{name}/restart")
def restart(request: Request, name: str) -> Response:
    """Forget an inference and begin it from nothing."""
    known(request, name)
    adding.restart(service_of(request), name)
    begin(service_of(request), name)
    return go(request, f"/curator/datasets/{name}")


@room.post("/datasets/{name}/remove")
def remove(request: Request, name: str) -> Response:
    """Remove a dataset for which nothing was promised."""
    title = known(request, name).served.title
    adding.remove(service_of(request), name)
    return go(request, "/curator", said=f"{title} was removed.", kind="note")
