"""Promises, and the durable record of what has been spent against them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.ledger.ledger import Ledger
    from sunveil.ledger.promises import Promise, Question
    from sunveil.ledger.verify_chain import Verdict
    from sunveil.ledger.yearly_schedule import YearlySchedule

__all__ = ["Ledger", "Promise", "Question", "Verdict", "YearlySchedule"]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.ledger.ledger": ("Ledger",),
        "sunveil.ledger.promises": ("Promise", "Question"),
        "sunveil.ledger.verify_chain": ("Verdict",),
        "sunveil.ledger.yearly_schedule": ("YearlySchedule",),
    },
)
