"""The entries of a ledger, as people read them."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.ledger.acting import actor_of
from sunveil.ledger.amounts import from_nano
from sunveil.ledger.chain import Entry
from sunveil.service.curator.estimate_table import defused
from sunveil.service.wording import count_of

CURATOR = "the curator"
COLUMNS = (
    "entry", "at", "kind", "analyst", "question", "mechanism", "systems", "cost", "digest",
    "account",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EntryText:
    """An entry of a ledger in words.

    Parameters
    ----------
    place
        Its number within the dataset's chain, from 1.
    at
        When it was made, in UTC.
    kind
        ``promise``, ``households``, ``charge``, ``answer`` or ``analyst``.
    who
        The curator, or the analyst who asked.
    what
        One sentence.
    cost
        What it cost, in the promise's measure; None where it is no charge.
    digest
        What binds the next entry to it.
    question
        Digest of the question, where it is a charge.
    account
        Which account or token of the service did it; None where the entry does not say.
    """

    place: int
    at: str
    kind: str
    who: str
    what: str
    cost: float | None
    digest: str
    question: str | None = None
    account: str | None = None


@dataclass(frozen=True, slots=True)
class AskerTotals:
    """What one asker has asked: how many questions, what they cost, and when the last was."""

    who: str
    questions: int
    cost: float
    last: str


def describe_entry(entry: Entry) -> EntryText:
    """Return an entry in words, as far as it can be understood."""
    try:
        facts = entry.facts()
        at, who, what = str(facts["at"]), *_words(entry.kind, facts)
        charged = entry.kind == "charge"
        cost = from_nano(int(facts["cost"]) * int(facts["meters"])) if charged else None
        question = str(facts["question"]) if charged else None
        account = actor_of(facts)
    except (KeyError, TypeError, ValueError):
        at, who, what, cost = "–", "–", "damaged: this entry cannot be read", None
        question = account = None
    shown = at.replace("T", " ").removesuffix("+00:00")
    return EntryText(
        entry.place, shown, entry.kind, who, what, cost, entry.digest, question, account
    )


def asker_totals(entries: Sequence[Entry]) -> list[AskerTotals]:
    """Return who asked and what it cost them, the dearest first."""
    charges: dict[str, list[EntryText]] = defaultdict(list)
    for entry in entries:
        if entry.kind == "charge":
            text = describe_entry(entry)
            charges[text.who].append(text)
    found = [
        AskerTotals(who, len(all_), sum(each.cost or 0.0 for each in all_), all_[-1].at)
        for who, all_ in charges.items()
    ]
    return sorted(found, key=lambda each: (-each.cost, each.who))


def as_csv(entries: Sequence[Entry]) -> str:
    """Return entries as a table; a cell never begins a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        writer.writerow([defused(cell) for cell in _cells(entry)])
    return out.getvalue()


def entry_fields(entry: Entry) -> dict[str, Any]:
    """Return an entry with its body as it stands: its digest is of that text."""
    return {
        "place": entry.place,
        "kind": entry.kind,
        "body": entry.body,
        "previous": entry.previous,
        "digest": entry.digest,
    }


def _words(kind: str, facts: dict[str, Any]) -> tuple[str, str]:
    if kind == "promise":
        delta = f", δ = {facts['delta']:g}" if facts["delta"] else ""
        return CURATOR, f"promised ε = {facts['epsilon']:g}{delta} for {_unit(str(facts['unit']))}"
    if kind == "analyst":
        return CURATOR, f"gave {facts['analyst']} a share of {from_nano(facts['share']):.6g}"
    if kind == "households":
        systems = count_of(facts["systems"], "system")
        keys = count_of(facts["keys"], "household key")
        return CURATOR, f"recorded the households of {systems}, with {keys}"
    if kind == "answer":
        return "", f"answer of entry {facts['charge']}"
    if kind == "withdrawn":
        return CURATOR, "withdrew the promise, of which nothing was charged"
    if kind == "moved":
        return CURATOR, f"moved the ledger to {facts['to']}"
    if kind == "arrived":
        return CURATOR, f"moved the ledger here from {facts['from']}"
    if kind != "charge":
        raise ValueError(kind)
    about = "all systems" if facts["systems"] is None else count_of(len(facts["systems"]), "system")
    who = CURATOR if facts["analyst"] is None else str(facts["analyst"])
    epsilon = facts["guarantee"]["epsilon"]
    by = "" if facts["mechanism"] == facts["kind"] else f", by {facts['mechanism']}"
    return who, f"{facts['kind']} about {about} at ε = {epsilon:g}{by}"


def _unit(unit: str) -> str:
    """Return what a promise protects in words, such as ``2 days of a household``."""
    kind, _, many = unit.partition(":")
    if kind == "system":
        return "the whole record of a household"
    return f"{count_of(int(many), kind.removesuffix('s'))} of a household"


def _cells(entry: Entry) -> list[Any]:
    text = describe_entry(entry)
    try:
        facts = entry.facts()
    except ValueError:
        facts = {}
    systems = facts.get("systems")
    many = "" if entry.kind != "charge" else "all" if systems is None else len(systems)
    analyst = facts.get("analyst") or ""
    cost = "" if text.cost is None else f"{text.cost:.9f}"
    question = facts.get("kind", "") if entry.kind == "charge" else text.what
    return [
        entry.place, facts.get("at", ""), entry.kind, analyst, question,
        facts.get("mechanism", ""), many, cost, entry.digest, text.account or "",
    ]  # fmt: skip
