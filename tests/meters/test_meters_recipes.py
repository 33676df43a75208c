"""The commands of the page of recipes, each on a file as its vendor writes it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from formats.catalogue import sample
from formats.sample import text

import sunveil
from sunveil.cli import main

RECIPES = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")


# The files of the page that samples of formats stand for.
SAMPLES = {
    "sma-explorer-german.csv": "sma-german",
    "sma-inverter-pages.csv": "sma-web",
    "sma-portal-german.csv": "sunny_portal-portal",
    "fronius-german-csv.csv": "fronius-german_csv",
    "fronius-english-csv.csv": "fronius-english_csv",
    "fronius-german-workbook.xlsx": "fronius-german_workbook",
    "enphase-csv-offsets.csv": "enphase-offsets",
    "enphase-csv-all-flows.csv": "enphase-all_flows",
    "enphase-json-telemetry.json": "enphase-telemetry",
    "solaredge-json-power.json": "solaredge-power_json",
    "net-solaredge.json": "net-solaredge",
    "solaredge-csv-all.csv": "solaredge-chart_of_all",
    "pvoutput-history.csv": "pvoutput-history",
    "nem12-generation.csv": "nem12-generation",
    "nem12-net.csv": "nem12-net",
    "green-button.xml": "registers-green_button_quarters-w",
    "fluvius.csv": "fluvius-nl",
    "dsmr.csv": "dsmr",
    "sce.csv": "edison",
    "statistics.csv": "home assistant, statistics",
}
# Home Assistant's history, whose stamps are those of changes.
HISTORY = text(
    *("history.csv", "munich", 5, "entity_id,state,last_changed"),
    lambda r: f"sensor.pv_power,{r.w:.0f},{r.t:%Y-%m-%dT%H:%M}:{r.t.minute % 19:02d}.250Z",
    below=lambda rows: f"sensor.pv_power,unavailable,{rows[-1].t:%Y-%m-%dT%H:%M}:58.900Z",
    clock="UTC",
)


def recipes() -> list[str]:
    return re.findall(r"^sunveil infer (.+)$", RECIPES, re.MULTILINE)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    for file, name in SAMPLES.items():
        (folder / file).write_bytes(sample(name, 7).content)
    (folder / "history.csv").write_bytes(HISTORY(7).content)
    (code,) = re.findall(r"```python\n(.*?)```", RECIPES, re.DOTALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(code, {})  # makes power.csv
    return folder


@pytest.mark.parametrize("command", recipes(), ids=lambda command: command.split()[0])
def test_a_recipe_reads_the_export_of_its_vendor(command, exports, monkeypatch, capsys):
    options = re.sub(r" --(latitude|longitude) \S+", "", command)
    monkeypatch.chdir(exports)
    code = main(["check", *shlex.split(options), "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    systems = json.loads(said.out)
    assert systems
    assert all("error" not in system for system in systems)


def test_the_history_of_home_assistant_is_resampled_as_the_recipe_says(exports):
    (record,) = sunveil.read_meters(exports / "power.csv", label="start")
    assert (record.interval_minutes, record.unit) == (5, "W")
