"""Settings, limits, roles, scopes."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sunveil.errors import ParameterError

CURATOR, AUDITOR, ANALYST, GUEST = "curator", "auditor", "analyst", "guest"

# From the one who may most to the one who may least.
ROLES = (CURATOR, AUDITOR, ANALYST)

# Role of an account after its provider has withdrawn its role.
NONE = "none"

# The console is for curators and auditors, the portal for analysts.
CONSOLE, PORTAL = "curator", "analyst"

# Reading releases; and also planning and asking, which spends.
READ, ASK = "read", "ask"
SCOPES = (READ, ASK)

ABOUT = {
    CURATOR: "adds data, makes promises, gives shares, manages accounts",
    AUDITOR: "reads the ledger: promises, spending, entries, verification; no data",
    ANALYST: "reads releases and asks within a share",
}


def side_of(role: str) -> str:
    """Return which side of the service a role signs in to; a guest has a side of its own."""
    return CONSOLE if role in (CURATOR, AUDITOR) else role


def home_of(role: str) -> str:
    homes = {CURATOR: "/curator", AUDITOR: "/curator/ledger", ANALYST: "/analyst"}
    return homes.get(role, "/")


def narrower(one: str, other: str) -> str:
    return READ if READ in (one, other) else ASK


def check_role(role: str) -> None:
    if role not in ROLES:
        raise ParameterError(f"a role is one of {', '.join(ROLES)}")


def check_scope(scope: str) -> None:
    if scope not in SCOPES:
        raise ParameterError(f"a scope is one of {', '.join(SCOPES)}")


# What a value of the role's claim can give, from most to least: the first that fits is taken.
GRANTS = {
    "curator": (CURATOR, ASK),
    "auditor": (AUDITOR, ASK),
    "analyst": (ANALYST, ASK),
    "reader": (ANALYST, READ),
}

KEYS = {
    "": {"address", "local", "provider", "claims", "roles"},
    "provider": {"name", "issuer", "client_id", "secret_file", "secret_env", "scopes"},
    "claims": {"name", "role", "analyst"},
    "roles": set(GRANTS),
}


@dataclass(frozen=True, slots=True)
class OidcSettings:
    address: str  # where browsers reach this service, such as `https://sunveil.example.org`
    issuer: str  # the provider's address, by which it names itself in what it signs
    client_id: str  # how the provider knows this service; without a secret, as a public client
    roles: Mapping[str, frozenset[str]]
    secret: str = field(default="", repr=False)
    provider: str = "single sign-on"  # what the provider is called on pages
    scopes: tuple[str, ...] = ("openid", "profile")
    name_claim: str = "preferred_username"  # which claim names a person; `sub` where it is missing
    role_claim: str = "groups"  # which claim gives roles: a text, or a list of texts
    analyst_claim: str = ""
    local: bool = True  # whether local accounts may sign in with their passwords beside it

    def __post_init__(self) -> None:
        for name, value in (("address", self.address), ("provider.issuer", self.issuer)):
            _check_url(name, value)
        if not self.client_id:
            raise ParameterError("provider.client_id is missing; the provider's operator knows it")
        if "openid" not in self.scopes:
            raise ParameterError("provider.scopes lacks openid; add it")
        if not any(self.roles.get(grant) for grant in GRANTS):
            raise ParameterError("roles gives nobody a role; name groups for one at least")

    @property
    def redirect_uri(self) -> str:
        """Where the provider sends browsers back to; it must be registered there."""
        return f"{self.address.rstrip('/')}/oidc/callback"

    @property
    def after_logout(self) -> str:
        """Where the provider may send browsers after they signed out there."""
        return f"{self.address.rstrip('/')}/"


def read_oidc(path: Path) -> OidcSettings:
    """Return the settings in a TOML file, or refuse it in one sentence that names no secret."""
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise ParameterError(f"the settings of single sign-on: {reason}; check --oidc") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{path.name} is no TOML: {error}; correct it") from None
    try:
        return _settings(given, path.parent)
    except ParameterError as error:
        raise ParameterError(f"{path.name}: {error}") from None


def _settings(given: dict[str, Any], folder: Path) -> OidcSettings:
    provider, claims, roles = (_table(given, name) for name in ("provider", "claims", "roles"))
    _check_keys("", given)
    local = given.get("local", True)
    if not isinstance(local, bool):
        raise ParameterError("local is true or false")
    values: dict[str, Any] = {
        "address": _text(given, "address"),
        "issuer": _text(provider, "issuer", "provider."),
        "client_id": _text(provider, "client_id", "provider."),
        "roles": {name: frozenset(_texts(roles, name, "roles.")) for name in roles},
        "secret": _secret(provider, folder),
        "local": local,
    }
    if "scopes" in provider:
        values["scopes"] = tuple(_texts(provider, "scopes", "provider."))
    for table, key, name in (
        (provider, "name", "provider"),
        (claims, "name", "name_claim"),
        (claims, "role", "role_claim"),
        (claims, "analyst", "analyst_claim"),
    ):
        if key in table:
            values[name] = _text(table, key)
    return OidcSettings(**values)


def _secret(provider: dict[str, Any], folder: Path) -> str:
    if "secret_file" in provider:
        path = folder / _text(provider, "secret_file", "provider.")
        try:
            return path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise ParameterError("provider.secret_file cannot be read; check it") from None
    if "secret_env" in provider:
        name = _text(provider, "secret_env", "provider.")
        if not os.environ.get(name):
            raise ParameterError(f"the environment has no {name}, which provider.secret_env names")
        return os.environ[name]
    return ""


def _check_url(name: str, value: str) -> None:
    found = urlsplit(value)
    here = found.hostname in ("localhost", "127.0.0.1", "::1")
    if not found.hostname or found.query or found.fragment:
        raise ParameterError(f"{name} is an address such as https://id.example.org")
    if found.scheme != "https" and not (found.scheme == "http" and here):
        raise ParameterError(f"{name} begins with https://; http:// is for this machine alone")


def _check_keys(name: str, table: dict[str, Any]) -> None:
    unknown = sorted(set(table) - KEYS[name])
    if unknown:
        where = f"{name}." if name else ""
        raise ParameterError(f"{where}{unknown[0]} is not known; see the page on accounts")


def _table(given: dict[str, Any], name: str) -> dict[str, Any]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise ParameterError(f"{name} is a table: [{name}]")
    _check_keys(name, found)
    return found


def _text(table: dict[str, Any], key: str, where: str = "") -> str:
    found = table.get(key)
    if not isinstance(found, str) or not found:
        raise ParameterError(f"{where}{key} is missing, or no text")
    return found


def _texts(table: dict[str, Any], key: str, where: str) -> list[str]:
    found = table[key]
    if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
        raise ParameterError(f"{where}{key} is a list of texts")
    return found


MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one upload may take at most, whatever its files claim to be."""

    memory: int = 2048 * MEGABYTE  # [bytes] what the process that reads it may hold
    seconds: float = 900.0  # [s] how long it may take
    systems: int = 1_000_000  # rows of a table of systems
    readings: int = 20_000_000_000  # rows of all Parquet files of readings together
    columns: int = 4000  # columns of any one table


Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
LOOPBACK: tuple[Network, ...] = (ip_network("127.0.0.0/8"), ip_network("::1/128"))

