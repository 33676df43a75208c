"""The tables that an inference over a fleet leaves, as views of a DuckDB that reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sunveil.errors import SourceError

if TYPE_CHECKING:
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
