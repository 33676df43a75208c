"""Entries that were changed and old copies put back are found, and proven not to be."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select

from sunveil._options import check_fields
from sunveil.errors import LedgerConflict, ParameterError, SunveilError
from sunveil.ledger.hash_chain import GENESIS, Entry, HighWaterMark, HighWaterMarks, digest_of
from sunveil.ledger.ledger_database import answers
from sunveil.ledger.promises import Answer, promise_text, read_promise
from sunveil.ledger.statements import entries_after, entry_at, stored_state
from sunveil.ledger.yearly_schedule import YearlySchedule, year_of
from sunveil.privacy.guarantees import from_nano

if TYPE_CHECKING:
    from sunveil.ledger.statements import StoredState

NO_MARK = "there is no high-water mark, so an old copy of the ledger would not be noticed"

FORGOTTEN = "the ledger has forgotten what was spent: an old copy was put back"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a verification.

    Parameters
    ----------
    dataset
        The name of the dataset.
    entries, charges, answered
        How many entries, charges, and charges with an answer the chain has.
    head
        Digest of the last entry, to be kept elsewhere and compared later.
    spent, total
        The most that any household has spent, and the promise, in its measure.
    faults
        Faults, one sentence each.
    """

    dataset: str
    entries: int
    charges: int
    answered: int
    head: str
    spent: float
    total: float
    faults: tuple[str, ...]

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def holds(self) -> bool:
        """Whether the promise was kept and the record of it is whole."""
        return not self.faults

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain JSON types."""
        return {
            "dataset": self.dataset,
            "holds": self.holds,
            "entries": self.entries,
            "charges": self.charges,
            "answered": self.answered,
            "head": self.head,
            "spent": self.spent,
            "total": self.total,
            "faults": list(self.faults),
        }


@dataclass(slots=True)
class ChainReplay:
    """A chain replayed from its beginning, and what it says was spent."""

    # It can be taken further as the chain grows. It stops at the first entry that is not as it was
    # written, and `fault` says which.

    length: int = 0
    head: str = GENESIS
    fault: str | None = None
    promise: str = ""
    total: int = 0
    meters: int = 1
    fleet: int = 0
    accounts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    shares: dict[str, tuple[int, int]] = field(default_factory=dict)
    charges: dict[int, str] = field(default_factory=dict)
    answered: dict[int, tuple[str, str, str | None]] = field(default_factory=dict)
    largest: int = 0
    moved_to: str | None = None
    withdrawn: bool = False
    schedule: YearlySchedule | None = None
    too_early: int | None = None
    rosters: dict[int, str] = field(default_factory=dict)

    def extend(self, found: Iterable[tuple[Entry, str]]) -> None:
        """Replay further entries, each with the digest that the database holds for it."""
        for entry, digest in found:
            if self.fault is None:
                self._take(entry, digest)

    def _take(self, entry: Entry, digest: str) -> None:
        place = self.length + 1
        if entry.place != place:
            self.fault = f"entry {place} is missing"
        elif entry.previous != self.head or entry.digest != digest:
            self.fault = f"entry {place} was changed"
        else:
            try:
                self._account(entry)
            except (KeyError, TypeError, ValueError, SunveilError):
                self.fault = f"entry {place} cannot be understood"
                return
            self.length, self.head = place, digest

    def _account(self, entry: Entry) -> None:
        facts = entry.facts()
        if (entry.kind == "promise") != (entry.place == 1):
            raise ValueError(entry.kind)
        if (entry.kind == "arrived") != (self.moved_to is not None):
            raise ValueError(entry.kind)
        if self.withdrawn and entry.kind not in ("moved", "arrived"):
            raise ValueError(entry.kind)
        if entry.kind == "promise":
            promise = read_promise(entry.body)
            self.promise, self.total = promise_text(promise), promise.total
            self.meters, self.schedule = promise.meters, promise.schedule
        elif entry.kind == "households":
            self.rosters[entry.place] = facts["digest"]
        elif entry.kind == "charge":
            self._charge(entry.place, facts)
        elif entry.kind == "answer":
            known = facts["question"], facts["answer"], facts.get("series")
            self.answered[facts["charge"]] = known
        elif entry.kind == "analyst":
            spent = self.shares.get(facts["analyst"], (0, 0))[1]
            self.shares[facts["analyst"]] = (facts["share"], spent)
        elif entry.kind == "withdrawn":
            if self.charges:  # what was spent of a promise stays
                raise ValueError(entry.kind)
            self.withdrawn = True
        elif entry.kind == "moved":
            self.moved_to = str(facts["to"])
        elif entry.kind == "arrived":
            self.moved_to = None
        else:
            raise ValueError(entry.kind)

    def _charge(self, place: int, facts: dict[str, Any]) -> None:
        cost, meters = int(facts["cost"]), int(facts["meters"])
        self.charges[place] = facts["question"]
        if facts["systems"] is None:
            self.fleet += cost
        else:
            for name in facts["systems"]:
                self.accounts[name] += cost
                self.largest = max(self.largest, self.accounts[name])
        if facts["analyst"] is not None:
            share, spent = self.shares[facts["analyst"]]
            self.shares[facts["analyst"]] = (share, spent + cost * meters)
        if self.schedule is not None and self.too_early is None:
            allowed = self.schedule.allowed(self.total, year_of(facts))
            if self.fleet + self.largest > allowed:
                self.too_early = place


def verify(state: StoredState, replay: ChainReplay, mark_faults: Iterable[str]) -> Verdict:
    """Compare what was recomputed from the chain with what the database says."""
    faults = [*_faults(state, replay), *mark_faults]
    return Verdict(
        dataset=state.name,
        entries=replay.length,
        charges=len(replay.charges),
        answered=len(replay.answered),
        head=replay.head,
        spent=from_nano(replay.fleet + replay.largest),
        total=from_nano(replay.total),
        faults=tuple(faults),
    )


def _faults(state: StoredState, replay: ChainReplay) -> Iterator[str]:
    if replay.fault is not None:  # what comes after it cannot be trusted, so nothing is compared
        yield replay.fault
        return
    yield from counter_faults(state, replay)
    if dict(replay.accounts) != state.accounts:
        yield "the accounts of single systems do not add up to the charges"
    if replay.rosters != state.rosters:
        yield "the households are not those that were registered"
    yield from state.household_faults
    if replay.shares != state.shares:
        yield "the analysts' shares, or what they spent, are not what the entries say"
    if replay.answered != state.answers:
        yield "an answer was changed, removed or put in by hand"
    if any(replay.charges.get(at) != asked for at, (asked, *_) in replay.answered.items()):
        yield "an answer stands without a charge"


def counter_faults(row: Any, replay: ChainReplay) -> Iterator[str]:
    """Return what is wrong with a dataset's own row: its promise, its counters, its end."""
    if (row.promise, row.total, row.meters) != (replay.promise, replay.total, replay.meters):
        yield "the promise is not the one that was made"
    if (row.length, row.head) != (replay.length, replay.head):
        yield "the chain does not end where the ledger says"
    if (row.fleet_spent, row.largest_spent) != (replay.fleet, replay.largest):
        yield "the counters do not add up to the charges"
    if replay.fleet + replay.largest > replay.total:
        yield "more was spent than was promised"
    if replay.too_early is not None:
        yield f"entry {replay.too_early} spent more than its year allows by the promise's schedule"


