"""Simulated fleets by seed: rounded sums of each system's readings, systems and truth."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .files import Rows, plain, significant
from .fleets import simulate as simulated
from .fleets import sunveil, without_paths

KINDS = ("--two-planes", 0.4, "--trackers", 0.3)
FLEETS: dict[str, tuple[object, ...]] = {
    "plain": ("--systems", 12, "--seed", 1, "--plain"),
    "faults": (*("--systems", 24, "--seed", 2), *KINDS, "--interval", 30),
    "no faults": ("--systems", 6, "--seed", 3, "--no-faults", "--year", 2020),
    "quarters": ("--systems", 6, "--seed", 4, "--interval", 15, "--layout", "lists"),
    "signed": ("--systems", 12, "--seed", 5, "--net", 1, "--batteries", 0.5, "--cars", 0.5),
    "two columns": ("--systems", 6, "--seed", 6, "--net", 1, "--net-columns", "two"),
    "export": ("--systems", 6, "--seed", 7, "--net", 0.5, "--net-columns", "export"),
}


def record(folder: Path, texts: Rows) -> Rows:
    rows: Rows = {}
    for name, options in FLEETS.items():
        fleet = simulated(folder, name, *options)
        readings = pd.read_parquet(fleet / "readings")
        written = (each for each in fleet.rglob("*") if each.is_file())
        rows[f"{name} files"] = sorted(str(each.relative_to(fleet)) for each in written)
        columns = [each for each in readings.columns if each.endswith("_kw")]
        if name == "quarters":
            readings = readings.explode(columns).astype(dict.fromkeys(columns, float))
        for system, own in readings.groupby("system_id"):
            added = {each: own[each].astype(float).sum() for each in columns}
            sums = {f"sum {each}": significant(total, 5) for each, total in added.items()}
            known = {f"readings {each}": int(own[each].notna().sum()) for each in columns}
            rows[f"{name} {system} readings"] = {"rows": len(own), **sums, **known}
        for table in ("systems", "truth"):
            for one in pd.read_parquet(fleet / f"{table}.parquet").to_dict("records"):
                rows[f"{name} {one['system_id']} {table}"] = plain(one, 4)
        texts[f"{name} README"] = without_paths((fleet / "README.md").read_text(), folder)
        again = sunveil("simulate", "--systems", 1, "--out", fleet)
        texts[f"{name} again"] = without_paths(again.err, folder)
    return rows
