"""What the ledger says, read without changing it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sqlalchemy import Engine, select

from sunveil.checked import checked
from sunveil.ledger.amounts import from_nano
from sunveil.ledger.chain import Entry
from sunveil.ledger.charging import cost_to_household
from sunveil.ledger.database import location_of, reading
from sunveil.ledger.high_water import HighWaterMark, HighWaterMarks
from sunveil.ledger.households import SystemHome
from sunveil.ledger.integrity import answers_of_series, kept_answer, verify_row
from sunveil.ledger.pending import pending_charges
from sunveil.ledger.records import Answer, Dataset, Question
from sunveil.ledger.rosters import count_two_keys, member_rows
from sunveil.ledger.rows import as_dataset, entries_after, find_row
from sunveil.ledger.schema import datasets, entries
from sunveil.ledger.shares import AnalystShare, shares_of_dataset
from sunveil.ledger.statement import LedgerStatement, make_statement
from sunveil.ledger.verify import Verdict


class LedgerReader:
    """The half of a ledger that changes nothing: datasets, shares, answers, entries, verdicts.

    Parameters
    ----------
    engine
        The open database.
    marks
        Where high-water marks are kept.
    """

    def __init__(self, engine: Engine, marks: HighWaterMarks) -> None:
        self._engine, self._marks = engine, marks

    def __repr__(self) -> str:
        return f"{type(self).__name__}({location_of(self._engine)!r})"

    def close(self) -> None:
        """Close all connections to the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- datasets and analysts

    def withdrawn(self) -> list[str]:
        """Return the datasets whose promise was withdrawn, sorted by name."""
        closed = select(datasets.c.name).join(entries, entries.c.dataset_id == datasets.c.id)
        with reading(self._engine) as connection:
            found = connection.execute(closed.where(entries.c.kind == "withdrawn"))
            return sorted(found.scalars())

    @checked
    def dataset(self, name: str) -> Dataset:
        """Return a dataset by its name, with its promise and what is spent."""
        with reading(self._engine) as connection:
            return as_dataset(connection, find_row(connection, name))

    def datasets(self) -> list[Dataset]:
        """Return all datasets, sorted by name."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(datasets).order_by(datasets.c.name)).all()
            return [as_dataset(connection, row) for row in rows]

    def names(self) -> list[str]:
        """Return the names of all datasets, also of those whose promise cannot be read."""
        with reading(self._engine) as connection:
            return list(
                connection.execute(select(datasets.c.name).order_by(datasets.c.name)).scalars()
            )

    @checked
    def shares(self, dataset: str) -> list[AnalystShare]:
        """Return the analysts' shares of a dataset, by name."""
        with reading(self._engine) as connection:
            find_row(connection, dataset)
            return shares_of_dataset(connection, dataset)

    # -- questions

    @checked
    def kept(self, dataset: str, question: Question) -> Answer | None:
        """Return the answer of a question that was asked before."""
        with reading(self._engine) as connection:
            return kept_answer(connection, find_row(connection, dataset), question.digest(dataset))

    @checked
    def kept_series(self, dataset: str, series: str) -> list[Answer]:
        """Return the kept answers of a series, oldest first."""
        with reading(self._engine) as connection:
            return answers_of_series(connection, find_row(connection, dataset), series)

    @checked
    def pending(self, dataset: str, question: Question) -> int | None:
        """Return the place of a charge that was paid for a question and has no answer.

        Whoever asks the question draws on it, whoever paid it.
        """
        with reading(self._engine) as connection:
            row, digest = find_row(connection, dataset), question.digest(dataset)
            if kept_answer(connection, row, digest) is not None:
                return None
            return pending_charges(connection, row).get(digest)

    @checked
    def unanswered(self, dataset: str) -> frozenset[str]:
        """Return the digests of questions that were paid and have no answer, or none yet."""
        with reading(self._engine) as connection:
            return frozenset(pending_charges(connection, find_row(connection, dataset)))

    @checked
    def cost(self, dataset: str, question: Question) -> float:
        """Return what a question would cost a household at most, or refuse it."""
        with reading(self._engine) as connection:
            cost, meters = cost_to_household(connection, find_row(connection, dataset), question)
            return from_nano(cost * meters)

    @checked
    def due(self, dataset: str, question: Question) -> float:
        """Return what asking would spend now: nothing where it is kept, or paid already."""
        cost = self.cost(dataset, question)
        paid = self.kept(dataset, question) or self.pending(dataset, question)
        return cost if paid is None else 0.0

    # -- looking at it

    @checked
    def statement(self, dataset: str, question: Question | None = None) -> LedgerStatement:
        """Return a dataset's promise, spending and mark of one moment, and a question's charge."""
        with reading(self._engine) as connection:
            digest = None if question is None else question.digest(dataset)
            return make_statement(connection, find_row(connection, dataset), digest)

    @checked
    def entries(self, dataset: str) -> list[Entry]:
        """Return all entries of a dataset's chain, oldest first."""
        with reading(self._engine) as connection:
            row = find_row(connection, dataset)
            return [entry for entry, _ in entries_after(connection, row.id, 0)]

    @checked
    def members(self, dataset: str) -> list[dict[str, Any]]:
        """Return the registered systems of a dataset and whose they are, as digests."""
        with reading(self._engine) as connection:
            return member_rows(connection, find_row(connection, dataset))

    @checked
    def two_keys_warning(self, dataset: str, homes: Sequence[SystemHome] = ()) -> str:
        """Warn of systems that are another household in another dataset; empty for none.

        Parameters
        ----------
        dataset
            Its name.
        homes
            Systems that are about to be registered in it.
        """
        with reading(self._engine) as connection:
            count = count_two_keys(connection, find_row(connection, dataset), homes)
        if not count:
            return ""
        which = "1 system is" if count == 1 else f"{count:,} systems are"
        return (
            f"{which} one household in {dataset!r} and another in another dataset of the ledger."
            " The same id may be another system there; if it is the same, its household has two"
            " accounts, and its promise can be spent twice: register the right keys in a new"
            " dataset before anything is published."
        )

    @checked
    def verify(self, dataset: str, *, mark: HighWaterMark | None = None) -> Verdict:
        """Recompute a dataset's spending from its chain, and compare.

        Parameters
        ----------
        dataset
            Its name.
        mark
            A high-water mark that was written down elsewhere; the ledger's own when left out.
        """
        # The mark is read first: a change in between may only make the ledger longer.
        known = mark or self._marks.get(dataset)
        with reading(self._engine) as connection:
            return verify_row(connection, find_row(connection, dataset), known)

    def forgotten(self) -> list[str]:
        """Return datasets that the marks know of and the ledger does not."""
        marked = set(self._marks.all())
        return sorted(marked - set(self.names()))
