"""The private data of served datasets, in this process's memory alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from sunveil.cell import cell_of
from sunveil.fleet.results import FleetRows, read_fleet
from sunveil.fleet.systems import SystemTable, read_systems
from sunveil.infer import record_span
from sunveil.meters import MeterOptions, Record, read_meters
from sunveil.publish.memory_systems import MemorySystems
from sunveil.service.store.datasets import Served
from sunveil.site import Site
from sunveil.weather import Weather, get_weather

Held = TypeVar("Held")


class DatasetCache(Generic[Held]):
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
        self._rows = DatasetCache(self._read_rows)
        self._systems = DatasetCache(self._read_systems)

    def rows(self, dataset: Served) -> FleetRows:
        """Return the inferred rows of a fleet: private."""
        return self._rows.get(dataset)

    def systems(self, dataset: Served) -> MemorySystems:
        """Return the meters of a fleet, and their weather: private."""
        return self._systems.get(dataset)

    def _read_rows(self, dataset: Served) -> FleetRows:
        assert dataset.estimates is not None
        path = dataset.path(self._folder) / dataset.estimates
        return read_fleet(path, keys=list(dataset.keys))

    def _read_systems(self, dataset: Served) -> MemorySystems:
        assert dataset.meters is not None
        given = dataset.extra.get("options", {})
        options = MeterOptions(
            cleaning="each",
            timezone=dataset.timezone or given.get("timezone"),
            **{name: given[name] for name in ("unit", "label") if given.get(name)},
        )
        table = dataset.table
        systems = None if table is None else read_systems(dataset.path(self._folder) / table)
        records = self._records(dataset, options, systems)
        sites = _sites(dataset, records, systems)
        records = [record for record in records if record.system_id in sites]
        weather = _weather(records, sites)
        return MemorySystems(records, lambda record: weather[record.system_id])

    def _records(
        self, dataset: Served, options: MeterOptions, systems: SystemTable | None
    ) -> list[Record]:
        """Return the records of a dataset, each on the clock that the table of systems names."""
        assert dataset.meters is not None
        zones = {} if systems is None else _zones(systems)
        known: list[str | None] = [*sorted(set(zones.values()))]
        out = []
        for zone in known or [options.timezone]:
            read = read_meters(
                dataset.path(self._folder) / dataset.meters, replace(options, timezone=zone)
            )
            out += [one for one in read if zones.get(one.system_id, zone) == zone]
        return out


def _sites(dataset: Served, records: list[Record], systems: SystemTable | None) -> dict[str, Site]:
    """Return where each system is; those of one weather cell share its centre, and so one sky."""
    if systems is not None:
        places = zip(systems.ids.to_pylist(), systems.latitude, systems.longitude, strict=True)
        return {name: cell_of(float(north), float(east)).site for name, north, east in places}
    assert dataset.latitude is not None
    assert dataset.longitude is not None
    site = Site(dataset.latitude, dataset.longitude, dataset.altitude)
    return {record.system_id: site for record in records}


def _zones(systems: SystemTable) -> dict[str, str]:
    """Return the clock of each system that the table of systems names one for."""
    names = zip(systems.ids.to_pylist(), systems.zone.tolist(), strict=True)
    return {name: systems.zones[zone] for name, zone in names if zone >= 0}


def _weather(records: list[Record], sites: dict[str, Site]) -> dict[str, Weather]:
    """Return the clear sky of each record: one for each place, over all that its records span."""
    spans: dict[Site, tuple[Any, Any]] = {}
    for record in records:
        site, (first, last) = sites[record.system_id], record_span(record)
        begin, end = spans.get(site, (first, last))
        spans[site] = min(begin, first), max(end, last)
    made = {site: get_weather("clearsky", site, *span) for site, span in spans.items()}
    return {record.system_id: made[sites[record.system_id]] for record in records}
