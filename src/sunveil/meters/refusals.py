"""Systems that get no record: which, and why."""

from __future__ import annotations

from dataclasses import dataclass

# The kind of a refusal that speaks of a whole file, not of one system.
UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class RefusedSystem:
    """A system that gets no estimate: its name, the kind of reason, and the reason.

    The name is empty where a whole file cannot be read.
    """

    system_id: str
    kind: str
    reason: str
