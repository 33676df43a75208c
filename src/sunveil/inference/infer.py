"""Infer one system, or the systems of a file or a data frame."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pandas as pd

from sunveil._files import progress
from sunveil._options import checked, instance, options_of, split_options
from sunveil.engine.clock_faults import repaired
from sunveil.engine.net_meters import Separated
from sunveil.engine.net_meters import separate as separate_on_grid
from sunveil.engine.plausibility import note_on_unit
from sunveil.engine.sky_tables import SkyTable
from sunveil.errors import MeterError, ParameterError, SunveilError
from sunveil.estimates.columns import objects
from sunveil.estimates.estimates_table import Estimate, Estimates, EstimateSource
from sunveil.estimates.inference_options import InferOptions, SystemKeywords
from sunveil.estimates.planes_and_intervals import Assumptions, ClockFinding
from sunveil.fleet.blocks import Block, grid_of, iter_own_blocks, on_grid
from sunveil.inference.fleet_part import SiteSkies, as_refusal, by_paper, infer_systems
from sunveil.meters.dataframes import frame_of, record_of, systems_of_frame
from sunveil.meters.reading_options import MeterKeywords, MeterOptions
from sunveil.meters.record import Record, RefusedSystem
from sunveil.meters.time_steps import clock_elsewhere
from sunveil.site import Site, SkyModel

if TYPE_CHECKING:
    from sunveil.meters.dataframes import ReadingsLike
    from sunveil.weather.cache import WeatherCache
    from sunveil.weather.weather_data import Weather


def infer_records(
    records: Sequence[Record], skies: SiteSkies, *, options: InferOptions | None = None
) -> Iterator[Estimate | SunveilError]:
    """Yield the metadata of each system of a site, or why there is none, in the records' order."""
    # Every system stands alone: whatever one record holds, the others' estimates are the same.
    options = options or InferOptions()
    for block in iter_own_blocks(records):
        own = [records[number] for number in block.systems]
        elsewhere = clock_elsewhere(block.frame.timezone, skies.site.longitude)
        if elsewhere is None:
            yield from _infer_block(own, block, skies, options)
        else:
            yield from (ParameterError(f"system {one.system_id}: {elsewhere}") for one in own)


def _infer_block(
    records: Sequence[Record], block: Block, skies: SiteSkies, options: InferOptions
) -> list[Estimate | SunveilError]:
    """Return the estimates of records that share a frame."""
    names = [each.system_id for each in records]
    try:
        sky = skies.over(block.frame.axis)
    except Exception as error:
        return [as_refusal(name, error) for name in names]
    block = replace(block, systems=np.arange(len(records), dtype=np.int32))
    out: dict[int, Estimate | SunveilError] = {}
    for found in infer_systems(block, names, sky, options):
        if not isinstance(found, Estimates):
            out[found[0]] = found[1]
            continue
        own = [records[number] for number in found.system]
        found.set(
            system_id=objects([each.system_id for each in own]),
            notes=objects([_notes(*each) for each in zip(own, found.dc_capacity_kw, strict=True)]),
            assumptions=Assumptions(
                losses=options.losses,
                albedo=options.albedo,
                sky_model=SkyModel.PEREZ.value,
                weather=sky.source,
                method=options.method.value,
                mount=options.mount,
            ),
            source=objects([EstimateSource(each, skies, skies.site) for each in own]),
        )
        for record, estimate in zip(own, found, strict=True):
            try:
                out[estimate.system] = by_paper(record, estimate, skies, options)
            except Exception as error:
                out[estimate.system] = as_refusal(record.system_id, error)
    return [out[number] for number in range(len(records))]


def _notes(record: Record, capacity_kw: float) -> tuple[str, ...]:
    unit = note_on_unit(capacity_kw, record.unit, unit_known=record.unit_known)
    return (*record.notes, unit) if unit else record.notes


def infer(
    power: ReadingsLike,
    *,
    site: Site | Any | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    altitude: float | None = None,
    times: Any = None,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    cache: WeatherCache | None = None,
    **options: Unpack[SystemKeywords],
) -> Estimate:
    """Infer azimuth, tilt and DC capacity of one system from its meter.

    Parameters
    ----------
    power
        The readings of one system: a series indexed by time; a frame with one column of readings,
        indexed by time or beside a column of times; an array with ``times``; the same of polars,
        pyarrow or anything else that speaks Arrow; the path of a meter file that has one system; or
        a record that a reader returned, with its own unit, time zone and label. For a
        frame of several systems, see :func:`infer_frame`.
    site
        The place, as a :class:`~sunveil.Site` or as pvlib's ``Location``.
    latitude, longitude
        The place as numbers instead; north and east positive. [degrees]
    altitude
        Height above the sea; looked up by default. [m]
    times
        The time of each reading of an array.
    weather
        ``"clearsky"`` (no network, no key), ``"nsrdb"``, ``"pvgis"``, a file's path, a
        :class:`~sunveil.weather.Weather`, or a frame in pvlib's names.
    cache
        Cache of weather; default: in the user's cache folder.
    **options
        Options of :class:`~sunveil.meters.MeterOptions` and
        :class:`~sunveil.estimates.inference_options.InferOptions`: ``timezone``, ``power_unit``,
        ``label``, ``net``; ``clock``, ``losses``, ``albedo``, ``mount``, ``force``, ...

    Returns
    -------
    Estimate
        Plane, capacity, 90% intervals, clock and flags. It keeps the readings in memory for
        :meth:`Estimate.plot`; they are never written.

    Privacy
    -------
    No protection: the estimate is as private as the readings. Releases are another matter.
    """
    reading, inference = split_options(options, MeterOptions, InferOptions)
    place = Site.of(site, latitude=latitude, longitude=longitude, altitude=altitude)
    skies = SiteSkies.at(place, weather=weather, cache=cache)
    record = record_of(power, reading, times=times)
    return _given(next(infer_records([record], skies, options=inference)))


