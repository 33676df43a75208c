"""Parts on this machine: the same bytes however many processes, whatever becomes of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import fleet_workers
import pytest
from fleet_folders import contents

from sunveil.errors import SourceError, SunveilError
from sunveil.fleet.open import plan_fleet
from sunveil.fleet.run_context import context_of, keep_context
from sunveil.fleet.run_plan import Part
from sunveil.inference import infer_fleet
from sunveil.inference import workers as local
from sunveil.inference.workers import refuse_unguarded, run_in_pool, run_local
from sunveil.meters import MeterOptions

SMALL = {"part_rows": 1}


@pytest.fixture
def job(layouts, systems_file, tmp_path):
    out = tmp_path / "opened"
    out.mkdir()
    reading = MeterOptions()
    fleet = plan_fleet(layouts["files"], systems_file, out, reading=reading, workers=1, **SMALL)
    keep_context(fleet.context)
    return fleet.context.job


def parts(count):
    return [Part(number, ()) for number in range(count)]


def test_one_worker_and_two_write_the_same_bytes(layouts, systems_file, tmp_path, monkeypatch):
    # of files by system the next test shows it, whose run loses a worker
    monkeypatch.setattr(local, "SMALL_FLEET", 0)
    for workers in (1, 2):
        out = tmp_path / str(workers)
        infer_fleet(layouts["months"], systems_file, out, **SMALL, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_killed_worker_costs_what_it_was_working_on_and_no_more(
    layouts, systems_file, tmp_path, monkeypatch
):
    monkeypatch.setattr(local, "SMALL_FLEET", 0)
    given, killed = (layouts["files"], systems_file), []

    def tell(progress):
        if not killed:
            (worker, *_) = multiprocessing.active_children()
            killed.append(worker.pid)
            os.kill(worker.pid, signal.SIGKILL)
            # as a worker leaves that was killed while it wrote
            (tmp_path / "out" / "estimates" / ".part-00005.parquet.0123abcd.part").touch()

    infer_fleet(*given, tmp_path / "alone", **SMALL, workers=1)
    infer_fleet(*given, tmp_path / "out", **SMALL, workers=2, tell=tell)
    assert len(killed) == 1
    assert contents(tmp_path / "out") == contents(tmp_path / "alone")
    assert multiprocessing.active_children() == []


def test_what_was_being_worked_on_is_begun_again_in_a_new_pool(job):
    found = list(run_in_pool(job, parts(6), workers=1, work=fleet_workers.die_once))
    assert sorted(result.number for result in found) == list(range(6))
    assert (Path(job.out) / "died").exists()
    assert os.getpid() not in {result.refused for result in found}


def test_a_part_that_ends_every_worker_is_given_up_with_a_sentence(job, monkeypatch):
    monkeypatch.setattr(local, "_MOST_LOSSES", 2)
    with pytest.raises(SunveilError, match="ends every worker that takes it"):
        list(run_in_pool(job, parts(3), workers=1, work=fleet_workers.die))


def test_what_goes_wrong_in_a_worker_is_said_by_the_run(job):
    with pytest.raises(SourceError, match="part 0 is not there"):
        list(run_in_pool(job, parts(1), workers=1, work=fleet_workers.fail))
    assert multiprocessing.active_children() == []


def test_a_small_fleet_or_part_is_worked_on_in_this_process(job, monkeypatch):
    def no_pool(*_, **__):
        raise AssertionError("a pool was started")

    monkeypatch.setattr(local, "run_in_pool", no_pool)
    monkeypatch.setattr(local, "run_part", lambda job, part: part.number)
    assert list(run_local(job, parts(3), workers=2)) == [0, 1, 2]
    monkeypatch.setattr(local, "SMALL_FLEET", 0)
    assert list(run_local(job, parts(3), workers=1)) == [0, 1, 2]
    assert list(run_local(job, parts(1), workers=2)) == [0]
    monkeypatch.setattr(local, "compile_before_workers", lambda **_: None)
    with pytest.raises(AssertionError, match="a pool was started"):
        run_local(job, parts(2), workers=2)


def test_a_worker_of_another_version_is_refused(job):
    with pytest.raises(SunveilError, match="another version of Sunveil"):
        context_of(replace(job, identity=("0.0.0", "another engine")))


SCRIPT = """
import signal, sys, time
from pathlib import Path
from types import ModuleType


