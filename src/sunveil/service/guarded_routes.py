"""Routers with a guard on every route."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Container, Coroutine
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar, TypeVar

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Message

from sunveil.errors import LedgerUnavailable, SunveilError
from sunveil.ledger.hash_chain import acting_as
from sunveil.service.authentication import (
    Identity,
    bearer_of,
    check_rate,
    guest_of,
    limited_as,
    record_event,
    session_of,
    set_cookie,
    token_of,
)
from sunveil.service.context import (
    NOT_WRITABLE,
    Problem,
    internal_problem,
    service_of,
    unavailable_problem,
)
from sunveil.service.passwords_and_tokens import Attempt, SignInLimits, same_secret
from sunveil.service.settings import (
    ANALYST,
    AUDITOR,
    CONSOLE,
    CURATOR,
    GUEST,
    PORTAL,
    ServiceSettings,
)

SAFE = ("GET", "HEAD", "OPTIONS")
CREATED, SEE_OTHER, BAD_REQUEST = 201, 303, 400
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Audience(StrEnum):
    """Who a route is for."""

    PUBLIC = "public"
    ANALYST = "analyst"
    CURATOR = "curator"
    CONSOLE = "console"


class GuardedRoute(APIRoute):
    """A route with a guard, :meth:`admit`, that runs before the body is read."""

    audience: ClassVar[Audience]
    # statuses by which a form or a question that was answered is for the audit log
    events: ClassVar[Container[int]] = ()

    async def admit(self, request: Request) -> Identity | Response:
        """Return who is let in, or where to send them instead; raise a problem to refuse."""
        raise NotImplementedError

    def get_route_handler(self) -> Handler:
        """Return the handler of requests, behind the guard and the limit of the body."""
        inner = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            request.state.started = time.monotonic()
            try:
                held = _limited(request, self._limit(service_of(request).settings))
                found = await self.admit(held)
                if isinstance(found, Response):
                    return found
                request.state.identity = found
                with acting_as(found.actor):
                    response = await self.answer(held, inner)
                if found.fresh:
                    set_cookie(request, response, found.role, found.cookie)
                self._record(request, response)
            except (HTTPException, RequestValidationError):
                raise
            except ClientDisconnect:
                # nobody is there to be answered, and nothing went wrong inside
                raise Problem(400, "The request broke off before its end; send it again.") from None
            except LedgerUnavailable as error:
                raise unavailable_problem(error) from None
            except SunveilError as error:
                raise self.problem_for(error) from None
            except Exception as error:
                if isinstance(error, OSError) and error.errno in NOT_WRITABLE:
                    raise unavailable_problem(error) from None
                raise internal_problem(error) from error
            return response

        return guarded

    def _record(self, request: Request, response: Response) -> None:
        audited = getattr(request.state, "audited", False)  # by the page itself
        if request.method not in SAFE and not audited and response.status_code in self.events:
            given = request.path_params
            record_event(
                request,
                "changed",
                action=f"{request.method} {self.path}",
                dataset=given.get("dataset", given.get("name")),
            )

    async def answer(self, request: Request, inner: Handler) -> Response:
        return await inner(request)

    def problem_for(self, error: SunveilError) -> Problem:
        """Return how an error is answered: without its words, but to the curator."""
        return internal_problem(error)

    def _limit(self, settings: ServiceSettings) -> int:
        wide = getattr(self.endpoint, "takes_uploads", False)
        return settings.upload_limit if wide else settings.body_limit


class ProbeRoute(GuardedRoute):
    # What it answers must cost next to nothing, or be kept for a while.

    audience = Audience.PUBLIC

    async def admit(self, request: Request) -> Identity | Response:
        """Admit everybody, and give nobody a cookie."""
        return Identity(GUEST)


class PublicRoute(GuardedRoute):
    audience = Audience.PUBLIC

    async def admit(self, request: Request) -> Identity | Response:
        """Admit everybody, in measure; forms must come from a page of ours."""
        service = service_of(request)
        check_rate(service.limits.reads.take(limited_as(request)))
        guest = guest_of(request)
        if request.method not in SAFE:
            await check_form(request, guest)
        return guest

    async def answer(self, request: Request, inner: Handler) -> Response:
        """Answer a form, which is a sign-in, unless too many have failed."""
        if request.method in SAFE:
            return await inner(request)
        async with guarded_sign_in(request) as record_outcome:
            response = await inner(request)
            record_outcome(response)
        return response


class AnalystPage(GuardedRoute):
    audience = Audience.ANALYST
    events = (SEE_OTHER,)  # something was drawn, to which the browser is sent on

    async def admit(self, request: Request) -> Identity | Response:
        """Admit an analyst with a session; others are shown to the login."""
        found = await session_of(request, PORTAL)
        if found is None:
            return to_login(request, PORTAL)
        check_rate(service_of(request).limits.reads.take(found.cookie))
        if request.method not in SAFE:
            await check_form(request, found)
        return found


class AnalystApi(GuardedRoute):
    """An address for programs, which send a token and no cookie."""

    audience = Audience.ANALYST
    events = (CREATED,)  # something was drawn

    async def admit(self, request: Request) -> Identity | Response:
        """Admit a token that holds."""
        row = await token_of(request)
        check_rate(service_of(request).limits.reads.take(row.id))
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method not in SAFE and kind != "application/json":
            raise Problem(415, "Send the question as JSON: Content-Type: application/json")
        return Identity(
            ANALYST, row.analyst, scope=row.scope, account=row.account or "", token=row.id
        )


class ConsolePage(GuardedRoute):
    """A page of the console that curators and auditors see: the ledger, and their own account."""

    audience = Audience.CONSOLE
    events = range(BAD_REQUEST)  # something was changed
    roles: ClassVar[Container[str]] = (CURATOR, AUDITOR)

    async def admit(self, request: Request) -> Identity | Response:
        """Admit who has signed in to the console; an analyst is refused, others must sign in."""
        found = await session_of(request, CONSOLE)
        if found is None:
            if bearer_of(request) is not None or await session_of(request, PORTAL) is not None:
                raise Problem(403, "This is for curators; sign in as one.")
            return to_login(request, CONSOLE)
        if found.role not in self.roles:
            raise Problem(403, "This is for curators; an auditor may read the ledger.")
        check_rate(service_of(request).limits.reads.take(found.cookie))
        if request.method not in SAFE:
            await check_form(request, found)
        return found

    def problem_for(self, error: SunveilError) -> Problem:
        """Return the error's own words: they are made for the curator."""
        return Problem(400, str(error), slug="refused", title="This cannot be done")


