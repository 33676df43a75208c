"""Pages that add a dataset: by an upload, or by naming a folder that is there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.errors import ParameterError, SourceError
from sunveil.service.context import service_of
from sunveil.service.curator.dataset_files import (
    PLACE,
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
from sunveil.service.uploads.kept import KeptFiles, drop_kept, find_kept, keep_files, with_kept
from sunveil.service.uploads.limits import size_text
from sunveil.service.wording import count_of


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
FIELDS = ("title", "about", *PLACE, *OPTIONS, "meters", "systems")


@router.get("/add")
def add_form(request: Request, kept: Annotated[str, Query(max_length=64)] = "") -> Response:
    """Show the two ways of adding a dataset; files of an upload that was refused are still here."""
    found = kept_of(request, kept)
    if found is None:
        return _page(request, {})
    return _page(request, found.fields, way="upload", problem=found.problem, kept=found)


@upload_router.post("/add/upload")
@takes_uploads
async def upload(request: Request) -> Response:
    """Take files off the network, piece by piece, and keep them as a dataset."""
    keep = partial(add_upload, service_of(request))
    made = await take_upload(request, keep, partial(_page, request, way="upload"), "/curator/add")
    if isinstance(made, Response):
        return made
    return await run_in_threadpool(_added, request, made)


def _added(request: Request, made: Served) -> Response:
    message = f"{made.title} was added with {count_of(made.extra['listed'], 'system')}."
    return sent_on(request, f"/curator/datasets/{made.name}", message=message)


def sent_on(request: Request, path: str, *, message: str) -> Response:
    """Send a browser on after an upload; a script that sent it goes there by itself.

    Parameters
    ----------
    request
        The upload.
    path, message
        Where to, and what is said there.
    """
    answer = redirect(request, path, message=message)
    return JSONResponse({"to": path}) if by_script(request) else answer


def by_script(request: Request) -> bool:
    """Return whether an upload was sent by the page's script, which shows how far it is."""
    return "application/json" in request.headers.get("accept", "")


def kept_of(request: Request, token: str) -> KeptFiles | None:
    """Return the files of a refused upload that a curator sent before, if they are still here."""
    home = service_of(request).settings.datasets
    return find_kept(home, token, who=identity_of(request).who)


async def take_upload(
    request: Request,
    keep: Callable[[Received, Staging], Served],
    refuse: Callable[..., Response],
    page: str,
) -> Served | Response:
    """Take files off the network, piece by piece, and keep them, or say why not.

    What came whole and was refused waits for a second try, so that it is not sent again.

    Parameters
    ----------
    request
        What brings them.
    keep
        Keeps what came, or refuses it.
    refuse
        Makes the page that says why, from the fields that came, the problem and the status.
    page
        Path of that page, where a script sends the browser.
    """
    service, identity = service_of(request), identity_of(request)
    seen: dict[str, str] = {}

    def check(fields: dict[str, str]) -> None:
        check_token(request, identity, fields.get("csrf", ""))
        seen.update(fields)

    home = service.settings.datasets
    token = ""
    try:
        with Staging(home).open() as staging:
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
            fields = received.fields
            before = kept_of(request, fields.get("kept", "")) if fields.get("use_kept") else None
            received = with_kept(received, before, into=files)
            try:
                made = await run_in_threadpool(keep, received, staging)
            except (SourceError, ParameterError) as error:
                token = await run_in_threadpool(
                    keep_files, home, received, who=identity.who, problem=str(error)
                )
                raise
            finally:
                drop_kept(home, fields.get("kept", "") if before is not None else "")
            return made
    except (SourceError, ParameterError) as error:
        status = 413 if isinstance(error, UploadTooLarge) else 422
        problem = str(error)
    if by_script(request):
        answer = {"to": f"{page}?kept={token}"} if token else {"problem": problem}
        return JSONResponse(answer, status_code=200 if token else status)
    kept = kept_of(request, token)
    return await run_in_threadpool(refuse, seen, problem=problem, status=status, kept=kept)


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
    except (SourceError, ParameterError) as error:
        return _page(request, fields, way="folder", problem=str(error), status=422)
    return _added(request, made)


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
    kept: KeptFiles | None = None,
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
        "kept": kept,
        "kept_size": "" if kept is None else size_text(kept.size),
    }
    return render(request, "curator/add.html", status=status, **values)


def _announced(request: Request) -> int | None:
    length = request.headers.get("content-length", "")
    return int(length) if length.isdecimal() else None
