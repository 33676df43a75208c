"""Public question and answer types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from sunveil.errors import SunveilError
from sunveil.publication.published_tables import ErrorVerdict, verdict_on, worst

SMALLEST_EPSILON, LARGEST_EPSILON = 0.01, 20.0

Epsilon = Annotated[
    float,
    Field(
        ge=SMALLEST_EPSILON, le=LARGEST_EPSILON, description="Privacy loss ε of the whole answer."
    ),
]

GroupBy = Annotated[
    str | None,
    Field(
        max_length=60,
        description="Public column that divides the fleet, as the dataset lists it; null for all.",
    ),
]

Clip = Annotated[
    float | None,
    Field(
        ge=0.5,
        le=1000.0,
        description="Capacities are held at or below this; null to have it chosen privately, from"
        " a public ladder up to 2000 kW, by a third of what totals cost. [kW]",
    ),
]

Largest = Annotated[
    float | None,
    Field(
        ge=1.0,
        le=2000.0,
        description="No system is larger, as a rule for homes may have it: totals are as exact as"
        " that allows. One that is larger counts with this capacity; null: 2000. [kW]",
    ),
]

TableName = Literal[
    "counts", "planes", "sectors", "tilts", "capacities", "mounts", "totals", "quantiles"
]

TABLES: tuple[TableName, ...] = get_args(TableName)


def _as_integer(given: Any) -> Any:
    """Return a whole number as an integer: JSON does not distinguish 50.0 from 50."""
    return int(given) if isinstance(given, float) and given.is_integer() else given


Percents = Annotated[
    list[Annotated[int, Field(ge=1, le=99), BeforeValidator(_as_integer)]],
    Field(min_length=1, max_length=9, description="Which percentiles, in any order."),
]


class _Question(BaseModel):
    # strict: true is not the number 1, and "0.5" not a number at all
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    epsilon: Epsilon


class FleetTableQuestion(_Question):
    """The tables of the fleet that are named: ε goes to these alone."""

    kind: Literal["fleet-table"]
    group_by: GroupBy = None
    tables: Annotated[
        list[TableName],
        Field(
            min_length=1,
            max_length=len(TABLES),
            description="What is bought. counts: sector, band of tilt and class of capacity"
            " together, with all their sums; planes: sector and band; sectors, tilts, capacities:"
            " one of them, with the least noise; mounts: one plane, two planes or a tracker;"
            " totals; quantiles.",
            json_schema_extra={"uniqueItems": True},
        ),
    ] = ["counts", "totals", "quantiles"]
    shares: Annotated[
        dict[TableName, Annotated[float, Field(gt=0.0, le=1e6)]] | None,
        Field(description="How ε is divided; null for 2 to counts and 1 to each other table."),
    ] = None
    sectors: Annotated[Literal[4, 8, 16], Field(description="Sectors of the compass.")] = 8
    percents: Percents = [25, 50, 75]
    clip_kw: Clip = None
    largest_kw: Largest = None


class TotalsQuestion(_Question):
    """Total and mean capacity, by group."""

    kind: Literal["totals"]
    group_by: GroupBy = None
    clip_kw: Clip = None


class QuantilesQuestion(_Question):
    """Quantiles of capacity and tilt, by group."""

    kind: Literal["quantiles"]
    group_by: GroupBy = None
    clip_kw: Annotated[
        float | None,
        Field(ge=1.0, le=1000.0, description="Where the grid of capacities ends; null: 2000. [kW]"),
    ] = None
    percents: Percents = [25, 50, 75]


class SyntheticQuestion(_Question):
    """A table of systems that do not exist, like the fleet together."""

    kind: Literal["synthetic"]
    epsilon: Annotated[
        float, Field(ge=0.05, le=LARGEST_EPSILON, description="Privacy loss ε of the whole answer.")
    ]


class SystemsQuestion(_Question):
    """One row per system, each drawn under the promise's own unit."""

    kind: Literal["systems"]


Question = Annotated[
    FleetTableQuestion | TotalsQuestion | QuantilesQuestion | SyntheticQuestion | SystemsQuestion,
    Field(discriminator="kind"),
]

QUESTIONS: TypeAdapter[Question] = TypeAdapter(Question)

TITLES = {
    "fleet-table": "Fleet table",
    "totals": "Total capacity",
    "quantiles": "Percentiles",
    "synthetic": "Synthetic table",
    "systems": "Single systems",
}

_TABLE_TITLES = {
    "counts": "systems by direction, tilt and capacity",
    "planes": "systems by direction and tilt",
    "sectors": "systems by direction",
    "tilts": "systems by tilt",
    "capacities": "systems by capacity",
    "mounts": "systems by mounting",
    "totals": "total capacity",
    "quantiles": "percentiles",
}


def answer_title(question: Question) -> str:
    """Return the title of the answer, such as `Systems by direction; total capacity, by feeder`."""
    title = TITLES[question.kind]
    if isinstance(question, FleetTableQuestion):
        title = "; ".join(_TABLE_TITLES[name] for name in question.tables)
        title = title.replace("; systems by", "; by")
    elif isinstance(question, QuantilesQuestion):
        title = "percentiles of capacity and tilt"
    group = getattr(question, "group_by", None)
    return title[:1].upper() + title[1:] + (f", by {group}" if group else "")


@dataclass(frozen=True, slots=True)
class ExpectedError:
    table: str
    value: str  # column of the table
    error: float  # [unit]
    unit: str  # such as `systems` or `%`
    meaning: str  # kind of error, such as the standard deviation of the noise
    cost: float | None = None  # part of the cost; 0: with another table; None: undivided
    compared_with: float | None = None  # [unit] public

    @property
    def verdict(self) -> ErrorVerdict | None:
        """What it would be good for, by public rules."""
        return verdict_on(self.error, unit=self.unit, of=self.compared_with)


@dataclass(frozen=True, slots=True)
class Advice:
    """A change of a question that makes its answer better, tried through the planner."""

    words: str  # what to change, such as `with only sectors`
    question: Question  # with the change made
    verdict: ErrorVerdict  # the worst on what it would buy
    affordable: bool = True


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested question for a small part of a share."""

    question: Question
    verdict: ErrorVerdict | None


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """Cost and expected errors of a question; nothing is spent."""

    cost: float  # in the promise's measure; 0 for an answer that is kept
    kept: bool
    expected: tuple[ExpectedError, ...]
    advice: tuple[Advice, ...] = ()

    @property
    def verdict(self) -> ErrorVerdict | None:
        """The worst verdict on the parts that cost anything."""
        return worst(each.verdict for each in self.expected if each.cost != 0.0)


@dataclass(frozen=True, slots=True)
class Answered:
    release: str
    fresh: bool


class QuestionRefused(SunveilError):
    """A question that is refused, for reasons that are public."""


class NotServed(QuestionRefused):
    """There is no such dataset or release for this analyst, or not such a question for it."""


class OverBudget(QuestionRefused):
    """The promise, or the analyst's share of it, does not hold the question."""

    def __init__(self, message: str, *, requested: float, remaining: float) -> None:
        super().__init__(message)
        self.requested, self.remaining = requested, remaining


class KeyReused(QuestionRefused):
    """The idempotency key was used for another question."""
