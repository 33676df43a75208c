"""Requests to a service: with the token, over TLS, and again where a connection was lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import requests

from sunveil.client.errors import ServiceUnreachable, error_of
from sunveil.errors import ParameterError

LOCAL = ("127.0.0.1", "localhost", "::1")
# Answers after which the same request may succeed; a question is charged once for its key.
PASSING = (429, 502, 503, 504)
LONGEST_PAUSE = 60.0


class TokenAuth(requests.auth.AuthBase):
    """Puts a token on requests, and keeps ``.netrc`` from putting something else there."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Return the request with the token on it."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class Transport:
    """Sends requests to one service.

    Parameters
    ----------
    url
        Where the service is.
    token
        From the curator.
    timeout
        How long one answer may take. [s]
    tries
        How often a request is sent at most, where it was lost on the way.
    verify
        Path of a file with the authorities that the service's certificate is checked against; True
        for the usual ones. It is always checked.
    insecure
        Whether the token may be sent without TLS to another machine.
    pause
        What waits for some seconds between tries.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        tries: int,
        verify: str | bool,
        insecure: bool,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError(
                f"{url!r} is not the address of a service; it begins with https://"
            )
        if parts.scheme == "http" and parts.hostname not in LOCAL and not insecure:
            raise ParameterError(
                "a token is not sent over http:// to another machine; use https://, or say"
                " insecure=True in a network that you trust"
            )
        if verify is False:
            raise ParameterError(
                "the service's certificate is always checked; give verify the path of the file with"
                " its authority"
            )
        self._base = url.rstrip("/")
        self._timeout, self._tries, self._pause = timeout, max(tries, 1), pause
        self._session = requests.Session()
        self._session.auth = TokenAuth(token)
        self._session.verify = verify

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    def send(
        self, method: str, path: str, *, json: Any = None, key: str | None = None
    ) -> requests.Response:
        """Return the answer to a request, or raise what is wrong.

        Parameters
        ----------
        method, path
            What to do at which address of the API.
        json
            The body.
        key
            The idempotency key, under which a question may be sent again.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        lost = ""
        for attempt in range(self._tries):
            try:
                answer = self._session.request(
                    method,
                    f"{self._base}/api/v1{path}",
                    json=json,
                    headers=headers,
                    timeout=self._timeout,
                    allow_redirects=False,
                )
            except requests.exceptions.SSLError as error:
                raise _unreachable("its certificate is not valid for it", key) from error
            except (requests.ConnectionError, requests.Timeout) as error:
                lost = type(error).__name__
                wait = 0.5 * 2.0**attempt
            else:
                if answer.ok and not answer.is_redirect:
                    return answer
                if answer.status_code not in PASSING or attempt + 1 == self._tries:
                    raise error_of(answer.status_code, _problem(answer))
                wait = _stated_wait(answer, 0.5 * 2.0**attempt)
            if attempt + 1 < self._tries:
                self._pause(min(wait, LONGEST_PAUSE))
        raise _unreachable(f"{self._tries} tries, {lost}", key)


def _unreachable(why: str, key: str | None) -> ServiceUnreachable:
    again = "" if key is None else f"; ask again with key={key!r} to be charged once at most"
    return ServiceUnreachable(
        f"the service was not reached ({why}); check its address and the network{again}", key=key
    )


def _problem(answer: requests.Response) -> dict[str, Any]:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _stated_wait(answer: requests.Response, otherwise: float) -> float:
    stated = answer.headers.get("Retry-After", "")
    return float(stated) if stated.isdecimal() else otherwise
