"""Publisher: plans, charges, draws, keeps and accounts for the publications of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from sunveil._options import checked
from sunveil.errors import SourceError
from sunveil.estimates.read_write import table_keys
from sunveil.fleet.systems_table import SYSTEM_NAMES, read_plain_table
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import (
    HOUSEHOLD,
    METER,
    Answer,
    Dataset,
    Question,
    SystemHome,
    distinct_homes,
)
from sunveil.privacy.guarantees import Guaranteed, from_nano
from sunveil.publication.published_tables import Publication
from sunveil.publication.readme_and_card import DRAWN
from sunveil.publish.account import PublicationAccount

Errors = TypeVar("Errors")


class Product(Generic[Errors]):
    """What is published: its question, its draw, and the publication made of kept answers.

    Everything here is public but :meth:`draw`, which is called once, after the charge.
    """

    @property
    def series(self) -> str | None:
        """Digest of a series of questions; their answers form one publication."""
        return None

    def question(
        self, dataset: Dataset, kept: Sequence[Answer], *, analyst: str | None
    ) -> Question | None:
        """Return what the ledger is asked; None where the kept answers of the series suffice."""
        raise NotImplementedError

    def expected(self, dataset: Dataset, question: Question | None) -> Errors:
        """Return the errors to expect; looks at no reading and no row."""
        raise NotImplementedError

    def rows_given_again(self, dataset: Dataset, kept: Sequence[Answer]) -> int:
        """Return the number of rows of the series that are published again."""
        return 0

    def check(self, question: Question) -> None:
        """Refuse what cannot be drawn, before anything is charged."""

    def systems_charged(self, question: Question) -> Iterable[str]:
        """Return the systems to charge households for."""
        return question.systems or ()

    def draw(self, dataset: Dataset, question: Question, *, digest: str) -> Any:
        """Draw the answer, as plain JSON types: private, called once, after the charge."""
        raise NotImplementedError

    def publication(
        self, dataset: Dataset, answers: Sequence[Answer], question: Question | None
    ) -> Publication:
        """Return kept answers as a publication."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Plan(Generic[Errors]):
    """What a publication would cost and give."""

    cost: float  # spent now, in the promise's measure; 0 where it is paid
    remaining: float  # left before it
    kept: bool  # drawn before
    expected: Errors  # the errors to expect
    given_again: int = 0  # rows of its series that are given again
    drawn: int = 0  # rows of systems that are drawn


