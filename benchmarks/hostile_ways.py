"""The entry points that a hostile record is given to, and what each says of every system."""

from __future__ import annotations

import contextlib
import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from sunveil.cli import main

# The stamp and the reading of each row, as a text file has them.
Rows = list[tuple[str, str]]
Fleet = Mapping[str, Rows]
PLACE = ("--latitude", "39.742", "--longitude", "-105.1727", "--altitude", "1795")
HEADER = "system_id,time,power_kw\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an entry point said.

    Parameters
    ----------
    code
        Exit code or status.
    rows
        What it says of each system.
    shared
        What it says of all together, where nothing of that may change.
    said
        All messages, to find out what happened.
    """

    code: int
    rows: Mapping[str, str] = field(default_factory=dict)
    shared: str = ""
    said: str = ""


def command(*arguments: object) -> tuple[int, str, str]:
    """Return the exit code of a command, what it printed and what it complained of."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(each) for each in arguments])
    return code, out.getvalue(), err.getvalue()


def write_long(path: Path, fleet: Fleet) -> Path:
    """Write all systems into one text file."""
    lines = [f"{name},{stamp},{cell}\n" for name, rows in fleet.items() for stamp, cell in rows]
    path.write_text(HEADER + "".join(lines), encoding="utf-8", newline="")
    return path


def write_files(folder: Path, fleet: Fleet) -> Path:
    """Write a text file for each system."""
    folder.mkdir()
    for name, rows in fleet.items():
        text = "time,power_kw\n" + "".join(f"{stamp},{cell}\n" for stamp, cell in rows)
        (folder / f"{name}.csv").write_text(text, encoding="utf-8", newline="")
    return folder


def write_months(folder: Path, fleet: Fleet) -> Path:
    """Write two text files in folders of their own, each with a half of every system."""
    for half in (0, 1):
        part = {
            name: rows[half * len(rows) // 2 : (half + 1) * len(rows) // 2]
            for name, rows in fleet.items()
        }
        (folder / str(half)).mkdir(parents=True)
        write_long(folder / str(half) / f"meters{half}.csv", part)
    return folder


def write_parquet(path: Path, fleet: Fleet, *, lists: bool = False) -> Path:
    """Write all systems into one Parquet file, in long form or with lists."""
    frames = [
        pd.DataFrame(
            {
                "system_id": [name] * len(rows),
                "time": pd.to_datetime(
                    pd.Series([stamp for stamp, _ in rows], dtype=object),
                    format="%Y-%m-%dT%H:%MZ",
                    errors="coerce",
                    utc=True,
                ),
                "power_kw": [_number(cell) for _, cell in rows],
            }
        )
        for name, rows in fleet.items()
    ]
    table = pd.concat(frames)
    if lists:
        table = table.groupby("system_id", as_index=False).agg(list)
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), path)
    return path


def write_json(path: Path, fleet: Fleet) -> Path:
    """Write all systems as records of JSON; a cell that is no number stays a text."""
    rows = [
        {"system_id": name, "time": stamp, "power_kw": _number_or_text(cell)}
        for name, cells in fleet.items()
        for stamp, cell in cells
    ]
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def write_zip(path: Path, fleet: Fleet) -> Path:
    """Write an archive of two folders, each with a half of every system."""
    folder = write_months(path.with_suffix(""), fleet)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in sorted(folder.rglob("*.csv")):
            archive.write(each, each.relative_to(folder))
    return path


def _number_or_text(cell: str) -> float | str:
    number = _number(cell)
    return number if math.isfinite(number) else cell


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def write_systems(path: Path, fleet: Fleet) -> Path:
    """Write the table of systems."""
    lines = [f"{name},39.742,-105.1727,1795,F{at % 2}\n" for at, name in enumerate(fleet)]
    path.write_text("system_id,latitude,longitude,altitude,feeder\n" + "".join(lines))
    return path


def _json(meters: Path) -> Outcome:
    code, out, err = command("infer", meters, *PLACE, "--json")
    rows = {each["system_id"]: json.dumps(each) for each in json.loads(out)} if out else {}
    return Outcome(code, rows, said=err)


def _table(meters: Path) -> Outcome:
    code, out, err = command("infer", meters, *PLACE)
    lines = out.split("\n\n")[0].splitlines()[2:]
    # the widths of columns follow from all rows
    rows = {line.split()[0]: " ".join(line.split()) for line in lines}
    return Outcome(code, rows, said=err)


