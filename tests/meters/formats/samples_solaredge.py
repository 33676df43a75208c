"""SolarEdge: what its interface answers as JSON, and its charts as CSV.

``power`` and ``energy`` hold ``timeUnit``, ``unit`` and ``values`` of ``date`` (the site's own
clock) and ``value``, which is null where nothing was measured; ``powerDetails`` and
``energyDetails`` hold a list ``meters``, each with a ``type`` such as Production or Consumption.
Charts have ``Time`` and one column per series with its unit in brackets.
Source: the interface's published description; readers of the charts in public code.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, plant, stamps, table

QUARTER = "QUARTER_OF_AN_HOUR"


def _values(power: pd.Series, numbers: np.ndarray) -> list[dict[str, object]]:
    dark = power.to_numpy() < 0.0005
    return [
        {"date": stamp, "value": None if night else round(float(value), 2)}
        for stamp, value, night in zip(
            stamps(power, "%Y-%m-%d %H:%M:%S"), numbers, dark, strict=True
        )
    ]


def _lit(power: pd.Series) -> pd.Series:
    return power[(power >= 0.0005).to_numpy()]


def _sample(name: str, answer: object, power: pd.Series, zone: str) -> FormatSample:
    return FormatSample(
        f"solaredge-json-{name}",
        "solaredge-json",
        f"site_{name}.json",
        json.dumps(answer).encode(),
        (expect(_lit(power)),),
        options={"timezone": zone},
        schema={"timezone": zone, "label": "start"},
    )


def power_json(days: int) -> FormatSample:
    """``/power``: mean W of each quarter of an hour, null at night."""
    known = plant("munich", days)
    power = known.power(15)
    answer = {
        "power": {
            "timeUnit": QUARTER,
            "unit": "W",
            "measuredBy": "INVERTER",
            "values": _values(power, power.to_numpy() * 1000.0),
        }
    }
    return _sample("power", answer, power, known.timezone)


def energy_json(days: int) -> FormatSample:
    """``/energy``: Wh of each hour."""
    known = plant("munich", days)
    power = known.power(60)
    answer = {
        "energy": {
            "timeUnit": "HOUR",
            "unit": "Wh",
            "measuredBy": "METER",
            "values": _values(power, energy(power, 1000.0)),
        }
    }
    return _sample("energy", answer, power, known.timezone)


def power_details(days: int) -> FormatSample:
    """``/powerDetails``: production beside consumption, which is listed first."""
    known = plant("munich", days)
    power = known.power(15)
    answer = {
        "powerDetails": {
            "timeUnit": QUARTER,
            "unit": "W",
            "meters": [
                {"type": "Consumption", "values": _values(power, np.full(len(power), 320.0))},
                {"type": "Production", "values": _values(power, power.to_numpy() * 1000.0)},
            ],
        }
    }
    return _sample("powerDetails", answer, power, known.timezone)


def energy_details(days: int) -> FormatSample:
    """``/energyDetails``: Wh of the production alone."""
    known = plant("munich", days)
    power = known.power(15)
    answer = {
        "energyDetails": {
            "timeUnit": QUARTER,
            "unit": "Wh",
            "meters": [{"type": "Production", "values": _values(power, energy(power, 1000.0))}],
        }
    }
    return _sample("energyDetails", answer, power, known.timezone)


def chart(days: int) -> FormatSample:
    """The chart of one series: months first, W."""
    known = plant("denver", days)
    power = known.power(15)
    rows = zip(
        stamps(power, "%m/%d/%Y %H:%M"), [f"{each * 1000:.3f}" for each in power], strict=True
    )
    return FormatSample(
        "solaredge-csv-chart",
        "solaredge-csv",
        "Chart.csv",
        table(rows, header=["Time", "System Production (W)"]),
        (expect(power),),
        options={"timezone": known.timezone},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "time_format": "%m/%d/%Y %H:%M",
            "decimal": ".",
            "interval_minutes": 15,
        },
    )


def chart_of_all(days: int) -> FormatSample:
    """The chart of a site with a battery: production among five other powers."""
    known = plant("denver", days)
    power = known.power(15)
    other = ["250.5"] * len(power)
    names = ["Consumption (W)", "System Production (W)", "StoragePower.Power (W)", "Export (W)"]
    rows = zip(
        stamps(power, "%m/%d/%Y %H:%M"),
        other,
        [f"{each * 1000:.3f}" for each in power],
        other,
        other,
        strict=True,
    )
    return FormatSample(
        "solaredge-csv-all",
        "solaredge-csv",
        "Chart (1).csv",
        table(rows, header=["Time", *names]),
        (expect(power),),
        options={"timezone": known.timezone},
        words=("power_column",),
        remedy={"power_column": "System Production (W)"},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "power_column": "System Production (W)",
            "time_format": "%m/%d/%Y %H:%M",
            "decimal": ".",
            "interval_minutes": 15,
        },
    )


def chart_energy(days: int) -> FormatSample:
    """The chart of a European account: days first, Wh, quoted cells."""
    known = plant("munich", days)
    power = known.power(15)
    rows = zip(
        [f'"{each}"' for each in stamps(power, "%d/%m/%Y %H:%M")],
        [f'"{each:.2f}"' for each in energy(power, 1000.0)],
        strict=True,
    )
    return FormatSample(
        "solaredge-csv-energy",
        "solaredge-csv",
        "Chart_energy.csv",
        table(rows, header=['"Time"', '"Energy (Wh)"'], line_end="\r\n"),
        (expect(power),),
        options={"timezone": known.timezone},
        schema={
            "timezone": known.timezone,
            "label": "start",
            "time_format": "%d/%m/%Y %H:%M",
            "decimal": ".",
            "interval_minutes": 15,
        },
    )


WRITERS = (
    power_json,
    energy_json,
    power_details,
    energy_details,
    chart,
    chart_of_all,
    chart_energy,
)
