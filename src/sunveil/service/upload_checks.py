"""Sort, check and preview uploads in a limited process."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.errors import ParameterError, SunveilError
from sunveil.fleet.duckdb_reader import system_names
from sunveil.fleet.file_layouts import FileLayout, FleetSource, iter_file_systems, look_at
from sunveil.fleet.open import some_records
from sunveil.fleet.systems_table import SystemTable, read_systems
from sunveil.meters.file_types import ENDINGS, READABLE, FileKind, kind_of
from sunveil.meters.reading_options import MeterOptions
from sunveil.meters.record import Record, RefusedSystem
from sunveil.publish.publisher import read_households
from sunveil.service.archives import unpack, unpacked_size
from sunveil.service.settings import ReadingLimits, UploadLimits
from sunveil.service.store.database import Served
from sunveil.service.store.datasets import READING_FIELDS, READING_FLAGS
from sunveil.service.uploads import (
    SYSTEMS,
    ReceivedFile,
    UploadRefused,
    UploadTooLarge,
    is_document,
    is_litter,
    placed_name,
    quoted,
    safe_path,
)
from sunveil.site import Site


def meter_options(dataset: Served) -> MeterOptions:
    # The clock of a dataset without a table of systems is kept with its place; where there is a
    # table, the curator's word goes before the table's, as everywhere.
    stated = dict(dataset.extra.get("options", {}))
    if dataset.table is None and dataset.timezone is not None:
        stated["timezone"] = dataset.timezone
    return options_from(stated)


def options_from(stated: Mapping[str, str]) -> MeterOptions:
    """Return the reader's options from the texts of a form, or refuse one that makes no sense."""
    given: dict[str, Any] = {name: stated[name] for name in READING_FIELDS if stated.get(name)}
    if "skip_rows" in given:
        if not str(given["skip_rows"]).isdecimal():
            raise ParameterError("the lines above the header are a number; correct it")
        given["skip_rows"] = int(given["skip_rows"])
    given |= {name: True for name in READING_FLAGS if name in given}
    return MeterOptions(**given)


PARQUET = (".parquet", ".pq")

# What the reader of meters takes. An empty file is a system without readings.
READ = frozenset(
    {
        FileKind.EMPTY,
        FileKind.TEXT,
        FileKind.JSON,
        FileKind.XML,
        FileKind.PARQUET,
        FileKind.FEATHER,
        FileKind.WORKBOOK,
        FileKind.PACKED,
    }
)

TABLE = "the table of systems"
HEADER = 65_536  # [bytes] longest header that is looked at for places


@dataclass(frozen=True, slots=True)
class Upload:
    """Data as an inference takes them."""

    meters: Path  # A folder of tables
    systems: Path | None  # the table of systems; None where none was sent
    left_out: tuple[str, ...] = ()  # names of files that hold no readings, and are not kept


def place_files(
    files: Sequence[ReceivedFile],
    into: Path,
    *,
    limits: UploadLimits,
    reading: ReadingLimits | None = None,
) -> Upload:
    """Put received files where an inference finds them, each checked to be what it says."""
    meters = into / "meters"
    meters.mkdir(mode=0o700)
    left, left_out = limits.unpacked, list[str]()
    for file in files:
        if file.field == "meters":
            left -= _place(file, meters, limits=replace(limits, unpacked=left), left_out=left_out)
    systems = _place_systems([file for file in files if file.field == "systems"], meters, into)
    found = sorted(path for path in meters.rglob("*") if path.is_file())
    if not found:
        raise UploadRefused("no readings were sent; choose files of readings, or a zip of them")
    left = limits.unpacked
    for path in (*found, *([] if systems is None else [systems])):
        name = TABLE if path == systems else quoted(str(path.relative_to(meters)))
        check_table(path, name)
        left -= unpacked_size(path, name, limits=replace(limits, unpacked=left))
    check_rows(found, limits=reading or ReadingLimits())
    return Upload(meters, systems, tuple(left_out))


def check_table(path: Path, name: str) -> None:
    """Refuse a file that is none of those that are read; what it holds is not looked at."""
    kind = kind_of(path)
    if kind is FileKind.PARQUET or path.suffix.lower() in PARQUET:
        try:
            pq.read_schema(path)
        except (pa.ArrowException, OSError):
            raise UploadRefused(f"{name} is not Parquet, or is damaged; send it again") from None
    elif kind not in READ:
        raise UploadRefused(f"{name} is no meter file: {READABLE} are read")


def check_rows(paths: Sequence[Path], *, limits: ReadingLimits) -> None:
    """Refuse Parquet files of readings that say of themselves that they hold too much."""
    rows = 0
    for path in paths:
        if kind_of(path) is FileKind.PARQUET:
            rows += _check_footer(path, quoted(path.name), limits=limits)
    if rows > limits.readings:
        raise UploadTooLarge(
            f"the files have {rows:,} rows of readings, and at most {limits.readings:,} are taken"
            " (setting reading.readings); make several datasets of them"
        )


