"""Who of a fleet is released, and in which frame: public, and settled before anything is drawn."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sunveil.fleet.systems import RefusedSystem
from sunveil.fleet.task import UNREAD
from sunveil.publish.fleet_records import FleetRecords, HeldRecord
from sunveil.publish.terms import OnProgress
from sunveil.releases.frame import time_grid_of
from sunveil.timegrid import TimeGrid


@dataclass(frozen=True, slots=True)
class FrameKey:
    """What the systems of a frame have in common.

    Parameters
    ----------
    cell
        Number of the weather cell.
    step, phase
        Length of an interval, and how far after whole multiples of it they begin. [s]
    first, last
        Calendar years that the records begin and end in.
    net
        Whether their meters are declared net, which their frame is made for.
    """

    cell: int
    step: int
    phase: int
    first: int
    last: int
    net: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A system that is released.

    Parameters
    ----------
    number, part
        Its number in the table of systems, and the part of the fleet that its readings are in.
    frame, time_grid
        The frame that it is scored in, and the times of its own record.
    differenced
        Whether its record holds differences of a register.
    shifts
        How far its clock is off for each label that its stamps may have. [minutes]
    """

    number: int
    part: int
    frame: FrameKey
    time_grid: TimeGrid
    differenced: bool
    shifts: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseRoster:
    """The systems of a fleet that are released, and those that are not.

    Parameters
    ----------
    members
        By the system's name.
    time_grids
        Of every frame: one that holds the days of all its members. A record in a longer frame
        than its own has the same score, since what is missing agrees with nothing, and since how
        its days vote is settled by its own days.
    refused
        Who is not released, and why: public in itself, but for the curator, who can change it.
    sizes
        How many members each part has.
    """

    members: Mapping[str, Member]
    time_grids: Mapping[FrameKey, TimeGrid]
    refused: tuple[RefusedSystem, ...]
    sizes: Mapping[int, int]

    def __len__(self) -> int:
        return len(self.members)

    def only(self, names: Collection[str]) -> ReleaseRoster:
        """Return the roster of some of the members, by name, in frames that hold their days."""
        chosen = set(names)
        members = {name: each for name, each in self.members.items() if name in chosen}
        sizes = Counter(member.part for member in members.values())
        return replace(self, members=members, time_grids=_time_grids(members), sizes=sizes)


def make_roster(records: FleetRecords, on_progress: OnProgress) -> ReleaseRoster:
    """Read a fleet once, and return who can be released.

    Parameters
    ----------
    records
        The fleet.
    on_progress
        Called with how many systems are done, after every part.

    Privacy
    -------
    The roster depends on rows, stamps and places: on no reading, nor on which are missing.
    """
    context = records.context
    members: dict[str, Member] = {}
    refused: dict[str, RefusedSystem] = {each.system_id: each for each in context.systems.refused}
    unread: dict[str, RefusedSystem] = {
        each.reason: each for each in records.before() if each.kind == UNREAD
    }
    for part in records.plan.parts:
        for each in records.of(part):
            name = context.names[each.number] if isinstance(each, HeldRecord) else each.system_id
            if isinstance(each, RefusedSystem) and each.kind == UNREAD:
                unread[each.reason] = each
            elif name in members:
                del members[name]
                reason = f"system {name} is in several files; join its readings into one"
                refused[name] = RefusedSystem(name, "meter", reason)
            elif isinstance(each, RefusedSystem):
                refused.setdefault(name, each)
            elif name not in refused:
                members[name] = _member(each, part.number, records)
        on_progress(len(members) + len(refused), len(context.names))
    # a file that is named after a system is that system's own, and says nothing of others
    files = {each.system_id for each in unread.values()}
    common = any(file not in context.place for file in files)
    for name in context.names:
        if name not in members and name not in refused:
            refused[name] = _unseen(name, name in files or common)
    listed = sorted((*refused.values(), *unread.values()), key=lambda r: (r.system_id, r.reason))
    sizes = Counter(member.part for member in members.values())
    return ReleaseRoster(dict(sorted(members.items())), _time_grids(members), tuple(listed), sizes)


def _member(held: HeldRecord, part: int, records: FleetRecords) -> Member:
    cell = int(records.context.cells.of[held.number])
    site = records.context.cells.cells[cell].site
    grid = time_grid_of(held.record, longitude=site.longitude)
    years = [int(end.astype("M8[Y]").astype(np.int64)) + 1970 for end in held.record.extent]
    first, last = years
    key = FrameKey(cell, grid.step, grid.first % grid.step, first, last, held.record.net)
    record = held.record
    return Member(held.number, part, key, grid, record.differenced, record.label_shifts)


def _unseen(name: str, unread: bool) -> RefusedSystem:
    if unread:
        reason = f"system {name} has no readings in the files that can be read"
        return RefusedSystem(name, "unreadable", reason)
    end = "has no readings in the fleet; check its name in both"
    return RefusedSystem(name, "no readings", f"system {name} {end}")


def _time_grids(members: Mapping[str, Member]) -> dict[FrameKey, TimeGrid]:
    """Return the times of every frame, which hold those of all its members."""
    ends: dict[FrameKey, tuple[int, int]] = {}
    for member in members.values():
        own = member.time_grid
        start, end = own.first, own.first + own.count * own.step
        low, high = ends.get(member.frame, (start, end))
        ends[member.frame] = min(low, start), max(high, end)
    return {
        key: TimeGrid(low, key.step, (high - low) // key.step) for key, (low, high) in ends.items()
    }


def refusals_csv(refused: tuple[RefusedSystem, ...]) -> str:
    """Return who is refused and why as CSV text, with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("system_id", "kind", "reason"))
    writer.writerows((each.system_id, each.kind, each.reason) for each in refused)
    return out.getvalue()
