"""Reading the inferred metadata of a fleet: what ``sunveil infer`` wrote, or a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sunveil.errors import SourceError
from sunveil.fleet.results import read_fleet
from sunveil.publish.rows import FleetRows

COLUMNS = ("system_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw")
UNKNOWN = dict.fromkeys(COLUMNS[1:])


def read_estimates(path: Path, *, keys: Sequence[str] = ()) -> FleetRows:
    """Return the rows of a fleet from a file, or from the folder of a run over a fleet.

    Parameters
    ----------
    path
        JSON as ``sunveil infer --json`` writes it, whose refused systems stay as rows without
        values: that one could not be inferred is as private as its readings. Or a CSV or Parquet
        table with ``system_id``, ``surface_azimuth``, ``surface_tilt``, ``dc_capacity_kw``
        and the key columns. Or the folder that ``sunveil infer --systems`` wrote, once its run is
        over: the rows are then those of the table of systems, refused or not.
    keys
        Public columns to read beside them.
    """
    if path.is_dir():
        return _from_folder(path, keys)
    if not path.is_file():
        raise SourceError(f"there is no file {path}; give what sunveil infer wrote")
    table = _from_json(path, keys) if path.suffix.lower() == ".json" else _from_table(path, keys)
    if not len(table["system_id"]):
        raise SourceError(f"{path} has no system")
    return FleetRows(
        system_ids=tuple(str(each) for each in table["system_id"]),
        surface_azimuth=_numbers(path, table, "surface_azimuth"),
        surface_tilt=_numbers(path, table, "surface_tilt"),
        dc_capacity_kw=_numbers(path, table, "dc_capacity_kw"),
        keys={key: np.asarray([str(each) for each in table[key]]) for key in keys},
    )


def _from_folder(path: Path, keys: Sequence[str]) -> FleetRows:
    table = read_fleet(path, keys=keys)
    return FleetRows(
        system_ids=table.system_ids,
        surface_azimuth=table.surface_azimuth,
        surface_tilt=table.surface_tilt,
        dc_capacity_kw=table.dc_capacity_kw,
        keys=dict(table.keys),
    )


def _from_json(path: Path, keys: Sequence[str]) -> dict[str, list[Any]]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        rows = [{**UNKNOWN, **each} if "error" in each else each for each in told]
        return {name: [each[name] for each in rows] for name in (*COLUMNS, *keys)}
    except (ValueError, TypeError, UnicodeDecodeError):
        raise SourceError(f"{path} is not what sunveil infer --json writes") from None
    except KeyError as missing:
        raise SourceError(f"{path} has a system without {missing.args[0]}") from None


def _from_table(path: Path, keys: Sequence[str]) -> dict[str, list[Any]]:
    names = (*COLUMNS, *keys)
    reader = "read_parquet" if path.suffix.lower() in (".parquet", ".pq") else "read_csv"
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    try:
        with duckdb.connect() as connection:
            found = connection.execute(
                f"SELECT {quoted} FROM {reader}($1)", [str(path)]
            ).fetchnumpy()
    except duckdb.BinderException:
        raise SourceError(f"{path} lacks one of the columns {', '.join(names)}") from None
    except duckdb.Error:
        raise SourceError(f"{path} cannot be read as a table of estimates") from None
    return {name: list(found[name]) for name in names}


def _numbers(path: Path, table: dict[str, list[Any]], name: str) -> np.ndarray[Any, Any]:
    try:
        values = np.asarray(
            [
                np.nan if each is None or each is np.ma.masked else float(each)
                for each in table[name]
            ]
        )
    except (TypeError, ValueError):
        raise SourceError(f"{path} has a {name} that is not a number") from None
    return values