def mark_faults(mark: HighWaterMark | None, digest_at_mark: str | None) -> Iterator[str]:
    """Return the faults of a chain that a high-water mark shows."""
    if mark is None:
        yield NO_MARK
    elif digest_at_mark is None:
        yield FORGOTTEN
    elif digest_at_mark != mark.head:
        yield f"entry {mark.length} is not the one that the high-water mark saw"


class IntegrityCheck:
    """Compares a ledger with what this process has seen of its chains, and with its marks."""

    def __init__(self, marks: HighWaterMarks) -> None:
        self._marks = marks
        self._seen: dict[str, ChainReplay] = {}

    def check(self, connection: Connection, row: Row[Any], *, to_change: bool = True) -> None:
        """Refuse a ledger that was changed by hand: all of it at first, then what is new."""
        # The dataset's row is held, so that what is seen here is durable and stays.
        known = self._seen.pop(row.name, None)
        if known is not None and row.length < known.length:
            raise conflict_of(row.name, FORGOTTEN)
        replay = known or ChainReplay()
        replay.extend(entries_after(connection, row.id, replay.length))
        marked = list(faults_by_mark(connection, row, self._marks.get(row.name)))
        if known is None:
            faults = list(verify(stored_state(connection, row), replay, marked).faults)
        else:
            own = [replay.fault] if replay.fault else list(counter_faults(row, replay))
            faults = [*own, *marked]
        # A ledger without a mark is one that was moved: it gets a mark with this change.
        faults = [fault for fault in faults if fault != NO_MARK]
        if faults:
            raise conflict_of(row.name, faults[0])
        if replay.moved_to is not None:
            raise moved_away(replay.moved_to)
        if replay.withdrawn and to_change:
            raise ParameterError(
                f"the promise for {row.name!r} was withdrawn, and nothing can be asked under it"
            )
        self._seen[row.name] = replay


