"""The bodies of the API: what is answered to programs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from sunveil.service.broker import Question
from sunveil.service.problems import MEDIA_TYPE
from sunveil.service.verdicts import ErrorVerdict

Amount = Annotated[float, Field(ge=0.0, description="In the promise's measure.")]


class PromiseBody(BaseModel):
    """What was promised for a dataset, once and for ever."""

    statement: str
    unit: Annotated[str, Field(description="readings:K, days:K or system.")]
    epsilon: float
    delta: float
    measure: Annotated[str, Field(description="What is added up: epsilon or rho.")]


class BudgetBody(BaseModel):
    """What may be spent, what was, and what is left."""

    total: Amount
    spent: Amount
    remaining: Amount


class DatasetBody(BaseModel):
    """A dataset that may be asked about."""

    name: str
    title: str
    about: str
    systems: int | None
    net_systems: Annotated[
        int,
        Field(
            description="How many of the systems are declared to have net meters, which read"
            " generation less a household's load, so that less is told of them."
        ),
    ]
    edition: str
    groups: Annotated[
        dict[str, list[str]], Field(description="Public columns, each with all of its groups.")
    ]
    kinds: Annotated[list[str], Field(description="Kinds of question that it answers.")]
    promise: PromiseBody
    budget: Annotated[BudgetBody, Field(description="Of the dataset, for all analysts together.")]
    share: Annotated[BudgetBody, Field(description="Yours.")]


class DatasetsBody(BaseModel):
    """Datasets that may be asked about."""

    datasets: list[DatasetBody]


class AnalystBody(BaseModel):
    """Who a token belongs to."""

    analyst: str
    datasets: list[str]


class ExpectedBody(BaseModel):
    """An error to expect."""

    table: str
    value: str
    error: float
    unit: str
    meaning: str
    cost: Annotated[
        float | None,
        Field(description="Part of the cost that is spent on it; null where none is told apart."),
    ] = None
    compared_with: Annotated[
        float | None,
        Field(description="What the verdict compares it with, such as an average cell; in unit."),
    ] = None
    verdict: Annotated[ErrorVerdict | None, Field(description="By public rules.")] = None


class AdviceBody(BaseModel):
    """A change of the question that would make its answer better."""

    words: str
    verdict: ErrorVerdict
    affordable: bool
    question: Question


class PlanAnswerBody(BaseModel):
    """What a question would cost and the errors to expect. Nothing was spent."""

    cost: Amount
    measure: str
    kept: Annotated[bool, Field(description="Answered before: it costs nothing.")]
    affordable: Annotated[bool, Field(description="Whether dataset and share hold the cost.")]
    budget_remaining: Amount
    share_remaining: Amount
    expected: list[ExpectedBody]
    verdict: Annotated[
        ErrorVerdict | None, Field(description="The worst of those on what is bought.")
    ]
    advice: Annotated[
        list[AdviceBody], Field(description="Changes that would make it better, best first.")
    ]


class SuggestionBody(BaseModel):
    """A first question that tells as much as a twentieth of your share can."""

    question: Question
    verdict: ErrorVerdict | None


class SuggestionsBody(BaseModel):
    """First questions, one for each kind."""

    suggestions: list[SuggestionBody]


class ReleaseBody(BaseModel):
    """A release in a list."""

    id: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    dataset: str
    kind: str
    title: str
    epsilon: float
    cost: Amount
    made: str
    url: str


class ReleasesBody(BaseModel):
    """Releases of a dataset, newest first."""

    releases: list[ReleaseBody]


class ColumnBody(BaseModel):
    """A column of a table."""

    name: str
    kind: Annotated[str, Field(description="string, integer, number, or array of planes.")]
    about: str


class TableBody(BaseModel):
    """A table of a release."""

    name: str
    about: str
    columns: list[ColumnBody]
    rows: list[list[str | int | float | list[dict[str, float]] | None]]


class FullReleaseBody(ReleaseBody):
    """A release with all of its tables."""

    asked: dict[str, Any]
    edition: str
    guarantee: dict[str, Any]
    mechanism: str
    public: dict[str, Any]
    account: Annotated[
        dict[str, Any] | None,
        Field(description="Promise, spending and ledger mark when it was made; null if unknown."),
    ] = None
    tables: list[TableBody]
    files: Annotated[list[str], Field(description="Addresses of the same as files.")]


class FaultBody(BaseModel):
    """Where a request does not fit its description."""

    where: str
    what: str


class ProblemBody(BaseModel):
    """What is wrong, as RFC 9457 has it."""

    type: Annotated[str, Field(pattern="^urn:sunveil:problem:[a-z-]+$")]
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    id: str | None = None
    requested: float | None = None
    remaining: float | None = None
    errors: list[FaultBody] | None = None


PROBLEMS = {
    400: "The request cannot be read.",
    401: "There is no token, or it does not hold.",
    403: "The budget, or your share of it, does not hold the question.",
    404: "There is nothing here, or nothing that you have a share of.",
    409: "The idempotency key was used for another question.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    422: "The request does not fit its description.",
    429: "Too many requests; ask again after the stated time.",
    500: "Something went wrong inside; the curator finds it by its id.",
    503: "The ledger cannot be written at the moment; nothing was answered.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the problems that a route may answer with, by status."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemBody"}}
    return {
        status: {"description": PROBLEMS[status], "content": {MEDIA_TYPE: schema}}
        for status in statuses
    }
