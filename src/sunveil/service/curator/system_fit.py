"""One system's readings fitted again, for its page."""

from __future__ import annotations

from typing import Any

import numpy as np

from sunveil.errors import MeterError, SourceError
from sunveil.estimates.estimate_text import (
    clear_hours_words,
    flat_words,
    haze_words,
    hidden_words,
    household_words,
    planes_words,
    skyline_words,
    trend_words,
    year_name,
)
from sunveil.estimates.estimates_table import Estimate
from sunveil.estimates.read_write import read_assumptions
from sunveil.fleet.file_layouts import look_at
from sunveil.fleet.open import some_records
from sunveil.inference.fleet_part import SiteSkies
from sunveil.meters.record import Record, RefusedSystem
from sunveil.plots.estimate_figures import CLEAR_DAY_PANELS, clear_days
from sunveil.plots.skyline_and_scores import seen_readings
from sunveil.plots.style import solar_hour
from sunveil.service.context import Service
from sunveil.service.curator.datasets import cached_systems
from sunveil.service.curator.figures import DayCurve
from sunveil.service.curator.inference import OUTPUT
from sunveil.service.store.database import Served
from sunveil.service.upload_checks import meter_options
from sunveil.site import Site


def row_findings(service: Service, served: Served, row: dict[str, Any]) -> list[tuple[str, str]]:
    estimate = _estimate(service, served, row)
    years = (
        f"{year_name(year)}: {year.surface_azimuth:.1f}°, {year.surface_tilt:.1f}°,"
        f" {year.dc_capacity_kw:.3g} kW"
        for year in estimate.years
    )
    found = (
        ("Quality", f"{estimate.quality.value}: {estimate.quality_reason}"),
        (
            "Mounting" if estimate.tracker is None else "Tracking",
            planes_words(estimate) or flat_words(estimate),
        ),
        ("Household", household_words(estimate)),
        ("Caution", hidden_words(estimate)),
        ("Clear days", clear_hours_words(estimate)),
        ("By year", "; ".join(years)),
        ("Trend", trend_words(estimate)),
        ("Skyline", skyline_words(estimate)),
        ("Air", haze_words(estimate)),
    )
    return [(name, words) for name, words in found if words]


def _estimate(service: Service, served: Served, row: dict[str, Any]) -> Estimate:
    folder = served.path(service.settings.datasets)
    return Estimate.from_row(row, read_assumptions(folder / OUTPUT))


def fit_days(service: Service, served: Served, row: dict[str, Any]) -> list[DayCurve]:
    """Return the clearest days of a system: what was measured, and what its estimate would give."""
    # None: the curves are readings.
    record, site = read_one(service, served, row["system_id"])
    estimate = _estimate(service, served, row)
    skies = SiteSkies(site.latitude, site.longitude, site.altitude)
    data = seen_readings(record, skies, estimate)
    hours = solar_hour(site, data.sun)
    curves = []
    for day in clear_days(data, CLEAR_DAY_PANELS):
        today = data.day == day
        date = np.datetime64(int(day), "D").astype(object)
        curves.append(
            DayCurve(
                f"{date.day} {date:%B %Y}",
                tuple(float(each) for each in hours[today]),
                tuple(float(each) for each in data.power[today]),
                tuple(float(each) for each in data.modelled[today]),
                tuple(tuple(part[today].tolist()) for part in data.parts)
                if len(data.parts) > 1
                else (),
            )
        )
    if not curves:
        raise SourceError("this system has no day with any power to draw")
    return curves


def read_one(service: Service, served: Served, system_id: str) -> tuple[Record, Site]:
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
