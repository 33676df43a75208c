"""A ledger for one question: it notes what was asked, and takes up a charge that was left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sunveil.ledger.ledger import Ledger
from sunveil.ledger.records import Answer, Question


class Desk(Ledger):
    """A ledger as one question sees it.

    The answer leaves the service only once it is kept, so that a process that died between charge
    and answer has told nobody anything: the question may be drawn again under the same charge.

    Parameters
    ----------
    ledger
        The ledger itself.
    analyst
        Who asks.
    resumes
        Whether the question was asked before and has no answer: its charge may be there.
    spends
        Whether a new charge may be made.
    """

    def __init__(
        self, ledger: Ledger, *, analyst: str, resumes: bool = False, spends: bool = True
    ) -> None:
        self.__dict__.update(ledger.__dict__)
        self._analyst, self._resumes, self._spends = analyst, resumes, spends
        self.question: Question | None = None
        self.answer: Answer | None = None
        self.drawing = False

    def ask(self, dataset: str, question: Question, draw: Callable[[], Any]) -> Answer:
        """Return the kept answer, or draw one: under a charge that was left, or a new one."""
        self.question = question
        self.answer = self.kept(dataset, question)
        if self.answer is None:
            charge = self._left(dataset, question) if self._resumes else None
            if charge is None:
                if not self._spends:
                    raise NotCharged
                charge = self.charge(dataset, question)
            self.drawing = True
            self.answer = self.keep(dataset, question, charge, draw())
        return self.answer

    def _left(self, dataset: str, question: Question) -> int | None:
        """Return the charge of a question that this analyst paid, and that has no answer."""
        asked, found = question.digest(dataset), None
        for entry in self.entries(dataset):
            if entry.kind not in ("charge", "answer"):
                continue
            facts = entry.facts()
            if facts["question"] != asked:
                continue
            if entry.kind == "answer":
                return None
            if facts["analyst"] == self._analyst:
                found = entry.place
        return found


class NotCharged(Exception):
    """A question that was never charged, and must not be now."""
