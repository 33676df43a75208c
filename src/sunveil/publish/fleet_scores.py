"""The scores of a fleet's systems, made ahead by threads: nothing is drawn here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from sunveil.errors import SourceError
from sunveil.fleet.plan import Part
from sunveil.meters.record import Record
from sunveil.publish.fleet_frames import FrameCache
from sunveil.publish.fleet_records import FleetRecords, HeldRecord
from sunveil.publish.fleet_roster import Member, ReleaseRoster
from sunveil.publish.terms import ReleaseTerms
from sunveil.releases.drawing import Scored, score_record
from sunveil.releases.frame import Frame

ScoredSystem = tuple[str, Frame, Scored]


def score_part(
    records: FleetRecords,
    roster: ReleaseRoster,
    part: Part,
    *,
    frames: FrameCache,
    terms: ReleaseTerms,
    workers: int,
) -> Iterator[ScoredSystem]:
    """Yield the scores of a part, systems that share a frame one after another.

    Parameters
    ----------
    records, roster
        The fleet's readings, and who of it is released.
    part
        Which part of it.
    frames
        The public frames.
    terms
        What is asked of every system.
    workers
        How many scores are made at a time.

    Privacy
    -------
    None: scores are as private as the readings. Nothing is drawn here, so that a score may be made
    by any thread, and made again.
    """
    members, names = roster.members, records.context.names
    cases = [
        (names[each.number], member, each)
        for each in records.of(part)
        if isinstance(each, HeldRecord)
        and (member := members.get(names[each.number])) is not None
        and member.part == part.number
    ]
    if len(cases) != roster.sizes.get(part.number, 0):
        raise SourceError("the fleet was changed while it was being read; start again")
    cases.sort(key=lambda case: (repr(case[1].frame), case[1].number))

    def one(name: str, frame: Frame, member: Member, record: Record) -> ScoredSystem:
        # by the member's own days, so that no other system's change how its days vote
        own = frame.settled(
            terms.unit,
            terms.epsilon,
            differenced=member.differenced,
            time_grid=member.time_grid,
        )
        return name, own, score_record(own, record, terms.unit)

    jobs = (
        partial(one, name, frames.of(member.frame), member, each.record)
        for name, member, each in cases
    )
    yield from _in_order(jobs, workers)


def _in_order(jobs: Iterable[Callable[[], ScoredSystem]], workers: int) -> Iterator[ScoredSystem]:
    """Yield what jobs return, in their order, some of them worked on ahead in threads."""
    running: deque[Future[ScoredSystem]] = deque()
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
