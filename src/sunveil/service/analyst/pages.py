"""The analyst's pages."""

from __future__ import annotations

import secrets
from typing import Any

from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst.access import (
    CachedRelease,
    SharedDataset,
    list_releases,
    shared_dataset,
    shared_datasets,
)
from sunveil.service.analyst.api import IMMUTABLE, FileName, Id, Name, send_file
from sunveil.service.analyst.asking import make_plan, put_question
from sunveil.service.analyst.figures import figures_of
from sunveil.service.analyst.models import file_names, plan_answer
from sunveil.service.analyst.words import ABOUT, TABLE_WORDS, promise_sentences
from sunveil.service.broker import LARGEST_EPSILON, SMALLEST_EPSILON, TITLES, Answered, Question
from sunveil.service.context import service_of
from sunveil.service.pages import identity_of, redirect, render, render_part
from sunveil.service.problems import Problem
from sunveil.service.routing import analyst_router

router = analyst_router()

QUESTIONS: TypeAdapter[Question] = TypeAdapter(Question)
FIELDS = ("epsilon", "group_by", "sectors", "clip_kw", "percents", "tables")
DEFAULTS = {
    "group_by": "",
    "sectors": "8",
    "clip_kw": "",
    "percents": "25, 50, 75",
    "tables": "counts,totals,quantiles",
}
# Rows of a table that a page shows; the files have all of them.
MOST_ROWS = 200


@router.get("")
def home(request: Request) -> Response:
    """Show the datasets that may be asked about."""
    service = service_of(request)
    found = shared_datasets(service, identity_of(request).who)
    counts = {each.name: len(list_releases(service, each.name)) for each in found}
    return render(
        request, "analyst/datasets.html", datasets=found, counts=counts, words=promise_sentences
    )


@router.get("/help")
def help_page(request: Request) -> Response:
    """Show how a program asks."""
    return render(request, "analyst/help.html", base=str(request.base_url).rstrip("/"))


@router.get("/datasets/{name}")
def dataset(request: Request, name: Name) -> Response:
    """Show a dataset: its promise, what is left, what may be asked, and what was released."""
    service = service_of(request)
    found = shared_dataset(service, identity_of(request).who, name)
    kinds = [(kind, TITLES[kind], ABOUT[kind]) for kind in found.served.kinds]
    return render(
        request,
        "analyst/dataset.html",
        dataset=found,
        words=promise_sentences(found.promised.promise),
        kinds=kinds,
        releases=list_releases(service, name),
    )


@router.get("/datasets/{name}/ask/{kind}")
async def ask_page(request: Request, name: Name, kind: str) -> Response:
    """Show the form of a question with its cost; for a script, the cost alone."""
    found = await _dataset(request, name, kind)
    given = _given(request.query_params, found)
    if request.headers.get("x-partial") != "plan":
        return await _form(request, found, kind, given=given)
    values = await _planned(request, found, kind, given)
    return render_part(request, "analyst/plan.html", dataset=found, **values)


@router.post("/datasets/{name}/ask/{kind}")
async def ask(request: Request, name: Name, kind: str) -> Response:
    """Ask, and go to the release; or show the form again with what is wrong."""
    found = await _dataset(request, name, kind)
    form = await request.form()
    given = _given(form, found)
    try:
        return await _put(request, name, _question(kind, given), key=str(form.get("key", "")))
    except Problem as error:
        if error.status_code not in (403, 422, 429, 503):
            raise
        found = await _dataset(request, name, kind)  # what is left may have changed
        return await _form(request, found, kind, given=given, problem=error)


async def _put(request: Request, name: str, question: Question, *, key: str) -> Response:
    if not (8 <= len(key) <= 64 and key.isalnum()):
        raise Problem(422, "The form is not whole; load it again.")

    async def respond(found: Answered) -> Response:
        message = (
            "The answer was drawn just now; its cost has been charged."
            if found.fresh
            else "This was answered before: it cost nothing."
        )
        return await run_in_threadpool(
            lambda: redirect(request, f"/analyst/releases/{found.release}", message=message)
        )

    return await put_question(request, name, question, key=f"page:{key}", respond=respond)


