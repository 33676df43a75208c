"""What a sample of a format is, and what every writer needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .series import KnownPlant


@dataclass(frozen=True)
class ExpectedSystem:
    """What must be read of one system.

    Parameters
    ----------
    system_id
        Its name where the file says one; None where any name will do.
    starts
        UTC start of every interval with a reading, ``datetime64[s]``.
    power_kw
        The true mean power of these, before the file's rounding.
    interval_minutes
        Length of an interval.
    """

    system_id: str | None
    starts: np.ndarray
    power_kw: np.ndarray
    interval_minutes: int


@dataclass(frozen=True)
class FormatSample:
    """One file of one format, and what reading it must come to.

    Parameters
    ----------
    name, family
        Which sample of which format.
    file_name, content
        The file.
    expected
        What is in it.
    options
        What its user gives without being asked: the clock of local stamps, and nothing that the
        file itself says.
    tolerance
        How far a reading may be from the truth: what the file's own rounding loses. [kW]
    label
        Which instant of its interval the format's stamps name.
    label_said
        Whether the file or its definition says so. Otherwise the reader may say that it does not
        know, and then has to keep the stamps' instants.
    coverage
        Which share of the expected readings must be found: a register's last count has no
        difference.
    must_refuse
        Whether reading it with ``options`` alone would be a guess.
    words
        What the sentence of a refusal must name, for instance the parameter that helps.
    remedy
        The options that make it work once the sentence is followed; None where another file is
        needed.
    schema
        What its curator declares to read it for a release, in full; None where a release has to
        be refused.
    secrets
        Texts in the file that no message and no note may hold.
    """

    name: str
    family: str
    file_name: str
    content: bytes
    expected: tuple[ExpectedSystem, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.001
    label: str = "start"
    label_said: bool = False
    coverage: float = 1.0
    must_refuse: bool = False
    words: tuple[str, ...] = ()
    remedy: Mapping[str, Any] | None = None
    schema: Mapping[str, Any] | None = None
    secrets: tuple[str, ...] = ()


Writer = Callable[[int], FormatSample]
"""From a number of days to a sample."""


def expect(power: pd.Series, *, system_id: str | None = None) -> ExpectedSystem:
    """Return what must be read of a series, from its index and its values."""
    starts = power.index.tz_convert("UTC").tz_localize(None).to_numpy().astype("M8[s]")
    minutes = int(np.diff(starts).min() / np.timedelta64(60, "s"))
    return ExpectedSystem(system_id, starts, power.to_numpy(), minutes)


def step(power: pd.Series) -> int:
    """Return the length of a series' intervals. [minutes]"""
    return int((power.index[1] - power.index[0]) / pd.Timedelta(minutes=1))


def energy(power: pd.Series, scale: float = 1.0) -> np.ndarray:
    """Return the energy of each interval: in kWh, or in 1/scale of it."""
    return power.to_numpy() * (step(power) / 60.0) * scale


def stamps(power: pd.Series, form: str, label: str = "start") -> list[str]:
    """Return the intervals' stamps in the series' own clock."""
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[label] * step(power)
    return list((power.index + pd.Timedelta(minutes=shift)).strftime(form))


def numbers(
    values: Iterable[float], digits: int, *, decimal: str = ".", thousands: str = ""
) -> list[str]:
    """Return numbers as a country writes them."""
    written = []
    for value in values:
        text = f"{value:,.{digits}f}"
        written.append(text.translate(str.maketrans({",": thousands, ".": decimal})))
    return written


def table(
    rows: Iterable[Sequence[str]],
    *,
    header: Sequence[str] | None = None,
    above: Sequence[str] = (),
    below: Sequence[str] = (),
    separator: str = ",",
    line_end: str = "\n",
    encoding: str = "utf-8",
) -> bytes:
    """Return a text file of a table.

    Parameters
    ----------
    rows
        Cells, as they are written.
    header
        The line of names.
    above, below
        Whole lines before the header and after the rows.
    separator, line_end, encoding
        How it is written; an encoding with a mark at its start writes that.
    """
    lines = [*above]
    if header is not None:
        lines.append(separator.join(header))
    lines.extend(separator.join(row) for row in rows)
    lines.extend(below)
    return (line_end.join(lines) + line_end).encode(encoding)


def plant(place: str, days: int) -> KnownPlant:
    """Return the known plant at a place."""
    return KnownPlant(place, days)