class CuratorPage(ConsolePage):
    audience = Audience.CURATOR
    roles = (CURATOR,)


def to_login(request: Request, side: str) -> Response:
    """Show a browser to the sign-in of a side; refuse anything but a page."""
    if request.method not in SAFE:
        raise Problem(401, "Sign in again: the session has ended.")
    return RedirectResponse(f"/{side}/login", status_code=303)


async def check_form(request: Request, identity: Identity) -> None:
    """Refuse a form that does not come from a page that this browser was given."""
    given = request.headers.get("x-csrf-token", "")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not given and kind in FORMS:
        given = str((await request.form()).get("csrf", ""))
    check_token(request, identity, given)


def check_token(request: Request, identity: Identity, given: str) -> None:
    """Refuse the token of a form that was given to another browser, or a form from elsewhere."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    if site not in ("same-origin", "none") or not same_secret(given, identity.csrf):
        raise Problem(403, "This form is out of date. Load the page again and resubmit.")


def takes_uploads(endpoint: Endpoint) -> Endpoint:
    """Let a route take bodies up to the limit of uploads; put it below the route's decorator."""
    endpoint.takes_uploads = True  # type: ignore[attr-defined]
    return endpoint


def _router(kind: type[GuardedRoute], prefix: str = "") -> APIRouter:
    return APIRouter(
        prefix=prefix,
        route_class=kind,
        include_in_schema=False,
        default_response_class=Response,
        redirect_slashes=False,
    )


def api_router() -> APIRouter:
    """Return a router of the JSON API, for analysts' tokens."""
    return APIRouter(prefix="/api/v1", route_class=AnalystApi, redirect_slashes=False)


public_router = partial(_router, PublicRoute)
probe_router = partial(_router, ProbeRoute)
analyst_router = partial(_router, AnalystPage, "/analyst")
curator_router = partial(_router, CuratorPage, "/curator")
console_router = partial(_router, ConsolePage, "/curator")


def add_routers(app: FastAPI, *routers: APIRouter) -> None:
    """Add routers to a service; a route without a guard is refused."""
    for router in routers:
        for route in router.routes:
            if not isinstance(route, GuardedRoute):
                raise TypeError(f"{route} has no guard")
            route.include_in_schema = route.include_in_schema and router.include_in_schema
            app.router.routes.append(route)


def _limited(request: Request, limit: int) -> Request:
    """Return the request with a body that cannot be longer than a limit. [bytes]"""
    announced = request.headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > limit:
        raise _too_large(limit)
    receive, seen = request.receive, 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise _too_large(limit)
        return message

    return Request(request.scope, counting)


def _too_large(limit: int) -> Problem:
    return Problem(413, f"The request is larger than {limit:,} bytes; send less.")


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

        def record_outcome(response: Response) -> None:
            """Give back what a sign-in took that was not refused."""
            if response.status_code not in REFUSED:
                attempt.succeeded()
                if account.strip() and response.status_code == 303:
                    _remember(request, response, limits, account)

        try:
            yield record_outcome
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
