"""Fleet tables under a promise: charged before they are drawn, and drawn once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.fleet.results import FleetRows
from sunveil.ledger.households import SystemHome
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.records import Question
from sunveil.publish.bins import Bins, groups_of
from sunveil.publish.clip import LARGEST_KW
from sunveil.publish.fleet import (
    PROOF,
    QUANTILES,
    Expected,
    dry_fleet_tables,
    fleet_tables,
)
from sunveil.publish.households import published_homes
from sunveil.publish.publication import Publication, PublishedTable
from sunveil.publish.spending import Spending


@dataclass(frozen=True, slots=True)
class TableChoices:
    """What is chosen in public for a fleet's tables.

    Parameters
    ----------
    bins
        Sectors, bands and classes.
    epsilon
        What all tables cost together. Under a promise with δ it means ρ = ε²/2, what an ε-DP
        release costs there.
    tables
        What is bought, by name; None for the usual ones (:mod:`sunveil.publish.buying`).
    shares
        How ε is divided among them; None for the usual shares.
    key, keys
        A public column that divides the fleet, and every group there may be, in advance.
    clip_kw
        Public bounds of capacity in totals; None to have the upper one chosen privately. [kW]
    largest_kw
        The largest capacity that a system may have: public. [kW]
    quantiles
        Which quantiles.
    edition
        A public name of the data that the tables are made from: another edition is another
        question.
    """

    bins: Bins
    epsilon: float
    tables: tuple[str, ...] | None = None
    shares: Mapping[str, float] | None = None
    key: str | None = None
    keys: tuple[str, ...] | None = None
    clip_kw: tuple[float, float] | None = None
    largest_kw: float = LARGEST_KW
    quantiles: tuple[float, ...] = tuple(QUANTILES)
    edition: str = "1"

    def __post_init__(self) -> None:
        check_fields(self)

    def options(self) -> dict[str, Any]:
        """Return them as :func:`~sunveil.publish.fleet.fleet_tables` takes them."""
        return {
            "bins": self.bins,
            "epsilon": self.epsilon,
            "tables": self.tables,
            "shares": self.shares,
            "key": self.key,
            "keys": self.keys,
            "clip_kw": self.clip_kw,
            "largest_kw": self.largest_kw,
            "quantiles": self.quantiles,
        }


@dataclass(frozen=True, slots=True)
class TablesPlan:
    """What tables would cost, and the errors of their cells.

    Parameters
    ----------
    cost, remaining
        What they would spend now, and what is left before, in the promise's measure.
    kept
        Whether they were drawn before, and cost nothing.
    expected
        The error of every table's cells.
    """

    cost: float
    remaining: float
    kept: bool
    expected: Sequence[Expected]


def fleet_question(
    choices: TableChoices, *, concentrated: bool = False, analyst: str | None = None
) -> Question:
    """Return the question that a fleet's tables answer.

    Parameters
    ----------
    choices
        The public choices.
    concentrated
        Whether the dataset's promise has a δ.
    analyst
        Whose share is charged too; None for the curator.
    """
    bins, clip = choices.bins, choices.clip_kw
    return Question(
        kind="fleet-tables",
        parameters={
            "sectors": bins.sectors,
            "tilt_edges": list(bins.tilt_edges),
            "capacity_edges_kw": list(bins.capacity_edges_kw),
            "epsilon": choices.epsilon,
            "tables": None if choices.tables is None else sorted(choices.tables),
            "shares": None if choices.shares is None else dict(choices.shares),
            "key": choices.key,
            "keys": None if choices.keys is None else list(choices.keys),
            "clip_kw": None if clip is None else list(clip),
            "largest_kw": choices.largest_kw,
            "quantiles": list(choices.quantiles),
            "edition": choices.edition,
        },
        mechanism="fleet-tables",
        guarantee=Spending.asked(choices.epsilon, concentrated=concentrated).guarantee(PROOF),
        analyst=analyst,
    )


@checked
def publish_fleet(
    ledger: Ledger,
    dataset: str,
    rows: FleetRows,
    *,
    choices: TableChoices,
    analyst: str | None = None,
    homes: Sequence[SystemHome] = (),
) -> Publication:
    """Return a fleet's tables: charged first and drawn, or those that were drawn before.

    A call that was stopped is taken up by the same call, on the charge that it has paid.

    Parameters
    ----------
    ledger, dataset
        What is charged.
    rows
        The fleet: private.
    choices
        The public choices.
    analyst
        Whose share is charged too; None for the curator.
    homes
        What is known of the systems' households; without, each system is one by its name.

    Privacy
    -------
    ε-DP for ``System()``, or ρ-zCDP where the promise has a δ, charged durably before the first
    draw. Proof: ``docs/proofs/counts.md``.
    """
    concentrated = _concentrated(ledger, dataset)
    question = fleet_question(choices, concentrated=concentrated, analyst=analyst)
    # what is public and can be refused is refused before anything is spent
    plan = plan_fleet(ledger, dataset, choices=choices, analyst=analyst)
    groups_of(rows, key=choices.key, keys=choices.keys)
    if not plan.kept:
        question = replace(question, homes=published_homes(rows.system_ids, homes))

    def draw() -> dict[str, Any]:
        drawn = fleet_tables(rows, **choices.options(), concentrated=concentrated)
        return {
            "title": drawn.title,
            "tables": [table.to_dict() for table in drawn.tables],
            "mechanism": drawn.mechanism,
            "public": drawn.public,
        }

    drawn_tables = ledger.ask(dataset, question, draw).value
    return Publication(
        title=drawn_tables["title"],
        tables=tuple(PublishedTable.from_dict(table) for table in drawn_tables["tables"]),
        guarantee=question.guarantee,
        mechanism=drawn_tables["mechanism"],
        public=drawn_tables["public"],
        question=question,
    )


def plan_fleet(
    ledger: Ledger,
    dataset: str,
    *,
    choices: TableChoices,
    systems: int | None = None,
    analyst: str | None = None,
) -> TablesPlan:
    """Return what the tables would cost and their errors; spend nothing, and look at no row.

    Parameters
    ----------
    ledger, dataset
        What would be charged, and the name of the dataset in it.
    choices
        The public choices.
    systems
        How many systems there are: public, and only used for the errors of totals.
    analyst
        Whose share would be charged too; None for the curator.
    """
    concentrated = _concentrated(ledger, dataset)
    question = fleet_question(choices, concentrated=concentrated, analyst=analyst)
    expected = dry_fleet_tables(**choices.options(), concentrated=concentrated, systems=systems)
    return TablesPlan(
        cost=ledger.due(dataset, question),
        remaining=ledger.dataset(dataset).remaining,
        kept=ledger.kept(dataset, question) is not None,
        expected=expected,
    )


def _concentrated(ledger: Ledger, dataset: str) -> bool:
    """Whether releases are added up as ρ, which the promise decides: public."""
    return ledger.dataset(dataset).promise.delta > 0.0
