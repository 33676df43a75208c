"""Pages that add a dataset: by an upload, or by naming a folder that is there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Form
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError, SourceError
from sunveil.service.context import service_of
from sunveil.service.curator.dataset_files import (
    DatasetForm,
    add_folder,
    add_upload,
    nameable_folders,
    upload_limits,
)
from sunveil.service.curator.inference import OPTIONS
from sunveil.service.identity import Identity
from sunveil.service.pages import identity_of, redirect, render
from sunveil.service.problems import Problem
from sunveil.service.routing import CuratorPage, curator_router, takes_uploads
from sunveil.service.security.tokens import same_secret
from sunveil.service.store.datasets import Served
from sunveil.service.uploads import Received, Staging, UploadTooLarge, receive
from sunveil.service.uploads.limits import size_text


class UploadPage(CuratorPage):
    """A page whose form comes as a stream, and brings its token with it."""

    async def admit(self, request: Request) -> Identity | Response:
        """Admit a curator; the endpoint checks the form's token as it reads the form."""
        # guarded as a page that is only looked at, since that guard does not read the body
        found = await super().admit(Request({**request.scope, "method": "GET"}))
        if isinstance(found, Response):
            raise Problem(401, "Log in again: the session has ended.")
        return found


router = curator_router()
upload_router = APIRouter(prefix="/curator", route_class=UploadPage, include_in_schema=False)
WAYS = ("upload", "folder")
FIELDS = ("title", "about", *OPTIONS, "meters", "systems")


@router.get("/add")
def add_form(request: Request) -> Response:
    """Show the two ways of adding a dataset."""
    return _page(request, {})


@upload_router.post("/add/upload")
@takes_uploads
async def upload(request: Request) -> Response:
    """Take files off the network, piece by piece, and keep them as a dataset."""
    keep = partial(add_upload, service_of(request))
    made = await take_upload(request, keep, partial(_page, request, way="upload"))
    if isinstance(made, Response):
        return made
    message = f"{made.title} is here: {made.extra['listed']:,} systems are listed. Infer them next."
    return await run_in_threadpool(
        redirect, request, f"/curator/datasets/{made.name}", message=message
    )


async def take_upload(
    request: Request,
    keep: Callable[[Received, Staging], Served],
    refuse: Callable[..., Response],
) -> Served | Response:
    """Take files off the network, piece by piece, and keep them, or say why not.

    Parameters
    ----------
    request
        What brings them.
    keep
        Keeps what came, or refuses it.
    refuse
        Makes the page that says why, from the fields that came, the problem and the status.
    """
    service, identity = service_of(request), identity_of(request)
    seen: dict[str, str] = {}

    def check(fields: dict[str, str]) -> None:
        check_token(request, identity, fields.get("csrf", ""))
        seen.update(fields)

    try:
        with Staging(service.settings.datasets).open() as staging:
            files = staging.folder / "files"
            files.mkdir()
            received = await receive(
                request.stream(),
                request.headers.get("content-type", ""),
                into=files,
                limits=upload_limits(service),
                check=check,
                announced=_announced(request),
            )
            return await run_in_threadpool(keep, received, staging)
    except (SourceError, ParameterError) as error:
        status = 413 if isinstance(error, UploadTooLarge) else 422
        return await run_in_threadpool(refuse, seen, problem=str(error), status=status)


class FolderForm(BaseModel):
    """The form that names a folder; options of reading that are left out are empty."""

    model_config = ConfigDict(extra="allow")

    title: Annotated[str, Field(max_length=200)] = ""
    about: Annotated[str, Field(max_length=4000)] = ""
    meters: Annotated[str, Field(max_length=200)] = ""
    systems: Annotated[str, Field(max_length=200)] = ""


@router.post("/add/folder")
def add_folder_form(request: Request, given: Annotated[FolderForm, Form()]) -> Response:
    """Keep a folder below the data folder as a dataset."""
    fields = {name: str(value) for name, value in given.model_dump().items()}
    try:
        form = DatasetForm.of(fields)
        made = add_folder(service_of(request), form, meters=given.meters, systems=given.systems)
    except SourceError as error:
        return _page(request, fields, way="folder", problem=str(error), status=422)
    message = f"{made.title} is here: {made.extra['listed']:,} systems are listed. Infer them next."
    return redirect(request, f"/curator/datasets/{made.name}", message=message)


def check_token(request: Request, identity: Identity, given: str) -> None:
    """Refuse a form that does not come from a page that this browser was given.

    Parameters
    ----------
    request
        What brought the form.
    identity
        Who is logged in.
    given
        The token that the form carries.
    """
    site = request.headers.get("sec-fetch-site", "same-origin")
    if site not in ("same-origin", "none") or not same_secret(given, identity.csrf):
        raise Problem(403, "This form is too old, or not from here; load it again, and send it.")


def _page(
    request: Request,
    fields: dict[str, str],
    *,
    way: str = "",
    problem: str = "",
    status: int = 200,
) -> Response:
    service = service_of(request)
    values: dict[str, Any] = {
        "given": {
            each: {name: fields.get(name, "") if each == way else "" for name in FIELDS}
            for each in WAYS
        },
        "way": way,
        "problem": problem,
        "folders": nameable_folders(service),
        "largest": size_text(service.settings.upload_limit),
    }
    return render(request, "curator/add.html", status=status, **values)


def _announced(request: Request) -> int | None:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() else None
