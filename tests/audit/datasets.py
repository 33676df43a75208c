"""Simulated datasets as cells of text, and their neighbours: one unit's cells replaced by anything.

Names of systems and columns are public and stay, and so do stamps but where a neighbour is about
them. A cell that would forge a line with another's stamp is no neighbour and not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sunveil.simulate import SystemTruth, simulate_power, simulate_sky
from sunveil.site import Plane, Site

# Near the meridian of Greenwich, so that a record's first hours are a night of zeros.
SITE = Site(39.5, -0.4, 20.0)
YEAR, FIRST = 2019, "2019-06-01"
VALUES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
READING, THREE_READINGS, DAY, SYSTEM = "one reading", "three readings", "one day", "one system"
STAMP = "a stamp"
# How the units that neighbours differ in are asked for.
UNITS = {READING: "readings:1", THREE_READINGS: "readings:3", DAY: "days:1", SYSTEM: "system"}


@dataclass(frozen=True, slots=True)
class Truth:
    """What a simulated system is, in degrees and kW."""

    surface_azimuth: float
    surface_tilt: float
    dc_capacity_kw: float


# Far apart, so that a release tells which is which; none is where a record of zeros ends up.
THREE = (Truth(180.0, 30.0, 6.0), Truth(92.0, 24.0, 12.0), Truth(268.0, 40.0, 3.0))
# Away from a record of zeros on every axis, for releases that are so noisy that only many tell.
CROWDED = Truth(75.0, 50.0, 15.0)


class Raw(bytes):
    """A cell that is written as it is into a format with a syntax of its own."""


class CannotHold(Exception):
    """A format has no way to hold these bytes in a cell: there is no such neighbour in it."""


@dataclass(frozen=True, slots=True)
class PrivateCells:
    """A dataset: private cells by system; which systems and columns there are is public."""

    by_system: Mapping[str, tuple[bytes, ...]]
    columns: tuple[str, ...]  # the stamp of a reading, or the column of an estimate
    truths: tuple[Truth, ...] = ()
    per_day: int = 24
    # stamps that one system writes otherwise, by system and place
    stamps: Mapping[tuple[str, int], str] = field(default_factory=dict)

    def replaced(self, system: str, places: Sequence[int], cells: Sequence[bytes]) -> PrivateCells:
        """Return the neighbour in which some cells of one system are others."""
        own = list(self.by_system[system])
        for place, cell in zip(places, cells, strict=True):
            own[place] = cell
        return replace(self, by_system={**self.by_system, system: tuple(own)})

    def rows(self, *, by_time: bool = False) -> Iterator[tuple[str, str, bytes]]:
        """Yield system, stamp and reading, system after system or time after time."""
        made = [
            (place, name, self.stamps.get((name, place), stamp), cells[place])
            for name, cells in self.by_system.items()
            for place, stamp in enumerate(self.columns)
        ]
        for _, name, stamp, cell in sorted(made, key=lambda row: row[0]) if by_time else made:
            yield name, stamp, cell


def meter_cells(
    truths: Sequence[Truth] = THREE,
    *,
    days: int,
    scale: float = 1.0,
    digits: int = 3,
    decimal: str = ".",
    base_load_kw: float = 0.0,
    per_day: int = 24,
) -> PrivateCells:
    """Return readings of systems under a clear sky, those of one truth alike.

    ``scale`` is what one kW is in the file's unit; a ``base_load_kw`` makes them net meters'.
    """
    sky = simulate_sky(SITE, YEAR, seed=1, step_minutes=30, clear_days=1.0)
    written: dict[Truth, tuple[bytes, ...]] = {}
    for truth in dict.fromkeys(truths):
        plane = Plane(truth.surface_azimuth, truth.surface_tilt)
        system = SystemTruth("audit", SITE, ((plane, 1.0),), truth.dc_capacity_kw)
        year = simulate_power(system, sky, seed=1, noise=0.0, step_minutes=1440 // per_day)
        power = year[FIRST:].iloc[: days * per_day]
        loads = base_load_kw * np.exp(np.random.default_rng(1).exponential(0.7, len(power)))
        texts = [f"{scale * each:.{digits}f}" for each in power - loads]
        written[truth] = tuple(text.replace(".", decimal).encode() for text in texts)
    stamps = tuple(f"{each:%Y-%m-%d %H:%M}" for each in power.index)
    named = {f"home{number:02d}": written[truth] for number, truth in enumerate(truths)}
    return PrivateCells(named, stamps, tuple(truths), per_day)


def estimate_cells(systems: int, *, whole: int) -> PrivateCells:
    """Return a fleet's table of estimates, some first capacities in whole kW."""
    rng = np.random.default_rng(1)
    rows = {}
    for number in range(systems):
        azimuth, tilt, capacity = rng.uniform(90, 270), rng.uniform(5, 45), rng.integers(3, 12)
        size = f"{capacity}" if number < whole else f"{capacity + 0.45:.2f}"
        texts = (f"{azimuth:.1f}", f"{tilt:.1f}", size)
        rows[f"home{number:05d}"] = tuple(text.encode() for text in texts)
    return PrivateCells(rows, VALUES)


