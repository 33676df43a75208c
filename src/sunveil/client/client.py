"""The client: datasets, plans, questions and releases of a service."""

from __future__ import annotations

import secrets
from types import TracebackType
from typing import Any
from urllib.parse import quote

from sunveil.checked import checked
from sunveil.client.results import Plan, ServedRelease
from sunveil.client.transport import Transport


class Client:
    """A service, as an analyst's program uses it.

    Parameters
    ----------
    url
        Where the service is, such as ``https://sunveil.example.org``.
    token
        From the curator; it begins with ``sv_``.
    timeout
        How long one answer may take; synthetic tables and single systems take longest. [s]
    tries
        How often a request is sent at most where a connection was lost. A question is sent under
        one idempotency key each time, and so is charged once.
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
            The idempotency key; a random one when left out. The same key and question give the
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
