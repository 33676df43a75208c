"""The curator's first page, and a dataset with its inference."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form
from pydantic import BaseModel, ConfigDict
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.errors import ParameterError, SourceError
from sunveil.ledger.shares import shares_of_dataset
from sunveil.service.context import service_of
from sunveil.service.curator import dataset_files
from sunveil.service.curator.forms import dataset_view, dataset_view_of
from sunveil.service.curator.inference import (
    OPTIONS,
    job_id,
    jobs_of,
    results_of,
    start_inference,
)
from sunveil.service.curator.previews import forget_preview, preview_of
from sunveil.service.pages import redirect, render
from sunveil.service.problems import Problem
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
    values["preview"] = preview_of(service, found.served)
    return render(request, "curator/overview.html", **values)


@router.get("/datasets/{name}/progress")
def progress(request: Request, name: str) -> Response:
    """Say how far an inference is, for the page that waits for it."""
    job = dataset_view(request, name).job
    return JSONResponse(None if job is None else job.to_dict())


@router.get("/datasets/{name}/preview")
def preview(request: Request, name: str) -> Response:
    """Say how far the reading of the files is, for the page that waits for it."""
    found = preview_of(service_of(request), dataset_view(request, name).served)
    return JSONResponse(None if found is None else found.job.to_dict())


@router.post("/datasets/{name}/preview")
def preview_again(request: Request, name: str) -> Response:
    """Read the files again."""
    dataset_view(request, name)
    forget_preview(service_of(request), name)
    return redirect(request, f"/curator/datasets/{name}")


class ReadingForm(BaseModel):
    """How readings are to be read; options that are left out are empty."""

    model_config = ConfigDict(extra="allow")


@router.get("/datasets/{name}/reading")
def reading_form(request: Request, name: str) -> Response:
    """Show how the files are read, to be changed without sending them again."""
    found = dataset_view(request, name)
    return _reading_page(request, name, found.served.upcoming.extra.get("options", {}))


@router.post("/datasets/{name}/reading")
def change_reading(request: Request, name: str, given: Annotated[ReadingForm, Form()]) -> Response:
    """Read the files in another way."""
    title = dataset_view(request, name).served.title
    fields = {key: str(value) for key, value in given.model_dump().items()}
    try:
        options = dataset_files.DatasetForm.of({**fields, "title": title}).options
        dataset_files.change_reading(service_of(request), name, options)
    except (SourceError, ParameterError) as error:
        return _reading_page(request, name, fields, problem=str(error), status=422)
    message = "The files are read again in this way."
    return redirect(request, f"/curator/datasets/{name}", message=message)


def _reading_page(
    request: Request, name: str, given: dict[str, str], *, problem: str = "", status: int = 200
) -> Response:
    values = dataset_view(request, name).template_values()
    values |= {"given": {key: given.get(key, "") for key in OPTIONS}, "problem": problem}
    return render(request, "curator/change_reading.html", status=status, **values)


@router.post("/datasets/{name}/infer")
def infer(request: Request, name: str) -> Response:
    """Start an inference, or take it up where it stopped."""
    service, found = service_of(request), dataset_view(request, name)
    preview = preview_of(service, found.served)
    if preview is not None and preview.blocks:
        raise Problem(409, "Wait until the files have been read, and see what was found in them.")
    start_inference(service, name)
    return redirect(request, f"/curator/datasets/{name}")


@router.post("/datasets/{name}/cancel")
def cancel(request: Request, name: str) -> Response:
    """Stop an inference; what is finished stays."""
    dataset_view(request, name)
    jobs_of(service_of(request)).cancel(job_id(name))
    message = "The inference was stopped. It can be resumed where it was."
    return redirect(request, f"/curator/datasets/{name}", message=message, kind="note")


@router.post("/datasets/{name}/restart")
def restart(request: Request, name: str) -> Response:
    """Forget an inference and begin it anew."""
    dataset_view(request, name)
    dataset_files.restart(service_of(request), name)
    start_inference(service_of(request), name)
    return redirect(request, f"/curator/datasets/{name}")


@router.post("/datasets/{name}/remove")
def remove(request: Request, name: str) -> Response:
    """Remove a dataset of which nothing was charged; its promise is withdrawn."""
    title = dataset_view(request, name).served.title
    dataset_files.remove(service_of(request), name)
    return redirect(request, "/curator", message=f"{title} was removed.", kind="note")
