"""Adding datasets, from files that were sent or from a folder that is there; removing them."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import delete

from sunveil.errors import ParameterError
from sunveil.ledger.households import HOUSEHOLD, METER
from sunveil.service.context import Service
from sunveil.service.curator.inference import (
    OPTIONS,
    OUTPUT,
    job_id,
    job_of,
    jobs_of,
    note_changes,
)
from sunveil.service.curator.previews import forget_preview
from sunveil.service.curator.systems_table import cached_systems
from sunveil.service.store.datasets import (
    NAME,
    NEW,
    READY,
    Served,
    add_served,
    find_promised,
    find_served,
)
from sunveil.service.store.schema import served as served_table
from sunveil.service.uploads import Received, Staging, UploadLimits, UploadRefused, find_below
from sunveil.service.uploads.data_folder import list_below
from sunveil.service.uploads.guarded import run_guarded
from sunveil.service.uploads.limits import MEGABYTE

LONGEST_TITLE, LONGEST_ABOUT, LONGEST_OPTION = 120, 2000, 100
# Folders and files below the data folder that are the service's own.
OWN = ("datasets", "jobs")
MINE = "this folder is the service's own; name another one"
# A column with more groups than this is no public group.
MOST_GROUPS = 200
PLACE = ("latitude", "longitude", "altitude")


@dataclass(frozen=True, slots=True)
class DatasetForm:
    """What a curator fills in for a new dataset.

    Parameters
    ----------
    title, about
        What it is, for people.
    options
        Options of the inference, by name, as texts.
    """

    title: str
    about: str
    options: dict[str, str]

    def __post_init__(self) -> None:
        if not self.title.strip() or len(self.title) > LONGEST_TITLE:
            raise UploadRefused(f"give the dataset a name of 1 to {LONGEST_TITLE} characters")
        if not NAME.fullmatch(slug(self.title)):
            raise UploadRefused("the dataset's name needs a letter from a to z or a digit")
        if len(self.about) > LONGEST_ABOUT:
            raise UploadRefused(f"describe the dataset in at most {LONGEST_ABOUT} characters")
        _check_reading(self.options)

    @classmethod
    def of(cls, fields: dict[str, str]) -> DatasetForm:
        """Return the form from its fields; fields that are missing are empty."""
        options = {name: fields.get(name, "").strip()[:LONGEST_OPTION] for name in OPTIONS}
        if options["separator"].lower() == "tab":
            options["separator"] = "\t"
        return cls(
            fields.get("title", "").strip(),
            fields.get("about", "").strip(),
            {name: value for name, value in options.items() if value and value != "auto"},
        )


def _check_reading(options: dict[str, str]) -> None:
    """Refuse what says in no way that is known how readings are written."""
    from sunveil.service.reading import options_from

    try:
        options_from(options)
    except ParameterError as error:
        raise UploadRefused(str(error)) from None


def slug(title: str) -> str:
    """Return a title as it stands in links."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-")


def upload_limits(service: Service) -> UploadLimits:
    """Return what one upload may be at most; tables unpack to a few times their size."""
    body = service.settings.upload_limit
    return UploadLimits(body=body, unpacked=8 * body, spare=min(64 * MEGABYTE, body))


def add_upload(service: Service, received: Received, staging: Staging) -> Served:
    """Keep what was sent as a new dataset, or refuse it, and then keep nothing.

    Parameters
    ----------
    service
        Where it is added.
    received
        The fields and files that came.
    staging
        Where the files lie until all of them are known to be good.
    """
    form = DatasetForm.of(received.fields)
    name = _free_name(service, form)
    found = take_files(service, received, staging, options=form.options)
    made = described(form, name, meters="meters", table=found["table"], found=found)
    with service.store.changing() as connection:
        # the name is held by now: what lies under it was left by a process that was killed
        add_served(connection, made)
        shutil.rmtree(service.settings.datasets / name, ignore_errors=True)
        staging.put(name)
    return made


def take_files(
    service: Service, received: Received, staging: Staging, *, options: dict[str, str]
) -> dict[str, Any]:
    """Put received files in their place below the staging folder, and return what they say.

    Parameters
    ----------
    service
        Whose limits hold.
    received, staging
        What came, and where it lies.
    options
        How the readings are to be read.
    """
    from sunveil.service.reading import options_from
    from sunveil.service.uploads.intake import take_in

    whole = staging.folder / "whole"
    whole.mkdir(mode=0o700)
    reading = service.settings.reading
    found: dict[str, Any] = run_guarded(
        take_in,
        received.files,
        whole,
        upload_limits(service),
        reading,
        options_from(options),
        place_of(received.fields),
        limits=reading,
    )
    return found


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
    """Keep a folder of readings and a table of systems as a new dataset, where they are.

    Parameters
    ----------
    service
        Where it is added.
    form
        What the curator says of it.
    meters, systems
        Paths below the service's data folder: the readings, and the table of systems.
    """
    readings, table = named_files(service, meters, systems)
    name = _free_name(service, form)
    found = look_at_files(service, readings, table, options=form.options)
    made = described(form, name, meters=str(readings), table=str(table), found=found)
    with service.store.changing() as connection:
        add_served(connection, made)
        (service.settings.datasets / name).mkdir(mode=0o700, exist_ok=True)
    return made


