"""Asking the broker: in turn, in a fixed time, and with refusals as problems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import LedgerError
from sunveil.service.broker import (
    Answered,
    KeyReused,
    NotServed,
    OverBudget,
    Question,
    QuestionPlan,
    QuestionRefused,
)
from sunveil.service.context import service_of
from sunveil.service.identity import check_rate
from sunveil.service.pages import identity_of
from sunveil.service.problems import Problem
from sunveil.service.security.padding import pad_duration


async def make_plan(request: Request, dataset: str, question: Question) -> QuestionPlan:
    """Return what a question would cost, or refuse it; spend nothing.

    Parameters
    ----------
    request
        What asks, with the analyst who has logged in.
    dataset
        The dataset's name.
    question
        What would be asked.
    """
    service, analyst = service_of(request), identity_of(request).who
    check_rate(service.limits.asks.take(analyst))
    try:
        return await run_in_threadpool(service.broker.plan, dataset, question, analyst=analyst)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


async def put_question(
    request: Request,
    dataset: str,
    question: Question,
    *,
    key: str,
    respond: Callable[[Answered], Awaitable[Response]],
) -> Response:
    """Have a question answered, in a time that does not depend on what is drawn.

    A refusal depends on public state alone, and so does whether an answer was there already: these
    are answered at once. Whatever has drawn takes whole multiples of its kind's time, from when the
    request came in until its response is ready.

    Parameters
    ----------
    request
        What asks.
    dataset, question, key
        As for :meth:`~sunveil.service.broker.Broker.ask`.
    respond
        Makes the response from the answer.
    """
    service, analyst = service_of(request), identity_of(request).who
    check_rate(service.limits.asks.take(analyst))
    pad, started = service.settings.answer_seconds[question.kind], request.state.started
    try:
        async with service.ask_slots:
            found = await run_in_threadpool(
                service.broker.ask, dataset, question, analyst=analyst, key=key
            )
        response = await respond(found)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None
    except Exception:
        await pad_duration(started, pad)
        raise
    if found.fresh:
        await pad_duration(started, pad)
    return response


def refusal(error: QuestionRefused | LedgerError) -> Problem:
    """Return the HTTP problem by which a refusal is answered."""
    words = f"{str(error)[:1].upper()}{str(error)[1:]}."
    if isinstance(error, OverBudget):
        return Problem(
            403,
            words,
            slug="over-budget",
            title="The budget does not hold this",
            requested=error.requested,
            remaining=error.remaining,
        )
    if isinstance(error, NotServed):
        return Problem(404, words)
    if isinstance(error, KeyReused):
        return Problem(409, words, slug="key-reused")
    if isinstance(error, QuestionRefused):
        return Problem(422, words)
    return Problem(503, "The ledger cannot be written at the moment; ask again later.")
