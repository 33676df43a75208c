from __future__ import annotations

import datetime
import errno
import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as parquet
import pytest
import yaml

from sunveil.errors import ParameterError, SunveilError
from sunveil.privacy import Guarantee, System
from sunveil.publication import Publication, write_publication
from sunveil.publication import publication_folder as module
from sunveil.publication.published_tables import Column, PublishedTable

DAY = datetime.date(2026, 3, 1)
SYSTEMS = PublishedTable(
    name="systems",
    about="One row per system.",
    columns=(
        Column("release_id", "string", "A random name."),
        Column("surface_azimuth", "number", "Azimuth, clockwise from north. [degrees]"),
        Column("surface_tilt", "number", "Tilt. [degrees]"),
        Column("dc_capacity_kw", "number", "DC capacity. [kW]"),
        Column("count", "integer", "A whole number."),
    ),
    rows=(
        ('odd, "quoted"', 180.0, 25.0, 5.125, 3),
        ("línea\nnueva", 90.5, 0.0, None, None),
        ("c", 1e-7, 90.0, 1 / 3, -2),
    ),
)
COUNTS = PublishedTable(
    "counts", "Counts.", (Column("sector", "string", "Where."), Column("n", "integer", "n")), ()
)


@pytest.fixture
def publication() -> Publication:
    return Publication(
        title="Systems of Example Power & Light",
        tables=(SYSTEMS, COUNTS),
        guarantee=Guarantee(System(), 2.0, 0.0, "docs/proofs/window.md"),
        mechanism="The two-level window",
        public={"systems": 3},
    )


def draw(figure) -> None:
    figure.subplots().plot([1, 2])


