"""Options of every command; exit codes, files and JSON keys of calls, refusals among them."""

from __future__ import annotations

import json
import shlex
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

PLACE = "--latitude 39.74 --longitude -104.99 --altitude 1609"
BOOK = "--ledger L.db"
HOMES = f"{BOOK} --dataset homes --epsilon"
# One call a line, in order, in a folder that holds what `_inputs` writes. Those that are refused
# leave all as it was, and their texts are among the messages.
CALLS = f"""
--version
--help
nothing
simulate --systems 3 --out fleet
simulate --systems 3 --out fleet
simulate --systems 3 --out fleet --replace --no-faults
simulate --systems 0 --out other
simulate --systems 2 --out other --batteries 0.5
simulate --systems 2 --out other --interval 20
simulate --systems 2 --out other --year 1900
simulate --systems 2 --out one.csv
check one.csv --json
check one.csv
check missing.csv
check empty.csv
check words.csv
check many.csv --systems missing.csv
schema one.csv
schema words.csv
schema one.csv --out schema.yaml
infer one.csv {PLACE} --schema schema.yaml --json
infer one.csv {PLACE}
infer one.csv {PLACE} --json --out estimate.json
infer one.csv {PLACE} --report page.html
infer one.csv {PLACE} --method paper --json
infer one.csv {PLACE} --method paper --group year
infer one.csv {PLACE} --clock given --losses 0.1 --albedo 0.3 --mount roof --json
infer one.csv {PLACE} --albedo 2
infer one.csv {PLACE} --losses 1.5
infer one.csv {PLACE} --timezone Nowhere/Town
infer one.csv {PLACE} --power-column nothing
infer one.csv {PLACE} --label never
infer one.csv {PLACE} --weather missing.csv
infer one.csv {PLACE} --weather nsrdb
infer one.csv
infer one.csv --latitude 100 --longitude 0
infer one.csv --latitude 39.74 --longitude 104.99
infer short.csv {PLACE}
infer night.csv {PLACE}
infer twice.csv {PLACE}
infer twice.csv {PLACE} --duplicates mean --json
infer nounit.csv {PLACE}
infer nounit.csv {PLACE} --power-unit W --json
infer many.csv {PLACE} --json
infer net.csv {PLACE} --net --json --separated apart.csv
infer fleet/readings --systems fleet/systems.parquet --out run --workers 1
infer fleet/readings --systems fleet/systems.parquet --out run --workers 1
infer fleet/readings --systems missing.csv --out run2
infer fleet/readings --systems fleet/systems.parquet
infer fleet/readings --systems fleet/systems.parquet --out run3 --workers 0
release one.csv {PLACE} --protect days:1 --epsilon 1 --json
release one.csv {PLACE} --protect system --epsilon 1 --capacities 1 30
release one.csv {PLACE} --protect weeks:1 --epsilon 1
release one.csv {PLACE} --protect days:1 --epsilon 0
release one.csv {PLACE} --protect days:1 --epsilon 1 --delta 0.1
release one.csv {PLACE} --protect days:1 --epsilon 1 --mechanism paper
release one.csv {PLACE} --protect days:1 --epsilon 1 --capacities 30 1
release semicolons.csv {PLACE} --protect days:1 --epsilon 1
utility --systems 5 --epsilon 1 --latitude 39.74 --longitude -104.99 --json one.csv
dataset create homes {BOOK} --protect system --epsilon 5 --json
dataset create homes {BOOK} --protect system --epsilon 5
dataset create days {BOOK} --protect days:1 --epsilon 2 --delta 1e-6
dataset create bad {BOOK} --protect system --epsilon -1
dataset create bad {BOOK} --protect system --epsilon 1 --delta 0.5
dataset list {BOOK} --json
dataset list {BOOK}
dataset show homes {BOOK} --json
dataset show nobody {BOOK}
dataset share homes ann 2 {BOOK} --json
dataset share homes ann -1 {BOOK}
dataset shares homes {BOOK} --json
dataset households homes {BOOK} --table homes.csv --json
dataset households homes {BOOK}
dataset schedule homes {BOOK} --json
publish fleet estimates.csv {HOMES} 1 --dry-run
publish fleet estimates.csv {HOMES} 1 --out tables
publish fleet estimates.csv {HOMES} 1 --out tables
publish fleet estimates.csv {HOMES} 1 --out again
publish fleet estimates.csv {HOMES} 1
publish fleet estimates.csv {HOMES} 9 --out more
publish fleet estimates.csv {HOMES} 1 --analyst bob --edition 2 --out more
publish fleet estimates.csv {HOMES} 1 --key feeder --keys F1 --out more
publish fleet estimates.csv {HOMES} 1 --key street --keys F1 --out more
publish fleet estimates.csv {HOMES} 1 --tables nothing --out more
publish fleet estimates.csv {HOMES} 1 --tilt-edges 30,10 --out more
publish fleet estimates.csv {HOMES} 1 --clip 20 1 --out more
publish fleet one.csv {HOMES} 1 --out more
publish fleet estimates.csv --ledger none.db --dataset homes --epsilon 1 --out more
publish fleet estimates.csv {BOOK} --dataset days --epsilon 1 --out more
publish system one.csv {PLACE} {HOMES} 1 --protect days:1 --out more
publish synthetic estimates.csv {HOMES} 9 --out more
power tables --start 2023-06-20 --end 2023-06-21 {PLACE} --step 60min --draws 20 --out power
power tables --start 2023-06-21 --end 2023-06-20 {PLACE} --out other
power tables --start 2023-06-20 --end 2023-06-21 --out other
power run --start 2023-06-20 --end 2023-06-21 {PLACE} --out other
power tables --start 2023-06-20 --end 2023-06-21 {PLACE} --by street --out other
ledger show {BOOK} --json
ledger show {BOOK} --dataset homes
ledger verify {BOOK} --json
ledger verify {BOOK} --dataset homes --mark 3:abc
ledger verify {BOOK} --dataset nobody
ledger export {BOOK} --out book.json
ledger move {BOOK} --to M.db --json
ledger show {BOOK}
ledger verify --ledger M.db
audit --pairs 1 --epsilon 1 --draws 1000 --json
service accounts list --data nowhere
service backup --data nowhere --out backup.zip
serve --demo --workers 2
""".strip().splitlines()


