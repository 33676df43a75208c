"""Compiled first pass: rows to systems and instants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.fleet.duckdb_reader import EARLIEST, LATEST, NO_TIME
from sunveil.meters.reading_options import parse_timezone

_DAY = 86_400


@dataclass(frozen=True, slots=True, eq=False)
class ZoneTable:
    """Changes of clocks: those of clock ``z`` stand at ``first[z]`` to ``first[z + 1] - 1``."""

    # A clock that never changes has one entry, long ago, with equal offsets.

    first: NDArray[np.int64]  # where the changes of each clock begin, and the end of all
    utc: NDArray[np.int64]  # [s since 1970] when
    before: NDArray[np.int64]  # [s] how far the clock is ahead of UTC
    after: NDArray[np.int64]  # [s] how far the clock is ahead of UTC

    @classmethod
    def of(cls, names: Sequence[str], span: tuple[int, int]) -> ZoneTable:
        """Return the changes of some clocks over a span, a year to each side. [s since 1970]"""
        first, rows = [0], []
        for name in names:
            rows += _changes(parse_timezone(name)[0], span[0] - 366 * _DAY, span[1] + 366 * _DAY)
            first.append(len(rows))
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return cls(np.array(first, dtype=np.int64), *(np.ascontiguousarray(c) for c in table.T))


def _changes(zone: tzinfo, start: int, end: int) -> list[tuple[int, int, int]]:
    fixed = zone.utcoffset(None)
    if fixed is not None:
        offset = int(fixed.total_seconds())
        return [(-(2**60), offset, offset)]
    opening = _ahead(zone, start)
    found = [(-(2**60), opening, opening)]
    for day in range(start, end, _DAY):
        a, b = day, day + _DAY
        old, new = _ahead(zone, a), _ahead(zone, b)
        if old == new:
            continue
        while b - a > 1:
            middle = (a + b) // 2
            a, b = (middle, b) if _ahead(zone, middle) == old else (a, middle)
        found.append((b, old, new))
    return found if len(found) > 1 else [(-(2**60), opening, opening)]


def _ahead(zone: tzinfo, second: int) -> int:
    when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    offset = when.astimezone(zone).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


# Columns: local number of the system, UTC second of the first row, seconds from row to row, place
# of the first row, and number of rows.
Runs = NDArray[np.int64]

# Rows of systems that the table does not know.
UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class SystemIndex:
    """Numbers of systems by the hash of their names, as an open table that kernels look up."""

    keys: NDArray[np.uint64]  # hashes of names; how many slots there are is a power of two
    values: NDArray[np.int32]  # numbers of systems, `UNKNOWN` where a slot is free

    @classmethod
    def of(cls, hashes: NDArray[np.uint64]) -> SystemIndex:
        """Return the index of systems, numbered in the order of their names' hashes."""
        size = 1 << max(4, int(2 * len(hashes)).bit_length())
        keys = np.zeros(size, dtype=np.uint64)
        values = np.full(size, UNKNOWN, dtype=np.int32)
        _fill(_read_only(hashes), keys, values)
        return cls(keys, values)


