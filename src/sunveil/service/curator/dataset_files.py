"""Adding datasets, from files that were sent or from a folder that is there; removing them."""

from __future__ import annotations

import os
import re
import shutil
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from sunveil.service.curator.systems_table import cached_systems
from sunveil.service.store.datasets import (
    NAME,
    READY,
    Served,
    add_served,
    find_promised,
    find_served,
)
from sunveil.service.store.schema import served as served_table
from sunveil.service.uploads import Received, Staging, UploadLimits, UploadRefused, find_below
from sunveil.service.uploads.data_folder import list_below
from sunveil.service.uploads.limits import MEGABYTE

if TYPE_CHECKING:
    from sunveil.fleet.systems import SystemTable

LONGEST_TITLE, LONGEST_ABOUT, LONGEST_OPTION = 120, 2000, 100
# Folders and files below the data folder that are the service's own.
OWN = ("datasets", "jobs")
MINE = "this folder is the service's own; name another one"
# A column with more groups than this is no public group.
MOST_GROUPS = 200
# Systems that are no further apart have one place. [degrees]
ONE_PLACE_DEGREES = 0.2


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
            raise UploadRefused(f"give the dataset a name of 1 to {LONGEST_TITLE} letters")
        if not NAME.fullmatch(slug(self.title)):
            raise UploadRefused("the dataset's name needs a letter from a to z or a digit")
        if len(self.about) > LONGEST_ABOUT:
            raise UploadRefused(f"describe the dataset in at most {LONGEST_ABOUT} letters")
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
    from sunveil.service.uploads.tables import place_files

    form = DatasetForm.of(received.fields)
    name = _free_name(service, form)
    whole = staging.folder / "whole"
    whole.mkdir(mode=0o700)
    upload = place_files(received.files, whole, limits=upload_limits(service))
    made = described(form, name, meters="meters", table=upload.systems.name, path=upload.systems)
    with service.store.changing() as connection:
        # the name is held by now: what lies under it was left by a process that was killed
        add_served(connection, made)
        shutil.rmtree(service.settings.datasets / name, ignore_errors=True)
        staging.put(name)
    return made


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
    made = described(form, name, meters=str(readings), table=str(table), path=table)
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
    from sunveil.service.uploads.tables import check_systems

    readings, table = (_below(service, each) for each in (meters, systems))
    if not table.is_file():
        raise UploadRefused("the table of systems is a file, Parquet or CSV; name one")
    if readings == table or readings == Path(os.path.realpath(service.settings.data)):
        raise UploadRefused("name the folder of the readings, and the table of systems beside it")
    check_systems(table)
    return readings, table


def nameable_folders(service: Service) -> list[str]:
    """Return the files and folders below the data folder that may become a dataset."""
    found = list_below(service.settings.data)
    return [name for name in found if name not in OWN]


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
        note_changes(connection, name, {"state": "new", "estimates": None})


def remove(service: Service, name: str) -> None:
    """Remove a dataset for which nothing was promised, and its files if they were sent here."""
    _before_promise(service, name, "it stays")
    restart(service, name)
    with service.store.changing() as connection:
        connection.execute(delete(served_table).where(served_table.c.name == name))
    # readings that were only named lie elsewhere, and stay
    shutil.rmtree(service.settings.datasets / name, ignore_errors=True)


def public_groups(path: Path) -> dict[str, list[str]]:
    """Return the columns of a table of systems that could divide the fleet, with their groups.

    Every system has a group, those that cannot be used too: all rows of the table count.
    """
    import pyarrow as pa

    systems = cached_systems(path)
    found = {}
    for name in systems.keys.column_names:
        if name.strip().lower() in (HOUSEHOLD, METER):  # keys of customers divide nothing
            continue
        texts = [
            str(text) if text is not None else ""
            for table in (systems.keys, systems.refused_keys)
            for text in table.column(name).cast(pa.string()).unique().to_pylist()
        ]
        groups = sorted(set(texts))
        if 1 < len(groups) <= MOST_GROUPS and "" not in groups:
            found[name] = groups
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
            raise UploadRefused(f"there is a dataset named {name} already; choose another name")
    return name


def described(form: DatasetForm, name: str, *, meters: str, table: str, path: Path) -> Served:
    """Return a dataset as a curator's form and its table of systems describe it.

    Parameters
    ----------
    form, name
        What the curator says of it, and its name in links.
    meters, table
        Paths in its folder of the readings and of the table of systems.
    path
        Where the table is now.
    """
    from sunveil.service.reading import options_from

    systems = cached_systems(path, options_from(form.options))
    place = _one_place(systems)
    made = Served(
        name=name, title=form.title, about=form.about, folder=name, meters=meters, **place
    )
    extra = {
        "systems_table": table,
        "options": form.options,
        "listed": len(systems),
        "notes": list(systems.notes),
    }
    return replace(made, extra=extra)


def _one_place(systems: SystemTable) -> dict[str, Any]:
    """Return the place of a fleet that has one: single systems are released under one sky."""
    if not len(systems):
        raise UploadRefused("the table of systems has no system with a place; correct it")
    found: dict[str, Any] = {}
    for name in ("latitude", "longitude"):
        values = getattr(systems, name)
        if float(values.max() - values.min()) > ONE_PLACE_DEGREES:
            return {}
        found[name] = round(float(values.mean()), 4)
    known = systems.altitude[systems.altitude == systems.altitude]  # without those not given
    if len(known):
        found["altitude"] = round(float(known.mean()), 1)
    if len(systems.zones) == 1:
        found["timezone"] = systems.zones[0]
    return found


def _before_promise(service: Service, name: str, why: str) -> None:
    with service.store.reading() as connection:
        if find_promised(connection, name) is not None:
            raise ParameterError(f"a promise has been made for {name}, so that {why}")