def record(folder: Path, texts: Rows) -> Rows:
    rows: Rows = dict(_options(cli, "sunveil"))
    _inputs(folder)
    before = _files(folder)
    for number, line in enumerate(CALLS):
        key = f"call {number:03d} {line}"
        with without_noise():
            said = sunveil(*(_in(folder, word) for word in shlex.split(line)))
        after = _files(folder)
        made = {
            "exit": said.code,
            "new files": sorted(after - before),
            "gone": sorted(before - after),
        }
        rows[key] = {**made, **_keys(said.out)}
        before = after
        for name, text in (("out", said.out), ("err", said.err)):
            if text.strip() and not text.lstrip().startswith(("{", "[")):
                texts[f"{key} {name}"] = without_paths(text, folder)
    return {**rows, **_refused(folder, texts)}


def _options(command: click.Command, name: str) -> Any:
    """Yield the options of a command and of those below it, with their kinds and defaults."""
    context = click.Context(command, info_name=name)
    shown: dict[str, Any] = {}
    for one in command.params:
        facts = one.to_info_dict()
        kind = facts["type"]
        default = (
            facts["default"]
            if isinstance(facts["default"], (int, float, str, list, tuple))
            else None
        )
        limits = {key: kind[key] for key in ("choices", "min", "max") if kind.get(key) is not None}
        own = {"required": one.required, "default": default, "type": kind["name"], **limits}
        shown[" ".join(one.opts) or str(one.name)] = plain(own)
    yield f"options {name}", shown
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _options(found, f"{name} {below}")


def _in(folder: Path, word: str) -> str:
    """Return a word with the folder before it where it names a file."""
    named = word.endswith((".csv", ".db", ".yaml", ".json", ".html", ".zip", ".parquet"))
    folders = (
        "fleet",
        "other",
        "run",
        "tables",
        "again",
        "more",
        "power",
        "nowhere",
        "fleet/readings",
    )
    return str(folder / word) if named or word in folders or word in ("run2", "run3") else word


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
    return (
        "number"
        if isinstance(value, (int, float)) and not isinstance(value, bool)
        else type(value).__name__
    )


def _inputs(folder: Path) -> None:
    fleet = simulate(folder, "source", "--systems", 8, "--seed", 5, "--no-faults", "--net", 0.5)
    metering = {each["metering"]: each["system_id"] for each in systems_of(fleet)}
    power, net = (readings_of(fleet, metering[kind]).round(4) for kind in ("generation", "net"))
    power, net = power.rename("power_kw"), net.rename("power_kw")
    power["2019-04":"2019-08"].to_csv(folder / "one.csv", index_label="time")
    net.to_csv(folder / "net.csv", index_label="time")
    power.iloc[:20].to_csv(folder / "short.csv", index_label="time")
    (power["2019-04":"2019-06"] * 0.0).to_csv(folder / "night.csv", index_label="time")
    few = power["2019-05":"2019-06"]
    pd.concat([few, few.iloc[2000:2010:3] + 0.5, few.iloc[10:13] + 1.0]).to_csv(
        folder / "twice.csv", index_label="time"
    )
    few.rename("value").mul(1000.0).to_csv(folder / "nounit.csv", index_label="time")
    few.to_csv(folder / "semicolons.csv", index_label="time", sep=";", decimal=",")
    named = [few.to_frame().assign(system_id=name) for name in ("a", "b")]
    pd.concat([*named, few.iloc[:5].to_frame().assign(system_id="c")]).to_csv(
        folder / "many.csv", index_label="time"
    )
    (folder / "empty.csv").write_text("")
    (folder / "words.csv").write_text("these,are\nno,readings\nat,all\n")
    (folder / "homes.csv").write_text(
        "system_id,household\n" + "".join(f"home-{n:03d},{n // 2}\n" for n in range(9))
    )
    table_of(folder)


def _refused(folder: Path, texts: Rows) -> Rows:
    """Return the errors of wrong calls from Python, with their facts."""
    one = folder / "one.csv"
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
        "weather": lambda: package.get_weather(
            "rain", package.Site(39.74, -104.99), "2019-01-01", "2019-02-01"
        ),
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
