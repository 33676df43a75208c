"""Ledger: charge, then draw, then keep; queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, Row, select, update

from sunveil._options import checked
from sunveil.errors import LedgerConflict, ParameterError
from sunveil.ledger.charges import (
    charge_question,
    cost_to_household,
    keep_answer,
    lock_names,
    pending_charges,
    register_systems,
    write_promise,
)
from sunveil.ledger.hash_chain import Entry, HighWaterMark, HighWaterMarks
from sunveil.ledger.ledger_database import (
    datasets,
    default_marks,
    entries,
    location_of,
    open_engine,
    prepare,
    reading,
    translated_errors,
    turns,
)
from sunveil.ledger.move_ledger import check_open
from sunveil.ledger.promises import (
    Answer,
    Dataset,
    Promise,
    Question,
    SystemHome,
    as_json,
    check_name,
)
from sunveil.ledger.statements import (
    AnalystShare,
    LedgerStatement,
    append_entry,
    as_dataset,
    count_two_keys,
    entries_after,
    find_row,
    give_share,
    make_statement,
    member_rows,
    shares_of_dataset,
)
from sunveil.ledger.verify_chain import (
    FORGOTTEN,
    IntegrityCheck,
    Verdict,
    answers_of_series,
    conflict_of,
    kept_answer,
    verify_row,
)
from sunveil.privacy.guarantees import from_nano, to_nano


class LedgerReader:
    """The half of a ledger that changes nothing: datasets, shares, answers, entries, verdicts."""

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
        """Return the datasets with a withdrawn promise, sorted by name."""
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
        """Return the names of all datasets, also where the promise cannot be read."""
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
        """Return the place of a charge that was paid for a question and has no answer."""
        # Any later question draws on it, no matter who paid it.
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
        """Return the registered systems of a dataset and their households, as digests."""
        with reading(self._engine) as connection:
            return member_rows(connection, find_row(connection, dataset))

    @checked
    def two_keys_warning(self, dataset: str, homes: Sequence[SystemHome] = ()) -> str:
        """Warn of systems that are another household in another dataset; empty for none."""
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
        """Recompute a dataset's spending from its chain, and compare."""
        # The mark is read first: a change in between may only make the ledger longer.
        known = mark or self._marks.get(dataset)
        with reading(self._engine) as connection:
            return verify_row(connection, find_row(connection, dataset), known)

    def forgotten(self) -> list[str]:
        """Return datasets that the marks know of and the ledger does not."""
        marked = set(self._marks.all())
        return sorted(marked - set(self.names()))


class Ledger(LedgerReader):
    """Promises and what has been spent against them.

    Parameters
    ----------
    where
        A file's path, for SQLite, or a ``postgresql://`` URL.
    create
        Make the ledger if there is none; otherwise a missing one is refused.
    marks
        Where high-water marks are kept; default: beside the file and in the user's state folder.
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
        """Register the systems of a dataset and their households, before they are published.

        What is registered already stays as it is. The first call registers all that are named; a
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
        on in place of a new one (:mod:`sunveil.ledger.charges` says why); so whatever was stopped
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
            with lock_names(self._engine, dataset, new) as check_held:
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
        """Charge, draw and keep what had no answer before it was locked, by digests."""
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
    def lock(self, dataset: str, name: str) -> Iterator[None]:
        """Hold a lock: others who take it wait until the block has ended.

        Parameters
        ----------
        dataset, name
            The name of the dataset, and of the lock in it, such as the digest of a series.
        """
        with lock_names(self._engine, dataset, [name]):
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
