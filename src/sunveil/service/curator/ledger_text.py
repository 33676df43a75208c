"""The entries of a ledger, as people read them."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sunveil.ledger.amounts import from_nano
from sunveil.ledger.chain import Entry

CURATOR = "the curator"
COLUMNS = ("entry", "at", "kind", "analyst", "question", "mechanism", "systems", "cost", "digest")


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
    """

    place: int
    at: str
    kind: str
    who: str
    what: str
    cost: float | None
    digest: str
    question: str | None = None


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
        cost = from_nano(int(facts["cost"]) * int(facts.get("meters", 1))) if charged else None
        question = str(facts["question"]) if charged else None
    except (KeyError, TypeError, ValueError):
        at, who, what, cost = "–", "–", "changed: it cannot be understood", None
        question = None
    shown = at.replace("T", " ").removesuffix("+00:00")
    return EntryText(entry.place, shown, entry.kind, who, what, cost, entry.digest, question)


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
        writer.writerow([_harmless(cell) for cell in _cells(entry)])
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
        return CURATOR, f"promised ε = {facts['epsilon']:g}{delta} for {facts['unit']}"
    if kind == "analyst":
        return CURATOR, f"gave {facts['analyst']} a share of {from_nano(facts['share']):.6g}"
    if kind == "households":
        return CURATOR, f"registered {facts['systems']} systems, and {facts['keys']} keys of them"
    if kind == "answer":
        return "", f"answer of entry {facts['charge']}"
    if kind == "moved":
        return CURATOR, f"moved the ledger to {facts['to']}"
    if kind == "arrived":
        return CURATOR, f"moved the ledger here from {facts['from']}"
    if kind != "charge":
        raise ValueError(kind)
    about = "all systems" if facts["systems"] is None else f"{len(facts['systems'])} systems"
    who = CURATOR if facts["analyst"] is None else str(facts["analyst"])
    epsilon = facts["guarantee"]["epsilon"]
    return who, f"{facts['kind']} about {about} at ε = {epsilon:g}, by {facts['mechanism']}"


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
        facts.get("mechanism", ""), many, cost, entry.digest,
    ]  # fmt: skip


def _harmless(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: names are chosen by people."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t") else cell
