"""Files and arguments of every format, spoilt in every way, are read or refused in a sentence.

Hypothesis makes the same cases each time and shortens those that fail; the file of the shortest
one stays in pytest's folder. ``make fuzz`` tries 100,000.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import spoiling
from formats.catalogue import WRITERS, sample
from formats.sample import FormatSample
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sunveil.cli import main
from sunveil.cli._text import DEFECTIVE
from sunveil.errors import MeterError, SunveilError
from sunveil.meters import MeterOptions, Record, read_meters

DAYS = 3
# More than any small file needs, even on a machine that does other things. [s]
TIME_LIMIT = 60
# Readings are held against the truth where there was light enough. [kW]
LIGHT = 0.2
# A unit, an interval or a decimal point taken wrong changes readings by more than this.
FACTOR = 2.5
DECIMALS = re.compile(r"\d+[.,]\d{3,}")
# Numbers that messages have of their own: the least epsilon.
OURS = {"0.0001"}
FAMILIES = sorted({name.partition("-")[0] for name in WRITERS})
# What only a schema file says.
UNFLAGGED = ("cleaning", "interval_minutes", "first", "last")
# Options that nobody would give.
WILD: dict[str, tuple[Any, ...]] = {
    "time_column": ("time", "nothing", "", "1", "0", "a\tb"),
    "date_column": ("Date", "date", "nothing", "1"),
    "power_column": ("power_kw", "Power (W)", "nothing", "", "2", "99"),
    "system_column": ("system_id", "dataid", "nothing", "1"),
    "time_format": ("%d/%m/%Y %H:%M", "%Q", "", "%", "%Y", "%s", "%H:%M", "%Y-%m-%d %H:%M:%S%z"),
    "power_unit": ("W", "kW", "Wh", "kWh", "MW", "MWh", "furlong", ""),
    "timezone": (
        *("UTC", "Europe/Berlin", "UTC-07:00", "Mars/Base", "", "../etc/passwd", "UTC+99:00"),
    ),
    "label": ("start", "middle", "end", "noon"),
    "duplicates": ("mean", "first", "last", "all"),
    "unit_switch": ("repair", "ignore", "no"),
    "negate": (True, False),
    "net": (True, False),
    "export_column": ("Export (kWh)", "nothing", "2", ""),
    "import_column": ("Import (kWh)", "nothing", "3"),
    "cleaning": ("record", "each", "none"),
    "skip_rows": (0, 1, 5, -1, 10**9),
    "decimal": (".", ",", "auto", "x", ""),
    "separator": (",", ";", "\t", "|", "", "ab", "\n"),
    "register": ("auto", "no", "cumulative", "daily", "weekly"),
    "interval_minutes": (1, 5, 15, 60, 0, -5, 7, 1e9, float("nan")),
    "first": ("2024-06-18", "2024-06-30", "yesterday", "", "0001-01-01"),
    "last": ("2024-06-20", "2024-01-01", "tomorrow", "9999-12-31"),
}


class TooLong(Exception):
    """A case that takes longer than any small file may."""


@dataclass(frozen=True)
class Case:
    """One file and one way to ask for it."""

    name: str
    draft: spoiling.Draft
    options: Mapping[str, Any]
    natural: bool = True  # whether these are the options that the file's own user would give
    command: tuple[str, ...] = ()  # a command line, without the file, instead of a call

    @property
    def sample(self) -> FormatSample:
        return sample(self.name, DAYS)


def happens(rng: random.Random, percent: int) -> bool:
    return rng.randrange(100) >= 100 - percent


def make_case(rng: random.Random, family: str) -> Case:
    name = rng.choice([name for name in WRITERS if name.partition("-")[0] == family])
    made = sample(name, DAYS)
    draft = spoiling.Draft(made.content, made.family)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        spoiling.spoil(rng, draft, made.file_name)
    options = dict(made.options)
    if made.schema is not None and happens(rng, 35):
        options = {**made.schema, "cleaning": "each"}
    elif happens(rng, 60):
        options |= made.remedy or {}
    natural = not happens(rng, 25)
    for _ in range(0 if natural else rng.randint(1, 4)):
        option = rng.choice(list(WILD))
        options[option] = rng.choice(WILD[option])
    command = make_command(rng, options) if happens(rng, 15) else ()
    return Case(name, draft, options, natural, command)


def make_command(rng: random.Random, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a command line that asks the same; its file is put behind it."""

    def mostly(usual: str, *others: str) -> str:
        return rng.choice(others) if happens(rng, 5) else usual

    name = rng.choice(("infer",) * 9 + ("schema",) * 2 + ("release",))
    arguments = [name]
    if name != "schema" or happens(rng, 5):
        arguments += ["--latitude", mostly("48.14", "91", "x", "")]
        arguments += ["--longitude", mostly("11.58", "181", "nan", "")]
    if name == "release":
        arguments += ["--protect", rng.choice(("readings:1", "days:1", "system"))]
        arguments += ["--epsilon", mostly("1", "0", "-1", "1e9")]
    for option, value in options.items():
        if option in UNFLAGGED or (name == "release" and option == "unit_switch"):
            continue
        flag = f"--{option.replace('_', '-')}"
        arguments += [flag] if value is True else [flag, str(value)] if value is not False else []
    if happens(rng, 10):
        others = ("--json", "--force", "--allow-net", "--nothing", "--label", "-x", "--out")
        arguments.append(rng.choice(others))
    return tuple(arguments)


