from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from service_makers import wait_for

from sunveil.errors import ParameterError
from sunveil.service.background_jobs import (
    BackgroundJob,
    BackgroundJobs,
    JobProgress,
    JobState,
    duration,
    group_of,
    last_progress,
)

EVERY = (0, 1, 2, 3)
TIMES = {
    3: "less than a minute",
    60: "about a minute",
    100: "about 2 minutes",
    3600: "about 60 minutes",
    7200.5: "about 3 hours",
}

# Counts as far as a file called "gate" lets it, and goes on where it was.
WORK = """
import json, os, sys, time
from pathlib import Path
folder = Path(sys.argv[1])
with open(folder / "begun", "a") as begun:
    begun.write(f"{os.getpid()}\\n")
try:
    os.open(folder / "alone", os.O_CREAT | os.O_EXCL)
except FileExistsError:
    if sys.argv[2] == "careful":
        (folder / "together").touch()
done = len(os.listdir(folder / "parts"))
last = time.monotonic() + 120  # whatever becomes of the test, this ends by itself
while done < 4:
    while not (folder / f"gate{done}").exists():
        if time.monotonic() > last:
            sys.exit(3)
        time.sleep(0.005)
    (folder / "parts" / str(done)).touch()
    done += 1
    line = {"event": "progress", "done": done, "total": 4, "systems": 10 * done, "of": 40,
            "rate": 2.0, "seconds_left": 4.0 - done}
    print(json.dumps(line), flush=True)
os.unlink(folder / "alone")
"""
SERVICE = """
import sys, time
from pathlib import Path
from sunveil.service.background_jobs import BackgroundJobs
BackgroundJobs(Path(sys.argv[1])).start("infer-a", sys.argv[2:], kind="infer", about="a")
print("started", flush=True)
time.sleep(600)
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "parts").mkdir(parents=True)
    return folder


@pytest.fixture
def jobs(tmp_path: Path) -> BackgroundJobs:
    return BackgroundJobs(tmp_path / "jobs")


def command(work: Path, manner: str = "") -> list[str]:
    return [sys.executable, "-c", WORK, str(work), manner]


def open_gates(work: Path, *numbers: int) -> None:
    for number in numbers:
        (work / f"gate{number}").touch()


def wait_until_over(jobs: BackgroundJobs, job_id: str) -> BackgroundJob:
    wait_for(lambda: jobs.get(job_id).state.over)
    return jobs.get(job_id)


def begun(work: Path) -> list[int]:
    path = work / "begun"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def alive(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    # dead, though nobody has asked yet how it ended
    return status.rpartition(")")[2].split()[0] != "Z"


def test_work_that_takes_more_memory_than_it_may_fails_with_a_sentence(tmp_path):
    small = BackgroundJobs(tmp_path / "jobs", memory=300 << 20)
    takes = (
        "import sys; from sunveil import cli; cli.cli.main = lambda *_, **__: bytearray(1 << 30)"
    )
    command = [sys.executable, "-c", f"{takes}; sys.exit(cli.main([]))"]
    begin(small, command)
    ended = wait_until_over(small, "infer-a")
    assert ended.state is JobState.FAILED
    assert "takes more memory than there is" in ended.message
    # under another limit the same work goes on
    BackgroundJobs(tmp_path / "jobs", memory=4 << 30).resume("infer-a")
    assert wait_until_over(small, "infer-a").state is JobState.DONE


def test_many_who_start_at_once_start_one_process(tmp_path, work):
    ready = threading.Barrier(8)

    def one() -> None:
        mine = BackgroundJobs(tmp_path / "jobs")
        ready.wait()
        begin(mine, command(work, "careful"))
        mine.resume("infer-a")

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    open_gates(work, *EVERY)
    wait_until_over(BackgroundJobs(tmp_path / "jobs"), "infer-a")
    assert not (work / "together").exists()
    assert len(begun(work)) == 1


@pytest.mark.parametrize("milliseconds", [60, 90, 110, 130, 150, 180, 220, 300])
def test_a_service_that_is_killed_while_it_starts_work_leaves_it_whole(
    tmp_path, work, milliseconds
):
    """It was never started, or runs, or has stopped; and the next service brings it to its end."""
    doing = command(work, "careful")
    kill_service(tmp_path / "jobs", doing, milliseconds / 1000.0)
    jobs = BackgroundJobs(tmp_path / "jobs")
    begin(jobs, doing)
    jobs.resume("infer-a")
    open_gates(work, *EVERY)
    assert wait_until_over(jobs, "infer-a").state is JobState.DONE
    assert not (work / "together").exists()
    assert len(begun(work)) == 1


@pytest.mark.parametrize("victims", ["command", "runner and command"])
def test_work_whose_process_died_has_stopped_and_goes_on_where_it_was(
    jobs, tmp_path, work, victims
):
    begin(jobs, command(work))
    open_gates(work, 0, 1)
    wait_for(lambda: len(list((work / "parts").iterdir())) == 2)
    if victims == "command":
        os.kill(begun(work)[0], signal.SIGKILL)
    else:
        os.killpg(group_of(tmp_path / "jobs" / "infer-a"), signal.SIGKILL)
    assert wait_until_over(jobs, "infer-a").state is JobState.STOPPED
    resumed = jobs.resume("infer-a")
    assert (resumed.state, resumed.runs) == (JobState.RUNNING, 2)
    open_gates(work, 2, 3)
    assert wait_until_over(jobs, "infer-a").state is JobState.DONE
    assert len(begun(work)) == 2
    assert len(list((work / "parts").iterdir())) == 4


def test_a_command_that_outlives_its_runner_is_still_the_work(jobs, tmp_path, work):
    begin(jobs, command(work))
    wait_for(lambda: bool(begun(work)))
    os.kill(group_of(tmp_path / "jobs" / "infer-a"), signal.SIGKILL)
    assert jobs.get("infer-a").state is JobState.RUNNING
    assert jobs.resume("infer-a").runs == 1
    open_gates(work, *EVERY)
    # nobody saw how it ended, so it is run again, and finds that nothing is left to do
    assert wait_until_over(jobs, "infer-a").state is JobState.STOPPED
    jobs.resume("infer-a")
    assert wait_until_over(jobs, "infer-a").state is JobState.DONE


@pytest.mark.parametrize("deaf", [False, True], ids=["obedient", "deaf"])
def test_cancelled_work_ends_and_can_be_taken_up_again(tmp_path, work, deaf):
    jobs = BackgroundJobs(tmp_path / "jobs", cancel_seconds=0.5 if deaf else 30.0)
    doing = command(work)
    if deaf:
        doing[2] = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + WORK
    begin(jobs, doing)
    wait_for(lambda: bool(begun(work)))
    assert jobs.cancel("infer-a").state is JobState.CANCELLED
    assert not alive(begun(work)[0])
    open_gates(work, *EVERY)
    assert jobs.resume("infer-a").state is JobState.RUNNING
    assert wait_until_over(jobs, "infer-a").state is JobState.DONE


def test_running_work_cannot_be_removed_and_other_work_can(jobs, work, tmp_path):
    begin(jobs, command(work))
    with pytest.raises(ParameterError, match="cancel it before"):
        jobs.remove("infer-a")
    # cancelled in the instant it is started
    assert jobs.cancel("infer-a").state is JobState.CANCELLED
    jobs.remove("infer-a")
    assert jobs.get("infer-a") is None
    assert list((tmp_path / "jobs").iterdir()) == []
    with pytest.raises(ParameterError, match="no such job"):
        jobs.resume("infer-a")


def test_a_line_that_is_still_being_written_is_not_read(tmp_path):
    path = tmp_path / "progress.jsonl"
    whole = '{"event": "progress", "done": 1, "total": 9}\n'
    path.write_text(whole + "words\n" + '{"event": "progress", "done": 2, "total"')
    assert last_progress(path) == JobProgress(1, 9)
    path.write_text(whole * 5000 + '{"event": "summary", "done": 3, "total": 9}\n')
    assert last_progress(path) == JobProgress(1, 9)
    assert last_progress(tmp_path / "none") is None


def begin(jobs: BackgroundJobs, doing: list[str], name: str = "infer-a") -> BackgroundJob:
    return jobs.start(name, doing, kind="infer", about="a")


def kill_service(folder: Path, doing: list[str], seconds: float | None = None) -> None:
    """Have a service of its own start work, and kill it after a while, or when it has started."""
    service = subprocess.Popen(
        [sys.executable, "-c", SERVICE, str(folder), *doing],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with service:
        if seconds is None:
            assert service.stdout.readline() == b"started\n"
        else:
            time.sleep(seconds)
        os.killpg(service.pid, signal.SIGKILL)


def test_a_service_that_is_killed_leaves_its_work_running_and_the_next_one_finds_it(tmp_path, work):
    kill_service(tmp_path / "jobs", command(work))
    jobs = BackgroundJobs(tmp_path / "jobs")
    assert [job.state for job in jobs.all("a")] == [JobState.RUNNING]
    # and the same work is not started a second time
    assert begin(jobs, command(work)).state is JobState.RUNNING
    assert jobs.resume("infer-a").runs == 1
    open_gates(work, *EVERY)
    assert wait_until_over(jobs, "infer-a").state is JobState.DONE
    assert begin(jobs, command(work)).state is JobState.DONE
    assert len(begun(work)) == 1


def test_work_that_fails_or_cannot_be_started_says_its_own_sentence_and_nothing_of_its_log(jobs):
    told = "reading 17.25 kW\\nsunveil: the table has no column x\\n17.25\\n"
    fails = [sys.executable, "-c", f"import sys; sys.stderr.write('{told}'); exit(2)"]
    begin(jobs, fails, "fails")
    failed = wait_until_over(jobs, "fails")
    assert (failed.state, failed.message) == (JobState.FAILED, "the table has no column x")
    assert jobs.cancel("fails").state is JobState.FAILED
    begin(jobs, [sys.executable, "-c", "1 / 0"], "silent")
    silent = wait_until_over(jobs, "silent")
    assert "ended with code 1" in silent.message
    assert "Zero" not in json.dumps(silent.to_dict())
    jobs.start("nothing", ["/there/is/nothing/here"], kind="infer", about="b")
    assert wait_until_over(jobs, "nothing").state is JobState.FAILED
    assert [job.job_id for job in jobs.all()] == ["nothing", "silent", "fails"]
    assert [job.job_id for job in jobs.all("a")] == ["silent", "fails"]
    for name in ("", "..", "a/b", "A", ".new-x", "a" * 101, "a\n"):
        with pytest.raises(ParameterError, match="small letters"):
            begin(jobs, ["true"], name)


def test_work_is_done_and_says_how_far_it_is_to_its_owner_alone(jobs, work, tmp_path):
    job = begin(jobs, command(work))
    assert (job.state, job.kind, job.about, job.runs) == (JobState.RUNNING, "infer", "a", 1)
    assert job.words == "starting"
    open_gates(work, 0, 1)
    wait_for(lambda: (found := jobs.get("infer-a").progress) is not None and found.done == 2)
    assert jobs.get("infer-a").progress == JobProgress(2, 4, 20, 40, 2.0, 2.0)
    assert jobs.get("infer-a").words == "20 of 40 systems, less than a minute left"
    open_gates(work, 2, 3)
    ended = wait_until_over(jobs, "infer-a")
    assert (ended.state, ended.progress.share, ended.message) == (JobState.DONE, 1.0, None)
    assert ended.ended_at >= ended.made_at
    folder = tmp_path / "jobs" / "infer-a"
    modes = {path.name: path.stat().st_mode & 0o077 for path in [folder, *folder.iterdir()]}
    assert set(modes.values()) == {0}
    assert {"job.json", "progress.jsonl", "log.txt", "end.json"} <= set(modes)


def test_times_are_told_in_words():
    assert {seconds: duration(seconds) for seconds in TIMES} == TIMES