def infer_frame(
    frame: pd.DataFrame | Any,
    *,
    site: Site | Any | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    altitude: float | None = None,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    cache: WeatherCache | None = None,
    **options: Unpack[SystemKeywords],
) -> Estimates:
    """Infer every system of a frame of one place, in the order of the systems' names.

    Every system stands alone: one that cannot be inferred is in ``refused`` with its reason,
    and the others' estimates are the same. A bar shows how far it is, on a terminal or in a
    notebook.

    Parameters
    ----------
    frame
        Long, with the columns ``system_id``, ``time`` and ``power_kw``; or wide, indexed by time
        with a column for each system. Of pandas, polars or pyarrow.
    site, latitude, longitude, altitude, weather, cache, **options
        As for :func:`infer`; the unit of a long frame must be given or in its column's name.

    Returns
    -------
    Estimates
        A sequence of the estimates, with ``refused`` and ``to_frame()``.

    Privacy
    -------
    No protection: the estimates are as private as the readings.
    """
    reading, inference = split_options(options, MeterOptions, InferOptions)
    place = Site.of(site, latitude=latitude, longitude=longitude, altitude=altitude)
    skies = SiteSkies.at(place, weather=weather, cache=cache)
    systems = systems_of_frame(frame_of(frame), reading)
    records = [each for each in systems if isinstance(each, Record)]
    refused = [each for each in systems if isinstance(each, RefusedSystem)]
    estimates = []
    found = infer_records(records, skies, options=inference)
    for record, each in zip(records, progress(found, "inferring", total=len(records)), strict=True):
        if isinstance(each, Estimate):
            estimates.append(each)
        else:
            refused.append(RefusedSystem(record.system_id, "inference", str(each)))
    return Estimates.gathered(estimates, refused)


@checked
def infer_record(
    record: Record,
    weather: Weather,
    *,
    options: InferOptions | None = None,
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
        instance("options", options, InferOptions, give="InferOptions")
    skies = SiteSkies.under(weather, cache=cache)
    return _given(next(infer_records([record], skies, options=options)))


def _given(found: Estimate | SunveilError) -> Estimate:
    """Return an estimate, or raise why there is none."""
    if isinstance(found, SunveilError):
        raise found
    return found


COLUMNS = ("generation_kw", "generation_low_kw", "generation_high_kw", "load_kw")


def separate(
    power: ReadingsLike,
    estimate: Estimate,
    *,
    site: Site | Any | None = None,
    latitude: float | None = None,
    longitude: float | None = None,
    altitude: float | None = None,
    times: Any = None,
    weather: str | os.PathLike[str] | Weather | pd.DataFrame = "clearsky",
    cache: WeatherCache | None = None,
    **options: Unpack[MeterKeywords],
) -> pd.DataFrame:
    """Tell the generation of a net meter from its household's load, with a 90% band.

    Parameters
    ----------
    power
        What the estimate was inferred from, generation less load: whatever
        :func:`sunveil.infer` takes.
    estimate
        What :func:`sunveil.infer` said of it.
    site, latitude, longitude, altitude, times, weather, cache, **options
        As they were for :func:`sunveil.infer`.

    Returns
    -------
    pandas.DataFrame
        By the UTC start of each interval that has a reading, on the clock that the estimate found:
        ``generation_kw``, ``generation_low_kw``, ``generation_high_kw`` and ``load_kw``; generation
        less load is the reading, except that where a reading is zero, the load is what is expected
        of at most zero. [kW]

    Raises
    ------
    MeterError
        When the estimate is not of a net meter: its generation is what it reads.

    Privacy
    -------
    None: what a household uses by the hour is more private than anything else here.
    """
    instance("estimate", estimate, Estimate, give="an Estimate, as sunveil.infer returns it")
    place = Site.of(site, latitude=latitude, longitude=longitude, altitude=altitude)
    skies = SiteSkies.at(place, weather=weather, cache=cache)
    reading = options_of(MeterOptions, options, net=True)
    record = record_of(power, reading, times=times, system_id=estimate.system_id)
    return separate_record(record, skies, estimate)


def separate_record(record: Record, skies: SiteSkies, estimate: Estimate) -> pd.DataFrame:
    """Return :func:`separate` of a record under the skies of its site."""
    if estimate.household is None:
        raise MeterError(
            f"system {estimate.system_id} is no net meter: it reads its generation, and there is no"
            " load to tell it from"
        )
    fixed = repaired(record, estimate, skies.site)
    sky, found = separate_repaired(fixed, skies, estimate)
    read = np.isfinite(found.generation)
    values: dict[str, Any] = dict(
        zip(COLUMNS, (found.generation, found.low, found.high, found.load), strict=True)
    )
    times = pd.DatetimeIndex(sky.grid.times[read], name="time").tz_localize("UTC")
    return pd.DataFrame({name: each[read] for name, each in values.items()}, index=times)


def separate_repaired(
    fixed: Record, skies: SiteSkies, estimate: Estimate
) -> tuple[SkyTable, Separated]:
    """Return the sky over a record on the clock that was found, and what was separated there."""
    grid = grid_of(fixed)
    sky = skies.over(grid)
    assumed = estimate.assumptions
    options = InferOptions(losses=assumed.losses, albedo=assumed.albedo, mount=assumed.mount)
    # what the clock had wrong is out of these readings, and is not to be taken out twice
    right = estimate.replaced(clock=ClockFinding(0.0, fixed.label))
    power = on_grid([fixed], grid)[0]
    return sky, separate_on_grid(power, sky, right, options=options, timezone=fixed.timezone)