def check_systems(path: Path, options: MeterOptions, *, limits: ReadingLimits) -> SystemTable:
    check_table(path, TABLE)
    if kind_of(path) is FileKind.PARQUET:
        _check_systems_rows(_check_footer(path, TABLE, limits=limits), limits)
    found = read_systems(path, options)
    read_households(path, options.system_column)  # refused here, and not when something is asked
    _check_systems_rows(len(found) + len(found.refused), limits)
    if found.keys.num_columns > limits.columns:
        raise _too_wide(TABLE, found.keys.num_columns, limits)
    return found


def _check_footer(path: Path, name: str, *, limits: ReadingLimits) -> int:
    """Return how many rows a Parquet file says that it has, if it has not too many columns."""
    footer = pq.read_metadata(path)
    if footer.num_columns > limits.columns:
        raise _too_wide(name, footer.num_columns, limits)
    return int(footer.num_rows)


def _too_wide(name: str, columns: int, limits: ReadingLimits) -> UploadTooLarge:
    return UploadTooLarge(
        f"{name} has {columns:,} columns, and at most {limits.columns:,} are taken (setting"
        " reading.columns)"
    )


def _check_systems_rows(rows: int, limits: ReadingLimits) -> None:
    if rows > limits.systems:
        raise UploadTooLarge(
            f"{TABLE} has {rows:,} rows, and at most {limits.systems:,} are taken (setting"
            " reading.systems); make several datasets of them"
        )


def _place(file: ReceivedFile, meters: Path, *, limits: UploadLimits, left_out: list[str]) -> int:
    """Put a file in its place, and return how much it is there. [bytes]"""
    if is_litter(PurePosixPath(file.name)):
        return 0
    path = safe_path(file.name)
    if is_document(path):
        left_out.append(str(path))
        return 0
    if path.suffix.lower() == ".zip":
        made = unpack(file.path, meters, limits=limits, left_out=left_out)
        return sum(each.stat().st_size for each in made)
    target = meters.joinpath(*placed_name(path).parts)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if target.exists():
        raise UploadRefused(f"two files are named {quoted(file.name)}; rename one")
    os.link(file.path, target)
    return file.size


def _place_systems(given: Sequence[ReceivedFile], meters: Path, into: Path) -> Path | None:
    """Put the table of systems in its place: the one that was sent, or one among the meters."""
    if len(given) > 1:
        raise UploadRefused("there is one table of systems; send one file")
    if given:
        suffix = Path(given[0].name).suffix.lower()
        if suffix not in SYSTEMS:
            raise UploadRefused("the table of systems is CSV, Parquet or .xlsx; send one of these")
        os.link(given[0].path, into / f"systems{suffix}")
        return into / f"systems{suffix}"
    files = [path for path in meters.rglob("*") if path.is_file()]
    tables = [path for path in files if path.suffix.lower() in SYSTEMS]
    among = [path for path in tables if path.stem.lower() == "systems"]
    if len(among) > 1:
        raise UploadRefused("several files are named systems; choose one as the table of systems")
    if not among and len(files) > 1:
        among = list(filter(_has_places, tables))
    if len(among) != 1:  # readings may have columns of places, too
        return None
    target = into / f"systems{among[0].suffix.lower()}"
    os.rename(among[0], target)
    return target


