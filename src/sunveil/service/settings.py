"""Settings of a service: where its data are, where it listens, and its limits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from sunveil.errors import ParameterError
from sunveil.service.oidc.settings import OidcSettings
from sunveil.service.reading_limits import ReadingLimits
from sunveil.service.security.networks import LOOPBACK, Network

MEGABYTE = 1024 * 1024
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
LOG_FORMATS = ("text", "json")
# The part of a machine's memory that inference may take, so that the service itself goes on.
MACHINE_SHARE = 0.75
# By kind of question: an answer takes a whole multiple of this, so that its time tells nothing. [s]
ANSWER_SECONDS: Mapping[str, float] = {
    "fleet-table": 1.0,
    "totals": 0.5,
    "quantiles": 0.5,
    "synthetic": 15.0,
    "systems": 10.0,
}


@dataclass(frozen=True, slots=True)
class Rates:
    """How often one token or one address may ask, each as requests per second and a burst.

    Parameters
    ----------
    reads, reads_burst
        Of a token, for what has been published.
    asks, asks_burst
        Of a token, for questions and plans.
    login_attempts, login_attempts_burst
        Of an address, for logins and tokens that fail.
    account_failures, account_failures_burst
        Of an account, or of a browser that it signed in with before, for logins that fail.
    all_failures, all_failures_burst
        Of all browsers that are not known, together, for logins that fail.
    """

    reads: float = 100.0
    reads_burst: float = 400.0
    asks: float = 5.0
    asks_burst: float = 40.0
    login_attempts: float = 0.2
    login_attempts_burst: float = 20.0
    account_failures: float = 1.0 / 60.0
    account_failures_burst: float = 10.0
    all_failures: float = 5.0
    all_failures_burst: float = 200.0


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Where a service keeps its data, where it listens, and its limits.

    Parameters
    ----------
    data
        Folder of everything that the service keeps beside its database: private.
    database
        A file's path or a ``postgresql://`` URL; a file in the data folder when left out.
    host, port
        Where it listens.
    address
        Where browsers reach it through a proxy, such as ``https://sunveil.example.org``; empty
        without one. Over TLS, cookies are for TLS only.
    trusted_proxies
        Proxies that are believed when they say, by ``X-Forwarded-For``, who called them.
    metrics_from
        Addresses that may read ``/metrics``.
    log_format, access_log
        How lines of the log are written, ``text`` or ``json``, and whether every request has one.
    connections
        Most connections of a worker that are open at once; who comes beyond them is answered 503.
    rates
        How often one token or address may ask.
    body_limit, upload_limit
        Largest body of a request, and of an upload by a curator. [bytes]
    reading
        What reading an upload may hold and take at most.
    job_memory
        What each process that infers may hold at most; three quarters of the machine's memory if
        left out. [bytes]
    session_hours, idle_minutes
        How long a sign-in lasts at most, and how long without being used. [h, min]
    oidc
        The provider of single sign-on; None for local accounts and tokens alone.
    answer_seconds
        By kind of question: an answer takes whole multiples of this. [s]
    asks_at_once
        How many questions are answered at the same time.
    workers
        How many processes serve; more than one need PostgreSQL.
    """

    data: Path
    database: str = ""
    host: str = "127.0.0.1"
    port: int = 8321
    address: str = ""
    trusted_proxies: tuple[Network, ...] = ()
    metrics_from: tuple[Network, ...] = LOOPBACK
    log_format: str = "text"
    access_log: bool = False
    connections: int = 800  # below 1,024, a process's usual limit of open files
    rates: Rates = field(default_factory=Rates)
    body_limit: int = 64 * 1024
    upload_limit: int = 512 * MEGABYTE
    reading: ReadingLimits = field(default_factory=ReadingLimits)
    job_memory: int | None = None
    session_hours: float = 12.0
    idle_minutes: float = 120.0
    oidc: OidcSettings | None = None
    answer_seconds: Mapping[str, float] = field(default_factory=lambda: ANSWER_SECONDS)
    asks_at_once: int = 8
    workers: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ParameterError(f"a port is from 0 to 65535, and {self.port} is not")
        if self.log_format not in LOG_FORMATS:
            raise ParameterError("the format of the log is text or json")
        if self.connections < 1:
            raise ParameterError("at least 1 connection may be open at once")
        object.__setattr__(self, "address", _checked_address(self.address))
        if bool(self.address) != bool(self.trusted_proxies):
            raise ParameterError(
                "behind a proxy, name both the address by which browsers reach it and the proxy's"
                " own; give --address and --trusted-proxy, or neither"
            )
        if not self.trusted_proxies and not is_local(self.host):
            raise ParameterError(
                f"without a proxy, which keeps slow clients off and speaks TLS, the service listens"
                f" on this machine only, and {self.host} is for others; put one in front and name"
                " it by --trusted-proxy, or leave out --host"
            )
        back = "" if self.oidc is None else self.oidc.address.rstrip("/")
        if back != self.address and (self.address or back.startswith("https:")) and back:
            raise ParameterError(
                "single sign-on comes back to another address than that by which browsers reach"
                " the service; give the same to --address and in the file of --oidc"
            )
        if any(not pad > 0.0 for pad in self.answer_seconds.values()):
            raise ParameterError("the time that an answer takes is above 0 seconds")
        if self.workers < 1:
            raise ParameterError("at least one worker serves")
        if self.workers > 1 and "://" not in self.where:
            raise ParameterError(
                "several workers share a database in PostgreSQL, and this one is a file; move it"
                " there with sunveil ledger move, or leave out --workers"
            )

    @property
    def https(self) -> bool:
        """Whether browsers reach it over TLS."""
        return self.address.startswith("https:")

    @property
    def host_names(self) -> list[str]:
        """Names that a request may be for."""
        here = f"[{self.host}]" if ":" in self.host else self.host
        own = urlsplit(self.address).hostname
        return [*LOCAL_NAMES, here, *([own] if own else [])]

    @property
    def most_job_memory(self) -> int:
        """What each process that infers may hold. [bytes]"""
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return self.job_memory or int(MACHINE_SHARE * machine)

    @property
    def where(self) -> str:
        """Path or URL of the database."""
        return self.database or str(self.data / "sunveil.db")

    @property
    def datasets(self) -> Path:
        """Folder that holds one folder per dataset."""
        return self.data / "datasets"


def is_local(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    return host in ("localhost", "::1") or host.startswith("127.")


def _checked_address(address: str) -> str:
    given = urlsplit(address)
    plain = given.scheme in ("http", "https") and given.hostname and given.path in ("", "/")
    if address and (not plain or given.query or given.fragment or given.username):
        raise ParameterError(
            "the address of the service is a scheme and a name; write https://sunveil.example.org"
        )
    return address.rstrip("/")
