"""The process's own DuckDB, and how names are written in its SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import duckdb

# What one process may hold while it reads or parts readings.
MEMORY = "384MB"


@cache
def _parent() -> duckdb.DuckDBPyConnection:
    # One thread each: partitions run beside each other, so that both cores are busy already.
    return duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "threads": "1",
            "memory_limit": MEMORY,
        },
    )


def cursor() -> duckdb.DuckDBPyConnection:
    """Return a connection of its own for the calling thread."""
    return _parent().cursor()


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """Return the name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def unglobbed(path: Path | str) -> str:
    """Return a path in which DuckDB sees no wildcards."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def parquet(paths: Iterable[Path | str], *, hive: bool = False) -> str:
    """Return SQL that reads Parquet files as one table, in their order."""
    listed = ", ".join(quoted(unglobbed(path)) for path in paths)
    keys = ", hive_partitioning=true, hive_types_autocast=false" if hive else ""
    return f"read_parquet([{listed}], union_by_name=false{keys})"
