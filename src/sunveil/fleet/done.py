"""What a part came to, and the files that say so."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.fleet.arrow import read_file
from sunveil.fleet.job import FleetJob
from sunveil.fleet.plan import Part

# What reading a damaged file raises.
DAMAGE = (duckdb.Error, pa.ArrowException, OSError)
# What stands in a table of refusals for a file: it has no system's name.
UNREAD = "unread file"


# What of the estimates is summed up when all parts are done.
SUMMED = ("system_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw", "agreement", "flags")


@dataclass(frozen=True, slots=True)
class PartResult:
    """What a part came to.

    Parameters
    ----------
    number
        Which part.
    inferred, refused
        How many of its systems have an estimate, and how many have a reason instead.
    rows
        What its files say, where it was done in this process: the columns of its estimates that
        are summed up, and its refusals.
    """

    number: int
    inferred: int
    refused: int
    rows: tuple[pa.Table, pa.Table] | None = field(default=None, compare=False, repr=False)


def estimates_file(folder: Path, number: int) -> Path:
    """Return the file of a part's estimates."""
    return folder / "estimates" / f"part-{number:05d}.parquet"


def refused_file(work: Path, number: int) -> Path:
    """Return the file of a part's refusals, which is kept until the run is over."""
    return work / "refused" / f"part-{number:05d}.parquet"


def rows_of(job: FleetJob, done: PartResult) -> tuple[pa.Table, pa.Table]:
    """Return what the files of a part say: what of its estimates is summed up, and its refusals."""
    return done.rows or (
        read_file(estimates_file(job.folder, done.number), columns=SUMMED),
        read_file(refused_file(job.work, done.number)),
    )


def finished(job: FleetJob, part: Part) -> PartResult | None:
    """Return what a part came to, if it is done and whole."""
    kept = refused_file(job.work, part.number)
    try:
        inferred = pq.read_metadata(estimates_file(job.folder, part.number)).num_rows
        kinds = read_file(kept, columns=["kind"]).column("kind").to_pylist()
    except DAMAGE:
        return None
    return PartResult(part.number, inferred, sum(kind != UNREAD for kind in kinds))
