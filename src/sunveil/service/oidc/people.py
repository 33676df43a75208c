"""From claims to an account: who somebody is, which role they have now, and under which name.

An account belongs to issuer and subject, which never change. A name is only a name: where another
account has it, or an analyst of the ledger, the newcomer gets one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Connection

from sunveil.ledger.records import LONGEST_NAME
from sunveil.service.oidc.settings import GRANTS, OidcSettings
from sunveil.service.roles import ANALYST
from sunveil.service.security.tokens import digest_of
from sunveil.service.store.accounts import (
    Account,
    account_of_id,
    account_of_subject,
    add_account,
    find_account,
    follow_provider,
)

# Letters of a name that are left when where it comes from is added.
_SHORT = 120


@dataclass(frozen=True, slots=True)
class Person:
    """Who the provider says somebody is.

    Parameters
    ----------
    subject
        The provider's unchanging name of them.
    name
        How they are called.
    grant
        Role and scope that they have now; None for none.
    analyst
        Under which name in the ledger they ask, where the provider says it; empty otherwise.
    """

    subject: str
    name: str
    grant: tuple[str, str] | None
    analyst: str = ""


def person_of(claims: dict[str, Any], settings: OidcSettings) -> Person:
    """Return who a provider's claims are about."""
    subject = str(claims["sub"])
    given = claims.get(settings.name_claim)
    name = _plain(given if isinstance(given, str) else "") or _plain(subject) or "somebody"
    analyst = claims.get(settings.analyst_claim) if settings.analyst_claim else None
    return Person(
        subject,
        name,
        grant_of(claims.get(settings.role_claim), settings),
        _plain(analyst) if isinstance(analyst, str) else "",
    )


def grant_of(value: Any, settings: OidcSettings) -> tuple[str, str] | None:
    """Return the role and the scope that a claim's value gives: the first in the order of grants.

    Parameters
    ----------
    value
        The claim: a text, a list of texts, or anything else, which gives nothing.
    settings
        Which values give which role.
    """
    values = {value} if isinstance(value, str) else set()
    if isinstance(value, list):
        values = {each for each in value if isinstance(each, str)}
    for grant, meaning in GRANTS.items():
        if values & settings.roles.get(grant, frozenset()):
            return meaning
    return None


def account_for(
    connection: Connection,
    person: Person,
    issuer: str,
    *,
    analyst_known: Callable[[str], bool],
) -> Account:
    """Return the account of a person with a role, made anew or brought to the role of now.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    person
        Who the provider says that they are; with a role.
    issuer
        Of the provider.
    analyst_known
        Returns whether the ledger or a token knows an analyst of a name.
    """
    assert person.grant is not None
    role, scope = person.grant
    found = account_of_subject(connection, issuer, person.subject)
    if found is None:
        name = _free_name(connection, person, issuer, analyst_known=analyst_known)
        return add_account(
            connection,
            name,
            role=role,
            analyst=person.analyst or name if role == ANALYST else "",
            scope=scope,
            subject=(issuer, person.subject),
        )
    # a curator may have given the account an analyst's name, which the provider's claim overrules
    analyst = person.analyst or found.analyst
    if role == ANALYST and not analyst:
        taken = analyst_known(found.name)
        analyst = _apart(found.name, person, issuer) if taken else found.name
    follow_provider(connection, found, role=role, analyst=analyst, scope=scope)
    return account_of_id(connection, found.id)


def _free_name(
    connection: Connection, person: Person, issuer: str, *, analyst_known: Callable[[str], bool]
) -> str:
    """Return a name that is nobody else's: the person's own, or with where they come from."""
    host = urlsplit(issuer).hostname or "provider"
    short = person.name[:_SHORT]
    tried = (person.name, f"{short}@{host}"[:LONGEST_NAME], _apart(person.name, person, issuer))
    for name in tried:
        if find_account(connection, name) is None and not analyst_known(name):
            return name
    return tried[-1]


def _apart(name: str, person: Person, issuer: str) -> str:
    """Return a name that only this subject of this issuer has."""
    mark = digest_of(f"{issuer}\n{person.subject}")[:12]
    return f"{name[:_SHORT]}@{urlsplit(issuer).hostname or 'provider'}"[:180] + f"#{mark}"


def _plain(text: str) -> str:
    """Return a text as a name: printable, on one line, and not too long."""
    return "".join(each for each in text if each.isprintable()).strip()[:LONGEST_NAME]