_LONG = 100_000
HEADER = b'"x\ntimestamp,system_id,power_w\nz"'
CELLS: dict[str, bytes] = {
    "blank": b"",
    "nan": b"nan",
    "inf": b"inf",
    "-inf": b"-inf",
    "1e308": b"1e308",
    "1e999": b"1e999",
    "-1e30": b"-1e30",
    "1e-30": b"1e-30",
    "zero": b"0",
    "whole number": b"5",
    "5.25": b"5.25",
    "temperature": b"21.5",
    "text": b"n/a",
    "null": b"NULL",
    "true": b"true",
    "date": b"2019-06-01 12:00",
    "decimal comma": b"1,25",
    "thousands": b"1,234.5",
    "with its unit": b"3 kW",
    "lone quote": b'"',
    "quoted": b'"3.5"',
    "quotes in quotes": b'"a""b"',
    "open quote": b'"3.5',
    "quoted newline": b'"1\n2"',
    "newline": b"1\n2",
    "carriage return": b"1\r2",
    "other line ends": b"1\x0b2\x0c3\x1c4\x1e5\xc2\x856\xe2\x80\xa87",
    "names of columns in quotes": HEADER,
    "a note in quotes": b'"see\ntime,note\nbelow"',
    "end of file": b"1\x1a2",
    "commas": b"1,2,3",
    "semicolons": b"1;2;3",
    "tab": b"1\t2",
    "NUL": b"\x00",
    "many NULs": b"1\x00" * 500,
    "not UTF-8": b"\xff\xfe\xff",
    "other digits": "１２".encode(),
    "backslash": b"\\",
    "hash": b"#",
    "separator told": b"sep=;",
    "brackets": b"[{<&",
    "hexadecimal": b"0x10",
    "byte order mark": b"\xef\xbb\xbf1",
    "5,000 digits": b"9" * 5000,
}
LONG: dict[str, bytes] = {"long number": b"9" * _LONG, "long text": b"x" * _LONG}
Change = Callable[[bytes], bytes]
CHANGES: dict[str, Change] = {
    "times 1e30": lambda cell: cell + b"e30",
    "times 1e-30": lambda cell: cell + b"e-30",
    "all decimal commas": lambda cell: cell.replace(b".", b","),
    "all quoted": lambda cell: b'"' + cell + b'"',
    "other sign": lambda cell: b"-" + cell,
    "whole numbers": lambda cell: cell.split(b".")[0],
    "less a digit": lambda cell: cell[:-1],
}
# Cells that do something together only: how far behind the first of them each stands.
PAIRS: dict[str, tuple[tuple[int, bytes], ...]] = {
    "quotes around one line": ((0, b'"1'), (1, b'1"')),
    "quotes around five lines": ((0, b'"1'), (5, b'1"')),
    "quotes around eighteen lines": ((0, b'"1'), (18, b'1"')),
    "lone quotes": ((0, b'"'), (1, b'"')),
    "quotes the wrong way round": ((0, b'1"'), (1, b'"1')),
    "quotes with separators": ((0, b'"1,2'), (1, b'2,1"')),
    "quotes with line breaks": ((0, b'"see\n1'), (1, b'1\nbelow"')),
    "two broken cells": ((0, b'"1\n2"'), (1, b'"1\n2"')),
    "a quote and the names of columns": ((0, b'"1'), (2, HEADER)),
    "commas and quotes": ((0, b"1,2"), (1, b'"1'), (2, b'1"')),
    "three quotes": ((0, b'"'), (1, b'"'), (3, b'"')),
    "quotes in threes": ((0, b'"1'), (1, b'""'), (2, b'1"')),
    "two units": ((0, b"3 kW"), (1, b"3 W"), (2, b"3 kWh")),
    "two decimal marks": ((0, b"1,25"), (1, b"1.25"), (2, b"1.250,5")),
    "half a character each": ((0, b"\xc3"), (1, b"\xa9")),
    "brackets": ((0, b"[{"), (1, b"}]")),
}
# What ends a line: where a name follows on the next one, it would be another's.
TEARING = frozenset(
    {kind for kind, cell in CELLS.items() if len(cell.decode("latin-1").splitlines()) > 1}
    | {kind for kind, cells in PAIRS.items() if any(b"\n" in cell for _, cell in cells)}
)
# For a short audit: those that broke a reader before.
FEW = ("blank", "nan", "decimal comma", "lone quote", "newline", "commas", "text", "times 1e30")
FEW_PAIRS = ("quotes around one line", "a quote and the names of columns", "two decimal marks")
# Of a stamp of one system: as a range, and in the other order of day and month.
STAMPS = {
    "a range": "{0:%d/%m/%Y %H:%M} - {1:%d/%m/%Y %H:%M}",
    "another order": "{0:%m/%d/%Y %H:%M}",
    "with an offset": "{0:%Y-%m-%dT%H:%M}+05:00",
    "no stamp": "soon",
}


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A dataset's neighbour, by what is replaced and where."""

    kind: str
    system: str
    places: tuple[int, ...]
    cells: tuple[bytes, ...]
    stamps: tuple[str, ...] = ()  # in place of cells

    def __str__(self) -> str:
        return f"{self.kind} in {self.system}, from cell {self.places[0] + 1}"

    def of(self, data: PrivateCells) -> PrivateCells:
        """Return the neighbour of a dataset."""
        if self.stamps:
            own = {(self.system, at): s for at, s in zip(self.places, self.stamps, strict=True)}
            return replace(data, stamps={**data.stamps, **own})
        return data.replaced(self.system, self.places, self.cells)


