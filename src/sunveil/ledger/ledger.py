"""The ledger: charge durably, then draw, then keep the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select, update

from sunveil.checked import checked
from sunveil.errors import LedgerConflict, ParameterError
from sunveil.ledger.amounts import to_nano
from sunveil.ledger.charging import charge_question, keep_answer
from sunveil.ledger.database import (
    default_marks,
    open_engine,
    reading,
    translated_errors,
)
from sunveil.ledger.high_water import HighWaterMark, HighWaterMarks
from sunveil.ledger.households import SystemHome
from sunveil.ledger.integrity import (
    IntegrityCheck,
    conflict_of,
    kept_answer,
)
from sunveil.ledger.moving import check_open
from sunveil.ledger.opening import prepare
from sunveil.ledger.pending import pending_charges, turns_of
from sunveil.ledger.promise import Promise
from sunveil.ledger.promising import write_promise
from sunveil.ledger.reader import LedgerReader
from sunveil.ledger.records import Answer, Dataset, Question, account_of, as_json, check_name
from sunveil.ledger.registering import register_systems
from sunveil.ledger.rows import (
    append_entry,
    find_row,
)
from sunveil.ledger.schema import datasets, entries, turns
from sunveil.ledger.shares import give_share
from sunveil.ledger.verify import FORGOTTEN, Verdict

__all__ = ["Answer", "Dataset", "Ledger", "Promise", "Question", "Verdict", "account_of"]


class Ledger(LedgerReader):
    """Promises and what has been spent against them.

    Parameters
    ----------
    where
        A file's path, for SQLite, or a ``postgresql://`` URL.
    create
        Make the ledger if there is none; otherwise a missing one is refused.
    marks
        Where high-water marks are kept; beside the file and in the user's state folder when left
        out.
    after_draw
        Called between a draw and its keeping, also where the draw failed: until it returns, nobody
        can see or wait for the end of the draw. The service holds draws back in it.
    """

    @checked
    def __init__(
        self,
        where: str | Path,
        *,
        create: bool = False,
        marks: HighWaterMarks | None = None,
        after_draw: Callable[[], object] | None = None,
    ) -> None:
        engine = open_engine(where, create=create)
        super().__init__(engine, marks or default_marks(engine))
        self._after_draw = after_draw
        self._integrity = IntegrityCheck(self._marks)
        try:
            prepare(engine, create=create)
        except BaseException:
            self.close()
            raise

    # -- datasets and analysts

    @checked
    def create_dataset(self, name: str, promise: Promise) -> Dataset:
        """Make a promise for a new dataset. It is never changed."""
        check_name("dataset", name)
        with translated_errors(self._engine), self._engine.begin() as connection:
            check_open(connection)
            first = write_promise(connection, name, promise)
            if self._marks.get(name) is not None:
                raise LedgerConflict(
                    f"a dataset named {name!r} was kept here before, and this ledger has forgotten"
                    " it; put the newest copy of the ledger back, or choose another name"
                )
            with self._marks.moving(name, HighWaterMark(1, first.digest)):
                connection.commit()
        return self.dataset(name)

    @checked
    def withdraw(self, name: str) -> None:
        """Withdraw a promise of which nothing was ever charged; its name stays taken.

        The chain is closed by an entry that says so, and stays to be verified. Nothing was released
        under the promise, so that nobody relied on it.
        """
        with self._changing(name) as (connection, row):
            charged = (entries.c.dataset_id == row.id) & (entries.c.kind == "charge")
            if connection.execute(select(entries.c.place).where(charged).limit(1)).first():
                raise ParameterError(
                    f"something was charged to the promise for {name!r}, so that it stays"
                )
            append_entry(connection, row, "withdrawn", {})

    @checked
    def register(
        self, dataset: str, systems: Iterable[SystemHome | str], *, add: bool = False
    ) -> None:
        """Register the systems of a dataset, and whose they are, before they are published.

        What is registered already stays as it is. The first call registers whoever is named; a
        later one takes a further system only with its household's key.

        Parameters
        ----------
        dataset
            Its name.
        systems
            Ids of systems, each a household of its own, or systems with their households.
        add
            Take further systems without a key, too: they are other households.
        """
        with self._changing(dataset) as (connection, row):
            register_systems(connection, row, systems, add=add)

    @checked
    def set_share(self, dataset: str, analyst: str, share: float) -> None:
        """Give an analyst a share of a dataset's budget, or change it.

        Parameters
        ----------
        dataset, analyst
            The names of both.
        share
            The most that the analyst's questions may spend, in the promise's measure. Shares may
            add up to more than the budget; what is spent never does.
        """
        check_name("analyst", analyst)
        amount = to_nano(share)
        with self._changing(dataset) as (connection, row):
            give_share(connection, row, analyst=analyst, amount=amount)

    # -- questions

    @checked
    def ask(self, dataset: str, question: Question, draw: Callable[[], Any]) -> Answer:
        """Return the answer of a question: the kept one at no cost, or a new one, charged first.

        A charge that was paid for the question and left without an answer, by whomever, is drawn
        on in place of a new one (:mod:`sunveil.ledger.pending` says why); so whatever was stopped
        is taken up by asking again. Who asks while another draws waits for that answer.

        Parameters
        ----------
        dataset
            Its name.
        question
            What is asked.
        draw
            Draws the answer, as plain JSON types; called once the charge is durable.
        """
        return self.ask_each(dataset, [question], lambda _: draw())[0]

    @checked
    def ask_each(
        self, dataset: str, questions: Sequence[Question], draw: Callable[[Question], Any]
    ) -> list[Answer]:
        """Return the answers of many questions: all that are new are charged first, or none is.

        What was asked before, and what was paid and left without an answer, is as for :meth:`ask`.

        Parameters
        ----------
        dataset
            Its name.
        questions
            What is asked; a question that comes twice is asked once.
        draw
            Draws the answer of one of them; called once all charges are durable.
        """
        digests = [question.digest(dataset) for question in questions]
        asked = dict(zip(digests, questions, strict=True))
        with reading(self._engine) as connection:
            row = find_row(connection, dataset)
            found = {each: kept_answer(connection, row, each) for each in asked}
        new = [digest for digest, answer in found.items() if answer is None]
        if new:
            with turns_of(self._engine, dataset, new) as check_held:
                some = {each: asked[each] for each in new}
                found |= self._answer_new(dataset, some, draw, check_held=check_held)
        return [answer for digest in digests if (answer := found[digest]) is not None]

    def _answer_new(
        self,
        dataset: str,
        asked: dict[str, Question],
        draw: Callable[[Question], Any],
        *,
        check_held: Callable[[], None],
    ) -> dict[str, Answer]:
        """Charge, draw and keep what had no answer before its turn came, by digests."""
        with self._changing(dataset) as (connection, row):
            kept = {each: kept_answer(connection, row, each) for each in asked}
            paid = pending_charges(connection, row)
            charges = {
                digest: paid.get(digest) or charge_question(connection, row, question)
                for digest, question in asked.items()
                if kept[digest] is None
            }
        try:
            texts = {
                digest: as_json({"answer": draw(asked[digest])}, "an answer is")
                for digest in charges
            }
        finally:
            if charges and self._after_draw is not None:
                self._after_draw()
        found = {digest: answer for digest, answer in kept.items() if answer is not None}
        if texts:
            check_held()
            with self._changing(dataset) as (connection, row):
                for digest, text in texts.items():
                    charge = charges[digest]
                    found[digest] = keep_answer(connection, row, digest, charge=charge, text=text)
        return found

    @contextmanager
    @checked
    def turn(self, dataset: str, name: str) -> Iterator[None]:
        """Hold a turn: whoever else takes the same one waits until the block has ended.

        Parameters
        ----------
        dataset, name
            Of the dataset, and of the turn within it, such as the digest of a series.
        """
        with turns_of(self._engine, dataset, [name]):
            yield

    @checked
    def charge(self, dataset: str, question: Question) -> int:
        """Charge a question durably, and return the place of its charge.

        For several systems, each of their accounts is charged; all or none.
        """
        with self._changing(dataset) as (connection, row):
            return charge_question(connection, row, question)

    @checked
    def keep(self, dataset: str, question: Question, charge: int, value: Any) -> Answer:
        """Keep the answer that was drawn for a charge; the first one kept is the answer.

        Parameters
        ----------
        dataset
            Its name.
        question
            What was asked.
        charge
            The place of its charge, as :meth:`charge` returned it.
        value
            The answer, as plain JSON types.
        """
        text = as_json({"answer": value}, "an answer is")
        digest = question.digest(dataset)
        with self._changing(dataset) as (connection, row):
            return keep_answer(connection, row, digest, charge=charge, text=text)

    # -- changing it

    @contextmanager
    def _changing(self, dataset: str) -> Iterator[tuple[Connection, Row[Any]]]:
        """Yield a transaction that holds the ledger, and move the mark as it is durable."""
        with translated_errors(self._engine), self._engine.begin() as connection:
            # Taking the ledger's lock first makes changes follow one another, of whichever dataset,
            # and lets every later statement see what the one before has left.
            connection.execute(update(turns).values(changes=turns.c.changes + 1))
            found = connection.execute(select(datasets.c.id).where(datasets.c.name == dataset))
            if found.first() is None and self._marks.get(dataset) is not None:
                raise conflict_of(dataset, FORGOTTEN)
            row = find_row(connection, dataset)
            self._integrity.check(connection, row)
            if row.shared:  # what its households have spent elsewhere counts here
                others = (datasets.c.shared == 1) & (datasets.c.id != row.id)
                for other in connection.execute(select(datasets).where(others)).all():
                    self._integrity.check(connection, other, to_change=False)
            yield connection, row
            after = find_row(connection, dataset)
            with self._marks.moving(dataset, HighWaterMark(after.length, after.head)):
                connection.commit()