@dataclass(slots=True, eq=False)
class Survey:
    """What the rows of a part say of its systems, chunk by chunk."""

    systems: int  # how many systems the table knows
    found: NDArray[np.int32] = field(init=False)
    count: NDArray[np.int64] = field(init=False)
    low: NDArray[np.int64] = field(init=False)
    high: NDArray[np.int64] = field(init=False)
    step: NDArray[np.int64] = field(init=False)
    needs_review: NDArray[np.uint8] = field(init=False)
    rows: int = field(init=False, default=0)
    # local numbers by number in the table
    _local: NDArray[np.int32] = field(init=False)
    # what the clock showed last, and whether it shows a repeated hour for the second time
    _last: NDArray[np.int64] = field(init=False)
    _second: NDArray[np.uint8] = field(init=False)
    # systems met, and rows of systems that the table does not know
    _tally: NDArray[np.int64] = field(init=False)
    _runs: list[Runs] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        size = self.systems
        self.found = np.empty(size, dtype=np.int32)
        self.count = np.zeros(size, dtype=np.int64)
        self.low = np.empty(size, dtype=np.int64)
        self.high = np.empty(size, dtype=np.int64)
        self.step = np.zeros(size, dtype=np.int64)
        self.needs_review = np.zeros(size, dtype=np.uint8)
        self._local = np.full(size, UNKNOWN, dtype=np.int32)
        self._last = np.empty(size, dtype=np.int64)
        self._second = np.zeros(size, dtype=np.uint8)
        self._tally = np.zeros(2, dtype=np.int64)

    def __len__(self) -> int:
        return int(self._tally[0])

    @property
    def unknown_rows(self) -> int:
        """How many rows are of systems that the table does not know."""
        return int(self._tally[1])

    @property
    def runs(self) -> Runs:
        """The even runs that all rows are made of."""
        return np.concatenate([np.empty((0, 5), dtype=np.int64), *self._runs])

    def note(
        self,
        hashes: NDArray[np.uint64],
        micros: NDArray[np.int64],
        *,
        index: SystemIndex,
        zones: ZoneTable,
        zone: NDArray[np.int32],
    ) -> None:
        """Note how each system's stamps run, and the even runs that the rows are made of."""
        scratch = np.empty((len(hashes), 5), dtype=np.int64)
        made = _note(
            _read_only(hashes),
            _read_only(micros),
            (index.keys, index.values, self._local, self.found, self._tally),
            (zone, zones.first, zones.utc, zones.before, zones.after),
            (self.count, self.low, self.high, self.step, self.needs_review),
            (self._last, self._second),
            scratch,
            (NO_TIME, EARLIEST, LATEST),
        )
        runs = scratch[:made].copy()
        runs[:, 3] += self.rows
        self._runs.append(runs)
        self.rows += len(hashes)


def compile_kernels() -> None:
    """Compile what a survey calls, for the types that it is called with."""
    one = np.ones(1, dtype=np.uint64)
    index, zones = SystemIndex.of(one), ZoneTable.of(["UTC"], (EARLIEST, LATEST))
    micros, zone = np.full(1, NO_TIME, dtype=np.int64), np.zeros(1, dtype=np.int32)
    Survey(1).note(one, micros, index=index, zones=zones, zone=zone)


def _read_only(values: NDArray[Any]) -> NDArray[Any]:
    """Return an array as one that cannot be written, as those from Arrow are."""
    # Kernels are compiled for one of the two kinds only.
    view = values.view()
    view.flags.writeable = False
    return view


@njit(cache=True, nogil=True)
def _fill(hashes, keys, values):  # type: ignore[no-untyped-def]
    """Enter systems into an index, each numbered by its place in ``hashes`` (n,)."""
    mask = np.uint64(len(keys) - 1)
    for i in range(len(hashes)):
        at = hashes[i] & mask
        while values[at] >= 0:
            at = (at + np.uint64(1)) & mask
        keys[at] = hashes[i]
        values[at] = i


@njit(cache=True, nogil=True)
def _find(name, keys, values):  # type: ignore[no-untyped-def]
    """Return the number of the system with a hash of its name, below zero for none."""
    mask = np.uint64(len(keys) - 1)
    at = name & mask
    while values[at] >= 0 and keys[at] != name:
        at = (at + np.uint64(1)) & mask
    return values[at]


@njit(cache=True, nogil=True)
def _met(system, local, found, tally):  # type: ignore[no-untyped-def]
    """Return the local number of a system, a new one when it is met for the first time."""
    if local[system] < 0:
        local[system] = tally[0]
        found[tally[0]] = system
        tally[0] += 1
    return local[system]


@njit(cache=True, nogil=True)
def _next_change(shown, begin, end, utc, before, after):  # type: ignore[no-untyped-def]
    """Return the first change of a clock that what it shows does not put behind it."""
    low = begin
    high = end
    while low < high:
        middle = (low + high) // 2
        if shown >= utc[middle] + max(before[middle], after[middle]):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _read_clock(s, shown, clock, changes, order, count, needs_review, latest):  # type: ignore[no-untyped-def]
    """Return how a system's clock stands at what it shows."""
    first, utc, before, after = changes
    last, second = order
    begin = first[clock]
    end = first[clock + 1]
    if end - begin == 1:
        return before[begin], latest, True
    a = _next_change(shown, begin, end, utc, before, after)
    steady = latest
    if a < end:
        steady = utc[a] + min(before[a], after[a])
    if a == end or shown < steady:
        second[s] = 0
        if count[s] > 0 and shown < last[s]:
            needs_review[s] = 1  # out of order: which pass is meant is not for here to tell
        return after[a - 1], steady, True
    if after[a] > before[a]:
        return before[a], steady, False  # the clock skips it
    if count[s] > 0 and shown <= last[s]:
        second[s] = 1
    return after[a] if second[s] else before[a], steady, True


