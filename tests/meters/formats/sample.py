"""What a sample is: a file written from a known plant, and what reading it must come to."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import openpyxl
import pandas as pd

from sunveil.meters import Label, Record

from .plant import KnownPlant

# Decimal numbers as they stand in files; a reading quoted in a message is found by its digits.
_DECIMALS = re.compile(r"\d+[.,]\d{2,}")
COUNT = 41_230.5  # [kWh] what a register had counted before
DARK = 0.0005  # [kW] below it some formats leave a cell or a row out


@dataclass(frozen=True)
class ExpectedSystem:
    """What must be read of one system."""

    system_id: str | None  # None where any name will do
    starts: np.ndarray  # UTC start of every interval with a reading, datetime64[s]
    power_kw: np.ndarray  # true mean power of these, before the file's rounding
    interval_minutes: int


@dataclass(frozen=True)
class FormatSample:
    """One file of one format, and what reading it must come to."""

    file_name: str
    content: bytes
    expected: tuple[ExpectedSystem, ...]
    # what its user gives without being asked: the clock of local stamps
    options: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 0.001  # [kW] what the file's own rounding loses
    label: str = "start"  # which instant of its interval the format's stamps name
    # whether the file or its definition says so; otherwise stamps keep their instants
    label_said: bool = False
    coverage: float = 1.0  # share of the expected readings that must be found
    must_refuse: bool = False  # whether reading it with ``options`` alone would be a guess
    words: tuple[str, ...] = ()  # what the sentence of a refusal must name
    # options that make it work once the sentence is followed; None: another file is needed
    remedy: Mapping[str, Any] | None = None
    schema: Mapping[str, Any] | None = None  # declared for a release; None: it is refused
    secrets: tuple[str, ...] = ()  # texts in the file that no message and no note may hold
    net: bool = False
    name: str = ""

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]


Writer = Callable[[int], FormatSample]
"""From a number of days to a sample."""


class _Number(float):
    """A number that ``.3c`` writes with a decimal comma."""

    def __format__(self, spec: str) -> str:
        if spec.endswith("c"):
            return comma(float(self), int(spec[1:-1]))
        return super().__format__(spec)


class Reading(SimpleNamespace):
    """One interval: its start and end on the file's clock, and what the plant did in it.

    ``given`` and ``taken`` are what a meter of the home counts, ``total`` is the energy up to the
    end, ``today`` that since midnight. [kW, kWh]
    """

    def __getitem__(self, name: str) -> Any:
        value = getattr(self, name)
        return _Number(value) if isinstance(value, float) else value

    @property
    def iso(self) -> str:
        return self.t.isoformat()

    @property
    def end_iso(self) -> str:
        return self.end.isoformat()

    @property
    def naive(self) -> Any:
        """The start as a spreadsheet keeps it."""
        return self.t.tz_localize(None).to_pydatetime()


Rows = list[Reading]


def readings(power: pd.Series, net: pd.Series | None = None) -> Rows:
    """Return the intervals of a series, which is indexed by their starts."""
    step = power.index[1] - power.index[0]
    hours = step / pd.Timedelta(minutes=1) / 60.0
    energy = power.to_numpy() * hours
    today = pd.Series(energy, index=power.index).groupby(power.index.date).cumsum()
    net = power if net is None else net
    columns = power.index, power, net, np.cumsum(energy), today
    rows = []
    for t, kw, own, total, day in zip(*columns, strict=True):
        given, taken, kwh = max(own, 0.0), max(-own, 0.0), kw * hours
        powers = {"kw": kw, "w": kw * 1000.0, "mw": kw / 1000.0, "minus_kw": -kw, "net": own}
        flows = {"given": given, "taken": taken, "load": kw - own, "dark": kw < DARK}
        watts = {"given_w": given * 1000.0, "taken_w": taken * 1000.0, "today_wh": day * 1000.0}
        energies = {"given_kwh": given * hours, "taken_kwh": taken * hours, "total": total}
        counts = {
            "kwh": kwh,
            "wh": kwh * 1000.0,
            "mwh": kwh / 1000.0,
            "today": day,
            "count": COUNT + total,
        }
        values = powers | flows | watts | energies | counts
        rows.append(Reading(t=t, end=t + step, hour=t.hour, **values))
    return rows


def by_day(rows: Rows) -> list[tuple[pd.Timestamp, Rows]]:
    days: dict[pd.Timestamp, Rows] = {}
    for r in rows:
        days.setdefault(r.t.tz_localize(None).normalize(), []).append(r)
    return list(days.items())


def expect(power: pd.Series, system_id: str | None = None) -> ExpectedSystem:
    starts = power.index.tz_convert("UTC").tz_localize(None).to_numpy().astype("M8[s]")
    minutes = int(np.diff(starts).min() / np.timedelta64(60, "s"))
    return ExpectedSystem(system_id, starts, power.to_numpy(), minutes)


def made(
    file: str,
    place: str,
    minutes: int,
    content: Callable[..., bytes],
    *,
    clock: str | None = None,
    zone: bool | None = None,
    power: Callable[[int], pd.Series] | None = None,
    scale: float = 1.0,
    shares: Sequence[tuple[str | None, float]] = ((None, 1.0),),
    net: bool = False,
    lit: bool = False,
    label: str = "start",
    asks: Mapping[str, Any] | None = None,
    declared: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    must_refuse: bool = False,
    **facts: Any,
) -> Writer:
    """Return the writer of a format.

    ``content`` makes the file from the readings of each system of ``shares``, which names systems
    and their parts of the plant. ``zone``: the user says the clock. ``asks``: options that the
    refusal asks for. ``declared``: what a release needs besides these and the label. ``lit``: dark
    intervals have no reading. ``coverage`` may be computed from the readings.
    """

    def write(days: int) -> FormatSample:
        known = KnownPlant(place, days)
        whole = (power(days) if power else known.power(minutes, clock)) * scale
        rest = whole if power else whole - known.load(minutes, clock)
        whole = rest if net else whole
        said = {"timezone": clock or known.timezone} if zone or (zone is None and not clock) else {}
        said |= options or {}
        own = dict(facts)
        if declared is not None:
            own["schema"] = {**said, "label": label, **(asks or {}), **declared}
        if asks is not None:
            own = {"words": tuple(asks), "remedy": asks, **own}
        systems = [(name, whole * share) for name, share in shares]
        rows = [readings(whole * share, rest * share) for _, share in shares]
        if callable(own.get("coverage")):
            own["coverage"] = own["coverage"](rows[0])
        expected = [
            expect(each[(whole >= DARK).to_numpy()] if lit else each, name)
            for name, each in systems
        ]
        return FormatSample(
            file,
            content(*rows),
            () if must_refuse and "remedy" not in own else tuple(expected),
            options=said,
            label=label,
            must_refuse=must_refuse,
            net=net,
            **own,
        )

    return write


def text(
    file: str,
    place: str,
    minutes: int,
    head: str,
    line: str | Callable[[Reading], str | None] = "",
    *,
    below: Callable[[Rows], str] | None = None,
    end: str = "\n",
    encoding: str = "utf-8",
    newest_first: bool = False,
    **facts: Any,
) -> Writer:
    """Return the writer of lines: a head, a line for each reading, and perhaps one below.

    A line may be a template of a reading's attributes, which ends the head where it is not given.
    """
    above = head.split("\n") if head else []
    write = line if callable(line) else (line or above.pop()).format_map

    def content(rows: Rows) -> bytes:
        lines = [each for r in rows if (each := write(r)) is not None]
        lines = lines[::-1] if newest_first else lines
        parts = above, lines, [below(rows)] if below else []
        return lined(*parts, end=end, encoding=encoding)

    return made(file, place, minutes, content, **facts)


def book(
    file: str,
    place: str,
    minutes: int,
    heads: Mapping[str, Sequence[Sequence[Any]]],
    row: Callable[[Reading], Sequence[Any]],
    **facts: Any,
) -> Writer:
    """Return the writer of a workbook: the rows stand below the head of its last sheet."""

    def content(rows: Rows) -> bytes:
        sheets = {name: list(head) for name, head in heads.items()}
        list(sheets.values())[-1].extend(row(r) for r in rows)
        return workbook(sheets)

    return made(file, place, minutes, content, **facts)


def answer(
    file: str,
    place: str,
    minutes: int,
    value: Callable[[Rows], object],
    *,
    indent: int | None = None,
    **facts: Any,
) -> Writer:
    """Return the writer of JSON."""

    def content(rows: Rows) -> bytes:
        return json.dumps(value(rows), indent=indent).encode()

    return made(file, place, minutes, content, **facts)


def having(**facts: Any) -> dict[str, Any]:
    """Return facts of a sample, or options that are declared for it, as a dict."""
    return facts


def lined(*parts: Iterable[str], end: str = "\n", encoding: str = "utf-8") -> bytes:
    return "".join(line + end for part in parts for line in part).encode(encoding)


def workbook(sheets: Mapping[str, Iterable[Sequence[Any]]]) -> bytes:
    """Return an XLSX file of some sheets, each a list of rows of cells of any type."""
    pages = openpyxl.Workbook()
    pages.remove(pages.active)
    for name, rows in sheets.items():
        page = pages.create_sheet(name)
        for row in rows:
            page.append(list(row))
    file = io.BytesIO()
    pages.save(file)
    return file.getvalue()


def comma(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace(".", ",")


def assert_right(
    sample: FormatSample, records: Sequence[Record], *, declared: bool = False
) -> None:
    """Fail unless records are a sample's: systems, instants (exact if declared) and kW."""
    assert len(records) == len(sample.expected), "another number of systems"
    by_name = {record.system_id: record for record in records}
    for expected, in_order in zip(sample.expected, records, strict=True):
        record = in_order if expected.system_id is None else by_name[expected.system_id]
        _assert_system(sample, expected, record, declared=declared)


