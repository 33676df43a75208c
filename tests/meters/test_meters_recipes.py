"""The commands of the page of recipes, each on a file as its vendor writes it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import export_files
import pytest
from formats.catalogue import WRITERS

import sunveil
from sunveil.cli import main

RECIPES = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")


def vendor_files(folder: Path) -> None:
    """Write the files that the recipes read, as their vendors write them."""
    for name in WRITERS:
        sample = WRITERS[name](3)
        (folder / f"{sample.name}{Path(sample.file_name).suffix}").write_bytes(sample.content)
    export_files.write(folder)


def recipes() -> list[str]:
    return re.findall(r"^sunveil infer (.+)$", RECIPES, re.MULTILINE)


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    vendor_files(folder)
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


def test_the_history_of_home_assistant_is_resampled_as_the_recipe_says(exports, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", RECIPES, re.DOTALL)
    monkeypatch.chdir(exports)
    exec(code, {})
    (record,) = sunveil.read_meters("power.csv", label="start")
    assert (record.interval_minutes, record.unit) == (5, "W")
