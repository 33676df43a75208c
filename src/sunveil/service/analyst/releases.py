"""Datasets and releases as analysts see them; response models."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any

from cachetools import LRUCache
from fastapi import Path
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from sunveil.errors import ReleaseNotFound
from sunveil.ledger.promises import Dataset
from sunveil.ledger.statements import AnalystShare, shares_of_analyst
from sunveil.publication.published_tables import ErrorVerdict
from sunveil.service.context import MEDIA_TYPE, Problem, Service, service_of
from sunveil.service.page_rendering import identity_of
from sunveil.service.questions import Question, QuestionPlan
from sunveil.service.store.database import ReleaseRow, Served, Transaction
from sunveil.service.store.datasets import (
    READY,
    find_promised,
    find_release,
    find_served,
    releases_of,
)

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
            " generation minus household consumption; their estimates are less exact."
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
        Field(
            description="Part of the cost that is spent on it; null where the cost is undivided."
        ),
    ] = None
    compared_with: Annotated[
        float | None,
        Field(description="What the verdict compares it with, such as an average cell; in unit."),
    ] = None
    verdict: Annotated[ErrorVerdict | None, Field(description="By public rules.")] = None


class AdviceBody(BaseModel):
    """A change of the question that improves its answer."""

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
    """A suggested question that costs at most 5% of your share."""

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
    401: "The token is missing or not valid.",
    403: "The question exceeds the privacy budget or your share of it.",
    404: "Not found, or you have no share of it.",
    409: "The idempotency key was used for another question.",
    413: "The request is too large.",
    415: "The body is not JSON.",
    422: "The request does not fit its description.",
    429: "Too many requests; retry after the stated time.",
    500: "Internal error; the log has it by its id.",
    503: "The ledger cannot be written at present; nothing was answered.",
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of the problems that a route may answer with, by status."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemBody"}}
    return {
        status: {"description": PROBLEMS[status], "content": {MEDIA_TYPE: schema}}
        for status in statuses
    }


def release_of(row: ReleaseRow) -> dict[str, Any]:
    names = ("id", "dataset", "kind", "title", "epsilon", "cost", "made")
    return {name: getattr(row, name) for name in names} | {"url": f"/api/v1/releases/{row.id}"}


def file_names(body: dict[str, Any]) -> list[str]:
    ends = ("csv", "json", "parquet")
    tables = [f"{table['name']}.{end}" for table in body["tables"] for end in ends]
    return [*tables, "datapackage.json", "release-card.yaml", "README.md"]


def full_release(row: ReleaseRow) -> dict[str, Any]:
    fields, body = release_of(row), row.body
    tables = [
        {
            **table,
            "columns": [
                {"name": name, "kind": kind, "about": about}
                for name, kind, about in table["columns"]
            ],
        }
        for table in body["tables"]
    ]
    return {
        **fields,
        **{key: body[key] for key in ("asked", "edition", "guarantee", "mechanism", "public")},
        "account": body["account"],
        "tables": tables,
        "files": [f"{fields['url']}/files/{name}" for name in file_names(body)],
    }


def plan_answer(found: SharedDataset, plan: QuestionPlan) -> PlanAnswerBody:
    """Return a plan as it is shown and sent, with whether it can be afforded."""
    budget, share = found.promised.remaining, found.share.remaining
    return PlanAnswerBody(
        cost=plan.cost,
        measure=found.promised.promise.measure,
        kept=plan.kept,
        affordable=plan.kept or plan.cost <= min(budget, share) + 5e-10,
        budget_remaining=budget,
        share_remaining=share,
        expected=[
            ExpectedBody.model_validate(each, from_attributes=True) for each in plan.expected
        ],
        verdict=plan.verdict,
        advice=[AdviceBody.model_validate(each, from_attributes=True) for each in plan.advice],
    )


RELEASES_IN_MEMORY = 256 * 1024 * 1024  # [bytes]


@dataclass(frozen=True, slots=True)
class SharedDataset:
    served: Served
    promised: Dataset
    share: AnalystShare

    @property
    def name(self) -> str:
        return self.served.name

    @property
    def sign(self) -> str:
        return "ε" if self.promised.promise.measure == "epsilon" else "ρ"


@dataclass(frozen=True, slots=True)
class CachedRelease:
    """A release as it is sent, kept in memory: it never changes."""

    row: ReleaseRow
    text: bytes = field(repr=False)
    etag: str


class ReleaseCache:
    """Releases and rights in memory, so that reading what was published is cheap.

    A release never changes, and a share is never taken away: what was found once stays true. That a
    token holds is looked up apart.
    """

    def __init__(self) -> None:
        self._releases: LRUCache[str, CachedRelease] = LRUCache(RELEASES_IN_MEMORY, _size)
        self._rights: set[tuple[str, str]] = set()
        self._loading, self._guard = threading.Lock(), threading.Lock()

    def cached(self, release: str, analyst: str) -> CachedRelease | None:
        with self._guard:
            found = self._releases.get(release)
        return found if found and (analyst, found.row.dataset) in self._rights else None

    def find(self, service: Service, release: str, analyst: str) -> CachedRelease:
        """Return a release that an analyst may read, or refuse with a 404."""
        with self._loading:  # many who come at once are served by one
            return self.cached(release, analyst) or self._load(service, release, analyst)

    def _load(self, service: Service, release: str, analyst: str) -> CachedRelease:
        with self._guard:
            known = self._releases.get(release)
        with service.store.reading() as db:
            found = find_release(db, release) if known is None else None
            shares = shares_of_analyst(db.connection(), analyst)
        made = _cached(found) if found is not None else known
        if made is None or made.row.dataset not in shares:
            raise Problem(404, "There is no such release of a dataset that you have a share of.")
        self._rights.add((analyst, made.row.dataset))
        with self._guard, suppress(ValueError):  # larger than all that is kept
            self._releases[release] = made
        return made


def _size(release: CachedRelease) -> int:
    return 6 * len(release.text)  # the body beside the text takes a few times as much


def shared_datasets(service: Service, analyst: str) -> list[SharedDataset]:
    with service.store.reading() as db:
        shares = shares_of_analyst(db.connection(), analyst)
        found = [_if_ready(db, name, share) for name, share in sorted(shares.items())]
    return [each for each in found if each is not None]


def shared_dataset(service: Service, analyst: str, name: str) -> SharedDataset:
    """Return a dataset that an analyst may ask about, or refuse with a 404."""
    with service.store.reading() as db:
        share = shares_of_analyst(db.connection(), analyst).get(name)
        found = None if share is None else _if_ready(db, name, share)
    if found is None:
        raise Problem(404, "There is no such dataset that you have a share of.")
    return found


def _if_ready(db: Transaction, name: str, share: AnalystShare) -> SharedDataset | None:
    try:
        served = find_served(db, name)
    except ReleaseNotFound:  # the ledger may hold more than is served
        return None
    promised = find_promised(db, name)
    if promised is None or served.state != READY:
        return None
    return SharedDataset(served, promised, share)


def list_releases(service: Service, dataset: str) -> Sequence[ReleaseRow]:
    with service.store.reading() as db:
        return releases_of(db, dataset)


def _cached(row: ReleaseRow) -> CachedRelease:
    text = json.dumps(full_release(row), ensure_ascii=False, allow_nan=False).encode()
    return CachedRelease(row, text, f'"{hashlib.sha256(text).hexdigest()[:24]}"')


async def cached_release(request: Request, release: str) -> CachedRelease:
    """Return a release that the caller may read, or refuse with a 404."""
    release_cache, who = request.app.state.release_cache, identity_of(request).who
    found: CachedRelease | None = release_cache.cached(release, who)
    if found is None:
        found = await run_in_threadpool(release_cache.find, service_of(request), release, who)
    assert found is not None
    return found


IMMUTABLE = "private, max-age=31536000, immutable"
Name = Annotated[str, Path(pattern="^[a-z0-9][a-z0-9-]{0,59}$", description="Of a dataset.")]
Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Of a release.")]
FileName = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
