"""Portal pages."""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.publication.published_tables import RULES, ErrorVerdict
from sunveil.service.analyst.asking import (
    ABOUT,
    EMPTY,
    TABLE_WORDS,
    broken_form,
    cut_sentences,
    digest_of,
    error_lines,
    fields_of,
    first_question,
    form_query,
    given_fields,
    guarantee_words,
    make_plan,
    make_suggestion,
    net_sentence,
    part_verdicts,
    put_question,
    question_of,
    question_words,
    refusal,
    sent_question,
    text_of,
)
from sunveil.service.analyst.releases import (
    IMMUTABLE,
    CachedRelease,
    FileName,
    Id,
    Name,
    SharedDataset,
    cached_release,
    file_names,
    list_releases,
    plan_answer,
    shared_dataset,
    shared_datasets,
)
from sunveil.service.authentication import own_address
from sunveil.service.context import Problem, service_of
from sunveil.service.figures import figures_of
from sunveil.service.guarded_routes import analyst_router
from sunveil.service.page_rendering import identity_of, redirect, render, render_part
from sunveil.service.passwords_and_tokens import same_secret
from sunveil.service.promise_text import promise_sentences
from sunveil.service.questions import (
    LARGEST_EPSILON,
    QUESTIONS,
    SMALLEST_EPSILON,
    TITLES,
    Answered,
    Question,
    QuestionRefused,
    answer_title,
)

CHANGED = "The dataset has changed since you saw the cost. Check it and confirm again."
NOT_TICKED = "The answer is only noise, at least in part. Tick the box to ask all the same."

router = analyst_router()


@router.get("")
def home(request: Request) -> Response:
    service = service_of(request)
    found = shared_datasets(service, identity_of(request).who)
    counts = {each.name: len(list_releases(service, each.name)) for each in found}
    return render(request, "analyst/datasets.html", datasets=found, counts=counts)


@router.get("/help")
def help_page(request: Request) -> Response:
    """Show how a program asks, and what the words mean."""
    base = own_address(request)
    return render(request, "analyst/help.html", base=base, rules=RULES.values())


@router.get("/datasets/{name}")
def dataset(request: Request, name: Name) -> Response:
    """Show a dataset: its promise, what is left, what may be asked, and what was released."""
    service, who = service_of(request), identity_of(request).who
    found = shared_dataset(service, who, name)
    # just after a start, reading what was released does not wait for what plans
    first = first_question(service, who, found) if service.broker.at_hand() else None
    return render(
        request,
        "analyst/dataset.html",
        dataset=found,
        words=promise_sentences(found.promised.promise),
        net_words=net_sentence(found.served.net, found.served.systems),
        kinds=[(kind, TITLES[kind], ABOUT[kind]) for kind in found.served.kinds],
        releases=list_releases(service, name),
        first=first,
        first_title=None if first is None else answer_title(first.question),
        first_words=[] if first is None else question_words(first.question),
        first_query="" if first is None else form_query(first.question),
    )


# Problems of a question, which its own page shows.
SHOWN = (403, 422, 429, 503)


@router.get("/datasets/{name}/ask/{kind}")
async def ask_page(request: Request, name: Name, kind: str) -> Response:
    """Show the form of a question with its cost; for a script, the cost alone."""
    found = await _dataset(request, name, kind)
    first = None
    if "epsilon" in request.query_params:
        given = given_fields(request.query_params, EMPTY)
    else:
        first = await make_suggestion(request, name, kind)
        given = given_fields(request.query_params, fields_of(first.question))
    values = await _planned(request, found, kind, given)
    if request.headers.get("x-partial") == "plan":
        return render_part(request, "analyst/plan.html", dataset=found, kind=kind, **values)
    most = max(min(LARGEST_EPSILON, found.promised.promise.epsilon), SMALLEST_EPSILON)
    return await run_in_threadpool(
        lambda: render(
            request,
            "analyst/ask.html",
            dataset=found,
            kind=kind,
            title=TITLES[kind],
            about=ABOUT[kind],
            tables=TABLE_WORDS,
            given=given,
            first=first,
            smallest=SMALLEST_EPSILON,
            largest=most,
            **values,
        )
    )


