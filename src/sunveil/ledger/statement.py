"""What a ledger can state of a dataset at one moment: promise, spending, mark, and one charge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select

from sunveil.ledger.amounts import from_nano, to_nano
from sunveil.ledger.chain import Entry
from sunveil.ledger.high_water import HighWaterMark
from sunveil.ledger.records import Dataset
from sunveil.ledger.rows import as_dataset, entry_at
from sunveil.ledger.schema import answers, entries


@dataclass(frozen=True, slots=True)
class StatedCharge:
    """The charge of one question.

    Parameters
    ----------
    place, question
        Its place in the dataset's chain, and the digest of what was asked.
    cost
        What a household was charged at most, in the promise's measure.
    meters
        How many meters of one household it was charged for.
    """

    place: int
    question: str
    cost: float
    meters: int


@dataclass(frozen=True, slots=True)
class LedgerStatement:
    """A dataset's figures, all of the same moment.

    Parameters
    ----------
    dataset
        Its promise, and what has been spent.
    mark
        How long its chain is, and the digest of its last entry.
    charges
        How many charges are in it.
    plain_epsilon
        The sum of the ε of its releases for the household that spent most; None where one of them
        is of ρ and has no ε, and under a promise with δ where households have several meters or
        are in several datasets.
    charge
        The charge that was asked for; None where there is none.
    """

    dataset: Dataset
    mark: HighWaterMark
    charges: int
    plain_epsilon: float | None
    charge: StatedCharge | None

    @property
    def spent_epsilon(self) -> float:
        """What has been spent, as ε at the promise's δ."""
        return self.dataset.promise.spent_epsilon(to_nano(self.dataset.spent))

    def to_dict(self) -> dict[str, Any]:
        """Return what is true of the dataset as plain JSON types."""
        return {
            **self.dataset.to_dict(),
            "spent_epsilon": self.spent_epsilon,
            "plain_epsilon": self.plain_epsilon,
            "charges": self.charges,
            "mark": f"{self.mark.length}:{self.mark.head}",
        }


def make_statement(
    connection: Connection, row: Row[Any], question: str | None = None
) -> LedgerStatement:
    """Return what can be stated of a dataset within one transaction.

    Parameters
    ----------
    connection, row
        The transaction, and the dataset's row.
    question
        Digest of the question whose charge is stated, too.
    """
    dataset = as_dataset(connection, row)
    charged = (entries.c.dataset_id == row.id) & (entries.c.kind == "charge")
    count = connection.execute(select(func.count()).select_from(entries).where(charged)).scalar()
    plain: float | None = None
    if dataset.promise.delta == 0.0:
        plain = dataset.spent  # that is what the ledger adds up
    elif dataset.elsewhere is None:
        found = connection.execute(select(entries).where(charged))
        bodies = (Entry(each.place, each.kind, each.body, each.previous).facts() for each in found)
        plain = plain_sum(bodies, meters=dataset.promise.meters)
    return LedgerStatement(
        dataset=dataset,
        mark=HighWaterMark(row.length, row.head),
        charges=int(count or 0),
        plain_epsilon=plain,
        charge=None if question is None else _charge(connection, row, question, dataset),
    )


def plain_sum(charges: Iterable[dict[str, Any]], *, meters: int) -> float | None:
    """Return the ε of charges, added up plainly for a household; None where one is of ρ.

    Parameters
    ----------
    charges
        The facts of their entries.
    meters
        How many meters a household has at most: all of them are in what is about all systems.
    """
    fleet, own = 0, Counter[str]()
    for facts in charges:
        epsilon = facts["guarantee"].get("epsilon")
        if epsilon is None:
            return None
        cost = to_nano(epsilon)
        if facts["systems"] is None:
            fleet += cost * meters
        else:
            own.update(dict.fromkeys(facts["systems"], cost * facts["meters"]))
    return from_nano(fleet + max(own.values(), default=0))


def _charge(
    connection: Connection, row: Row[Any], question: str, dataset: Dataset
) -> StatedCharge | None:
    """Return the charge that a kept answer was drawn for."""
    kept = (answers.c.dataset_id == row.id) & (answers.c.question == question)
    place = connection.execute(select(answers.c.charge).where(kept)).scalar()
    entry = None if place is None else entry_at(connection, row.id, place)
    if entry is None:
        return None
    facts = entry.facts()
    several = facts["meters"]
    meters = dataset.promise.meters if facts["systems"] is None else several
    return StatedCharge(entry.place, question, from_nano(facts["cost"] * several), meters)
