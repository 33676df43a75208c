"""The page of a release: its figures, tables and files."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst.access import CachedRelease, cached_release
from sunveil.service.analyst.answers import file_names
from sunveil.service.analyst.api import FileName, Id
from sunveil.service.analyst.downloads import send_bundle, send_file, send_json
from sunveil.service.analyst.figures import figures_of
from sunveil.service.analyst.forms import QUESTIONS, form_query, question_words
from sunveil.service.analyst.words import cut_sentences
from sunveil.service.pages import render
from sunveil.service.routing import analyst_router

router = analyst_router()

# Rows of a table that a page shows; the files have all of them.
MOST_ROWS = 200
# Files that are listed by themselves; tables have links of their own.
DOCUMENTS = ("README.md", "release-card.yaml", "datapackage.json")


@router.get("/releases/{release}")
async def release(request: Request, release: Id) -> Response:
    """Show a release: figures, tables, files and its guarantee."""
    found = await cached_release(request, release)
    return await run_in_threadpool(_page, request, found)


def _page(request: Request, found: CachedRelease) -> Response:
    row, body = found.row, found.body
    asked = QUESTIONS.validate_python(body["asked"])
    return render(
        request,
        "analyst/release.html",
        row=row,
        body=body,
        words=question_words(asked),
        query=form_query(asked),
        cut_words=cut_sentences(body["tables"]),
        tables=_short_first([_without_lists(each) for each in body["tables"]]),
        figures=figures_of(body),
        documents=[each for each in file_names(body) if each in DOCUMENTS],
        base=str(request.base_url).rstrip("/"),
        most=MOST_ROWS,
    )


@router.get("/releases/{release}/release.json")
async def release_json(request: Request, release: Id) -> Response:
    """Send a release as the API has it."""
    return send_json(await cached_release(request, release))


@router.get("/releases/{release}/release.zip")
async def release_zip(request: Request, release: Id) -> Response:
    """Send all files of a release in one."""
    return await send_bundle(request, await cached_release(request, release))


@router.get("/releases/{release}/files/{name}")
async def release_file(request: Request, release: Id, name: FileName) -> Response:
    """Send a file of a release."""
    await cached_release(request, release)
    return await send_file(request, release, name)


def _without_lists(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without lists of planes, which a table of their own has flat."""
    kept = [place for place, column in enumerate(table["columns"]) if column[1] != "array"]
    return {
        **table,
        "columns": [table["columns"][place] for place in kept],
        "rows": [[row[place] for place in kept] for row in table["rows"]],
    }


def _short_first(tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return tables in the order that they are read in: long ones of counts come last."""
    many = len(tables) > 3
    return sorted(tables, key=lambda table: len(table["rows"])) if many else tables