def neighbours(
    data: PrivateCells,
    unit: str,
    *,
    kinds: Iterable[str] | None = None,
    spots: int = 2,
    raw: Mapping[str, Sequence[tuple[int, Raw]]] | None = None,
) -> Iterator[Neighbour]:
    """Yield neighbours of a dataset that differ in one unit, one for each kind and spot.

    ``kinds`` are all where left out: of single cells, of several at once, and of the format's own.
    The first spot is the first of all cells, where a reader that guesses looks.
    """
    single: dict[str, bytes | Change] = {**CELLS, **LONG, **CHANGES}
    several: dict[str, Sequence[tuple[int, bytes]]] = {**PAIRS, **(raw or {})}
    for kind in kinds or (*single, *several):
        for system, places in _spots(data, unit)[:spots]:
            if kind in several:
                most = 3 if unit == THREE_READINGS else len(places)
                cells = [(places[0] + at, cell) for at, cell in several[kind]]
                # single readings that are protected together may stand anywhere
                free = unit == THREE_READINGS and cells[-1][0] < len(data.columns)
                if len(cells) > most or not (free or cells[-1][0] <= places[-1]):
                    continue
                at = tuple(place for place, _ in cells)
                yield Neighbour(kind, system, at, tuple(cell for _, cell in cells))
            elif unit != THREE_READINGS:
                change = single[kind]
                where = places[:1] if kind in LONG else places
                old = tuple(data.by_system[system][place] for place in where)
                new = tuple(change if isinstance(change, bytes) else change(cell) for cell in old)
                if new != old:
                    yield Neighbour(kind, system, tuple(where), new)


def _spots(data: PrivateCells, unit: str) -> list[tuple[str, Sequence[int]]]:
    names, cells, a_day = list(data.by_system), len(data.columns), data.per_day
    first, last = names[0], names[-1]
    if unit in (READING, THREE_READINGS):
        noon = min(cells // 2 // a_day * a_day + a_day // 2, cells - 1)
        return [(first, range(place, place + 1)) for place in (0, noon, cells - 1)]
    if unit == DAY:
        spots = ((first, 0), (last, cells // a_day // 2))
        return [(name, range(day * a_day, (day + 1) * a_day)) for name, day in spots]
    return [(name, range(cells)) for name in dict.fromkeys((first, last, names[len(names) // 2]))]