# One customer of a network provider has all addresses of such a network, so limits are for it.
HOUSEHOLD_BITS = 64


def parse_network(text: str) -> Network:
    """Return the network that an address, or a network such as ``10.0.0.0/8``, names."""
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise ParameterError(
            f"{text!r} is neither an address nor a network; write 10.0.0.5, 10.0.0.0/8 or ::1"
        ) from None


def parse_address(text: str) -> Address | None:
    # An IPv4 address within IPv6 is that IPv4 address, whichever socket it came to.
    plain = text.strip().strip('"')
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    try:
        found = ip_address(plain)
    except ValueError:
        return None
    if isinstance(found, IPv6Address):
        return found.ipv4_mapped or found
    return found


def mapped(network: Network) -> Network:
    """Return a network as a socket of IPv6 sees it."""
    if isinstance(network, IPv6Network):
        return network
    return ip_network(f"::ffff:{network.network_address}/{96 + network.prefixlen}")


def is_within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def limit_key(address: str) -> str:
    """Return what limits count an address as: itself, or the network of a household's."""
    found = parse_address(address)
    if isinstance(found, IPv6Address):
        return str(ip_network((found, HOUSEHOLD_BITS), strict=False))
    return address


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
    """How often one token or one address may ask, each as requests per second and a burst."""

    reads: float = 100.0  # of a token, for what has been published
    reads_burst: float = 400.0  # of a token, for what has been published
    asks: float = 5.0  # of a token, for questions and plans
    asks_burst: float = 40.0  # of a token, for questions and plans
    login_attempts: float = 0.2  # of an address, for logins and tokens that fail
    login_attempts_burst: float = 20.0  # of an address, for logins and tokens that fail
    account_failures: float = 1.0 / 60.0
    account_failures_burst: float = 10.0
    all_failures: float = 5.0  # of all browsers that are not known, together, for logins that fail
    all_failures_burst: float = 200.0


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Where a service keeps its data, where it listens, and its limits."""

    data: Path  # folder of everything that the service keeps beside its database: private
    database: str = ""
    host: str = "127.0.0.1"  # where it listens
    port: int = 8321  # where it listens
    address: str = ""
    trusted_proxies: tuple[Network, ...] = ()
    metrics_from: tuple[Network, ...] = LOOPBACK  # addresses that may read `/metrics`
    log_format: str = "text"
    access_log: bool = False
    connections: int = 800  # below 1,024, a process's usual limit of open files
    rates: Rates = field(default_factory=Rates)  # how often one token or address may ask
    body_limit: int = 64 * 1024  # [bytes] largest body of a request
    upload_limit: int = 512 * MEGABYTE  # [bytes] largest upload of a curator
    reading: ReadingLimits = field(default_factory=ReadingLimits)
    job_memory: int | None = None  # [bytes]
    session_hours: float = 12.0  # [h]
    idle_minutes: float = 120.0  # [min]
    oidc: OidcSettings | None = None
    answer_seconds: Mapping[str, float] = field(default_factory=lambda: ANSWER_SECONDS)  # [s]
    asks_at_once: int = 8  # how many questions are answered at the same time
    workers: int = 1  # how many processes serve; more than one need PostgreSQL

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
        return self.database or str(self.data / "sunveil.db")

    @property
    def datasets(self) -> Path:
        return self.data / "datasets"


def is_local(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _checked_address(address: str) -> str:
    given = urlsplit(address)
    plain = given.scheme in ("http", "https") and given.hostname and given.path in ("", "/")
    if address and (not plain or given.query or given.fragment or given.username):
        raise ParameterError(
            "the address of the service is a scheme and a name; write https://sunveil.example.org"
        )
    return address.rstrip("/")


@dataclass(frozen=True, slots=True)
class UploadLimits:
    body: int = 4096 * MEGABYTE  # [bytes] the whole request
    unpacked: int = 16384 * MEGABYTE  # [bytes] all files together after archives are unpacked
    files: int = 5000  # how many files, those within archives counted
    ratio: int = 200
    fields: int = 40  # form fields beside the files
    field: int = 16 * 1024  # [bytes] each of them
    spare: int = 512 * MEGABYTE  # [bytes] what must stay free on the disk


def size_text(size: int) -> str:
    """Return a size in words, such as ``3.5 MB``."""
    if size >= 1024 * MEGABYTE:
        return f"{size / (1024 * MEGABYTE):.3g} GB"
    if size >= MEGABYTE:
        return f"{size / MEGABYTE:.3g} MB"
    return f"{size / 1024:.3g} kB" if size >= 1024 else f"{size} bytes"
