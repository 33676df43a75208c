"""Forms that add readings: a new dataset, or another version under the same promise."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.errors import ParameterError, SourceError
from sunveil.ledger.promises import SystemHome
from sunveil.service.authentication import Identity
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.curator.datasets import (
    OWN,
    PLACE,
    DatasetForm,
    TextFields,
    add_folder,
    add_upload,
    cached_systems,
    facts_of,
    look_at_files,
    named_files,
    options_of,
    public_groups,
    relative_to,
    take_files,
    title_from,
    upload_limits,
)
from sunveil.service.curator.inference import (
    OPTIONS,
    dataset_view,
    forget_preview,
    job_id,
    job_of,
    jobs_of,
)
from sunveil.service.guarded_routes import CuratorPage, check_token, curator_router, takes_uploads
from sunveil.service.page_rendering import count_of, identity_of, redirect, render
from sunveil.service.settings import size_text
from sunveil.service.store.database import Served
from sunveil.service.store.datasets import NEW, READY, change_served, find_promised, find_served
from sunveil.service.uploads import (
    KeptFiles,
    Received,
    Staging,
    UploadRefused,
    UploadTooLarge,
    drop_kept,
    find_kept,
    keep_files,
    list_below,
    receive,
    with_kept,
)

LONGEST_EDITION = 60


@dataclass(frozen=True, slots=True)
class EditionForm:
    edition: str  # its public name, such as a year
    others: bool  # whether systems without a household's key that are new here are other households
    options: dict[str, str]  # of reading and inferring

    @classmethod
    def of(cls, fields: dict[str, str]) -> EditionForm:
        edition = fields.get("edition", "").strip()
        if not edition or len(edition) > LONGEST_EDITION or not edition.isprintable():
            raise UploadRefused(
                f"give the version a name of 1 to {LONGEST_EDITION} characters, such as 2027"
            )
        return cls(edition, bool(fields.get("others")), options_of(fields))


def upload_edition(service: Service, name: str, received: Received, staging: Staging) -> Served:
    """Keep an upload as the next version of a dataset, or refuse it and keep nothing."""
    form = EditionForm.of(received.fields)
    served = _check(service, name, form)
    found = take_files(service, received, staging, options=form.options)
    table = staging.folder / "whole" / str(found["table"])
    coming = _coming(service, served, form, found, meters="meters", path=table)
    (service.settings.datasets / name).mkdir(mode=0o700, exist_ok=True)
    staging.put(coming["folder"])
    return _note(service, name, coming)


def folder_edition(
    service: Service, name: str, form: EditionForm, *, meters: str, systems: str
) -> Served:
    """Keep a folder of readings and a table of systems as the next edition, where they are."""
    served = _check(service, name, form)
    readings, table = named_files(service, meters, systems)
    found = look_at_files(service, readings, table, options=form.options)
    folder = _next_folder(service, name)
    inside, found["table"] = (relative_to(service, folder, path) for path in (readings, table))
    coming = _coming(service, served, form, found, meters=inside, path=table)
    (service.settings.datasets / coming["folder"]).mkdir(mode=0o700, parents=True)
    return _note(service, name, coming)


def drop_edition(service: Service, name: str) -> None:
    """Delete a new version that is not inferred yet; the current one stays."""
    with service.store.reading() as db:
        served = find_served(db, name)
    if "next" not in served.extra:
        raise ParameterError("there is no new version to delete")
    if job_of(service, name) is not None:
        jobs_of(service).remove(job_id(name))
    forget_preview(service, name)
    with service.store.changing() as db:
        extra = dict(find_served(db, name).extra)
        extra.pop("next", None)
        change_served(db, name, extra=extra)
    shutil.rmtree(served.upcoming.path(service.settings.datasets), ignore_errors=True)


def _check(service: Service, name: str, form: EditionForm) -> Served:
    """Return the dataset, if it can have another edition by this name."""
    with service.store.reading() as db:
        served, promised = find_served(db, name), find_promised(db, name)
    if promised is None:
        raise UploadRefused("the dataset has no promise yet; remove it and add the new readings")
    if served.upcoming is not served or served.state != READY:
        raise UploadRefused("a new version is waiting; infer or delete it first")
    if form.edition in (served.edition, *served.extra.get("editions", [])):
        # its questions would be answered by what was drawn from other readings
        raise UploadRefused("there is a version of this name; choose another")
    return served


def _coming(
    service: Service,
    served: Served,
    form: EditionForm,
    found: dict[str, Any],
    *,
    meters: str,
    path: Path,
) -> dict[str, Any]:
    """Return the columns of a dataset that its next edition will change; register its systems."""
    _register(service, served.name, form, path=path)
    groups = public_groups(path)
    facts = facts_of(found, form.options)
    facts["extra"]["editions"] = [*served.extra.get("editions", []), served.edition]
    return {
        "folder": _next_folder(service, served.name),
        "edition": form.edition,
        "meters": meters,
        "places": None,
        "state": NEW,
        "estimates": None,
        "systems": None,
        "keys": {key: groups[key] for key in served.keys if key in groups},
        **facts,
    }


def _next_folder(service: Service, name: str) -> str:
    number = 2
    while (service.settings.datasets / name / f"edition-{number}").exists():
        number += 1
    return f"{name}/edition-{number}"


def _register(service: Service, name: str, form: EditionForm, *, path: Path) -> None:
    """Register new systems, by household keys or as new households if the curator allows."""
    from sunveil.publish.publisher import read_households
    from sunveil.service.upload_checks import options_from

    options = options_from(form.options)
    systems = cached_systems(path, options)
    known = {home.system_id: home for home in read_households(path, options.system_column)}
    listed = [*systems.ids.to_pylist(), *(each.system_id for each in systems.refused)]
    homes = [known.get(each, SystemHome(each)) for each in listed]
    service.ledger.register(name, homes, add=form.others)


def _note(service: Service, name: str, coming: dict[str, Any]) -> Served:
    if job_of(service, name) is not None:  # the last edition's, which has ended
        jobs_of(service).remove(job_id(name))
    with service.store.changing() as db:
        served = find_served(db, name)
        change_served(db, name, extra={**served.extra, "next": coming})
        return find_served(db, name)


class UploadPage(CuratorPage):
    """A page with a streamed form that carries its own token."""

    async def admit(self, request: Request) -> Identity | Response:
        """Admit a curator; the endpoint checks the form's token as it reads the form."""
        # guarded as a page that is only looked at, since that guard does not read the body
        found = await super().admit(Request({**request.scope, "method": "GET"}))
        if isinstance(found, Response):
            raise Problem(401, "Your session has ended. Sign in again.")
        return found


