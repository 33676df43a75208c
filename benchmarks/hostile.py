"""Hostile records among others: ``python -m benchmarks.hostile --cases 1000``.

A small fleet is written in many ways, one of its systems with readings or rows of the worst kind,
and given to the public entry points. Whatever that system holds, all else must come out as from the
fleet without it: every byte of the others' rows, exit codes, counts and statuses; and the system
itself keeps its row. Cases follow from their numbers, so that each can be tried again.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.hostile_ways import STAMPS_MATTER, WAYS, Fleet, Outcome, Rows
from sunveil.pv_model import ac_power, sky_at
from sunveil.site import Plane, Site
from sunveil.weather import clearsky
from sunveil.weather.weather_data import utc_seconds

SITE = Site(39.742, -105.1727, 1795.0)
PLANES = {
    "h1": (110.0, 25.0),
    "h2": (180.0, 35.0),
    "h3": (250.0, 20.0),
    "h4": (90.0, 15.0),
    "h5": (200.0, 30.0),
    "h6": (225.0, 40.0),
}
DAYS = 40
# Cells that are no numbers, or not the numbers that they seem.
TEXTS = (
    "", "nan", "NaN", "inf", "-inf", "Infinity", "1e308", "-1e308", "1e-308", "1e30", "1e999",
    "1e-999", "text", "n/a", "-", '"', 'a"b', '""', "'", "1,5", "1;5", "1|5", "1.234,5", "#1",
    "1 234", "3 kW", "1.5W", "0x10", "1_000", "∞", "é", "\x00", "\t", "--", "True", "2020-01-01",
    "99999999999999999999", "-0", "+1", "1e", ".", ",", "\ufeff1", "1\u00a05",
)  # fmt: skip


def readings_changed(change: Callable[[np.random.Generator, list[str]], list[str]]) -> Maker:
    """Return what makes a record hostile by its readings alone."""

    def make(rng: np.random.Generator, rows: Rows) -> Rows:
        cells = change(rng, [cell for _, cell in rows])
        return [(stamp, cell) for (stamp, _), cell in zip(rows, cells, strict=True)]

    return make


Maker = Callable[[np.random.Generator, Rows], Rows]


def _all(text: str) -> Maker:
    return readings_changed(lambda _, cells: [text] * len(cells))


def _scaled(factor: float) -> Maker:
    return readings_changed(lambda _, cells: [repr(float(cell) * factor) for cell in cells])


def _one_cell(rng: np.random.Generator, cells: list[str]) -> list[str]:
    cells[int(rng.integers(len(cells)))] = str(rng.choice(TEXTS))
    return cells


def _many_cells(rng: np.random.Generator, cells: list[str]) -> list[str]:
    bad = rng.random(len(cells)) < rng.uniform(0.0, 1.0)
    texts = rng.choice(TEXTS, size=len(cells))
    return [
        str(text) if wrong else cell for cell, text, wrong in zip(cells, texts, bad, strict=True)
    ]


def _register(_: np.random.Generator, cells: list[str]) -> list[str]:
    return [f"{each:.3f}" for each in np.cumsum([float(cell) for cell in cells])]


def _noise(rng: np.random.Generator, cells: list[str]) -> list[str]:
    return [repr(each) for each in rng.normal(0.0, 10.0 ** rng.uniform(-40, 40), len(cells))]


READINGS: dict[str, Maker] = {
    **{f"all {text!r}": _all(text) for text in ("", "nan", "inf", "-inf", "0", "3.25", "text")},
    **{f"all {text!r}": _all(text) for text in ("1e308", "-1e308", "1e-308", '"', "1,5")},
    **{f"times {f:g}": _scaled(f) for f in (1e300, 1e30, 1e6, 1e-6, 1e-30, 1e-300, -1.0, -1e30)},
    "one cell": readings_changed(_one_cell),
    "many cells": readings_changed(_many_cells),
    "register": readings_changed(_register),
    "noise": readings_changed(_noise),
    "negative zero": _all("-0.0"),
}


def _shuffled(rng: np.random.Generator, rows: Rows) -> Rows:
    return [rows[at] for at in rng.permutation(len(rows))]


def _repeated(rng: np.random.Generator, rows: Rows) -> Rows:
    again = [(stamp, repr(float(cell) * float(rng.choice([1.0, 2.0])))) for stamp, cell in rows]
    return [each for pair in zip(rows, again, strict=True) for each in pair]


def _no_stamps(rng: np.random.Generator, rows: Rows) -> Rows:
    share = rng.choice([0.01, 0.5, 1.0])
    bad = ("", "never", "2019-02-30T00:00Z", '"', "31/31/2019", "0", "1e999")
    return [(str(rng.choice(bad)) if rng.random() < share else stamp, cell) for stamp, cell in rows]


STAMPS: dict[str, Maker] = {
    "no rows": lambda _, rows: rows[:0],
    "one row": lambda _, rows: rows[:1],
    "few rows": lambda _, rows: rows[:30],
    "rows twice": lambda _, rows: [*rows, *rows],
    "rows repeated": _repeated,
    "rows shuffled": _shuffled,
    "rows backwards": lambda _, rows: rows[::-1],
    "stamps unread": _no_stamps,
    "one stamp for all": lambda _, rows: [(rows[0][0], cell) for _, cell in rows],
}


@cache
def quiet_fleet() -> Fleet:
    """Return the fleet in which nobody is hostile."""
    rng = np.random.default_rng(5)
    begin = np.datetime64("2019-05-01")
    sky = clearsky(SITE, str(begin), str(begin + DAYS), step_minutes=60)
    # days begin at seven hours UTC there
    clouds = np.roll(np.repeat(rng.choice([1.0, 1.0, 1.0, 0.7, 0.3], DAYS), 24), 7)
    fleet = {}
    for name, plane in PLANES.items():
        free = ac_power(sky_at(sky, utc_seconds(sky.times)), Plane(*plane).normal[None])[0]
        power = 5.0 * free * clouds[: len(free)]
        noisy = power * rng.normal(1.0, 0.02, len(power))
        # the middle of an hour, named by its start
        stamps = [f"{when:%Y-%m-%dT%H:00Z}" for when in sky.times]
        fleet[name] = [(s, f"{max(p, 0.0):.5f}") for s, p in zip(stamps, noisy, strict=True)]
    return fleet


@dataclass(frozen=True, slots=True)
class HostileCase:
    """One system made hostile in one way, and the entry point that is given the fleet."""

    number: int
    way: str
    kind: str
    system: str

    @classmethod
    def of(cls, number: int, ways: Sequence[str]) -> HostileCase:
        """Return the case of a number."""
        rng = np.random.default_rng((16, number))
        way = ways[number % len(ways)]
        kinds = [*READINGS, *(() if way in STAMPS_MATTER else STAMPS)]
        return cls(number, way, str(rng.choice(kinds)), str(rng.choice(list(PLANES))))

    def fleet(self) -> Fleet:
        """Return the fleet with its hostile system."""
        rng = np.random.default_rng((17, self.number))
        quiet = quiet_fleet()
        maker = {**READINGS, **STAMPS}[self.kind]
        return {**quiet, self.system: maker(rng, list(quiet[self.system]))}


@dataclass(slots=True)
class Tried:
    """What came of cases: how many of each way, and what changed."""

    ways: Counter[str] = field(default_factory=Counter)
    changed: list[tuple[HostileCase, str]] = field(default_factory=list)


def differences(case: HostileCase, quiet: Outcome, found: Outcome) -> list[str]:
    """Return what one system changed of the rest, a line each.

    Parameters
    ----------
    case
        Which system it is.
    quiet, found
        What came out without it and with it.
    """
    wrong = []
    if found.code != quiet.code:
        wrong.append(f"exit code or status {quiet.code} became {found.code}: {found.said[-300:]}")
    if found.shared != quiet.shared:
        wrong.append("what is said of all changed")
    names = set(quiet.rows) - {case.system}
    changed = sorted(name for name in names if found.rows.get(name) != quiet.rows[name])
    if changed:
        wrong.append(f"rows of {', '.join(changed)} changed")
    more = set(found.rows) - set(quiet.rows)
    if more:
        wrong.append(f"{len(more)} rows more than systems")
    if case.system in quiet.rows and case.system not in found.rows and case.kind != "no rows":
        wrong.append("it has no row any more")
    return wrong


def _say(text: str) -> None:
    print(text, flush=True)


def try_cases(
    numbers: Sequence[int], *, ways: Sequence[str] = tuple(WAYS), say: Callable[[str], None] = _say
) -> Tried:
    """Try cases and return what changed.

    Parameters
    ----------
    numbers
        Numbers of the cases.
    ways
        Entry points.
    say
        Told of every change.
    """
    tried, quiet = Tried(), {}
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            case = HostileCase.of(number, ways)
            run = WAYS[case.way]
            if case.way not in quiet:
                calm = _run(run, Path(folder) / f"quiet {case.way}", quiet_fleet())
                if calm.code not in (0, 200):
                    raise RuntimeError(f"{case.way} fails without anybody hostile: {calm.said}")
                quiet[case.way] = calm
            found = _run(run, Path(folder) / f"{number}", case.fleet())
            tried.ways[case.way] += 1
            for wrong in differences(case, quiet[case.way], found):
                tried.changed.append((case, wrong))
                say(f"{case}: {wrong}")
    return tried


def _run(way: Callable[[Path, Mapping[str, Rows]], Outcome], folder: Path, fleet: Fleet) -> Outcome:
    folder.mkdir()
    try:
        return way(folder, fleet)
    except Exception as error:  # a traceback is what must not be
        return Outcome(-1, said=f"{type(error).__name__}: {error}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try cases, print what changed, and return how many did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--way", choices=list(WAYS), action="append")
    given = parser.parse_args(arguments)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # where ledgers keep their marks
        numbers = range(given.first, given.first + given.cases)
        tried = try_cases(numbers, ways=given.way or tuple(WAYS))
    for way, count in sorted(tried.ways.items()):
        bad = len({case.number for case, _ in tried.changed if case.way == way})
        print(f"{way:24} {count:5} cases, {bad} changed something else")
    print(f"{time.monotonic() - start:.0f} s")
    return min(len(tried.changed), 1)


if __name__ == "__main__":
    sys.exit(main())
