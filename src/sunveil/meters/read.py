"""Meter files of every kind, one record per system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sunveil.errors import MeterError
from sunveil.meters.assemble import RawSystem, to_record
from sunveil.meters.clock import Stamps
from sunveil.meters.greenbutton import read_green_button
from sunveil.meters.options import MeterOptions
from sunveil.meters.record import Label, Record
from sunveil.meters.tables import MeterTable, read_csv, read_parquet
from sunveil.meters.textfile import unreadable
from sunveil.meters.units import find_unit

_ENDINGS = (".csv", ".csv.gz", ".txt", ".tsv", ".parquet", ".pq", ".xml")
_DEFAULTS = MeterOptions()


def read_meters(
    path: str | Path, options: MeterOptions = _DEFAULTS, **changes: Any
) -> list[Record]:
    """Read all systems of a file, or of a folder of files.

    CSV (plain or gzipped), Parquet and Green Button XML are told apart by their content. A table
    holds one system, named after the file, or several in long form with a column of systems.

    Parameters
    ----------
    path
        A file, or a folder of files.
    options
        How to read them.
    **changes
        Fields of :class:`MeterOptions` that differ from ``options``.

    Raises
    ------
    MeterError
        In one sentence, what cannot be read, where, and the remedy; never a reading's value.

    Privacy
    -------
    The records are private; so are their notes' counts and times.
    """
    return list(iter_meters(path, options, **changes))


def iter_meters(
    path: str | Path, options: MeterOptions = _DEFAULTS, **changes: Any
) -> Iterator[Record]:
    """Yield the systems of a file, or of a folder of files, one file at a time.

    Parameters
    ----------
    path, options, **changes
        As for :func:`read_meters`.
    """
    options = options.changed(changes)
    seen: dict[str, str] = {}
    for file in _files(Path(path)):
        for record in _read_file(file, options):
            if record.system_id in seen:
                raise MeterError(
                    f"system {record.system_id!r} is in both {seen[record.system_id]} and"
                    f" {file.name}; join them into one file"
                )
            seen[record.system_id] = file.name
            yield record


def _files(path: Path) -> list[Path]:
    try:
        if not path.exists():
            raise MeterError(f"there is no file or folder {str(path)!r}")
        if not path.is_dir():
            return [path]
        found = sorted(
            each
            for each in path.iterdir()
            if each.is_file()
            and not each.name.startswith(".")
            and each.name.lower().endswith(_ENDINGS)
        )
    except (OSError, ValueError) as error:
        raise unreadable(repr(str(path)), error) from None
    if not found:
        raise MeterError(
            f"the folder {str(path)!r} has no meter files:"
            " CSV, Parquet or Green Button XML are read"
        )
    return found


def _read_file(path: Path, options: MeterOptions) -> Iterator[Record]:
    where = path.name
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise unreadable(where, error) from None
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        # ESPI stamps the start of an interval in UTC, whatever other files do.
        options = options.changed({"label": Label.START})
        raws = read_green_button(path, options, where=where)
    elif head.startswith(b"PAR1"):
        raws = _split(read_parquet(path, options, where=where), path, options)
    elif head.startswith(b"PK\x03\x04"):
        raise MeterError(f"{where} is a workbook or archive: save its table as CSV first")
    else:
        raws = _split(read_csv(path, options, where=where), path, options)
    for raw in raws:
        yield to_record(raw, options)


def _split(table: MeterTable, path: Path, options: MeterOptions) -> Iterator[RawSystem]:
    """Part a table into its systems, each in the order of its rows."""
    unit, notes = find_unit(table.column, options.known_unit, where=table.where)
    if table.systems is None:
        yield RawSystem(
            stem(path), table.where, table.rows, table.stamps, table.values, unit, notes
        )
        return
    codes, names = pd.factorize(table.systems, sort=True)
    if "" in names:
        raise MeterError(f"{table.where} has rows without a system; fill its column of systems")
    order = np.argsort(codes, kind="stable")
    for name, part in zip(
        names, np.split(order, np.flatnonzero(np.diff(codes[order])) + 1), strict=True
    ):
        stamps = Stamps(table.stamps.wall[part], table.stamps.offset[part], table.stamps.zone)
        where = f"{table.where}, system {name},"
        yield RawSystem(str(name), where, table.rows[part], stamps, table.values[part], unit, notes)


def stem(path: Path) -> str:
    """Return a file's name without its endings: the name of the system in it."""
    name = path.name
    for ending in (".gz", *_ENDINGS):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name or path.name
