"""Record, RefusedSystem, Label, Cleaning; averaging to longer intervals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil._options import check_fields
from sunveil.errors import MeterError

# An unknown label matters least when the stamp is the middle of a short interval. [s]
SHORT_INTERVAL = 1800


class Label(StrEnum):
    """Which instant of its interval a time stamp names."""

    START = "start"
    MIDDLE = "middle"
    END = "end"

    @classmethod
    def _missing_(cls, value: object) -> Label | None:
        """Take ``left`` and ``right`` for the start and the end, as pandas calls them."""
        return {"left": cls.START, "right": cls.END}.get(str(value))

    @property
    def fraction(self) -> float:
        """Where in the interval the stamp stands: 0 at its start, 1 at its end."""
        return {"start": 0.0, "middle": 0.5, "end": 1.0}[self.value]


class Cleaning(StrEnum):
    """Whether the rules of cleaning looked at the whole record, or at each reading alone."""

    RECORD = "record"
    EACH = "each"


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """All readings of one system, evenly spaced, in UTC: private data.

    Parameters
    ----------
    system_id
        The curator's name of the system.
    times
        UTC start of each interval, ``datetime64[s]``, increasing and distinct, whole multiples of
        ``interval_minutes`` apart. Intervals without a reading are absent.
    power_kw
        Mean power over each interval, finite. [kW]
    interval_minutes
        Length of one interval. [minutes]
    timezone
        Declared clock of the stamps: ``"UTC"``, ``"UTC-07:00"``, an IANA name.
    label
        Which instant of the interval the stamps name.
    label_known
        Whether the curator or the file's format declared it.
    notes
        What the reader did, one sentence each, without any reading's value.
    cleaning
        Whether rules looked at the record as a whole, or at each reading alone. Private releases
        take the second only: what a rule drops must not depend on other readings. A record made
        by hand is taken to hold readings as they came.
    rows_span
        Starts of the first and the last interval that the source has a row for, with a reading or
        without: public, where which readings are missing is not. The readings' own when None.
    differenced
        Whether the readings are differences of a register, so that one cell of the source is part
        of two of them.
    net
        Whether it is a net meter: ``power_kw`` is generation less a household's load, above zero
        where power flows to the grid. One that counts only what is given to the grid is zero
        wherever the household takes power.
    unit, unit_known
        Unit of the source, and whether it was declared.
    stamped_minutes
        Length of the intervals that stamps name, where these were averaged to longer ones.
        [minutes]

    Privacy
    -------
    ``repr`` shows the size and span of the record only.
    """

    system_id: str
    times: NDArray[np.datetime64]
    power_kw: NDArray[np.float64]
    interval_minutes: float
    timezone: str = "UTC"
    label: Label = Label.START
    label_known: bool = True
    notes: tuple[str, ...] = field(default=())
    cleaning: Cleaning = Cleaning.EACH
    rows_span: tuple[np.datetime64, np.datetime64] | None = None
    differenced: bool = False
    net: bool = False
    unit: str = "kW"
    unit_known: bool = True
    stamped_minutes: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.times.ndim != 1 or self.times.shape != self.power_kw.shape:
            raise MeterError(f"system {self.system_id} has times and readings of unequal number")
        if len(self.times) == 0 and not (self.net and self.rows_span is not None):
            raise MeterError(f"system {self.system_id} has no readings at all")
        if not np.isfinite(self.power_kw).all():
            raise MeterError(f"system {self.system_id} has readings that are not finite numbers")
        if not 1.0 <= self.interval_minutes <= 60.0:
            raise MeterError(
                f"system {self.system_id} has readings every {self.interval_minutes:g} minutes;"
                " Sunveil needs 1 to 60 minutes, so resample them first"
            )
        if (np.diff(self.times) <= np.timedelta64(0, "s")).any():
            raise MeterError(f"system {self.system_id} has times that do not increase")
        ends = self.times[[0, -1]] if len(self.times) else np.array(self.extent)
        if not self.extent[0] <= ends[0] <= ends[1] <= self.extent[1]:
            raise MeterError(
                f"system {self.system_id} has readings outside the rows they came from"
            )

    def __repr__(self) -> str:
        return (
            f"Record({self.system_id!r}, {len(self.times)} readings of"
            f" {self.interval_minutes:g} min, {self.extent[0]} to {self.extent[1]} UTC, private)"
        )

    @property
    def extent(self) -> tuple[np.datetime64, np.datetime64]:
        """Starts of the first and the last interval, whether or not they have a reading."""
        return (self.times[0], self.times[-1]) if self.rows_span is None else self.rows_span

    @property
    def label_shifts(self) -> tuple[float, ...]:
        """How far its clock is off for each label that its stamps may have: public. [minutes]"""
        if self.label_known:
            return (0.0,)
        length = self.stamped_minutes or self.interval_minutes
        return tuple(length * (each.fraction - self.label.fraction) for each in Label)

    @property
    def middles(self) -> NDArray[np.datetime64]:
        """The UTC middle of each interval."""
        return self.times + np.timedelta64(int(self.interval_minutes * 30), "s")

    def to_series(self) -> pd.Series[float]:
        """Return the power in kW indexed by the UTC start of each interval."""
        index = pd.DatetimeIndex(self.times).tz_localize("UTC")
        return pd.Series(self.power_kw, index=index, name="power_kw")


def coarsen(record: Record, minutes: float) -> Record:
    """Average short intervals to longer ones; drop incomplete ones."""
    # A record stays as it is if its interval does not divide `minutes` or exceeds half of it.
    ratio = minutes / record.interval_minutes
    count = round(ratio)
    if count < 2 or abs(ratio - count) > 1e-9:
        return record
    seconds = record.times.astype("datetime64[s]").astype(np.int64)
    step = int(minutes * 60)
    # align the long intervals with the short ones, not with the hour: stamps may stand anywhere
    ends = [int(end.astype("datetime64[s]").astype(np.int64)) for end in record.extent]
    origin = ends[0] % int(record.interval_minutes * 60)
    block = (seconds - origin) // step
    starts = np.flatnonzero(np.diff(block, prepend=ends[0] // step - 2))
    sizes = np.diff(np.append(starts, len(block)))
    sums = np.add.reduceat(record.power_kw, starts)
    whole = sizes == count

    def held(second: int) -> np.datetime64:
        return np.datetime64(int((second - origin) // step * step + origin), "s")

    return replace(
        record,
        times=(block[starts][whole] * step + origin).astype("datetime64[s]"),
        power_kw=sums[whole] / count,
        interval_minutes=minutes,
        stamped_minutes=record.stamped_minutes or record.interval_minutes,
        rows_span=None if record.rows_span is None else (held(ends[0]), held(ends[1])),
    )


# The kind of a refusal that speaks of a whole file, not of one system.
UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class RefusedSystem:
    """A system that gets no estimate: its name, the kind of reason, and the reason."""

    # A file that cannot be read at all is refused by its own name without the ending.

    system_id: str
    kind: str
    reason: str

    def __post_init__(self) -> None:
        check_fields(self)


# Shorter intervals are averaged to this, which no reading can change. [minutes]
SHORTEST = 15.0

# Readings are held to this and to zero, each alone, so that their sums are finite. [kW]
LARGEST = 1e15


def prepared(record: Record) -> Record:
    """Return a record as releases take it: each reading cleaned alone, intervals not too short."""
    if record.cleaning is not Cleaning.EACH:
        raise MeterError(
            f"system {record.system_id} was read with rules that look at the whole record, which a"
            " private release cannot use; read it with cleaning='each'"
        )
    lowest = -LARGEST if record.net else 0.0
    held = replace(record, power_kw=np.clip(record.power_kw, lowest, LARGEST))
    if record.net:  # zeros would say something of it: without a whole interval it has no reading
        return coarsen(replace(held, rows_span=record.extent), SHORTEST)
    try:
        return coarsen(held, SHORTEST)
    except MeterError:
        # No longer interval is whole, which is private: zeros agree with no candidate either, and
        # have the span of the rows alone to be refused for.
        return coarsen(_zeros(record), SHORTEST)


def _zeros(record: Record) -> Record:
    """Return a record of zeros over the rows of another."""
    step = np.timedelta64(round(record.interval_minutes * 60.0), "s")
    first, last = record.extent
    times = np.arange(first, last + step, step)
    return replace(record, times=times, power_kw=np.zeros(len(times)))