@njit(cache=True, nogil=True)
def _note_first(s, here, apart, notes):  # type: ignore[no-untyped-def]
    """Note the first row of a run: its instant, and its distance from the row before. [s]"""
    count, low, high, step, needs_review = notes
    if count[s] == 0:
        low[s] = here
        high[s] = here
        return
    if apart == 0:
        needs_review[s] = 1
    elif apart > 0 and (step[s] == 0 or apart < step[s]):
        step[s] = apart
    low[s] = min(low[s], here)
    high[s] = max(high[s], here)


@njit(cache=True, nogil=True)
def _end_of_run(hashes, micros, start, stop, apart):  # type: ignore[no-untyped-def]
    """Return the row behind an even run of one system: no row from ``stop`` on is in it."""
    block = 128
    name = hashes[start]
    i = start + 1
    expected = micros[start] + apart
    # many rows at once, without a branch, as long as none differs
    while i + block <= stop:
        names = hashes[i : i + block]
        stamps = micros[i : i + block]
        other = np.uint64(0)
        uneven = np.int64(0)
        for k in range(block):
            other |= names[k] ^ name
            uneven |= stamps[k] ^ (expected + apart * k)
        if other != 0 or uneven != 0:
            break
        expected += apart * block
        i += block
    while i < stop and hashes[i] == name and micros[i] == expected:
        expected += apart
        i += 1
    return i


@njit(cache=True, nogil=True)
def _take_run(hashes, micros, start, until, blank):  # type: ignore[no-untyped-def]
    """Return the row behind the run that begins at a row, and the seconds from row to row."""
    i = start + 1
    if i >= len(hashes) or hashes[i] != hashes[start] or micros[i] == blank:
        return i, 0
    apart = micros[i] - micros[start]
    whole = apart // 1_000_000
    if micros[start] >= until or whole <= 0 or whole * 1_000_000 != apart:
        return i, 0
    # how far the even stamps may go: one comparison less for each row
    most = min(len(hashes) - start, (until - micros[start] - 1) // apart + 1)
    return _end_of_run(hashes, micros, start, start + most, apart), whole


@njit(cache=True, nogil=True)
def _note(hashes, micros, index, clocks, notes, order, runs, limits):  # type: ignore[no-untyped-def]
    """Note what a chunk of rows says of its systems, and return how many runs it is made of."""
    keys, values, local, found, tally = index
    zone, first, utc, before, after = clocks
    count, _, high, step, needs_review = notes
    last, _ = order
    blank, earliest, latest = limits
    made = 0
    i = np.int64(0)  # a plain 0 would have what is called with it compiled twice
    while i < len(hashes):
        start = i
        i += 1
        system = _find(hashes[start], keys, values)
        if system < 0:
            tally[1] += 1
            continue
        s = _met(system, local, found, tally)
        if micros[start] == blank:
            needs_review[s] = 1
            continue
        shown = (micros[start] + 500_000) // 1_000_000
        clock = zone[system]
        ahead, steady, exists = _read_clock(
            s, shown, clock, (first, utc, before, after), order, count, needs_review, latest
        )
        here = shown - ahead
        if not exists or here < earliest or here >= latest:
            needs_review[s] = 1
            continue
        changes = first[clock + 1] - first[clock] > 1
        _note_first(s, here, here - high[s] if changes else abs(shown - last[s]), notes)
        # rows of one system mostly follow each other evenly, which needs no thought
        until = min(steady, latest + ahead) * 1_000_000 - 500_000
        i, whole = _take_run(hashes, micros, start, until, blank)
        length = i - start
        if length > 1:
            if step[s] == 0 or whole < step[s]:
                step[s] = whole
            high[s] = max(high[s], here + whole * (length - 1))
        count[s] += length
        last[s] = shown + whole * (length - 1)
        runs[made, 0] = s
        runs[made, 1] = here
        runs[made, 2] = whole if length > 1 else 0
        runs[made, 3] = start
        runs[made, 4] = length
        made += 1
    return made
