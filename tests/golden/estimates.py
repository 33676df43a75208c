"""Estimates of 400 simulated systems: kinds of meters, faults, and ways of inferring."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds

import sunveil

from .files import Rows, fixed, plain, significant
from .fleets import FAULTS, done, readings_of, simulate, systems_of
from .seams import SunveilError

SHARE = 0.005  # of systems may differ in a discrete field, on another processor
FLEETS: dict[str, tuple[object, ...]] = {
    "faults": ("--systems", 120, "--seed", 35, "--two-planes", 0.2, "--trackers", 0.1),
    "quarters": ("--systems", 60, "--seed", 36, "--interval", 15, "--layout", "lists"),
    "signed": ("--systems", 60, "--seed", 37, "--net", 1, "--batteries", 0.3, "--cars", 0.2),
    "two columns": ("--systems", 40, "--seed", 38, "--net", 0.8, "--net-columns", "two"),
    "export": ("--systems", 30, "--seed", 39, "--net", 0.8, "--net-columns", "export"),
}
YEARS, OF_YEARS = (2016, 2017, 2018, 2019), ("--systems", 30, "--seed", 40)
CLEAN = ("--systems", 60, "--seed", 41, "--no-faults")
# How many systems of a fleet are also inferred one by one, as a frame, and as a folder of files.
SINGLE, TOGETHER = 6, 6
REAL = ("serf_east", "fsec", "garage", "serf_2016", "serf_dst", "almeria", "turin")
REAL += ("turin_clock_step", "utrecht")
FOUR = ("agreement", "haze_summer", "haze_winter", "heat")


def record(folder: Path, texts: Rows) -> Rows:
    # a kernel that this process compiles differs in last digits from the same of numba's cache
    code = "from sunveil.inference.workers import compile_before_workers as work; work()"
    subprocess.run([sys.executable, "-c", code], check=True)
    rows: Rows = {}
    for name, options in FLEETS.items():
        fleet = simulate(folder, name, *options)
        rows |= _fleet(fleet, name, texts)
        if name in ("faults", "signed"):
            rows |= _singles(fleet, name, texts) | _frame(fleet, name, texts)
            rows |= _files(fleet, name, texts)
    rows |= _fleet(_years(folder), "years", texts)
    return rows | _faults(simulate(folder, "clean", *CLEAN), texts)


def rounded(value: Any, name: str = "") -> Any:
    """Return part of an estimate with the digits that it is stored with."""
    if isinstance(value, dict):
        return {key: rounded(each, key) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(each, name) for each in value]
    if not isinstance(value, float):
        return plain(value)
    if "kw" in name:
        return significant(value, 5)
    return fixed(value, 4 if name.startswith(FOUR) or "share" in name else 2)


def _row(key: str, value: dict[str, Any], texts: Rows) -> Rows:
    """Keep what every estimate has alike apart from it, and sentences with the messages."""
    value.pop("assumptions", None)
    for name in ("notes", "quality_reason"):
        for text in _listed(value.pop(name, ())):
            texts[f"note {text}"] = True
    return {key: rounded(value)}


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _fleet(fleet: Path, name: str, texts: Rows, *, meters: Path | None = None) -> Rows:
    """Infer a fleet, and return the columns that are stored."""
    out = fleet.with_name(f"{fleet.name} out")
    systems = fleet / "systems.parquet"
    done("infer", meters or fleet / "readings", "--systems", systems, "--out", out, "--workers", 1)
    rows: Rows = {}
    for one in ds.dataset(out / "estimates").to_table().to_pylist():
        rows |= _row(f"{name} {one['system_id']} fleet", one, texts)
    for one in pd.read_parquet(out / "refused.parquet").to_dict("records"):
        rows[f"{name} {one['system_id']} fleet"] = "refused"
        texts[f"{name} {one['system_id']} fleet"] = str(one["reason"])
    return rows


def _single(key: str, texts: Rows, power: Any, place: dict[str, Any], **options: Any) -> Rows:
    where = {name: place[name] for name in ("latitude", "longitude", "altitude")}
    try:
        found = sunveil.infer(
            power, **where, timezone="UTC", power_unit="kW", label="start", **options
        )
    except SunveilError as error:
        texts[key] = str(error)
        return {key: f"refused: {type(error).__name__}"}
    return _row(key, found.to_dict(), texts)


def _singles(fleet: Path, name: str, texts: Rows) -> Rows:
    rows: Rows = {}
    for place in systems_of(fleet)[:SINGLE]:
        power = readings_of(fleet, place["system_id"]).rename(place["system_id"])
        rows |= _single(f"{name} {place['system_id']} infer", texts, power, place)
    return rows


def _frame(fleet: Path, name: str, texts: Rows) -> Rows:
    first = systems_of(fleet)[0]
    near = [one["system_id"] for one in systems_of(fleet)[:TOGETHER]]
    frame = pd.read_parquet(fleet / "readings", filters=[("system_id", "in", near)])
    where = {key: first[key] for key in ("latitude", "longitude", "altitude")}
    found = sunveil.infer_frame(frame, **where, label="start", power_unit="kW")
    rows: Rows = {}
    for one in found:
        rows |= _row(f"{name} {one.system_id} infer_frame", one.to_dict(), texts)
    for one in found.refused:
        rows[f"{name} {one.system_id} infer_frame"] = "refused"
    return rows


def _files(fleet: Path, name: str, texts: Rows) -> Rows:
    """Infer a folder of one CSV file for each of some systems."""
    folder = fleet.with_name(f"{fleet.name} files")
    (folder / "csv").mkdir(parents=True)
    few = pd.DataFrame(systems_of(fleet)[-TOGETHER:])
    few.to_parquet(folder / "systems.parquet")
    for system in few["system_id"]:
        readings = readings_of(fleet, system).rename("power_kw").round(4)
        readings.to_csv(folder / "csv" / f"{system}.csv", index_label="time")
    return _fleet(folder, f"{name} files", texts, meters=folder / "csv")


def _years(folder: Path) -> Path:
    """Return a fleet of which each system has four years."""
    fleet = folder / "years"
    (fleet / "readings").mkdir(parents=True)
    for year in YEARS:
        made = simulate(folder, f"year {year}", *OF_YEARS, "--year", year)
        for number, part in enumerate(sorted((made / "readings").iterdir())):
            part.rename(fleet / "readings" / f"{year}-{number}.parquet")
        (made / "systems.parquet").replace(fleet / "systems.parquet")
    return fleet


def _faults(fleet: Path, texts: Rows) -> Rows:
    """Give each clean system one of the faults, in turn, and infer it by itself."""
    rows: Rows = {}
    names = list(FAULTS)
    for number, place in enumerate(systems_of(fleet)):
        fault = names[number % len(names)]
        power = FAULTS[fault](readings_of(fleet, place["system_id"]), place["timezone"])
        clock = {"clock": "given"} if number % 7 == 6 else {}
        key = f"{fault}{' (clock given)' * bool(clock)} {place['system_id']}"
        rows |= _single(key, texts, power.rename(place["system_id"]), place, **clock)
    return rows


def real(data: Path) -> Iterator[tuple[str, Any]]:
    """Yield the estimates of the labelled real series of a folder; they are in no test."""
    from benchmarks.real import load_all

    for one in load_all(data, REAL)[0]:
        place = {"latitude": one.site.latitude, "longitude": one.site.longitude}
        place["altitude"] = one.site.altitude
        try:
            found = sunveil.infer(one.power, **place, power_unit="kW")
        except SunveilError as error:
            yield one.name, f"refused: {type(error).__name__}"
        else:
            yield from _row(one.name, found.to_dict(), {}).items()
