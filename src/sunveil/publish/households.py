"""Whose the systems are that are published: the curator's table of households."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sunveil.errors import SourceError
from sunveil.fleet.systems import SYSTEM_NAMES, read_plain_table
from sunveil.ledger.households import HOUSEHOLD, METER, SystemHome


def read_households(path: Path | str, system_column: str | None = None) -> list[SystemHome]:
    """Return the households that a table of systems names; none where it has no such column.

    Parameters
    ----------
    path
        CSV or Parquet with a column of systems, and ``household``, a key of the curator's such as a
        customer's number, ``meter``, a serial number or service point, or both. An empty cell is a
        key that is not known.
    system_column
        The column of systems; found by its usual names when left out.
    """
    table = read_plain_table(Path(path))
    folded = {name.strip().lower(): name for name in reversed(table.column_names)}
    usual = SYSTEM_NAMES if system_column is None else (system_column.strip().lower(),)
    system = next((folded[name] for name in usual if name in folded), None)
    if system is None:
        raise SourceError(f"{Path(path).name} has no column of systems (system_id)")
    if HOUSEHOLD not in folded and folded.get(METER, system) == system:
        return []
    columns = [table.column(system).to_pylist()]
    for kind in (HOUSEHOLD, METER):
        known = kind in folded
        columns.append(table.column(folded[kind]).to_pylist() if known else [None] * len(table))
    rows = enumerate(zip(*columns, strict=True), 1)
    return [
        SystemHome(name, _key(household), _key(meter), number)
        for number, (each, household, meter) in rows
        if (name := _key(each)) is not None
    ]


def _key(cell: object) -> str | None:
    text = "" if cell is None else str(cell).strip()
    return text or None


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
    known = {home.system_id: home for home in homes}
    return tuple(known.get(name) or SystemHome(name) for name in names)
