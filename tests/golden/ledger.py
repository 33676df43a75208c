"""The ledger: a script of 300 operations on SQLite and PostgreSQL, with entries and refusals."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg

from sunveil import Days, Readings, System

from .files import Rows, plain
from .fleets import from_tests_of, without_paths
from .seams import (
    ConcentratedGuarantee,
    Guarantee,
    Ledger,
    Promise,
    Question,
    SunveilError,
    YearlySchedule,
)

OPERATIONS, SEED = 300, 71
ANALYSTS = ("ann", "bob")
PROMISES: dict[str, Any] = {
    "pure": Promise(System(), 40.0, meters=2),
    "concentrated": Promise(System(), 20.0, 1e-6),
    "days": Promise(Days(1), 60.0, conditional=("paper",)),
    "yearly": Promise(System(), 30.0, schedule=YearlySchedule(2001, 2, 6.0)),
    "small": Promise(Readings(1), 2.0),
}
EPSILONS = (0.1, 0.25, 1.0, 3.0, 1 / 3)
VARIABLE = ("at", "account", "by")


def record(folder: Path, texts: Rows) -> Rows:
    with Ledger(folder / "ledger.db", create=True) as ledger:
        rows = _script(ledger, folder, texts)
    from_tests_of("ledger")
    from postgres_server import postgres_server

    with postgres_server(folder.parent) as url:
        with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE golden")
        with Ledger(f"{url}/golden", create=True) as ledger:
            others = _script(ledger, folder, {})
    differing = sorted(key for key in {*rows, *others} if rows.get(key) != others.get(key))
    return {**rows, "differs on PostgreSQL": differing}


def _script(ledger: Ledger, folder: Path, texts: Rows) -> Rows:
    rows: Rows = {}
    chosen = random.Random(SEED)
    for name, promise in PROMISES.items():
        ledger.create_dataset(name, promise)
        ledger.register(name, [f"{name}-{number}" for number in range(6)])
    for number in range(OPERATIONS):
        name = chosen.choice(list(PROMISES))
        what, act = _operation(ledger, name, chosen, number)
        key = f"{number:03d} {name} {what}"
        try:
            rows[key] = plain(act(), 9)
        except SunveilError as error:
            facts = {key: value for key, value in vars(error).items() if not key.startswith("_")}
            rows[key] = {"refused": type(error).__name__, **plain(facts, 9)}
            texts[key] = without_paths(str(error), folder)
    for name in ledger.names():
        verdict = ledger.verify(name).to_dict()
        rows[f"{name} verdict"] = plain({k: v for k, v in verdict.items() if k != "head"}, 9)
        rows[f"{name} dataset"] = plain(ledger.dataset(name).to_dict(), 9)
        rows[f"{name} shares"] = [str(share.analyst) for share in ledger.shares(name)]
        for entry in ledger.entries(name):
            rows[f"{name} entry {entry.place:03d} {entry.kind}"] = facts_of(entry.facts())
    return rows


def facts_of(facts: dict[str, Any]) -> Any:
    """Return the facts of an entry but for when and by whom."""
    return plain({key: value for key, value in facts.items() if key not in VARIABLE}, 9)


def _operation(ledger: Ledger, name: str, chosen: random.Random, number: int) -> tuple[str, Any]:
    question = _question(name, chosen)
    value = {"drawn": number}
    others = ["charge and keep", "due", "share", "register", "withdraw", "other"]
    kind = chosen.choice(["ask"] * 6 + others)
    if kind == "ask":
        words = f"ask {question.digest(name)[:12]}"

        def ask() -> Any:
            answer = ledger.ask(name, question, lambda: value)
            return {"value": answer.value, "charge": answer.charge, "fresh": answer.fresh}

        return words, ask
    if kind == "charge and keep":

        def charge() -> Any:
            place = ledger.charge(name, question)
            pending = ledger.pending(name, question)
            return [place, pending, ledger.keep(name, question, place, value).value]

        return kind, charge
    if kind == "due":
        return kind, lambda: [ledger.due(name, question), ledger.cost(name, question)]
    if kind == "share":
        analyst, amount = chosen.choice(ANALYSTS), chosen.choice((0.5, 2.0, 5.0))
        return f"share {analyst}", lambda: ledger.set_share(name, analyst, amount)
    if kind == "register":
        system, add = f"{name}-{chosen.randrange(12)}", chosen.random() < 0.5
        return f"register {system} {add}", lambda: ledger.register(name, [system], add=add)
    if kind == "withdraw":
        return kind, lambda: ledger.withdraw(name)
    missing = chosen.choice(["unknown", name, ""])
    return f"create {missing!r}", lambda: ledger.create_dataset(missing, PROMISES[name]).name


def _question(name: str, chosen: random.Random) -> Question:
    epsilon = chosen.choice(EPSILONS)
    proof = "docs/proofs/window.md"
    unit = PROMISES[name].unit if chosen.random() < 0.85 else Readings(1)
    guarantee: Any = Guarantee(unit, epsilon, 0.0, proof)
    if name == "concentrated" and chosen.random() < 0.5:
        guarantee = ConcentratedGuarantee(unit, epsilon / 10.0, proof)
    systems = (f"{name}-{chosen.randrange(7)}",) if chosen.random() < 0.4 else None
    analyst = chosen.choice([None, *ANALYSTS]) if chosen.random() < 0.5 else None
    mechanism = chosen.choice(["permute-and-flip", "exponential"])
    parameters = {"number": chosen.randrange(12), "edition": "1"}
    return Question("golden", parameters, mechanism, guarantee, systems=systems, analyst=analyst)
