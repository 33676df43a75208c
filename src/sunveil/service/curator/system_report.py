"""The report of one system for its page: the library's, drawn from its readings."""

from __future__ import annotations

from typing import Any

from sunveil.errors import MeterError, SourceError, SunveilError
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.read_write import read_assumptions
from sunveil.fleet.blocks import record_span
from sunveil.fleet.file_layouts import look_at
from sunveil.fleet.open import some_records
from sunveil.meters.record import Record, RefusedSystem
from sunveil.plots.html_report import Case, draw_case, headlines
from sunveil.service.context import Service
from sunveil.service.curator.datasets import cached_systems
from sunveil.service.curator.inference import OUTPUT
from sunveil.service.store.database import Served
from sunveil.service.upload_checks import meter_options
from sunveil.site import Site
from sunveil.weather import get_weather


def system_report(service: Service, served: Served, row: dict[str, Any]) -> dict[str, Any]:
    """Return the report of a system, or its values alone and what is wrong with its readings."""
    found: dict[str, Any] = {"one": None, "headlines": [], "problem": ""}
    try:
        folder = served.path(service.settings.datasets)
        estimate = Estimate.from_row(row, read_assumptions(folder / OUTPUT))
        found["headlines"] = headlines(estimate)
        record, site = _read_one(service, served, estimate.system_id)
        weather = get_weather("clearsky", site, *record_span(record))
        found["one"] = draw_case(Case(None, record, weather, estimate), cache=None)
    except SunveilError as error:
        found["problem"] = str(error)
    return found


def _read_one(service: Service, served: Served, system_id: str) -> tuple[Record, Site]:
    """Return the readings of one system of a fleet, and where it is."""
    datasets = service.settings.datasets
    table = served.path(datasets, str(served.extra["systems_table"]))
    options = meter_options(served)
    systems = cached_systems(table, options)
    if system_id not in systems.numbers:
        raise SourceError("this system is not in the table of systems any more")
    source = look_at(served.path(datasets, str(served.meters)), options, aside=[table])
    paths = source.paths(file.name for file in source.files)
    some = some_records(paths, source.columns, systems, [system_id], options=options)
    found = next((each for name, each in some if name is not None), None)
    if found is None:
        raise MeterError("the readings of this system are not there any more")
    if isinstance(found, RefusedSystem):
        raise MeterError(found.reason)
    return found, Site(*systems.place(systems.numbers[system_id]))
