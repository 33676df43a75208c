"""Who of a fleet is released, and in which frame: public, and settled before anything is drawn."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sunveil.fleet.systems import RefusedSystem
from sunveil.fleet.task import UNREAD
from sunveil.publish.fleet_records import FleetRecords, Held
from sunveil.releases.frame import Calendar

# How far a long step has come: done, and of how many.
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class FrameKey:
    """What the systems of a frame have in common.

    Parameters
    ----------
    cell
        Number of the weather cell.
    interval_minutes, phase
        Length of an interval [minutes], and how far after whole multiples of it they begin. [s]
    first, last
        Calendar years that the records begin and end in.
    """

    cell: int
    interval_minutes: float
    phase: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Member:
    """A system that is released: its number in the table, its part, frame and calendar."""

    number: int
    part: int
    frame: FrameKey
    calendar: Calendar


@dataclass(frozen=True, slots=True, eq=False)
class Roster:
    """The systems of a fleet that are released, and those that are not.

    Parameters
    ----------
    members
        By the system's name.
    calendars
        Of every frame: one that holds the calendars of all its members. A record on a longer
        calendar than its own has the same score, since what is missing agrees with nothing.
    refused
        Who is not released, and why: public in itself, but for the curator, who can change it.
    sizes
        How many members each part has.
    """

    members: Mapping[str, Member]
    calendars: Mapping[FrameKey, Calendar]
    refused: tuple[RefusedSystem, ...]
    sizes: Mapping[int, int]

    def __len__(self) -> int:
        return len(self.members)


def make_roster(records: FleetRecords, tell: Tell) -> Roster:
    """Read a fleet once, and return who can be released.

    Parameters
    ----------
    records
        The fleet.
    tell
        Told how many systems are done after every part.

    Privacy
    -------
    The roster depends on rows, stamps and places: on no reading, nor on which are missing.
    """
    desk = records.desk
    members: dict[str, Member] = {}
    refused: dict[str, RefusedSystem] = {each.system_id: each for each in desk.systems.refused}
    unread: dict[str, RefusedSystem] = {
        each.reason: each for each in records.before() if each.kind == UNREAD
    }
    for part in records.plan.parts:
        for each in records.of(part):
            name = desk.names[each.number] if isinstance(each, Held) else each.system_id
            if isinstance(each, RefusedSystem) and each.kind == UNREAD:
                unread[each.reason] = each
            elif name in members:
                del members[name]
                told = f"system {name} is in several files; join its readings into one"
                refused[name] = RefusedSystem(name, "meter", told)
            elif isinstance(each, RefusedSystem):
                refused.setdefault(name, each)
            elif name not in refused:
                members[name] = _member(each, part.number, records)
        tell(len(members) + len(refused), len(desk.names))
    for name in desk.names:
        if name not in members and name not in refused:
            refused[name] = _unseen(name, bool(unread))
    listed = sorted((*refused.values(), *unread.values()), key=lambda r: (r.system_id, r.reason))
    sizes = Counter(member.part for member in members.values())
    return Roster(dict(sorted(members.items())), _calendars(members), tuple(listed), sizes)


def _member(held: Held, part: int, records: FleetRecords) -> Member:
    cell = int(records.desk.cells.of[held.number])
    site = records.desk.cells.cells[cell].site
    calendar = Calendar.of(held.record, longitude=site.longitude)
    years = [int(end.astype("M8[Y]").astype(np.int64)) + 1970 for end in held.record.extent]
    step = _step(calendar)
    key = FrameKey(cell, calendar.interval_minutes, calendar.start % step, *years)
    return Member(held.number, part, key, calendar)


def _step(calendar: Calendar) -> int:
    return round(calendar.interval_minutes * 60.0)


def _unseen(name: str, unread: bool) -> RefusedSystem:
    if unread:
        told = f"system {name} has no readings in the files that can be read"
        return RefusedSystem(name, "unreadable", told)
    end = "has no readings in the fleet; check its name in both"
    return RefusedSystem(name, "no readings", f"system {name} {end}")


def _calendars(members: Mapping[str, Member]) -> dict[FrameKey, Calendar]:
    """Return a calendar for every frame that holds those of all its members."""
    ends: dict[FrameKey, tuple[int, int]] = {}
    for member in members.values():
        own = member.calendar
        start, end = own.start, own.start + own.count * _step(own)
        low, high = ends.get(member.frame, (start, end))
        ends[member.frame] = min(low, start), max(high, end)
    return {
        key: Calendar(low, key.interval_minutes, (high - low) // round(key.interval_minutes * 60.0))
        for key, (low, high) in ends.items()
    }


def refusals_csv(refused: tuple[RefusedSystem, ...]) -> str:
    """Return refusals as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("system_id", "kind", "reason"))
    writer.writerows((each.system_id, each.kind, each.reason) for each in refused)
    return out.getvalue()
