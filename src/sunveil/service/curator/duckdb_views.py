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
# The columns that pages rely on: all there is before an inference has finished its first part, and
# empty where a table of an earlier version lacks them.
NO_ESTIMATES = (
    "SELECT '' AS system_id, 0.0 AS surface_azimuth, 0.0 AS surface_tilt, 0.0 AS dc_capacity_kw,"
    " 0.0 AS plane_error_degrees, 0.0 AS agreement, CAST([] AS VARCHAR[]) AS flags,"
    " '' AS quality, 0.0 AS latitude, 0.0 AS longitude"
)
NO_REFUSED = "SELECT '' AS system_id, '' AS kind, '' AS reason, true AS in_systems"


@contextmanager
def open_views(folder: Path) -> Iterator[DuckDBPyConnection]:
    """Yield a database with the views ``estimates`` and ``refused`` of an output folder."""
    import duckdb

    try:
        with duckdb.connect(config=CONFIG) as database:
            parts = sorted(folder.glob("estimates/part-*.parquet"))
            refused = folder / "refused.parquet"
            _view(database, "estimates", parts, empty=NO_ESTIMATES)
            _view(database, "refused", [refused] if refused.exists() else [], empty=NO_REFUSED)
            yield database
    except duckdb.Error:
        raise SourceError("the estimates of this dataset cannot be read; infer it again") from None


def _view(database: DuckDBPyConnection, name: str, parts: Sequence[Path], *, empty: str) -> None:
    listed = ", ".join(_quoted(path) for path in parts)
    source = f" UNION ALL BY NAME SELECT * FROM read_parquet([{listed}], union_by_name=true)"
    database.execute(
        f"CREATE VIEW {name} AS SELECT * FROM ({empty}) WHERE false" + (source if parts else "")
    )


def _quoted(path: Path) -> str:
    """Return a path as DuckDB takes it, without patterns."""
    plain = re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))
    return "'" + plain.replace("'", "''") + "'"
