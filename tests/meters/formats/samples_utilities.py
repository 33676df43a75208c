"""Utilities: a preamble with the customer's name above the table, and several homes in one file.

A Green Button CSV begins with Name, Address, Account Number and Service, an empty line, and then
``TYPE,DATE,START TIME,END TIME,USAGE (kWh),COST,NOTES``; older ones have ``USAGE,UNITS``. End times
are the last minute of the interval (00:14, 00:59). Research files such as Pecan Street's have one
row for each ``dataid`` and ``local_15min``, whose stamps carry an offset, and ``solar`` in kW.
Source: public readers of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, numbers, plant, stamps, table

NAME, ADDRESS, ACCOUNT = "Maria Exempla", "123 Example St, SAN JOSE CA 95124", "9000012345"
SECRETS = ("Maria", "Exempla", "Example St", ACCOUNT)


def _ends(power: pd.Series) -> list[str]:
    last = pd.Timedelta(minutes=(power.index[1] - power.index[0]) / pd.Timedelta(minutes=1) - 1)
    return list((power.index + last).strftime("%H:%M"))


def generation(days: int) -> FormatSample:
    """The utility's own CSV of a generation meter, the unit in the name."""
    known = plant("denver", days)
    power = known.power(15)
    rows = zip(
        ["Electric generation"] * len(power),
        stamps(power, "%Y-%m-%d"),
        stamps(power, "%H:%M"),
        _ends(power),
        numbers(energy(power), 4),
        ["$0.12 "] * len(power),
        [""] * len(power),
        strict=True,
    )
    header = ["TYPE", "DATE", "START TIME", "END TIME", "GENERATION (kWh)", "COST", "NOTES"]
    above = [f"Name,{NAME}", f'Address,"{ADDRESS}"', f"Account Number,{ACCOUNT}", "Service,1", ""]
    return FormatSample(
        "utility-generation",
        "utility",
        "pge_interval_data.csv",
        table(rows, header=header, above=above, encoding="utf-8-sig"),
        (expect(power),),
        options={"timezone": known.timezone},
        tolerance=0.0003,
        label_said=True,
        schema={
            "timezone": known.timezone,
            "skip_rows": 5,
            "date_column": "DATE",
            "time_column": "START TIME",
            "time_format": "%Y-%m-%d %H:%M",
            "power_column": "GENERATION (kWh)",
            "label": "start",
            "decimal": ".",
            "interval_minutes": 15,
        },
        secrets=SECRETS,
    )


