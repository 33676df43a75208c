"""Client of the HTTP API."""

from __future__ import annotations

import io
import secrets
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlsplit

import pandas as pd
import requests

from sunveil._options import all_named, check_fields, checked
from sunveil.errors import BudgetExceeded, ParameterError, ReleaseNotFound, SunveilError

__all__ = [
    "AnswerRefused",
    "Client",
    "NotAdmitted",
    "Plan",
    "PlanAdvice",
    "ServedRelease",
    "ServiceError",
    "ServiceUnreachable",
]

# Frictionless' words for what a column holds, and pandas' for the same with gaps.
KINDS = {"string": "string", "integer": "Int64", "number": "Float64", "array": "object"}


@dataclass(frozen=True, slots=True)
class PlanAdvice:
    """A change of a question that would make its answer better."""

    words: str  # what to change
    verdict: str  # what the answer would be then
    affordable: bool  # whether what is left holds it
    question: dict[str, Any]  # the changed question, as :meth:`~sunveil.client.Client.ask` takes it

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a question would cost and the errors to expect; nothing was spent.

    Parameters
    ----------
    cost, measure
        What it would cost, in ``epsilon`` or ``rho``.
    kept
        Whether it was answered before, and costs nothing.
    affordable
        Whether promise and share are sufficient.
    verdict
        ``useful``, ``rough`` or ``only noise``; None where nothing is known.
    expected
        The errors to expect, one row each.
    advice
        Suggestions that would improve it.
    """

    cost: float
    measure: str
    kept: bool
    affordable: bool
    verdict: str | None
    expected: pd.DataFrame = field(repr=False)
    advice: tuple[PlanAdvice, ...]

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    @checked
    @all_named("the plan", "what the API sent")
    def of(cls, fields: dict[str, Any]) -> Plan:
        """Return the plan that the API sent."""
        advice = (
            PlanAdvice(each["words"], each["verdict"], each["affordable"], each["question"])
            for each in fields["advice"]
        )
        return cls(
            cost=fields["cost"],
            measure=fields["measure"],
            kept=fields["kept"],
            affordable=fields["affordable"],
            verdict=fields["verdict"],
            expected=pd.DataFrame(fields["expected"]),
            advice=tuple(advice),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ServedRelease:
    """A release: an answer that was drawn once and is kept.

    Parameters
    ----------
    fields
        All of it, as the API sends it.
    fetch
        What returns the bytes at an address of the API.
    """

    fields: dict[str, Any] = field(repr=False)
    fetch: Callable[[str], bytes] = field(repr=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def __repr__(self) -> str:
        return (
            f"ServedRelease({self.id!r}, dataset={self.dataset!r}, kind={self.kind!r},"
            f" epsilon={self.epsilon:g}, tables={self.tables})"
        )

    @property
    def id(self) -> str:
        """What it is found by."""
        return str(self.fields["id"])

    @property
    def dataset(self) -> str:
        """The name of its dataset."""
        return str(self.fields["dataset"])

    @property
    def kind(self) -> str:
        """The kind of question that it answers."""
        return str(self.fields["kind"])

    @property
    def epsilon(self) -> float:
        """Its privacy loss."""
        return float(self.fields["epsilon"])

    @property
    def cost(self) -> float:
        """What was charged for it, in the promise's measure."""
        return float(self.fields["cost"])

    @property
    def guarantee(self) -> str:
        """What it promises, in a sentence."""
        return str(self.fields["guarantee"]["statement"])

    @property
    def tables(self) -> list[str]:
        """The names of its tables."""
        return [str(table["name"]) for table in self.fields["tables"]]

    @checked
    def table(self, name: str) -> pd.DataFrame:
        """Return one of its tables; ``frame.attrs["about"]`` says what it is."""
        found = [table for table in self.fields["tables"] if table["name"] == name]
        if not found:
            raise ParameterError(
                f"the release has no table {name!r}; it has {', '.join(self.tables)}"
            )
        columns = found[0]["columns"]
        names = [str(column["name"]) for column in columns]
        frame = pd.DataFrame(found[0]["rows"], columns=names, dtype=object)
        frame = frame.astype({str(each["name"]): KINDS[each["kind"]] for each in columns})
        frame.attrs["about"] = found[0]["about"]
        return frame

    @checked
    def file(self, name: str) -> bytes:
        """Return one of its files, such as ``totals.csv`` or ``release-card.yaml``."""
        return self.fetch(f"/releases/{self.id}/files/{name}")

    @checked
    def save(self, folder: Path | str) -> list[Path]:
        """Write all of its files into a folder, and return them."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        with zipfile.ZipFile(io.BytesIO(self.fetch(f"/releases/{self.id}/bundle"))) as packed:
            for entry in packed.infolist():
                # whatever the archive says, nothing is written beside the folder
                target = place / Path(entry.filename).name
                target.write_bytes(packed.read(entry))
                written.append(target)
        return written


REMEDIES = {
    401: "ask the curator for a token that is valid, and give it to Client",
    409: "leave key out to have a new one made",
    413: "ask for less at once",
    429: "wait, and ask less often",
    500: "tell the curator the number",
    503: "ask again later; the same key is charged once",
}


class ServiceError(SunveilError):
    """A request that the service could not answer.

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
    """A service that was not reached, so that nothing is known of what became of a question."""

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key  # of the question: asked again with it, it is charged once at most


