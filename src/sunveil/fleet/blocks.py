"""Systems on a common grid, as a matrix."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numba import njit
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.fleet.file_layouts import FileLayout, Stamp
from sunveil.fleet.run_context import RunContext
from sunveil.fleet.survey import Runs, Survey
from sunveil.fleet.unusual_records import Power, inspect
from sunveil.meters.quality_rules import SENTINELS
from sunveil.meters.reading_options import Unit
from sunveil.meters.record import SHORT_INTERVAL, Label, Record, prepared
from sunveil.site import DAY, Array, TimeGrid

if TYPE_CHECKING:
    from sunveil.inference.fleet_part import Span


def scatter(
    runs: Runs,
    values: NDArray[np.float32],
    axis: TimeGrid,
    row: NDArray[np.int32],
    *,
    shift: int,
    factor: float,
    needs_review: NDArray[np.uint8],
    power: Power,
) -> None:
    """Put the readings of some systems on an axis, and mark those that do not stand on it."""
    first = axis.first + shift
    blanks = tuple(np.float32(each) for each in SENTINELS)
    _scatter(runs, values, row, first, axis.step, np.float32(factor), blanks, needs_review, power)


def compile_kernels() -> None:
    """Compile what lays rows out, for the types that it is called with."""
    nothing = np.empty((0, 5), dtype=np.int64)
    power, rows = np.empty((1, 1), dtype=np.float32), np.zeros(1, dtype=np.int32)
    review = np.zeros(1, dtype=np.uint8)
    axis = TimeGrid(0, 3600, 1)
    scatter(nothing, power[0], axis, rows, shift=0, factor=1.0, needs_review=review, power=power)


@njit(cache=True, nogil=True)
def _scatter(runs, values, row, first, step, factor, blanks, needs_review, power):  # type: ignore[no-untyped-def]
    """Lay runs (r, 5) of values (n,) onto the rows of power (systems, intervals). [s, kW]"""
    # The other parameters are those of scatter, with the start of the axis as its stamps have it [s
    # since 1970], and what loggers write where there is no reading.
    count = power.shape[1]
    # how far each row is written: what comes behind stands on nothing
    written = np.zeros(len(power), dtype=np.int64)
    for run in range(len(runs)):
        s = runs[run, 0]
        if row[s] < 0:
            continue
        length = runs[run, 4]
        away = runs[run, 1] - first
        place = away // step
        stride = 1 if length == 1 else runs[run, 2] // step
        even = length == 1 or stride * step == runs[run, 2]
        last = place + (length - 1) * stride
        if away < 0 or place * step != away or not even or last >= count:
            needs_review[s] = 1
            continue
        source = values[runs[run, 3] : runs[run, 3] + length]
        line = power[row[s]]
        done = written[row[s]]
        if stride == 1 and place >= done:
            line[done:place] = np.nan
            unusual = _append(source, factor, blanks, line[place : last + 1])
        else:
            line[done : last + 1] = np.nan
            unusual = _insert(source, factor, blanks, line[place:], stride)
        written[row[s]] = max(done, last + 1)
        if unusual:
            needs_review[s] = 1
    for s in range(len(power)):
        power[s, written[s] :] = np.nan


@njit(cache=True, nogil=True)
def _append(source, factor, blanks, target):  # type: ignore[no-untyped-def]
    """Turn readings (n,) into kW in a target (n,); return whether one is infinite."""
    endless = False
    for k in range(len(source)):
        value = source[k]
        missing = False
        for blank in blanks:
            missing |= value == blank
        endless |= np.isinf(value)
        # adding zero turns -0.0 into 0.0
        target[k] = np.float32(np.nan) if missing else value * factor + np.float32(0.0)
    return endless


@njit(cache=True, nogil=True)
def _insert(source, factor, blanks, target, stride):  # type: ignore[no-untyped-def]
    """Put readings (n,) as kW at every stride-th place of a target."""
    # Return whether one is infinite, or stands where another was.
    unusual = False
    for k in range(len(source)):
        value = source[k]
        missing = False
        for blank in blanks:
            missing |= value == blank
        if stride > 1 and (missing or np.isnan(value)):
            continue  # what lies between may be a run of its own
        unusual |= not np.isnan(target[k * stride]) or np.isinf(value)
        target[k * stride] = np.float32(np.nan) if missing else value * factor + np.float32(0.0)
    return unusual


# Over a longer span than this, systems are placed on the calendar years that they have. [s]
_LONGEST = 5 * 366 * 86400


@dataclass(frozen=True, slots=True)
class BlockFrame:
    """What the systems of a matrix have in common."""

    axis: TimeGrid
    timezone: str
    label: Label
    label_known: bool
    net: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Systems on one frame."""

    frame: BlockFrame  # intervals, clock and label
    systems: NDArray[np.int32]  # their numbers in the table, in the order of their cells
    power: Power  # [kW] one row each, NaN where there is no reading