class Publisher:
    """Publishes products of one dataset: each is charged, drawn once, and kept.

    Parameters
    ----------
    ledger, dataset
        The ledger that is charged, and the name of the dataset in it.
    analyst
        The analyst, to charge a share too; None for the curator.
    homes
        Known households of the systems; other systems are households of their own.

    Examples
    --------
    >>> publisher = Publisher(ledger, "homes")  # doctest: +SKIP
    >>> product = FleetTables(TableChoices(epsilon=1.0), rows)  # doctest: +SKIP
    >>> publisher.plan(product).cost  # doctest: +SKIP
    1.0
    >>> publication = publisher.publish(product)  # doctest: +SKIP
    """

    @checked
    def __init__(
        self,
        ledger: Ledger,
        dataset: str,
        *,
        analyst: str | None = None,
        homes: Sequence[SystemHome] = (),
    ) -> None:
        self._ledger, self._name = ledger, dataset
        self._analyst, self._homes = analyst, homes

    def affordable(self, guarantee: Guaranteed, mechanism: str) -> float:
        """Return what a guarantee costs one system; raise if the promise refuses it."""
        promise = self._ledger.dataset(self._name).promise
        return from_nano(promise.cost(guarantee, mechanism=mechanism))

    @checked
    def plan(self, product: Product[Errors]) -> Plan[Errors]:
        """Return what a product would cost and its expected errors; spend nothing.

        Parameters
        ----------
        product
            The product: private data are not looked at.
        """
        dataset = self._ledger.dataset(self._name)
        kept = self._series(product)
        question = product.question(dataset, kept, analyst=self._analyst)
        cost = 0.0 if question is None else self._ledger.due(self._name, question)
        return Plan(
            cost=cost,
            remaining=dataset.remaining,
            kept=question is None or self._ledger.kept(self._name, question) is not None,
            expected=product.expected(dataset, question),
            given_again=product.rows_given_again(dataset, kept),
            drawn=0 if question is None else len(question.systems or ()),
        )

    @checked
    def publish(self, product: Product[Any]) -> Publication:
        """Return a product's publication: charged first and drawn, or as it was drawn before.

        A call that was stopped is continued by the same call, on the charge that it has paid.

        Parameters
        ----------
        product
            What to publish.

        Privacy
        -------
        The guarantee of the product, charged durably before its only draw, in the calling thread.
        What was drawn and not kept has been seen by nobody: one answer leaves for one charge.
        """
        dataset, series = self._ledger.dataset(self._name), product.series
        # of two publications at once, both would draw a system that is new to the series
        lock = nullcontext() if series is None else self._ledger.lock(self._name, series)
        with lock:
            kept = self._series(product)
            question = product.question(dataset, kept, analyst=self._analyst)
            if question is None:
                return product.publication(dataset, kept, None)
            answer = self._answer(product, dataset, question)
            answers = [answer] if series is None else self._series(product)
        return product.publication(dataset, answers, question)

    @checked
    def account(
        self, publication: Publication, *, schema: str | None = None, interactive: bool = False
    ) -> PublicationAccount:
        """Return what the ledger states now of a publication: public.

        Parameters
        ----------
        publication
            What was published.
        schema
            Digest of the schema that the meter files were read by
            (:func:`~sunveil.meters.schema_files.schema_digest`).
        interactive
            Whether an analyst asked for it through the service.
        """
        stated = self._ledger.statement(self._name, publication.question)
        known, charge = stated.dataset, stated.charge
        # a household may have rows of earlier charges, too
        several = DRAWN in publication.public
        return PublicationAccount(
            dataset=self._name,
            promise=known.promise,
            total=known.total,
            spent=known.spent,
            remaining=known.remaining,
            spent_epsilon=stated.spent_epsilon,
            plain_epsilon=stated.plain_epsilon,
            charges=stated.charges,
            mark=f"{stated.mark.length}:{stated.mark.head}",
            charge=None if charge is None else charge.place,
            question=None if charge is None else charge.question,
            cost=None if charge is None else charge.cost,
            meters=None if charge is None or several else charge.meters,
            schema=schema,
            interactive=interactive,
        )

    def _series(self, product: Product[Any]) -> Sequence[Answer]:
        series = product.series
        return () if series is None else self._ledger.kept_series(self._name, series)

    def _answer(self, product: Product[Any], dataset: Dataset, question: Question) -> Answer:
        if self._ledger.kept(self._name, question) is None:
            # everything public that can be refused is refused before anything is spent
            self._ledger.cost(self._name, question)
            product.check(question)
            homes = published_homes(product.systems_charged(question), self._homes)
            question = replace(question, homes=homes)
        digest = question.digest(self._name)
        return self._ledger.ask(
            self._name, question, lambda: product.draw(dataset, question, digest=digest)
        )


def published_homes(
    names: Iterable[str], homes: Iterable[SystemHome] = ()
) -> tuple[SystemHome, ...]:
    """Return the households of systems that are about to be published."""
    asked = [SystemHome(name) for name in names]
    wanted = {home.system_id for home in asked}
    known = distinct_homes(home for home in homes if home.system_id in wanted)
    return tuple(known.get(home.name, home) for home in asked)


def read_households(path: Path | str, system_column: str | None = None) -> list[SystemHome]:
    """Read the households that a table of systems names; none where it has no such column."""
    table, where = read_plain_table(Path(path)), Path(path).name
    folded = {name.strip().lower(): name for name in reversed(table.column_names)}
    usual = SYSTEM_NAMES if system_column is None else (system_column.strip().lower(),)
    system = next((folded[name] for name in usual if name in folded), None)
    if system is None:
        raise SourceError(f"{where} has no column of systems (system_id)")
    if HOUSEHOLD not in folded and folded.get(METER, system) == system:
        return []
    columns = [
        table_keys(table.column(name), name, where) if name else [None] * len(table)
        for name in (system, folded.get(HOUSEHOLD), folded.get(METER))
    ]
    rows = enumerate(zip(*columns, strict=True), 1)
    return [
        SystemHome(name, household, meter, number)
        for number, (name, household, meter) in rows
        if name is not None
    ]
