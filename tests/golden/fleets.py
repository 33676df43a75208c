"""What the golden files are made from: commands run in this process, and simulated fleets."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from sunveil.cli import main

PLACES = "name,latitude,longitude,altitude,timezone\n" + "\n".join(
    (
        "Denver,39.74,-104.99,1609,America/Denver",
        "Lisbon,38.72,-9.14,90,Europe/Lisbon",
        "Oslo,59.91,10.75,20,Europe/Oslo",
        "Sydney,-33.87,151.21,40,Australia/Sydney",
        "Cape Town,-33.93,18.42,60,Africa/Johannesburg",
        "Delhi,28.61,77.21,216,Asia/Kolkata",
    )
)
TODAY = datetime.now(UTC)
UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
# What differs between runs, and what stands for it.
VARIABLE = (
    (UUID, "UUID"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HEX"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)"), "TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST"),
    (re.compile(rf"{TODAY:%Y-%m-%d}"), "TODAY"),
    (re.compile(rf"{TODAY:%Y}"), "YEAR"),
)


def from_tests_of(package: str) -> None:
    """Let what tests of a package share be imported."""
    folder = str(Path(__file__).parents[1] / package)
    if folder not in sys.path:
        sys.path.append(folder)


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def sunveil(*arguments: object) -> Said:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    # a terminal's width would be in tables and in texts
    with redirect_stdout(out), redirect_stderr(err), patch.dict(os.environ, {"COLUMNS": "100"}):
        code = main([str(each) for each in arguments])
    return Said(code, out.getvalue(), err.getvalue())


def done(*arguments: object) -> Said:
    """Run a command that must succeed."""
    said = sunveil(*arguments)
    if said.code:
        raise RuntimeError(f"sunveil {arguments[0]} failed: {said.err}")
    return said


def without_paths(text: str, folder: Path) -> str:
    """Return a text in which nothing differs between two runs."""
    text = text.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER")
    for pattern, word in VARIABLE:
        text = pattern.sub(word, text)
    return text.strip()


def simulate(folder: Path, name: str, *options: object) -> Path:
    """Return the folder of a simulated fleet at the six places."""
    places = folder / "places.csv"
    places.write_text(PLACES + "\n")
    done("simulate", "--out", folder / name, "--sites", places, *options)
    return folder / name


def readings_of(fleet: Path, system: str) -> pd.Series:
    """Return the readings of a system of a fleet of generation meters or of signed net meters."""
    rows = pd.read_parquet(fleet / "readings", filters=[("system_id", "==", system)])
    return rows.set_index("time")["power_kw"].astype(float)


def systems_of(fleet: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pd.read_parquet(fleet / "systems.parquet").to_dict("records")
    return rows


def _shifted(minutes: float) -> Callable[[pd.Series, str], pd.Series]:
    return lambda power, _: power.set_axis(power.index + pd.Timedelta(minutes=minutes))


def _saving(times: int) -> Callable[[pd.Series, str], pd.Series]:
    """Leave daylight saving in stamps (1), or take it out a second time (-1)."""

    def move(power: pd.Series, zone: str) -> pd.Series:
        saved = pd.TimedeltaIndex([each.dst() for each in power.index.tz_convert(zone)])
        moved = power.set_axis((power.index + times * saved).as_unit("us"))
        return moved[~moved.index.duplicated()].sort_index()

    return move


def _missing(share: float) -> Callable[[pd.Series, str], pd.Series]:
    def drop(power: pd.Series, _: str) -> pd.Series:
        return power[np.random.default_rng(7).random(len(power)) >= share]

    return drop


def _spikes(power: pd.Series, _: str) -> pd.Series:
    return power.where(np.arange(len(power)) % 701 != 350, 40.0 * power.max())


def _noise(power: pd.Series, _: str) -> pd.Series:
    return power * np.random.default_rng(7).normal(1.0, 0.06, len(power))


# Faults of single records; power by UTC start of its interval, and the place's time zone.
FAULTS: dict[str, Callable[[pd.Series, str], pd.Series]] = {
    "none": lambda power, _: power,
    "60 min fast": _shifted(60.0),
    "60 min slow": _shifted(-60.0),
    "30 min fast": _shifted(30.0),
    "30 min slow": _shifted(-30.0),
    "120 min fast": _shifted(120.0),
    "daylight saving left in": _saving(1),
    "daylight saving taken out twice": _saving(-1),
    "clock set forward in June": lambda power, _: pd.concat(
        [power[:"2019-06-10"], power["2019-06-11":].shift(1).iloc[1:]]
    ),
    "40% missing": _missing(0.4),
    "5% missing": _missing(0.05),
    "clipping": lambda power, _: power.clip(upper=0.6 * power.max()),
    "45 days": lambda power, _: power.iloc[100 * 24 : 145 * 24],
    "half a year": lambda power, _: power.iloc[: 182 * 24],
    "summer only": lambda power, _: power["2019-05-01":"2019-09-01"],
    "6% noise": _noise,
    "spikes": _spikes,
    "unit switch": lambda power, _: power.where(power.index < "2019-07-01", power * 1000.0),
    "dead half": lambda power, _: power.where(power.index < "2019-07-01", power * 0.5),
    "all zero": lambda power, _: power * 0.0,
}
