"""The curator's first page, and a dataset with its inference."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.ledger.shares import shares_of_dataset
from sunveil.service.context import service_of
from sunveil.service.curator import dataset_files
from sunveil.service.curator.forms import dataset_view, dataset_view_of
from sunveil.service.curator.inference import job_id, jobs_of, results_of, start_inference
from sunveil.service.pages import redirect, render
from sunveil.service.routing import curator_router
from sunveil.service.store.datasets import all_served

router = curator_router()


@router.get("")
def home(request: Request) -> Response:
    """Show all datasets."""
    service = service_of(request)
    with service.store.reading() as connection:
        names = [served.name for served in all_served(connection)]
    found = [dataset_view_of(service, name) for name in names]
    return render(request, "curator/home.html", found=found)


@router.get("/datasets/{name}")
def overview(request: Request, name: str) -> Response:
    """Show a dataset: what it is, and what is to be done next."""
    service, found = service_of(request), dataset_view(request, name)
    values: dict[str, Any] = found.template_values()
    with service.store.reading() as connection:
        values["shares"] = shares_of_dataset(connection, name)
    results = results_of(service, found.served)
    values["summary"] = results.summary() if results.exist else None
    return render(request, "curator/overview.html", **values)


@router.get("/datasets/{name}/progress")
def progress(request: Request, name: str) -> Response:
    """Say how far an inference is, for the page that waits for it."""
    job = dataset_view(request, name).job
    return JSONResponse(None if job is None else job.to_dict())


@router.post("/datasets/{name}/infer")
def infer(request: Request, name: str) -> Response:
    """Start an inference, or take it up where it stopped."""
    dataset_view(request, name)
    start_inference(service_of(request), name)
    return redirect(request, f"/curator/datasets/{name}")


@router.post("/datasets/{name}/cancel")
def cancel(request: Request, name: str) -> Response:
    """Stop an inference; what is finished stays."""
    dataset_view(request, name)
    jobs_of(service_of(request)).cancel(job_id(name))
    message = "The inference was stopped. It can be taken up where it was."
    return redirect(request, f"/curator/datasets/{name}", message=message, kind="note")


@router.post("/datasets/{name}/restart")
def restart(request: Request, name: str) -> Response:
    """Forget an inference and begin it from nothing."""
    dataset_view(request, name)
    dataset_files.restart(service_of(request), name)
    start_inference(service_of(request), name)
    return redirect(request, f"/curator/datasets/{name}")


@router.post("/datasets/{name}/remove")
def remove(request: Request, name: str) -> Response:
    """Remove a dataset for which nothing was promised."""
    title = dataset_view(request, name).served.title
    dataset_files.remove(service_of(request), name)
    return redirect(request, "/curator", message=f"{title} was removed.", kind="note")
