"""Another year's readings under the same promise."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import ParameterError
from sunveil.ledger.promises import SystemHome
from sunveil.service.context import Service, service_of
from sunveil.service.curator.datasets import (
    KeptToken,
    TextFields,
    UploadPage,
    cached_systems,
    facts_of,
    look_at_files,
    named_files,
    options_of,
    public_groups,
    relative_to,
    show_form,
    take_files,
    take_folder,
    take_upload,
)
from sunveil.service.curator.inference import dataset_view, forget_preview, job_id, job_of, jobs_of
from sunveil.service.guarded_routes import curator_router, takes_uploads
from sunveil.service.page_rendering import redirect
from sunveil.service.store.database import Served
from sunveil.service.store.datasets import NEW, READY, change_served, find_promised, find_served
from sunveil.service.uploads import Received, Staging, UploadRefused

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


router = curator_router()
upload_router = APIRouter(prefix="/curator", route_class=UploadPage, include_in_schema=False)


@router.get("/datasets/{name}/edition")
def edition_form(request: Request, name: str, kept: KeptToken = "") -> Response:
    return show_form(request, kept, name)


@upload_router.post("/datasets/{name}/edition/upload")
@takes_uploads
async def upload(request: Request, name: str) -> Response:
    await run_in_threadpool(dataset_view, request, name)
    return await take_upload(request, partial(upload_edition, service_of(request), name), name)


@router.post("/datasets/{name}/edition/folder")
def name_folder(request: Request, name: str, given: Annotated[TextFields, Form()]) -> Response:
    dataset_view(request, name)

    def keep(fields: dict[str, str]) -> Served:
        form, service = EditionForm.of(fields), service_of(request)
        return folder_edition(service, name, form, meters=given.meters, systems=given.systems)

    return take_folder(request, given.texts(), keep, name)


@router.post("/datasets/{name}/edition/drop")
def drop(request: Request, name: str) -> Response:
    dataset_view(request, name)
    drop_edition(service_of(request), name)
    message = "The new version was deleted; the current one stays."
    return redirect(request, f"/curator/datasets/{name}", message=message, kind="note")
