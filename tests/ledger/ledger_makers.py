"""What the ledger's tests ask."""

from __future__ import annotations

from typing import Any

from sunveil.ledger import Question
from sunveil.privacy import ConcentratedGuarantee, ConditionalGuarantee, Guarantee, System
from sunveil.privacy.guarantees import Unit


def guarantee(epsilon: float = 1.0, unit: Unit | None = None, *, delta: float = 0.0) -> Guarantee:
    return Guarantee(unit or System(), epsilon, delta, "docs/proofs/window.md")


def conditional(epsilon: float = 1.0) -> ConditionalGuarantee:
    return ConditionalGuarantee(System(), epsilon, 0.1, "docs/proofs/dpbo.md", "a prior holds")


def concentrated(rho: float = 0.01, unit: Unit | None = None) -> ConcentratedGuarantee:
    return ConcentratedGuarantee(unit or System(), rho, "docs/proofs/discrete-gaussian.md")


def question(
    number: Any = 0,
    *,
    epsilon: float = 1.0,
    systems: tuple[str, ...] | None = None,
    analyst: str | None = None,
    mechanism: str = "permute-and-flip",
    unit: Unit | None = None,
) -> Question:
    return Question(
        "test",
        {"number": number},
        mechanism,
        guarantee(epsilon, unit),
        systems=systems,
        analyst=analyst,
    )
