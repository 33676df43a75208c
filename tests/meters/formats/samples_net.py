"""Net meters: what a home gives to the grid and what it takes, in one column or in two.

Utilities' portals call them import and export, usage and received, or by their OBIS codes: 1.8.0
counts what the home takes, 2.8.0 what it gives. SolarEdge's meters are Purchased and FeedIn.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, numbers, plant, stamps, table
from .workbooks import workbook

STAMP = "%Y-%m-%d %H:%M"


def _net(place: str, days: int, minutes: int) -> tuple[pd.Series, pd.Series, pd.Series, str]:
    """Return net power, what is given and what is taken [kW], and the clock of a place."""
    known = plant(place, days)
    net = known.power(minutes) - known.load(minutes)
    return net, net.clip(lower=0.0), (-net).clip(lower=0.0), known.timezone


def _sample(
    name: str, content: bytes, net: pd.Series, zone: str, *, ending: str = "csv", **facts: Any
) -> FormatSample:
    schema: Mapping[str, Any] = facts.pop("schema", {})
    own = facts.pop("options", {})
    return FormatSample(
        f"net-{name}",
        "net",
        f"net_{name}.{ending}",
        content,
        (expect(net),),
        options={"timezone": zone, **own},
        schema={"timezone": zone, "label": "start", **own, **schema},
        **facts,
    )


def two_columns(days: int) -> FormatSample:
    """A portal's quarters of an hour, in kWh, beside what they cost."""
    net, given, taken, zone = _net("denver", days, 15)
    rows = zip(
        stamps(net, STAMP),
        numbers(energy(taken), 4),
        numbers(energy(given), 4),
        numbers(0.1 * energy(taken), 4),
        strict=True,
    )
    header = ["Start Time", "Import (kWh)", "Export (kWh)", "Cost ($)"]
    return _sample("two-columns", table(rows, header=header), net, zone)


def german(days: int) -> FormatSample:
    """Bezug and Einspeisung in W, semicolons and decimal commas."""
    net, given, taken, zone = _net("munich", days, 15)
    rows = zip(
        stamps(net, "%d.%m.%Y %H:%M"),
        numbers(1000.0 * taken, 1, decimal=","),
        numbers(1000.0 * given, 1, decimal=","),
        strict=True,
    )
    header = ["Zeitstempel", "Bezug [W]", "Einspeisung [W]"]
    content = table(rows, header=header, separator=";", encoding="latin-1")
    return _sample("german", content, net, zone, schema={"decimal": ","})


def obis(days: int) -> FormatSample:
    """The two registers of a meter, which count up."""
    net, given, taken, zone = _net("munich", days, 15)
    ends = net.index.append(net.index[-1:] + pd.Timedelta(minutes=15))
    counts = [
        start + np.r_[0.0, np.cumsum(energy(each))] for start, each in ((1e4, taken), (7.0, given))
    ]
    rows = zip(ends.strftime(STAMP), *(numbers(each, 4) for each in counts), strict=True)
    header = ["Time", "1-0:1.8.0 (kWh)", "1-0:2.8.0 (kWh)"]
    return _sample("obis", table(rows, header=header), net, zone, label_said=True, coverage=0.95)


def signed(days: int) -> FormatSample:
    """One column, in which what the home takes is positive: nights tell it, or the curator."""
    net, _, _, zone = _net("denver", days, 60)
    rows = zip(stamps(net, STAMP), numbers(-net, 4), strict=True)
    content = table(rows, header=["Time", "Net usage (kW)"])
    return _sample("signed", content, net, zone, schema={"net": True, "negate": True})


def export_alone(days: int) -> FormatSample:
    """What the home gives to the grid, and nothing else."""
    net, given, _, zone = _net("denver", days, 30)
    rows = zip(stamps(net, STAMP), numbers(energy(given), 5), strict=True)
    return _sample("export", table(rows, header=["Time", "Export (kWh)"]), given, zone)


def named(days: int) -> FormatSample:
    """Beside the generation, under names that only the curator knows."""
    net, given, taken, zone = _net("denver", days, 15)
    columns = {
        "Time": pd.Index(stamps(net, STAMP)),
        "PV (kW)": net,
        "A+ (kW)": taken,
        "A- (kW)": given,
    }
    frame = pd.DataFrame({name: np.asarray(each) for name, each in columns.items()})
    frame["Time"] = pd.to_datetime(frame["Time"])
    file = io.BytesIO()
    frame.to_parquet(file)
    own = {"export_column": "A- (kW)", "import_column": "A+ (kW)"}
    return _sample("named", file.getvalue(), net, zone, ending="parquet", options=own)


def sheet(days: int) -> FormatSample:
    """A workbook of a home with a generation column too, asked for its net."""
    net, given, taken, zone = _net("denver", days, 60)
    cells = zip(
        net.index.tz_localize(None).to_pydatetime(),
        (net + 1.0).round(4).tolist(),
        taken.round(5).tolist(),
        given.round(5).tolist(),
        strict=True,
    )
    header = ("Time", "Solar Production (kW)", "From Grid (kW)", "To Grid (kW)")
    content = workbook({"Energy": [header, *cells]})
    return _sample("sheet", content, net, zone, ending="xlsx", options={"net": True})


def solaredge(days: int) -> FormatSample:
    """``energyDetails`` of the meter at the grid: FeedIn and Purchased."""
    net, given, taken, zone = _net("munich", days, 15)
    meters = [
        {
            "type": kind,
            "values": [
                {"date": stamp, "value": round(float(value), 2)}
                for stamp, value in zip(
                    stamps(net, "%Y-%m-%d %H:%M:%S"), energy(each, 1000.0), strict=True
                )
            ],
        }
        for kind, each in (("Purchased", taken), ("FeedIn", given))
    ]
    answer = {"energyDetails": {"timeUnit": "QUARTER_OF_AN_HOUR", "unit": "Wh", "meters": meters}}
    return _sample("solaredge", json.dumps(answer).encode(), net, zone, ending="json")


def day_rows(days: int) -> FormatSample:
    """A row for each day and direction, with its 48 half hours."""
    net, given, taken, zone = _net("denver", days, 30)
    names = [f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(0, 1440, 30)]
    rows = [
        [f"{day:%Y-%m-%d}", kind, *numbers(part, 4)]
        for kind, each in (("Import", taken), ("Export", given))
        for day, part in each.groupby(each.index.date)
    ]
    content = table(rows, header=["Date", "Direction", *names])
    return _sample("days", content, net, zone, options={"power_unit": "kW"}, label_said=True)


def direction_rows(days: int) -> FormatSample:
    """Two homes' readings, a row for each time and direction."""
    net, given, taken, zone = _net("denver", days, 60)
    rows = [
        [home, stamp, kind, number]
        for home, share in (("a", 1.0), ("b", 0.5))
        for kind, each in (("delivered", taken), ("received", given))
        for stamp, number in zip(stamps(net, STAMP), numbers(share * each, 4), strict=True)
    ]
    header = ["meter_id", "time", "flow", "reading (kW)"]
    made = _sample("directions", table(rows, header=header), net, zone)
    both = (expect(net, system_id="a"), expect(0.5 * net, system_id="b"))
    return replace(made, expected=both)


WRITERS = (
    two_columns,
    german,
    obis,
    signed,
    export_alone,
    named,
    sheet,
    solaredge,
    day_rows,
    direction_rows,
)