def _has_places(path: Path) -> bool:
    try:
        if kind_of(path) is FileKind.PARQUET:
            names: Sequence[str] = pq.read_schema(path).names
        else:
            with path.open("rb") as file:
                names = re.split("[,;\t]", file.readline(HEADER).decode("utf-8-sig", "replace"))
    except (pa.ArrowException, OSError):
        return False
    known = {name.strip().strip("\"'").casefold() for name in names}
    return bool(known & {"latitude", "lat"}) and bool(known & {"longitude", "lon", "lng", "long"})


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
    """Put received files in their place, and return what they say of the dataset."""
    upload = place_files(files, into, limits=limits, reading=reading)
    table = upload.systems
    if table is None and place is None:
        raise UploadRefused(
            "no table of systems was found among the files; add one with system_id, latitude and"
            " longitude, or give the latitude and longitude of all systems"
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
    """Write the table of systems of a fleet at one place: all systems that its files name."""
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
        raise UploadRefused(
            systems.refused[0].reason
            if systems.refused
            else "the table of systems has no system with a place; correct it"
        )
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


# Systems of Parquet files that are read in full.
CLOSELY = 192

# Most names, reasons and notes in a list.
LISTED = 20
Tell = Callable[[int, int], None]


@dataclass(slots=True)
class Tally:
    names: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    refused: dict[str, RefusedSystem] = field(default_factory=dict)
    readings: int = 0
    first: np.datetime64 | None = None
    last: np.datetime64 | None = None
    net: int = 0
    counts: dict[str, Counter[str]] = field(
        default_factory=lambda: {
            key: Counter() for key in ("intervals", "zones", "labels", "units", "notes")
        }
    )

    def note(self, found: Record | RefusedSystem) -> None:
        if isinstance(found, RefusedSystem):
            self.refused[found.system_id] = found
            return
        again = found.system_id in self.read
        self.read.add(found.system_id)
        self.readings += len(found.times)
        first, last = found.extent
        self.first = first if self.first is None else min(self.first, first)
        self.last = last if self.last is None else max(self.last, last)
        if again:
            return
        self.net += found.net
        counts = self.counts
        counts["intervals"][f"{found.interval_minutes:g} minutes"] += 1
        counts["zones"][found.timezone] += 1
        sure = "" if found.label_known else " (assumed; the inference checks it)"
        counts["labels"][f"{found.label.value} of the interval{sure}"] += 1
        counts["units"][found.unit + ("" if found.unit_known else " (assumed)")] += 1
        counts["notes"].update({_general(note, found.system_id) for note in found.notes})


def preview(meters: Path, table: Path, options: MeterOptions, *, tell: Tell) -> dict[str, Any]:
    """Return what the files of a dataset hold, as plain JSON types: private."""
    systems = read_systems(table, options)
    source = look_at(meters, options, aside=[table])
    tally = Tally()
    plain = source.columns.layout is FileLayout.FILES
    (_note_files if plain else _note_rows)(source, systems, options, tally, tell)
    listed = set(systems.ids.to_pylist())
    refused = {each.system_id for each in systems.refused}
    known = listed | refused
    kept = [each for name, each in tally.refused.items() if name not in tally.read]
    return {
        "files": len(source.files),
        "unread": [list(each) for each in source.unreadable[:LISTED]],
        "not_read": _beside(source, meters, table),
        "systems": len(tally.names),
        "looked_at": len(tally.read) + len(kept),
        "in_both": len(tally.names & known),
        "only_files": _some(tally.names - known),
        "only_table": _some(known - tally.names),
        "readings": tally.readings if plain else source.rows,
        "first": _day(tally.first),
        "last": _day(tally.last),
        "net": tally.net,
        "refused": _reasons(kept),
        "table_refused": _reasons(systems.refused),
        **{key: counted.most_common(LISTED) for key, counted in tally.counts.items()},
    }


def _note_files(
    source: FleetSource, systems: SystemTable, options: MeterOptions, tally: Tally, tell: Tell
) -> None:
    paths = source.paths(file.name for file in source.files)
    for number, path in enumerate(paths):
        tell(number, len(paths))
        for name, found in some_records([path], source.columns, systems, options=options):
            if name is not None:
                tally.names.add(name)
            tally.note(found)
    tell(len(paths), len(paths))


def _note_rows(
    source: FleetSource, systems: SystemTable, options: MeterOptions, tally: Tally, tell: Tell
) -> None:
    paths = source.paths(file.name for file in source.files)
    tell(0, 2)
    names = [name for name in system_names(paths, source.columns) if name]
    tally.names.update(names)
    known = set(systems.ids.to_pylist())
    wanted = [name for name in names if name in known] or names
    chosen = wanted[:: max(1, -(-len(wanted) // CLOSELY))]
    tell(1, 2)
    for _, found in some_records(paths, source.columns, systems, chosen, options=options):
        tally.note(found)
    if source.span is not None:
        tally.first, tally.last = (np.datetime64(each, "us") for each in source.span)
    tell(2, 2)


def _beside(source: FleetSource, meters: Path, table: Path) -> int:
    """Return how many files lie among the readings without being read: only Parquet is, if any."""
    if not meters.is_dir():
        return 0
    every = sum(
        path.is_file() and path.name.lower().endswith(ENDINGS) and path != table
        for path in meters.rglob("*")
    )
    return max(0, every - len(source.files) - len(source.unreadable))


def _some(names: set[str]) -> dict[str, Any]:
    return {"count": len(names), "names": sorted(names)[:LISTED]}


def _day(time: np.datetime64 | None) -> str | None:
    return None if time is None else str(time.astype("datetime64[D]"))


def _reasons(refused: Sequence[RefusedSystem]) -> list[dict[str, Any]]:
    """Return why systems are refused, the most frequent reason first, each with an example."""
    alike: dict[str, list[RefusedSystem]] = {}
    for each in refused:
        alike.setdefault(_pattern(each), []).append(each)
    ordered = sorted(alike.values(), key=len, reverse=True)
    return [
        {"count": len(group), "reason": group[0].reason, "name": group[0].system_id}
        for group in ordered[:LISTED]
    ]


def _pattern(refused: RefusedSystem) -> str:
    return refused.kind + re.sub(r"\d[\d,.:]*", "#", _general(refused.reason, refused.system_id))


def _general(text: str, name: str) -> str:
    """Return a sentence without the name of the system that it is about."""
    # not every occurrence: a system may be called as some word of the sentence
    plain = text.replace(f"system {name}", "system …")
    return "…" + plain[len(name) :] if plain.startswith(f"{name}.") else plain
