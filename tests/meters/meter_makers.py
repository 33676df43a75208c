"""Generation files for the tests of the readers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sunveil.errors import MeterError
from sunveil.meters import Record, read_meters

FACTORS = {"W": 1000.0, "kW": 1.0, "Wh": 1000.0, "kWh": 1.0}


def sunny(
    days: int = 6,
    *,
    minutes: int = 15,
    start: str = "2016-07-01",
    seed: int = 0,
    noon: float = 12.0,
) -> pd.Series:
    """Return a plausible record in kW, indexed by the UTC start of its intervals."""
    index = pd.date_range(start, periods=days * 1440 // minutes, freq=f"{minutes}min", tz="UTC")
    hour = (index.hour + index.minute / 60.0).to_numpy()
    course = np.maximum(np.cos((hour - noon) * np.pi / 14.0), 0.0) ** 1.5
    course[np.abs(hour - noon) > 7.0] = 0.0
    noise = np.random.default_rng(seed).uniform(0.55, 1.0, len(index))
    return pd.Series(np.round(4.0 * course * noise, 6), index=index, name="power_kw")


def write_csv(
    path: Path, power: pd.Series, *, names: str = "time,power_kw", stamp: str = "%Y-%m-%d %H:%M:%S"
) -> Path:
    """Write a series as it stands: stamps in its own clock, without their offset."""
    cells = zip(power.index.strftime(stamp), power.tolist(), strict=True)
    rows = [f"{time},{'' if value != value else value}" for time, value in cells]
    path.write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")
    return path


def write_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a table in the format that the ending says; only Parquet and Feather have zones."""
    ending = path.suffix[1:]
    zoned = table.select_dtypes("datetimetz").columns
    if ending in ("parquet", "feather"):
        getattr(table, f"to_{ending}")(path)
    elif ending == "xlsx":
        table.assign(**{name: table[name].dt.tz_localize(None) for name in zoned}).to_excel(
            path, index=False
        )
    elif ending == "json":
        rows = table.assign(**{name: table[name].astype(str) for name in zoned})
        path.write_text(json.dumps(rows.to_dict("records")))
    elif ending == "txt":
        path.write_bytes(table.to_csv(index=False, sep="\t").encode("utf-16"))
    else:
        table.to_csv(path, index=False)
    return path


def refusal(path: Path, **options: object) -> str:
    """Return the one sentence with which a file is refused."""
    with pytest.raises(MeterError) as caught:
        read_meters(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def note_with(record: Record, words: str) -> str:
    """Return the one note that holds some words."""
    (note,) = [note for note in record.notes if words in note]
    return note


def assert_no_reading_told(message: str, power: pd.Series) -> None:
    """Fail when a message holds the digits of a reading."""
    written = {f"{value:g}" for value in power if value != 0} | {str(v) for v in power if v != 0}
    assert not [each for each in written if len(each) > 3 and each in message]