router = curator_router()
upload_router = APIRouter(prefix="/curator", route_class=UploadPage, include_in_schema=False)
WAYS = ("upload", "folder")
FIELDS = ("title", "about", "edition", "others", *PLACE, *OPTIONS, "meters", "systems")
KeptToken = Annotated[str, Query(max_length=64)]


@router.get("/add")
def add_form(request: Request, kept: KeptToken = "") -> Response:
    return _show_form(request, kept)


@upload_router.post("/add/upload")
@takes_uploads
async def upload(request: Request) -> Response:
    return await _take_upload(request, partial(add_upload, service_of(request)))


@router.post("/add/folder")
def add_folder_form(request: Request, given: Annotated[TextFields, Form()]) -> Response:
    def keep(fields: dict[str, str]) -> Served:
        fields["title"] = fields["title"].strip() or title_from([Path(given.meters).name])
        form = DatasetForm.of(fields)
        return add_folder(service_of(request), form, meters=given.meters, systems=given.systems)

    return _take_folder(request, given.texts(), keep)


@router.get("/datasets/{name}/edition")
def edition_form(request: Request, name: str, kept: KeptToken = "") -> Response:
    return _show_form(request, kept, name)


@upload_router.post("/datasets/{name}/edition/upload")
@takes_uploads
async def upload_next(request: Request, name: str) -> Response:
    await run_in_threadpool(dataset_view, request, name)
    return await _take_upload(request, partial(upload_edition, service_of(request), name), name)


