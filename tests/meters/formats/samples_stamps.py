"""How stamps are written: epochs, a date and a time apart, 24:00, clocks that jump.

Epochs count from 1970 in UTC (POSIX); 24:00 ends a day (ISO 8601:2004).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from .cells import plain_sample
from .sample import FormatSample, energy, numbers, plant, stamps, table


def _epoch(unit: str, scale: int) -> Any:
    def write(days: int) -> FormatSample:
        power = plant("munich", days).power(15, "UTC")
        cells = [str(int(each.timestamp()) * scale) for each in power.index]
        rows = zip(cells, numbers(power, 4), strict=True)
        return plain_sample(
            f"epoch-{unit}", "stamps", table(rows, header=["time", "power_kw"]), power
        )

    write.__name__ = f"epoch_{unit}"
    write.__doc__ = f"Stamps in {unit} since 1970."
    return write


def apart(days: int) -> FormatSample:
    """A column of dates and one of times."""
    power = plant("denver", days).power(15)
    rows = zip(
        stamps(power, "%m/%d/%Y"), stamps(power, "%I:%M:%S %p"), numbers(power, 4), strict=True
    )
    return plain_sample(
        "date-and-time",
        "stamps",
        table(rows, header=["Date", "Time", "Power (kW)"]),
        power,
        schema={
            "date_column": "Date",
            "time_column": "Time",
            "time_format": "%m/%d/%Y %I:%M:%S %p",
            "power_column": "Power (kW)",
            "decimal": ".",
        },
    )


def apart_unnamed(days: int) -> FormatSample:
    """A column of dates and one of times under names that nobody knows: both must be named."""
    power = plant("munich", days).power(15)
    rows = zip(stamps(power, "%Y-%m-%d"), stamps(power, "%H:%M"), numbers(power, 4), strict=True)
    names = {"date_column": "dzien", "time_column": "godzina"}
    return plain_sample(
        "apart-named",
        "stamps",
        table(rows, header=["dzien", "godzina", "moc_kw"]),
        power,
        words=("date_column",),
        remedy=names,
        schema={
            **names,
            "power_column": "moc_kw",
            "power_unit": "kW",
            "time_format": "%Y-%m-%d %H:%M",
        },
    )


def day_end(days: int) -> FormatSample:
    """Quarters that end at their stamp, the last of a day at 24:00."""
    power = plant("munich", days).power(15)
    cells = []
    for start, text in zip(power.index, stamps(power, "%d.%m.%Y %H:%M", "end"), strict=True):
        late = start.hour == 23 and start.minute == 45
        cells.append(f"{start:%d.%m.%Y} 24:00" if late else text)
    rows = zip(cells, numbers(energy(power), 5, decimal=","), strict=True)
    return plain_sample(
        "24-oclock",
        "stamps",
        table(rows, header=["Zeit", "Energie kWh"], separator=";"),
        power,
        label="end",
        schema={
            "time_column": "Zeit",
            "power_column": "Energie kWh",
            "time_format": "%d.%m.%Y %H:%M",
            "decimal": ",",
            "separator": ";",
        },
    )


def saving(days: int) -> FormatSample:
    """Stamps of a wall clock that jumps forward within the file."""
    power = plant("munich", 100).power(60)
    power = power[power.index >= pd.Timestamp("2024-03-28", tz="Europe/Berlin")]
    power = power[: 24 * max(days, 5)]
    rows = zip(stamps(power, "%Y-%m-%d %H:%M"), numbers(power, 4), strict=True)
    return plain_sample(
        "daylight-saving",
        "stamps",
        table(rows, header=["Time", "Power [kW]"]),
        power,
        schema={"time_format": "%Y-%m-%d %H:%M", "decimal": "."},
    )


def ambiguous(days: int) -> FormatSample:
    """Days and months below 13 throughout: which is which must be said, not guessed."""
    power = plant("denver", 20).power(60)
    power = power[power.index < pd.Timestamp("2024-06-13", tz="America/Denver")]
    power = power[power.index >= pd.Timestamp("2024-06-03", tz="America/Denver")]
    power = power[: 24 * max(2, min(days, 9))]
    # from 3 to 11 June, every date is one of March to November too: 06/03 to 06/11
    rows = zip(stamps(power, "%m/%d/%Y %H:%M"), numbers(power, 4), strict=True)
    form = {"time_format": "%m/%d/%Y %H:%M"}
    return plain_sample(
        "which-is-the-month",
        "stamps",
        table(rows, header=["Time", "Power [kW]"]),
        power,
        words=("time_format",),
        remedy=form,
        schema={**form, "decimal": "."},
    )


WRITERS = (
    _epoch("seconds", 1),
    _epoch("milliseconds", 10**3),
    _epoch("microseconds", 10**6),
    _epoch("nanoseconds", 10**9),
    apart,
    apart_unnamed,
    day_end,
    saving,
    ambiguous,
)
