"""Limits on failed sign-ins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.audit_log import record_event
from sunveil.service.authentication import check_rate, limited_as
from sunveil.service.context import service_of
from sunveil.service.passwords_and_tokens import Attempt, SignInLimits

# What a sign-in that was refused is answered with.
REFUSED = (401, 403, 404)

# How long a browser stays known. [s]
DEVICE_SECONDS = 180 * 24 * 3600
Outcome = Callable[[Response], None]


@asynccontextmanager
async def guarded_sign_in(request: Request) -> AsyncIterator[Outcome]:
    """Refuse a form that follows too many failures, and count it unless it succeeds."""
    # The block is given a function to call with the response, which tells whether it did. The form
    # has been read, and has been seen to come from a page of ours.
    limits = service_of(request).limits.sign_ins
    account = str((await request.form()).get("name", ""))
    # few at a time, so that those who come at once are not taken for failures of one another
    async with limits.checks:
        attempt = _begin(request, limits, account)

        def settle(response: Response) -> None:
            """Give back what a sign-in took that was not refused."""
            if response.status_code not in REFUSED:
                attempt.succeeded()
                if account.strip() and response.status_code == 303:
                    _remember(request, response, limits, account)

        try:
            yield settle
        except HTTPException as error:
            if error.status_code not in REFUSED:
                attempt.succeeded()
            raise


def _begin(request: Request, limits: SignInLimits, account: str) -> Attempt:
    address, cookie = limited_as(request), request.cookies.get(_cookie(request), "")
    attempt = limits.begin(address=address, account=account, cookie=cookie)
    if attempt.wait and limits.is_news(attempt.limit, address):
        # not the account: what was entered may be anything, such as a password
        record_event(request, "sign-ins-limited", limit=attempt.limit)
    check_rate(attempt.wait)
    return attempt


def _remember(request: Request, response: Response, limits: SignInLimits, account: str) -> None:
    response.set_cookie(
        _cookie(request),
        limits.known.issue(account.strip().casefold()),
        max_age=DEVICE_SECONDS,
        path="/",
        secure=service_of(request).settings.https,
        httponly=True,
        samesite="strict",
    )


def _cookie(request: Request) -> str:
    return ("__Host-" if service_of(request).settings.https else "") + "sunveil-device"
