"""Records laid onto a grid of times, as declared or on the clock that an estimate found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.hypotheses import ClockHypothesis
from sunveil.engine.saving import ClockCalendar
from sunveil.estimate import Estimate
from sunveil.meters.record import Record
from sunveil.site import Site
from sunveil.timegrid import TimeGrid


def grid_of(record: Record) -> TimeGrid:
    """Return the grid of times from a record's first reading to its last."""
    step = round(record.interval_minutes * 60.0)
    first, last = record.times[[0, -1]].astype("datetime64[s]").astype(np.int64).tolist()
    return TimeGrid(first, step, (last - first) // step + 1)


def on_grid(records: Sequence[Record], grid: TimeGrid) -> NDArray[np.float32]:
    """Return the readings of records on a grid, NaN where there is none. [kW]"""
    power = np.full((len(records), grid.count), np.nan, dtype=np.float32)
    for row, record in zip(power, records, strict=True):
        starts = record.times.astype("datetime64[s]").astype(np.int64)
        row[(starts - grid.first) // grid.step] = record.power_kw
    return power


def repaired(record: Record, estimate: Estimate, site: Site) -> Record:
    """Return a record on the clock that an estimate found.

    Parameters
    ----------
    record
        The readings.
    estimate
        What was found of their clock.
    site
        Where they are, which decides when daylight is saved.
    """
    clock = estimate.clock
    # a label found to be another one is half an interval or a whole one of offset
    moved = (clock.label.fraction - record.label.fraction) * record.interval_minutes
    hypothesis = ClockHypothesis(clock.offset_minutes + moved, clock.daylight_saving, clock.steps)
    seconds = record.times.astype("datetime64[s]").astype(np.int64)
    calendar = ClockCalendar.of(seconds, site, record.timezone)
    times = record.times - hypothesis.ahead_seconds(calendar).astype("timedelta64[s]")
    # where an hour is put back, the last readings before and the first ones after it meet
    times, first = np.unique(times, return_index=True)
    return replace(record, times=times, power_kw=record.power_kw[first], rows_span=None)
