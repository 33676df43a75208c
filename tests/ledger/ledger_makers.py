"""What the ledger's tests ask, and how they change a ledger behind its back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sunveil.ledger import Ledger, Promise, Question
from sunveil.ledger.ledger_database import open_engine
from sunveil.privacy import ConcentratedGuarantee, ConditionalGuarantee, Guarantee, System
from sunveil.privacy.guarantees import Unit

TWO = Promise(System(), 2.0)


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
    mechanism: str = "permute-and-flip",
    unit: Unit | None = None,
    **options: Any,
) -> Question:
    return Question("test", {"number": number}, mechanism, guarantee(epsilon, unit), **options)


def execute(where: Any, *statements: str) -> None:
    """Change a ledger's database by hand; each statement changes at least one row."""
    engine = open_engine(where)
    with engine.begin() as connection:
        for statement in statements:
            assert connection.exec_driver_sql(statement).rowcount != 0
    engine.dispose()


@contextmanager
def unchanged(ledger: Ledger, name: str = "d") -> Iterator[None]:
    """Check that a ledger is afterwards as it was before."""

    def seen() -> Any:
        return ledger.verify(name), ledger.datasets(), ledger.entries(name)

    before = seen()
    yield
    assert seen() == before
