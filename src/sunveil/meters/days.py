"""Tables in which every row is a day, with a column for each of its intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.header import TableColumn, fold
from sunveil.meters.options import MeterOptions
from sunveil.meters.vocabulary import (
    CONSUMPTION_KINDS,
    EXPORT_KINDS,
    GENERATION_KINDS,
    IMPORT_KINDS,
    without_tariff,
)


def kind_of_rows(
    kinds: Sequence[str], options: MeterOptions, *, where: str, strict: bool
) -> NDArray[np.bool_]:
    """Return which kinds of rows are generation.

    Parameters
    ----------
    kinds
        What the rows of a system count, each once.
    options
        ``power_column`` names the kind of rows to read.
    where
        The name of the table, for messages.
    strict
        Whether rows of several kinds are refused where none is known as generation.
    """
    folded = [fold(each) for each in kinds]
    wanted = None if options.power_column is None or not strict else fold(options.power_column)
    if wanted is None:
        wanted = next((each for each in GENERATION_KINDS if each in folded), None)
    if not strict and wanted is None and options.power_column is not None:
        return np.ones(len(folded), dtype=bool)
    if wanted is None and folded and set(folded) <= CONSUMPTION_KINDS:
        named = "kind of rows" if strict else "column"
        raise MeterError(
            f"{where} has rows of consumption alone: give those of generation, or name the {named}"
            f" to read with {ask('power_column')}"
        )
    if wanted is None and len(set(folded)) == 1:
        wanted = folded[0]
    if wanted is None and not strict:
        return np.ones(len(folded), dtype=bool)
    if wanted is None or wanted not in folded:
        raise MeterError(
            f"{where} has rows of {len(set(folded))} kinds: name the kind that is generation with"
            f" {ask('power_column')}"
        )
    return np.array([each == wanted for each in folded], dtype=bool)


def kinds_of_flows(
    kinds: Sequence[str], options: MeterOptions, *, strict: bool
) -> tuple[list[NDArray[np.bool_]], list[NDArray[np.bool_]]] | None:
    """Return which kinds of rows are what was given to the grid and which what was taken from it.

    Those of several tariffs stand apart. None where there is not one register of each, or where
    there are rows of generation and nobody asks for the net.

    Parameters
    ----------
    kinds
        What the rows of a system count, each once.
    options
        Whether the net is asked for.
    strict
        Whether ``power_column`` names a kind of rows, and not a column.
    """
    folded = [fold(each) for each in kinds]
    if strict and options.power_column is not None:
        return None
    if not options.net and set(folded) & set(GENERATION_KINDS):
        return None
    given, taken = (_of_one_register(folded, words) for words in (EXPORT_KINDS, IMPORT_KINDS))
    if not given or not taken:
        return None

    def of_kind(kind: str) -> NDArray[np.bool_]:
        return np.array([each == kind for each in folded], dtype=bool)

    return [of_kind(kind) for kind in given], [of_kind(kind) for kind in taken]


def _of_one_register(folded: Sequence[str], words: frozenset[str]) -> list[str]:
    """Return the kind of rows that words name, or those of all its tariffs; none of several."""
    kinds = [each for each in dict.fromkeys(folded) if without_tariff(each) in words]
    whole = [each for each in kinds if each in words]
    if whole:
        return whole if len(whole) == 1 else []
    return kinds if len({without_tariff(each) for each in kinds}) == 1 else []


def find_day_columns(
    columns: Sequence[TableColumn],
) -> tuple[tuple[int, ...], tuple[float, ...]] | None:
    """Return the columns of readings of a table of days, and what the clock shows at each.

    Their names are times of day, or count the intervals of a day from 1 or 0.
    """
    for size in (288, 144, 96, 72, 48, 24):
        for start in range(len(columns) - size, -1, -1):
            names = [column.name for column in columns[start : start + size]]
            minutes = _minutes_of_day(names)
            if minutes is not None:
                return tuple(range(start, start + size)), minutes
    return None


def _minutes_of_day(names: Sequence[str]) -> tuple[float, ...] | None:
    step = 1440.0 / len(names)
    numbers = [re.fullmatch(r"\D*?(\d{1,3})\D*", name) for name in names]
    if all(numbers):
        counts = [int(found[1]) for found in numbers if found is not None]
        if counts == list(range(counts[0], counts[0] + len(counts))) and counts[0] in (0, 1):
            return tuple(step * (count - counts[0]) for count in counts)
    shown = clock_minutes(names)
    if shown is None:
        return None
    ending = shown[0] == step and shown[-1] in (0.0, 1440.0)
    if ending:
        shown[-1] = 1440.0
    even = all(b - a == step for a, b in pairwise(shown))
    return tuple(shown) if even and (ending or shown[0] == 0.0) else None


def clock_minutes(names: Sequence[str]) -> list[float] | None:
    """Return the minutes since midnight that names of columns say, None where one says none.

    ``0:30``, ``0030``, ``00:00-00:30`` (the first of two), ``24:00``.
    """
    minutes = []
    for name in names:
        found = re.match(
            r"\D*?(\d{1,2}):(\d{2})(?::\d{2})?(?:\s*([ap])m)?(?:\s*[-–].*)?$", name.lower()
        )
        found = found or re.fullmatch(r"\D*?(\d{2})(\d{2})()", name.lower())
        if found is None or int(found[1]) > 24 or int(found[2]) > 59:
            return None
        hour = int(found[1]) % 12 + (12 if found[3] == "p" else 0) if found[3] else int(found[1])
        minutes.append(60.0 * hour + int(found[2]))
    return minutes
