"""Each kind of question: what it would cost, the errors to expect, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sunveil.ledger.ledger import Ledger
from sunveil.ledger.records import Question
from sunveil.meters.schema import schema_digest
from sunveil.publish.account import PublicationAccount
from sunveil.publish.bins import Bins
from sunveil.publish.clip import LARGEST_KW
from sunveil.publish.fleet import dry_fleet_tables
from sunveil.publish.publication import Publication
from sunveil.publish.synthetic import plan_synthetic, publish_synthetic, synthetic_question
from sunveil.publish.system_rows import systems_question
from sunveil.publish.systems import plan_systems, publish_systems
from sunveil.publish.tables import TableChoices, fleet_question, plan_fleet, publish_fleet
from sunveil.publish.terms import ReleaseTerms
from sunveil.service.answering.data import Data
from sunveil.service.answering.expected import synthetic_errors, system_errors, table_errors
from sunveil.service.broker import (
    ExpectedError,
    FleetTableQuestion,
    NotServed,
    QuantilesQuestion,
    QuestionPlan,
    SyntheticQuestion,
    SystemsQuestion,
    TotalsQuestion,
)
from sunveil.service.reading import meter_options
from sunveil.service.store.datasets import Served


@dataclass(frozen=True, slots=True)
class AnalystQuestion:
    """A question to a dataset.

    Parameters
    ----------
    dataset
        The dataset.
    question
        What is asked.
    analyst
        Who asks.
    data
        Where the private data are.
    """

    dataset: Served
    question: Any
    analyst: str
    data: Data


def plan(case: AnalystQuestion, ledger: Ledger) -> QuestionPlan:
    """Return what a question would cost and be worth, from what is public."""
    return _KINDS[type(case.question)].plan(case, ledger)


def expected_errors(case: AnalystQuestion, ledger: Ledger) -> tuple[ExpectedError, ...]:
    """Return the errors to expect of a question, whatever was asked or spent before."""
    return _KINDS[type(case.question)].expected(case, ledger)


def answer(case: AnalystQuestion, ledger: Ledger) -> Publication:
    """Answer a question: the ledger is charged before anything is drawn."""
    return _KINDS[type(case.question)].answer(case, ledger)


def account_of_answer(
    case: AnalystQuestion, ledger: Ledger, publication: Publication
) -> PublicationAccount:
    """Return what the ledger says of an answer: public, and nothing of any analyst's share.

    Parameters
    ----------
    case, publication
        The question and its answer.
    ledger
        What was charged.
    """
    read = isinstance(case.question, SystemsQuestion)  # tables are made from what was inferred
    schema = schema_digest(meter_options(case.dataset)) if read else None
    return PublicationAccount.of(
        ledger, case.dataset.name, publication, schema=schema, interactive=True
    )


def question_of(case: AnalystQuestion, ledger: Ledger) -> Question:
    """Return what :func:`answer` asks the ledger."""
    concentrated = _concentrated(case, ledger)
    if isinstance(case.question, SyntheticQuestion):
        systems = len(case.data.rows(case.dataset))
        return synthetic_question(systems, concentrated=concentrated, **_synthetic_options(case))
    if isinstance(case.question, SystemsQuestion):
        asked = _systems_asked(case, ledger)
        held = asked.pop("systems")
        return systems_question(held.about(), net=held.net > 0, **asked)
    choices = table_choices(case.dataset, case.question)
    return fleet_question(choices, concentrated=concentrated, analyst=case.analyst)


def table_choices(
    dataset: Served, asked: FleetTableQuestion | TotalsQuestion | QuantilesQuestion
) -> TableChoices:
    """Return the public choices of a fleet's tables."""
    group = asked.group_by
    if group is not None and group not in dataset.keys:
        known = ", ".join(dataset.keys) or "none"
        raise NotServed(f"the fleet is divided by: {known}; not by {group!r}")
    made = TableChoices(
        bins=Bins(),
        epsilon=asked.epsilon,
        key=group,
        keys=None if group is None else tuple(dataset.keys[group]),
        edition=dataset.edition,
    )
    clip = None if asked.clip_kw is None else (0.0, asked.clip_kw)
    if isinstance(asked, TotalsQuestion):
        return replace(made, tables=("totals",), clip_kw=clip, quantiles=())
    quantiles = tuple(percent / 100.0 for percent in sorted(set(asked.percents)))
    if isinstance(asked, QuantilesQuestion):
        largest = asked.clip_kw or LARGEST_KW
        return replace(made, tables=("quantiles",), largest_kw=largest, quantiles=quantiles)
    return replace(
        made,
        bins=Bins(sectors=asked.sectors),
        tables=tuple(asked.tables),
        shares=None if asked.shares is None else dict[str, float](asked.shares.items()),
        clip_kw=clip,
        largest_kw=asked.largest_kw or LARGEST_KW,
        quantiles=quantiles,
    )


