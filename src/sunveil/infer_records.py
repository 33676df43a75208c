"""The systems of a site, batch by batch: each record's estimate, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

import numpy as np

from sunveil.by_paper import by_paper
from sunveil.engine import SAVINGS, BlockEstimates, infer_any_block, reason
from sunveil.engine.hypotheses import ClockHypothesis, FoundClock
from sunveil.engine.metering import flag_units, note_on_unit
from sunveil.engine.outcomes import NO_WEATHER, flags_of, skyline_of
from sunveil.errors import ParameterError, SunveilError, TooLittleData, WeatherError
from sunveil.estimate import Assumptions, Estimate
from sunveil.gridded import grid_of, on_grid
from sunveil.meters.clock import clock_elsewhere
from sunveil.meters.read import failed
from sunveil.meters.record import Record
from sunveil.options import Options
from sunveil.quantities import Interval
from sunveil.site import Plane, SkyModel
from sunveil.site_skies import SiteSkies
from sunveil.timegrid import TimeGrid

# Systems that are inferred together; a sky serves them all.
BATCH = 64


def infer_records(
    records: Sequence[Record], skies: SiteSkies, *, options: Options | None = None
) -> Iterator[Estimate | SunveilError]:
    """Yield the metadata of each system of a site, or why there is none, in the records' order.

    Every system stands alone: whatever one record holds, the others' estimates are the same.

    Parameters
    ----------
    records
        The readings.
    skies
        The skies of the site.
    options
        What is assumed and done.
    """
    options = options or Options()
    # neighbours in the file that share a grid and a clock are inferred together
    for key, alike in groupby(records, key=_key):
        elsewhere = clock_elsewhere(key[1], skies.site.longitude)
        if elsewhere is not None:
            yield from (ParameterError(f"system {each.system_id}: {elsewhere}") for each in alike)
            continue
        for batch in _batches(alike):
            yield from _settle_batch(batch, key[0], skies, options)


def _key(record: Record) -> tuple[TimeGrid, str, bool, bool]:
    return grid_of(record), record.timezone, record.label_known, bool(record.net)


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    rest = iter(records)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _settle_batch(
    records: Sequence[Record], grid: TimeGrid, skies: SiteSkies, options: Options
) -> list[Estimate | SunveilError]:
    """Return the estimates of records that share a grid; one that fails leaves the others alone."""
    try:
        return list(_infer_batch(records, grid, skies, options))
    except SunveilError as error:  # of the sky, which all of them share
        return [error] * len(records)
    except Exception as error:
        if len(records) == 1:
            refused = SunveilError(failed(records[0].system_id, error).reason)
            refused.__cause__ = error
            return [refused]
        return [_settle_batch([record], grid, skies, options)[0] for record in records]


def _infer_batch(
    records: Sequence[Record], grid: TimeGrid, skies: SiteSkies, options: Options
) -> Iterator[Estimate | SunveilError]:
    """Yield the estimates of records that share a grid, a clock, a label and a kind of meter."""
    sky = skies.over(grid)
    found = infer_any_block(
        on_grid(records, grid),
        sky,
        net=bool(records[0].net),
        options=options.engine,
        timezone=records[0].timezone,
        label_known=records[0].label_known,
    )
    flag_units(found)
    for place, record in enumerate(records):
        outcome = int(found.outcome[place])
        if outcome:
            kind = WeatherError if outcome == NO_WEATHER else TooLittleData
            said = reason(outcome, int(found.lit[place]), source=sky.source)
            yield kind(f"system {record.system_id}: {said}")
            continue
        try:
            estimate = _estimate(record, found, place, source=sky.source, options=options)
            yield by_paper(record, estimate, skies, options)
        except SunveilError as error:
            yield error


def _estimate(
    record: Record, found: BlockEstimates, place: int, *, source: str, options: Options
) -> Estimate:
    """Return one system's entry of a block as its estimate."""

    def number(name: str) -> float:
        return float(getattr(found, name)[place])

    limit = number("ac_limit_kw")
    hypothesis = ClockHypothesis(
        number("clock_offset_minutes"),
        SAVINGS[int(found.clock_saving[place])],
        found.clock_steps[place],
    )
    clock = FoundClock(hypothesis, number("clock_gain"))
    flags, notes = flags_of(int(found.flags[place])), record.notes
    unit = note_on_unit(number("dc_capacity_kw"), record.unit, unit_known=record.unit_known)
    notes = (*notes, unit) if unit else notes
    return Estimate(
        system_id=record.system_id,
        plane=Plane(number("surface_azimuth"), number("surface_tilt")),
        dc_capacity_kw=number("dc_capacity_kw"),
        azimuth_interval=Interval(number("azimuth_low"), number("azimuth_high")),
        tilt_interval=Interval(number("tilt_low"), number("tilt_high")),
        capacity_interval=Interval(number("capacity_low"), number("capacity_high")),
        plane_error_degrees=number("plane_error_degrees"),
        ac_limit_kw=None if np.isnan(limit) else limit,
        clock=clock.finding(record.label, record.interval_minutes),
        agreement=number("agreement"),
        flags=flags,
        assumptions=Assumptions(
            losses=options.losses,
            albedo=options.albedo,
            sky_model=SkyModel.PEREZ.value,
            weather=source,
            method=options.method.value,
            mount=options.mount,
        ),
        notes=notes,
        haze_summer=number("haze_summer"),
        haze_winter=number("haze_winter"),
        heat=number("heat"),
        clear_hours=number("clear_hours"),
        skyline=skyline_of(found.skyline[place]),
        years=found.years[place],
        trend_percent_per_year=None if np.isnan(number("trend")) else number("trend"),
        planes=found.planes[place],
        tracker=found.tracker[place],
        household=found.household[place],
    )
