"""Whether a ledger is still what was written: asked before every change of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, select

from sunveil.errors import LedgerConflict
from sunveil.ledger.chain import digest_of
from sunveil.ledger.marks import Mark, Marks
from sunveil.ledger.records import Answer
from sunveil.ledger.rows import chain_after, entry_at, state_of
from sunveil.ledger.schema import answers
from sunveil.ledger.verify import FORGOTTEN, NO_MARK, Replay, counter_faults, mark_faults, verify


class Trust:
    """What one process has seen of a ledger's chains: what follows must follow from it.

    Parameters
    ----------
    marks
        The ledger's high-water marks.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._seen: dict[str, Replay] = {}

    def check(self, connection: Connection, row: Row[Any]) -> None:
        """Refuse a ledger that was changed by hand: all of it at first, then what is new.

        The dataset's row is held, so that what is seen here is durable and stays.
        """
        known = self._seen.pop(row.name, None)
        if known is not None and row.length < known.length:
            raise distrust(row.name, FORGOTTEN)
        replay = known or Replay()
        replay.extend(chain_after(connection, row.id, replay.length))
        marked = list(against(connection, row, self._marks.get(row.name)))
        if known is None:
            faults = list(verify(state_of(connection, row), replay, marked).faults)
        else:
            own = [replay.fault] if replay.fault else list(counter_faults(row, replay))
            faults = [*own, *marked]
        # A ledger without a mark is one that was moved: it gets a mark with this change.
        faults = [fault for fault in faults if fault != NO_MARK]
        if faults:
            raise distrust(row.name, faults[0])
        self._seen[row.name] = replay


def distrust(dataset: str, fault: str) -> LedgerConflict:
    """Return the refusal of a ledger."""
    return LedgerConflict(
        f"the ledger of {dataset!r} cannot be trusted: {fault}; put the newest whole copy back"
    )


def against(connection: Connection, row: Row[Any], mark: Mark | None) -> Iterator[str]:
    """Return what a mark says against a dataset's chain."""
    there = None if mark is None else entry_at(connection, row.id, mark.length)
    return mark_faults(mark, None if there is None else there.digest)


def kept_answer(connection: Connection, row: Row[Any], asked: str) -> Answer | None:
    """Return a kept answer, if it is still the one that was kept."""
    found = connection.execute(
        select(answers).where(answers.c.dataset_id == row.id, answers.c.question == asked)
    ).one_or_none()
    if found is None:
        return None
    entry = entry_at(connection, row.id, found.place)
    told = {} if entry is None or entry.kind != "answer" else entry.facts()
    if (told.get("question"), told.get("answer")) != (asked, digest_of(found.answer)):
        raise distrust(row.name, "an answer was changed")
    return Answer(json.loads(found.answer)["answer"], found.charge, fresh=False)