def stop(number: int, frame: FrameType | None) -> None:
    raise TooLong


def check(case: Case, folder: Path) -> None:
    """Fail when a case is neither read right nor refused in a sentence of Sunveil's own."""
    path = folder / case.sample.file_name
    path.write_bytes(case.draft.content)
    signal.alarm(TIME_LIMIT)
    try:
        if case.command:
            check_command(case, path)
            return
        records = read_meters(path, MeterOptions(**case.options))
    except SunveilError as error:
        check_message(case, str(error))
        return
    finally:
        signal.alarm(0)
    if case.natural and case.draft.scale_kept:
        factor = scale_of(records, case.sample)
        # for a release, a record without any usable reading is one of zeros
        zeros = factor == 0.0 and case.options.get("cleaning") == "each"
        assert factor is None or zeros or 1.0 / FACTOR < factor < FACTOR, "another scale"


def check_command(case: Case, path: Path) -> None:
    out, err, arguments = io.StringIO(), io.StringIO(), [*case.command, str(path)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    assert code != DEFECTIVE, err.getvalue()
    if code != 0:
        assert err.getvalue().strip(), "no message"
        check_message(case, err.getvalue())


def check_message(case: Case, message: str) -> None:
    """Fail where a message quotes what was planted, a customer or a reading."""
    given = " ".join(map(str, (*case.options.values(), *case.command, case.sample.file_name)))
    texts = (*case.draft.planted, *case.sample.secrets)
    quoted = [text for text in texts if text in message and text not in given]
    cells = set(DECIMALS.findall(case.draft.content.decode("latin-1").replace("\x00", "")))
    cells -= OURS | {cell for cell in cells if not cell.strip("0.,")}
    quoted += [each for each in DECIMALS.findall(message) if each in cells]
    assert not quoted, f"a quote: {message}"


def scale_of(records: Sequence[Record], sample: FormatSample) -> float | None:
    """Return how many times the truth the readings are; None where too few can be compared."""
    truths = {expected.system_id: expected for expected in sample.expected}
    ratios: list[float] = []
    for record in records if len(records) == len(sample.expected) else ():
        expected = truths.get(record.system_id, truths.get(None))
        # a day or less is too short to show that a register counts up, and for any inference
        if expected is None or np.ptp(record.times) < np.timedelta64(24, "h"):
            continue
        length = np.timedelta64(expected.interval_minutes * 60, "s")
        middle = record.times + np.timedelta64(round(record.interval_minutes * 30), "s")
        place = np.searchsorted(expected.starts, middle, side="right") - 1
        inside = (place >= 0) & (middle < expected.starts[np.maximum(place, 0)] + length)
        truth = expected.power_kw[place[inside]]
        lit = truth > LIGHT
        ratios.extend((record.power_kw[inside][lit] / truth[lit]).tolist())
    return float(np.median(ratios)) if len(ratios) >= 10 else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    before = signal.signal(signal.SIGALRM, stop)
    yield tmp_path_factory.mktemp("fuzz")
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("family", FAMILIES)
@settings(derandomize=True)
@given(rng=st.randoms(note_method_calls=False))
def test_spoilt_files_and_arguments_are_read_or_refused(family, folder, rng):
    case = make_case(rng, family)
    note(f"{case}")
    check(case, folder)


def plain(*planted: str) -> Case:
    """Return a file as it is."""
    made = sample("stamps-apart", DAYS)
    draft = spoiling.Draft(made.content, made.family, planted=list(planted))
    return Case("stamps-apart", draft, made.options)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (ZeroDivisionError("planted"), "planted"),
        (MeterError("roof.csv has text at row 7: 'Zq0001x'"), "a quote"),
    ],
)
def test_a_planted_fault_is_found(fault, found, folder, monkeypatch):
    def broken(*_: object) -> None:
        raise fault

    check(plain("Zq0001x"), folder)
    monkeypatch.setitem(globals(), "read_meters", broken)
    with pytest.raises((ZeroDivisionError, AssertionError), match=found):
        check(plain("Zq0001x"), folder)


def test_another_scale_is_found(folder, monkeypatch):
    def in_watts(path: Path, options: MeterOptions) -> list[Record]:
        return [
            replace(record, power_kw=record.power_kw * 1000.0)
            for record in read_meters_as_it_is(path, options)
        ]

    read_meters_as_it_is = read_meters
    path = folder / plain().sample.file_name
    check(plain(), folder)
    found = scale_of(read_meters(path, **plain().options), plain().sample)
    assert found == pytest.approx(1.0, abs=0.15)
    monkeypatch.setitem(globals(), "read_meters", in_watts)
    with pytest.raises(AssertionError, match="another scale"):
        check(plain(), folder)
