"""The table of systems of a dataset, read once as long as it stays as it is."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sunveil.fleet.systems_table import SystemTable
    from sunveil.meters.reading_options import MeterOptions


def cached_systems(table: Path, options: MeterOptions | None = None) -> SystemTable:
    """Return the systems of a table, from memory if its file has not changed since."""
    status = table.stat()
    return _read(table, options, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _read(table: Path, options: MeterOptions | None, _modified: int, _size: int) -> SystemTable:
    from sunveil.fleet.systems_table import read_systems

    return read_systems(table) if options is None else read_systems(table, options)
