"""The JSON API, for programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Header, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.service.analyst import models
from sunveil.service.analyst.access import (
    CachedRelease,
    SharedDataset,
    cached_release,
    list_releases,
    shared_dataset,
    shared_datasets,
)
from sunveil.service.analyst.answers import plan_answer, release_of
from sunveil.service.analyst.asking import make_plan, put_question
from sunveil.service.analyst.downloads import IMMUTABLE
from sunveil.service.analyst.models import problems
from sunveil.service.broker import Answered, Question
from sunveil.service.context import service_of
from sunveil.service.pages import identity_of
from sunveil.service.routing import api_router

router = api_router()

ALWAYS = (400, 401, 413, 422, 429, 500)
Name = Annotated[str, Path(pattern="^[a-z0-9][a-z0-9-]{0,59}$", description="Of a dataset.")]
Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Of a release.")]
FileName = Annotated[str, Path(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern="^[A-Za-z0-9_.:-]{8,100}$",
        description="Random, one for each question: the same again gives the same answer, and is"
        " charged once.",
    ),
]
QuestionInBody = Annotated[
    Question,
    Body(
        openapi_examples={
            "totals": {"value": {"kind": "totals", "epsilon": 0.5, "group_by": None}},
            "fleet-table": {"value": {"kind": "fleet-table", "epsilon": 1.0, "sectors": 8}},
        }
    ),
]


@router.get("/me", responses=problems(*ALWAYS), tags=["reading"])
def me(request: Request) -> models.AnalystBody:
    """Say whom the token belongs to."""
    who = identity_of(request).who
    names = [each.name for each in shared_datasets(service_of(request), who)]
    return models.AnalystBody(analyst=who, datasets=names)


@router.get("/datasets", responses=problems(*ALWAYS), tags=["reading"])
def datasets(request: Request) -> models.DatasetsBody:
    """List the datasets that you have a share of."""
    service = service_of(request)
    found = shared_datasets(service, identity_of(request).who)
    return models.DatasetsBody(datasets=[_dataset_body(each) for each in found])


@router.get("/datasets/{dataset}", responses=problems(*ALWAYS, 404), tags=["reading"])
def one_dataset(request: Request, dataset: Name) -> models.DatasetBody:
    """Tell the promise of a dataset, what is left, and what may be asked."""
    found = shared_dataset(service_of(request), identity_of(request).who, dataset)
    return _dataset_body(found)


@router.get("/datasets/{dataset}/releases", responses=problems(*ALWAYS, 404), tags=["reading"])
def releases(request: Request, dataset: Name) -> models.ReleasesBody:
    """List what was released of a dataset, newest first, up to 200."""
    service = service_of(request)
    shared_dataset(service, identity_of(request).who, dataset)
    found = [models.ReleaseBody(**release_of(row)) for row in list_releases(service, dataset)]
    return models.ReleasesBody(releases=found)


@router.post(
    "/datasets/{dataset}/plans", responses=problems(*ALWAYS, 403, 404, 415, 503), tags=["asking"]
)
async def plan(request: Request, dataset: Name, question: QuestionInBody) -> models.PlanAnswerBody:
    """Tell what a question would cost, the errors to expect and what they are good for.

    It spends nothing.
    """
    who = identity_of(request).who
    made = await make_plan(request, dataset, question)
    found = await run_in_threadpool(shared_dataset, service_of(request), who, dataset)
    fields = plan_answer(
        made,
        measure=found.promised.promise.measure,
        budget=found.promised.remaining,
        share=found.share.remaining,
    )
    return models.PlanAnswerBody(**fields)


@router.post(
    "/datasets/{dataset}/releases",
    status_code=201,
    response_model=models.FullReleaseBody,
    responses={
        **problems(*ALWAYS, 403, 404, 409, 415, 503),
        200: {
            "model": models.FullReleaseBody,
            "description": "It was answered before, at no cost.",
        },
    },
    tags=["asking"],
)
async def ask(request: Request, dataset: Name, question: QuestionInBody, key: Key) -> Response:
    """Ask: the cost is charged to the dataset and to your share, then the answer is drawn."""

    async def respond(found: Answered) -> Response:
        cached = await cached_release(request, found.release)
        place = f"/api/v1/releases/{found.release}"
        return _release_response(
            request, cached, status=201 if found.fresh else 200, location=place
        )

    return await put_question(request, dataset, question, key=key, respond=respond)


@router.get(
    "/releases/{release}",
    response_model=models.FullReleaseBody,
    responses={**problems(*ALWAYS, 404), 304: {"description": "You have it already."}},
    tags=["reading"],
)
async def one_release(request: Request, release: Id) -> Response:
    """Send a release with all of its tables. It never changes."""
    return _release_response(request, await cached_release(request, release))


def _release_response(
    request: Request, cached: CachedRelease, *, status: int = 200, location: str | None = None
) -> Response:
    headers = {"ETag": cached.etag, "Cache-Control": IMMUTABLE, "Vary": "Authorization"}
    if location is not None:
        headers = {"Location": location, "Cache-Control": "no-store"}
    elif request.headers.get("if-none-match") == cached.etag:
        return Response(status_code=304, headers=headers)
    return Response(
        cached.text, status_code=status, media_type=JSONResponse.media_type, headers=headers
    )


def _dataset_body(found: SharedDataset) -> models.DatasetBody:
    promise, share = found.promised.promise, found.share
    return models.DatasetBody(
        name=found.name,
        title=found.served.title,
        about=found.served.about,
        systems=found.served.systems,
        net_systems=found.served.net,
        edition=found.served.edition,
        groups=found.served.keys,
        kinds=list(found.served.kinds),
        promise=models.PromiseBody(statement=str(promise), **_promise_fields(promise.to_dict())),
        budget=models.BudgetBody(
            total=found.promised.total,
            spent=found.promised.spent,
            remaining=found.promised.remaining,
        ),
        share=models.BudgetBody(total=share.share, spent=share.spent, remaining=share.remaining),
    )


def _promise_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in ("unit", "epsilon", "delta", "measure")}