from sunveil.inference.fleet_run import infer_fleet

from sunveil.inference import workers as local

local.SMALL_FLEET = 0
local.compile_before_workers = lambda **_: None  # these tests' own process has compiled them
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
{guard}
    infer_fleet(*sys.argv[1:4], part_rows=1, workers=2, tell={tell})
"""
# in short naps: an interrupt just before a long one begins would not end it
STOPPED = (
    "lambda progress: (print(progress.done, flush=True), [time.sleep(0.1) for _ in range(10**7)])"
)


def script(path: Path, *, guard: str = 'if __name__ == "__main__":', tell: str = "None") -> Path:
    path.write_text(SCRIPT.format(guard=guard, tell=tell))
    return path


def test_a_worker_that_imports_a_script_is_ended_and_a_notebook_is_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "__mp_main__", ModuleType("__mp_main__"))
    with pytest.raises(SystemExit):
        refuse_unguarded()
    # multiprocessing knows the script by a second name
    monkeypatch.setitem(sys.modules, "__mp_main__", ModuleType("__main__"))
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    refuse_unguarded()


def test_a_script_without_a_guard_is_worked_on_by_itself(layouts, systems_file, tmp_path):
    path = script(tmp_path / "unguarded.py", guard="if True:")
    command = [sys.executable, path, layouts["files"], systems_file, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "no worker process could be started" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(list((tmp_path / "out" / "estimates").iterdir())) == 6


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(number, layouts, systems_file, tmp_path):
    path = script(tmp_path / "stopped.py", tell=STOPPED)
    command = [sys.executable, path, layouts["files"], systems_file, tmp_path / "out"]
    # in a group of its own, which a terminal interrupts as a whole
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as run:
        try:
            assert run.stdout.readline() == "1\n"
            assert len(members(run.pid)) > 1
            (os.killpg if number == signal.SIGINT else os.kill)(run.pid, number)
            ends = time.monotonic() + 120.0
            while members(run.pid):
                assert time.monotonic() < ends
                time.sleep(0.05)
        finally:
            run.kill()  # what has not ended would be waited for
        run.stdout.close()
        said = run.stderr.read()
    assert said.count("Traceback") == (1 if number == signal.SIGINT else 0)


def members(group: int) -> list[int]:
    """Return the processes of a group that run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry.name))
    return found


COMPILED = """
import sys
from sunveil.inference.fleet_run import infer_fleet
from sunveil.fleet import unusual_records as inspect, blocks as scatter, survey
from sunveil.inference.workers import compile_before_workers

def compiled():
    every = [each for module in (inspect, scatter, survey) for each in vars(module).values()]
    return {each: len(each.signatures) for each in every if hasattr(each, "signatures")}

compile_before_workers()
before = compiled()
for number, fleet in enumerate(sys.argv[3:]):
    infer_fleet(fleet, sys.argv[1], f"{sys.argv[2]}/{number}", workers=1)
print(len(before), [each.__name__ for each, count in compiled().items() if count != before[each]])
"""


def test_workers_have_nothing_left_to_compile(layouts, systems_file, tmp_path):
    fleets = [layouts[name] for name in ("files", "months", "lists", "timed lists")]
    done = subprocess.run(
        [sys.executable, "-c", COMPILED, systems_file, tmp_path, *fleets],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    kernels, found = done.stdout.split(maxsplit=1)
    assert int(kernels) > 10
    assert found == "[]\n"
