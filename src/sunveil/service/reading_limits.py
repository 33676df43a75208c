"""How much the reading of an upload may take: a setting of the service."""

from __future__ import annotations

from dataclasses import dataclass

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one upload may take at most, whatever its files claim to be.

    Parameters
    ----------
    memory
        What the process that reads it may hold. [bytes]
    seconds
        How long it may take. [s]
    systems
        Rows of a table of systems.
    readings
        Rows of all Parquet files of readings together.
    columns
        Columns of any one table.
    """

    memory: int = 2048 * MEGABYTE
    seconds: float = 900.0
    systems: int = 1_000_000
    readings: int = 20_000_000_000
    columns: int = 4000
