"""Registers: counters that only grow, counters that begin anew each midnight, and ESPI's XML.

A register's stamp is an instant, and the energy of an interval is the difference of the counts at
its ends. Green Button XML (NAESB REQ.21, ESPI) counts intervals: start in UTC, duration, a count
that a reading type gives its unit (72 Wh, 38 W), its power of ten and its direction (19 from the
customer to the utility).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .sample import FormatSample, energy, expect, numbers, plant, table


def _counts(power: pd.Series, scale: float) -> pd.Series:
    """Return a register at the start of each interval, and at the end of the last."""
    total = np.r_[0.0, np.cumsum(energy(power, scale))]
    step = power.index[1] - power.index[0]
    return pd.Series(total, index=power.index.append(power.index[-1:] + step))


def _sample(
    name: str, rows: Any, header: list[str], power: pd.Series, zone: str, **facts: Any
) -> FormatSample:
    kind = facts.pop("kind")
    return FormatSample(
        f"register-{name}",
        "register",
        f"register_{name}.csv",
        table(rows, header=header),
        (expect(power),),
        options={"timezone": zone},
        label_said=True,
        coverage=0.95,
        words=("register",),
        remedy={"register": kind},
        schema={
            "timezone": zone,
            "time_column": header[0],
            "power_column": header[1],
            "decimal": ".",
            "register": kind,
            "interval_minutes": expect(power).interval_minutes,
        },
        **facts,
    )


def kilowatt_hours(days: int) -> FormatSample:
    """A meter's reading in kWh, every quarter of an hour."""
    known = plant("munich", days)
    power = known.power(15)
    counts = 18_233.4 + _counts(power, 1.0)
    rows = zip(counts.index.strftime("%Y-%m-%d %H:%M"), numbers(counts, 4), strict=True)
    return _sample(
        "kwh",
        rows,
        ["Time", "Meter reading (kWh)"],
        power,
        known.timezone,
        kind="cumulative",
    )


def watt_hours(days: int) -> FormatSample:
    """An inverter's lifetime energy in whole Wh, beginning at nothing."""
    known = plant("denver", days)
    power = known.power(60)
    counts = _counts(power, 1000.0)
    rows = zip(counts.index.strftime("%Y-%m-%dT%H:%M:%S"), numbers(counts, 0), strict=True)
    return _sample(
        "wh",
        rows,
        ["timestamp", "lifetime_energy_wh"],
        power,
        known.timezone,
        kind="cumulative",
        tolerance=0.0011,
    )


def daily(days: int) -> FormatSample:
    """Energy since midnight in kWh: back to nothing at 00:00."""
    known = plant("munich", days)
    power = known.power(15)
    made = pd.Series(energy(power), index=power.index)
    before = made.groupby(made.index.date).cumsum() - made
    rows = zip(before.index.strftime("%Y-%m-%d %H:%M"), numbers(before, 4), strict=True)
    return _sample(
        "daily", rows, ["Time", "Energy today (kWh)"], power, known.timezone, kind="daily"
    )


def daily_unsaid(days: int) -> FormatSample:
    """The same under a name that could be any energy: never tens of kilowatts of power."""
    known = plant("munich", days)
    power = known.power(15)
    made = pd.Series(energy(power), index=power.index)
    before = made.groupby(made.index.date).cumsum() - made
    rows = zip(before.index.strftime("%Y-%m-%d %H:%M"), numbers(before, 4), strict=True)
    return _sample(
        "daily-unsaid", rows, ["Time", "Energy (kWh)"], power, known.timezone, kind="daily"
    )


BASE = "https://utility.example/espi/1_1/resource"


def _entry(content: str, own: str, up: str = "", related: tuple[str, ...] = ()) -> str:
    links = "".join(f'<link rel="related" href="{BASE}{each}"/>' for each in related)
    return (
        f'<entry><link rel="self" href="{BASE}{own}"/><link rel="up" href="{BASE}{up}"/>{links}'
        f"<content>{content}</content></entry>"
    )


def _feed(power: pd.Series, counts: np.ndarray, fields: dict[str, int]) -> bytes:
    seconds = 60 * expect(power).interval_minutes
    kind = "".join(f"<espi:{name}>{value}</espi:{name}>" for name, value in fields.items())
    entries = [
        _entry(f"<espi:ReadingType>{kind}</espi:ReadingType>", "/ReadingType/1"),
        _entry(
            "<espi:MeterReading/>",
            "/MeterReading/1",
            related=("/MeterReading/1/IntervalBlock", "/ReadingType/1"),
        ),
    ]
    starts = expect(power).starts.astype(np.int64)
    days = starts // 86400
    for number, day in enumerate(np.unique(days)):
        readings = "".join(
            f"<espi:IntervalReading><espi:timePeriod><espi:duration>{seconds}</espi:duration>"
            f"<espi:start>{start}</espi:start></espi:timePeriod><espi:value>{value}</espi:value>"
            "</espi:IntervalReading>"
            for start, value in zip(starts[days == day], counts[days == day], strict=True)
        )
        up = "/MeterReading/1/IntervalBlock"
        entries.append(
            _entry(f"<espi:IntervalBlock>{readings}</espi:IntervalBlock>", f"{up}/{number}", up)
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><feed xmlns="http://www.w3.org/2005/Atom"'
        f' xmlns:espi="http://naesb.org/espi">{"".join(entries)}</feed>'
    ).encode()


def _green(name: str, minutes: int, *, uom: int, multiplier: int, flow: int = 19) -> Any:
    def write(days: int) -> FormatSample:
        known = plant("denver", days)
        power = known.power(minutes)
        scale = (minutes / 60.0 if uom == 72 else 1.0) * 1000.0 / 10.0**multiplier
        if flow == 4:  # what is delivered to the customer less what is received
            power = power - known.load(minutes)
        counts = np.rint(power.to_numpy() * (-scale if flow == 4 else scale)).astype(int)
        fields = {"flowDirection": flow, "powerOfTenMultiplier": multiplier, "uom": uom}
        return FormatSample(
            f"green-button-{name}",
            "green-button",
            f"green_button_{name}.xml",
            _feed(power, counts, fields),
            (expect(power),),
            tolerance=0.51 / scale,
            label_said=True,
            coverage=0.99,  # a home that takes 999 W is taken for a logger without a reading
            schema={},
        )

    write.__name__ = f"green_button_{name}"
    write.__doc__ = f"A Green Button feed: {name}."
    return write


WRITERS = (
    kilowatt_hours,
    watt_hours,
    daily,
    daily_unsaid,
    _green("hours-wh", 60, uom=72, multiplier=0),
    _green("quarters-milli", 15, uom=72, multiplier=-3),
    _green("quarters-w", 15, uom=38, multiplier=0),
    _green("net", 60, uom=72, multiplier=0, flow=4),
)
