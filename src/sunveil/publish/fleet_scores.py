"""The scores of a fleet's systems, made ahead by threads: nothing is drawn here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from sunveil.errors import SourceError
from sunveil.fleet.plan import Part
from sunveil.meters.record import Record
from sunveil.privacy.units import Unit
from sunveil.publish.fleet_frames import Frames
from sunveil.publish.fleet_open import OpenFleet
from sunveil.publish.fleet_records import Held
from sunveil.publish.fleet_roster import Member
from sunveil.releases.drawing import Scored, score_record
from sunveil.releases.frame import Frame

Case = tuple[Member, Frame, Scored]


def score_part(fleet: OpenFleet, part: Part, frames: Frames, unit: Unit) -> Iterator[Case]:
    """Yield the scores of a part, systems that share a frame together.

    Parameters
    ----------
    fleet, part
        The fleet, and which part of it.
    frames
        The public frames.
    unit
        What the releases are to protect.

    Privacy
    -------
    None: scores are as private as the readings. Nothing is drawn here, so that a score may be made
    by any thread, and made again.
    """
    members, names = fleet.roster.members, fleet.records.desk.names
    cases = [
        (member, each)
        for each in fleet.records.of(part)
        if isinstance(each, Held)
        and (member := members.get(names[each.number])) is not None
        and member.part == part.number
    ]
    if len(cases) != fleet.roster.sizes.get(part.number, 0):
        raise SourceError("the fleet was changed while it was being read; start again")
    cases.sort(key=lambda case: (repr(case[0].frame), case[0].number))

    def one(member: Member, frame: Frame, record: Record) -> Case:
        return member, frame, score_record(frame, record, unit)

    yield from _in_order(
        (partial(one, member, frames.of(member.frame), each.record) for member, each in cases),
        fleet.workers,
    )


def _in_order(jobs: Iterable[Callable[[], Case]], workers: int) -> Iterator[Case]:
    """Yield what jobs return, in their order, some of them worked on ahead in threads."""
    running: deque[Future[Case]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="sunveil-score") as pool:
        try:
            for job in jobs:
                running.append(pool.submit(job))
                if len(running) > workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
