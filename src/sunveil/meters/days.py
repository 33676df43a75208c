"""Tables in which every row is a day, with a column for each of its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.dates import NO_TIME
from sunveil.meters.header import fold
from sunveil.meters.options import MeterOptions
from sunveil.meters.textcells import coded
from sunveil.meters.vocabulary import CONSUMPTION_KINDS, GENERATION_KINDS

_MINUTE = 60_000_000


def rows_of_one_kind(
    kinds: pa.Array, options: MeterOptions, *, where: str, strict: bool
) -> NDArray[np.bool_]:
    """Return which rows are of generation, where a column says what each row counts.

    Parameters
    ----------
    kinds
        What each row counts.
    options
        ``power_column`` names the kind of rows to read.
    where
        The name of the table, for messages.
    strict
        Whether rows of several kinds are refused where none is known as generation.
    """
    texts, codes = coded(kinds)
    folded = [fold(each) for each in texts.to_pylist()]
    wanted = None if options.power_column is None or not strict else fold(options.power_column)
    if wanted is None:
        wanted = next((each for each in GENERATION_KINDS if each in folded), None)
    if not strict and wanted is None and options.power_column is not None:
        return np.ones(len(codes), dtype=bool)
    if wanted is None and folded and set(folded) <= CONSUMPTION_KINDS:
        raise MeterError(
            f"{where} has rows of consumption alone: give those of generation, or name the kind to"
            f" read with {ask('power_column')}"
        )
    if wanted is None and len(set(folded)) == 1:
        wanted = folded[0]
    if wanted is None and not strict:
        return np.ones(len(codes), dtype=bool)
    if wanted is None or wanted not in folded:
        raise MeterError(
            f"{where} has rows of {len(set(folded))} kinds: name the kind that is generation with"
            f" {ask('power_column')}"
        )
    return np.array([each == wanted for each in folded], dtype=bool)[codes]


def days_as_rows(readings: Any, minutes: Sequence[float]) -> tuple[Any, ...]:
    """Return the readings of days as rows of one interval each, in the order of their fields.

    Parameters
    ----------
    readings
        Rows of days; their numbers are column after column.
    minutes
        What the clock shows at each column. [min]
    """
    size, days = len(minutes), len(readings.rows)

    def turned(flat: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if flat is None else flat.reshape(size, days).T.reshape(-1)

    def spread(each: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if each is None else np.repeat(each, size)

    numbers = readings.numbers
    shown = (np.asarray(minutes) * _MINUTE).astype(np.int64)
    wall = np.repeat(readings.wall, size)
    lost = wall == NO_TIME
    wall = np.where(lost, NO_TIME, np.where(lost, 0, wall) + np.tile(shown, days))
    return (
        spread(readings.rows),
        wall,
        spread(readings.offset),
        replace(
            numbers,
            values=turned(numbers.values),
            text=turned(numbers.text),
            with_unit=turned(numbers.with_unit),
            energy=turned(numbers.energy),
        ),
        turned(readings.commas),
        turned(readings.evidence),
        spread(readings.codes),
        spread(readings.blank_stamp),
        spread(readings.torn),
    )
