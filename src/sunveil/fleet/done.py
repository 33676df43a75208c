"""What a part came to, and the files that say so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.fleet.job import FleetJob
from sunveil.fleet.plan import Part
from sunveil.meters.refusals import UNREAD as UNREAD

# What reading a damaged file raises.
DAMAGE = (duckdb.Error, pa.ArrowException, OSError)
# The columns of the estimates that are summed up when all parts are done.
SUMMED = (
    "system_id",
    "surface_azimuth",
    "surface_tilt",
    "dc_capacity_kw",
    "agreement",
    "quality",
    "flags",
    *(f"planes.list.element.{name}" for name in ("surface_azimuth", "surface_tilt", "share")),
    "tracker.axis_azimuth",
)


@dataclass(frozen=True, slots=True)
class PartResult:
    """How many systems of a part were inferred; the estimates themselves are in its files.

    Parameters
    ----------
    number
        Which part.
    inferred, refused
        How many of its systems have an estimate, and how many have a reason instead.
    """

    number: int
    inferred: int
    refused: int


def estimates_file(folder: Path, number: int) -> Path:
    """Return the file of a part's estimates."""
    return folder / "estimates" / f"part-{number:05d}.parquet"


def refused_file(work: Path, number: int) -> Path:
    """Return the file of a part's refusals, which is kept until the run is over."""
    return work / "refused" / f"part-{number:05d}.parquet"


def read_part(job: FleetJob, number: int) -> tuple[pa.Table, pa.Table]:
    """Return the columns of a part's estimates that are summed up, and its refusals."""
    return (
        pq.ParquetFile(estimates_file(job.folder, number)).read(columns=list(SUMMED)),
        pq.read_table(refused_file(job.work, number)),
    )


def finished(job: FleetJob, part: Part) -> PartResult | None:
    """Return what a part came to, if it is done and whole."""
    kept = refused_file(job.work, part.number)
    try:
        inferred = pq.read_metadata(estimates_file(job.folder, part.number)).num_rows
        kinds = pq.read_table(kept, columns=["kind"]).column("kind").to_pylist()
    except DAMAGE:
        return None
    return PartResult(part.number, inferred, sum(kind != UNREAD for kind in kinds))
