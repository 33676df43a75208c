"""PVOutput: rows without a header, newest first, date and time apart.

The interface's history has date, time, energy since midnight [Wh], efficiency, instantaneous
power [W], average power [W], normalised output, energy and power used, temperature and voltage,
``NaN`` where nothing is known; records are parted by ``;`` or lines. The page's own table writes
units into its cells: ``1.234kWh``, ``1,234W``. A status holds for the interval that begins with it.
Source: the interface's published description and its users' forum.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, plant, stamps, table


def _since_midnight(power: pd.Series) -> np.ndarray:
    made = pd.Series(energy(power, 1000.0), index=power.index)
    return made.groupby(made.index.date).cumsum().to_numpy()


def _history(power: pd.Series) -> list[list[str]]:
    watts = [f"{each * 1000:.0f}" for each in power]
    rows = zip(
        stamps(power, "%Y%m%d"),
        stamps(power, "%H:%M"),
        [f"{each:.0f}" for each in _since_midnight(power)],
        ["2.199"] * len(power),
        watts,
        watts,
        ["0.280"] * len(power),
        ["15409"] * len(power),
        ["NaN"] * len(power),
        ["27.0"] * len(power),
        ["240.7"] * len(power),
        strict=True,
    )
    return [list(row) for row in reversed(list(rows))]


# There is no header: what a release reads is declared by the columns' numbers.
NUMBERED = {"date_column": "1", "time_column": "2", "power_column": "5", "power_unit": "W"}


def history(days: int) -> FormatSample:
    """The history of a day as the interface gives it, one status a line."""
    known = plant("sydney", days)
    power = known.power(5)
    return FormatSample(
        "pvoutput-history",
        "pvoutput",
        "getstatus.csv",
        table(_history(power)),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "5", "power_unit": "W"},
        schema={"timezone": known.timezone, "label": "start", **NUMBERED},
    )


def one_line(days: int) -> FormatSample:
    """The same in one line, as it comes over the wire."""
    known = plant("sydney", days)
    power = known.power(5)
    text = ";".join(",".join(row) for row in _history(power))
    return FormatSample(
        "pvoutput-one-line",
        "pvoutput",
        "getstatus.txt",
        text.encode(),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "5", "power_unit": "W"},
        schema={"timezone": known.timezone, "label": "start", **NUMBERED},
    )


def page(days: int) -> FormatSample:
    """The page's table: days first with two digits of the year, AM and PM, units in cells."""
    known = plant("sydney", days)
    power = known.power(5)
    rows = zip(
        stamps(power, "%d/%m/%y"),
        stamps(power, "%I:%M%p"),
        [f'"{each / 1000:.3f}kWh"' for each in _since_midnight(power)],
        ["0.561kWh/kW"] * len(power),
        [f'"{each * 1000:,.0f}W"' for each in power],
        ["-"] * len(power),
        strict=True,
    )
    return FormatSample(
        "pvoutput-page",
        "pvoutput",
        "intraday.csv",
        table(reversed(list(rows))),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "5"},
        schema={"timezone": known.timezone, "label": "start", **NUMBERED},
    )


def named(days: int) -> FormatSample:
    """A file that somebody gave names to: energy since midnight beside power."""
    known = plant("sydney", days)
    power = known.power(5)
    rows = [[row[0], row[1], row[2], row[4]] for row in _history(power)]
    return FormatSample(
        "pvoutput-named",
        "pvoutput",
        "pvoutput_live.csv",
        table(rows, header=["Date", "Time", "Energy (Wh)", "Power (W)"]),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "Power (W)"},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "date_column": "Date",
            "time_column": "Time",
            "time_format": "%Y%m%d %H:%M",
            "power_column": "Power (W)",
            "decimal": ".",
            "interval_minutes": 5,
        },
    )


WRITERS = (history, one_line, page, named)
