"""Questions, plans and publications of each product, under promises with and without δ."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sunveil import System

from .files import Rows, loads, plain
from .fleets import UUID, done, simulate, without_paths
from .ledger import VARIABLE
from .seams import Ledger, Promise, YearlySchedule, without_noise

PROMISES = {
    "pure": Promise(System(), 1000.0, meters=2),
    "delta": Promise(System(), 1000.0, 1e-6),
    "years": Promise(System(), 1000.0, schedule=YearlySchedule(2001, 2, 5.0)),
}
FEEDERS = ("F1", "F2", "F3")
SYSTEMS = 200
SHARES = ("--shares", "counts=1,totals=3,quantiles=1")
EDGES = ("--capacity-edges", "0,5,50")
FLEET: dict[str, tuple[object, ...]] = {
    "tables": ("--tables", "counts,planes,totals,quantiles"),
    "others": ("--tables", "sectors,tilts,capacities,mounts,totals", "--clip", 1, 20),
    "feeders": ("--key", "feeder", "--keys", ",".join(FEEDERS), *SHARES),
    "bins": ("--sectors", 4, "--tilt-edges", "0,30,90", *EDGES, "--edition", "2027"),
}
PUBLIC = ("datapackage.json", "release-card.yaml", "README.md")


def record(folder: Path, texts: Rows) -> Rows:
    rows: Rows = {}
    estimates, meters = table_of(folder), _meters(folder)
    for promise, promised in PROMISES.items():
        ledger = folder / f"{promise}.db"
        with Ledger(ledger, create=True) as made:
            for dataset in ("homes", "roofs"):
                made.create_dataset(dataset, promised)
        book = ("--ledger", ledger, "--dataset")
        homes = (estimates, *book, "homes", "--epsilon", 2)
        for name, chosen in FLEET.items():
            asked = ("fleet", *homes, *chosen)
            rows |= _asked(folder, f"{promise} fleet {name}", asked, texts)
        rows |= _asked(folder, f"{promise} synthetic", ("synthetic", *homes), texts)
        systems = ("system", meters / "readings", "--systems", meters / "systems.parquet")
        term = (*book, "roofs", "--protect", "system", "--epsilon", 12, "--label", "start")
        for name, standing in (("rows", ()), ("standing", ("--standing",))):
            rows |= _asked(folder, f"{promise} {name}", (*systems, *term, *standing), texts)
        rows |= _entries(folder, promise, ledger)
    return rows


def table_of(folder: Path) -> Path:
    """Return a table of estimates, of whole steps that no processor rounds otherwise."""
    numbers = np.arange(SYSTEMS)
    columns = {
        "system_id": [f"home-{number:03d}" for number in numbers],
        "surface_azimuth": (numbers * 37 % 720) / 2.0,
        "surface_tilt": (numbers * 11 % 121) / 2.0,
        "dc_capacity_kw": 2.0 + (numbers * 13 % 97) / 8.0,
        "feeder": [FEEDERS[number % 3] for number in numbers],
    }
    path = folder / "estimates.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def _meters(folder: Path) -> Path:
    fleet = simulate(folder, "meters", "--systems", 8, "--seed", 61, "--no-faults", "--cells", 2)
    for path in (fleet / "readings").iterdir():
        rows = pd.read_parquet(path)
        rows[rows["time"] < "2019-02-01"].to_parquet(path)
    return fleet


def _asked(folder: Path, key: str, asked: tuple[object, ...], texts: Rows) -> Rows:
    """Plan, publish, and publish again, which costs nothing."""
    out, again = (folder / f"{key}{part}" for part in ("", " again"))
    plan = done("publish", *asked, "--dry-run")
    with without_noise():
        first = done("publish", *asked, "--out", out)
        second = done("publish", *asked, "--out", again)
    for name, said in (("plan", plan), ("said", first), ("said again", second)):
        texts[f"{key} {name}"] = without_paths(said.out, folder)
    for name in PUBLIC[1:]:
        texts[f"{key} {name}"] = without_paths((out / name).read_text(), folder)
    tables = {path.stem: _table(path) for path in sorted(out.glob("*.csv"))}
    rows: Rows = {f"{key} table {name}": value for name, value in tables.items()}
    rows[f"{key} files"] = sorted(path.name for path in out.iterdir())
    same = {path.stem: _table(path) for path in sorted(again.glob("*.csv"))} == tables
    rows[f"{key} again the same"] = same
    return rows


def _table(path: Path) -> list[list[Any]]:
    """Return the fields of a table; rows of systems, whose ids are random, in order of the rest."""
    text = UUID.sub("UUID", path.read_text(encoding="utf-8"))
    head, *body = csv.reader(text.splitlines())
    rows = sorted(body) if "UUID" in text else body
    return [list(head), *([_field(field) for field in row] for row in rows)]


def _field(text: str) -> Any:
    """Return a field as a number if it is one, with the digits that it is written with."""
    try:
        float(text)
        return loads(f"[{text}]")[0]  # type: ignore[index]
    except ValueError:
        return text


def _entries(folder: Path, promise: str, ledger: Path) -> Rows:
    """Return the entries that the ledger exports: questions with their digests, and charges."""
    path = folder / f"{promise} export.json"
    done("ledger", "export", "--ledger", ledger, "--out", path)
    rows: Rows = {}
    for dataset in json.loads(path.read_text())["datasets"]:
        for entry in dataset["entries"]:
            facts = json.loads(entry["body"])
            if "parameters" in facts or "question" in facts or "cost" in facts:
                # what was drawn is in the tables, and its digest would be one of floats
                kept = {k: v for k, v in facts.items() if k not in (*VARIABLE, "answer", "value")}
                key = f"{promise} {dataset['dataset']} {entry['place']:03d} {entry['kind']}"
                rows[key] = plain(kept, 9)
    return rows