@router.get("/datasets/{name}/ask/{kind}/confirm")
async def confirm_page(request: Request, name: Name, kind: str) -> Response:
    """Show what exactly would be asked and spent, with the button that spends it."""
    found = await _dataset(request, name, kind)
    given = given_fields(request.query_params, EMPTY)
    try:
        question = question_of(kind, given)
    except Problem:
        return redirect(request, f"/analyst/datasets/{name}/ask/{kind}?{request.url.query}")
    return await _confirmation(request, found, question)


@router.post("/datasets/{name}/ask/{kind}")
async def ask(request: Request, name: Name, kind: str) -> Response:
    """Ask what was confirmed, and go to the release; or show the confirmation with what is wrong.

    The form carries the question itself and a digest of what was shown, so that nothing else than
    that is charged, and nothing that is only noise without a tick; and an idempotency key, so that
    it is charged once however often it is sent.
    """
    found = await _dataset(request, name, kind)
    form = await request.form()
    question = sent_question(str(form.get("question", "")), kind=kind)
    shown, key = str(form.get("digest", "")), str(form.get("key", ""))
    if not (8 <= len(key) <= 64 and key.isascii() and key.isalnum()):
        raise broken_form()
    plain, noisy = (
        same_secret(shown, digest_of(name, found.served.edition, question, noisy=each))
        for each in (False, True)
    )
    if not plain and (not noisy or form.get("noise") != "yes"):
        text = NOT_TICKED if noisy else CHANGED
        return await _confirmation(request, found, question, problem=Problem(422, text))
    try:
        return await _put(request, name, question, key=key)
    except Problem as error:
        if error.status_code not in SHOWN:
            raise
        found = await _dataset(request, name, kind)  # what is left may have changed
        return await _confirmation(request, found, question, problem=error)


async def _put(request: Request, name: str, question: Question, *, key: str) -> Response:
    async def respond(found: Answered) -> Response:
        message = (
            "This is a new answer; its cost was charged."
            if found.fresh
            else "This question was answered before; nothing was charged."
        )
        return await run_in_threadpool(
            lambda: redirect(request, f"/analyst/releases/{found.release}", message=message)
        )

    return await put_question(request, name, question, key=f"page:{key}", respond=respond)


async def _confirmation(
    request: Request, found: SharedDataset, question: Question, *, problem: Problem | None = None
) -> Response:
    """Return the page that shows a question, its cost and its errors, and asks to confirm."""
    kind = question.kind
    values = await _planned(request, found, kind, fields_of(question), question=question)
    plan = values["plan"]
    noisy = plan is not None and not plan.kept and plan.verdict is ErrorVerdict.NOISE
    if problem is not None:
        values["refused"] = problem.detail
    return await run_in_threadpool(
        lambda: render(
            request,
            "analyst/confirm.html",
            status=200 if problem is None else problem.status_code,
            dataset=found,
            kind=kind,
            kind_title=TITLES[kind],
            title=answer_title(question),
            words=question_words(question),
            question=text_of(question),
            noisy=noisy,
            digest=digest_of(found.name, found.served.edition, question, noisy=noisy),
            query=form_query(question),
            key=secrets.token_hex(16),
            **values,
        )
    )


async def _dataset(request: Request, name: str, kind: str) -> SharedDataset:
    service = service_of(request)
    found = await run_in_threadpool(shared_dataset, service, identity_of(request).who, name)
    if kind not in found.served.kinds:
        raise Problem(404, "This dataset does not answer questions of this kind.")
    return found


