"""The JSON API, for programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Header, Path
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.service.analyst import models
from sunveil.service.analyst.access import (
    Open,
    Shelved,
    list_releases,
    open_dataset,
    open_datasets,
)
from sunveil.service.analyst.asking import make_plan, put_question, refusal
from sunveil.service.analyst.models import problems
from sunveil.service.broker import Answered, File, Question, Refused
from sunveil.service.context import service_of
from sunveil.service.pages import identity_of
from sunveil.service.routing import api_room

room = api_room()

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
Asked = Annotated[
    Question,
    Body(
        openapi_examples={
            "totals": {"value": {"kind": "totals", "epsilon": 0.5, "group_by": None}},
            "fleet-table": {"value": {"kind": "fleet-table", "epsilon": 1.0, "sectors": 8}},
        }
    ),
]
IMMUTABLE = "private, max-age=31536000, immutable"


@room.get("/me", responses=problems(*ALWAYS), tags=["reading"])
def me(request: Request) -> models.Analyst:
    """Say whom the token belongs to."""
    who = identity_of(request).who
    names = [each.name for each in open_datasets(service_of(request), who)]
    return models.Analyst(analyst=who, datasets=names)


@room.get("/datasets", responses=problems(*ALWAYS), tags=["reading"])
def datasets(request: Request) -> models.Datasets:
    """List the datasets that you have a share of."""
    service = service_of(request)
    found = open_datasets(service, identity_of(request).who)
    return models.Datasets(datasets=[_told(each) for each in found])


@room.get("/datasets/{dataset}", responses=problems(*ALWAYS, 404), tags=["reading"])
def one_dataset(request: Request, dataset: Name) -> models.Dataset:
    """Tell the promise of a dataset, what is left, and what may be asked."""
    found = open_dataset(service_of(request), identity_of(request).who, dataset)
    return _told(found)


@room.get("/datasets/{dataset}/releases", responses=problems(*ALWAYS, 404), tags=["reading"])
def releases(request: Request, dataset: Name) -> models.Releases:
    """List what was released of a dataset, newest first, up to 200."""
    service = service_of(request)
    open_dataset(service, identity_of(request).who, dataset)
    found = [models.Release(**models.release_of(row)) for row in list_releases(service, dataset)]
    return models.Releases(releases=found)


@room.post("/datasets/{dataset}/plans", responses=problems(*ALWAYS, 404, 415, 503), tags=["asking"])
async def plan(request: Request, dataset: Name, question: Asked) -> models.PlanAnswer:
    """Tell what a question would cost and the errors to expect. It spends nothing."""
    who = identity_of(request).who
    made = await make_plan(request, dataset, question)
    found = await run_in_threadpool(open_dataset, service_of(request), who, dataset)
    told = models.plan_answer(
        made,
        measure=found.promised.promise.measure,
        budget=found.promised.remaining,
        share=found.share.remaining,
    )
    return models.PlanAnswer(**told)


@room.post(
    "/datasets/{dataset}/releases",
    status_code=201,
    response_model=models.FullRelease,
    responses={
        **problems(*ALWAYS, 403, 404, 409, 415, 503),
        200: {"model": models.FullRelease, "description": "It was answered before, at no cost."},
    },
    tags=["asking"],
)
async def ask(request: Request, dataset: Name, question: Asked, key: Key) -> Response:
    """Ask: the cost is charged to the dataset and to your share, then the answer is drawn."""

    async def respond(found: Answered) -> Response:
        shelved = await _find(request, found.release)
        place = f"/api/v1/releases/{found.release}"
        return _sent(request, shelved, status=201 if found.fresh else 200, location=place)

    return await put_question(request, dataset, question, key=key, respond=respond)


@room.get(
    "/releases/{release}",
    response_model=models.FullRelease,
    responses={**problems(*ALWAYS, 404), 304: {"description": "You have it already."}},
    tags=["reading"],
)
async def one_release(request: Request, release: Id) -> Response:
    """Send a release with all of its tables. It never changes."""
    return _sent(request, await _find(request, release))


@room.get(
    "/releases/{release}/files/{name}",
    response_class=Response,
    responses={
        **problems(*ALWAYS, 404),
        200: {
            "description": "The file.",
            "content": {
                kind: {"schema": {"type": "string", "format": "binary"}}
                for kind in (
                    "text/csv",
                    "application/vnd.apache.parquet",
                    "application/json",
                    "application/yaml",
                    "text/markdown",
                )
            },
        },
        304: {"description": "You have it already."},
    },
    tags=["reading"],
)
async def file(request: Request, release: Id, name: FileName) -> Response:
    """Send a file of a release: a table as CSV or Parquet, or the release card."""
    await _find(request, release)
    return await send_file(request, release, name)


async def send_file(request: Request, release: str, name: str) -> Response:
    """Return a file of a release that may be read."""
    broker = service_of(request).broker
    found: File | None = broker.file_at_hand(release, name)
    try:
        if found is None:
            found = await run_in_threadpool(broker.file, release, name)
    except Refused as error:
        raise refusal(error) from None
    headers = {
        "Cache-Control": IMMUTABLE,
        "Content-Disposition": f'attachment; filename="{release[:8]}-{name}"',
    }
    return Response(found.content, media_type=found.media_type, headers=headers)


async def _find(request: Request, release: str) -> Shelved:
    service, shelf = service_of(request), request.app.state.shelf
    who = identity_of(request).who
    found: Shelved | None = shelf.remembered(release, who)
    if found is None:
        found = await run_in_threadpool(shelf.find, service, release, who)
    assert found is not None
    return found


def _sent(
    request: Request, shelved: Shelved, *, status: int = 200, location: str | None = None
) -> Response:
    headers = {"ETag": shelved.etag, "Cache-Control": IMMUTABLE, "Vary": "Authorization"}
    if location is not None:
        headers = {"Location": location, "Cache-Control": "no-store"}
    elif request.headers.get("if-none-match") == shelved.etag:
        return Response(status_code=304, headers=headers)
    return Response(
        shelved.text, status_code=status, media_type=JSONResponse.media_type, headers=headers
    )


def _told(found: Open) -> models.Dataset:
    promise, share = found.promised.promise, found.share
    return models.Dataset(
        name=found.name,
        title=found.served.title,
        about=found.served.about,
        systems=found.served.systems,
        edition=found.served.edition,
        groups=found.served.keys,
        kinds=list(found.served.kinds),
        promise=models.Promise(statement=str(promise), **_promise(promise.to_dict())),
        budget=models.Budget(
            total=found.promised.total,
            spent=found.promised.spent,
            remaining=found.promised.remaining,
        ),
        share=models.Budget(total=share.share, spent=share.spent, remaining=share.remaining),
    )


def _promise(told: dict[str, Any]) -> dict[str, Any]:
    return {name: told[name] for name in ("unit", "epsilon", "delta", "measure")}
