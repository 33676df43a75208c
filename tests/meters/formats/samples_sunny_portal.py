"""SMA's Sunny Portal: one line of ``plant / quantity / Mean Values [kW]`` above the rows.

The first cell of that line is empty, stamps follow the account's country and name the ends of
quarters of an hour, and a day's chart holds times alone. Source: public readers of these files.
"""

from __future__ import annotations

from .sample import FormatSample, energy, expect, numbers, plant, stamps, table


def portal(days: int) -> FormatSample:
    """Sunny Portal in German: one line of names, quarters of an hour that end at their stamp."""
    known = plant("munich", days)
    power = known.power(15)
    rows = zip(stamps(power, "%d.%m.%Y %H:%M", "end"), numbers(power, 3, decimal=","), strict=True)
    return FormatSample(
        "sma-portal-german",
        "sma",
        "Sunny_Portal_Analyse.csv",
        table(
            rows,
            header=["", "Dach Süd / Leistung / Mittelwerte  [kW]"],
            separator=";",
            line_end="\r\n",
            encoding="utf-8-sig",
        ),
        (expect(power),),
        options={"timezone": known.timezone},
        label="end",
        schema={
            "timezone": known.timezone,
            "label": "end",
            "time_format": "%d.%m.%Y %H:%M",
            "decimal": ",",
            "separator": ";",
            "interval_minutes": 15,
        },
    )


def portal_english(days: int) -> FormatSample:
    """Sunny Portal in American English: months first, the half of the day behind the time."""
    known = plant("denver", days)
    power = known.power(15)
    rows = zip(stamps(power, "%m/%d/%Y %I:%M %p", "end"), numbers(energy(power), 4), strict=True)
    return FormatSample(
        "sma-portal-american",
        "sma",
        "Energy_and_Power.csv",
        table(rows, header=["", "My Roof / Total yield / Difference values [kWh]"], separator=";"),
        (expect(power),),
        options={"timezone": known.timezone},
        tolerance=0.0003,
        label="end",
        schema={
            "timezone": known.timezone,
            "label": "end",
            "time_format": "%m/%d/%Y %I:%M %p",
            "decimal": ".",
            "separator": ";",
            "interval_minutes": 15,
        },
    )


def portal_day(days: int) -> FormatSample:
    """A day's chart of Sunny Portal holds times alone: the date is only in the file's name."""
    known = plant("denver", 1)
    power = known.power(15)
    rows = zip(stamps(power, "%I:%M %p", "end"), numbers(power, 3), strict=True)
    return FormatSample(
        "sma-portal-times-alone",
        "sma",
        "Roof_Analysis_2024_06_20.csv",
        table(rows, header=["", "Roof / Power / Mean Values [kW]"], separator=";"),
        (),
        options={"timezone": known.timezone},
        must_refuse=True,
        words=("date",),
    )


WRITERS = (portal, portal_english, portal_day)
