"""Charging one question, and later keeping its answer, each within a transaction."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, Row, insert

from sunveil.errors import ParameterError
from sunveil.ledger.chain import digest_of
from sunveil.ledger.debit import debit_analyst, debit_fleet, debit_systems
from sunveil.ledger.integrity import kept_answer
from sunveil.ledger.records import Answer, Question
from sunveil.ledger.rows import append_entry, entry_at, promise_of
from sunveil.ledger.schema import answers


def charge_question(connection: Connection, row: Row[Any], question: Question) -> int:
    """Charge a question to all that it concerns, and return the place of its charge.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    question
        What is asked: about the whole fleet, or about some systems' accounts.
    """
    names = question.accounts(row.name)
    cost = promise_of(row).cost(question.guarantee, mechanism=question.mechanism)
    if names is None:
        debit_fleet(connection, row, cost)
    else:
        debit_systems(connection, row, names=names, cost=cost)
    if question.analyst is not None:
        debit_analyst(connection, row, analyst=question.analyst, cost=cost)
    body = {
        "cost": cost,
        "question": question.digest(row.name),
        "kind": question.kind,
        "mechanism": question.mechanism,
        "guarantee": question.guarantee.to_dict(),
        "analyst": question.analyst,
        "systems": names,
    }
    return append_entry(connection, row, "charge", body)


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
    body = {"charge": charge, "question": question_digest, "answer": digest_of(text)}
    place = append_entry(connection, row, "answer", body)
    values = {"question": question_digest, "charge": charge, "place": place, "answer": text}
    connection.execute(insert(answers).values(dataset_id=row.id, **values))
    return Answer(json.loads(text)["answer"], charge, fresh=True)
