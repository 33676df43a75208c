"""Whose a system is: what a curator says, and the digests that the ledger keeps of it.

A household is named by the curator's own key, such as a customer's or a premises' number, which is
the same in all datasets of a ledger. A system without a key is the household that another dataset's
table says of its id, or one of its own by that id. No id and no key is kept, only digests of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sunveil.errors import ParameterError
from sunveil.keys import key_of
from sunveil.ledger.chain import digest_of

# The kinds of keys that a table may give of a system.
HOUSEHOLD, METER = "household", "meter"


@dataclass(frozen=True, slots=True, repr=False)
class SystemHome:
    """A system, and whose it is: its keys in the form of :mod:`sunveil.keys`.

    Parameters
    ----------
    system_id
        The curator's name of the system.
    household
        The curator's key of its household; None for one of its own.
    meter
        The serial number of its meter, or its service point; None where it is not known.
    row
        Its number in the curator's table, from 1: what refusals name it by.
    """

    system_id: str
    household: str | None = None
    meter: str | None = None
    row: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "system_id", key_of(self.system_id) or "")
        object.__setattr__(self, "household", key_of(self.household))
        object.__setattr__(self, "meter", key_of(self.meter))

    @property
    def name(self) -> str:
        """Digest of its id, the same in all datasets; of its household, too, without a key."""
        return digest_of(f"system\n{self.system_id}")

    def keys(self) -> dict[str, str]:
        """Return digests of the keys that are known of it, by their kind."""
        given = {HOUSEHOLD: self.household, METER: self.meter}
        return {kind: digest_of(f"{kind}\n{key}") for kind, key in given.items() if key is not None}


def distinct_homes(systems: Iterable[SystemHome | str]) -> dict[str, SystemHome]:
    """Return systems by the digests of their ids, and refuse rows that contradict each other."""
    found: dict[str, SystemHome] = {}
    for each in systems:
        home = SystemHome(each) if isinstance(each, str) else each
        if not home.system_id:
            raise ParameterError("a system to be registered has no name; give each an id")
        before = found.setdefault(home.name, home)
        if before.keys() != home.keys():
            raise ParameterError(
                f"{rows_text([before, home])} give one system two households or meters; leave the"
                " right one"
            )
    return found


def rows_text(homes: Iterable[SystemHome | None]) -> str:
    """Return which rows of a table are meant, never who stands in them."""
    rows = sorted({home.row for home in homes if home is not None and home.row is not None})
    listed = [str(row) for row in rows[:5]]
    if not listed:
        return "some of the systems"
    if len(listed) == 1:
        return f"row {listed[0]} below the header, and one registered before,"
    more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
    return f"rows {', '.join(listed[:-1])} and {listed[-1]}{more} below the header"


def roster_digest(members: Iterable[Sequence[str]], keys: Iterable[Sequence[str]]) -> str:
    """Return the digest of what one entry has registered, in whichever order it is given.

    Parameters
    ----------
    members
        Account and name of each system.
    keys
        Name, kind and key of what is said of systems.
    """
    lines = [" ".join(each) for each in members] + [" ".join(each) for each in keys]
    whole = hashlib.sha256()
    for line in sorted(lines):
        whole.update(f"{line}\n".encode())
    return whole.hexdigest()
