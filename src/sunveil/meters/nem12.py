"""NEM12 reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sunveil.errors import MeterError
from sunveil.meters.build_record import RawSystem, matched
from sunveil.meters.file_types import Content, iter_lines
from sunveil.meters.numbers_and_dates import parse_number
from sunveil.meters.reading_options import ADDED, MeterOptions, Unit
from sunveil.meters.record import Label, RefusedSystem
from sunveil.meters.time_steps import Stamps

_MARKET_TIME = 600.0
_MINUTE = 60_000_000
_UNITS = {unit.value.lower(): unit for unit in Unit}


@dataclass(slots=True)
class _Channel:
    """One register of one meter: its suffix, unit, interval, and its days."""

    nmi: str
    suffix: str
    unit: str
    minutes: int
    starts: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)


def is_nem12(lines: Sequence[str]) -> bool:
    """Whether lines are of a NEM12 file, with or without the record that opens it."""
    first = next((line for line in lines if line.strip()), "")
    return first.upper().startswith("100,NEM12") or (
        first.startswith("200,") and any(line.startswith("300,") for line in lines[:3])
    )


def read_nem12(
    content: Content, options: MeterOptions
) -> Iterator[tuple[RawSystem | RefusedSystem, MeterOptions]]:
    """Yield the generation of every meter of a NEM12 file, or a net meter's both ways."""
    channels: dict[str, list[_Channel]] = {}
    with content.open() as file:
        for channel in _channels(iter_lines(file)):
            channels.setdefault(channel.nmi, []).append(channel)
    if not channels:
        raise MeterError(f"{content.name} is a NEM12 file without interval data (300 records)")
    options = options.changed({"label": Label.START})
    for nmi in sorted(channels):
        where = f"{content.name}, system {nmi},"
        try:
            yield _raw(channels[nmi], options, nmi, where), options
        except MeterError as error:
            yield RefusedSystem(nmi, "meter", str(error)), options


def _channels(lines: Iterator[str]) -> Iterator[_Channel]:
    open_channel: _Channel | None = None
    for row, line in enumerate(lines, start=1):
        # no field of this format holds a comma, so quotes hold none together
        cells = [cell.strip(' \t"') for cell in line.split(",")]
        if cells[0] == "200":
            if open_channel is not None:
                yield open_channel
            # days below a record that is cut short are nobody's
            open_channel = None
            if len(cells) < 9:
                continue
            minutes = int(cells[8]) if cells[8].lstrip("0") in ("5", "15", "30") else 0
            open_channel = _Channel(
                cells[1], cells[4].upper() or cells[3].upper(), cells[7], minutes
            )
        elif cells[0] == "300" and open_channel is not None and open_channel.minutes:
            _add_day(open_channel, cells, row)
        elif cells[0] == "400" and open_channel is not None and len(cells) > 3:
            _blank_intervals(open_channel, cells)
    if open_channel is not None:
        yield open_channel


def _add_day(channel: _Channel, cells: Sequence[str], row: int) -> None:
    """Append a day; skip it if the date does not parse."""
    size = 1440 // channel.minutes
    date = cells[1] if len(cells) > 1 else ""
    if len(date) < 8 or not date[:8].isdecimal():
        return
    try:
        day = np.datetime64(f"{date[:4]}-{date[4:6]}-{date[6:8]}", "us").astype(np.int64)
    except ValueError:
        return
    found = [*cells[2 : 2 + size], *[""] * max(0, size - len(cells) + 2)]
    quality = "".join(cells[2 + size : 3 + size])[:1].upper()
    # where another number follows, a separator within a cell has moved all that stand after it
    missing = quality == "N" or quality.isdecimal()
    step = channel.minutes * _MINUTE
    channel.starts += [int(day) + step * k for k in range(size)]
    channel.values += [np.nan if missing else parse_number(cell, ".")[0] for cell in found]
    channel.rows += [row] * size


def _blank_intervals(channel: _Channel, cells: Sequence[str]) -> None:
    """Blank the intervals of the last day that a 400 record calls null."""
    size = 1440 // channel.minutes if channel.minutes else 0
    numbers = all(each.isdecimal() and len(each) < 5 for each in cells[1:3])
    if not numbers or len(channel.values) < size:
        return
    if cells[3][:1].upper() == "N":
        first, last = max(int(cells[1]), 1), min(int(cells[2]), size)
        for interval in range(first, last + 1):
            channel.values[len(channel.values) - size + interval - 1] = np.nan


def _raw(channels: Sequence[_Channel], options: MeterOptions, nmi: str, where: str) -> RawSystem:
    exports, imports = _registers(channels, options, where)
    by_suffix = [
        [
            _raw_register([one for one in channels if one.suffix == suffix], options, nmi, where)
            for suffix in suffixes
        ]
        for suffixes in (exports, imports)
    ]
    first = by_suffix[0][0]
    given = sum((matched(first, each) for each in by_suffix[0][1:]), first.values)
    if not imports:
        return replace(first, values=given)
    taken = sum(
        (matched(first, each) for each in by_suffix[1][1:]), matched(first, by_suffix[1][0])
    )
    note = f"A net meter: registers {', '.join(exports)} less {', '.join(imports)}."
    return replace(first, values=given, imported=taken, net=True, notes=(note,))


def _raw_register(
    channels: Sequence[_Channel], options: MeterOptions, nmi: str, where: str
) -> RawSystem:
    """Return the readings of one register, which may be in several parts."""
    unit = _UNITS.get(channels[0].unit.lower())
    if unit is None or len({(each.minutes, each.unit.lower()) for each in channels}) > 1:
        raise MeterError(f"{where} counts neither energy nor power in its register, or in two ways")
    starts = np.array([each for one in channels for each in one.starts], dtype=np.int64)
    values = np.array([each for one in channels for each in one.values], dtype=np.float64)
    rows = np.array([each for one in channels for each in one.rows], dtype=np.int64)
    if not len(starts):
        raise MeterError(f"{where} has no interval data (300 records)")
    own = options.timezone is not None
    offset = np.full(len(starts), np.nan if own else _MARKET_TIME)
    return RawSystem(nmi, where, rows, Stamps(starts, offset, None), values, unit)


def _registers(
    channels: Sequence[_Channel], options: MeterOptions, where: str
) -> tuple[list[str], list[str]]:
    """Return the registers of generation, or of what a net meter gives to the grid and takes."""
    suffixes = sorted({each.suffix for each in channels})
    named = {
        "power_column": options.power_column or options.export_column,
        "import_column": options.import_column,
    }
    asked = {
        option: [] if names is None else names.upper().split(ADDED)
        for option, names in named.items()
    }
    for option, name in [(option, name) for option, names in asked.items() for name in names]:
        if name not in suffixes:
            raise MeterError(
                f"{where} has no register {name!r} (option `{option}`):"
                f" it has {', '.join(suffixes)}"
            )
    wanted, taken = asked.values()
    if wanted:
        return wanted, taken
    made = [suffix for suffix in suffixes if suffix.startswith("B")]
    used = [suffix for suffix in suffixes if suffix.startswith("E")]
    if not made:
        raise MeterError(
            f"{where} counts consumption alone (registers {', '.join(suffixes)}): where one of them"
            " counts generation all the same, name it with option `power_column`"
        )
    if len(made) > 1 and not used:
        raise MeterError(
            f"{where} has several registers of generation ({', '.join(made)}): name one with"
            " option `power_column`"
        )
    return made, taken or used
