"""Small fleets on disk, in every layout."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from sunveil.inference import infer_fleet

PLANES = {
    "a1": (110.0, 25.0),
    "a2": (180.0, 35.0),
    "a3": (250.0, 20.0),
    "b1": (90.0, 15.0),
    "b2": (200.0, 30.0),
    "b3": (225.0, 40.0),
}
# Two weather cells, side by side.
PLACES = {name: (39.742, -105.1727 if name < "b" else -105.05) for name in PLANES}


def long_frame(systems: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Return readings in long form, in float32."""
    frames = [
        pd.DataFrame(
            {"system_id": name, "time": power.index, "power_kw": power.to_numpy("float32")}
        )
        for name, power in systems.items()
    ]
    return pd.concat(frames, ignore_index=True)


def write_systems(path: Path, places: Mapping[str, tuple[float, float]] = PLACES) -> Path:
    """Write the table of systems, with a public key."""
    rows = [f"{name},{lat},{lon},F-{name[0]}" for name, (lat, lon) in places.items()]
    path.write_text("\n".join(["system_id,latitude,longitude,feeder", *rows]) + "\n")
    return path


def write_files(folder: Path, frame: pd.DataFrame) -> Path:
    """Write one Parquet file per system, in long form."""
    folder.mkdir(parents=True)
    for name, rows in frame.groupby("system_id"):
        rows.to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def write_layouts(root: Path, frame: pd.DataFrame) -> dict[str, Path]:
    """Write the same readings in every layout."""
    root.mkdir(parents=True, exist_ok=True)
    files = write_files(root / "files", frame)
    with duckdb.connect() as base:
        base.register("readings", frame)

        def copy(sql: str, name: str, options: str = "FORMAT parquet") -> Path:
            base.execute(f"COPY ({sql}) TO '{root / name}' ({options})")
            return root / name

        month = "month(make_timestamp(epoch_us(time)))"
        lists = "list(power_kw ORDER BY time) AS power_kw"
        return {
            "files": files,
            "file": copy("SELECT * FROM readings", "file.parquet"),
            "shuffled": copy("SELECT * FROM readings ORDER BY hash(time)", "shuffled.parquet"),
            "months": copy(
                f"SELECT *, {month} AS month FROM readings",
                "months",
                "FORMAT parquet, PARTITION_BY (month)",
            ),
            "folders": copy(
                "SELECT * FROM readings", "folders", "FORMAT parquet, PARTITION_BY (system_id)"
            ),
            "lists": copy(
                f"SELECT system_id, {lists}, min(time) AS start, 60 AS interval_minutes"
                " FROM readings GROUP BY ALL",
                "lists.parquet",
            ),
            "timed lists": copy(
                f"SELECT system_id, {lists}, list(time ORDER BY time) AS time FROM readings"
                " GROUP BY ALL",
                "timed.parquet",
            ),
            "csv": _write_csv(root / "csv", frame),
        }


def _write_csv(folder: Path, frame: pd.DataFrame) -> Path:
    folder.mkdir()
    for name, rows in frame.groupby("system_id"):
        stamps = rows["time"].dt.strftime("%Y-%m-%dT%H:%MZ")
        table = pd.DataFrame({"time": stamps, "power_kw": rows["power_kw"].astype(float)})
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def contents(folder: Path) -> dict[str, str]:
    """Return a digest of every file of a folder, by name."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def estimates_of(folder: Path) -> pd.DataFrame:
    """Return all estimates of a run, by system."""
    parts = sorted((folder / "estimates").glob("*.parquet"))
    return pd.concat([pd.read_parquet(part) for part in parts]).set_index("system_id").sort_index()


def refusals_of(folder: Path) -> dict[str, tuple[str, str]]:
    """Return kind and reason of every system that was refused."""
    table = pd.read_parquet(folder / "refused.parquet")
    return {row.system_id: (row.kind, row.reason) for row in table.itertuples()}


# Estimates, and kind and reason of refusals, by system.
Inferred = tuple[pd.DataFrame, dict[str, tuple[str, str]]]


def inferred(fleet: Path, systems: Path, out: Path, **settings: Any) -> Inferred:
    """Infer a fleet, and return its estimates and refusals by system."""
    infer_fleet(fleet, systems, out, **settings)
    return estimates_of(out), refusals_of(out)


def assert_close(found: pd.DataFrame, there: pd.DataFrame) -> None:
    """Compare estimates whose blocks were laid out otherwise: sums come in another order."""
    assert list(found.index) == list(there.index)
    for name, within in (("surface_azimuth", 0.1), ("surface_tilt", 0.1), ("dc_capacity_kw", 0.02)):
        np.testing.assert_allclose(found[name], there[name], atol=within)


Change = Callable[[pd.DataFrame], pd.DataFrame]


def changed(column: str, places: Any, value: Any) -> Change:
    """Return the change of some cells of a system: to a value, or by a function."""

    def change(rows: pd.DataFrame) -> pd.DataFrame:
        cells = rows[column].to_numpy().copy()
        cells[places] = value(cells[places]) if callable(value) else value
        return rows.assign(**{column: cells})

    return change


def stamps(places: Any, value: Any) -> Change:
    return changed("time", places, value)


def values(places: Any, value: Any) -> Change:
    return changed("power_kw", places, value)


def copy_of(folder: Path, to: Path) -> Path:
    """Copy a fleet, keeping the times of its files."""
    shutil.copytree(folder, to)
    return to
