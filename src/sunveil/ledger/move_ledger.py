"""Crash-safe move to another database."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, func, insert, inspect, select, text, update

from sunveil.errors import LedgerConflict, LedgerError
from sunveil.ledger.hash_chain import HighWaterMark, HighWaterMarks
from sunveil.ledger.ledger_database import (
    LEDGER_TABLES,
    READING,
    TableSet,
    datasets,
    default_marks,
    entries,
    is_url,
    location_of,
    metadata,
    open_engine,
    prepare,
    translated_errors,
    use_wal,
)
from sunveil.ledger.statements import append_entry
from sunveil.ledger.verify_chain import NO_MARK, Verdict, conflict_of, moved_away, verify_row

# Rows that are copied together.
CHUNK = 500


def move_ledger(
    source: str | Path, target: str | Path, *, beside: Sequence[TableSet] = ()
) -> list[Verdict]:
    old = open_engine(source)
    try:
        prepare(old, create=False)
        with _new_place(target) as new:
            return _Move(old, new, (LEDGER_TABLES, *beside)).run()
    finally:
        old.dispose()


@contextmanager
def _new_place(where: str | Path) -> Iterator[Engine]:
    """Yield the engine of a database; a file that was made for it and stayed empty is removed."""
    file = None if is_url(str(where)) else Path(where)
    made = file is not None and not file.exists()
    engine = open_engine(where, create=True)
    try:
        yield engine
    finally:
        engine.dispose()
        if file is not None and made and file.exists() and not file.stat().st_size:
            file.unlink()


def check_open(connection: Connection) -> None:
    """Refuse to make a dataset in a ledger that was moved."""
    for where in _closed(connection).values():
        raise moved_away(where)


def _closed(connection: Connection) -> dict[str, str]:
    """Return where chains go on that end by a move, by the digest of their last entry."""
    found = connection.execute(
        select(entries.c.digest, entries.c.body)
        .join_from(entries, datasets, entries.c.digest == datasets.c.head)
        .where(entries.c.kind == "moved")
    )
    return {each.digest: str(json.loads(each.body)["to"]) for each in found}


class _Move:
    """One move: which tables, from where to where."""

    def __init__(self, old: Engine, new: Engine, groups: Sequence[TableSet]) -> None:
        self._old, self._new, self._groups = old, new, groups
        self._old_marks, self._new_marks = default_marks(old), default_marks(new)

    def run(self) -> list[Verdict]:
        """Copy, close the old ledger, open the new one."""
        if location_of(self._old) == location_of(self._new):
            raise LedgerError("a ledger is moved to another place than its own")
        with _changing(self._old) as old:
            if not self._is_interrupted(old):
                with self._removed_on_failure():
                    self._copy(old)
                    self._close(old)
        return self._open_new()

    # -- the old place

    def _is_interrupted(self, old: Connection) -> bool:
        """Return whether the old ledger was closed by a move to this new place before."""
        closed = _closed(old)
        if not closed:
            return False
        there: set[str] = set()
        if self._tables_of_new():
            with translated_errors(self._new), self._new.connect() as new:
                same = select(entries.c.digest).where(entries.c.digest.in_(closed))
                there = set(new.execute(same).scalars())
        if there != set(closed):
            raise moved_away(next(iter(closed.values())))
        return True

    def _close(self, old: Connection) -> None:
        """End every chain of the old ledger as the new one's copies end."""
        with translated_errors(self._new), self._new.connect() as new:
            ends = {
                row.name: HighWaterMark(row.length, row.head)
                for row in new.execute(select(datasets))
            }
            for row in list(old.execute(select(datasets))):
                last = new.execute(
                    select(entries).where(entries.c.digest == ends[row.name].head)
                ).one()
                old.execute(insert(entries).values({**last._mapping, "dataset_id": row.id}))
                values = {"length": last.place, "head": last.digest}
                old.execute(update(datasets).where(datasets.c.id == row.id).values(values))
        with self._old_marks.moving_all(ends):
            old.commit()

    # -- the new place

    def _copy(self, old: Connection) -> None:
        """Copy everything in one transaction, checked by the old ledger's marks."""
        known = set(inspect(old).get_table_names())
        present = [group for group in self._groups if group.is_made(old)]
        for group in present:
            group.check_version(old)
        unknown = known - {name for group in present for name in group.metadata.tables}
        if unknown:
            raise LedgerError(
                f"the database {location_of(self._old)} holds tables of something else; move those"
                " first"
            )
        self._check_new_place(old)
        use_wal(self._new)
        with translated_errors(self._new), self._new.begin() as new:
            for group in present:
                group.metadata.create_all(new, checkfirst=False)
                for table in group.metadata.sorted_tables:
                    _copy_table(old, new, table)
            _check_all(new, self._old_marks)
            place = location_of(self._new)
            for row in list(new.execute(select(datasets))):
                append_entry(new, row, "moved", {"to": place, "from": location_of(self._old)})

    def _check_new_place(self, old: Connection) -> None:
        _check_all(old, self._old_marks)
        with translated_errors(self._new), self._new.connect() as new:
            if inspect(new).get_table_names():
                raise LedgerError(
                    f"the database {location_of(self._new)} is not empty; a ledger is moved into"
                    " one of its own"
                )
        names = set(old.execute(select(datasets.c.name)).scalars())
        if names & set(self._new_marks.all()):
            raise LedgerConflict(
                f"a ledger with these datasets was kept at {location_of(self._new)} before; choose"
                " another place"
            )

    @contextmanager
    def _removed_on_failure(self) -> Iterator[None]:
        """Leave nothing in the new place where a move fails."""
        empty = not self._tables_of_new()
        try:
            yield
        except BaseException:
            with self._old.connect() as old:  # what is durable there, beside what failed
                if empty and not _closed(old.execution_options(**{READING: True})):
                    self._remove_new()
            raise

    def _tables_of_new(self) -> list[str]:
        with translated_errors(self._new), self._new.connect() as new:
            return inspect(new).get_table_names()

    def _remove_new(self) -> None:
        if self._new.dialect.name == "sqlite":
            self._new.dispose()
            path = Path(location_of(self._new))
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            return
        with translated_errors(self._new), self._new.begin() as new:
            for group in reversed(self._groups):
                group.metadata.drop_all(new)

    def _open_new(self) -> list[Verdict]:
        """Open every chain of the new ledger, set its mark, and return what it proves."""
        with _changing(self._new) as new:
            closed = _closed(new)
            for row in list(new.execute(select(datasets).order_by(datasets.c.name))):
                if row.head in closed:
                    append_entry(new, row, "arrived", {"from": location_of(self._old)})
            rows = list(new.execute(select(datasets).order_by(datasets.c.name)))
            marks = {row.name: HighWaterMark(row.length, row.head) for row in rows}
            verdicts = [verify_row(new, row, marks[row.name]) for row in rows]
            with self._new_marks.moving_all(marks):
                new.commit()
        return verdicts


