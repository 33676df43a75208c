"""Plain tables in which one thing is unusual, of one system."""

from __future__ import annotations

from typing import Any

import pandas as pd

from .sample import FormatSample, expect


def plain_sample(
    name: str, family: str, content: bytes, power: pd.Series, **facts: Any
) -> FormatSample:
    zone = str(power.index.tz)
    facts = {"options": {} if zone == "UTC" else {"timezone": zone}, **facts}
    schema = {
        "label": facts.get("label", "start"),
        "interval_minutes": expect(power).interval_minutes,
        **facts["options"],
        **facts.pop("schema", {}),
    }
    return FormatSample(
        f"{family}-{name}",
        family,
        f"{family}_{name}.csv",
        content,
        (expect(power),),
        schema=schema,
        **facts,
    )
