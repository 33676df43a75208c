"""Scores of private releases: sensitivity, levels of chosen candidates, placements, answers."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sunveil

from .files import Rows, plain, text_of
from .fleets import done, readings_of, simulate, systems_of
from .seams import scores_drawn_from, without_noise

CHOSEN = 20  # candidates of each score, evenly over the grid
SHARE = 0.005
DAYS = 40
FLEETS: dict[str, tuple[object, ...]] = {
    "generation": ("--systems", 60, "--seed", 51),
    "signed": ("--systems", 40, "--seed", 52, "--net", 1),
    "two columns": ("--systems", 40, "--seed", 53, "--net", 1, "--net-columns", "two"),
}
PUBLIC = ("--capacities", 1, 30, "--label", "start", "--epsilon", 2, "--json")
ASKED: dict[str, Any] = {"epsilon": 2.0, "label": "start", "power_unit": "kW"}
PROTECT = ("readings:1", "days:1", "system")
SINGLE = 4


def record(folder: Path, texts: Rows) -> Rows:
    return {key: _shown(facts) for key, facts in _all(folder)}


def digests() -> Iterator[str]:
    """Yield the digest of all levels of each score: for two worktrees on one machine."""
    with tempfile.TemporaryDirectory() as name:
        for key, facts in sorted(_all(Path(name)), key=lambda one: one[0]):
            levels = facts.get("levels", np.array(facts.get("place", ())))
            levels = (levels - levels.max()).astype("<i8") if "levels" in facts else levels
            yield f"{hashlib.sha256(levels.tobytes()).hexdigest()}  {key}"


def _shown(facts: dict[str, Any]) -> dict[str, Any]:
    if "levels" not in facts:
        return dict(plain(facts))
    levels = facts.pop("levels")
    few = levels[np.linspace(0, len(levels) - 1, CHOSEN).astype(int)] - levels.max()
    return dict(plain({**facts, "candidates": len(levels), "levels": few.tolist()}))


def _all(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, options in FLEETS.items():
        fleet = _short(simulate(folder, name, *options))
        yield from _fleet(fleet, name)
        if name != "two columns":
            yield from _singles(fleet, name, net=name == "signed")
        if name == "generation":
            yield from _registers(fleet)


def _short(fleet: Path) -> Path:
    """Keep some weeks of a fleet alone."""
    for path in (fleet / "readings").iterdir():
        rows = pd.read_parquet(path)
        begin = pd.Timestamp("2019-05-01", tz="UTC")
        rows[rows["time"].between(begin, begin + pd.Timedelta(days=DAYS), "left")].to_parquet(path)
    return fleet


def _fleet(fleet: Path, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    asked = ("--systems", fleet / "systems.parquet", *PUBLIC)
    for protect in PROTECT:
        with without_noise(), scores_drawn_from() as seen:
            said = done("release", fleet / "readings", *asked, "--protect", protect)
        rows = said.json()
        for number, (row, facts) in enumerate(zip(rows, seen, strict=True)):
            # rows are in the order of their random ids, scores in that of draws
            own = {} if number else {"public": row["public"]}
            yield f"{name} {number:03d} {protect} fleet", {**facts, **own}


def _singles(fleet: Path, name: str, *, net: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    for place in systems_of(fleet)[:SINGLE]:
        where = {key: place[key] for key in ("latitude", "longitude", "altitude")}
        power = readings_of(fleet, place["system_id"])
        for protect in PROTECT:
            with without_noise(), scores_drawn_from() as seen:
                drawn = sunveil.release(power, protect=protect, **where, net=net, **ASKED)
            key = f"{name} {place['system_id']} {protect} single"
            yield key, {**seen[0], "answer": _answer(drawn.to_dict())}


def _registers(fleet: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scores of registers, of which each count is part of two differences."""
    for place in systems_of(fleet)[:SINGLE]:
        counts = readings_of(fleet, place["system_id"]).cumsum().round(3).rename("energy_kwh")
        path = fleet / f"{place['system_id']}.csv"
        counts.to_csv(path, index_label="time")
        where = [f"--{key}={place[key]}" for key in ("latitude", "longitude", "altitude")]
        for protect in PROTECT:
            asked = ("--protect", protect, "--register", "cumulative")
            with without_noise(), scores_drawn_from() as seen:
                said = done("release", path, *where, *asked, *PUBLIC)
            answer = _answer(said.json())
            yield f"register {place['system_id']} {protect}", {**seen[0], "answer": answer}


def _answer(row: Any) -> str:
    """Return the candidate that was drawn as a text: it is one of a finite number."""
    row = row[0] if isinstance(row, list) else row
    names = ("surface_azimuth", "surface_tilt", "dc_capacity_kw", "planes", "tracker")
    return text_of(plain([row[name] for name in names]))
