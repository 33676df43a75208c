"""Power from every kind of publication: rounded means, bands and peaks by group."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from .files import Rows, plain, significant
from .fleets import done, simulate, without_paths
from .questions import FEEDERS, table_of
from .seams import without_noise

DAY = ("--start", "2023-06-20", "--end", "2023-06-22", "--step", "60min")
PLACE = ("--latitude", 39.74, "--longitude", -104.99, "--altitude", 1609)
FEW = ("--draws", 40, "--seed", 3)
DIGITS = 3  # draws go through linear algebra, whose last digits are the processor's


def record(folder: Path, texts: Rows) -> Rows:
    estimates = table_of(folder)
    ledger = folder / "power.db"
    for name, unit in (("homes", "system"), ("roofs", "days:1")):
        done("dataset", "create", name, "--ledger", ledger, "--protect", unit, "--epsilon", 100)
    book = ("--ledger", ledger, "--epsilon", 4, "--dataset")
    keys = ("--key", "feeder", "--keys", ",".join(FEEDERS))
    meters = simulate(folder, "meters", "--systems", 8, "--seed", 61, "--no-faults", "--cells", 1)
    sources: dict[str, tuple[object, ...]] = {
        "tables": ("fleet", estimates, *book, "homes"),
        "feeders": ("fleet", estimates, *book, "homes", *keys),
        "totals": ("fleet", estimates, *book, "homes", "--tables", "totals,planes"),
        "synthetic": ("synthetic", estimates, *book, "homes"),
        "rows": (
            *("system", _weeks(meters), "--systems", meters / "systems.parquet", *book, "roofs"),
            *("--protect", "days:1", "--label", "start", "--capacities", 1, 30),
        ),
    }
    rows: Rows = {}
    for name, asked in sources.items():
        with without_noise():
            done("publish", *asked, "--out", folder / name)
        rows |= _power(folder, name, folder / name, (), texts)
    rows |= _power(folder, "table", estimates, ("--by", "feeder"), texts)
    return rows | _power(folder, "opendss", folder / "feeders", ("--by", "all", "--opendss"), texts)


def _weeks(fleet: Path) -> Path:
    for path in (fleet / "readings").iterdir():
        readings = pd.read_parquet(path)
        readings[readings["time"] < "2019-02-01"].to_parquet(path)
    return fleet / "readings"


def _power(folder: Path, name: str, source: Path, options: tuple[object, ...], texts: Rows) -> Rows:
    out = folder / f"{name} power"
    said = done("power", source, *DAY, *PLACE, *FEW, *options, "--out", out)
    texts[f"{name} said"] = without_paths(said.out, folder)
    written = (each for each in out.rglob("*") if each.is_file())
    rows: Rows = {f"{name} files": sorted(str(each.relative_to(out)) for each in written)}
    table = pd.read_csv(out / "power.csv")
    numbers = table.select_dtypes("number").columns
    for number, one in enumerate(table.to_dict("records")):
        rows[f"{name} {number:03d}"] = {
            key: significant(one[key], DIGITS) if key in numbers else str(one[key]) for key in one
        }
    facts = json.loads((out / "power.json").read_text())
    words = ("made", "notes")
    texts[f"{name} words"] = {key: facts[key] for key in words}
    kept = {key: plain(facts[key], DIGITS) for key in facts if key not in ("power", *words)}
    return {**rows, f"{name} facts": kept}
