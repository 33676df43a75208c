"""What a service answers when it does not answer, as errors with their remedies.

::

    SunveilError
    ├── ServiceError              the service could not do it
    │   ├── ServiceUnreachable    ... since it was not reached; nothing is known of the question
    │   ├── NotAdmitted           ... for this token
    │   └── AnswerRefused       ... for this question, which does not fit its description
    ├── BudgetExceeded            promise or share do not hold the question
    └── ReleaseNotFound           there is nothing, or nothing that the token has a share of
"""

from __future__ import annotations

from typing import Any

from sunveil.errors import BudgetExceeded, ReleaseNotFound, SunveilError

REMEDIES = {
    401: "ask the curator for a token that is valid, and give it to Client",
    409: "leave key out to have a new one made",
    413: "ask for less at once",
    429: "wait, and ask less often",
    500: "tell the curator the number",
    503: "ask again later; the same key is charged once",
}


class ServiceError(SunveilError):
    """A service that could not do what was asked.

    Parameters
    ----------
    message
        What is wrong, and what to do.
    status
        The HTTP status; None where nothing was answered.
    kind
        Which problem it is, such as ``not-found``.
    """

    def __init__(self, message: str, *, status: int | None = None, kind: str = "") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class NotAdmitted(ServiceError):
    """A token that is not known, has ended, or does not allow this."""


class AnswerRefused(ServiceError):
    """A question that does not fit its description."""


class ServiceUnreachable(ServiceError):
    """A service that was not reached, so that nothing is known of what became of a question.

    Parameters
    ----------
    message
        What is wrong, and what to do.
    key
        The idempotency key of the question: asked again with it, it is charged once at most.
    """

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def error_of(status: int, problem: dict[str, Any]) -> SunveilError:
    """Return the error that a problem of the service means.

    Parameters
    ----------
    status
        The HTTP status.
    problem
        The problem as RFC 9457 has it; empty where something else answered.
    """
    said = str(problem.get("detail") or f"the service answered with status {status}").rstrip(".")
    kind = str(problem.get("type", "")).rpartition(":")[2]
    if kind == "over-budget":
        return BudgetExceeded(
            f"{said}; ask with a smaller epsilon, or ask the curator for a larger share",
            requested=float(problem.get("requested", 0.0)),
            remaining=float(problem.get("remaining", 0.0)),
        )
    if status == 404:
        return ReleaseNotFound(f"{said}; client.datasets() lists what the token may ask about")
    remedy = REMEDIES.get(status)
    words = f"{said}; {remedy}" if remedy else said
    if status in (401, 403):
        return NotAdmitted(words, status=status, kind=kind)
    if status in (400, 409, 413, 415, 422):
        return AnswerRefused(words, status=status, kind=kind)
    return ServiceError(words, status=status, kind=kind)