def same(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_folder_holds_every_format_and_says_which_files_it_wrote(tmp_path, publication):
    paths = write_publication(tmp_path / "out", publication, figures={"map": draw}, published=DAY)
    assert [path.name for path in paths] == [
        "README.md",
        "counts.csv",
        "counts.parquet",
        "datapackage.json",
        "map.png",
        "map.svg",
        "release-card.yaml",
        "systems.csv",
        "systems.orange-button.json",
        "systems.parquet",
    ]
    assert sorted(paths) == sorted((tmp_path / "out").iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "map.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "out" / "map.svg").read_text()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_reads_back_as_it_was(tmp_path, publication, ending):
    write_publication(tmp_path / "out", publication)
    place = tmp_path / "out" / f"systems.{ending}"
    types = {
        c.name: {"string": "VARCHAR", "number": "DOUBLE", "integer": "BIGINT"}[c.kind]
        for c in SYSTEMS.columns
    }
    read = f"read_csv('{place}', columns={types}, header=true)" if ending == "csv" else f"'{place}'"
    assert duckdb.sql(f"SELECT * FROM {read}").fetchall() == list(SYSTEMS.rows)


def test_parquet_has_the_types_of_the_columns_even_without_rows(tmp_path, publication):
    write_publication(tmp_path / "out", publication)
    schema = parquet.read_schema(tmp_path / "out" / "counts.parquet")
    assert [str(kind) for kind in schema.types] == ["string", "int64"]
    assert (tmp_path / "out" / "counts.csv").read_text() == "sector,n\n"


def test_the_data_package_follows_the_standard_and_its_hashes_hold(tmp_path, publication):
    write_publication(tmp_path / "out", publication, published=DAY)
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    assert package["$schema"].startswith("https://datapackage.org/profiles/2.0/")
    assert re.fullmatch(r"[a-z0-9._-]+", package["name"])
    names = [resource["name"] for resource in package["resources"]]
    assert len(set(names)) == len(names) == 4
    for resource in package["resources"]:
        assert re.fullmatch(r"[a-z0-9._-]+", resource["name"])
        assert {"name", "path", "schema"} <= set(resource)
        path = tmp_path / "out" / resource["path"]
        assert resource["bytes"] == path.stat().st_size
        assert resource["hash"] == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        assert resource["mediatype"] == module.MEDIA[path.suffix[1:]]
    fields = package["resources"][0]["schema"]["fields"]
    assert fields[1] == {
        "name": "surface_azimuth",
        "type": "number",
        "description": "Azimuth, clockwise from north. [degrees]",
    }
    assert package["created"] == "2026-03-01T00:00:00Z"


def test_the_same_publication_is_written_as_the_same_bytes(tmp_path, publication):
    for name in ("one", "two"):
        write_publication(tmp_path / name, publication, figures={"map": draw}, published=DAY)
    assert same(tmp_path / "one") == same(tmp_path / "two")


def test_the_card_and_the_readme_are_in_the_folder_and_name_its_files(tmp_path, publication):
    paths = write_publication(tmp_path / "out", publication)
    card = yaml.safe_load((tmp_path / "out" / "release-card.yaml").read_text())
    assert card["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0}
    text = (tmp_path / "out" / "README.md").read_text()
    assert all(f"- `{path.name}`" in text for path in paths)


def test_an_empty_folder_is_filled_and_a_full_one_is_left_as_it_was(tmp_path, publication):
    (tmp_path / "empty").mkdir()
    write_publication(tmp_path / "empty", publication)
    before = same(tmp_path / "empty")
    with pytest.raises(ParameterError, match="exists and is not an empty folder; name a new one"):
        write_publication(tmp_path / "empty", publication)
    assert same(tmp_path / "empty") == before
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ParameterError, match="not an empty folder"):
        write_publication(tmp_path / "file", publication)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_nothing_is_left_behind_when_writing_is_cut_short(tmp_path, publication, error):
    def fail(_figure) -> None:
        raise error

    expected = SunveilError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        write_publication(tmp_path / "out", publication, figures={"map": fail})
    if expected is SunveilError:
        assert "No space left" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_by_a_file_is_told_in_one_sentence(tmp_path, publication):
    (tmp_path / "file").write_text("")
    with pytest.raises(SunveilError, match=r"cannot be written to .*; nothing was left there"):
        write_publication(tmp_path / "file" / "out", publication)


def test_files_are_on_the_disk_before_the_folder_has_its_name(tmp_path, publication, monkeypatch):
    seen = []
    real = os.fsync

    def watch(handle: int) -> None:
        seen.append((os.readlink(f"/proc/self/fd/{handle}"), (tmp_path / "out").exists()))
        real(handle)

    monkeypatch.setattr(module.os, "fsync", watch)
    paths = write_publication(tmp_path / "out", publication)
    early = [Path(name).name for name, named in seen if not named]
    assert set(early) >= {path.name for path in paths}
    assert seen[-1] == (str(tmp_path), True)


def test_the_folder_gets_its_name_in_one_step_when_all_is_in_it(tmp_path, publication, monkeypatch):
    steps = []
    real = Path.rename

    def watch(path: Path, target: Path) -> Path:
        steps.append((target, sorted(each.name for each in path.iterdir()), target.exists()))
        return real(path, target)

    monkeypatch.setattr(Path, "rename", watch)
    paths = write_publication(tmp_path / "out", publication)
    assert steps == [(tmp_path / "out", [path.name for path in paths], False)]


def test_tables_that_cannot_be_written_as_meant_are_refused_first(tmp_path, publication):
    bad = [
        replace(SYSTEMS, name="../systems"),
        replace(SYSTEMS, name="counts"),
        replace(SYSTEMS, columns=(Column("a", "date", "x"),) * 1, rows=()),
        replace(SYSTEMS, rows=((1, 2),)),
        replace(SYSTEMS, columns=SYSTEMS.columns[:1] * 2, rows=()),
    ]
    for table in bad:
        with pytest.raises(ParameterError):
            write_publication(tmp_path / "out", replace(publication, tables=(table, COUNTS)))
    with pytest.raises(ParameterError, match="at least one table"):
        write_publication(tmp_path / "out", replace(publication, tables=()))
    assert list(tmp_path.iterdir()) == []
