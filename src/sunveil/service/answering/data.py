"""The private data of served datasets, in this process's memory alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import duckdb
import numpy as np

from sunveil.cells.place import cell_of
from sunveil.errors import SourceError
from sunveil.infer import record_span
from sunveil.meters import MeterOptions, Record, iter_meters
from sunveil.publish.estimates import COLUMNS, read_estimates
from sunveil.publish.memory_systems import MemorySystems
from sunveil.publish.rows import FleetRows
from sunveil.service.store.datasets import Served
from sunveil.site import Site
from sunveil.weather import Weather, get_weather

Held = TypeVar("Held")


class Memory(Generic[Held]):
    """What was read of datasets, each as long as it stays as it is.

    Parameters
    ----------
    read
        Reads it.
    """

    def __init__(self, read: Callable[[Served], Held]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Served, Held]] = {}

    def get(self, dataset: Served) -> Held:
        """Return what is held of a dataset."""
        stamp = replace(dataset, title="", about="", made="")
        with self._lock:
            found = self._known.get(dataset.name)
            if found is None or found[0] != stamp:
                found = stamp, self._read(dataset)
                self._known[dataset.name] = found
        return found[1]


class Data:
    """Data of datasets, read when first asked for and again when the dataset has changed.

    Parameters
    ----------
    folder
        The service's folder of datasets.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows = Memory(self._read_rows)
        self._systems = Memory(self._read_systems)

    def rows(self, dataset: Served) -> FleetRows:
        """Return the inferred rows of a fleet: private."""
        return self._rows.get(dataset)

    def systems(self, dataset: Served) -> MemorySystems:
        """Return the meters of a fleet, and their weather: private."""
        return self._systems.get(dataset)

    def _read_rows(self, dataset: Served) -> FleetRows:
        assert dataset.estimates is not None
        folder, keys = dataset.path(self._folder), list(dataset.keys)
        path = folder / dataset.estimates
        if not path.is_dir():
            return read_estimates(path, keys=keys)
        assert dataset.table is not None
        return read_fleet(path, folder / dataset.table, keys=keys)

    def _read_systems(self, dataset: Served) -> MemorySystems:
        assert dataset.meters is not None
        told = dataset.extra.get("options", {})
        options = MeterOptions(
            cleaning="each",
            timezone=dataset.timezone or told.get("timezone"),
            **{name: told[name] for name in ("unit", "label") if told.get(name)},
        )
        records = self._records(dataset, options)
        sites = self._sites(dataset, records)
        records = [record for record in records if record.system_id in sites]
        weather = _weather(records, sites)
        return MemorySystems(records, lambda record: weather[record.system_id])

    def _records(self, dataset: Served, options: MeterOptions) -> list[Record]:
        """Return the records of a dataset, each on the clock that the table of systems names."""
        assert dataset.meters is not None
        folder = dataset.path(self._folder)
        zones = {} if dataset.table is None else read_zones(folder / dataset.table)
        known: list[str | None] = [*sorted(set(zones.values()))]
        out = []
        for zone in known or [options.timezone]:
            read = iter_meters(folder / dataset.meters, replace(options, timezone=zone))
            out += [one for one in read if zones.get(one.system_id, zone) == zone]
        return out

    def _sites(self, dataset: Served, records: list[Record]) -> dict[str, Site]:
        if dataset.table is not None:
            return read_places(dataset.path(self._folder) / dataset.table)
        assert dataset.latitude is not None
        assert dataset.longitude is not None
        site = Site(dataset.latitude, dataset.longitude, dataset.altitude)
        return {record.system_id: site for record in records}


def read_fleet(folder: Path, systems: Path, *, keys: list[str]) -> FleetRows:
    """Return a row for every system of the public table, from what an inference has left.

    Which systems there are is public, and which of them could be inferred is not: those that could
    not stay as rows without values.

    Parameters
    ----------
    folder
        What ``sunveil infer --systems`` has written.
    systems
        The table of systems, with the public keys.
    keys
        Which public columns to read.
    """
    wanted = "".join(f', s."{key.replace(chr(34), chr(34) * 2)}"' for key in keys)
    values = ", ".join(f"e.{name}" for name in COLUMNS[1:])
    try:
        with duckdb.connect() as connection:
            found = connection.execute(
                f"SELECT s.system_id, {values}{wanted} FROM {_reader(systems)} s"
                " LEFT JOIN read_parquet($parts) e"
                " ON CAST(s.system_id AS VARCHAR) = CAST(e.system_id AS VARCHAR)"
                " ORDER BY CAST(s.system_id AS VARCHAR)",
                {"path": str(systems), "parts": f"{folder}/estimates/*.parquet"},
            ).fetchnumpy()
    except duckdb.Error:
        raise SourceError(
            f"the estimates in {folder} and the table {systems.name} cannot be read together"
        ) from None

    def numbers(name: str) -> np.ndarray[Any, Any]:
        return np.ma.filled(np.ma.asarray(found[name], dtype=np.float64), np.nan)

    return FleetRows(
        system_ids=tuple(str(each) for each in found["system_id"]),
        surface_azimuth=numbers("surface_azimuth"),
        surface_tilt=numbers("surface_tilt"),
        dc_capacity_kw=numbers("dc_capacity_kw"),
        keys={key: np.asarray([str(each) for each in found[key]]) for key in keys},
    )


def _reader(path: Path) -> str:
    parquet = path.suffix.lower() in (".parquet", ".pq")
    return "read_parquet($path)" if parquet else "read_csv($path)"


def read_places(path: Path) -> dict[str, Site]:
    """Return where each system is, from a table with system_id, latitude and longitude.

    Systems of one weather cell share its centre, and so one sky.
    """
    try:
        with duckdb.connect() as connection:
            rows = connection.execute(
                f"SELECT system_id, latitude, longitude FROM {_reader(path)}", {"path": str(path)}
            ).fetchall()
    except duckdb.Error:
        raise SourceError(f"{path} lacks system_id, latitude or longitude") from None
    return {str(name): cell_of(float(north), float(east)).site for name, north, east in rows}


def read_zones(path: Path) -> dict[str, str]:
    """Return the clock of each system, where a table of systems has a column ``timezone``."""
    try:
        with duckdb.connect() as connection:
            rows = connection.execute(
                f"SELECT system_id, timezone FROM {_reader(path)} WHERE timezone IS NOT NULL",
                {"path": str(path)},
            ).fetchall()
    except duckdb.BinderException:  # there is no such column
        return {}
    except duckdb.Error:
        raise SourceError(f"{path} cannot be read as a table of systems") from None
    return {str(name): str(zone) for name, zone in rows}


def _weather(records: list[Record], sites: dict[str, Site]) -> dict[str, Weather]:
    """Return the clear sky of each record: one for each place, over all that its records span."""
    spans: dict[Site, tuple[Any, Any]] = {}
    for record in records:
        site, (first, last) = sites[record.system_id], record_span(record)
        begin, end = spans.get(site, (first, last))
        spans[site] = min(begin, first), max(end, last)
    made = {site: get_weather("clearsky", site, *span) for site, span in spans.items()}
    return {record.system_id: made[sites[record.system_id]] for record in records}
