"""The folder of a publication: its files in every format, its figures, and how it is written."""

from __future__ import annotations

import csv
import datetime
import errno
import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sunveil._files import defuse, restore
from sunveil.errors import ParameterError, SunveilError
from sunveil.plots.publication_figures import (
    plot_planes,
    plot_published_systems,
    plot_shares,
    plot_survival,
    publication_figures,
)
from sunveil.privacy import Guarantee, System
from sunveil.publication import Publication, write_publication
from sunveil.publication import publication_folder as module
from sunveil.publication.publication_folder import orange_button, read_table
from sunveil.publication.published_tables import Column, PublishedTable

DAY = datetime.date(2026, 3, 1)
GUARANTEE = Guarantee(System(), 2.0, 0.0, "docs/proofs/window.md")


def table(name: str, columns: str, *rows: tuple) -> PublishedTable:
    """Return a table of columns of numbers, but for texts 'name:s' and whole numbers 'name:i'."""
    kinds = {"s": "string", "i": "integer", "": "number"}
    parts = (each.partition(":") for each in columns.split())
    made = tuple(Column(column, kinds[kind], f"{column}.") for column, _, kind in parts)
    return PublishedTable(name, "A table.", made, rows)


SYSTEMS = table(
    "systems",
    "release_id:s surface_azimuth surface_tilt dc_capacity_kw count:i",
    ('odd, "quoted"', 180.0, 25.0, 5.125, 3),
    ("línea\nnueva", 90.5, 0.0, None, None),
    ("c", 1e-7, 90.0, 1 / 3, -2),
)
COUNTS = table("counts", "sector:s n:i")
MADE = Publication("Systems of Example Power & Light", (SYSTEMS, COUNTS), GUARANTEE, "The window")


@pytest.fixture(autouse=True)
def figures_are_closed():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def draw(figure) -> None:
    figure.subplots().plot([1, 2])


