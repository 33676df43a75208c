"""Small fleets of roofs on disk, for tests and for the script that is killed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd

from sunveil.fleet.open import open_fleet
from sunveil.meters import MeterOptions
from sunveil.privacy import System
from sunveil.releases import Choices
from sunveil.releases.fleet_releases import ReleaseTerms, SystemsToRelease
from sunveil.releases.score_kernels import Capacities

PLANES = {
    "a1": (105.0, 30.0),
    "a2": (180.0, 30.0),
    "a3": (255.0, 30.0),
    "b1": (195.0, 30.0),
    "b2": (120.0, 30.0),
    "b3": (225.0, 45.0),
}
CHOICES = Choices(step=15.0, capacities=Capacities(1.0, 30.0, 0.05))
TERMS = ReleaseTerms.of(System(), 28.0, choices=CHOICES)


@contextmanager
def open_to_release(fleet, systems, *, reading=None, **options):
    """Open a fleet for releases, each reading taken alone."""
    reading = replace(reading or MeterOptions(), cleaning="each")
    with open_fleet(fleet, systems, reading=reading, **options) as opened:
        yield SystemsToRelease.of(opened)


def in_memory(records, weather):
    """Return records of one place for releases."""
    with open_fleet(records, site=weather.site, weather=weather) as opened:
        return SystemsToRelease.of(opened)


def write_systems(path: Path, names: Mapping[str, object] = PLANES) -> Path:
    """Write the table of systems, which stand in two weather cells."""
    rows = [f"{name},39.742,{-105.1727 if name < 'b' else -105.05},F-{name[0]}" for name in names]
    path.write_text("\n".join(["system_id,latitude,longitude,feeder", *rows]) + "\n")
    return path


def long_frame(systems: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Return readings in long form."""
    frames = [
        pd.DataFrame({"system_id": name, "time": power.index, "power_kw": power.to_numpy()})
        for name, power in systems.items()
    ]
    return pd.concat(frames, ignore_index=True)


def write_readings(folder: Path, frame: pd.DataFrame) -> Path:
    """Write one Parquet file per system, in long form."""
    folder.mkdir(parents=True)
    for name, rows in frame.groupby("system_id"):
        rows.to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def write_layouts(root: Path, frame: pd.DataFrame) -> list[Path]:
    """Write the same readings in other layouts."""
    root.mkdir()
    with duckdb.connect() as base:
        base.register("readings", frame)

        def copy(sql: str, name: str, options: str = "FORMAT parquet") -> Path:
            base.execute(f"COPY ({sql}) TO '{root / name}' ({options})")
            return root / name

        lists = "list(power_kw ORDER BY time) AS power_kw"
        made = [
            copy("SELECT * FROM readings", "one.parquet"),
            copy(
                "SELECT *, month(make_timestamp(epoch_us(time))) AS month FROM readings",
                "months",
                "FORMAT parquet, PARTITION_BY (month)",
            ),
            copy(
                f"SELECT system_id, {lists}, min(time) AS start, 60 AS interval_minutes"
                " FROM readings GROUP BY ALL",
                "lists.parquet",
            ),
            copy(
                f"SELECT system_id, {lists}, list(time ORDER BY time) AS time FROM readings"
                " GROUP BY ALL",
                "timed.parquet",
            ),
        ]
    texts = root / "csv"
    texts.mkdir()
    for name, rows in frame.groupby("system_id"):
        stamps = rows["time"].dt.strftime("%Y-%m-%dT%H:%MZ")
        table = pd.DataFrame({"time": stamps, "power_kw": rows["power_kw"]})
        table.to_csv(texts / f"{name}.csv", index=False)
    return [*made, texts]
