"""What an inference would find in the files of a dataset: read before anything is inferred.

Every system of plain files is read; of Parquet files, the names and times of all systems and some
systems closely, so that a fleet of any size is looked at in minutes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sunveil.errors import MeterError
from sunveil.fleet.layouts import FileLayout
from sunveil.fleet.plain_files import iter_file_systems
from sunveil.fleet.reading import system_names
from sunveil.fleet.records import raws_of
from sunveil.fleet.source import FleetSource, look_at
from sunveil.fleet.systems import SystemTable, read_systems
from sunveil.meters.assemble import RawSystem
from sunveil.meters.contents import ENDINGS
from sunveil.meters.options import MeterOptions
from sunveil.meters.read import settle
from sunveil.meters.record import Record
from sunveil.meters.refusals import RefusedSystem

# So many systems of Parquet files are read closely.
CLOSELY = 192
# So many names are listed where ids do not match, and so many reasons and notes.
LISTED = 20

Tell = Callable[[int, int], None]
# A system's name, and what its files give of it, with how they are read.
Found = tuple[str, RawSystem | MeterError, MeterOptions]


@dataclass(slots=True)
class Tally:
    """What was seen of the systems so far."""

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
        """Note a system's record, or why it has none."""
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
    """Return what the files of a dataset hold, as plain JSON types: private.

    Parameters
    ----------
    meters, table
        The readings and the table of systems.
    options
        How they are read.
    tell
        Called with how much is done, and of how much.
    """
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
    place = _places(systems)
    paths = source.paths(file.name for file in source.files)
    for number, path in enumerate(paths):
        tell(number, len(paths))
        for each in iter_file_systems([path], options):
            if isinstance(each, RefusedSystem):
                tally.note(each)
            else:
                _settle(each, systems, place, tally)
    tell(len(paths), len(paths))


def _note_rows(
    source: FleetSource, systems: SystemTable, options: MeterOptions, tally: Tally, tell: Tell
) -> None:
    paths = source.paths(file.name for file in source.files)
    tell(0, 2)
    names = [name for name in system_names(paths, source.columns) if name]
    tally.names.update(names)
    place = _places(systems)
    wanted = [name for name in names if name in place] or names
    chosen = wanted[:: max(1, -(-len(wanted) // CLOSELY))]
    tell(1, 2)
    for name, raw in raws_of(paths, source.columns, chosen, gathered=False):
        _settle((name, raw, options), systems, place, tally)
    if source.span is not None:
        tally.first, tally.last = (np.datetime64(each, "us") for each in source.span)
    tell(2, 2)


def _settle(found: Found, systems: SystemTable, place: dict[str, int], tally: Tally) -> None:
    """Note a system as its row of the table of systems says that it is read."""
    name, raw, options = found
    tally.names.add(name)
    at = place.get(name)
    found_of = settle(raw, options, name=name) if at is None else systems.settled(at, raw, options)
    tally.note(found_of)


def _places(systems: SystemTable) -> dict[str, int]:
    return {name: place for place, name in enumerate(systems.ids.to_pylist())}


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
    ordered: Iterator[list[RefusedSystem]] = iter(
        sorted(alike.values(), key=lambda group: -len(group))
    )
    return [
        {"count": len(group), "reason": group[0].reason, "name": group[0].system_id}
        for group, _ in zip(ordered, range(LISTED), strict=False)
    ]


def _pattern(refused: RefusedSystem) -> str:
    return refused.kind + re.sub(r"\d[\d,.:]*", "#", _general(refused.reason, refused.system_id))


def _general(text: str, name: str) -> str:
    """Return a sentence without the name of the system that it is about."""
    # not every occurrence: a system may be called as some word of the sentence
    plain = text.replace(f"system {name}", "system …")
    return "…" + plain[len(name) :] if plain.startswith(f"{name}.") else plain
