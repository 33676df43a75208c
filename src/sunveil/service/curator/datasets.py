"""Add, change, remove datasets."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
from fastapi import Form
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import delete
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.errors import ParameterError, SourceError
from sunveil.ledger.promises import HOUSEHOLD, METER
from sunveil.ledger.statements import shares_of_dataset
from sunveil.service.context import Problem, Service, service_of
from sunveil.service.curator.inference import (
    OPTIONS,
    OUTPUT,
    dataset_view,
    dataset_view_of,
    forget_preview,
    infer_if_clear,
    job_id,
    job_of,
    jobs_of,
    note_changes,
    preview_of,
    results_of,
    start_inference,
)
from sunveil.service.guarded_routes import curator_router
from sunveil.service.limited_process import run_guarded
from sunveil.service.page_rendering import redirect, render
from sunveil.service.settings import MEGABYTE, UploadLimits
from sunveil.service.store.database import NAME, Served
from sunveil.service.store.datasets import (
    NEW,
    READY,
    add_served,
    all_served,
    find_promised,
    find_served,
)
from sunveil.service.uploads import (
    Received,
    Staging,
    UploadRefused,
    find_below,
)

if TYPE_CHECKING:
    from sunveil.fleet.systems_table import SystemTable
    from sunveil.meters.reading_options import MeterOptions

LONGEST_TITLE, LONGEST_ABOUT, LONGEST_OPTION = 120, 2000, 100

# Folders and files below the data folder that are the service's own.
OWN = ("datasets", "jobs")
MINE = "this folder is the service's own; name another one"

# A column with more groups than this is no public group.
MOST_GROUPS = 200
PLACE = ("latitude", "longitude", "altitude")


@dataclass(frozen=True, slots=True)
class DatasetForm:
    title: str  # public
    about: str  # public
    options: dict[str, str]  # of reading and inferring

    @classmethod
    def of(cls, fields: dict[str, str]) -> DatasetForm:
        title, about = (fields.get(name, "").strip() for name in ("title", "about"))
        if not title or len(title) > LONGEST_TITLE:
            raise UploadRefused(f"give the dataset a name of 1 to {LONGEST_TITLE} characters")
        if not NAME.fullmatch(slug(title)):
            raise UploadRefused("the dataset's name needs a letter from a to z or a digit")
        if len(about) > LONGEST_ABOUT:
            raise UploadRefused(f"describe the dataset in at most {LONGEST_ABOUT} characters")
        return cls(title, about, options_of(fields))


def options_of(fields: dict[str, str]) -> dict[str, str]:
    """Return the options of reading and inferring in a form, or refuse those of reading."""
    from sunveil.service.upload_checks import options_from

    given = {name: fields.get(name, "").strip()[:LONGEST_OPTION] for name in OPTIONS}
    if given["separator"].lower() == "tab":
        given["separator"] = "\t"
    options = {name: value for name, value in given.items() if value and value != "auto"}
    try:
        options_from(options)
    except ParameterError as error:
        raise UploadRefused(str(error)) from None
    return options


def title_from(names: Sequence[str]) -> str:
    """Return a title from the names of files or of their folder, where the curator gave none."""
    named = [name for name in names if Path(name).stem.lower() != "systems"] or list(names)
    if not named:
        return ""
    parts = Path(named[0]).parts
    name = parts[0] if len(parts) > 1 else parts[0].partition(".")[0]
    return re.sub(r"[_\s]+", " ", name).strip().capitalize()[:LONGEST_TITLE]


def slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


def upload_limits(service: Service) -> UploadLimits:
    """Return what one upload may be at most; tables unpack to a few times their size."""
    body = service.settings.upload_limit
    return UploadLimits(body=body, unpacked=8 * body, spare=min(64 * MEGABYTE, body))


def add_upload(service: Service, received: Received, staging: Staging) -> Served:
    """Keep an upload as a new dataset, or refuse it and keep nothing."""
    fields = dict(received.fields)
    fields["title"] = fields.get("title", "").strip() or title_from(
        [file.name for file in received.files if file.field == "meters"]
    )
    form = DatasetForm.of(fields)
    name = _free_name(service, form)
    found = take_files(service, received, staging, options=form.options)
    made = described(form, name, meters="meters", found=found)
    with service.store.changing() as db:
        # the name is taken by now: older files under it are of a killed process
        add_served(db, made)
        shutil.rmtree(service.settings.datasets / name, ignore_errors=True)
        staging.put(name)
    return made


def take_files(
    service: Service, received: Received, staging: Staging, *, options: dict[str, str]
) -> dict[str, Any]:
    """Put received files into the staging folder, and return what they say of the dataset."""
    from sunveil.service.upload_checks import options_from, take_in

    whole = staging.folder / "whole"
    whole.mkdir(mode=0o700)
    reading = service.settings.reading
    return run_guarded(
        take_in,
        received.files,
        whole,
        upload_limits(service),
        reading,
        options_from(options),
        place_of(received.fields),
        limits=reading,
    )


def place_of(fields: dict[str, str]) -> dict[str, float] | None:
    """Return the one place of all systems that a form gives, or None where it gives none."""
    given = {name: fields.get(name, "").strip() for name in PLACE}
    if not given["latitude"] and not given["longitude"]:
        return None
    found = {}
    for name, text in given.items():
        if not text and name == "altitude":
            continue
        try:
            found[name] = float(text.replace(",", "."))
        except ValueError:
            raise UploadRefused(
                f"the {name} of all systems is a number of degrees, such as 48.1; correct it"
                if name != "altitude"
                else "the altitude of all systems is a number of metres; correct it"
            ) from None
    return found


def add_folder(service: Service, form: DatasetForm, *, meters: str, systems: str) -> Served:
    """Add a folder of readings and a table of systems as a dataset, in place."""
    readings, table = named_files(service, meters, systems)
    name = _free_name(service, form)
    found = look_at_files(service, readings, table, options=form.options)
    meters, found["table"] = (relative_to(service, name, path) for path in (readings, table))
    made = described(form, name, meters=meters, found=found)
    with service.store.changing() as db:
        add_served(db, made)
        (service.settings.datasets / name).mkdir(mode=0o700, exist_ok=True)
    return made


def relative_to(service: Service, folder: str, path: Path) -> str:
    """Return a path as seen from a dataset's folder, so that the data folder can be moved."""
    return os.path.relpath(path, Path(os.path.realpath(service.settings.data), "datasets", folder))


