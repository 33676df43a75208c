"""Estimates of a dataset, paged by DuckDB."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from sunveil._files import defused
from sunveil.errors import ParameterError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "512MB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

_ENDS = ("", "_low", "_high")
_OF_PLANES = ("surface_azimuth", "surface_tilt", "share", "dc_capacity_kw")
_PLANE = ", ".join(f"{name}{end} DOUBLE" for name in _OF_PLANES for end in _ENDS)
_OF_TRACKERS = ("axis_azimuth", "gcr", "max_angle")

_TRACKER = ", ".join(
    ["backtrack BOOLEAN", "backtrack_probability DOUBLE"]
    + [f"{name}{end} DOUBLE" for name in _OF_TRACKERS for end in _ENDS]
)

# The columns that pages rely on: all there is before an inference has finished its first part.
NO_ESTIMATES = (
    "SELECT '' AS system_id, 0.0 AS surface_azimuth, 0.0 AS surface_tilt, 0.0 AS dc_capacity_kw,"
    " 0.0 AS plane_error_degrees, 0.0 AS agreement, CAST([] AS VARCHAR[]) AS flags,"
    f" '' AS quality, 0.0 AS latitude, 0.0 AS longitude, CAST([] AS STRUCT({_PLANE})[]) AS planes,"
    f" CAST(NULL AS STRUCT({_TRACKER})) AS tracker, 0.0 AS ac_limit_kw, 0.0 AS clear_hours,"
    " 0.0 AS trend_percent_per_year, 0.0 AS clock_offset_minutes"
)

# Every plane with its share of its system; trackers have none.
PLANES = (
    "SELECT system_id, plane.surface_azimuth AS surface_azimuth,"
    " plane.surface_tilt AS surface_tilt, plane.share AS share FROM"
    " (SELECT system_id, unnest(planes) AS plane FROM estimates WHERE len(planes) > 1)"
    " UNION ALL SELECT system_id, surface_azimuth, surface_tilt, 1.0 FROM estimates"
    " WHERE coalesce(len(planes), 0) < 2 AND tracker IS NULL"
)

NO_REFUSED = "SELECT '' AS system_id, '' AS kind, '' AS reason, true AS in_systems"


@contextmanager
def open_views(folder: Path) -> Iterator[DuckDBPyConnection]:
    """Yield a database with views of an output folder: ``estimates``, ``planes``, ``refused``."""
    import duckdb

    try:
        with duckdb.connect(config=CONFIG) as database:
            parts = sorted(folder.glob("estimates/part-*.parquet"))
            refused = folder / "refused.parquet"
            _view(database, "estimates", parts, empty=NO_ESTIMATES)
            _view(database, "refused", [refused] if refused.exists() else [], empty=NO_REFUSED)
            database.execute(f"CREATE VIEW planes AS {PLANES}")
            yield database
    except duckdb.Error:
        raise SourceError("the estimates of this dataset cannot be read; infer it again") from None


def _view(database: DuckDBPyConnection, name: str, parts: Sequence[Path], *, empty: str) -> None:
    """Make a view of files, which fails where they lack a column that pages rely on."""
    listed = ", ".join(_quoted(path) for path in parts)
    columns = ", ".join(row[0] for row in database.execute(f"DESCRIBE {empty}").fetchall())
    source = (
        f" UNION ALL BY NAME SELECT {columns}, * EXCLUDE ({columns})"
        f" FROM read_parquet([{listed}], union_by_name=true)"
    )
    database.execute(
        f"CREATE VIEW {name} AS SELECT * FROM ({empty}) WHERE false" + (source if parts else "")
    )


def _quoted(path: Path) -> str:
    """Return a path as DuckDB takes it, without patterns."""
    plain = re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))
    return "'" + plain.replace("'", "''") + "'"


LONGEST_TEXT = 100


@dataclass(frozen=True, slots=True)
class EstimateColumn:
    name: str  # as the file has it, and as people read it
    title: str  # as the file has it, and as people read it
    unit: str = ""  # of its numbers; empty for none


NUMBERS = (
    EstimateColumn("surface_azimuth", "Azimuth", "°"),
    EstimateColumn("surface_tilt", "Tilt", "°"),
    EstimateColumn("dc_capacity_kw", "DC capacity", " kW"),
    EstimateColumn("plane_error_degrees", "Plane error", "°"),
    EstimateColumn("agreement", "Agreement"),
    EstimateColumn("ac_limit_kw", "AC limit", " kW"),
    EstimateColumn("clear_hours", "Clear hours", " h"),
    EstimateColumn("trend_percent_per_year", "Trend", " %/year"),
    EstimateColumn("clock_offset_minutes", "Clock offset", " min"),
    EstimateColumn("latitude", "Latitude", "°"),
    EstimateColumn("longitude", "Longitude", "°"),
)

COLUMNS = (
    EstimateColumn("system_id", "System"),
    *NUMBERS,
    EstimateColumn("quality", "Quality"),
    EstimateColumn("flags", "Flags"),
)

BY_NAME = {column.name: column for column in COLUMNS}

USUAL = (
    "surface_azimuth", "surface_tilt", "dc_capacity_kw", "plane_error_degrees", "quality", "flags"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class EstimateFilter:
    text: str = ""  # what the id contains
    flag: str = ""  # `any` for systems with some flag, or the flag that they have; empty for all
    quality: str = ""  # the quality of the estimates; empty for all
    column: str = ""  # a column of numbers with bounds
    low: float | None = None
    high: float | None = None
    sort: str = "system_id"  # the column that the rows are sorted by, and in which direction
    descending: bool = False  # the column that the rows are sorted by, and in which direction
    shown: tuple[str, ...] = field(default=USUAL)  # columns beside the id

    def __post_init__(self) -> None:
        numbers = {each.name for each in NUMBERS}
        if self.sort not in BY_NAME or not set(self.shown) <= set(BY_NAME):
            raise ParameterError("there is no such column in the table of estimates")
        if self.column and self.column not in numbers:
            raise ParameterError("only columns of numbers have bounds; choose one of them")

    @property
    def columns(self) -> tuple[EstimateColumn, ...]:
        return (BY_NAME["system_id"], *(each for each in COLUMNS[1:] if each.name in self.shown))

    def where(self) -> tuple[list[str], list[Any]]:
        clauses, values = matching(self.text)
        if self.flag == "any":
            clauses.append("len(flags) > 0")
        elif self.flag:
            clauses.append("list_contains(flags, ?)")
            values.append(self.flag)
        if self.quality:
            clauses.append("quality = ?")
            values.append(self.quality)
        for sign, bound in ((">=", self.low), ("<=", self.high)):
            if self.column and bound is not None:
                clauses.append(f"{self.column} {sign} ?")
                values.append(bound)
        return clauses, values

    def order(self) -> str:
        way = "DESC" if self.descending else "ASC"
        return f"{self.sort} {way} NULLS LAST, system_id"

    def query(self, **changes: Any) -> str:
        """Return the part of a link that asks for the same table with some changes."""
        given = {each.name: getattr(replace(self, **changes), each.name) for each in fields(self)}
        shown = given.pop("shown")
        given["descending"] = "yes" if given["descending"] else ""
        given["sort"] = "" if given["sort"] == "system_id" else given["sort"]
        pairs = [(name, f"{value:g}" if isinstance(value, float) else value)
                 for name, value in given.items() if value not in ("", None)]  # fmt: skip
        if shown != USUAL:
            pairs += [("shown", name) for name in shown]
        return urlencode(pairs)

    def sorted_by(self, name: str) -> str:
        """Return the query that sorts by a column, or the other way round where it is sorted so."""
        return self.query(sort=name, descending=self.sort == name and not self.descending)


def matching(text: str) -> tuple[list[str], list[Any]]:
    """Return the condition that an id contains a text, as SQL with its value; none for none."""
    text = text.strip()[:LONGEST_TEXT]
    return (["contains(lower(system_id), lower(?))"], [text]) if text else ([], [])


def csv_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield a table as lines of CSV that no spreadsheet takes for formulas."""
    for row in chain([names], rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="\r\n").writerow([defused(cell) for cell in row])
        yield line.getvalue()


