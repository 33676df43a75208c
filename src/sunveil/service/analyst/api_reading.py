"""The JSON API on the files of releases, and on first questions."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst import models
from sunveil.service.analyst.access import cached_release, shared_dataset
from sunveil.service.analyst.answers import suggestion_body
from sunveil.service.analyst.api import ALWAYS, FileName, Id, Name
from sunveil.service.analyst.asking import first_questions
from sunveil.service.analyst.downloads import send_bundle, send_file
from sunveil.service.analyst.models import problems
from sunveil.service.context import service_of
from sunveil.service.identity import check_rate
from sunveil.service.pages import identity_of
from sunveil.service.routing import api_router

router = api_router()
FILES = (
    "text/csv",
    "application/vnd.apache.parquet",
    "application/json",
    "application/yaml",
    "text/markdown",
)


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
async def suggestions(request: Request, dataset: Name) -> models.SuggestionsBody:
    """Suggest first questions that tell as much as a twentieth of your share can."""
    service, who = service_of(request), identity_of(request).who
    check_rate(service.limits.asks.take(who))
    found = await run_in_threadpool(shared_dataset, service, who, dataset)
    made = await run_in_threadpool(first_questions, service, who, found)
    return models.SuggestionsBody(suggestions=[suggestion_body(each) for each in made])
