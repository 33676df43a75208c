"""The private data of served datasets, in this process's memory alone."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from sunveil.cell import cell_of
from sunveil.errors import SourceError
from sunveil.fleet.results import FleetRows, read_fleet
from sunveil.fleet.settings import FleetSettings
from sunveil.infer import record_span
from sunveil.ledger.households import SystemHome
from sunveil.meters import MeterOptions, Record
from sunveil.publish.fleet_records import HeldRecord, open_records, site_records
from sunveil.publish.households import read_households
from sunveil.publish.memory_systems import MemorySystems
from sunveil.service.reading import meter_options
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
        self._homes = DatasetCache(self._read_homes)

    def rows(self, dataset: Served) -> FleetRows:
        """Return the inferred rows of a fleet: private."""
        return self._rows.get(dataset)

    def systems(self, dataset: Served) -> MemorySystems:
        """Return the meters of a fleet, and their weather: private."""
        return self._systems.get(dataset)

    def homes(self, dataset: Served) -> list[SystemHome]:
        """Return whose the systems are, as far as the dataset's table of systems says."""
        return self._homes.get(dataset)

    def _read_homes(self, dataset: Served) -> list[SystemHome]:
        if dataset.table is None:
            return []
        path, options = dataset.path(self._folder) / dataset.table, meter_options(dataset)
        return read_households(path, options.system_column)

    def _read_rows(self, dataset: Served) -> FleetRows:
        assert dataset.estimates is not None
        path = dataset.path(self._folder) / dataset.estimates
        return read_fleet(path, keys=list(dataset.keys))

    def _read_systems(self, dataset: Served) -> MemorySystems:
        """Return the systems of a dataset as every release reads them.

        A system of which no record can be made, for its rows and stamps, is left out; whatever
        readings a record holds, it is there.
        """
        assert dataset.meters is not None
        folder, options = dataset.path(self._folder), meter_options(dataset)
        if dataset.table is None:
            assert dataset.latitude is not None
            assert dataset.longitude is not None
            site = Site(dataset.latitude, dataset.longitude, dataset.altitude)
            found = site_records(folder / dataset.meters, options, longitude=site.longitude)
            records = [each for each in found if isinstance(each, Record)]
            sites = {record.system_id: site for record in records}
        else:
            records, sites = _placed(folder / dataset.meters, folder / dataset.table, options)
        if not records:
            raise SourceError("no system of the dataset has rows and stamps that can be read")
        weather = _weather(records, sites)
        return MemorySystems(records, lambda record: weather[record.system_id])


def _placed(
    meters: Path, table: Path, options: MeterOptions
) -> tuple[list[Record], dict[str, Site]]:
    """Return the records of a fleet, and where each is.

    Systems of one weather cell share its centre, and so one sky.
    """
    settings = FleetSettings(meters=options)
    with tempfile.TemporaryDirectory() as work:
        fleet = open_records(meters, table, Path(work), settings=settings, workers=1)
        found = [each for part in fleet.plan.parts for each in fleet.of(part)]
    held = [each for each in found if isinstance(each, HeldRecord)]
    times = Counter(each.number for each in held)
    systems = fleet.context.systems
    records = [each.record for each in held if times[each.number] == 1]
    records.sort(key=lambda record: record.system_id)
    sites = {each.record.system_id: cell_of(*systems.place(each.number)[:2]).site for each in held}
    return records, sites


def _weather(records: list[Record], sites: dict[str, Site]) -> dict[str, Weather]:
    """Return the clear sky of each record: one for each place, over all that its records span."""
    spans: dict[Site, tuple[Any, Any]] = {}
    for record in records:
        site, (first, last) = sites[record.system_id], record_span(record)
        begin, end = spans.get(site, (first, last))
        spans[site] = min(begin, first), max(end, last)
    made = {site: get_weather("clearsky", site, *span) for site, span in spans.items()}
    return {record.system_id: made[sites[record.system_id]] for record in records}
