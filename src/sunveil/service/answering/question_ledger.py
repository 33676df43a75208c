"""A ledger for one question: it notes what was asked, and takes up a charge that was left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sunveil.ledger.ledger import Ledger
from sunveil.ledger.records import Answer, Question


class QuestionLedger(Ledger):
    """A ledger as one question sees it.

    The answer leaves the service only once it is kept, so that a process that died between charge
    and answer has told nobody anything: the question may be drawn again under the same charge.

    Parameters
    ----------
    ledger
        The ledger itself.
    resumes
        Whether the question was asked before and has no answer: its charge may be there.
    spends
        Whether a new charge may be made.
    """

    def __init__(self, ledger: Ledger, *, resumes: bool = False, spends: bool = True) -> None:
        self.__dict__.update(ledger.__dict__)
        self._resumes, self._spends = resumes, spends
        self.question: Question | None = None
        self.drawn = False

    def ask(
        self,
        dataset: str,
        question: Question,
        draw: Callable[[], Any],
        *,
        resume: bool = False,
    ) -> Answer:
        """Return the kept answer, or draw one: under a charge that was left, or a new one.

        Parameters
        ----------
        dataset, question, draw
            As for :meth:`sunveil.ledger.ledger.Ledger.ask`.
        resume
            Of no effect: whether a charge was left is known to whoever made this ledger.
        """
        self.question = question

        def noted() -> Any:
            self.drawn = True
            return draw()

        if not self._spends and self.kept(dataset, question) is None:
            left = self.unanswered(dataset, question) if self._resumes else None
            if left is None:
                raise NotCharged
        return super().ask(dataset, question, noted, resume=self._resumes)


class NotCharged(Exception):
    """A question that was never charged, and must not be now."""
