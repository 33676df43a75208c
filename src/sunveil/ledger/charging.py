"""Charging one question, and later keeping its answer, each within a transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select

from sunveil.errors import BudgetExceeded, ParameterError
from sunveil.ledger.amounts import from_nano
from sunveil.ledger.chain import digest_of
from sunveil.ledger.debit import CHUNK, debit_analyst, debit_fleet, debit_systems, refuse
from sunveil.ledger.integrity import kept_answer
from sunveil.ledger.promise import Promise
from sunveil.ledger.records import Answer, Question
from sunveil.ledger.registering import register_systems
from sunveil.ledger.rows import append_entry, entry_at, find_row, present_year, promise_of
from sunveil.ledger.schema import answers, members
from sunveil.ledger.spending import household_spending

# Whose rest is meant, where it is not the dataset's own.
SHARED = " to a household that has several meters, or is in other datasets of the ledger too"


def charge_question(connection: Connection, row: Row[Any], question: Question) -> int:
    """Charge a question to all that it concerns, and return the place of its charge.

    Its systems are registered first; where either is refused, neither is done.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    question
        What is asked: about the whole fleet, or about some systems' accounts.
    """
    if question.homes:
        register_systems(connection, row, question.homes, add=False)
    row = find_row(connection, row.name)
    names = question.accounts(row.name)
    cost, meters = cost_to_household(connection, row, question, registered=True)
    _debit_households(connection, row, names, cost=cost, meters=meters)
    if question.analyst is not None:
        debit_analyst(connection, row, analyst=question.analyst, cost=cost * meters)
    body = {
        "cost": cost,
        "meters": meters,
        "question": question.digest(row.name),
        "kind": question.kind,
        "mechanism": question.mechanism,
        "guarantee": question.guarantee.to_dict(),
        "analyst": question.analyst,
        "systems": names,
    }
    if question.series is not None:
        body["series"] = question.series
    return append_entry(connection, row, "charge", body)


def cost_to_household(
    connection: Connection, row: Row[Any], question: Question, *, registered: bool = False
) -> tuple[int, int]:
    """Return what a question costs each account, and how many accounts of one household, at most.

    A release about all systems costs one amount, which counts all meters of a household. One about
    some systems is a release of each, and costs a household as many as it has among them.

    Parameters
    ----------
    connection, row
        The database, and the dataset's row.
    question
        What is asked.
    registered
        Whether systems that are not registered are refused.
    """
    promise = promise_of(row)
    cost = promise.cost(question.guarantee, mechanism=question.mechanism)
    names = question.accounts(row.name)
    if names is None:
        return promise.cost_of_all(cost), 1
    counted = _households_of(connection, row, names)
    if registered and row.households and counted.total() < len(names):
        raise ParameterError(
            f"{len(names) - counted.total()} of the systems are not registered in {row.name!r};"
            " register them first"
        )
    return cost, max(counted.values(), default=1)


def _households_of(connection: Connection, row: Row[Any], names: Sequence[str]) -> Counter[str]:
    """Return how many of some accounts each household has; nobody's, where none is registered."""
    counted: Counter[str] = Counter()
    for start in range(0, len(names) if row.households else 0, CHUNK):
        some = members.c.system.in_(names[start : start + CHUNK])
        here = select(members.c.household).where(members.c.dataset_id == row.id, some)
        counted.update(connection.execute(here).scalars())
    return counted


def _debit_households(
    connection: Connection, row: Row[Any], names: list[str] | None, *, cost: int, meters: int
) -> None:
    """Charge accounts, or the fleet, if every household that is concerned has it left.

    The ledger is held, so that what is added up after the debit is what stands when it is durable.
    """
    promise, year = promise_of(row), present_year()
    allowed = promise.allowed(year)
    saved = connection.begin_nested()
    try:
        if names is None:
            debit_fleet(connection, row, cost=cost, allowed=allowed)
        else:
            debit_systems(connection, row, names=names, cost=cost, allowed=allowed)
        if row.shared:
            some = names if names is not None and len(names) <= CHUNK else None
            squared = promise.measure == "rho"
            # by a schedule a household has spent so much, over all datasets, by now
            held = allowed if promise.schedule is not None else None
            if household_spending(connection, row, some, squared=squared).within(held) < 0:
                saved.rollback()
                before = household_spending(connection, row, some, squared=squared)
                refuse(cost * meters, before.within(held), whose=SHARED)
    except BudgetExceeded as error:
        _refuse_until(error, promise, year)
        raise
    saved.commit()


def _refuse_until(error: BudgetExceeded, promise: Promise, year: int) -> None:
    """Say when more may be spent, where a schedule holds it back."""
    later = None if promise.schedule is None else promise.schedule.more_after(year)
    if later is None:
        return
    more = from_nano(promise.allowed(later) - promise.allowed(year))
    raise BudgetExceeded(
        f"this would spend {error.requested:.9g}, and {error.remaining:.9g} is free by the schedule"
        f" in {year}; {more:.9g} more comes with {later}",
        requested=error.requested,
        remaining=error.remaining,
    ) from None


def keep_answer(
    connection: Connection, row: Row[Any], question_digest: str, *, charge: int, text: str
) -> Answer:
    """Keep the answer of a question, unless another process was quicker.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    question_digest
        Digest of the question.
    charge
        The place of its charge.
    text
        The answer, as canonical JSON.
    """
    found = kept_answer(connection, row, question_digest)
    if found is not None:
        return found
    paid = entry_at(connection, row.id, charge)
    if paid is None or paid.kind != "charge" or paid.facts()["question"] != question_digest:
        raise ParameterError(f"entry {charge} of {row.name!r} is no charge of this question")
    series = paid.facts().get("series")
    body = {"charge": charge, "question": question_digest, "answer": digest_of(text)}
    if series is not None:
        body["series"] = series
    place = append_entry(connection, row, "answer", body)
    values = {"question": question_digest, "charge": charge, "place": place, "answer": text}
    connection.execute(insert(answers).values(dataset_id=row.id, series=series, **values))
    return Answer(json.loads(text)["answer"], charge, fresh=True)