def named_files(service: Service, meters: str, systems: str) -> tuple[Path, Path]:
    """Return the readings and the table of systems that a curator has named, or refuse them."""
    readings, table = (_below(service, each) for each in (meters, systems))
    if not table.is_file():
        raise UploadRefused("the table of systems is a file: CSV, Parquet or .xlsx; name one")
    if readings == table or readings == Path(os.path.realpath(service.settings.data)):
        raise UploadRefused("name the folder of the readings, and the table of systems beside it")
    return readings, table


def look_at_files(
    service: Service, meters: Path, table: Path, *, options: dict[str, str]
) -> dict[str, Any]:
    from sunveil.service.upload_checks import look_at_named, options_from

    reading = service.settings.reading
    return run_guarded(look_at_named, meters, table, reading, options_from(options), limits=reading)


def store_reading_options(service: Service, name: str, options: dict[str, str]) -> None:
    """Change how files are read, and discard earlier estimates."""
    # After the promise, that is for an edition of which nothing can have been asked yet.
    with service.store.reading() as db:
        coming = find_served(db, name).upcoming
    if coming.meters is None or "systems_table" not in coming.extra:
        raise UploadRefused("this dataset came without readings, so there is nothing to read again")
    datasets = service.settings.datasets
    table = coming.path(datasets, str(coming.extra["systems_table"]))
    meters = coming.path(datasets, coming.meters)
    found = look_at_files(service, meters, table, options=options)
    forget_inference(service, name)
    forget_preview(service, name)
    facts = {key: found[key] for key in ("listed", "net")}
    extra = {**coming.extra, "options": options, **facts}
    place = {key: found["place"].get(key) for key in (*PLACE, "timezone")}
    with service.store.changing() as db:
        note_changes(db, name, {"state": NEW, "extra": extra, **place})


