"""Pages that add another edition to a promised dataset."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError, SourceError
from sunveil.service.context import service_of
from sunveil.service.curator.add_pages import UploadPage, kept_of, sent_on, take_upload
from sunveil.service.curator.dataset_files import PLACE, nameable_folders
from sunveil.service.curator.editions import (
    EditionForm,
    drop_edition,
    folder_edition,
    upload_edition,
)
from sunveil.service.curator.forms import dataset_view
from sunveil.service.curator.inference import OPTIONS
from sunveil.service.pages import redirect, render
from sunveil.service.routing import curator_router, takes_uploads
from sunveil.service.store.datasets import Served
from sunveil.service.uploads.kept import KeptFiles
from sunveil.service.uploads.limits import size_text
from sunveil.service.wording import count_of

router = curator_router()
upload_router = APIRouter(prefix="/curator", route_class=UploadPage, include_in_schema=False)
FIELDS = ("edition", "others", *PLACE, *OPTIONS, "meters", "systems")


@router.get("/datasets/{name}/edition")
def edition_form(
    request: Request, name: str, kept: Annotated[str, Query(max_length=64)] = ""
) -> Response:
    """Show the two ways of adding an edition."""
    found = kept_of(request, kept)
    if found is None:
        return _page(request, {}, name=name)
    return _page(request, found.fields, name=name, way="upload", problem=found.problem, kept=found)


@upload_router.post("/datasets/{name}/edition/upload")
@takes_uploads
async def upload(request: Request, name: str) -> Response:
    """Take files off the network, and keep them as the dataset's next edition."""
    await run_in_threadpool(dataset_view, request, name)
    keep = partial(upload_edition, service_of(request), name)
    refuse = partial(_page, request, name=name, way="upload")
    made = await take_upload(request, keep, refuse, f"/curator/datasets/{name}/edition")
    if isinstance(made, Response):
        return made
    return await run_in_threadpool(_done, request, made)


class EditionFolderForm(BaseModel):
    """The form that names a folder; options of reading that are left out are empty."""

    model_config = ConfigDict(extra="allow")

    edition: Annotated[str, Field(max_length=200)] = ""
    others: Annotated[str, Field(max_length=20)] = ""
    meters: Annotated[str, Field(max_length=200)] = ""
    systems: Annotated[str, Field(max_length=200)] = ""


@router.post("/datasets/{name}/edition/folder")
def name_folder(
    request: Request, name: str, given: Annotated[EditionFolderForm, Form()]
) -> Response:
    """Keep a folder below the data folder as the dataset's next edition."""
    dataset_view(request, name)
    fields = {key: str(value) for key, value in given.model_dump().items()}
    try:
        form = EditionForm.of(fields)
        made = folder_edition(
            service_of(request), name, form, meters=given.meters, systems=given.systems
        )
    except (SourceError, ParameterError) as error:
        return _page(request, fields, name=name, way="folder", problem=str(error), status=422)
    return _done(request, made)


@router.post("/datasets/{name}/edition/drop")
def drop(request: Request, name: str) -> Response:
    """Forget an edition that is on its way."""
    dataset_view(request, name)
    drop_edition(service_of(request), name)
    message = "The edition was dropped; the one that is served stays."
    return redirect(request, f"/curator/datasets/{name}", message=message, kind="note")


def _done(request: Request, made: Served) -> Response:
    coming = made.upcoming
    message = (
        f"Edition {coming.edition} was added with {count_of(coming.extra['listed'], 'system')}."
    )
    return sent_on(request, f"/curator/datasets/{made.name}", message=message)


def _page(
    request: Request,
    fields: dict[str, str],
    *,
    name: str,
    way: str = "",
    problem: str = "",
    status: int = 200,
    kept: KeptFiles | None = None,
) -> Response:
    service, found = service_of(request), dataset_view(request, name)
    before: dict[str, str] = found.served.extra.get("options", {})
    values: dict[str, Any] = found.template_values() | {
        "given": {
            each: {key: (fields if each == way else before).get(key, "") for key in FIELDS}
            for each in ("upload", "folder")
        },
        "way": way,
        "problem": problem,
        "folders": nameable_folders(service),
        "largest": size_text(service.settings.upload_limit),
        "kept": kept,
        "kept_size": "" if kept is None else size_text(kept.size),
    }
    return render(request, "curator/edition.html", status=status, **values)