def _plan_tables(case: AnalystQuestion, ledger: Ledger) -> QuestionPlan:
    choices, systems = table_choices(case.dataset, case.question), case.dataset.systems
    found = plan_fleet(
        ledger, case.dataset.name, choices=choices, systems=systems, analyst=case.analyst
    )
    expected = table_errors(
        tuple(found.expected), choices, systems=systems, concentrated=_concentrated(case, ledger)
    )
    return QuestionPlan(found.cost, found.kept, expected)


def _expected_tables(case: AnalystQuestion, ledger: Ledger) -> tuple[ExpectedError, ...]:
    choices, systems = table_choices(case.dataset, case.question), case.dataset.systems
    concentrated = _concentrated(case, ledger)
    found = dry_fleet_tables(**choices.options(), concentrated=concentrated, systems=systems)
    return table_errors(found, choices, systems=systems, concentrated=concentrated)


def _answer_tables(case: AnalystQuestion, ledger: Ledger) -> Publication:
    return publish_fleet(
        ledger,
        case.dataset.name,
        case.data.rows(case.dataset),
        choices=table_choices(case.dataset, case.question),
        analyst=case.analyst,
        homes=case.data.homes(case.dataset),
    )


def _plan_synthetic(case: AnalystQuestion, ledger: Ledger) -> QuestionPlan:
    assert case.dataset.systems is not None
    found = plan_synthetic(
        ledger, case.dataset.name, case.dataset.systems, **_synthetic_options(case)
    )
    return QuestionPlan(found.cost, found.kept, synthetic_errors(found.noise))


def _expected_synthetic(case: AnalystQuestion, ledger: Ledger) -> tuple[ExpectedError, ...]:
    return _plan_synthetic(case, ledger).expected


def _answer_synthetic(case: AnalystQuestion, ledger: Ledger) -> Publication:
    rows, homes = case.data.rows(case.dataset), case.data.homes(case.dataset)
    options = _synthetic_options(case)
    return publish_synthetic(ledger, case.dataset.name, rows, **options, homes=homes)


def _synthetic_options(case: AnalystQuestion) -> dict[str, Any]:
    return {
        "epsilon": case.question.epsilon,
        "analyst": case.analyst,
        "edition": case.dataset.edition,
    }


def _plan_systems(case: AnalystQuestion, ledger: Ledger) -> QuestionPlan:
    asked = _systems_asked(case, ledger)
    found = plan_systems(ledger, case.dataset.name, **asked)
    return QuestionPlan(found.cost, found.kept, system_errors(found.expected))


def _expected_systems(case: AnalystQuestion, ledger: Ledger) -> tuple[ExpectedError, ...]:
    asked = _systems_asked(case, ledger)
    return system_errors(asked["systems"].expected(asked["terms"]))


def _answer_systems(case: AnalystQuestion, ledger: Ledger) -> Publication:
    homes = case.data.homes(case.dataset)
    return publish_systems(ledger, case.dataset.name, **_systems_asked(case, ledger), homes=homes)


def _systems_asked(case: AnalystQuestion, ledger: Ledger) -> dict[str, Any]:
    promise = ledger.dataset(case.dataset.name).promise
    return {
        "systems": case.data.systems(case.dataset),
        "terms": ReleaseTerms.of(promise.unit, case.question.epsilon, promise=promise),
        "analyst": case.analyst,
        # of an edition that is not the first
        "edition": case.dataset.edition if case.dataset.extra.get("editions") else None,
    }


def _concentrated(case: AnalystQuestion, ledger: Ledger) -> bool:
    """Whether the promise has a δ, so that ε means ρ = ε²/2: public."""
    return ledger.dataset(case.dataset.name).promise.delta > 0.0


@dataclass(frozen=True, slots=True)
class _Kind:
    """How a kind of question is planned, judged and answered."""

    plan: Callable[[AnalystQuestion, Ledger], QuestionPlan]
    expected: Callable[[AnalystQuestion, Ledger], tuple[ExpectedError, ...]]
    answer: Callable[[AnalystQuestion, Ledger], Publication]


_TABLES = _Kind(_plan_tables, _expected_tables, _answer_tables)
_KINDS: dict[type, _Kind] = {
    FleetTableQuestion: _TABLES,
    TotalsQuestion: _TABLES,
    QuantilesQuestion: _TABLES,
    SyntheticQuestion: _Kind(_plan_synthetic, _expected_synthetic, _answer_synthetic),
    SystemsQuestion: _Kind(_plan_systems, _expected_systems, _answer_systems),
}