def forget_inference(service: Service, name: str) -> None:
    # After the promise, that is for an edition of which nothing can have been asked yet.
    with service.store.reading() as db:
        served, promised = find_served(db, name).upcoming, find_promised(db, name)
    if served.state == READY and promised is not None:
        raise ParameterError(
            f"a promise has been made for {name}, so that its estimates stay as they are;"
            " add another edition"
        )
    if job_of(service, name) is not None:
        jobs_of(service).remove(job_id(name))
    shutil.rmtree(served.path(service.settings.datasets) / OUTPUT, ignore_errors=True)
    with service.store.changing() as db:
        note_changes(db, name, {"state": NEW, "estimates": None})


def remove_dataset(service: Service, name: str) -> None:
    """Remove a dataset without charges, and its uploaded files."""
    # A promise that nothing was spent of is withdrawn, and the ledger remembers that it was.
    with service.store.reading() as db:
        find_served(db, name)
        promised = find_promised(db, name)
    job = job_of(service, name)
    if job is not None and not job.state.over:
        raise ParameterError("this work is running; cancel it before it is removed")
    if promised is not None and name not in service.ledger.withdrawn():
        service.ledger.withdraw(name)
    if job is not None:
        jobs_of(service).remove(job_id(name))
    forget_preview(service, name)
    with service.store.changing() as db:
        db.execute(delete(Served).where(Served.name == name))
    # readings that were only named lie elsewhere, and stay
    shutil.rmtree(service.settings.datasets / name, ignore_errors=True)


def public_groups(path: Path) -> dict[str, list[str]]:
    """Return the columns of a table of systems that could divide the fleet, with their groups."""
    # Every system has a group, those that cannot be used too: all rows of the table count. A column
    # of lists divides nothing.
    from sunveil.estimates.estimates_table import key_texts

    systems = cached_systems(path)
    found = {}
    for name in systems.keys.column_names:
        if name.strip().lower() in (HOUSEHOLD, METER):  # keys of customers divide nothing
            continue
        try:
            texts = {
                text
                for table in (systems.keys, systems.refused_keys)
                for text in key_texts(table.column(name)).unique().to_pylist()
            }
        except pa.ArrowException:
            continue
        if 1 < len(texts) <= MOST_GROUPS and "" not in texts:
            found[name] = sorted(texts)
    return found


def _below(service: Service, name: str) -> Path:
    if Path(name.strip()).parts[:1] in {(each,) for each in OWN}:
        raise UploadRefused(MINE)
    found = find_below(service.settings.data, name)
    root = Path(os.path.realpath(service.settings.data))
    if found != root and found.relative_to(root).parts[0] in OWN:  # by a link
        raise UploadRefused(MINE)
    return found


def _free_name(service: Service, form: DatasetForm) -> str:
    name = slug(form.title)
    with service.store.reading() as db:
        if db.get(Served, name) is not None or find_promised(db, name) is not None:
            raise UploadRefused(
                f"there is a dataset named {name} already; give this one another name"
            )
    return name


def described(form: DatasetForm, name: str, *, meters: str, found: dict[str, Any]) -> Served:
    """Return a dataset as a curator's form and its table of systems describe it."""
    facts = facts_of(found, form.options)
    return Served(name, form.title, name, form.about, meters=meters, **facts)


def facts_of(found: dict[str, Any], options: dict[str, str]) -> dict[str, Any]:
    """Return the columns of a dataset that its table of systems and options determine."""
    place = {key: found["place"].get(key) for key in (*PLACE, "timezone")}
    kept = {key: found[key] for key in ("listed", "net", "notes")}
    return {**place, "extra": {"systems_table": found["table"], "options": options, **kept}}


router = curator_router()


@router.get("")
def home(request: Request) -> Response:
    service = service_of(request)
    with service.store.reading() as db:
        names = [served.name for served in all_served(db)]
    found = [dataset_view_of(service, name) for name in names]
    return render(request, "curator/home.html", found=found)


@router.get("/datasets/{name}")
def overview(request: Request, name: str) -> Response:
    service, found = service_of(request), dataset_view(request, name)
    values: dict[str, Any] = found.template_values()
    with service.store.reading() as db:
        values["shares"] = shares_of_dataset(db.connection(), name)
    results = results_of(service, found.served)
    values["summary"] = results.summary() if results.exist else None
    values["preview"] = preview = preview_of(service, found.served)
    if infer_if_clear(service, found.served, preview):
        values |= dataset_view(request, name).template_values()
    return render(request, "curator/overview.html", **values)