@contextmanager
def _changing(engine: Engine) -> Iterator[Connection]:
    """Yield a transaction beside which nobody else changes the ledger."""
    with translated_errors(engine), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            # readers go on; SQLite's transaction is alone anyway
            tables = ", ".join(metadata.tables)
            connection.execute(text(f"LOCK TABLE {tables} IN EXCLUSIVE MODE"))
        yield connection


def _check_all(connection: Connection, marks: HighWaterMarks) -> None:
    """Refuse a ledger of which any chain does not hold against the marks."""
    known = marks.all()
    for row in list(connection.execute(select(datasets))):
        verdict = verify_row(connection, row, known.pop(row.name, None))
        # a ledger that came from another machine has no mark
        faults = [fault for fault in verdict.faults if fault != NO_MARK]
        if faults:
            raise conflict_of(row.name, faults[0])
    if known:
        raise conflict_of(min(known), "the ledger has forgotten it")


def _copy_table(old: Connection, new: Connection, table: Table) -> None:
    """Copy all rows of a table, and let new ones be numbered after them."""
    found = old.execute(select(table).execution_options(yield_per=CHUNK))
    for some in found.partitions():
        new.execute(insert(table), [dict(row._mapping) for row in some])
    number = table.autoincrement_column
    if new.dialect.name == "postgresql" and number is not None:
        sequence = func.pg_get_serial_sequence(table.name, number.name)
        last = new.execute(select(func.max(number))).scalar()
        if last is not None:
            new.execute(select(func.setval(sequence, last)))
