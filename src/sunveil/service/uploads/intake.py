"""What a dataset turns out to be, read once: run by :mod:`sunveil.service.uploads.guarded`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.errors import SunveilError
from sunveil.fleet.layouts import FileLayout
from sunveil.fleet.plain_files import iter_file_systems
from sunveil.fleet.reading import system_names
from sunveil.fleet.source import look_at
from sunveil.fleet.systems import SystemTable
from sunveil.meters.options import MeterOptions
from sunveil.meters.refusals import RefusedSystem
from sunveil.service.uploads.errors import UploadRefused
from sunveil.service.uploads.limits import ReadingLimits, UploadLimits
from sunveil.service.uploads.receive import ReceivedFile
from sunveil.service.uploads.tables import check_systems, place_files
from sunveil.site import Site

# Systems that are no further apart have one place. [degrees]
ONE_PLACE_DEGREES = 0.2
MOST_NAMED = 5


def take_in(
    files: Sequence[ReceivedFile],
    into: Path,
    limits: UploadLimits,
    reading: ReadingLimits,
    options: MeterOptions,
    place: Mapping[str, float | str] | None,
) -> dict[str, Any]:
    """Put received files in their place, and return what they say of the dataset.

    Parameters
    ----------
    files
        What was received.
    into
        An empty folder.
    limits, reading
        What is taken at most.
    options
        How the meters are read.
    place
        ``latitude``, ``longitude`` and perhaps ``altitude`` and ``timezone`` of all systems, where
        the curator gave them instead of a table of systems.
    """
    upload = place_files(files, into, limits=limits, reading=reading)
    table = upload.systems
    if table is None and place is None:
        raise UploadRefused(
            "no table of systems was sent; choose one, name it systems.csv among the files, or give"
            " the latitude and longitude of all systems"
        )
    if table is None or place is not None:
        assert place is not None
        table = write_systems(upload.meters, options, place, into=into)
    found = look_at_named(upload.meters, table, reading, options)
    if upload.left_out:
        found["notes"].append(_left_out_words(upload.left_out))
    return {**found, "table": table.name}


def look_at_named(
    meters: Path, table: Path, reading: ReadingLimits, options: MeterOptions
) -> dict[str, Any]:
    """Return what a table of systems says of a dataset.

    Parameters
    ----------
    meters, table
        The readings and the table of systems.
    reading
        What is taken at most.
    options
        How the meters are read.
    """
    systems = check_systems(table, options, limits=reading)
    net = systems.read_as_net(all_said=_all_net(meters, table, options))
    return {
        "place": _one_place(systems),
        "listed": len(systems),
        "net": int(net.sum()),
        "notes": list(systems.notes),
    }


def write_systems(
    meters: Path, options: MeterOptions, place: Mapping[str, float | str], *, into: Path
) -> Path:
    """Write the table of systems of a fleet at one place: all systems that its files name.

    Parameters
    ----------
    meters, options
        The readings, and how they are read.
    place
        What every row says, by column.
    into
        The folder to write it to.
    """
    height = place.get("altitude")
    Site(
        float(place["latitude"]),
        float(place["longitude"]),
        None if height is None else float(height),
    )
    names = sorted(set(iter_names(meters, options)) - {""})
    if not names:
        raise UploadRefused("no system can be read from the files; see how they are to be read")
    columns = {"system_id": pa.array(names, pa.string())}
    columns |= {key: pa.array([value] * len(names)) for key, value in place.items()}
    target = into / "systems.parquet"
    pq.write_table(pa.table(columns), target)
    return target


def iter_names(meters: Path, options: MeterOptions) -> Iterator[str]:
    """Yield the names of all systems that some readings are of, perhaps more than once."""
    source = look_at(meters, options)
    paths = source.paths(file.name for file in source.files)
    if source.columns.layout is not FileLayout.FILES:
        yield from system_names(paths, source.columns)
        return
    for path in paths:
        for each in iter_file_systems([path], options):
            if not isinstance(each, RefusedSystem):
                yield each[0]


def _all_net(meters: Path, table: Path, options: MeterOptions) -> bool:
    """Return whether all meters are declared net: by the curator, or by columns of Parquet."""
    if options.net:
        return True
    try:
        return look_at(meters, options, aside=[table]).columns.net
    except (SunveilError, OSError, ValueError):
        return False  # what is wrong with them is for the preview to say


def _one_place(systems: SystemTable) -> dict[str, Any]:
    """Return the place of a fleet that has one: single systems are released under one sky."""
    if not len(systems):
        told = "the table of systems has no system with a place; correct it"
        raise UploadRefused(systems.refused[0].reason if systems.refused else told)
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


def _left_out_words(names: Sequence[str]) -> str:
    few = ", ".join(names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"Left out, since they hold no readings: {few}{more}."
