"""Answers to what cannot be done: RFC 9457 problems for programs, a page of the same words."""

from __future__ import annotations

import errno
import logging
import os
import secrets
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from sunveil.errors import LedgerUnavailable, log_unforeseen

log = logging.getLogger("sunveil.service")

TYPE_PREFIX = "urn:sunveil:problem:"
MEDIA_TYPE = "application/problem+json"
API = "/api/"
NOT_WRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
# By status, where nothing more is known.
SLUGS = {
    400: "bad-request",
    401: "not-logged-in",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid",
    429: "too-many-requests",
    503: "not-ready",
}


class Problem(HTTPException):
    """Something that cannot be done, in words that are for whoever asked.

    Parameters
    ----------
    status
        The status of the response.
    detail
        One sentence: what is wrong, and the remedy.
    slug
        Which problem it is, for programs; by its status when left out.
    title
        The same for people; by its status when left out.
    headers
        Further headers of the response.
    more
        Further members, plain JSON types: all of them public.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        slug: str | None = None,
        title: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(status, detail, headers)
        self.slug = slug or SLUGS.get(status, "error")
        self.title = title or HTTPStatus(status).phrase
        self.more = more

    def to_dict(self) -> dict[str, Any]:
        """Return the problem as the JSON object of RFC 9457."""
        return {
            "type": TYPE_PREFIX + self.slug,
            "title": self.title,
            "status": self.status_code,
            "detail": self.detail,
            **self.more,
        }


def internal_problem(error: Exception) -> Problem:
    """Return the problem that stands for an error inside: an id, and nothing of what it says.

    The log has the id, the kind of the error and where it happened. Its message may hold anything,
    and so is in neither, unless whoever runs the service sets SUNVEIL_DEBUG=1 for the log.
    """
    number = secrets.token_hex(6)
    log_unforeseen(log, f"problem {number}", error)
    return Problem(
        500,
        f"Something went wrong inside; tell the curator the number {number}.",
        slug="internal",
        id=number,
    )


def unavailable_problem(error: LedgerUnavailable | OSError) -> Problem:
    """Return the problem of a ledger or a disk that cannot be written; the log has the reason."""
    reason = error.reason if isinstance(error, LedgerUnavailable) else os.strerror(error.errno or 0)
    log.error("the service cannot write: %s", reason)
    return Problem(
        503,
        "The service cannot write what it keeps, so nothing was changed: its disk may be full."
        " Try again later, or tell whoever runs it.",
        slug="not-writable",
        headers={"Retry-After": "60"},
    )


def is_full(error: Exception) -> bool:
    """Return whether an error says that a disk is full or may not be written."""
    return isinstance(error, OSError) and error.errno in NOT_WRITABLE


def wants_json(request: Request) -> bool:
    """Return whether a request is a program's."""
    return request.url.path.startswith(API)


def as_problem(error: Exception) -> Problem:
    """Return the problem of an error that the framework raised."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        return _invalid(error)
    if isinstance(error, HTTPException):
        headers = dict(error.headers) if error.headers else None
        said = {
            404: "There is nothing here; check the address.",
            405: "This address cannot be asked in this way.",
            400: "The request cannot be read.",
        }.get(error.status_code, HTTPStatus(error.status_code).phrase + ".")
        return Problem(error.status_code, said, headers=headers)
    return internal_problem(error)


def _invalid(error: RequestValidationError) -> Problem:
    # neither the input nor the message's context, which may hold it: where, and what is wrong
    found = [
        {"where": ".".join(str(part) for part in each["loc"]), "what": str(each["msg"])}
        for each in error.errors()[:20]
    ]
    first = f"{found[0]['where']}: {found[0]['what']}" if found else "it does not fit"
    return Problem(422, f"The request does not fit its description: {first}.", errors=found)
