"""Options of every command; exit codes, files and JSON keys of calls, refusals among them."""

from __future__ import annotations

import json
import shlex
from contextlib import chdir, nullcontext
from pathlib import Path
from typing import Any

import click
import pandas as pd

import sunveil as package
from sunveil.cli import cli
from sunveil.meters import MeterOptions, read_meters

from .files import Rows, plain
from .fleets import readings_of, simulate, sunveil, systems_of, without_paths
from .questions import table_of
from .seams import Promise, SunveilError, without_noise

# One call a line, in a folder that holds what `_inputs` writes; refused ones change nothing.
CALLS = Path(__file__).with_name("calls.txt")
WORDS = {
    "{place}": "--latitude 39.74 --longitude -104.99 --altitude 1609",
    "{book}": "--ledger L.db",
    "{homes}": "--ledger L.db --dataset homes --epsilon",
}


def record(folder: Path, texts: Rows) -> Rows:
    rows: Rows = dict(_options(cli, "sunveil"))
    _inputs(folder)
    before = _files(folder)
    for line in CALLS.read_text().splitlines():
        key = f"call {line}"
        for name, words in WORDS.items():
            line = line.replace(name, words)
        key += " again" * (key in rows)
        # an audit of draws needs these as they are
        with nullcontext() if line.startswith("audit") else without_noise(), chdir(folder):
            said = sunveil(*shlex.split(line))
        after = _files(folder)
        rows[key] = {"exit": said.code, "new files": sorted(after - before), **_keys(said.out)}
        rows[key]["gone"] = sorted(before - after)
        before = after
        texts[f"{key} err"] = without_paths(said.err, folder)
        if said.code:
            texts[f"{key} out"] = without_paths(said.out, folder)
    return {**rows, **_refused(folder, texts)}


def _options(command: click.Command, name: str) -> Any:
    """Yield the options of a command and of those below it, with their kinds and defaults."""
    context = click.Context(command, info_name=name)
    shown: dict[str, Any] = {}
    for one in command.params:
        facts = one.to_info_dict()
        kind = facts["type"]
        default = facts["default"]
        default = default if isinstance(default, (int, float, str, list, tuple)) else None
        limits = {key: kind[key] for key in ("choices", "min", "max") if kind.get(key) is not None}
        own = {"required": one.required, "default": default, "type": kind["name"], **limits}
        shown[" ".join(one.opts) or str(one.name)] = plain(own)
    yield f"options {name}", shown
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _options(found, f"{name} {below}")


def _files(folder: Path) -> set[str]:
    """Return the files of a folder, those below the first level by their kinds alone."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and not {"cache", "state"} & set(path.relative_to(folder).parts)
    }


def _keys(text: str) -> dict[str, Any]:
    try:
        return {"keys": keys_of(json.loads(text))}
    except ValueError:
        return {}


def keys_of(value: Any) -> Any:
    """Return the keys of a JSON value, and the kinds of what they hold."""
    if isinstance(value, dict):
        return {key: keys_of(each) for key, each in value.items()}
    if isinstance(value, list):
        kinds: list[Any] = []
        for each in map(keys_of, value):
            kinds += [each] * (each not in kinds)
        return kinds
    return "number" if type(value) in (int, float) else type(value).__name__


def _inputs(folder: Path) -> None:
    (folder / "denver.csv").write_text("latitude,longitude,altitude\n39.74,-104.99,1609\n")
    sites = ("--sites", folder / "denver.csv", "--no-faults", "--net", 0.5)
    fleet = simulate(folder, "source", "--systems", 8, "--seed", 5, *sites)
    metering = {each["metering"]: each["system_id"] for each in systems_of(fleet)}
    power, net = (readings_of(fleet, metering[kind]).round(4) for kind in ("generation", "net"))
    few = power["2019-05":"2019-06"]
    systems = {"a": few, "b": few, "c": few.iloc[:5]}
    tables = {
        "one": power["2019-04":"2019-08"],
        "net": net,
        "short": power.iloc[:20],
        "night": few * 0.0,
        "twice": pd.concat([few, few.iloc[2000:2010:3] + 0.5, few.iloc[10:13] + 1.0]),
        "nounit": few.rename("value") * 1000.0,
        "many": pd.concat([each.to_frame().assign(system_id=n) for n, each in systems.items()]),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index_label="time")
    few.to_csv(folder / "semicolons.csv", index_label="time", sep=";", decimal=",")
    (folder / "empty.csv").write_text("")
    (folder / "bad.yaml").write_text("power_unit: furlong\n")
    (folder / "words.csv").write_text("these,are\nno,readings\nat,all\n")
    homes = "".join(f"home-{number:03d},{number // 2}\n" for number in range(200))
    (folder / "homes.csv").write_text(f"system_id,household\n{homes}")
    table_of(folder)


def _refused(folder: Path, texts: Rows) -> Rows:
    """Return the errors of wrong calls from Python, with their facts."""
    one, span = folder / "one.csv", ("2019-01-01", "2019-02-01")
    place = {"latitude": 39.74, "longitude": -104.99}
    calls: dict[str, Any] = {
        "infer without a place": lambda: package.infer(one),
        "infer latitude": lambda: package.infer(one, latitude=91.0, longitude=0.0),
        "infer text": lambda: package.infer("missing.csv", **place),
        "infer method": lambda: package.infer(one, **place, method="best"),
        "infer losses": lambda: package.infer(one, **place, losses=2.0),
        "infer many": lambda: package.infer(folder / "many.csv", **place),
        "infer number": lambda: package.infer(3, **place),
        "frame without systems": lambda: package.infer_frame(pd.DataFrame({"time": []}), **place),
        "read nothing": lambda: read_meters(folder / "empty.csv"),
        "read words": lambda: read_meters(folder / "words.csv"),
        "options unit": lambda: MeterOptions(power_unit="BTU"),
        "options zone": lambda: MeterOptions(timezone="Nowhere"),
        "release unit": lambda: package.release(one, protect="weeks:1", epsilon=1.0, **place),
        "release epsilon": lambda: package.release(one, protect="days:1", epsilon=-1.0, **place),
        "site": lambda: package.Site(100.0, 0.0),
        "plane": lambda: package.Plane(0.0, 200.0),
        "losses": lambda: package.Losses(2.0),
        "days": lambda: package.Days(0),
        "promise": lambda: Promise(package.System(), 0.0),
        "weather": lambda: package.get_weather("rain", package.Site(39.74, -104.99), *span),
    }
    rows: Rows = {}
    for name, call in calls.items():
        try:
            call()
            rows[f"python {name}"] = "accepted"
        except SunveilError as error:
            facts = {key: value for key, value in vars(error).items() if not key.startswith("_")}
            rows[f"python {name}"] = {"error": type(error).__name__, **plain(facts)}
            texts[f"python {name}"] = without_paths(str(error), folder)
    return rows