def named_files(service: Service, meters: str, systems: str) -> tuple[Path, Path]:
    """Return the readings and the table of systems that a curator has named, or refuse them.

    Parameters
    ----------
    service
        Below whose data folder they are.
    meters, systems
        Paths of both.
    """
    readings, table = (_below(service, each) for each in (meters, systems))
    if not table.is_file():
        raise UploadRefused("the table of systems is a file: CSV, Parquet or .xlsx; name one")
    if readings == table or readings == Path(os.path.realpath(service.settings.data)):
        raise UploadRefused("name the folder of the readings, and the table of systems beside it")
    return readings, table


def look_at_files(
    service: Service, meters: Path, table: Path, *, options: dict[str, str]
) -> dict[str, Any]:
    """Return what files that lie on the service's disk say of a dataset.

    Parameters
    ----------
    service
        Whose limits hold.
    meters, table
        The readings and the table of systems.
    options
        How the readings are to be read.
    """
    from sunveil.service.reading import options_from
    from sunveil.service.uploads.intake import look_at_named

    reading = service.settings.reading
    found: dict[str, Any] = run_guarded(
        look_at_named, meters, table, reading, options_from(options), limits=reading
    )
    return found


def nameable_folders(service: Service) -> list[str]:
    """Return the files and folders below the data folder that may become a dataset."""
    found = list_below(service.settings.data)
    return [name for name in found if name not in OWN]


def change_reading(service: Service, name: str, options: dict[str, str]) -> None:
    """Read the files of a dataset in another way, and forget what was inferred before.

    After the promise, that is for an edition of which nothing can have been asked yet.

    Parameters
    ----------
    service, name
        The dataset.
    options
        How the readings are to be read.
    """
    with service.store.reading() as connection:
        coming = find_served(connection, name).upcoming
    if coming.meters is None or "systems_table" not in coming.extra:
        raise UploadRefused("this dataset came without readings, so there is nothing to read again")
    folder = coming.path(service.settings.datasets)
    table = folder / str(coming.extra["systems_table"])
    found = look_at_files(service, folder / coming.meters, table, options=options)
    restart(service, name)
    forget_preview(service, name)
    facts = {key: found[key] for key in ("listed", "net")}
    extra = {**coming.extra, "options": options, **facts}
    place = {key: found["place"].get(key) for key in (*PLACE, "timezone")}
    with service.store.changing() as connection:
        note_changes(connection, name, {"state": NEW, "extra": extra, **place})


def restart(service: Service, name: str) -> None:
    """Forget an inference and its estimates, so that it can begin from nothing.

    After the promise, that is for an edition of which nothing can have been asked yet.
    """
    with service.store.reading() as connection:
        served = find_served(connection, name).upcoming
    if served.state == READY:
        _before_promise(service, name, "its estimates stay as they are; add another edition")
    if job_of(service, name) is not None:
        jobs_of(service).remove(job_id(name))
    shutil.rmtree(served.path(service.settings.datasets) / OUTPUT, ignore_errors=True)
    with service.store.changing() as connection:
        note_changes(connection, name, {"state": NEW, "estimates": None})


def remove(service: Service, name: str) -> None:
    """Remove a dataset of which nothing was charged, and its files if they were sent here.

    A promise that nothing was spent of is withdrawn, and the ledger remembers that it was.
    """
    with service.store.reading() as connection:
        find_served(connection, name)
        promised = find_promised(connection, name)
    job = job_of(service, name)
    if job is not None and not job.state.over:
        raise ParameterError("this work is running; cancel it before it is removed")
    if promised is not None and name not in service.ledger.withdrawn():
        service.ledger.withdraw(name)
    if job is not None:
        jobs_of(service).remove(job_id(name))
    forget_preview(service, name)
    with service.store.changing() as connection:
        connection.execute(delete(served_table).where(served_table.c.name == name))
    # readings that were only named lie elsewhere, and stay
    shutil.rmtree(service.settings.datasets / name, ignore_errors=True)


def public_groups(path: Path) -> dict[str, list[str]]:
    """Return the columns of a table of systems that could divide the fleet, with their groups.

    Every system has a group, those that cannot be used too: all rows of the table count. A column
    whose cells have no text, such as lists, divides nothing.
    """
    import pyarrow as pa

    from sunveil.fleet.columns import key_texts

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
    with service.store.reading() as connection:
        taken = connection.execute(
            served_table.select().where(served_table.c.name == name)
        ).one_or_none()
        if taken is not None or find_promised(connection, name) is not None:
            raise UploadRefused(
                f"there is a dataset named {name} already; give this one another name"
            )
    return name


def described(
    form: DatasetForm, name: str, *, meters: str, table: str, found: dict[str, Any]
) -> Served:
    """Return a dataset as a curator's form and its table of systems describe it.

    Parameters
    ----------
    form, name
        What the curator says of it, and its name in links.
    meters, table
        Paths in its folder of the readings and of the table of systems.
    found
        What reading them found.
    """
    made = Served(
        name=name, title=form.title, about=form.about, folder=name, meters=meters, **found["place"]
    )
    extra = {
        "systems_table": table,
        "options": form.options,
        **{key: found[key] for key in ("listed", "net", "notes")},
    }
    return replace(made, extra=extra)


def _before_promise(service: Service, name: str, why: str) -> None:
    with service.store.reading() as connection:
        if find_promised(connection, name) is not None:
            raise ParameterError(f"a promise has been made for {name}, so that {why}")
