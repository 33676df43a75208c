"""Analysts' shares of a promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from sunveil.errors import ParameterError
from sunveil.ledger.ledger_database import analysts, datasets
from sunveil.ledger.statements import append_entry
from sunveil.privacy.guarantees import from_nano


@dataclass(frozen=True, slots=True)
class AnalystShare:
    """What an analyst may spend of a dataset, and has spent, in billionths of its measure."""

    analyst: str
    share_nano: int
    spent_nano: int

    @property
    def share(self) -> float:
        """The whole share, in the promise's measure."""
        return from_nano(self.share_nano)

    @property
    def spent(self) -> float:
        """What was spent of it, in the promise's measure."""
        return from_nano(self.spent_nano)

    @property
    def remaining(self) -> float:
        """What is left of it, in the promise's measure."""
        return from_nano(self.share_nano - self.spent_nano)

    def to_dict(self) -> dict[str, Any]:
        """Return the share as plain JSON types."""
        return {
            "analyst": self.analyst,
            "share": self.share,
            "spent": self.spent,
            "remaining": self.remaining,
        }


def give_share(connection: Connection, row: Row[Any], *, analyst: str, amount: int) -> None:
    """Give an analyst a share of a dataset's budget, or change it, and write that down."""
    who = (analysts.c.dataset_id == row.id) & (analysts.c.name == analyst)
    spent = connection.execute(select(analysts.c.spent).where(who)).scalar()
    if amount > row.total or (spent or 0) > amount:
        raise ParameterError(
            f"a share must be at most the dataset's {from_nano(row.total):g} and at least what the"
            " analyst has spent"
        )
    if spent is None:
        connection.execute(
            insert(analysts).values(dataset_id=row.id, name=analyst, share=amount, spent=0)
        )
    else:
        connection.execute(update(analysts).where(who).values(share=amount))
    append_entry(connection, row, "analyst", {"analyst": analyst, "share": amount})


def shares_of_dataset(connection: Connection, name: str) -> list[AnalystShare]:
    """Return the shares of a dataset, by analyst."""
    query = _shares().where(datasets.c.name == name).order_by(analysts.c.name)
    return [AnalystShare(row.analyst, row.share, row.spent) for row in connection.execute(query)]


def shares_of_analyst(connection: Connection, analyst: str) -> dict[str, AnalystShare]:
    """Return an analyst's shares, by the name of the dataset."""
    query = _shares().where(analysts.c.name == analyst)
    return {
        row.dataset: AnalystShare(analyst, row.share, row.spent)
        for row in connection.execute(query)
    }


def _shares() -> Any:
    return select(
        datasets.c.name.label("dataset"),
        analysts.c.name.label("analyst"),
        analysts.c.share,
        analysts.c.spent,
    ).join_from(analysts, datasets)
