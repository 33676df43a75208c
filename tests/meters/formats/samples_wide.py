"""One row a day: Ausgrid's solar homes, a retailer's half hours, and tables of 24 or 96 columns.

Ausgrid's file has a title line, then ``Customer, Generator Capacity, Postcode, Consumption
Category, date, 0:30, 1:00, ... 0:00`` and in some years ``Row Quality`` last; categories
are GG (gross generation), GC (consumption) and CL (controlled load), values are kWh, and a column's
name is the end of its half hour. Dates are ``1-Jul-10`` in the first year and ``1/07/2012`` later.
Powershop's columns are ``00:00 - 00:30`` with Consumption or Generation in each row. Columns that
run from 1 or end at 24:00 name ends (HE01 is the hour that ends at 1); those that begin with 0 or
0:00 name starts. Source: Ausgrid's notes and public readers of it; PVOutput's forum for Powershop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .sample import ExpectedSystem, FormatSample, energy, expect, plant, table

STANDARD = "Etc/GMT+7"
TITLE = "2012-2013 Solar home electricity data - please read the notes before using this data"


def _days(
    power: pd.Series, values: np.ndarray, digits: int
) -> list[tuple[pd.Timestamp, list[str]]]:
    made = pd.Series(values, index=power.index)
    return [
        (pd.Timestamp(day), [f"{each:.{digits}f}" for each in part])
        for day, part in made.groupby(made.index.date)
    ]


def _clock(minutes: int, *, first: int, form: str = "{:02d}:{:02d}", last: int = 0) -> list[str]:
    """Return the names of a day's columns; ``last`` is the hour that midnight is called."""
    names = []
    for each in range(first, first + 1440, minutes):
        hour, minute = divmod(each, 60)
        names.append(form.format(last if hour == 24 else hour, minute))
    return names


def _ausgrid(
    name: str,
    days: int,
    categories: Sequence[str],
    date: str,
    options: dict[str, Any],
    **facts: Any,
) -> FormatSample:
    known = plant("sydney", days)
    quality = len(categories) > 1
    homes = {"1": known.power(30), "2": known.power(30, share=0.3)}
    rows = []
    for home, power in homes.items():
        for category in categories:
            values = energy(power) if category == "GG" else np.full(len(power), 0.313)
            for day, cells in _days(power, values, 4):
                written = day.strftime(date).lstrip("0")
                rows.append([home, "7.20", "2076", category, written, *cells, *[""] * quality])
    rows.sort(key=lambda row: row[0])
    names = _clock(30, first=30, form="{:d}:{:02d}")
    fixed = ["Customer", "Generator Capacity", "Postcode", "Consumption Category", "date"]
    return FormatSample(
        f"ausgrid-{name}",
        "ausgrid",
        f"ausgrid_{name}.csv",
        table(
            rows,
            header=[*fixed, *names, *["Row Quality"] * quality],
            above=[TITLE + "," * 52],
            line_end="\r\n",
        ),
        tuple(expect(power, system_id=home) for home, power in homes.items()),
        options=options,
        label="end",
        label_said=True,
        schema={"timezone": known.timezone},
        **facts,
    )


def ausgrid_generation(days: int) -> FormatSample:
    """Gross generation alone, as somebody cut it out."""
    return _ausgrid("gg", days, ["GG"], "%d/%m/%Y", {"timezone": "Australia/Sydney"})


def ausgrid_all(days: int) -> FormatSample:
    """All three categories, dates as in the first year's file."""
    zone = {"timezone": "Australia/Sydney"}
    return _ausgrid("all", days, ["GC", "CL", "GG"], "%d-%b-%y", zone)


def ausgrid_no_clock(days: int) -> FormatSample:
    """Without a word of its clock: the sentence has to ask for it."""
    return _ausgrid(
        "no-clock",
        days,
        ["GC", "GG"],
        "%d/%m/%Y",
        {},
        must_refuse=True,
        words=("timezone",),
        remedy={"timezone": "Australia/Sydney"},
    )


def _wide(
    name: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    expected: Sequence[ExpectedSystem],
    *,
    zone: str,
    unit: str | None,
    label: str,
    separator: str = ",",
    line_end: str = "\n",
    **facts: Any,
) -> FormatSample:
    said = {} if unit is None else {"power_unit": unit}
    more = facts.pop("schema", {})
    schema = None if more is None else {"timezone": zone, **said, **more}
    return FormatSample(
        f"wide-{name}",
        "wide",
        f"wide_{name}.csv",
        table(rows, header=header, separator=separator, line_end=line_end),
        tuple(expected),
        options={"timezone": zone, **said, **facts.pop("options", {})},
        label=label,
        label_said=True,
        schema=schema,
        **facts,
    )


