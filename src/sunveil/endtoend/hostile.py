"""Neighbours: one unit's cells replaced by anything that bytes can be.

Stamps, names of systems and columns are public and stay. A cell that would forge a line with
another's stamp is no neighbour and not among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sunveil.endtoend.cells import HOURS_A_DAY, PrivateCells

READING, DAY, SYSTEM = "one reading", "one day", "one system"

_LONG = 100_000
CONSTANTS: dict[str, bytes] = {
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
# What ends a line: where a name follows on the next one, it would be another's.
TEARING = frozenset({"quoted newline", "newline", "carriage return", "other line ends"})
# For a short audit: those that broke a reader before.
FEW = ("blank", "nan", "decimal comma", "lone quote", "newline", "commas", "text", "times 1e30")


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A dataset's neighbour, by what is replaced and where.

    Parameters
    ----------
    kind
        What the cells are replaced by, in a word.
    system
        Whose cells.
    places
        Which of them.
    cells
        What stands there instead.
    """

    kind: str
    system: str
    places: tuple[int, ...]
    cells: tuple[bytes, ...]

    def __str__(self) -> str:
        return f"{self.kind} in {self.system}, from cell {self.places[0] + 1}"

    def of(self, data: PrivateCells) -> PrivateCells:
        """Return the neighbour of a dataset."""
        return data.replaced(self.system, self.places, self.cells)


def neighbours(
    data: PrivateCells, unit: str, *, kinds: Sequence[str] | None = None, spots: int = 2
) -> Iterator[Neighbour]:
    """Yield neighbours of a dataset that differ in one unit, one for each kind and spot.

    Parameters
    ----------
    data
        The dataset.
    unit
        :data:`READING`, :data:`DAY` or :data:`SYSTEM`.
    kinds
        Which kinds; all when left out.
    spots
        How many places: the first of all cells, where a reader that guesses looks, and others.
    """
    known: dict[str, bytes | Change] = {**CONSTANTS, **LONG, **CHANGES}
    for kind in kinds or known:
        change = known[kind]
        for system, places in list(_spots(data, unit))[:spots]:
            if kind in LONG:
                places = places[:1]
            old = [data.by_system[system][place] for place in places]
            new = tuple(change if isinstance(change, bytes) else change(cell) for cell in old)
            if new != tuple(old):
                yield Neighbour(kind, system, tuple(places), new)


def _spots(data: PrivateCells, unit: str) -> Iterator[tuple[str, Sequence[int]]]:
    names, cells = list(data.by_system), len(data.columns)
    first, last = names[0], names[-1]
    if unit == READING:
        noon = cells // 2 // HOURS_A_DAY * HOURS_A_DAY + HOURS_A_DAY // 2
        for system, place in ((first, 0), (first, min(noon, cells - 1)), (first, cells - 1)):
            yield system, range(place, place + 1)
    elif unit == DAY:
        for system, day in ((first, 0), (last, cells // HOURS_A_DAY // 2)):
            yield system, range(day * HOURS_A_DAY, (day + 1) * HOURS_A_DAY)
    else:
        for system in dict.fromkeys((first, last, names[len(names) // 2])):
            yield system, range(cells)
