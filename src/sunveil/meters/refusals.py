"""Systems that get no record: which, and why."""

from __future__ import annotations

from dataclasses import dataclass

from sunveil.arguments import check_fields
from sunveil.errors import in_words

# The kind of a refusal that speaks of a whole file, not of one system.
UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class RefusedSystem:
    """A system that gets no estimate: its name, the kind of reason, and the reason.

    A file that cannot be read at all is refused by its own name without the ending.
    """

    system_id: str
    kind: str
    reason: str

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "reason", in_words(self.reason))
