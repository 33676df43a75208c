"""From rows to systems and instants: the first pass over the readings of a part.

Rows of one system that follow each other evenly are taken together as a run, with its first UTC
second; of every system it is noted how its stamps run. What looks unusual is only marked here: the
reader of single files then settles it, so that its rules stand in one place.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sunveil.fleet.reading import NO_TIME
from sunveil.fleet.zones import ZoneTable
from sunveil.jit import compiled_exactly

# Columns: local number of the system, UTC second of the first row, seconds from row to row, place
# of the first row, and number of rows.
Runs = NDArray[np.int64]
# So many rows are compared at a time.
_BLOCK = 128
# Rows of systems that the table does not know.
UNKNOWN = -1


@dataclass(frozen=True, slots=True, eq=False)
class SystemIndex:
    """Numbers of systems by the hash of their names: an open table, looked up by compiled code."""

    keys: NDArray[np.uint64]
    values: NDArray[np.int32]

    @classmethod
    def of(cls, hashes: NDArray[np.uint64]) -> SystemIndex:
        """Return the book of some names' hashes."""
        size = 1 << max(4, int(2 * len(hashes)).bit_length())
        keys = np.zeros(size, dtype=np.uint64)
        values = np.full(size, UNKNOWN, dtype=np.int32)
        _fill(hashes, keys, values)
        return cls(keys, values)


@dataclass(slots=True, eq=False)
class Survey:
    """What the rows of a part say of its systems, chunk by chunk.

    Parameters
    ----------
    systems
        How many systems the table knows.

    Notes
    -----
    Systems have local numbers in the order in which they are met; ``found`` maps these to the
    table's.
    """

    systems: int
    slot: NDArray[np.int32] = field(init=False)
    found: NDArray[np.int32] = field(init=False)
    count: NDArray[np.int64] = field(init=False)
    low: NDArray[np.int64] = field(init=False)
    high: NDArray[np.int64] = field(init=False)
    step: NDArray[np.int64] = field(init=False)
    needs_review: NDArray[np.uint8] = field(init=False)
    last: NDArray[np.int64] = field(init=False)
    second: NDArray[np.uint8] = field(init=False)
    tally: NDArray[np.int64] = field(init=False)
    rows: int = field(init=False, default=0)
    _runs: list[Runs] = field(init=False, default_factory=list)
    _room: Runs = field(init=False)

    def __post_init__(self) -> None:
        size = self.systems
        self.slot = np.full(size, UNKNOWN, dtype=np.int32)
        self.found = np.empty(size, dtype=np.int32)
        self.count = np.zeros(size, dtype=np.int64)
        self.low = np.empty(size, dtype=np.int64)
        self.high = np.empty(size, dtype=np.int64)
        self.step = np.zeros(size, dtype=np.int64)
        self.needs_review = np.zeros(size, dtype=np.uint8)
        self.last = np.empty(size, dtype=np.int64)
        self.second = np.zeros(size, dtype=np.uint8)
        self._room = np.empty((0, 5), dtype=np.int64)
        # systems met, and rows of systems that the table does not know
        self.tally = np.zeros(2, dtype=np.int64)

    def __len__(self) -> int:
        return int(self.tally[0])

    @property
    def system_names(self) -> bool:
        """Whether there were rows of systems that the table does not know."""
        return bool(self.tally[1])

    @property
    def runs(self) -> Runs:
        """The even runs that all rows are made of."""
        return np.concatenate([np.empty((0, 5), dtype=np.int64), *self._runs])

    def note(
        self,
        hashes: NDArray[np.uint64],
        micros: NDArray[np.int64],
        *,
        book: SystemIndex,
        zones: ZoneTable,
        zone: NDArray[np.int32],
    ) -> None:
        """Note how each system's stamps run, and the even runs that the rows are made of.

        Parameters
        ----------
        hashes
            Hash of the name of each row's system.
        micros
            Stamps, on the clocks that ``zones`` has. [µs since 1970]
        book
            Numbers of systems by hash.
        zones
            Clocks.
        zone
            The clock of each of the table's systems.
        """
        if len(self._room) < len(hashes):
            self._room = np.empty((len(hashes), 5), dtype=np.int64)
        made = _note(
            hashes,
            micros,
            (book.keys, book.values, self.slot, self.found, self.tally),
            (zone, zones.first, zones.utc, zones.before, zones.after),
            (self.count, self.low, self.high, self.step, self.needs_review, self.last, self.second),
            self._room,
        )
        runs = self._room[:made].copy()
        runs[:, 3] += self.rows
        self._runs.append(runs)
        self.rows += len(hashes)