def _fleet(meters: Path, folder: Path, fleet: Fleet) -> Outcome:
    systems = write_systems(folder / "systems.csv", fleet)
    given = ("--systems", systems, "--out", folder / "out", "--workers", "1")
    code, _, err = command("infer", meters, *given)
    rows: dict[str, str] = {}
    for part in sorted((folder / "out" / "estimates").glob("*.parquet")):
        rows |= {each["system_id"]: repr(each) for each in pq.read_table(part).to_pylist()}
    refused = folder / "out" / "refused.parquet"
    if refused.exists():
        for each in pq.read_table(refused).to_pylist():
            rows[each["system_id"]] = rows.get(each["system_id"], "") + repr(each)
    return Outcome(code, rows, said=err)


def _release(meters: Path) -> Outcome:
    given = ("--protect", "readings:1", "--epsilon", "1", "--json")
    code, out, err = command("release", meters, *PLACE, *given)
    public = [sorted(set(each) - {"release_id"}) for each in json.loads(out)] if out else []
    return Outcome(code, shared=f"{len(public)} {public} {err}", said=err)


def _plan(meters: Path, folder: Path, *where: object) -> Outcome:
    ledger, given = folder / "ledger.db", ("--protect", "readings:1", "--epsilon", "1")
    command("dataset", "create", "roofs", "--ledger", ledger, *given)
    about = ("--dataset", "roofs", "--ledger", ledger)
    code, out, err = command("publish", "system", meters, *where, *about, *given, "--dry-run")
    return Outcome(code, shared=(out + err).replace(str(folder), ""), said=err)


def _served(meters: Path, folder: Path, fleet: Fleet) -> Outcome:
    from benchmarks.hostile_service import upload_and_plan

    return upload_and_plan(meters, write_systems(folder / "systems.csv", fleet))


WAYS: dict[str, Callable[[Path, Fleet], Outcome]] = {
    "infer file": lambda at, fleet: _table(write_long(at / "meters.csv", fleet)),
    "infer file --json": lambda at, fleet: _json(write_long(at / "meters.csv", fleet)),
    "infer parquet --json": lambda at, fleet: _json(write_parquet(at / "meters.parquet", fleet)),
    "infer folder --json": lambda at, fleet: _json(write_files(at / "meters", fleet)),
    "infer months --json": lambda at, fleet: _json(write_months(at / "meters", fleet)),
    "infer json --json": lambda at, fleet: _json(write_json(at / "meters.json", fleet)),
    "infer zip --json": lambda at, fleet: _json(write_zip(at / "meters.zip", fleet)),
    "fleet of files": lambda at, fleet: _fleet(write_files(at / "meters", fleet), at, fleet),
    "fleet of months": lambda at, fleet: _fleet(write_months(at / "meters", fleet), at, fleet),
    "fleet in one csv": lambda at, fleet: _fleet(write_long(at / "meters.csv", fleet), at, fleet),
    "fleet in parquet": lambda at, fleet: _fleet(write_parquet(at / "m.parquet", fleet), at, fleet),
    "fleet in lists": lambda at, fleet: _fleet(
        write_parquet(at / "m.parquet", fleet, lists=True), at, fleet
    ),
    "release file": lambda at, fleet: _release(write_long(at / "meters.csv", fleet)),
    "release json": lambda at, fleet: _release(write_json(at / "meters.json", fleet)),
    "release zip": lambda at, fleet: _release(write_zip(at / "meters.zip", fleet)),
    "release folder": lambda at, fleet: _release(write_files(at / "meters", fleet)),
    "plan of a file": lambda at, fleet: _plan(write_long(at / "meters.csv", fleet), at, *PLACE),
    "plan of a fleet": lambda at, fleet: _plan(
        write_months(at / "meters", fleet),
        at,
        "--systems",
        write_systems(at / "systems.csv", fleet),
    ),
    "plan of parquet": lambda at, fleet: _plan(
        write_parquet(at / "m.parquet", fleet),
        at,
        "--systems",
        write_systems(at / "systems.csv", fleet),
    ),
    "upload of a file": lambda at, fleet: _served(write_long(at / "m.csv", fleet), at, fleet),
    "upload of a zip": lambda at, fleet: _served(write_months(at / "meters", fleet), at, fleet),
}
# Where stamps are public and decide who is released, only readings are made hostile.
STAMPS_MATTER = frozenset(name for name in WAYS if name.startswith(("release", "plan", "upload")))
