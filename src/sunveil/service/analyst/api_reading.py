"""The JSON API on releases: their files, notebooks, and two of them compared; first questions."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst import models
from sunveil.service.analyst.access import cached_release, shared_dataset
from sunveil.service.analyst.answers import compared_body, suggestion_body
from sunveil.service.analyst.api import ALWAYS, FileName, Id, Name
from sunveil.service.analyst.asking import first_questions
from sunveil.service.analyst.comparing import compare
from sunveil.service.analyst.downloads import NOTEBOOK, send_bundle, send_file, send_notebook
from sunveil.service.analyst.models import problems
from sunveil.service.context import service_of
from sunveil.service.identity import check_rate
from sunveil.service.pages import identity_of
from sunveil.service.problems import Problem
from sunveil.service.routing import api_router

router = api_router()
FILES = (
    "text/csv",
    "application/vnd.apache.parquet",
    "application/json",
    "application/yaml",
    "text/markdown",
)


BINARY = {"type": "string", "format": "binary"}


def _sent(*kinds: str, schema: dict[str, str] = BINARY) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries of a route that sends a file of one of some kinds."""
    content = {kind: {"schema": schema} for kind in kinds}
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
    "/releases/{release}/notebook",
    response_class=Response,
    responses=_sent(NOTEBOOK, schema={"type": "object"}),
    tags=["reading"],
)
async def notebook(request: Request, release: Id) -> Response:
    """Send a Jupyter notebook that loads a release by the Python client."""
    return send_notebook(request, await cached_release(request, release))


@router.get(
    "/releases/{release}/compare/{other}", responses=problems(*ALWAYS, 404), tags=["reading"]
)
async def comparison(request: Request, release: Id, other: Id) -> models.ComparisonBody:
    """Compare two releases of the same kind, row by row, with the noise of each difference."""
    one, two = await cached_release(request, release), await cached_release(request, other)
    if one.row.kind != two.row.kind:
        raise Problem(422, "Only two releases of the same kind can be compared.")
    tables = [compared_body(each) for each in compare(one.body, two.body)]
    return models.ComparisonBody(one=release, other=other, tables=tables)


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
