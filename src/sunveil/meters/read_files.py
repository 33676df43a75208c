"""Files, folders and archives of meters to records; rows joined by system."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sunveil._options import checked, instance
from sunveil.errors import MeterError, ParameterError, SunveilError, log_unforeseen
from sunveil.meters.build_record import RawSystem, to_record
from sunveil.meters.csv_parquet_excel import RoleCells, read_arrow, read_text, read_workbook
from sunveil.meters.file_types import (
    ENDINGS,
    READABLE,
    Content,
    FileKind,
    contents_of,
    read_head,
    stem,
    unreadable,
)
from sunveil.meters.green_button import read_green_button
from sunveil.meters.json_files import read_json
from sunveil.meters.nem12 import is_nem12, read_nem12
from sunveil.meters.reading_options import MeterOptions
from sunveil.meters.record import UNREAD, Label, Record, RefusedSystem
from sunveil.meters.schema_files import Schema, completed
from sunveil.meters.split_systems import read_table
from sunveil.meters.time_steps import Stamps, clock_elsewhere

RawRead = tuple[RawSystem | RefusedSystem, MeterOptions]
_log = logging.getLogger(__name__)
_DEFAULTS = MeterOptions()


@checked
def read_meters(
    path: str | Path,
    options: MeterOptions = _DEFAULTS,
    *,
    refused: list[RefusedSystem] | None = None,
    schema: Schema | None = None,
    **changes: Any,
) -> list[Record]:
    """Read all systems of a file, or of a folder of files.

    Formats are recognised by their content: CSV and its relatives, workbooks, Parquet, Feather,
    JSON, NEM12 and Green Button XML, plain, compressed or zipped. A table holds one system, named
    after the file, or several with a column of systems; a row is a reading, or a day of readings.

    Parameters
    ----------
    path
        A file, or a folder of files.
    options
        How to read them.
    refused
        A list to which systems that cannot be used are added; without one, the first of them
        raises its reason.
    schema
        A schema file, or what ``read_schema`` returned: fills in what
        the options leave open.
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
    check_path(path)
    instance("options", options, MeterOptions, give="MeterOptions")
    if refused is not None:
        instance("refused", refused, list, give="a list, to which refusals are added")
    options = completed(options, schema).changed(changes)
    return only_records(iter_systems(path, options), refused)


def check_path(path: object) -> None:
    """Refuse what is no path of a file or folder."""
    kinds: tuple[type[object], ...] = (str, os.PathLike)
    instance("path", path, kinds, give="the path of a meter file or a folder of them")


def only_records(
    systems: Iterable[Record | RefusedSystem], refused: list[RefusedSystem] | None
) -> list[Record]:
    """Return the records among systems; the others are added to a list, or raise their reason."""
    records = []
    for each in systems:
        if isinstance(each, Record):
            records.append(each)
        elif refused is None:
            raise MeterError(each.reason)
        else:
            refused.append(each)
    return records


@checked
def iter_systems(
    path: str | Path,
    options: MeterOptions = _DEFAULTS,
    *,
    options_of: Callable[[str, MeterOptions], MeterOptions] | None = None,
) -> Iterator[Record | RefusedSystem]:
    """Yield every system of a file, or of a folder of files: its record, or why there is none.

    Every system stands alone: whatever one of them holds, the others come out the same. Rows of
    one system in several files are joined, in the order of the files' names.
    """
    check_path(path)
    instance("options", options, MeterOptions, give="MeterOptions")
    found: dict[str, list[tuple[RawSystem, MeterOptions]]] = {}
    for raw, own in iter_raw_systems(Path(path), options):
        if isinstance(raw, RefusedSystem):
            yield raw
        else:
            found.setdefault(raw.system_id, []).append((raw, own))
    for name in sorted(found):
        whole, own = joined(found.pop(name))
        yield record_or_refusal(
            whole, own if options_of is None else options_of(name, own), name=name
        )


def iter_raw_systems(path: Path, options: MeterOptions) -> Iterator[RawRead]:
    """Yield the systems of a file or folder as they are written, with the options that hold."""
    # A file that cannot be read is refused where there are others beside it, and raises where it is
    # the only one.
    files = _files(path)
    for file in files:
        try:
            contents = list(contents_of(file))
        except MeterError as error:
            if len(files) == 1:
                raise
            yield RefusedSystem(stem(file), UNREAD, str(error)), options
            continue
        alone = len(files) == len(contents) == 1
        for content in contents:
            try:
                yield from _raws(content, options)
            except MeterError as error:
                if alone:
                    raise
                yield RefusedSystem(content.stem, UNREAD, str(error)), options
            except ParameterError:
                raise  # what the curator says is wrong for every file
            except Exception as error:
                if alone:
                    raise
                yield failed(content.stem, error), options


def record_or_refusal(
    raw: RawSystem | RefusedSystem | MeterError, options: MeterOptions, *, name: str
) -> Record | RefusedSystem:
    """Return the record of a system, or why there is none."""
    if isinstance(raw, RefusedSystem):
        return raw
    try:
        if isinstance(raw, MeterError):
            raise raw  # noqa: TRY301 - one way for both
        return to_record(raw, options)
    except SunveilError as error:
        return RefusedSystem(name, "meter", str(error))
    except Exception as error:  # one bad system never stops others
        return failed(name, error, private=options.declared_only)


def at_longitude(found: Record | RefusedSystem, longitude: float) -> Record | RefusedSystem:
    """Return a record, or its refusal where its clock cannot be that of its place."""
    if isinstance(found, RefusedSystem):
        return found
    reason = clock_elsewhere(found.timezone, longitude)
    if reason is None:
        return found
    return RefusedSystem(found.system_id, "timezone", f"system {found.system_id}: {reason}")


