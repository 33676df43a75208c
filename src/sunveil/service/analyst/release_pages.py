"""Pages of releases: one with its figures, tables and files, or two side by side."""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst import own
from sunveil.service.analyst.access import CachedRelease, cached_release, list_releases
from sunveil.service.analyst.answers import file_names
from sunveil.service.analyst.api import FileName, Id
from sunveil.service.analyst.comparing import compare
from sunveil.service.analyst.downloads import send_bundle, send_file, send_json, send_notebook
from sunveil.service.analyst.figures import figures_of
from sunveil.service.analyst.forms import form_query, known_question, question_words
from sunveil.service.analyst.words import cut_sentences
from sunveil.service.context import service_of
from sunveil.service.pages import identity_of, redirect, render
from sunveil.service.problems import Problem
from sunveil.service.routing import analyst_router
from sunveil.service.store.releases import ReleaseRow

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
    service, row, body = service_of(request), found.row, found.body
    names = own.names(service, identity_of(request).who)
    asked = known_question(body["asked"])
    others = [
        each
        for each in list_releases(service, row.dataset)
        if each.kind == row.kind and each.id != row.id
    ]
    return render(
        request,
        "analyst/release.html",
        row=row,
        body=body,
        name=names.get(row.id, ""),
        words=[("Privacy loss ε", f"{row.epsilon:g}")] if asked is None else question_words(asked),
        query="" if asked is None else form_query(asked),
        cut_words=cut_sentences(body["tables"]),
        tables=_short_first([_without_lists(each) for each in body["tables"]]),
        figures=figures_of(body),
        documents=[each for each in file_names(body) if each in DOCUMENTS],
        others=[(each, _label(each, names)) for each in others],
        most=MOST_ROWS,
    )


@router.post("/releases/{release}/name")
async def name(request: Request, release: Id) -> Response:
    """Keep what the analyst calls a release."""
    await cached_release(request, release)
    service, who = service_of(request), identity_of(request).who
    given = str((await request.form()).get("name", ""))
    kept = await run_in_threadpool(own.set_name, service, who, release, name=given)
    message = f"You call this release “{kept}” from now on." if kept else "The name was removed."
    return await run_in_threadpool(
        lambda: redirect(request, f"/analyst/releases/{release}", message=message)
    )


@router.get("/compare")
async def compare_page(request: Request) -> Response:
    """Show two releases of one kind side by side."""
    ids = [str(request.query_params.get(name, "")) for name in ("one", "other")]
    if not all(len(each) == 32 and set(each) <= set("0123456789abcdef") for each in ids):
        raise Problem(404, "Choose two releases to compare, from the page of one of them.")
    one, other = [await cached_release(request, each) for each in ids]
    if one.row.kind != other.row.kind:
        raise Problem(422, "Only two releases of the same kind can be compared.")
    names = await run_in_threadpool(own.names, service_of(request), identity_of(request).who)
    return await run_in_threadpool(
        lambda: render(
            request,
            "analyst/compare.html",
            one=one.row,
            other=other.row,
            one_label=_label(one.row, names),
            other_label=_label(other.row, names),
            tables=compare(one.body, other.body),
            most=MOST_ROWS,
        )
    )


@router.get("/releases/{release}/release.json")
async def release_json(request: Request, release: Id) -> Response:
    """Send a release as the API has it."""
    return send_json(await cached_release(request, release))


@router.get("/releases/{release}/release.zip")
async def release_zip(request: Request, release: Id) -> Response:
    """Send all files of a release in one."""
    return await send_bundle(request, await cached_release(request, release))


@router.get("/releases/{release}/release.ipynb")
async def release_notebook(request: Request, release: Id) -> Response:
    """Send a notebook that loads a release."""
    return send_notebook(request, await cached_release(request, release))


@router.get("/releases/{release}/files/{name}")
async def release_file(request: Request, release: Id, name: FileName) -> Response:
    """Send a file of a release."""
    await cached_release(request, release)
    return await send_file(request, release, name)


def _label(row: ReleaseRow, names: dict[str, str]) -> str:
    """Return what a page calls a release: the analyst's own name, or its title and ε."""
    given = names.get(row.id)
    drawn = f"ε = {row.epsilon:.4g}, {row.made[:16].replace('T', ' ')}"
    return f"{given} ({drawn})" if given else f"{row.title} {row.id[:8]} ({drawn})"


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