def _assert_system(
    sample: FormatSample, expected: ExpectedSystem, record: Record, *, declared: bool
) -> None:
    assert record.interval_minutes == expected.interval_minutes
    assert record.net == sample.net
    assert record.label_known or not (declared or sample.label_said), "the label is said"
    times = record.times
    if not record.label_known:
        length = record.interval_minutes * 60.0
        shift = (record.label.fraction - Label(sample.label).fraction) * length
        times = times + np.timedelta64(round(shift), "s")
    known = dict(zip(expected.starts.tolist(), expected.power_kw.tolist(), strict=True))
    found = dict(zip(times.tolist(), record.power_kw.tolist(), strict=True))
    assert found.keys() <= known.keys(), "readings at instants that the file does not have"
    worst = max(abs(value - known[time]) for time, value in found.items())
    assert worst <= sample.tolerance + 1e-9, f"readings are {worst:g} kW off"
    assert len(found) >= sample.coverage * len(known), "readings are missing"


def assert_says_nothing(sample: FormatSample, message: str) -> None:
    """Fail when a message quotes the file: a reading, a customer, a second line."""
    assert "\n" not in message
    assert not [secret for secret in sample.secrets if secret in message]
    written = sample.content.decode("latin-1").replace("\x00", "")
    cells = {each for each in _DECIMALS.findall(written) if each.strip("0.,")}
    assert not cells & set(_DECIMALS.findall(message)), "a message quotes a reading"