@compiled_exactly
def _fill(hashes, keys, values):  # type: ignore[no-untyped-def]
    mask = np.uint64(len(keys) - 1)
    for i in range(len(hashes)):
        at = hashes[i] & mask
        while values[at] >= 0:
            at = (at + np.uint64(1)) & mask
        keys[at] = hashes[i]
        values[at] = i


@compiled_exactly
def _note(hashes, micros, books, clocks, notes, runs):  # type: ignore[no-untyped-def]
    keys, values, slot, found, tally = books
    zone, first, utc, before, after = clocks
    count, low, high, step, needs_review, last, second = notes
    mask = np.uint64(len(keys) - 1)
    earliest = 315532800  # 1980
    latest = 4133980800  # 2101
    rows = len(hashes)
    made = 0
    i = 0
    while i < rows:
        name = hashes[i]
        at = name & mask
        while values[at] >= 0 and keys[at] != name:
            at = (at + np.uint64(1)) & mask
        system = values[at]
        wall = micros[i]
        i += 1
        if system < 0:
            tally[1] += 1
            continue
        if slot[system] < 0:
            slot[system] = tally[0]
            found[tally[0]] = system
            tally[0] += 1
        s = slot[system]
        if wall == NO_TIME:
            needs_review[s] = 1
            continue
        shown = (wall + 500000) // 1000000
        begin = first[zone[system]]
        end = first[zone[system] + 1]
        changing = end - begin > 1
        ahead = before[begin]
        steady = latest
        if changing:
            # the first change of the clock that the wall does not show as past
            a = begin
            b = end
            while a < b:
                middle = (a + b) // 2
                if shown >= utc[middle] + max(before[middle], after[middle]):
                    a = middle + 1
                else:
                    b = middle
            ahead = after[a - 1]
            if a < end:
                steady = utc[a] + min(before[a], after[a])
            if shown >= steady:
                if after[a] > before[a]:
                    needs_review[s] = 1  # the clock skips it
                    continue
                if count[s] > 0 and shown <= last[s]:
                    second[s] = 1
                ahead = after[a] if second[s] else before[a]
            else:
                second[s] = 0
                if count[s] > 0 and shown < last[s]:
                    needs_review[s] = 1  # out of order: which pass is meant is not for here to tell
        here = shown - ahead
        if here < earliest or here >= latest:
            needs_review[s] = 1
            continue
        if count[s] == 0:
            low[s] = here
            high[s] = here
        else:
            apart = here - high[s] if changing else abs(shown - last[s])
            if apart == 0:
                needs_review[s] = 1
            elif apart > 0 and (step[s] == 0 or apart < step[s]):
                step[s] = apart
            low[s] = min(low[s], here)
            high[s] = max(high[s], here)
        # rows of one system mostly follow each other evenly, which needs no thought
        start = i - 1
        whole = np.int64(0)
        if i < rows and hashes[i] == name and shown < steady and micros[i] != NO_TIME:
            apart = micros[i] - wall
            whole = apart // 1000000
            if whole > 0 and whole * 1000000 == apart:
                until = min(steady, latest + ahead) * 1000000 - 500000
                # how far the even stamps may go: one comparison less for each row
                most = min(rows - start, (until - wall - 1) // apart + 1)
                stop = start + max(most, 1)
                expected = micros[i]
                # many rows at once, without a branch, as long as none differs
                while i + _BLOCK <= stop:
                    names = hashes[i : i + _BLOCK]
                    stamps = micros[i : i + _BLOCK]
                    other = np.uint64(0)
                    uneven = np.int64(0)
                    for k in range(_BLOCK):
                        other |= names[k] ^ name
                        uneven |= stamps[k] ^ (expected + apart * k)
                    if other != 0 or uneven != 0:
                        break
                    expected += apart * _BLOCK
                    i += _BLOCK
                while i < stop and hashes[i] == name and micros[i] == expected:
                    expected += apart
                    i += 1
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
