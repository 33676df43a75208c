"""Asking the broker: in turn, in a fixed time, and with refusals as problems."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.errors import LedgerError
from sunveil.service.analyst.access import SharedDataset
from sunveil.service.broker import (
    Answered,
    KeyReused,
    NotServed,
    OverBudget,
    Question,
    QuestionPlan,
    QuestionRefused,
    Suggestion,
)
from sunveil.service.context import Service, service_of
from sunveil.service.identity import check_rate, require_scope
from sunveil.service.pages import identity_of
from sunveil.service.problems import Problem
from sunveil.service.roles import ASK
from sunveil.service.security.padding import draws_held, pad_duration
from sunveil.service.verdicts import ErrorVerdict

# Kinds of question whose errors follow from a few public numbers.
QUICK_KINDS = ("fleet-table", "totals", "quantiles")


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
    require_scope(identity_of(request), ASK)
    check_rate(service.limits.asks.take(analyst))
    try:
        return await run_in_threadpool(service.broker.plan, dataset, question, analyst=analyst)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


async def make_suggestion(request: Request, dataset: str, kind: str) -> Suggestion:
    """Return a first question of a kind that tells something for a twentieth of the share.

    Parameters
    ----------
    request
        What asks, with the analyst who has logged in.
    dataset, kind
        The dataset's name, and the kind of question.
    """
    service, analyst = service_of(request), identity_of(request).who
    try:
        return await run_in_threadpool(service.broker.suggest, dataset, kind, analyst=analyst)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


def first_questions(service: Service, analyst: str, found: SharedDataset) -> list[Suggestion]:
    """Return a first question for each kind whose errors are known without reading meters.

    Parameters
    ----------
    service
        The running service.
    analyst
        Who would ask.
    found
        The dataset.
    """
    kinds = [kind for kind in found.served.kinds if kind in QUICK_KINDS]
    try:
        return [service.broker.suggest(found.name, kind, analyst=analyst) for kind in kinds]
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None


def first_question(service: Service, analyst: str, found: SharedDataset) -> Suggestion | None:
    """Return the best of the first questions, or None where none is offered.

    Parameters
    ----------
    service, analyst, found
        As for :func:`first_questions`.
    """
    suggested = [each for each in first_questions(service, analyst, found) if each.verdict]
    order = list(ErrorVerdict)
    return min(
        suggested, key=lambda each: order.index(each.verdict or ErrorVerdict.NOISE), default=None
    )


async def put_question(
    request: Request,
    dataset: str,
    question: Question,
    *,
    key: str,
    respond: Callable[[Answered], Awaitable[Response]],
) -> Response:
    """Have a question answered, in a time that does not depend on what is drawn.

    From here on, every response takes whole multiples of its kind's time, from when the request
    came in until the response is ready: drawn, kept, taken up, refused, or gone wrong. The draw
    itself is held too, so that whoever waits for it learns no more (``security/padding.py`` has the
    rule). What was refused before has waited for nothing.

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
    require_scope(identity_of(request), ASK)
    check_rate(service.limits.asks.take(analyst))
    pad, started = service.settings.answer_seconds[question.kind], request.state.started
    try:
        async with service.ask_slots:
            with draws_held(started, pad):
                found = await run_in_threadpool(
                    service.broker.ask, dataset, question, analyst=analyst, key=key
                )
        return await respond(found)
    except (QuestionRefused, LedgerError) as error:
        raise refusal(error) from None
    finally:
        await pad_duration(started, pad)


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