@router.get("/datasets/{name}/progress")
def progress(request: Request, name: str) -> Response:
    """Say how far an inference is, for the page that waits for it."""
    job = dataset_view(request, name).job
    return JSONResponse(None if job is None else job.to_dict())


@router.get("/datasets/{name}/preview")
def preview(request: Request, name: str) -> Response:
    found = preview_of(service_of(request), dataset_view(request, name).served)
    return JSONResponse(None if found is None else found.job.to_dict())


@router.post("/datasets/{name}/preview")
def preview_again(request: Request, name: str) -> Response:
    dataset_view(request, name)
    forget_preview(service_of(request), name)
    return redirect(request, f"/curator/datasets/{name}")


class TextFields(BaseModel):
    """A form about readings; missing fields are empty, and any option may be among them."""

    model_config = ConfigDict(extra="allow")

    title: Annotated[str, Field(max_length=200)] = ""
    about: Annotated[str, Field(max_length=4000)] = ""
    edition: Annotated[str, Field(max_length=200)] = ""
    others: Annotated[str, Field(max_length=20)] = ""
    meters: Annotated[str, Field(max_length=200)] = ""
    systems: Annotated[str, Field(max_length=200)] = ""

    def texts(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.model_dump().items()}


@router.get("/datasets/{name}/reading")
def reading_form(request: Request, name: str) -> Response:
    found = dataset_view(request, name)
    return _reading_page(request, name, found.served.upcoming.extra.get("options", {}))


@router.post("/datasets/{name}/reading")
def change_reading(request: Request, name: str, given: Annotated[TextFields, Form()]) -> Response:
    dataset_view(request, name)
    try:
        store_reading_options(service_of(request), name, options_of(given.texts()))
    except (SourceError, ParameterError) as error:
        return _reading_page(request, name, given.texts(), problem=str(error), status=422)
    message = "The files are being read again."
    return redirect(request, f"/curator/datasets/{name}", message=message)


def _reading_page(
    request: Request, name: str, given: dict[str, str], *, problem: str = "", status: int = 200
) -> Response:
    values = dataset_view(request, name).template_values()
    values |= {"given": {key: given.get(key, "") for key in OPTIONS}, "problem": problem}
    return render(request, "curator/change_reading.html", status=status, **values)


@router.post("/datasets/{name}/infer")
def infer(request: Request, name: str) -> Response:
    service, found = service_of(request), dataset_view(request, name)
    preview = preview_of(service, found.served)
    if preview is not None and preview.blocks:
        raise Problem(409, "The files are being read, or could not be read; see the dataset.")
    start_inference(service, name)
    return redirect(request, f"/curator/datasets/{name}")


@router.post("/datasets/{name}/cancel")
def cancel(request: Request, name: str) -> Response:
    dataset_view(request, name)
    jobs_of(service_of(request)).cancel(job_id(name))
    message = "The inference was stopped. It can be resumed."
    return redirect(request, f"/curator/datasets/{name}", message=message, kind="note")


@router.post("/datasets/{name}/restart")
def restart(request: Request, name: str) -> Response:
    dataset_view(request, name)
    forget_inference(service_of(request), name)
    start_inference(service_of(request), name)
    return redirect(request, f"/curator/datasets/{name}")


@router.post("/datasets/{name}/remove")
def remove(request: Request, name: str) -> Response:
    title = dataset_view(request, name).served.title
    remove_dataset(service_of(request), name)
    return redirect(request, "/curator", message=f"{title} was removed.", kind="note")


def cached_systems(table: Path, options: MeterOptions | None = None) -> SystemTable:
    """Return the systems of a table, from memory if its file has not changed since."""
    status = table.stat()
    return _read(table, options, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _read(table: Path, options: MeterOptions | None, _modified: int, _size: int) -> SystemTable:
    from sunveil.fleet.systems_table import read_systems

    return read_systems(table) if options is None else read_systems(table, options)
