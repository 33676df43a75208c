"""What a part came to, and the files that say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.fleet.arrow import read_file
from sunveil.fleet.job import Job
from sunveil.fleet.plan import Part

# What reading a damaged file raises.
DAMAGE = (duckdb.Error, pa.ArrowException, OSError)
# What stands in a table of refusals for a file: it has no system's name.
UNREAD = "unread file"


@dataclass(frozen=True, slots=True)
class Done:
    """What a part came to."""

    number: int
    inferred: int
    refused: int


def estimates_file(folder: Path, number: int) -> Path:
    """Return the file of a part's estimates."""
    return folder / "estimates" / f"part-{number:05d}.parquet"


def refused_file(work: Path, number: int) -> Path:
    """Return the file of a part's refusals, which is kept until the run is over."""
    return work / "refused" / f"part-{number:05d}.parquet"


def finished(job: Job, part: Part) -> Done | None:
    """Return what a part came to, if it is done and whole."""
    kept = refused_file(job.work, part.number)
    try:
        inferred = pq.read_metadata(estimates_file(job.folder, part.number)).num_rows
        kinds = read_file(kept, columns=["kind"]).column("kind").to_pylist()
    except DAMAGE:
        return None
    return Done(part.number, inferred, sum(kind != UNREAD for kind in kinds))