def usual_blocks(
    survey: Survey, values: NDArray[np.float32], context: RunContext
) -> tuple[list[Block], NDArray[np.int32]]:
    """Return the systems with records that need no second look, and the numbers of the others."""
    count = len(survey)
    needs_review = survey.needs_review[:count].copy()
    found = survey.found[:count]
    step = survey.step[:count]
    needs_review |= (step < 60) | (step > 3600) | (step % 60 != 0)
    frames, frame_of = _frames(survey, needs_review, context)
    blocks = []
    columns, negate = context.job.source.columns, context.job.reading.negate
    runs = survey.runs
    members = [np.flatnonzero(frame_of == number) for number in range(len(frames))]
    for frame, local in zip(frames, members, strict=True):
        local = local[np.lexsort((found[local], context.cells.of[found[local]]))]
        row = np.full(count, -1, dtype=np.int32)
        row[local] = np.arange(len(local), dtype=np.int32)
        power = np.empty((len(local), frame.axis.count), dtype=np.float32)
        scatter(
            runs,
            values,
            frame.axis,
            row,
            shift=_shift(frame),
            factor=_factor(columns.unit, frame.axis.step, negate=negate),
            needs_review=needs_review,
            power=power,
        )
        odd = inspect(power, frame.axis, net=frame.net, sign_known=negate)
        wrong = needs_review[local].astype(bool) | odd
        needs_review[local[wrong]] = 1
        blocks.append(Block(frame, found[local[~wrong]], power[~wrong] if wrong.any() else power))
    return blocks, np.sort(found[needs_review.astype(bool)])


def _frames(
    survey: Survey, needs_review: NDArray[np.uint8], context: RunContext
) -> tuple[list[BlockFrame], NDArray[np.int32]]:
    """Return the frames of the systems, and the number of each one's, -1 for none."""
    count = len(survey)
    step = np.maximum(survey.step[:count], 60)
    clock = context.clock[survey.found[:count]]
    net = context.net[survey.found[:count]]
    known = context.job.reading.known_label
    label = known or Label.START
    short = step < SHORT_INTERVAL
    shift = np.rint(label.fraction * step).astype(np.int64)
    if known is None:
        shift = np.where(short, np.rint(Label.MIDDLE.fraction * step).astype(np.int64), shift)
    low, high = survey.low[:count] - shift, survey.high[:count] - shift
    phase = low % step
    needs_review |= phase % 60 != 0
    keys = np.column_stack([step, phase, clock, net, *_years(low, high, context)])
    keys = keys[needs_review == 0]
    frame_of = np.full(count, -1, dtype=np.int32)
    if not len(keys):
        return [], frame_of
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    frame_of[needs_review == 0] = inverse.reshape(-1)
    frames = []
    for length, after, zone, is_net, first, last in unique.tolist():
        named = known or (Label.MIDDLE if length < SHORT_INTERVAL else Label.START)
        moved = round(named.fraction * length)
        axis = _axis(length, after, (first - moved, last - moved))
        clock_name = context.clocks[zone]
        frames.append(BlockFrame(axis, clock_name, named, known is not None, bool(is_net)))
    return frames, frame_of


