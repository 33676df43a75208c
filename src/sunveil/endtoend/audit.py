"""The end-to-end audit: every case, one after another, and the planted faults."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sunveil.endtoend.bounds import CONFIDENCE
from sunveil.endtoend.cases import Scope
from sunveil.endtoend.comparing import EVENTS, AuditCase, CaseFinding, audit_case, pairs_of
from sunveil.endtoend.faults import FaultFinding, planted_faults
from sunveil.endtoend.served import open_service_door
from sunveil.endtoend.workplace import Command, open_workplace

# Hands cases on, and shows how far along the work on so many of them is.
WatchCases = Callable[[Iterable[AuditCase], str, int], Iterable[AuditCase]]


@dataclass(frozen=True, slots=True)
class EndToEndAudit:
    """What an end-to-end audit found.

    Parameters
    ----------
    confidence
        How surely a right system passes, all cases together.
    cases
        What was found at each door.
    faults
        Whether each planted fault was caught.
    seconds
        How long it took. [s]
    """

    confidence: float
    cases: tuple[CaseFinding, ...]
    faults: tuple[FaultFinding, ...]
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether no claim is exceeded, and every planted fault was caught."""
        kept = all(each.holds for each in self.cases)
        return kept and all(each.caught for each in self.faults)

    @property
    def pairs(self) -> int:
        """How many pairs of neighbours there were."""
        return sum(each.pairs for each in self.cases)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain JSON types."""
        return {
            "holds": self.holds,
            "confidence": self.confidence,
            "pairs": self.pairs,
            "seconds": self.seconds,
            "cases": [each.to_dict() for each in self.cases],
            "faults": [each.to_dict() for each in self.faults],
        }


def audit_end_to_end(
    command: Command, *, short: bool = False, watch: WatchCases | None = None
) -> EndToEndAudit:
    """Audit every public door over simulated files, and show that planted faults are caught.

    Parameters
    ----------
    command
        The command line, as the console script runs it.
    short
        Whether to try only what broke a reader before, at a few doors: a minute instead of many.
    watch
        Shows how far along it is.
    """
    begun = time.monotonic()
    shown = watch or (lambda cases, doing, total: cases)
    with open_workplace(command) as place, open_service_door(place) as service:
        scope = Scope(place, service, short)
        cases = scope.all()
        planted = {id(each.case): each for each in planted_faults(scope)}
        # one chance in a thousand, shared by all events of all pairs
        alpha = (1.0 - CONFIDENCE) / (EVENTS * pairs_of(cases))
        found = [audit_case(case, place, alpha=alpha) for case in shown(cases, "doors", len(cases))]
        faulty = shown([each.case for each in planted.values()], "faults", len(planted))
        caught = [
            FaultFinding(planted[id(case)].name, audit_case(case, place, alpha=alpha))
            for case in faulty
        ]
    return EndToEndAudit(CONFIDENCE, tuple(found), tuple(caught), time.monotonic() - begun)
