"""The fit of one system: measured against modelled days, computed from its readings on demand.

It reads one system out of the fleet's files, and draws what the report of a single system draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sunveil.errors import MeterError, SourceError
from sunveil.estimate import Assumptions, ClockFinding, DaylightSaving, Estimate, Flag, Interval
from sunveil.fleet.layouts import FileLayout
from sunveil.fleet.records import raws_in, raws_of, settle
from sunveil.fleet.source import FleetSource, look_at
from sunveil.fleet.systems import RefusedSystem
from sunveil.infer import record_span
from sunveil.meters.options import MeterOptions
from sunveil.meters.record import Label, Record
from sunveil.plots.clear_days import PANELS, clear_days
from sunveil.plots.seen import estimated_power, repaired_daylight
from sunveil.plots.style import solar_hour
from sunveil.service.context import Service
from sunveil.service.curator.places import systems_in
from sunveil.service.figures.days import DayCurve
from sunveil.service.store.datasets import Served
from sunveil.site import Losses, Mount, Plane, Site
from sunveil.weather import clearsky


def fit_days(service: Service, served: Served, row: dict[str, Any]) -> list[DayCurve]:
    """Return the clearest days of a system: what was measured, and what its estimate would give.

    Parameters
    ----------
    service, served
        The dataset.
    row
        The system's estimate, as the inference wrote it.

    Privacy
    -------
    None: the curves are readings.
    """
    record, site = read_one(service, served, row["system_id"])
    estimate = _estimate(row, served)
    sky = clearsky(site, *record_span(record))
    data = repaired_daylight(record, sky, estimate)
    modelled = estimated_power(data, estimate, clear=True)
    hours = solar_hour(site, data.middle.sun)
    curves = []
    for day in clear_days(data, PANELS):
        today = data.day == day
        date = np.datetime64(int(day), "D").astype(object)
        curves.append(
            DayCurve(
                f"{date.day} {date:%B %Y}",
                tuple(float(each) for each in hours[today]),
                tuple(float(each) for each in data.power[today]),
                tuple(float(each) for each in modelled[today]),
            )
        )
    if not curves:
        raise SourceError("this system has no day with any power to draw")
    return curves


def read_one(service: Service, served: Served, system_id: str) -> tuple[Record, Site]:
    """Return the readings of one system of a fleet, and where it is."""
    folder = served.path(service.settings.datasets)
    table = folder / str(served.extra["systems_table"])
    systems = systems_in(table)
    places = np.flatnonzero(np.asarray(systems.ids.to_pylist(), dtype=object) == system_id)
    if not len(places):
        raise SourceError("this system is not in the table of systems any more")
    place = int(places[0])
    given: dict[str, str] = served.extra.get("options", {})
    told = {name: text for name, text in given.items() if name in ("timezone", "unit", "label")}
    options = MeterOptions().changed(told)
    zone = int(systems.zone[place])
    if zone >= 0:
        options = options.changed({"timezone": systems.zones[zone]})
    source = look_at(folder / str(served.meters), options, aside=[table])
    found = _raw(source, system_id, options)
    return found, Site(*systems.place(place))


def _raw(source: FleetSource, system_id: str, options: MeterOptions) -> Record:
    if source.columns.layout is FileLayout.FILES:
        told = (
            settle(raw, own, name=system_id)
            for path in source.paths(file.name for file in source.files)
            for raw, own in raws_in(path, options)
            if raw.system_id == system_id
        )
    else:
        paths = source.paths(file.name for file in source.files)
        told = (
            settle(raw, options, name=system_id)
            for _, raw in raws_of(paths, source.columns, [system_id], gathered=False)
        )
    found = next(told, None)
    if found is None:
        raise MeterError("the readings of this system are not there any more")
    if isinstance(found, RefusedSystem):
        raise MeterError(found.reason)
    return found


def _estimate(row: dict[str, Any], served: Served) -> Estimate:
    """Return a row of estimates as the estimate of one system."""
    mount = Mount(served.extra.get("options", {}).get("mount", Mount.UNKNOWN.value))
    return Estimate(
        system_id=row["system_id"],
        plane=Plane(row["surface_azimuth"], row["surface_tilt"]),
        dc_capacity_kw=row["dc_capacity_kw"],
        azimuth_interval=_interval(row, "surface_azimuth"),
        tilt_interval=_interval(row, "surface_tilt"),
        capacity_interval=_interval(row, "dc_capacity_kw"),
        plane_error_degrees=row["plane_error_degrees"],
        ac_limit_kw=row["ac_limit_kw"],
        clock=ClockFinding(
            row["clock_offset_minutes"],
            Label(row["clock_label"]),
            DaylightSaving(row["clock_daylight_saving"]),
        ),
        agreement=row["agreement"],
        flags=tuple(Flag(each) for each in row["flags"]),
        assumptions=Assumptions(Losses(), 0.2, "perez-driesse", "clearsky", "default", mount),
    )


def _interval(row: dict[str, Any], name: str) -> Interval:
    return Interval(row[f"{name}_low"], row[f"{name}_high"])
