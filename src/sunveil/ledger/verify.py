"""Proving afterwards that a promise was kept: the chain, the counters and the marks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sunveil.arguments import check_fields
from sunveil.errors import SunveilError
from sunveil.ledger.amounts import from_nano
from sunveil.ledger.chain import GENESIS, Entry
from sunveil.ledger.high_water import HighWaterMark
from sunveil.ledger.promise import promise_text, read_promise
from sunveil.ledger.schedule import YearlySchedule, year_of

NO_MARK = "there is no high-water mark, so an old copy of the ledger would not be noticed"
FORGOTTEN = "the ledger has forgotten what was spent: an old copy was put back"


@dataclass(frozen=True, slots=True)
class StoredState:
    """What the database's tables hold of a dataset, beside its chain of entries.

    Parameters
    ----------
    name, promise, total
        Of the dataset; its promise as canonical JSON, the budget in billionths.
    fleet_spent, largest_spent
        Its counters, in billionths.
    length, head
        Where its chain is said to end.
    accounts
        What each account that spent something is said to have spent, in billionths.
    shares
        The share of each analyst and what is said to be spent of it, in billionths.
    answers
        Question, digest and series of each kept answer, by the place of its charge.
    meters
        How many meters of a household are said to count as one.
    rosters
        Digest of what each entry is said to have registered, by its place.
    household_faults
        What is wrong with households over all datasets.
    """

    name: str
    promise: str
    total: int
    fleet_spent: int
    largest_spent: int
    length: int
    head: str
    accounts: dict[str, int]
    shares: dict[str, tuple[int, int]]
    answers: dict[int, tuple[str, str, str | None]]
    meters: int = 1
    rosters: dict[int, str] = field(default_factory=dict)
    household_faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification found.

    Parameters
    ----------
    dataset
        The name of the dataset.
    entries, charges, answered
        How many entries, charges, and charges with an answer the chain has.
    head
        Digest of the last entry: who writes it down can compare it later.
    spent, total
        The most that any household has spent, and the promise, in its measure.
    faults
        What is wrong, one sentence each.
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
    """A chain replayed from its beginning, and what it says was spent.

    It can be taken further as the chain grows. It stops at the first entry that is not as it was
    written, and ``fault`` says which.
    """

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
    """Compare what was recomputed from the chain with what the database says.

    Parameters
    ----------
    state
        What the database's tables hold.
    replay
        The chain, replayed to its end.
    mark_faults
        Faults that the high-water mark shows.
    """
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
    """Return the faults of a chain that a high-water mark shows.

    Parameters
    ----------
    mark
        The mark, where there is one.
    digest_at_mark
        Digest of the chain's entry at the mark's place, where there is one.
    """
    if mark is None:
        yield NO_MARK
    elif digest_at_mark is None:
        yield FORGOTTEN
    elif digest_at_mark != mark.head:
        yield f"entry {mark.length} is not the one that the high-water mark saw"
