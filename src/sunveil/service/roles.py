"""Roles of accounts, the two sides of the service, and scopes of what an analyst may do."""

from __future__ import annotations

from sunveil.errors import ParameterError

CURATOR, AUDITOR, ANALYST, GUEST = "curator", "auditor", "analyst", "guest"
# From the one who may most to the one who may least.
ROLES = (CURATOR, AUDITOR, ANALYST)
# Of an account of single sign-on whose provider gives it none any more.
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
    """Return the first page of a role."""
    homes = {CURATOR: "/curator", AUDITOR: "/curator/ledger", ANALYST: "/analyst"}
    return homes.get(role, "/")


def narrower(one: str, other: str) -> str:
    """Return the scope that allows less."""
    return READ if READ in (one, other) else ASK


def check_role(role: str) -> None:
    """Refuse a role that there is not."""
    if role not in ROLES:
        raise ParameterError(f"a role is one of {', '.join(ROLES)}")


def check_scope(scope: str) -> None:
    """Refuse a scope that there is not."""
    if scope not in SCOPES:
        raise ParameterError(f"a scope is one of {', '.join(SCOPES)}")