def failed(name: str, error: Exception, *, private: bool = False) -> RefusedSystem:
    """Log an unforeseen error of one system, and return its refusal."""
    log_unforeseen(_log, "a system could not be worked on", error, private=private)
    kind = type(error).__name__
    return RefusedSystem(
        name, "failed", f"system {name} could not be worked on ({kind}); report it"
    )


def joined(
    parts: Sequence[tuple[RawSystem, MeterOptions]],
) -> tuple[RawSystem | MeterError, MeterOptions]:
    """Return the rows of one system from several files as one, in the order of the files."""
    # Readings are brought to the unit of the first file. Files that tell the time or count in ways
    # that cannot be brought together are an error, which refuses the system.
    raws, (first, options) = [raw for raw, _ in parts], parts[0]
    if len(raws) == 1:
        return first, options
    files = list(dict.fromkeys(raw.where.split(", system ")[0] for raw in raws))
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    where = f"system {first.system_id}, in {', '.join(files[:3])}{more},"
    if wrong := _unlike(parts):
        return MeterError(f"{where} has {wrong}"), options
    with np.errstate(over="ignore"):  # what is too large is infinite, and missing like any other
        scales = [raw.unit.kilo / first.unit.kilo for raw in raws]
        values = [raw.values * scale for raw, scale in zip(raws, scales, strict=True)]
        taken = [
            raw.imported * scale
            for raw, scale in zip(raws, scales, strict=True)
            if raw.imported is not None
        ]
    stamps = Stamps(
        np.concatenate([raw.stamps.wall for raw in raws]),
        np.concatenate([raw.stamps.offset for raw in raws]),
        first.stamps.zone,
        first.stamps.whole_days,
    )
    whole = replace(
        first,
        where=where,
        rows=np.concatenate([raw.rows for raw in raws]),
        stamps=stamps,
        values=np.concatenate(values),
        notes=tuple(dict.fromkeys(note for raw in raws for note in raw.notes)),
        net=first.net,
        imported=np.concatenate(taken) if taken else None,
        unit_known=all(raw.unit_known for raw in raws),
    )
    return whole, options


def _unlike(parts: Sequence[tuple[RawSystem, MeterOptions]]) -> str:
    """Return how the files of a system differ where they must not, and what to do; or nothing."""
    raws = [raw for raw, _ in parts]
    if len({bool(np.isnan(raw.stamps.offset).any()) for raw in raws}) > 1:
        return "times with a UTC offset in some files and without in others; write them alike"
    if len({raw.stamps.zone for raw in raws}) > 1:
        return "times of different time zones in its files; write them alike"
    if len({(raw.net, raw.imported is None) for raw in raws}) > 1:
        return "a net meter in some files and not, or in other columns, in others; write them alike"
    if len({raw.unit.is_energy for raw in raws}) > 1:
        return "power in some files and energy in others; read them apart, by option `power_unit`"
    if len({options.known_label for _, options in parts}) > 1:
        return "files that name other instants of an interval; read them apart, by option `label`"
    return ""


def _files(path: Path) -> list[Path]:
    try:
        if not path.exists():
            raise MeterError(f"there is no file or folder {str(path)!r}")
        if not path.is_dir():
            return [path]
        found = sorted(
            each
            for each in path.rglob("*")
            if each.is_file()
            and not any(part.startswith(".") for part in each.relative_to(path).parts)
            and each.name.lower().endswith(ENDINGS)
        )
    except (OSError, ValueError) as error:
        raise unreadable(repr(str(path)), error) from None
    if not found:
        raise MeterError(f"the folder {str(path)!r} has no meter files: {READABLE} are read")
    return found


def _raws(content: Content, options: MeterOptions) -> Iterator[RawRead]:
    """Yield the systems of one file, whatever its format."""
    where, kind = content.name, content.kind
    if kind is FileKind.XML:
        # ESPI stamps the start of an interval in UTC, whatever other files do.
        options = options.changed({"label": Label.START})
        yield from ((raw, options) for raw in read_green_button(content, options))
    elif kind in (FileKind.PARQUET, FileKind.FEATHER):
        yield from _systems([read_arrow(content, options)], options)
    elif kind is FileKind.WORKBOOK:
        yield from _systems([read_workbook(content, options)], options)
    elif kind is FileKind.JSON:
        yield from _systems(read_json(content, options), options)
    elif kind is FileKind.TEXT:
        with content.open() as file:
            nem12 = is_nem12(read_head(file))
        if nem12:
            yield from read_nem12(content, options)
        else:
            yield from _systems([read_text(content, options)], options)
    elif kind is FileKind.EMPTY:
        raise MeterError(f"{where} is empty")
    elif kind is FileKind.OLD_WORKBOOK:
        raise MeterError(f"{where} is a workbook of the old kind: save it as .xlsx or CSV first")
    else:
        raise MeterError(f"{where} is no meter file: {READABLE} are read")


def _systems(tables: Sequence[RoleCells], options: MeterOptions) -> Iterator[RawRead]:
    """Yield the systems of a file's tables; one that cannot be read raises where no other can."""
    problem: MeterError | None = None
    found: list[RawRead] = []
    for table in tables:
        try:
            found += read_table(table, options).systems()
        except MeterError as error:
            problem = problem or error
    if problem is not None and not found:
        raise problem
    read = {raw.system_id for raw, _ in found if isinstance(raw, RawSystem)}
    for raw, own in found:
        # a refusal of some of its rows is none of the system
        if isinstance(raw, RawSystem) or raw.system_id not in read:
            read.add(raw.system_id)
            yield raw, own
