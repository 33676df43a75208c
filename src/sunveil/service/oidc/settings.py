"""Settings of single sign-on, from a TOML file; the client's secret stands in a file apart."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sunveil.errors import ParameterError
from sunveil.service.roles import ANALYST, ASK, AUDITOR, CURATOR, READ

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
    """A provider of single sign-on, and what its claims mean here.

    Parameters
    ----------
    address
        Where browsers reach this service, such as ``https://sunveil.example.org``.
    issuer
        The provider's address, by which it names itself in what it signs.
    client_id, secret
        How the provider knows this service; without a secret, as a public client.
    roles
        By grant (``curator``, ``auditor``, ``analyst``, ``reader``), the values of the role's claim
        that give it.
    provider
        What the provider is called on pages.
    scopes
        What is asked for; ``openid`` is always among them.
    name_claim
        Which claim names a person; ``sub`` where it is missing.
    role_claim
        Which claim gives roles: a text, or a list of texts.
    analyst_claim
        Which claim says under which name in the ledger an analyst asks; empty for the person's own.
        The provider must not let people choose it themselves.
    local
        Whether local accounts may sign in with their passwords beside it.
    """

    address: str
    issuer: str
    client_id: str
    roles: Mapping[str, frozenset[str]]
    secret: str = field(default="", repr=False)
    provider: str = "single sign-on"
    scopes: tuple[str, ...] = ("openid", "profile")
    name_claim: str = "preferred_username"
    role_claim: str = "groups"
    analyst_claim: str = ""
    local: bool = True

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
