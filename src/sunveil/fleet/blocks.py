"""Systems that share intervals, clock and label: the matrices that are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.fleet.inspect import inspect
from sunveil.fleet.job import RunContext
from sunveil.fleet.layouts import FileLayout, Stamp
from sunveil.fleet.scatter import Power, scatter
from sunveil.fleet.survey import Survey
from sunveil.meters.options import Unit
from sunveil.meters.record import SHORT_INTERVAL, Label, Record
from sunveil.timegrid import TimeGrid

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
class Matrix:
    """Systems on one frame.

    Parameters
    ----------
    frame
        Intervals, clock and label.
    systems
        Their numbers in the table, in the order of their cells.
    power
        One row each, NaN where there is no reading. [kW]
    """

    frame: BlockFrame
    systems: NDArray[np.int32]
    power: Power


def usual_matrices(
    survey: Survey, values: NDArray[np.float32], context: RunContext
) -> tuple[list[Matrix], NDArray[np.int32]]:
    """Return the systems whose records need no second look, and the numbers of the others.

    Parameters
    ----------
    survey
        What the rows say of the systems.
    values
        The reading of each row.
    context
        The run.
    """
    count = len(survey)
    needs_review = survey.needs_review[:count].copy()
    found = survey.found[:count]
    step = survey.step[:count]
    needs_review |= (step < 60) | (step > 3600) | (step % 60 != 0)
    frames, frame_of = _frames(survey, needs_review, context)
    matrices = []
    columns, negate = context.job.source.columns, context.job.settings.meters.negate
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
        matrices.append(
            Matrix(frame, found[local[~wrong]], power[~wrong] if wrong.any() else power)
        )
    return matrices, np.sort(found[needs_review.astype(bool)])


def _frames(
    survey: Survey, needs_review: NDArray[np.uint8], context: RunContext
) -> tuple[list[BlockFrame], NDArray[np.int32]]:
    """Return the frames of the systems, and the number of each one's, -1 for none."""
    count = len(survey)
    step = np.maximum(survey.step[:count], 60)
    clock = context.clock[survey.found[:count]]
    net = context.net[survey.found[:count]]
    known = context.job.settings.meters.known_label
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


def record_matrices(records: Sequence[tuple[int, Record]], context: RunContext) -> list[Matrix]:
    """Return records that the reader of single files made, as matrices.

    Parameters
    ----------
    records
        Numbers of systems in the table, and their records.
    context
        The run.
    """
    together: dict[BlockFrame, list[tuple[int, Record]]] = {}
    for number, record in records:
        together.setdefault(_record_frame(record, context), []).append((number, record))
    matrices = []
    for frame, members in together.items():
        members.sort(key=lambda each: (int(context.cells.of[each[0]]), each[0]))
        power = np.full((len(members), frame.axis.count), np.nan, dtype=np.float32)
        for row, (_, record) in enumerate(members):
            starts = record.times.astype("M8[s]").view(np.int64)
            power[row, (starts - frame.axis.first) // frame.axis.step] = record.power_kw
        numbers = np.array([number for number, _ in members], dtype=np.int32)
        matrices.append(Matrix(frame, numbers, power))
    return matrices


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