def hour_ending(days: int) -> FormatSample:
    """24 columns HE01 to HE24."""
    power = plant("denver", days).power(60, STANDARD)
    rows = [[f"{day:%Y-%m-%d}", *cells] for day, cells in _days(power, energy(power), 4)]
    header = ["Date", *(f"HE{hour:02d}" for hour in range(1, 25))]
    return _wide("he24", header, rows, [expect(power)], zone=STANDARD, unit="kWh", label="end")


def hour_numbers(days: int) -> FormatSample:
    """24 columns 1 to 24, the unit in the table's own column."""
    power = plant("denver", days).power(60, STANDARD)
    rows = [[f"{day:%m/%d/%Y}", *cells] for day, cells in _days(power, energy(power), 4)]
    header = ["Date", *(str(hour) for hour in range(1, 25))]
    return _wide("numbers24", header, rows, [expect(power)], zone=STANDARD, unit="kWh", label="end")


def hour_beginning(days: int) -> FormatSample:
    """24 columns 0:00 to 23:00."""
    power = plant("denver", days).power(60, STANDARD)
    rows = [[f"{day:%Y-%m-%d}", *cells] for day, cells in _days(power, power.to_numpy(), 3)]
    header = ["day", *(f"{hour}:00" for hour in range(24))]
    return _wide("begin24", header, rows, [expect(power)], zone=STANDARD, unit="kW", label="start")


def quarters_of_homes(days: int) -> FormatSample:
    """96 columns 00:00 to 23:45, a row for each home and day."""
    known = plant("denver", days)
    homes = {f"m{number}": known.power(15, STANDARD, share=1.0 / number) for number in (1, 2, 3)}
    rows = [
        [home, f"{day:%Y-%m-%d}", *cells]
        for home, power in homes.items()
        for day, cells in _days(power, power.to_numpy() * 1000.0, 1)
    ]
    rows.sort(key=lambda row: row[1])
    header = ["meter_id", "date", *_clock(15, first=0)]
    expected = [expect(power, system_id=home) for home, power in homes.items()]
    return _wide("homes96", header, rows, expected, zone=STANDARD, unit="W", label="start")


def quarters_ending(days: int) -> FormatSample:
    """96 columns 00:15 to 24:00, German dates and decimal comma."""
    power = plant("munich", days).power(15)
    rows = [
        [f"{day:%d.%m.%Y}", *(cell.replace(".", ",") for cell in cells)]
        for day, cells in _days(power, energy(power), 4)
    ]
    header = ["Datum", *_clock(15, first=15, last=24)]
    return _wide(
        "lastgang96",
        header,
        rows,
        [expect(power)],
        zone="Europe/Berlin",
        unit="kWh",
        label="end",
        separator=";",
        line_end="\r\n",
        tolerance=0.0003,
        schema={"decimal": ",", "separator": ";"},
    )


def half_hours(days: int) -> FormatSample:
    """48 columns ``00:00 - 00:30`` of a retailer, generation and consumption in turn."""
    known = plant("sydney", days)
    power = known.power(30, "Etc/GMT-10")
    rows = []
    for day, cells in _days(power, energy(power), 4):
        date = f"{day.day}/{day.month}/{day.year}"
        rows.append(["4103111111", "217000001", "Consumption", date, "No", *["0.212"] * 48])
        rows.append(["4103111111", "217000001", "Generation", date, "No", *cells])
    ends = _clock(30, first=30)
    names = [f"{a} - {b}" for a, b in zip(_clock(30, first=0), ends, strict=True)]
    fixed = ["NMI", "METER SERIAL NUMBER", "CON/GEN", "DATE", "ESTIMATED?"]
    return _wide(
        "retailer48",
        [*fixed, *names],
        rows,
        [expect(power)],
        zone="Etc/GMT-10",
        unit="kWh",
        label="start",
        words=("system_column",),
        schema=None,
    )


WRITERS = (
    ausgrid_generation,
    ausgrid_all,
    ausgrid_no_clock,
    hour_ending,
    hour_numbers,
    hour_beginning,
    quarters_of_homes,
    quarters_ending,
    half_hours,
)