@router.post("/datasets/{name}/edition/folder")
def name_folder(request: Request, name: str, given: Annotated[TextFields, Form()]) -> Response:
    dataset_view(request, name)

    def keep(fields: dict[str, str]) -> Served:
        form, service = EditionForm.of(fields), service_of(request)
        return folder_edition(service, name, form, meters=given.meters, systems=given.systems)

    return _take_folder(request, given.texts(), keep, name)


@router.post("/datasets/{name}/edition/drop")
def drop(request: Request, name: str) -> Response:
    dataset_view(request, name)
    drop_edition(service_of(request), name)
    message = "The new version was deleted; the current one stays."
    return redirect(request, f"/curator/datasets/{name}", message=message, kind="note")


def _show_form(request: Request, token: str, name: str = "") -> Response:
    """Show the form of readings, with the files of an upload that was refused."""
    kept = _kept(request, token)
    if kept is None:
        return _page(request, {}, name=name)
    return _page(request, kept.fields, name=name, way="upload", problem=kept.problem, kept=kept)


def _take_folder(
    request: Request,
    fields: dict[str, str],
    keep: Callable[[dict[str, str]], Served],
    name: str = "",
) -> Response:
    """Keep a folder that a form names, or show the form with what is wrong."""
    try:
        made = keep(fields)
    except (SourceError, ParameterError) as error:
        return _page(request, fields, name=name, way="folder", problem=str(error), status=422)
    return _added(request, made)


async def _take_upload(
    request: Request, keep: Callable[[Received, Staging], Served], name: str = ""
) -> Response:
    # What came whole and was refused waits for a second try, so that it is not sent again.
    service, identity = service_of(request), identity_of(request)
    seen: dict[str, str] = {}

    def check(fields: dict[str, str]) -> None:
        check_token(request, identity, fields.get("csrf", ""))
        seen.update(fields)

    home, length = service.settings.datasets, request.headers.get("content-length", "")
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
                announced=int(length) if length.isdecimal() else None,
            )
            fields = received.fields
            before = _kept(request, fields.get("kept", "")) if fields.get("use_kept") else None
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
    except (SourceError, ParameterError) as error:
        status = 413 if isinstance(error, UploadTooLarge) else 422
        problem = str(error)
    else:
        return await run_in_threadpool(_added, request, made)
    if _by_script(request):
        page = f"/curator/datasets/{name}/edition" if name else "/curator/add"
        answer = {"to": f"{page}?kept={token}"} if token else {"problem": problem}
        return JSONResponse(answer, status_code=200 if token else status)
    show = partial(_page, name=name, way="upload", problem=problem, status=status)
    return await run_in_threadpool(show, request, seen, kept=_kept(request, token))


def _added(request: Request, made: Served) -> Response:
    """Send a browser on to its dataset; a script that sent an upload goes there by itself."""
    coming, path = made.upcoming, f"/curator/datasets/{made.name}"
    what = made.title if coming is made else f"Version {coming.edition}"
    message = f"{what} was added with {count_of(coming.extra['listed'], 'system')}."
    answer = redirect(request, path, message=message)
    return JSONResponse({"to": path}) if _by_script(request) else answer


def _by_script(request: Request) -> bool:
    """Return whether an upload was sent by the page's script, which shows how far it is."""
    return "application/json" in request.headers.get("accept", "")


def _kept(request: Request, token: str) -> KeptFiles | None:
    """Return the files of a refused upload that a curator sent before, if they are still here."""
    home = service_of(request).settings.datasets
    return find_kept(home, token, who=identity_of(request).who)


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
    """Return the form of a new dataset, or of the next version of the one that is named."""
    service = service_of(request)
    values: dict[str, Any] = {}
    before: dict[str, str] = {}
    if name:
        found = dataset_view(request, name)
        values, before = found.template_values(), found.served.extra.get("options", {})
    values |= {
        "given": {
            each: {key: (fields if each == way else before).get(key, "") for key in FIELDS}
            for each in WAYS
        },
        "way": way,
        "problem": problem,
        "folders": [each for each in list_below(service.settings.data) if each not in OWN],
        "largest": size_text(service.settings.upload_limit),
        "kept": kept,
        "kept_size": "" if kept is None else size_text(kept.size),
    }
    template = "curator/edition.html" if name else "curator/add.html"
    return render(request, template, status=status, **values)
