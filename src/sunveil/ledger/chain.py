"""Entries bound to one another by their digests."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

GENESIS = "0" * 64


def canonical(body: dict[str, Any]) -> str:
    """Return a body as canonical JSON: equal bodies give the same text."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(text: str) -> str:
    """Return the SHA-256 digest of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    Parameters
    ----------
    place
        Its number within its dataset, from 1.
    kind
        ``promise``, ``households``, ``charge``, ``answer`` or ``analyst``; ``moved`` where the
        chain goes on in another ledger, and there ``arrived``.
    body
        What happened, as canonical JSON.
    previous
        Digest of the entry before.
    """

    place: int
    kind: str
    body: str
    previous: str

    @property
    def digest(self) -> str:
        """SHA-256 of the entry and the digest before it: binds the next entry to this one."""
        return digest_of(f"{self.place}\n{self.kind}\n{self.previous}\n{self.body}")

    def facts(self) -> dict[str, Any]:
        """Return the body, parsed."""
        found: dict[str, Any] = json.loads(self.body)
        return found
