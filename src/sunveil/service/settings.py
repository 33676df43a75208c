"""Settings of a service: where its data are, where it listens, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from sunveil.errors import ParameterError

MEGABYTE = 1024 * 1024
# By kind of question: an answer takes a whole multiple of this, so that its time tells nothing. [s]
ANSWER_SECONDS: Mapping[str, float] = MappingProxyType(
    {"fleet-table": 1.0, "totals": 0.5, "quantiles": 0.5, "synthetic": 15.0, "systems": 10.0}
)


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
        Of an address, for logins and for tokens that are not known.
    """

    reads: float = 100.0
    reads_burst: float = 400.0
    asks: float = 5.0
    asks_burst: float = 40.0
    login_attempts: float = 0.2
    login_attempts_burst: float = 20.0


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
    https
        Whether browsers reach it over TLS, through a proxy: cookies are then for TLS only.
    rates
        How often one token or address may ask.
    body_limit, upload_limit
        Largest body of a request, and of an upload by a curator. [bytes]
    session_hours
        How long a login lasts. [h]
    answer_seconds
        By kind of question: an answer takes whole multiples of this. [s]
    asks_at_once
        How many questions are answered at the same time.
    """

    data: Path
    database: str = ""
    host: str = "127.0.0.1"
    port: int = 8321
    https: bool = False
    rates: Rates = field(default_factory=Rates)
    body_limit: int = 64 * 1024
    upload_limit: int = 512 * MEGABYTE
    session_hours: float = 12.0
    answer_seconds: Mapping[str, float] = field(default_factory=lambda: ANSWER_SECONDS)
    asks_at_once: int = 8

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ParameterError(f"a port is from 0 to 65535, and {self.port} is not")
        if any(not pad > 0.0 for pad in self.answer_seconds.values()):
            raise ParameterError("the time that an answer takes is above 0 seconds")

    @property
    def where(self) -> str:
        """Path or URL of the database."""
        return self.database or str(self.data / "sunveil.db")

    @property
    def datasets(self) -> Path:
        """Folder that holds one folder per dataset."""
        return self.data / "datasets"