async def _planned(
    request: Request,
    found: SharedDataset,
    kind: str,
    given: dict[str, str],
    *,
    question: Question | None = None,
) -> dict[str, Any]:
    """Return what a page says of cost and errors."""
    values = {
        "plan": None,
        "refused": None,
        "net_words": "",
        "advice": (),
        "lines": (),
        "parts": (),
    }
    try:
        question = question or question_of(kind, given)
        made = await make_plan(request, found.name, question)
    except Problem as error:
        if error.status_code not in (422, 429, 503):
            raise
        return {**values, "refused": error.detail}
    # errors of single systems are those of mechanism and model together
    net = 0 if kind == "systems" else found.served.net
    return {
        **values,
        "plan": plan_answer(found, made),
        "net_words": net_sentence(net, found.served.systems),
        "advice": [(each, form_query(each.question)) for each in made.advice],
        "lines": error_lines(made.expected),
        "parts": part_verdicts(made.expected),
    }


MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "json": "application/json",
    "yaml": "application/yaml",
    "md": "text/markdown; charset=utf-8",
}

# The earliest time that a zip can hold, in place of when it was packed.
EPOCH = (1980, 1, 1, 0, 0, 0)


async def send_file(request: Request, release: str, name: str) -> Response:
    """Return the response with a file of a release; the right to read it was checked before."""
    found = await _file(request, release, name)
    return _attached(found, f"{release[:8]}-{name}", MEDIA_TYPES[name.rpartition(".")[2]])


async def send_bundle(request: Request, cached: CachedRelease) -> Response:
    row = cached.row
    files = {name: await _file(request, row.id, name) for name in file_names(row.body)}
    files["release.json"] = cached.text
    folder = f"{row.dataset}-{row.id[:8]}"
    packed = await run_in_threadpool(_packed, files, folder=folder)
    return _attached(packed, f"{folder}.zip", "application/zip")


async def _file(request: Request, release: str, name: str) -> bytes:
    broker = service_of(request).broker
    found = broker.file_at_hand(release, name)
    if found is not None:
        return found
    try:
        return await run_in_threadpool(broker.file, release, name)
    except QuestionRefused as error:
        raise refusal(error) from None


def _attached(content: bytes, name: str, media_type: str) -> Response:
    headers = {"Cache-Control": IMMUTABLE, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


def _packed(files: Mapping[str, bytes], *, folder: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, files[name])
    return made.getvalue()


# Rows of a table that a page shows; the files have all of them.
MOST_ROWS = 200

# Files that are listed by themselves; tables have links of their own.
DOCUMENTS = ("README.md", "release-card.yaml", "datapackage.json")


@router.get("/releases/{release}")
async def release(request: Request, release: Id) -> Response:
    found = await cached_release(request, release)
    return await run_in_threadpool(_page, request, found)


def _page(request: Request, found: CachedRelease) -> Response:
    row, body = found.row, found.row.body
    asked = QUESTIONS.validate_python(body["asked"])
    title = shared_dataset(service_of(request), identity_of(request).who, row.dataset).served.title
    return render(
        request,
        "analyst/release.html",
        row=row,
        body=body,
        dataset_title=title,
        guarantee=guarantee_words(body),
        words=question_words(asked),
        query=form_query(asked),
        cut_words=cut_sentences(body["tables"]),
        tables=_short_first([_without_lists(each) for each in body["tables"]]),
        figures=figures_of(body),
        documents=[each for each in file_names(body) if each in DOCUMENTS],
        base=own_address(request),
        most=MOST_ROWS,
    )


@router.get("/releases/{release}/release.json")
async def release_json(request: Request, release: Id) -> Response:
    cached = await cached_release(request, release)
    return _attached(cached.text, f"{cached.row.id[:8]}-release.json", "application/json")


@router.get("/releases/{release}/release.zip")
async def release_zip(request: Request, release: Id) -> Response:
    """Send all files of a release in one."""
    return await send_bundle(request, await cached_release(request, release))


@router.get("/releases/{release}/files/{name}")
async def release_file(request: Request, release: Id, name: FileName) -> Response:
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
