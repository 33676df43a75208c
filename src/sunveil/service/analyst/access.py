"""What an analyst may see: datasets with a share, and their releases."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cachetools import LRUCache
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from sunveil.errors import ReleaseNotFound
from sunveil.ledger.records import Dataset
from sunveil.ledger.shares import AnalystShare, shares_of_analyst
from sunveil.service.analyst.answers import full_release
from sunveil.service.context import Service, service_of
from sunveil.service.pages import identity_of
from sunveil.service.problems import Problem
from sunveil.service.store.datasets import READY, Served, find_promised, find_served
from sunveil.service.store.releases import ReleaseRow, find_release, releases_of

RELEASES_IN_MEMORY = 256 * 1024 * 1024  # [bytes]


@dataclass(frozen=True, slots=True)
class SharedDataset:
    """A dataset that an analyst has a share of.

    Parameters
    ----------
    served
        What is public about it, and where its files are.
    promised
        Its promise, and what has been spent against it.
    share
        What the analyst may spend of it, and has spent.
    """

    served: Served
    promised: Dataset
    share: AnalystShare

    @property
    def name(self) -> str:
        """Its name in links and in the ledger."""
        return self.served.name

    @property
    def sign(self) -> str:
        """The letter of the promise's measure."""
        return "ε" if self.promised.promise.measure == "epsilon" else "ρ"


@dataclass(frozen=True, slots=True)
class CachedRelease:
    """A release as it is sent, kept in memory: it never changes.

    Parameters
    ----------
    row
        Its row in the list of releases.
    body
        The whole release, as it was stored.
    text
        The whole release as JSON, as the API sends it.
    etag
        HTTP entity tag: a digest of the text, by which a browser knows that it has it.
    """

    row: ReleaseRow
    body: dict[str, Any] = field(repr=False)
    text: bytes = field(repr=False)
    etag: str


class ReleaseCache:
    """Releases and rights in memory, so that reading what was published is cheap.

    A release never changes, and a share is never taken away: what was found once stays true. That a
    token holds is looked up apart.
    """

    def __init__(self) -> None:
        self._releases: LRUCache[str, CachedRelease] = LRUCache(RELEASES_IN_MEMORY, _size)
        self._rights: set[tuple[str, str]] = set()
        self._loading, self._guard = threading.Lock(), threading.Lock()

    def cached(self, release: str, analyst: str) -> CachedRelease | None:
        """Return a release from memory, if it and the analyst's right to it are there."""
        with self._guard:
            found = self._releases.get(release)
        return found if found and (analyst, found.row.dataset) in self._rights else None

    def find(self, service: Service, release: str, analyst: str) -> CachedRelease:
        """Return a release that this analyst has a right to, or refuse with a 404.

        Parameters
        ----------
        service
            Where it is looked up if it is not in memory.
        release
            Its id.
        analyst
            Who wants to read it.
        """
        with self._loading:  # many who come at once are served by one
            return self.cached(release, analyst) or self._load(service, release, analyst)

    def _load(self, service: Service, release: str, analyst: str) -> CachedRelease:
        with self._guard:
            known = self._releases.get(release)
        with service.store.reading() as connection:
            found = find_release(connection, release) if known is None else None
            shares = shares_of_analyst(connection, analyst)
        made = _cached(*found) if found is not None else known
        if made is None or made.row.dataset not in shares:
            raise Problem(404, "There is no such release of a dataset that you have a share of.")
        self._rights.add((analyst, made.row.dataset))
        with self._guard, suppress(ValueError):  # larger than all that is kept
            self._releases[release] = made
        return made


def _size(release: CachedRelease) -> int:
    return 6 * len(release.text)  # the body beside the text takes a few times as much


def shared_datasets(service: Service, analyst: str) -> list[SharedDataset]:
    """Return the datasets that an analyst may ask about, by name."""
    with service.store.reading() as connection:
        shares = shares_of_analyst(connection, analyst)
        found = [_if_ready(connection, name, share) for name, share in sorted(shares.items())]
    return [each for each in found if each is not None]


def shared_dataset(service: Service, analyst: str, name: str) -> SharedDataset:
    """Return a dataset that an analyst may ask about, or refuse with a 404.

    Parameters
    ----------
    service
        The running service.
    analyst
        Who asks; needs a share of the dataset.
    name
        The dataset's name.
    """
    with service.store.reading() as connection:
        share = shares_of_analyst(connection, analyst).get(name)
        found = None if share is None else _if_ready(connection, name, share)
    if found is None:
        raise Problem(404, "There is no such dataset that you have a share of.")
    return found


def _if_ready(connection: Connection, name: str, share: AnalystShare) -> SharedDataset | None:
    """Return a dataset if it is served, promised and ready."""
    try:
        served = find_served(connection, name)
    except ReleaseNotFound:  # the ledger may hold more than is served
        return None
    promised = find_promised(connection, name)
    if promised is None or served.state != READY:
        return None
    return SharedDataset(served, promised, share)


def list_releases(service: Service, dataset: str) -> list[ReleaseRow]:
    """Return the releases of a dataset, newest first."""
    with service.store.reading() as connection:
        return releases_of(connection, dataset)


def _cached(row: ReleaseRow, body: dict[str, Any]) -> CachedRelease:
    text = json.dumps(full_release(row, body), ensure_ascii=False, allow_nan=False).encode()
    return CachedRelease(row, body, text, f'"{hashlib.sha256(text).hexdigest()[:24]}"')


async def cached_release(request: Request, release: str) -> CachedRelease:
    """Return a release that whoever asks has a right to, or refuse with a 404.

    Parameters
    ----------
    request
        What asks, with the analyst who was admitted.
    release
        Its id.
    """
    release_cache, who = request.app.state.release_cache, identity_of(request).who
    found: CachedRelease | None = release_cache.cached(release, who)
    if found is None:
        found = await run_in_threadpool(release_cache.find, service_of(request), release, who)
    assert found is not None
    return found