async def _form(
    request: Request,
    found: SharedDataset,
    kind: str,
    *,
    given: dict[str, str],
    problem: Problem | None = None,
) -> Response:
    """Return the form of a question, with its cost and with what was wrong."""
    values = await _planned(request, found, kind, given)
    if problem is not None:
        values["refused"] = problem.detail
    most = max(min(LARGEST_EPSILON, found.promised.promise.epsilon), SMALLEST_EPSILON)
    return await run_in_threadpool(
        lambda: render(
            request,
            "analyst/ask.html",
            status=200 if problem is None else problem.status_code,
            dataset=found,
            kind=kind,
            title=TITLES[kind],
            about=ABOUT[kind],
            tables=TABLE_WORDS,
            given=given,
            smallest=SMALLEST_EPSILON,
            largest=most,
            key=secrets.token_hex(16),
            **values,
        )
    )


@router.get("/releases/{release}")
def release(request: Request, release: Id) -> Response:
    """Show a release: figures, tables, files and its guarantee."""
    found = _cached(request, release)
    return render(
        request,
        "analyst/release.html",
        row=found.row,
        body=found.body,
        tables=_short_first([_without_lists(each) for each in found.body["tables"]]),
        figures=figures_of(found.body),
        files=file_names(found.body),
        most=MOST_ROWS,
    )


@router.get("/releases/{release}/release.json")
def release_json(request: Request, release: Id) -> Response:
    """Send a release as the API has it."""
    found = _cached(request, release)
    headers = {
        "Cache-Control": IMMUTABLE,
        "Content-Disposition": f'attachment; filename="{release[:8]}-release.json"',
    }
    return Response(found.text, media_type="application/json", headers=headers)


@router.get("/releases/{release}/files/{name}")
async def release_file(request: Request, release: Id, name: FileName) -> Response:
    """Send a file of a release."""
    await run_in_threadpool(_cached, request, release)
    return await send_file(request, release, name)


def _cached(request: Request, release: str) -> CachedRelease:
    release_cache, who = request.app.state.release_cache, identity_of(request).who
    found: CachedRelease | None = release_cache.cached(release, who)
    return found or release_cache.find(service_of(request), release, who)


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


async def _dataset(request: Request, name: str, kind: str) -> SharedDataset:
    service = service_of(request)
    found = await run_in_threadpool(shared_dataset, service, identity_of(request).who, name)
    if kind not in found.served.kinds:
        raise Problem(404, "This dataset does not answer questions of this kind.")
    return found


def _given(form: Any, found: SharedDataset) -> dict[str, str]:
    """Return the fields of the form as texts, with what is meant when they are left out."""
    # a modest first suggestion: a tenth of what is left to this analyst
    left = min(found.promised.remaining, found.share.remaining)
    usual = {"epsilon": f"{max(SMALLEST_EPSILON, round(left / 10.0, 2)):g}", **DEFAULTS}
    # boxes that are ticked come one by one; where the form was sent, none is none
    ticked = ",".join(map(str, form.getlist("tables")))
    given = {name: str(form.get(name, usual[name]))[:200] for name in FIELDS}
    return {**given, "tables": ticked[:200]} if ticked or "epsilon" in form else given


def _question(kind: str, given: dict[str, str]) -> Question:
    """Return the question that a form means, or say what is wrong with it."""
    fields: dict[str, Any] = {"kind": kind, "epsilon": given["epsilon"]}
    if kind in ("fleet-table", "totals", "quantiles"):
        fields |= {"group_by": given["group_by"] or None, "clip_kw": given["clip_kw"] or None}
    if kind == "fleet-table":
        fields["tables"] = [each for each in given["tables"].split(",") if each]
        if given["sectors"].isdecimal():
            fields["sectors"] = int(given["sectors"])
    if kind == "quantiles" or "quantiles" in fields.get("tables", ()):
        fields["percents"] = [each.strip() for each in given["percents"].split(",")]
    try:
        return QUESTIONS.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][1]) if len(first["loc"]) > 1 else "The question"
        raise Problem(422, f"{where}: {first['msg']}.") from None


async def _planned(
    request: Request, found: SharedDataset, kind: str, given: dict[str, str]
) -> dict[str, Any]:
    """Return what the page says of cost and errors."""
    try:
        question = _question(kind, given)
        made = await make_plan(request, found.name, question)
    except Problem as error:
        if error.status_code not in (422, 429, 503):
            raise
        return {"plan": None, "refused": error.detail}
    plan = plan_answer(
        made,
        measure=found.promised.promise.measure,
        budget=found.promised.remaining,
        share=found.share.remaining,
    )
    return {"plan": plan, "refused": None}
