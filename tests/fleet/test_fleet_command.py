from __future__ import annotations

import json
import sys

import pyarrow.parquet as pq
import pytest
from fleet_folders import PLACES, estimates_of, write_systems

from sunveil.cli import main
from sunveil.errors import SourceError
from sunveil.estimates import Flag, Quality
from sunveil.estimates.read_write import is_fleet, read_fleet
from sunveil.fleet.run_plan import IDENTITY
from sunveil.inference import infer_fleet


@pytest.fixture
def call(capsys):
    """Return the command line, run in this process: exit code, stdout, stderr."""

    def run(*arguments):
        capsys.readouterr()
        code = main(["infer", *map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture(scope="module")
def done(layouts, tmp_path_factory):
    """Return a run of which one system is absent and one unknown."""
    folder = tmp_path_factory.mktemp("done")
    places = {name: place for name, place in PLACES.items() if name != "a1"}
    systems = write_systems(folder / "s.csv", {**places, "zz": (40.0, -105.0)})
    infer_fleet(layouts["files"], systems, folder / "out")
    return folder / "out"


@pytest.mark.usefixtures("done")  # which compiles the engine, if nothing has
def test_a_fleet_is_written_to_a_folder(call, layouts, systems_file, tmp_path):
    out = tmp_path / "out"
    code, said, err = call(layouts["files"], "--systems", systems_file, "--out", out)
    assert (code, said, err) == (0, f"Wrote 6 of 6 systems to {out}\n", "")
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert names == {
        "README.md",
        "estimates/part-00000.parquet",
        "refused.parquet",
        "run.json",
        "summary.html",
        "summary.json",
    }
    assert "private" in (out / "README.md").read_text()
    run = json.loads((out / "run.json").read_text())
    assert (run["version"], run["engine"]) == IDENTITY
    summary = json.loads((out / "summary.json").read_text())
    table = pq.ParquetDataset(out / "estimates").read(columns=["quality", "flags"]).to_pylist()
    assert summary["quality"] == {
        quality: sum(row["quality"] == quality for row in table) for quality in Quality
    }
    assert summary["flags"] == {flag: sum(flag in row["flags"] for row in table) for flag in Flag}
    assert sum(summary["quality"].values()) == sum(summary["planes"].values()) == 6


def test_without_what_draws_the_page_is_left_out_and_its_extra_named(
    call, layouts, systems_file, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    out = tmp_path / "out"
    code, said, err = call(layouts["file"], "--systems", systems_file, "--out", out)
    assert (code, said) == (0, f"Wrote 6 of 6 systems to {out}\n")
    assert "pip install 'sunveil[plots]'" in err
    assert not (out / "summary.html").exists()


def test_progress_comes_as_lines_of_json(call, layouts, systems_file, tmp_path):
    out = tmp_path / "out"
    code, said, _ = call(layouts["files"], "--systems", systems_file, "--out", out, "--json")
    lines = [json.loads(line) for line in said.splitlines()]
    assert code == 0
    assert [line["event"] for line in lines] == ["progress"] * (len(lines) - 1) + ["done"]
    phases = [line["doing"] for line in lines if line.get("doing")]
    assert list(dict.fromkeys(phases)) == ["compiling", "reading", "inferring"]
    far = next(line for line in lines if line.get("doing") == "inferring")
    assert {"done", "total", "systems", "rate", "seconds_left"} <= set(far)
    assert (lines[-2]["done"], lines[-2]["systems"]) == (lines[-2]["total"], 6)
    assert (lines[-1]["inferred"], lines[-1]["refused"], lines[-1]["out"]) == (6, 0, str(out))


def test_systems_that_are_refused_are_told_of(call, layouts, tmp_path):
    places = {name: place for name, place in PLACES.items() if name != "a1"}
    systems = write_systems(tmp_path / "s.csv", places)
    code, said, err = call(layouts["file"], "--systems", systems, "--out", tmp_path / "out")
    assert (code, said.startswith("Wrote 5 of 6 systems")) == (0, True)
    assert "skipped 1 systems" in err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--systems", "s.csv"], "name it with --out"),
        (["--systems", "s.csv", "--out", "o", "--latitude", "40"], "--latitude is for one site"),
        (["--systems", "s.csv", "--out", "o", "--method", "paper"], "default method only"),
        (["--systems", "s.csv", "--out", "o", "--weather", "sky.csv"], "`weather` of a fleet"),
        (["--systems", "none.csv", "--out", "o"], "there is no table of systems"),
        (["--latitude", "40", "--longitude", "-105", "--workers", "2"], "--workers is for a fleet"),
        (["--latitude", "40", "--longitude", "-105", "--restart"], "--restart is for a fleet"),
        ([], "missing option '--latitude'"),
        (["--latitude", "40"], "missing option '--longitude'"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_sentence(
    given, words, call, layouts, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code, said, err = call(layouts["file"], *given)
    assert (code, said) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_all_systems_of_the_table_are_read_back_the_refused_ones_without_values(done):
    table = read_fleet(done, keys=["feeder"])
    assert table.system_ids == ("a2", "a3", "b1", "b2", "b3", "zz")
    assert table.keys["feeder"].tolist() == ["F-a", "F-a", "F-b", "F-b", "F-b", "F-z"]
    found = estimates_of(done)
    assert table.surface_azimuth[:5].tolist() == found["surface_azimuth"].tolist()
    assert all(
        column[5] != column[5]
        for column in (table.surface_azimuth, table.surface_tilt, table.dc_capacity_kw)
    )
    assert "180" not in repr(table)
    assert is_fleet(done)


def test_what_is_not_a_finished_run_is_not_read(done, tmp_path):
    assert not is_fleet(tmp_path)
    with pytest.raises(SourceError, match="not what sunveil infer --systems wrote"):
        read_fleet(tmp_path)
    with pytest.raises(SourceError, match="county"):
        read_fleet(done, keys=["county"])
