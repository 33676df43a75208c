"""Records as JSON (RFC 8259): a list, a list within an answer, and an object a line."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from .sample import FormatSample, expect, plant, stamps

SCHEMA: dict[str, Any] = {"label": "start", "interval_minutes": 15}


def _plain(days: int) -> pd.Series:
    return plant("munich", days).power(15, "UTC")


def records(days: int) -> FormatSample:
    """A list of objects."""
    power = _plain(days)
    rows = [
        {"time": stamp, "power_kw": round(float(value), 4)}
        for stamp, value in zip(stamps(power, "%Y-%m-%dT%H:%M:%SZ"), power, strict=True)
    ]
    content = json.dumps(rows).encode()
    return FormatSample(
        "json-records", "json", "roof.json", content, (expect(power),), schema=SCHEMA
    )


def wrapped(days: int) -> FormatSample:
    """An object with the list in ``data``, beside what else an interface answers."""
    power = _plain(days)
    rows = [
        {
            "timestamp": int(stamp.timestamp()),
            "temperature": 21.5,
            "power_w": round(value * 1000, 1),
        }
        for stamp, value in power.items()
    ]
    answer = {"status": "ok", "count": len(rows), "data": rows, "next": None}
    return FormatSample(
        "json-wrapped",
        "json",
        "answer.json",
        json.dumps(answer, indent=1).encode(),
        (expect(power),),
        words=("power_column",),
        remedy={"power_column": "power_w"},
        schema={**SCHEMA, "power_column": "power_w"},
    )


def lines(days: int) -> FormatSample:
    """An object a line, two systems in turn, some values null."""
    known = plant("munich", days)
    homes = {"a": known.power(15, "UTC"), "b": known.power(15, "UTC", share=0.5)}
    dark = (homes["a"] < 0.0005).to_numpy()
    rows = []
    for number in range(len(dark)):
        for home, power in homes.items():
            value = None if dark[number] else round(float(power.iloc[number]) * 0.25, 5)
            stamp = power.index[number].strftime("%Y-%m-%dT%H:%M:%S+00:00")
            rows.append(json.dumps({"system_id": home, "time": stamp, "energy_kwh": value}))
    return FormatSample(
        "json-lines",
        "json",
        "roofs.jsonl",
        ("\n".join(rows) + "\n").encode(),
        tuple(expect(power[~dark], system_id=home) for home, power in homes.items()),
        schema=SCHEMA,
    )


WRITERS = (records, wrapped, lines)
