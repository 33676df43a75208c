"""A run that is stopped at any instant is taken up by the same call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from fleet_folders import contents, copy_of, write_systems

from sunveil.errors import ParameterError, SourceError
from sunveil.estimates.read_write import read_fleet
from sunveil.fleet import run_plan
from sunveil.fleet.run_plan import IDENTITY
from sunveil.inference import fleet_run, infer_fleet

SMALL = {"part_rows": 1}


class Stopped(Exception):
    """What stops a run in these tests."""


def stop_after(parts):
    """Return what stops a run once so many parts are done."""

    def tell(progress):
        if progress.done >= parts:
            raise Stopped

    return tell


@pytest.mark.parametrize("layout", ["files", "months"])
def test_a_run_killed_at_any_instant_ends_as_if_it_had_not_been(
    layout, layouts, systems_file, tmp_path
):
    trials = 10 if layout == "files" else 5
    script = Path(__file__).with_name("fleet_killer.py")
    command = [sys.executable, str(script), str(layouts[layout]), str(systems_file), str(tmp_path)]
    done = subprocess.run([*command, str(trials)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == trials
    folders = [contents(tmp_path / f"trial{number}") for number in range(trials)]
    assert all(folder == contents(tmp_path / "reference") for folder in folders)


def test_only_what_was_not_finished_is_done_again(layouts, systems_file, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(Stopped):
        infer_fleet(layouts["files"], systems_file, out, **SMALL, workers=1, tell=stop_after(2))
    kept = {path: path.stat().st_mtime_ns for path in (out / "estimates").iterdir()}
    assert len(kept) == 2
    told = []
    result = infer_fleet(layouts["files"], systems_file, out, **SMALL, tell=told.append)
    assert (result.resumed, result.parts, result.inferred) == (2, 6, 6)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert told[0].done == 3
    assert told[-1].done == told[-1].total == 6
    again = infer_fleet(layouts["files"], systems_file, out, **SMALL)
    assert again.resumed == 6


def test_a_part_that_is_not_whole_is_done_again(layouts, systems_file, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(Stopped):
        infer_fleet(layouts["files"], systems_file, out, **SMALL, workers=1, tell=stop_after(3))
    (torn, *_) = sorted((out / "estimates").iterdir())
    torn.write_bytes(torn.read_bytes()[:100])
    (out / "estimates" / ".part-00001.parquet.abcd.part").write_bytes(b"left by a kill")
    result = infer_fleet(layouts["files"], systems_file, out, **SMALL)
    assert (result.resumed, result.inferred) == (2, 6)
    infer_fleet(layouts["files"], systems_file, tmp_path / "whole", **SMALL)
    assert contents(out) == contents(tmp_path / "whole")


def test_other_inputs_are_refused_unless_the_run_is_thrown_away(layouts, systems_file, tmp_path):
    fleet = copy_of(layouts["files"], tmp_path / "fleet")
    out = tmp_path / "out"
    infer_fleet(fleet, systems_file, out)
    before = contents(out)
    changes = [
        (fleet, write_systems(tmp_path / "s.csv", {"a1": (39.7, -105.0)}), {}),
        (fleet, systems_file, {"albedo": 0.3}),
    ]
    for readings, systems, change in changes:
        with pytest.raises(ParameterError, match="option `restart`"):
            infer_fleet(readings, systems, out, **change)
    path = fleet / "a1.parquet"
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 10**9))
    with pytest.raises(ParameterError, match="option `restart`"):
        infer_fleet(fleet, systems_file, out)
    assert contents(out) == before
    result = infer_fleet(fleet, systems_file, out, restart=True)
    assert (result.resumed, result.inferred) == (0, 6)


def test_a_folder_with_other_things_in_it_is_left_alone(layouts, systems_file, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for restart in (False, True):
        with pytest.raises(ParameterError, match="no run over a fleet wrote"):
            infer_fleet(layouts["file"], systems_file, tmp_path, restart=restart)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_two_runs_never_write_one_folder_at_once(layouts, systems_file, tmp_path):
    given = layouts["files"], systems_file, tmp_path / "out"

    def nested(progress):
        with pytest.raises(ParameterError, match="another run"):
            infer_fleet(*given, **SMALL)
        raise Stopped

    with pytest.raises(Stopped):
        infer_fleet(
            layouts["files"], systems_file, tmp_path / "out", **SMALL, workers=1, tell=nested
        )


def test_a_run_of_another_engine_is_not_taken_up(layouts, systems_file, tmp_path, monkeypatch):
    given = layouts["files"], systems_file, tmp_path / "out"
    with pytest.raises(Stopped):
        infer_fleet(*given, **SMALL, workers=1, tell=stop_after(2))
    before = contents(tmp_path / "out")
    for module in (run_plan, fleet_run):
        monkeypatch.setattr(module, "IDENTITY", (IDENTITY[0], "another"))
    with pytest.raises(ParameterError, match=r"another version of Sunveil \(.*option `restart`"):
        infer_fleet(*given, **SMALL)
    assert contents(tmp_path / "out") == before


def test_what_another_version_finished_is_neither_taken_up_nor_read(
    layouts, systems_file, tmp_path
):
    out = tmp_path / "out"
    infer_fleet(layouts["files"], systems_file, out)
    assert len(read_fleet(out)) == 6
    told = json.loads((out / "run.json").read_text())
    (out / "run.json").write_text(json.dumps({**told, "version": "0.1.0", "fingerprint": "other"}))
    with pytest.raises(ParameterError, match=r"another version of Sunveil \(0.1.0\)"):
        infer_fleet(layouts["files"], systems_file, out)
    part = next((out / "estimates").glob("*.parquet"))
    pq.write_table(pq.read_table(part).drop_columns(["planes"]), part)
    with pytest.raises(SourceError, match="another version of Sunveil wrote"):
        read_fleet(out)


def test_a_run_that_was_killed_while_it_wrote_its_first_file_is_begun_anew(
    layouts, systems_file, tmp_path
):
    out = tmp_path / "out"
    out.mkdir()
    (out / ".run.json.0123abcd.part").write_text("{")
    assert infer_fleet(layouts["file"], systems_file, out).inferred > 0
    assert not list(out.glob(".run.json.*"))
