"""Processes that work beside the one that planned: the same bytes, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from fleet_folders import contents

from sunveil.cli import main
from sunveil.errors import SourceError
from sunveil.fleet import FleetSettings, helpers, infer_fleet
from sunveil.fleet.helpers import Helper, HelperLostError, are_worth_it, started
from sunveil.fleet.local import Shares
from sunveil.fleet.plan import Part
from sunveil.fleet.run import _opened

SMALL = FleetSettings(part_rows=1)


@pytest.fixture
def alone(layouts, systems_file, tmp_path):
    """Return what one worker writes."""
    infer_fleet(layouts["files"], systems_file, tmp_path / "alone", settings=SMALL, workers=1)
    return contents(tmp_path / "alone")


@pytest.fixture
def job_and_parts(layouts, systems_file, tmp_path):
    out = tmp_path / "opened"
    context, plan = _opened(layouts["files"], systems_file, out, SMALL, server={}, workers=1)
    (out / "estimates").mkdir(parents=True)
    (out / ".work" / "refused").mkdir(parents=True)
    return context.job, plan.parts


class Patient(Helper):
    """One that has the first part done before anybody else begins."""

    def __init__(self, *, die: bool = False) -> None:
        super().__init__()
        self.die, self.done = die, []

    def run(self, job, part):
        if self.die and self.done:
            os.kill(self._process.pid, signal.SIGKILL)
        self.done.append(super().run(job, part))
        return self.done[-1]


@pytest.mark.parametrize("die", [False, True])
def test_a_helper_writes_the_same_bytes_and_may_be_killed(
    die, alone, layouts, systems_file, tmp_path, monkeypatch
):
    monkeypatch.setattr(helpers, "Helper", lambda: Patient(die=die))
    with started(1) as beside:
        (helper,) = beside
        # one worker, and all parts are the helper's as long as it lives
        monkeypatch.setattr("sunveil.fleet.local.Shares.take", only_second(Shares.take))
        out = tmp_path / "out"
        result = infer_fleet(
            layouts["files"], systems_file, out, settings=SMALL, workers=2, helpers=beside
        )
    assert contents(out) == alone
    assert len(helper.done) == (1 if die else result.parts)
    assert all(done.rows is None for done in helper.done)


def only_second(take):
    """Return a way of taking parts in which the first worker gets none."""
    return lambda shares, worker: take(shares, worker) if worker else None


def test_what_goes_wrong_in_a_helper_is_told(job_and_parts):
    job, parts = job_and_parts
    with started(1) as (helper,):
        assert helper.run(job, parts[0]).number == parts[0].number
        with pytest.raises(SourceError, match="was changed while"):
            helper.run(replace(job, digest="another", fingerprint="another"), parts[0])
        # and it goes on
        assert helper.run(job, parts[1]).inferred == 1
        os.kill(helper._process.pid, signal.SIGKILL)
        with pytest.raises(HelperLostError):
            helper.run(job, parts[2])


def test_a_helper_ends_with_the_process_that_started_it():
    code = """
import os, sys
from sunveil.fleet.helpers import Helper
helper = Helper()
print(helper._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL
    number = int(done.stdout)
    ends = time.monotonic() + 60.0
    while is_running(number):
        assert time.monotonic() < ends
        time.sleep(0.05)


def is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_run_goes_on_where_helpers_cannot_be_started(
    alone, layouts, systems_file, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with started(3) as beside:
        assert beside == []
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with started(1) as beside:
        out = tmp_path / "out"
        infer_fleet(layouts["files"], systems_file, out, settings=SMALL, workers=2, helpers=beside)
    assert contents(out) == alone


def test_the_command_starts_as_many_as_it_needs(layouts, systems_file, tmp_path, monkeypatch):
    counts = []

    def counted(count):
        counts.append(count)
        return real(count)

    real = started
    monkeypatch.setattr(helpers, "started", counted)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # which the command sets
    command = ["infer", str(layouts["files"]), "--systems", str(systems_file), "--out"]
    assert main([*command, str(tmp_path / "a"), "--workers", "2"]) == 0
    monkeypatch.setattr(helpers, "WORTH", 1)
    assert main([*command, str(tmp_path / "b"), "--workers", "2"]) == 0
    assert main([*command, str(tmp_path / "c"), "--workers", "1"]) == 0
    assert counts == [0, 1, 0]
    assert contents(tmp_path / "a") == contents(tmp_path / "b") == contents(tmp_path / "c")


def test_helpers_are_worth_their_start_where_there_is_much_to_read(tmp_path, monkeypatch):
    monkeypatch.setattr(helpers, "WORTH", 1000)
    deep = tmp_path / "month=1" / "day=2"
    deep.mkdir(parents=True)
    (deep / "a.parquet").write_bytes(bytes(600))
    assert not are_worth_it(tmp_path)
    assert not are_worth_it(tmp_path / "missing")
    (tmp_path / "b.parquet").write_bytes(bytes(600))
    assert are_worth_it(tmp_path)
    assert not are_worth_it(tmp_path / "b.parquet")


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_parts_are_shared_among_neighbours_and_the_small_ones_come_last(workers):
    parts = [Part(number, (), rows=100 if number < 20 else 50) for number in range(24)]
    shares = Shares(parts, workers)
    taken = []
    for place in range(24):
        worker = place % workers
        upcoming = shares.next(worker)
        part = shares.take(worker)
        if upcoming is not None and place < 20 // workers * workers:
            assert part == upcoming
        taken.append(part.number)
    assert sorted(taken) == list(range(24))
    assert taken[20:] == [20, 21, 22, 23]
    assert all(shares.take(worker) is None for worker in range(workers))
    # as long as each has its own, they follow each other
    assert taken[workers : 2 * workers] == [number + 1 for number in taken[:workers]]
    # whoever is done first helps the others
    lone = Shares(parts, workers)
    assert sorted(lone.take(0).number for _ in range(24)) == list(range(24))


def test_what_a_helper_cannot_say_is_done_without_it(job_and_parts):
    class Unheard(Exception):
        def __init__(self, one, two):
            super().__init__(one)

    job, parts = job_and_parts
    untold = replace(job, server=(("key", Unheard(1, 2)),))
    with started(1) as (helper,), pytest.raises(HelperLostError):
        helper.run(untold, parts[0])
