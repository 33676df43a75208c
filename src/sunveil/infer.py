"""Readings and weather in, metadata out.

:func:`infer` takes what callers have, :func:`~sunveil.infer_records.infer_records` the records that
readers return. One system is a batch of one: all of them go through
:func:`sunveil.engine.infer_any_block`.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sunveil.arguments import instance, without_unit
from sunveil.checked import checked
from sunveil.engine.assumed import Clock as Clock
from sunveil.errors import SunveilError
from sunveil.estimate import Estimate
from sunveil.estimate_source import EstimateSource
from sunveil.frame_estimates import FrameEstimates
from sunveil.gridded import grid_of as grid_of
from sunveil.gridded import on_grid as on_grid
from sunveil.gridded import repaired as repaired
from sunveil.infer_records import infer_records as infer_records
from sunveil.meters.options import MeterOptions
from sunveil.meters.record import Record
from sunveil.meters.refusals import RefusedSystem
from sunveil.options import Method as Method
from sunveil.options import Options as Options
from sunveil.progress import progress
from sunveil.site import Losses, Site
from sunveil.site_skies import SiteSkies as SiteSkies
from sunveil.site_skies import record_span as record_span

if TYPE_CHECKING:
    import pandas as pd

    from sunveil.meters.given import ReadingsLike
    from sunveil.weather import Weather, WeatherCache


@without_unit
def infer(
    power: ReadingsLike,
    *,
    site: Site | Any | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    altitude: float | None = None,
    times: Any = None,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    timezone: str | dt.tzinfo | None = None,
    power_unit: str = "auto",
    label: str = "auto",
    net: bool = False,
    method: str = "default",
    clock: str = "repair",
    losses: Losses | float | None = None,
    albedo: float = 0.2,
    group: str = "month",
    search: str = "exhaustive",
    mount: str = "unknown",
    force: bool = False,
    cache: WeatherCache | None = None,
) -> Estimate:
    """Infer azimuth, tilt and DC capacity of one system from its meter.

    Parameters
    ----------
    power
        The readings of one system: a series indexed by time; a frame with one column of readings,
        indexed by time or beside a column of times; an array with ``times``; the same of polars,
        pyarrow or anything else that speaks Arrow; the path of a meter file that has one system; or
        a record that a reader returned, whose own unit, time zone and label then count. For a
        frame of several systems, see :func:`infer_frame`.
    site
        The place, as a :class:`~sunveil.Site` or as pvlib's ``Location``.
    latitude, longitude
        The place as numbers, in its stead; north and east are positive. [degrees]
    altitude
        Height above the sea; looked up when left out. [m]
    times
        The time of each reading of an array.
    weather
        ``"clearsky"`` (no network, no key), ``"nsrdb"``, ``"pvgis"``, a file's path, a
        :class:`~sunveil.weather.Weather`, or a frame in pvlib's names.
    timezone
        Time zone of times that have none: ``"UTC"``, ``"-07:00"``, an IANA name, or a zone of
        zoneinfo or pytz.
    power_unit
        Unit of the readings: W, kW, MW, Wh, kWh or MWh. With ``auto``, the name of the series or
        the header of the file must say it (``power_kw``). Only where readings are impossible in W
        or in kW is a series without it taken to be in the other, with a note.
    label
        Which instant of its interval a stamp names: ``start`` (or ``left``, as pandas' ``resample``
        says), ``middle``, ``end`` (or ``right``); or ``auto``: the middle of intervals below 30
        minutes, the start of longer ones.
    net
        Whether the series is generation less a household's load, as a meter at the grid sees it:
        above zero where there is more generation. What looks like one is taken for one in any case.
    method
        ``default`` or ``paper``.
    clock
        ``repair`` or ``given``.
    losses
        The fraction that the system loses, or :class:`~sunveil.Losses` with the inverter's
        efficiency and the temperature coefficient; calibrated ones when left out.
    albedo
        Fraction of light that the ground sends back.
    group
        How the paper's method groups days: ``week``, ``month`` or ``quarter``.
    search
        How it looks for its maximiser: ``exhaustive`` or ``bayesopt``.
    mount
        ``rack``, ``roof`` or ``unknown``; a known mount makes the capacity surer.
    force
        Infer what does not look like generation at this place all the same, flagged.
    cache
        Where weather is kept; the user's cache folder when left out.

    Returns
    -------
    Estimate
        Plane, capacity, their 90% intervals, the clock, and what to know before trusting them. It
        keeps the readings in memory for :meth:`Estimate.plot`; what it writes does not hold them.

    Privacy
    -------
    None: the estimate is as private as the readings. Releases are another matter.
    """
    from sunveil.meters.given import record_of

    options = Options.of(
        method=method,
        clock=clock,
        losses=losses,
        albedo=albedo,
        group=group,
        search=search,
        mount=mount,
        force=force,
    )
    place = Site.of(site, latitude=latitude, longitude=longitude, altitude=altitude)
    skies = SiteSkies.at(place, weather=weather, cache=cache)
    record = record_of(
        power, times=times, power_unit=power_unit, timezone=timezone, label=label, net=net
    )
    return _given(next(_with_sources([record], skies, options)))


@without_unit
def infer_frame(
    frame: pd.DataFrame | Any,
    *,
    site: Site | Any | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    altitude: float | None = None,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    timezone: str | dt.tzinfo | None = None,
    power_unit: str = "auto",
    label: str = "auto",
    net: bool = False,
    method: str = "default",
    clock: str = "repair",
    losses: Losses | float | None = None,
    albedo: float = 0.2,
    group: str = "month",
    search: str = "exhaustive",
    mount: str = "unknown",
    force: bool = False,
    cache: WeatherCache | None = None,
) -> FrameEstimates:
    """Infer every system of a frame of one place, in the order of the systems' names.

    Every system stands alone: one that cannot be inferred is told in ``refused`` with its reason,
    and the others' estimates are the same. A bar shows how far it is, on a terminal or in a
    notebook.

    Parameters
    ----------
    frame
        Long, with the columns ``system_id``, ``time`` and ``power_kw``; or wide, indexed by time
        with a column for each system. Of pandas, polars or pyarrow.
    site, latitude, longitude, altitude, weather, cache
        As for :func:`infer`.
    timezone, power_unit, label, net
        As for :func:`infer`; the unit of a long frame must be given or in its column's name.
    method, clock, losses, albedo, group, search, mount, force
        As for :func:`infer`.

    Returns
    -------
    FrameEstimates
        A sequence of the estimates, with ``refused`` and ``to_frame()``.

    Privacy
    -------
    None: the estimates are as private as the readings.
    """
    from sunveil.meters.frames import systems_of_frame
    from sunveil.meters.given import frame_of

    options = Options.of(
        method=method,
        clock=clock,
        losses=losses,
        albedo=albedo,
        group=group,
        search=search,
        mount=mount,
        force=force,
    )
    place = Site.of(site, latitude=latitude, longitude=longitude, altitude=altitude)
    skies = SiteSkies.at(place, weather=weather, cache=cache)
    # a zone of zoneinfo or pytz is kept by its name
    zone: Any = timezone
    reading = MeterOptions(power_unit=power_unit, timezone=zone, label=label, net=net)
    systems = systems_of_frame(frame_of(frame), reading)
    records = [each for each in systems if isinstance(each, Record)]
    refused = [each for each in systems if isinstance(each, RefusedSystem)]
    estimates = []
    found = progress(_with_sources(records, skies, options), "inferring", total=len(records))
    for record, each in zip(records, found, strict=True):
        if isinstance(each, Estimate):
            estimates.append(each)
        else:
            refused.append(RefusedSystem(record.system_id, "inference", str(each)))
    return FrameEstimates(tuple(estimates), tuple(refused))


@checked
def infer_record(
    record: Record,
    weather: Weather,
    *,
    options: Options | None = None,
    cache: WeatherCache | None = None,
) -> Estimate:
    """Infer the metadata of one system.

    Parameters
    ----------
    record
        The readings.
    weather
        The weather over their span, which names the site too.
    options
        What is assumed and done.
    cache
        Where clear-sky weather is kept.
    """
    instance("record", record, Record, give="a Record, as sunveil.read_meters returns it")
    if options is not None:
        instance("options", options, Options, give="Options, as sunveil.options has them")
    skies = SiteSkies.under(weather, cache=cache)
    return _given(next(_with_sources([record], skies, options or Options())))


def _with_sources(
    records: Sequence[Record], skies: SiteSkies, options: Options
) -> Iterator[Estimate | SunveilError]:
    """Yield what :func:`infer_records` does, each estimate with what it came from beside it."""
    found = infer_records(records, skies, options=options)
    for record, each in zip(records, found, strict=True):
        if isinstance(each, Estimate):
            yield replace(each, source=EstimateSource(record, skies, skies.site))
        else:
            yield each


def _given(found: Estimate | SunveilError) -> Estimate:
    """Return an estimate, or raise why there is none."""
    if isinstance(found, SunveilError):
        raise found
    return found
