"""Charges that were paid and have no answer, and whose turn it is to draw on one.

**Who may take up a charge.** Whoever asks the same question. An answer leaves only once it is kept,
so that whatever was drawn on a charge without an answer has been seen by nobody, and the question
may be drawn under it again. The answer is then kept and given to whoever asks, at no cost: it does
not matter for privacy who paid, and asking twice would spend twice for one answer. The share that
was debited stays debited to whoever paid, who gets the answer too.

**One draws at a time.** A charge without an answer may be one whose draw is running. Two draws
under one charge, of which the faster is kept, would be more than one draw; so whoever draws holds
the question's turn, and others wait for the answer. A process that ends lets go of its turn,
however it ends. A restart of PostgreSQL takes turns away while their holders draw: they notice
before they keep the answer, and leave the charge to whoever has the turn now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock
from sqlalchemy import Connection, Engine, Row, func, select

from sunveil.errors import LedgerError
from sunveil.ledger.chain import Entry
from sunveil.ledger.database import READING, location_of, translated_errors
from sunveil.ledger.integrity import conflict_of
from sunveil.ledger.schema import answers, entries

# Questions asked together hold a turn each, up to this many; more of them hold one for all, since
# every turn is an open file or connection.
MOST_TURNS = 32
# How often who waits looks whether a file's lock is free. [s]
LOOK_SECONDS = 0.01


def pending_charges(connection: Connection, row: Row[Any]) -> dict[str, int]:
    """Return the place of a charge without an answer, by its question's digest; the oldest.

    Charges are found by the unique index of answers: those without one are few.

    Parameters
    ----------
    connection, row
        The database, and the dataset's row.
    """
    answered = select(answers.c.charge).where(answers.c.dataset_id == row.id)
    found = connection.execute(
        select(entries)
        .where(
            entries.c.dataset_id == row.id,
            entries.c.kind == "charge",
            entries.c.place.not_in(answered),
        )
        .order_by(entries.c.place)
    )
    places: dict[str, int] = {}
    for each in found:
        entry = Entry(each.place, each.kind, each.body, each.previous)
        if entry.digest != each.digest:
            raise conflict_of(row.name, f"entry {each.place} was changed")
        places.setdefault(entry.facts()["question"], entry.place)
    return places


@contextmanager
def turns_of(
    engine: Engine, dataset: str, questions: Iterable[str]
) -> Iterator[Callable[[], None]]:
    """Hold the turns of questions: whoever else asks one of them waits until the block has ended.

    Yields what raises an error unless all of them are held still.

    Parameters
    ----------
    engine
        The ledger's database.
    dataset
        Its name.
    questions
        Their digests.
    """
    names = sorted(set(questions))
    if len(names) > MOST_TURNS:
        names = ["many"]
    turn = _turn_in_postgresql if engine.dialect.name == "postgresql" else _turn_in_file
    with ExitStack() as held:
        checks = [  # in one order, so that no two wait for each other
            held.enter_context(turn(engine, hashlib.sha256(f"{dataset}\n{name}".encode()).digest()))
            for name in names
        ]

        def check_held() -> None:
            for check in checks:
                check()

        yield check_held


@contextmanager
def _turn_in_postgresql(engine: Engine, key: bytes) -> Iterator[Callable[[], None]]:
    """Hold an advisory lock by a connection of its own, which ends with the process."""
    number = int.from_bytes(key[:8], signed=True)
    with ExitStack() as opened:
        with translated_errors(engine):
            connection = opened.enter_context(engine.connect())
            # READING: a change would not wait for longer than a minute
            options: dict[str, Any] = {READING: True, "isolation_level": "AUTOCOMMIT"}
            connection.execution_options(**options)
            connection.detach()  # from the pool, which many turns would use up
            connection.execute(select(func.pg_advisory_lock(number)))

        def check() -> None:
            # a connection that answers has kept its lock
            with translated_errors(engine):
                connection.execute(select(1))

        yield check


@contextmanager
def _turn_in_file(engine: Engine, key: bytes) -> Iterator[Callable[[], None]]:
    """Hold a lock on a file beside the ledger, which is removed afterwards; nobody can take it."""
    ledger = Path(location_of(engine))
    path = ledger.with_name(f"{ledger.name}.turn-{key.hex()[:16]}")
    with ExitStack() as opened:
        try:
            # a file that its last holder has removed meanwhile is not taken for the lock
            opened.enter_context(FileLock(path, mode=0o600, poll_interval=LOOK_SECONDS))
        except OSError as error:
            raise LedgerError(
                f"the folder {path.parent} cannot be written:"
                f" {(error.strerror or 'refused').lower()}; check its rights and the disk"
            ) from None
        try:
            yield lambda: None
        finally:
            with suppress(OSError):
                path.unlink()