PAGE = 50

# So many points are drawn at most: more would only hide each other.
MOST_DRAWN = 2500
SECTORS = 16
TILT_EDGES = (0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 90.0)
CAPACITY_EDGES_KW = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 25.0, math.inf)


@dataclass(frozen=True, slots=True)
class FleetSummary:
    inferred: int  # how many systems
    refused: int  # how many systems
    listed: int  # how many of them the table of systems names: public
    flagged: int  # how many systems
    flags: dict[str, int]  # how many systems have each flag
    qualities: dict[str, int]  # how many systems are of each quality
    capacity_kw: float  # [kW] all capacities together
    plane_error: float  # [degrees] median of the planes' own errors

    def __repr__(self) -> str:
        return "Summary(private)"


@dataclass(frozen=True, slots=True)
class TablePage:
    rows: list[dict[str, Any]]  # its rows, each by column name
    total: int  # how many rows there are on all pages
    number: int  # which page it is, from 1

    @property
    def last(self) -> int:
        return max(1, -(-self.total // PAGE))


class FleetResults:
    """The estimates and refusals in the output folder of an inference: private."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def exist(self) -> bool:
        return any(self._folder.glob("estimates/part-*.parquet"))

    def summary(self) -> FleetSummary:
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
        where, values = matching(text)
        return self._page("refused", ("system_id", "kind", "reason"), where, values, number=number)

    def refusals(self) -> list[tuple[str, int]]:
        rows = self._query(
            "SELECT kind, count(*) AS count FROM refused GROUP BY kind ORDER BY count DESC, kind"
        )
        return [(row["kind"], row["count"]) for row in rows]

    def find_system(self, system_id: str) -> dict[str, Any] | None:
        rows = self._query("SELECT * FROM estimates WHERE system_id = ?", [system_id])
        return rows[0] if rows else None

    def why_refused(self, system_id: str) -> str | None:
        rows = self._query("SELECT reason FROM refused WHERE system_id = ?", [system_id])
        return rows[0]["reason"] if rows else None

    def sample(self) -> dict[str, list[Any]]:
        """Return name, place and direction of systems to draw, the same ones each time."""
        # The direction is that of the largest plane, or of a tracker's axis, which is named in
        # `axis` then.
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
        return self._counts(place, SECTORS, "sum(share) AS count FROM planes")

    def tilts(self) -> list[float]:
        band = _band("surface_tilt", TILT_EDGES)
        return self._counts(band, len(TILT_EDGES) - 1, "sum(share) AS count FROM planes")

    def capacities(self) -> list[float]:
        band = _band("dc_capacity_kw", CAPACITY_EDGES_KW)
        return self._counts(band, len(CAPACITY_EDGES_KW) - 1, "count(*) AS count FROM estimates")

    def _counts(self, place: str, size: int, counted: str) -> list[float]:
        """Return what falls into each place; planes of one system count by their shares."""
        counts = [0.0] * size
        for row in self._query(f"SELECT {place} AS place, {counted} GROUP BY place"):
            if row["place"] is not None:
                counts[int(row["place"])] += round(float(row["count"]), 2)
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

    def _query(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        with self._open() as database:
            return _rows(database.execute(query, values))

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