def error_of(status: int, problem: dict[str, Any]) -> SunveilError:
    """Return the error that a problem of the service means."""
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
    """Sends requests to one service."""

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
        """Return the answer to a request, or raise what is wrong."""
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


class Client:
    """Client of a running service.

    Parameters
    ----------
    url
        Address of the service, such as ``https://sunveil.example.org``.
    token
        From the curator; it begins with ``sv_``.
    timeout
        Timeout of one answer; synthetic tables and single systems take longest. [s]
    tries
        Attempts at most when the connection is lost. A question keeps its idempotency key and is
        charged once.
    verify
        Path of a file with the authorities that the service's certificate is checked against; True
        for the usual ones.
    insecure
        Whether the token may be sent without TLS to another machine.
    """

    @checked
    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 600.0,
        tries: int = 5,
        verify: str | bool = True,
        insecure: bool = False,
    ) -> None:
        self._transport = Transport(
            url, token, timeout=timeout, tries=tries, verify=verify, insecure=insecure
        )

    def __repr__(self) -> str:
        return "Client(token hidden)"

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def datasets(self) -> list[dict[str, Any]]:
        """Return the datasets that the token has a share of, with promise and what is left."""
        found: list[dict[str, Any]] = self._get("/datasets")["datasets"]
        return found

    @checked
    def plan(self, dataset: str, **question: Any) -> Plan:
        """Return what a question would cost and the errors to expect; spend nothing.

        Parameters
        ----------
        dataset
            The dataset's name.
        **question
            ``kind``, ``epsilon`` and the kind's own fields, as for :meth:`ask`.
        """
        path = f"/datasets/{quote(dataset, safe='')}/plans"
        return Plan.of(self._transport.send("POST", path, json=question).json())

    @checked
    def ask(self, dataset: str, *, key: str | None = None, **question: Any) -> ServedRelease:
        """Ask a question, wait for its answer and return it: its cost is charged once.

        Parameters
        ----------
        dataset
            The dataset's name.
        key
            The idempotency key; random if None. The same key and question give the
            same answer, and are charged once.
        **question
            ``kind`` (``fleet-table``, ``totals``, ``quantiles``, ``synthetic`` or ``systems``),
            ``epsilon``, and the kind's own fields, such as ``tables``, ``sectors``, ``group_by``,
            ``percents``, ``clip_kw`` and ``largest_kw``.
        """
        path = f"/datasets/{quote(dataset, safe='')}/releases"
        used = key or secrets.token_hex(16)
        return self._release(self._transport.send("POST", path, json=question, key=used).json())

    @checked
    def suggestions(self, dataset: str) -> list[dict[str, Any]]:
        """Return first questions that tell as much as a twentieth of the share can."""
        path = f"/datasets/{quote(dataset, safe='')}/suggestions"
        found: list[dict[str, Any]] = self._get(path)["suggestions"]
        return found

    @checked
    def releases(self, dataset: str) -> list[dict[str, Any]]:
        """Return what was released of a dataset, newest first: id, kind, ε, ..."""
        path = f"/datasets/{quote(dataset, safe='')}/releases"
        found: list[dict[str, Any]] = self._get(path)["releases"]
        return found

    @checked
    def release(self, release: str) -> ServedRelease:
        """Return a release by its id; reading costs nothing."""
        return self._release(self._get(f"/releases/{quote(release, safe='')}"))

    def _release(self, fields: dict[str, Any]) -> ServedRelease:
        return ServedRelease(fields, self._bytes)

    def _get(self, path: str) -> Any:
        return self._transport.send("GET", path).json()

    def _bytes(self, path: str) -> bytes:
        return self._transport.send("GET", path).content