def same(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_holds_every_format_says_which_files_and_is_the_same_again(tmp_path):
    paths = write_publication(tmp_path / "out", MADE, figures={"map": draw}, published=DAY)
    assert [path.name for path in paths] == [
        "README.md", "counts.csv", "counts.parquet", "datapackage.json", "map.png", "map.svg",
        "release-card.yaml", "systems.csv", "systems.orange-button.json", "systems.parquet",
    ]  # fmt: skip
    assert sorted(paths) == sorted((tmp_path / "out").iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "map.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "out" / "map.svg").read_text()
    card = yaml.safe_load((tmp_path / "out" / "release-card.yaml").read_text())
    assert card["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0}
    text = (tmp_path / "out" / "README.md").read_text()
    assert all(f"- `{path.name}`" in text for path in paths)
    write_publication(tmp_path / "again", MADE, figures={"map": draw}, published=DAY)
    assert same(tmp_path / "again") == same(tmp_path / "out")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_reads_back_as_it_was(tmp_path, ending):
    write_publication(tmp_path / "out", MADE)
    place = tmp_path / "out" / f"systems.{ending}"
    names = {"string": "VARCHAR", "number": "DOUBLE", "integer": "BIGINT"}
    types = {column.name: names[column.kind] for column in SYSTEMS.columns}
    read = f"read_csv('{place}', columns={types}, header=true)" if ending == "csv" else f"'{place}'"
    assert duckdb.sql(f"SELECT * FROM {read}").fetchall() == list(SYSTEMS.rows)
    # types stay where there are no rows
    schema = parquet.read_schema(tmp_path / "out" / "counts.parquet")
    assert [str(kind) for kind in schema.types] == ["string", "int64"]
    assert (tmp_path / "out" / "counts.csv").read_text() == "sector,n\n"


def test_the_data_package_follows_the_standard_and_its_hashes_hold(tmp_path):
    write_publication(tmp_path / "out", MADE, published=DAY)
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    assert package["$schema"].startswith("https://datapackage.org/profiles/2.0/")
    assert package["created"] == "2026-03-01T00:00:00Z"
    names = [package["name"], *(resource["name"] for resource in package["resources"])]
    assert len(set(names)) == len(names) == 5
    assert all(re.fullmatch(r"[a-z0-9._-]+", name) for name in names)
    for resource in package["resources"]:
        assert {"name", "path", "schema"} <= set(resource)
        path = tmp_path / "out" / resource["path"]
        assert resource["bytes"] == path.stat().st_size
        assert resource["hash"] == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        assert resource["mediatype"] == module.MEDIA[path.suffix[1:]]
    field = {"name": "surface_azimuth", "type": "number", "description": "surface_azimuth."}
    assert package["resources"][0]["schema"]["fields"][1] == field


def test_an_empty_folder_is_filled_and_what_is_there_is_left_as_it_was(tmp_path):
    (tmp_path / "empty").mkdir()
    write_publication(tmp_path / "empty", MADE)
    before = same(tmp_path / "empty")
    (tmp_path / "file").write_text("mine")
    for taken in ("empty", "file"):
        with pytest.raises(
            ParameterError, match="exists and is not an empty folder; name a new one"
        ):
            write_publication(tmp_path / taken, MADE)
    with pytest.raises(SunveilError, match=r"cannot be written to .*; nothing was left there"):
        write_publication(tmp_path / "file" / "out", MADE)
    assert same(tmp_path / "empty") == before
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_nothing_is_left_behind_when_writing_is_cut_short(tmp_path, error):
    def fail(_figure) -> None:
        raise error

    expected = SunveilError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_publication(tmp_path / "out", MADE, figures={"map": fail})
    if expected is SunveilError:
        assert "No space left" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_files_are_on_the_disk_before_the_folder_gets_its_name_in_one_step(tmp_path, monkeypatch):
    synced, steps = [], []
    fsync, rename = os.fsync, Path.rename

    def watch_sync(handle: int) -> None:
        synced.append((os.readlink(f"/proc/self/fd/{handle}"), (tmp_path / "out").exists()))
        fsync(handle)

    def watch_rename(path: Path, target: Path) -> Path:
        steps.append((target, sorted(each.name for each in path.iterdir()), target.exists()))
        return rename(path, target)

    monkeypatch.setattr(module.os, "fsync", watch_sync)
    monkeypatch.setattr(Path, "rename", watch_rename)
    names = [path.name for path in write_publication(tmp_path / "out", MADE)]
    assert {Path(name).name for name, named in synced if not named} >= set(names)
    assert synced[-1] == (str(tmp_path), True)
    assert steps == [(tmp_path / "out", names, False)]


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "../systems"},
        {"name": "counts"},
        {"columns": (Column("a", "date", "x"),), "rows": ()},
        {"rows": ((1, 2),)},
        {"columns": SYSTEMS.columns[:1] * 2, "rows": ()},
        None,
    ],
)
def test_tables_that_cannot_be_written_as_meant_are_refused_first(tmp_path, changed):
    tables = () if changed is None else (replace(SYSTEMS, **changed), COUNTS)
    with pytest.raises(ParameterError, match="at least one table" if changed is None else None):
        write_publication(tmp_path / "out", replace(MADE, tables=tables))
    assert list(tmp_path.iterdir()) == []


# -- texts that a spreadsheet would take for formulas

NAMES = ["=HYPERLINK(1)", "+1", "-x", "@a", "\tb", "'=c", "''", "'tis", "F-1", "＝d", None]


@given(st.text())
def test_what_was_defused_comes_back_and_begins_no_formula(text):
    held = defuse(text)
    assert restore(held) == text
    assert not held.startswith(tuple("=+-@\t\r\n＝＋－＠"))


def test_a_csv_file_holds_no_formula_and_names_are_read_back_as_they_were(tmp_path):
    rows = [(name, -1.5 * place, place) for place, name in enumerate(NAMES)]
    odd = table("odd", "=group:s value systems:i", *rows)
    write_publication(tmp_path / "p", Publication("Odd", (odd,), GUARANTEE, "x"))
    with (tmp_path / "p" / "odd.csv").open(newline="", encoding="utf-8") as file:
        header, *lines = list(csv.reader(file))
    assert header == ["'=group", "value", "systems"]
    assert [line[0] for line in lines] == ["" if name is None else defuse(name) for name in NAMES]
    assert lines[1][1:] == ["-1.5", "1"]
    said = (tmp_path / "p" / "datapackage.json").read_text()
    assert said.count("have an apostrophe before them") == 1
    for ending in ("csv", "parquet"):
        frame = read_table(tmp_path / "p" / f"odd.{ending}")
        assert list(frame.columns) == ["=group", "value", "systems"]
        assert [None if pd.isna(name) else name for name in frame["=group"]] == NAMES
        assert list(frame["value"]) == [-1.5 * place for place in range(len(NAMES))]
    (tmp_path / "p" / "other.csv").write_text("a\n")
    with pytest.raises(ParameterError, match=r"datapackage\.json"):
        read_table(tmp_path / "p" / "other.csv")


