"""Counting what is done of a run, and telling it to whoever waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sunveil.arguments import check_fields
from sunveil.fleet.done import PartResult


@dataclass(frozen=True, slots=True)
class FleetProgress:
    """What is done of a run, and how long the rest will take.

    Parameters
    ----------
    done, total
        Parts that are done, and all of them.
    systems
        Systems that are done, inferred or refused, those of an earlier run that is taken up among
        them.
    all_systems
        How many the table has.
    rate
        Systems a second in this run.
    seconds_left
        How long the rest takes at that rate, or None when it cannot be told. [s]
    doing
        ``"gathering"`` or ``"inferring"``.
    """

    done: int
    total: int
    systems: int
    all_systems: int
    rate: float
    seconds_left: float | None
    doing: str = "inferring"

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON types."""
        return {
            "event": "progress",
            "doing": self.doing,
            "done": self.done,
            "total": self.total,
            "systems": self.systems,
            "of": self.all_systems,
            "rate": round(self.rate, 1),
            "seconds_left": None if self.seconds_left is None else round(self.seconds_left, 1),
        }


Tell = Callable[[FleetProgress], None]


@dataclass(slots=True)
class ProgressCounter:
    """Counts parts and systems as they get done, and tells whoever wants to know."""

    tell: Tell
    total: int
    all_systems: int
    done: int = 0
    systems: int = 0
    _new_parts: int = 0
    _new_systems: int = 0
    _begun: float = field(default_factory=time.monotonic)

    def before(self, done: PartResult) -> None:
        """Count a part that an earlier run has done."""
        self.done += 1
        self.systems += done.inferred + done.refused

    def add(self, done: PartResult) -> None:
        """Count a part, and tell."""
        self.before(done)
        self._new_parts += 1
        self._new_systems += done.inferred + done.refused
        self.say()

    def say(self, doing: str = "inferring") -> None:
        """Tell what is done so far, of all there is to do."""
        passed = max(time.monotonic() - self._begun, 1e-9)
        left = None
        if self._new_parts:
            left = passed / self._new_parts * (self.total - self.done)
        self.tell(
            FleetProgress(
                self.done,
                self.total,
                self.systems,
                self.all_systems,
                self._new_systems / passed,
                left,
                doing,
            )
        )
