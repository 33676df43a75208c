"""Asking in two steps: a form with its cost, then a confirmation of exactly that question."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst.access import SharedDataset, shared_dataset
from sunveil.service.analyst.answers import plan_answer
from sunveil.service.analyst.api import Name
from sunveil.service.analyst.asking import make_plan, make_suggestion, put_question
from sunveil.service.analyst.forms import (
    EMPTY,
    broken_form,
    digest_of,
    fields_of,
    form_query,
    given_fields,
    question_of,
    question_words,
    sent_question,
    text_of,
)
from sunveil.service.analyst.words import ABOUT, TABLE_WORDS, net_sentence
from sunveil.service.broker import LARGEST_EPSILON, SMALLEST_EPSILON, TITLES, Answered, Question
from sunveil.service.context import service_of
from sunveil.service.pages import identity_of, redirect, render, render_part
from sunveil.service.problems import Problem
from sunveil.service.routing import analyst_router
from sunveil.service.security.tokens import same_secret

router = analyst_router()
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
    that is charged; and an idempotency key, so that it is charged once however often it is sent.
    """
    found = await _dataset(request, name, kind)
    form = await request.form()
    question = sent_question(str(form.get("question", "")), kind=kind)
    shown, key = str(form.get("digest", "")), str(form.get("key", ""))
    if not (8 <= len(key) <= 64 and key.isascii() and key.isalnum()):
        raise broken_form()
    if not same_secret(shown, digest_of(name, found.served.edition, question)):
        changed = Problem(
            422, "The dataset has changed since you saw the cost; look at it again and confirm."
        )
        return await _confirmation(request, found, question, problem=changed)
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
            "The answer was drawn just now, and its cost has been charged."
            if found.fresh
            else "This was answered before, so it cost nothing."
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
    if problem is not None:
        values["refused"] = problem.detail
    return await run_in_threadpool(
        lambda: render(
            request,
            "analyst/confirm.html",
            status=200 if problem is None else problem.status_code,
            dataset=found,
            kind=kind,
            title=TITLES[kind],
            words=question_words(question),
            question=text_of(question),
            digest=digest_of(found.name, found.served.edition, question),
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
    try:
        question = question or question_of(kind, given)
        made = await make_plan(request, found.name, question)
    except Problem as error:
        if error.status_code not in (422, 429, 503):
            raise
        return {
            "plan": None,
            "refused": error.detail,
            "net_words": "",
            "advice": (),
        }
    plan = plan_answer(
        made,
        measure=found.promised.promise.measure,
        budget=found.promised.remaining,
        share=found.share.remaining,
    )
    # errors of single systems are those of mechanism and model together
    net = 0 if kind == "systems" else found.served.net
    return {
        "plan": plan,
        "refused": None,
        "net_words": net_sentence(net, found.served.systems),
        "advice": [(each, form_query(each.question)) for each in made.advice],
    }
