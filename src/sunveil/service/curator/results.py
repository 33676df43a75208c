"""What an inference over a fleet has left in its folder, read as far as a page needs it: private.

::

    estimates/part-*.parquet   one row per system
    refused.parquet            systems without an estimate, and why

A fleet may have millions of systems, so that DuckDB reads a page, a sample or counts, and never all
rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sunveil.service.curator.duckdb_views import open_views
from sunveil.service.curator.estimate_table import EstimateFilter, matching

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

PAGE = 50
# So many points are drawn at most: more would only hide each other.
MOST_DRAWN = 2500
SECTORS = 16
TILT_EDGES = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 90.0)
CAPACITY_EDGES_KW = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 25.0, math.inf)


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """A fleet's estimates in a few numbers: private.

    Parameters
    ----------
    inferred, refused, flagged
        How many systems.
    listed
        How many of them the table of systems names: public.
    flags
        How many systems have each flag.
    qualities
        How many systems are of each quality.
    capacity_kw
        All capacities together. [kW]
    plane_error
        Median of the planes' own errors. [degrees]
    """

    inferred: int
    refused: int
    listed: int
    flagged: int
    flags: dict[str, int]
    qualities: dict[str, int]
    capacity_kw: float
    plane_error: float

    def __repr__(self) -> str:
        return "Summary(private)"


@dataclass(frozen=True, slots=True)
class TablePage:
    """One page of a table.

    Parameters
    ----------
    rows
        Its rows, each by column name.
    total
        How many rows there are on all pages.
    number
        Which page it is, from 1.
    """

    rows: list[dict[str, Any]]
    total: int
    number: int

    @property
    def last(self) -> int:
        """The number of the last page."""
        return max(1, -(-self.total // PAGE))


class FleetResults:
    """The estimates and refusals in the output folder of an inference: private.

    Parameters
    ----------
    folder
        What ``sunveil infer --systems`` wrote to.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def exist(self) -> bool:
        """Whether there is any estimate yet."""
        return any(self._folder.glob("estimates/part-*.parquet"))

    def summary(self) -> FleetSummary:
        """Return counts, total capacity and the typical error of all estimates."""
        with self._open() as database:
            numbers = database.execute(
                "SELECT count(*), count(*) FILTER (len(flags) > 0), sum(dc_capacity_kw),"
                " median(plane_error_degrees) FROM estimates"
            ).fetchone()
            flags = database.execute(
                "SELECT flag, count(*) FROM (SELECT unnest(flags) AS flag FROM estimates)"
                " GROUP BY flag ORDER BY count(*) DESC, flag"
            ).fetchall()
            qualities = database.execute(
                "SELECT quality, count(*) FROM estimates GROUP BY quality"
            ).fetchall()
            refused = _one(database.execute("SELECT count(*) FROM refused"))
            listed = _one(database.execute("SELECT count(*) FROM refused WHERE in_systems"))
        assert numbers is not None
        return FleetSummary(
            inferred=int(numbers[0]),
            refused=int(refused),
            listed=int(numbers[0]) + int(listed),
            flagged=int(numbers[1]),
            flags={str(flag): int(count) for flag, count in flags},
            qualities={str(quality): int(count) for quality, count in qualities},
            capacity_kw=float(numbers[2] or 0.0),
            plane_error=float(numbers[3] or 0.0),
        )

    def estimates(self, wanted: EstimateFilter, *, number: int = 1) -> TablePage:
        """Return a page of the estimates.

        Parameters
        ----------
        wanted
            Which systems, and in which order.
        number
            Which page.
        """
        where, values = wanted.where()
        names = dict.fromkeys(("system_id", *wanted.shown, "planes", "tracker"))
        return self._page("estimates", tuple(names), where, values,
                          number=number, order=wanted.order())  # fmt: skip

    def export(self, wanted: EstimateFilter) -> pa.Table:
        """Return all systems of a filter with the columns that it shows, those of planes too."""
        where, values = wanted.where()
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        columns = ", ".join(each.name for each in wanted.columns)
        with self._open() as database:
            return database.sql(
                f"SELECT {columns} FROM estimates{condition} ORDER BY {wanted.order()}",
                params=values,
            ).to_arrow_table()

    def refused(self, *, text: str = "", number: int = 1) -> TablePage:
        """Return a page of the systems without an estimate, by their names."""
        where, values = matching(text)
        return self._page("refused", ("system_id", "kind", "reason"), where, values, number=number)

    def refusals(self) -> list[tuple[str, int]]:
        """Return how many systems were refused for each kind of reason."""
        with self._open() as database:
            found = database.execute(
                "SELECT kind, count(*) FROM refused GROUP BY kind ORDER BY count(*) DESC, kind"
            ).fetchall()
        return [(str(kind), int(count)) for kind, count in found]

    def find_system(self, system_id: str) -> dict[str, Any] | None:
        """Return the estimate of a system with all its columns, or None."""
        with self._open() as database:
            found = database.execute("SELECT * FROM estimates WHERE system_id = ?", [system_id])
            rows = _rows(found)
        return rows[0] if rows else None

    def why_refused(self, system_id: str) -> str | None:
        """Return why a system has no estimate, or None."""
        with self._open() as database:
            found = database.execute("SELECT reason FROM refused WHERE system_id = ?", [system_id])
            row = found.fetchone()
        return None if row is None else str(row[0])

    def sample(self) -> dict[str, list[Any]]:
        """Return name, place and direction of systems to draw, the same ones each time.

        The direction is that of the largest plane, or of a tracker's axis, which is named in
        ``axis`` then.
        """
        return self._sample(
            "SELECT system_id, longitude, latitude, quality, tracker.axis_azimuth AS axis,"
            " coalesce(planes[1].surface_azimuth, surface_azimuth) AS surface_azimuth"
            " FROM estimates"
        )

    def sample_planes(self) -> dict[str, list[Any]]:
        """Return the planes of systems to draw with the systems' names, the same ones each time."""
        return self._sample("SELECT system_id, surface_azimuth, surface_tilt FROM planes")

    def _sample(self, select: str) -> dict[str, list[Any]]:
        with self._open() as database:
            found = database.execute(
                f"{select} WHERE surface_azimuth IS NOT NULL AND surface_tilt IS NOT NULL"
                f" ORDER BY hash(system_id), system_id LIMIT {MOST_DRAWN}"
            )
            names = [each[0] for each in found.description or ()]
            rows = found.fetchall()
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def sectors(self) -> list[float]:
        """Return how many systems face each of sixteen sectors, the first centred on north."""
        width = 360.0 / SECTORS
        place = f"CAST(floor((surface_azimuth + {width / 2}) / {width}) AS BIGINT) % {SECTORS}"
        return self._counts(place, SECTORS, "sum(share) FROM planes")

    def tilts(self) -> list[float]:
        """Return how many systems are tilted between each two of the edges."""
        band = _band("surface_tilt", TILT_EDGES)
        return self._counts(band, len(TILT_EDGES) - 1, "sum(share) FROM planes")

    def capacities(self) -> list[float]:
        """Return how many systems have a capacity between each two of the edges."""
        band = _band("dc_capacity_kw", CAPACITY_EDGES_KW)
        return self._counts(band, len(CAPACITY_EDGES_KW) - 1, "count(*) FROM estimates")

    def _counts(self, place: str, size: int, counted: str) -> list[float]:
        """Return what falls into each place; planes of one system count by their shares."""
        with self._open() as database:
            found = database.execute(
                f"SELECT {place} AS place, {counted} GROUP BY place"
            ).fetchall()
        counts = [0.0] * size
        for at, count in found:
            if at is not None:
                counts[int(at)] += round(float(count), 2)
        return counts

    def _page(
        self,
        table: str,
        columns: Sequence[str],
        where: list[str],
        values: list[Any],
        *,
        number: int,
        order: str = "system_id",
    ) -> TablePage:
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        with self._open() as database:
            total = int(_one(database.execute(f"SELECT count(*) FROM {table}{condition}", values)))
            number = min(max(1, number), max(1, -(-total // PAGE)))
            found = database.execute(
                f"SELECT {', '.join(columns)} FROM {table}{condition} ORDER BY {order}"
                f" LIMIT {PAGE} OFFSET {PAGE * (number - 1)}",
                values,
            )
            return TablePage(_rows(found), total, number)

    def _open(self) -> AbstractContextManager[DuckDBPyConnection]:
        return open_views(self._folder)


def _band(column: str, edges: Sequence[float]) -> str:
    """Return SQL for the band that a value falls into; beyond the edges is the outermost."""
    inner = " + ".join(f"CAST({column} >= {edge} AS BIGINT)" for edge in edges[1:-1])
    return f"({inner})"


def _rows(found: DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [each[0] for each in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _one(found: DuckDBPyConnection) -> Any:
    row = found.fetchone()
    assert row is not None
    return row[0]