# -- Orange Button


def test_every_row_is_a_system_of_orange_button_with_what_was_released():
    first, second, _ = orange_button(SYSTEMS, description="ε = 1")["PVSystems"]
    orientation = {
        "OrientationAzimuth": {"Value": 180.0, "Unit": "Degree"},
        "OrientationTilt": {"Value": 25.0, "Unit": "Degree"},
    }
    assert first == {
        "PVSystemID": {"Value": 'odd, "quoted"'},
        "Description": {"Value": "ε = 1"},
        "CapacityDC": {"Value": 5.125, "Unit": "kW"},
        "PVArrays": [{"Orientation": orientation}],
    }
    assert "CapacityDC" not in second
    with pytest.raises(ParameterError, match="needs the columns release_id, surface_azimuth"):
        orange_button(COUNTS)


# -- figures

SHARES = table(
    "shares",
    "quantity:s group:s share share_error",
    ("surface_azimuth", "0°", 0.0, 0.1),
    ("surface_azimuth", "180°", 1.0, 0.1),
    ("surface_tilt", "below 20°", 1.0, 0.1),
)
SURVIVAL = table(
    "survival",
    "kind:s of:s measured synthetic difference noise_error",
    ("distance", "surface_tilt", None, None, 0.02, 0.01),
    ("correlation", "a and b", 0.5, 0.4, -0.1, 0.05),
)


def test_published_tables_are_drawn_as_dots_shares_and_distances():
    twice = ("b", 90.5, 0.0, 10.25, None)
    systems = replace(SYSTEMS, rows=(SYSTEMS.rows[0], twice, SYSTEMS.rows[2]))
    (dots,) = plot_published_systems(systems).collections
    assert dots.get_offsets()[:, 1].tolist() == [25.0, 0.0, 90.0]
    assert np.degrees(dots.get_offsets()[:, 0]).tolist() == pytest.approx([180.0, 90.5, 1e-7])
    sizes = dots.get_sizes()
    assert sizes[1] == pytest.approx(2.0 * sizes[0])
    ax = plot_shares(SHARES, "surface_azimuth")
    assert [bar.get_height() for bar in ax.patches] == [0.0, 100.0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0°", "180°"]
    assert ax.get_ylabel() == "Share of systems [%]"
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0.0, 100.0])
    ax = plot_survival(SURVIVAL)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([2.0, 1.0])


def test_a_map_writes_every_count_and_the_error():
    bands = ("0 to 30", "30 to 90")
    ax = plot_planes([[1, 2300], [0, 4]], sectors=("N", "S"), bands=bands, sd=13.8)
    ax.get_figure().canvas.draw()
    place = {text.get_text(): text.get_position() for text in ax.texts}
    assert set(place) == {"1", "2,300", "0", "4"}
    assert place["2,300"] == (0, 1)
    assert "13.8" in ax.get_title(loc="left")
    _, given = plt.subplots()
    assert plot_planes([[0]], sectors=("N",), bands=("0 to 90",), sd=1.0, ax=given) is given
    with pytest.raises(ParameterError, match="one count"):
        plot_planes([[1, 2]], sectors=("N", "S"), bands=("0 to 90",), sd=1.0)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ParameterError, match="no column dc_capacity_kw"):
        plot_published_systems(SHARES)
    with pytest.raises(ParameterError, match="no shares of wind"):
        plot_shares(SHARES, "wind")
    with pytest.raises(ParameterError, match="no distances"):
        plot_survival(replace(SURVIVAL, rows=SURVIVAL.rows[1:]))
    with pytest.raises(ParameterError, match="polar axes"):
        plot_published_systems(SYSTEMS, ax=plt.figure().add_subplot())


def test_a_folder_has_the_figures_that_its_tables_can_be_drawn_as(tmp_path):
    found = replace(MADE, tables=(SYSTEMS, SHARES, SURVIVAL))
    figures = publication_figures(found)
    assert set(figures) == {"systems-planes", "shares-azimuth", "survival-distances"}
    paths = write_publication(tmp_path / "out", found, figures=figures)
    assert len([path for path in paths if path.suffix in (".png", ".svg")]) == 6
    assert plt.get_fignums() == []