def units_column(days: int) -> FormatSample:
    """The unit in a column of its own, hours, American dates without leading zeros."""
    known = plant("denver", days)
    power = known.power(60)
    rows = zip(
        ["Solar generation"] * len(power),
        [f"{each.month}/{each.day}/{each.year}" for each in power.index],
        [f"{each.hour}:00" for each in power.index],
        [f"{each.hour}:59" for each in power.index],
        numbers(energy(power), 4),
        ["kWh"] * len(power),
        strict=True,
    )
    above = [f"Name:,{NAME}", f'Address:,"{ADDRESS}"', f"Account Number:,{ACCOUNT}", ""]
    return FormatSample(
        "utility-units-column",
        "utility",
        "utility_hourly.csv",
        table(
            rows, header=["TYPE", "DATE", "START TIME", "END TIME", "USAGE", "UNITS"], above=above
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        label_said=True,
        words=("power_unit",),
        remedy={"power_unit": "kWh"},
        schema={
            "timezone": known.timezone,
            "skip_rows": 4,
            "date_column": "DATE",
            "time_column": "START TIME",
            "time_format": "%m/%d/%Y %H:%M",
            "power_column": "USAGE",
            "power_unit": "kWh",
            "label": "start",
            "decimal": ".",
            "interval_minutes": 60,
        },
        secrets=SECRETS,
    )


def german(days: int) -> FormatSample:
    """A German grid operator's: name and meter above, quarters from and to, decimal comma."""
    known = plant("munich", days)
    power = known.power(15)
    rows = zip(
        stamps(power, "%d.%m.%Y"),
        stamps(power, "%H:%M"),
        stamps(power, "%H:%M", "end"),
        numbers(energy(power), 4, decimal=","),
        ["W"] * len(power),
        strict=True,
    )
    above = [
        "Kunde;Maria Exempla",
        "Straße;Exempelgäßchen 12",
        f"Zählernummer;{ACCOUNT}",
        "OBIS-Kennzahl;1-1:2.29.0",
        "",
    ]
    header = ["Datum", "von", "bis", "Erzeugung (kWh)", "Status"]
    return FormatSample(
        "utility-german",
        "utility",
        "Lastgang.csv",
        table(rows, header=header, above=above, separator=";", line_end="\r\n", encoding="cp1252"),
        (expect(power),),
        options={"timezone": known.timezone},
        tolerance=0.0003,
        schema={
            "timezone": known.timezone,
            "skip_rows": 5,
            "date_column": "Datum",
            "time_column": "von",
            "time_format": "%d.%m.%Y %H:%M",
            "power_column": "Erzeugung (kWh)",
            "label": "start",
            "decimal": ",",
            "separator": ";",
            "interval_minutes": 15,
        },
        secrets=("Maria", "Exempla", "Exempelg", ACCOUNT),
    )


def told_to_skip(days: int) -> FormatSample:
    """A preamble of prose that nothing tells from a table but the number of its lines."""
    known = plant("denver", days)
    power = known.power(15)
    rows = zip(stamps(power, "%Y-%m-%d %H:%M"), numbers(power, 3), strict=True)
    above = [
        f"Report for {NAME}, account {ACCOUNT}",
        "Requested on 2024-06-21 10:00, 12 pages",
        "Values are provisional",
    ]
    return FormatSample(
        "utility-prose",
        "utility",
        "report.csv",
        table(rows, header=["Interval start", "Generation kW"], above=above),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("skip_rows",),
        remedy={"skip_rows": 3},
        schema={
            "timezone": known.timezone,
            "skip_rows": 3,
            "time_column": "Interval start",
            "power_column": "Generation kW",
            "time_format": "%Y-%m-%d %H:%M",
            "label": "start",
            "decimal": ".",
            "interval_minutes": 15,
        },
        secrets=SECRETS,
    )


def _homes(place: str, days: int, minutes: int, names: tuple[str, ...]) -> dict[str, pd.Series]:
    known = plant(place, days)
    return {
        name: known.power(minutes, share=1.0 / (1 + number)) for number, name in enumerate(names)
    }


def _sample(
    name: str, content: bytes, homes: dict[str, pd.Series], column: str, **facts: Any
) -> FormatSample:
    return FormatSample(
        f"homes-{name}",
        "homes",
        f"homes_{name}.csv",
        content,
        tuple(expect(power, system_id=home) for home, power in homes.items()),
        words=("system_column", column),
        remedy={"system_column": column},
        **facts,
    )


def pecan(days: int) -> FormatSample:
    """``dataid`` and ``local_15min``: which of three powers is the sun's has to be said."""
    homes = _homes("denver", days, 15, ("661", "1642", "2335"))
    rows = [
        [home, stamp[:-2], "0.448", value, "0.1"]
        for home, power in homes.items()
        for stamp, value in zip(
            stamps(power, "%Y-%m-%d %H:%M:%S%z"), numbers(power, 3), strict=True
        )
    ]
    header = ["dataid", "local_15min", "grid", "solar", "air1"]
    facts = {"power_column": "solar", "power_unit": "kW"}
    return _sample(
        "pecan",
        table(rows, header=header),
        homes,
        "dataid",
        options=facts,
        schema={
            **facts,
            "system_column": "dataid",
            "time_column": "local_15min",
            "label": "start",
            "decimal": ".",
            "interval_minutes": 15,
        },
    )


def by_time(days: int) -> FormatSample:
    """Homes in turn at every stamp, an id in the middle, W."""
    homes = _homes("munich", days, 30, ("haus-7", "haus-8"))
    lines = [
        (stamp, home, value)
        for home, power in homes.items()
        for stamp, value in zip(
            stamps(power, "%Y-%m-%dT%H:%M:%S"), numbers(power * 1000.0, 1), strict=True
        )
    ]
    rows = [list(line) for line in sorted(lines)]
    return _sample(
        "in-turn",
        table(rows, header=["Zeitstempel", "house_id", "PV (W)"], separator=";"),
        homes,
        "house_id",
        options={"timezone": "Europe/Berlin"},
        schema={
            "timezone": "Europe/Berlin",
            "system_column": "house_id",
            "time_column": "Zeitstempel",
            "power_column": "PV (W)",
            "label": "start",
            "decimal": ".",
            "separator": ";",
            "interval_minutes": 30,
        },
    )


def shuffled(days: int) -> FormatSample:
    """Rows in no order at all, customers by number, hours in kWh."""
    homes = _homes("denver", days, 60, ("10023", "10024", "10025"))
    rows = [
        [home, stamp, value]
        for home, power in homes.items()
        for stamp, value in zip(
            stamps(power, "%Y-%m-%d %H:%M:%S"), numbers(energy(power), 4), strict=True
        )
    ]
    order = np.random.default_rng(5).permutation(len(rows))
    return _sample(
        "shuffled",
        table([rows[each] for each in order], header=["customer", "reading_time", "kwh"]),
        homes,
        "customer",
        options={"timezone": "America/Denver"},
        schema={
            "timezone": "America/Denver",
            "system_column": "customer",
            "time_column": "reading_time",
            "power_column": "kwh",
            "label": "start",
            "decimal": ".",
            "interval_minutes": 60,
        },
    )


WRITERS = (generation, units_column, german, told_to_skip, pecan, by_time, shuffled)