def conflict_of(dataset: str, fault: str) -> LedgerConflict:
    """Return the error that refuses a ledger because of a fault."""
    return LedgerConflict(
        f"the ledger of {dataset!r} cannot be trusted: {fault}; put the newest whole copy back"
    )


def moved_away(where: str) -> LedgerConflict:
    """Return the error that refuses every change of a ledger that was moved."""
    return LedgerConflict(f"this ledger was moved to {where} and is closed for good; use that one")


def verify_row(connection: Connection, row: Row[Any], mark: HighWaterMark | None) -> Verdict:
    """Recompute a dataset's spending from its whole chain, and compare."""
    replay = ChainReplay()
    replay.extend(entries_after(connection, row.id, 0))
    return verify(stored_state(connection, row), replay, faults_by_mark(connection, row, mark))


def faults_by_mark(
    connection: Connection, row: Row[Any], mark: HighWaterMark | None
) -> Iterator[str]:
    """Return the faults of a dataset's chain that a high-water mark shows."""
    there = None if mark is None else entry_at(connection, row.id, mark.length)
    return mark_faults(mark, None if there is None else there.digest)


def kept_answer(connection: Connection, row: Row[Any], question_digest: str) -> Answer | None:
    """Return the kept answer of a question, or None; refuse one that was changed since."""
    found = connection.execute(
        select(answers).where(answers.c.dataset_id == row.id, answers.c.question == question_digest)
    ).one_or_none()
    if found is None:
        return None
    return _unchanged(connection, row, found)


def answers_of_series(connection: Connection, row: Row[Any], series: str) -> list[Answer]:
    mine = (answers.c.dataset_id == row.id) & (answers.c.series == series)
    found = connection.execute(select(answers).where(mine).order_by(answers.c.charge)).all()
    return [_unchanged(connection, row, each) for each in found]


def _unchanged(connection: Connection, row: Row[Any], found: Row[Any]) -> Answer:
    """Return the answer in a row of the table, if it is the one that its entry tells of."""
    entry = entry_at(connection, row.id, found.place)
    facts = {} if entry is None or entry.kind != "answer" else entry.facts()
    stated = facts.get("question"), facts.get("answer"), facts.get("series")
    if stated != (found.question, digest_of(found.answer), found.series):
        raise conflict_of(row.name, "an answer was changed")
    return Answer(json.loads(found.answer)["answer"], found.charge, fresh=False)