def _years(
    low: NDArray[np.int64], high: NDArray[np.int64], context: RunContext
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the span of stamps that each system is placed on: the fleet's, or its own years."""
    first, last = context.span_seconds
    if last - first > _LONGEST:
        starts = _new_year(low.view("M8[s]").astype("M8[Y]"))
        ends = _new_year(high.view("M8[s]").astype("M8[Y]") + 1)
        return starts, ends
    if context.job.source.columns.stamp is Stamp.WALL:
        first, last = first - 86400, last + 86400
    return np.full(len(low), first), np.full(len(low), last)


def _new_year(years: NDArray[np.datetime64]) -> NDArray[np.int64]:
    return np.asarray(years.astype("M8[s]").view(np.int64))


def _axis(step: int, phase: int, span: tuple[int, int]) -> TimeGrid:
    first = span[0] - (span[0] - phase) % step
    return TimeGrid(first, step, (span[1] - first) // step + 1)


def _shift(frame: BlockFrame) -> int:
    return round(frame.label.fraction * frame.axis.step)


def _factor(unit: Unit, step: int, *, negate: bool) -> float:
    hours = step / 3600 if unit.is_energy else 1.0
    return (-unit.kilo if negate else unit.kilo) / hours


def record_blocks(records: Sequence[tuple[int, Record]], context: RunContext) -> list[Block]:
    """Return records that the reader of single files made, as blocks."""
    together: dict[BlockFrame, list[tuple[int, Record]]] = {}
    for number, record in records:
        together.setdefault(_record_frame(record, context), []).append((number, record))
    blocks = []
    for frame, members in together.items():
        members.sort(key=lambda each: (int(context.cells.of[each[0]]), each[0]))
        power = np.full((len(members), frame.axis.count), np.nan, dtype=np.float32)
        for row, (_, record) in enumerate(members):
            starts = record.times.astype("M8[s]").view(np.int64)
            power[row, (starts - frame.axis.first) // frame.axis.step] = record.power_kw
        numbers = np.array([number for number, _ in members], dtype=np.int32)
        blocks.append(Block(frame, numbers, power))
    return blocks


def _record_frame(record: Record, context: RunContext) -> BlockFrame:
    step = round(record.interval_minutes * 60)
    low, high = (int(each) for each in record.times[[0, -1]].astype("M8[s]").view(np.int64))
    first, last = context.span_seconds
    moved = round(record.label.fraction * step)
    span = first - moved, last - moved
    if context.job.source.columns.stamp is Stamp.WALL:
        span = span[0] - 86400, span[1] + 86400
    if last - first > _LONGEST or low < span[0] or high > span[1]:
        # files of their own are many or few; the skies of a fleet's parts are shared
        unit = "M" if context.job.source.columns.layout is FileLayout.FILES else "Y"
        ends = np.array([low, high]).view("M8[s]").astype(f"M8[{unit}]") + np.array([0, 1])
        starts = ends.astype("M8[s]").view(np.int64)
        span = int(starts[0]), int(starts[1]) - step
    axis = _axis(step, low % step, span)
    return BlockFrame(axis, record.timezone, record.label, record.label_known, bool(record.net))


def grid_of(record: Record) -> TimeGrid:
    """Return the grid of times from a record's first reading to its last."""
    step = round(record.interval_minutes * 60.0)
    first, last = record.times[[0, -1]].astype("datetime64[s]").astype(np.int64).tolist()
    return TimeGrid(first, step, (last - first) // step + 1)


# Systems at one place that are worked on together; a sky serves them all.
_TOGETHER = 64


def iter_own_blocks(records: Iterable[Record]) -> Iterator[Block]:
    """Yield neighbours that share a grid and a clock as blocks; systems are records by number."""
    for frame, together in groupby(enumerate(records), key=lambda each: _own_frame(each[1])):
        while batch := list(islice(together, _TOGETHER)):
            numbers = np.array([number for number, _ in batch], dtype=np.int32)
            yield Block(frame, numbers, on_grid([record for _, record in batch], frame.axis))


def _own_frame(record: Record) -> BlockFrame:
    grid, net = grid_of(record), bool(record.net)
    return BlockFrame(grid, record.timezone, record.label, record.label_known, net)


def on_grid(records: Sequence[Record], grid: TimeGrid) -> NDArray[np.float32]:
    """Return the readings of records on a grid, NaN where there is none. [kW]"""
    power = np.full((len(records), grid.count), np.nan, dtype=np.float32)
    for row, record in zip(power, records, strict=True):
        starts = record.times.astype("datetime64[s]").astype(np.int64)
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and no reading
            row[(starts - grid.first) // grid.step] = record.power_kw
    return power


def time_grid_of(record: Record, *, longitude: float) -> TimeGrid:
    """Return the whole solar days between the first and the last row of a record's source."""
    # Public: it depends on which rows the source has, with a reading or without.
    step = round(record.interval_minutes * 60.0)
    # of the rows, not of the readings: that a reading is missing is private
    first, last = (int(end.astype("datetime64[s]").astype(np.int64)) for end in record.extent)
    turn = round(longitude * 240.0)
    before = ((first + turn) % DAY) // step
    count = before + (last - first) // step + 1
    return TimeGrid(first - before * step, step, -(-count * step // DAY) * DAY // step)


def power_on(time_grid: TimeGrid, record: Record) -> Array:
    """Return a record's power on a grid of times. [kW]"""
    # Where there is no reading it is 0, which agrees with no candidate; NaN of a net meter.
    # Refuses a record with intervals that are not those of the grid, without telling a reading.
    held = prepared(record)
    if round(held.interval_minutes * 60.0) != time_grid.step:
        raise MeterError(
            f"system {record.system_id} has intervals of {held.interval_minutes:g} minutes, and"
            f" the release was framed for {time_grid.step / 60.0:g}"
        )
    seconds = held.times.astype("datetime64[s]").astype(np.int64)
    place, off = np.divmod(seconds - time_grid.first, time_grid.step)
    if len(place) and (off.any() or place.min() < 0 or place.max() >= time_grid.count):
        raise MeterError(
            f"system {record.system_id} has stamps outside the times that the release was"
            " framed for"
        )
    power: Array = np.full(time_grid.count, np.nan if record.net else 0.0)
    power[place] = held.power_kw
    return power


MARGIN = dt.timedelta(days=2)


def record_span(record: Record) -> Span:
    """Return the span of a record with a margin for wrong clocks, in UTC."""
    first, last = (pd.Timestamp(t, tz="UTC") for t in record.extent)
    return first - MARGIN, last + MARGIN
