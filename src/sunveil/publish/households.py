"""Whose the systems are that are published: the curator's table of households."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sunveil.errors import SourceError
from sunveil.fleet.systems import SYSTEM_NAMES, read_plain_table, table_keys
from sunveil.ledger.households import HOUSEHOLD, METER, SystemHome, distinct_homes


def read_households(path: Path | str, system_column: str | None = None) -> list[SystemHome]:
    """Return the households that a table of systems names; none where it has no such column.

    Parameters
    ----------
    path
        CSV, Parquet or .xlsx with a column of systems, and ``household``, a key of the curator's
        such as a customer's number, ``meter``, a serial number or service point, or both: keys as
        :mod:`sunveil.keys` has them. An empty cell is a key that is not known.
    system_column
        The column of systems; found by its usual names when left out.
    """
    table, where = read_plain_table(Path(path)), Path(path).name
    folded = {name.strip().lower(): name for name in reversed(table.column_names)}
    usual = SYSTEM_NAMES if system_column is None else (system_column.strip().lower(),)
    system = next((folded[name] for name in usual if name in folded), None)
    if system is None:
        raise SourceError(f"{where} has no column of systems (system_id)")
    if HOUSEHOLD not in folded and folded.get(METER, system) == system:
        return []
    columns = [
        table_keys(table.column(name), name, where) if name else [None] * len(table)
        for name in (system, folded.get(HOUSEHOLD), folded.get(METER))
    ]
    rows = enumerate(zip(*columns, strict=True), 1)
    return [
        SystemHome(name, household, meter, number)
        for number, (name, household, meter) in rows
        if name is not None
    ]


def published_homes(
    names: Iterable[str], homes: Iterable[SystemHome] = ()
) -> tuple[SystemHome, ...]:
    """Return whose the systems are that are about to be published.

    Parameters
    ----------
    names
        The systems.
    homes
        What is known of their households; who is not among them has one of its own.
    """
    asked = [SystemHome(name) for name in names]
    wanted = {home.system_id for home in asked}
    known = distinct_homes(home for home in homes if home.system_id in wanted)
    return tuple(known.get(home.name, home) for home in asked)
