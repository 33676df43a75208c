"""JSON API."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any

from fastapi import Body, FastAPI, Header
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sunveil.service.analyst.asking import first_questions, make_plan, put_question
from sunveil.service.analyst.pages import MEDIA_TYPES, send_bundle, send_file
from sunveil.service.analyst.releases import (
    IMMUTABLE,
    AnalystBody,
    BudgetBody,
    CachedRelease,
    DatasetBody,
    DatasetsBody,
    FileName,
    FullReleaseBody,
    Id,
    Name,
    PlanAnswerBody,
    ProblemBody,
    PromiseBody,
    ReleaseBody,
    ReleasesBody,
    SharedDataset,
    SuggestionBody,
    SuggestionsBody,
    cached_release,
    list_releases,
    plan_answer,
    problems,
    release_of,
    shared_dataset,
    shared_datasets,
)
from sunveil.service.authentication import check_rate
from sunveil.service.context import service_of
from sunveil.service.guarded_routes import api_router, public_router
from sunveil.service.page_rendering import identity_of
from sunveil.service.questions import Answered, Question

router = api_router()
ALWAYS = (400, 401, 413, 422, 429, 500)

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
def me(request: Request) -> AnalystBody:
    """Say whom the token belongs to."""
    who = identity_of(request).who
    names = [each.name for each in shared_datasets(service_of(request), who)]
    return AnalystBody(analyst=who, datasets=names)


@router.get("/datasets", responses=problems(*ALWAYS), tags=["reading"])
def datasets(request: Request) -> DatasetsBody:
    """List the datasets that you have a share of."""
    service = service_of(request)
    found = shared_datasets(service, identity_of(request).who)
    return DatasetsBody(datasets=[_dataset_body(each) for each in found])


@router.get("/datasets/{dataset}", responses=problems(*ALWAYS, 404), tags=["reading"])
def one_dataset(request: Request, dataset: Name) -> DatasetBody:
    """Tell the promise of a dataset, what is left, and what may be asked."""
    found = shared_dataset(service_of(request), identity_of(request).who, dataset)
    return _dataset_body(found)


@router.get("/datasets/{dataset}/releases", responses=problems(*ALWAYS, 404), tags=["reading"])
def releases(request: Request, dataset: Name) -> ReleasesBody:
    """List what was released of a dataset, newest first, up to 200."""
    service = service_of(request)
    shared_dataset(service, identity_of(request).who, dataset)
    found = [ReleaseBody(**release_of(row)) for row in list_releases(service, dataset)]
    return ReleasesBody(releases=found)


@router.post(
    "/datasets/{dataset}/plans", responses=problems(*ALWAYS, 403, 404, 415, 503), tags=["asking"]
)
async def plan(request: Request, dataset: Name, question: QuestionInBody) -> PlanAnswerBody:
    """Tell what a question would cost, the errors to expect and what they are good for.

    It spends nothing.
    """
    who = identity_of(request).who
    made = await make_plan(request, dataset, question)
    found = await run_in_threadpool(shared_dataset, service_of(request), who, dataset)
    return plan_answer(found, made)


@router.post(
    "/datasets/{dataset}/releases",
    status_code=201,
    response_model=FullReleaseBody,
    responses={
        **problems(*ALWAYS, 403, 404, 409, 415, 503),
        200: {"model": FullReleaseBody, "description": "It was answered before, at no cost."},
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
    response_model=FullReleaseBody,
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


def _dataset_body(found: SharedDataset) -> DatasetBody:
    promise, share = found.promised.promise, found.share
    stated = promise.to_dict()
    return DatasetBody(
        name=found.name,
        title=found.served.title,
        about=found.served.about,
        systems=found.served.systems,
        net_systems=found.served.net,
        edition=found.served.edition,
        groups=found.served.keys,
        kinds=list(found.served.kinds),
        promise=PromiseBody(
            statement=str(promise),
            **{key: stated[key] for key in ("unit", "epsilon", "delta", "measure")},
        ),
        budget=BudgetBody.model_validate(found.promised, from_attributes=True),
        share=BudgetBody(total=share.share, spent=share.spent, remaining=share.remaining),
    )


FILES = [kind.partition(";")[0] for kind in MEDIA_TYPES.values()]


def _sent(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of a route that sends a file of one of some kinds."""
    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in kinds}
    return {
        **problems(*ALWAYS, 404),
        200: {"description": "The file.", "content": content},
        304: {"description": "You have it already."},
    }


@router.get(
    "/releases/{release}/files/{name}",
    response_class=Response,
    responses=_sent(*FILES),
    tags=["reading"],
)
async def file(request: Request, release: Id, name: FileName) -> Response:
    """Send a file of a release: a table as CSV, JSON or Parquet, the release card, the README."""
    await cached_release(request, release)
    return await send_file(request, release, name)


@router.get(
    "/releases/{release}/bundle",
    response_class=Response,
    responses=_sent("application/zip"),
    tags=["reading"],
)
async def all_files(request: Request, release: Id) -> Response:
    """Send all files of a release in one zip, which is the same every time."""
    return await send_bundle(request, await cached_release(request, release))


@router.get(
    "/datasets/{dataset}/suggestions", responses=problems(*ALWAYS, 404, 503), tags=["asking"]
)
async def suggestions(request: Request, dataset: Name) -> SuggestionsBody:
    """Suggest first questions that tell as much as a twentieth of your share can."""
    service, who = service_of(request), identity_of(request).who
    check_rate(service.limits.asks.take(who))
    found = await run_in_threadpool(shared_dataset, service, who, dataset)
    made = await run_in_threadpool(first_questions, service, who, found)
    return SuggestionsBody(
        suggestions=[SuggestionBody(question=each.question, verdict=each.verdict) for each in made]
    )


description_router = public_router("/api/v1")
REFERENCE = "#/components/schemas/{model}"


@description_router.get("/openapi.json")
def openapi(request: Request) -> Response:
    """Send the description."""
    return JSONResponse(describe(request.app))


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description of all addresses for programs."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        schema = ProblemBody.model_json_schema(ref_template=REFERENCE)
        schemas.update(schema.pop("$defs", {}))
        schemas["ProblemBody"] = schema
        made["components"]["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer", "description": "From the curator."}
        }
        made["security"] = [{"token": []}]
        app.openapi_schema = _without_suffixes(made)
    return app.openapi_schema


def _without_suffixes(description: dict[str, Any]) -> dict[str, Any]:
    """Return the description with schemas named as programs know them: Promise, not PromiseBody."""
    names = "|".join(description["components"]["schemas"])
    text = re.sub(rf"\b({names})\b", lambda name: _short(name[0]), json.dumps(description))
    found: dict[str, Any] = json.loads(text)
    return found


def _short(name: str) -> str:
    return name.removesuffix("Body").removesuffix("Question")
