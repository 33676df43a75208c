"""Checks before every change that a ledger is still what was written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Row, select

from sunveil.errors import LedgerConflict, ParameterError
from sunveil.ledger.chain import digest_of
from sunveil.ledger.high_water import HighWaterMark, HighWaterMarks
from sunveil.ledger.records import Answer
from sunveil.ledger.rows import entries_after, entry_at, stored_state
from sunveil.ledger.schema import answers
from sunveil.ledger.verify import (
    FORGOTTEN,
    NO_MARK,
    ChainReplay,
    Verdict,
    counter_faults,
    mark_faults,
    verify,
)


class IntegrityCheck:
    """Compares a ledger with what this process has seen of its chains, and with its marks.

    Parameters
    ----------
    marks
        The ledger's high-water marks.
    """

    def __init__(self, marks: HighWaterMarks) -> None:
        self._marks = marks
        self._seen: dict[str, ChainReplay] = {}

    def check(self, connection: Connection, row: Row[Any], *, to_change: bool = True) -> None:
        """Refuse a ledger that was changed by hand: all of it at first, then what is new.

        The dataset's row is held, so that what is seen here is durable and stays.

        Parameters
        ----------
        connection, row
            A transaction, and the dataset's row.
        to_change
            Whether this dataset is about to change, which one that was withdrawn does not.
        """
        known = self._seen.pop(row.name, None)
        if known is not None and row.length < known.length:
            raise conflict_of(row.name, FORGOTTEN)
        replay = known or ChainReplay()
        replay.extend(entries_after(connection, row.id, replay.length))
        marked = list(faults_by_mark(connection, row, self._marks.get(row.name)))
        if known is None:
            faults = list(verify(stored_state(connection, row), replay, marked).faults)
        else:
            own = [replay.fault] if replay.fault else list(counter_faults(row, replay))
            faults = [*own, *marked]
        # A ledger without a mark is one that was moved: it gets a mark with this change.
        faults = [fault for fault in faults if fault != NO_MARK]
        if faults:
            raise conflict_of(row.name, faults[0])
        if replay.moved_to is not None:
            raise moved_away(replay.moved_to)
        if replay.withdrawn and to_change:
            raise ParameterError(
                f"the promise for {row.name!r} was withdrawn, and nothing can be asked under it"
            )
        self._seen[row.name] = replay


def conflict_of(dataset: str, fault: str) -> LedgerConflict:
    """Return the error that refuses a ledger because of a fault."""
    return LedgerConflict(
        f"the ledger of {dataset!r} cannot be trusted: {fault}; put the newest whole copy back"
    )


def moved_away(where: str) -> LedgerConflict:
    """Return the error that refuses every change of a ledger that was moved."""
    return LedgerConflict(f"this ledger was moved to {where} and is closed for good; use that one")


def verify_row(connection: Connection, row: Row[Any], mark: HighWaterMark | None) -> Verdict:
    """Recompute a dataset's spending from its whole chain, and compare.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row.
    mark
        The mark to hold it against.
    """
    replay = ChainReplay()
    replay.extend(entries_after(connection, row.id, 0))
    return verify(stored_state(connection, row), replay, faults_by_mark(connection, row, mark))


def faults_by_mark(
    connection: Connection, row: Row[Any], mark: HighWaterMark | None
) -> Iterator[str]:
    """Return the faults of a dataset's chain that a high-water mark shows.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    mark
        The mark, where there is one.
    """
    there = None if mark is None else entry_at(connection, row.id, mark.length)
    return mark_faults(mark, None if there is None else there.digest)


def kept_answer(connection: Connection, row: Row[Any], question_digest: str) -> Answer | None:
    """Return the kept answer of a question, or None; refuse one that was changed since.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row that it holds.
    question_digest
        Digest of the question.
    """
    found = connection.execute(
        select(answers).where(answers.c.dataset_id == row.id, answers.c.question == question_digest)
    ).one_or_none()
    if found is None:
        return None
    return _unchanged(connection, row, found)


def answers_of_series(connection: Connection, row: Row[Any], series: str) -> list[Answer]:
    """Return the kept answers of a series, oldest charge first; refuse one that was changed since.

    Parameters
    ----------
    connection, row
        A transaction, and the dataset's row.
    series
        Digest that they have in common.
    """
    mine = (answers.c.dataset_id == row.id) & (answers.c.series == series)
    found = connection.execute(select(answers).where(mine).order_by(answers.c.charge)).all()
    return [_unchanged(connection, row, each) for each in found]


def _unchanged(connection: Connection, row: Row[Any], found: Row[Any]) -> Answer:
    """Return the answer in a row of the table, if it is the one that its entry tells of."""
    entry = entry_at(connection, row.id, found.place)
    facts = {} if entry is None or entry.kind != "answer" else entry.facts()
    told = facts.get("question"), facts.get("answer"), facts.get("series")
    if told != (found.question, digest_of(found.answer), found.series):
        raise conflict_of(row.name, "an answer was changed")
    return Answer(json.loads(found.answer)["answer"], found.charge, fresh=False)
