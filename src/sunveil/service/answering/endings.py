"""How a question ended that has no answer, as it is kept: public words, and which error it was.

Another process may have answered it, so that whoever asked raises the same error again.
"""

from __future__ import annotations

import json

from sunveil.errors import LedgerError
from sunveil.service.broker import KeyReused, NotServed, OverBudget, QuestionRefused
from sunveil.service.problems import Problem

UNWRITABLE = "the ledger cannot be written"
_REFUSALS: dict[str, type[QuestionRefused]] = {
    kind.__name__: kind for kind in (QuestionRefused, NotServed, KeyReused)
}
# Whoever asked was gone before anything was charged.
INTERRUPTED = json.dumps({"kind": "interrupted"})


def ending_of(error: QuestionRefused | LedgerError | Problem) -> str:
    """Return an error as it is kept: what it says is for the analyst already."""
    if isinstance(error, OverBudget):
        kept = {"words": str(error), "requested": error.requested, "remaining": error.remaining}
        return json.dumps({"kind": "over-budget", **kept})
    if isinstance(error, Problem):
        kept = {"status": error.status_code, "words": error.detail, "slug": error.slug}
        return json.dumps({"kind": "problem", **kept, "more": error.more})
    if isinstance(error, LedgerError):  # its words name where the ledger is
        return json.dumps({"kind": "ledger"})
    return json.dumps({"kind": type(error).__name__, "words": str(error)})


def error_of(ending: str) -> QuestionRefused | LedgerError | Problem:
    """Return the error that was kept."""
    kept = json.loads(ending)
    kind = kept["kind"]
    if kind == "over-budget":
        return OverBudget(kept["words"], requested=kept["requested"], remaining=kept["remaining"])
    if kind == "problem":
        return Problem(kept["status"], kept["words"], slug=kept["slug"], **kept["more"])
    if kind == "ledger":
        return LedgerError(UNWRITABLE)
    return _REFUSALS[kind](kept["words"])
