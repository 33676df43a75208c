"""``sunveil serve``, as it is started by hand."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest
from service_makers import PASSWORD, key, new_curator, post

from sunveil.cli import main
from sunveil.ledger import Promise
from sunveil.privacy import System
from sunveil.service.app import bind, open_service
from sunveil.service.demo_data import NAME, make_demo, telling
from sunveil.service.settings import ServiceSettings

HEAVY = {"pandas", "pvlib", "opendp", "scipy", "numba", "matplotlib", "plotly", "duckdb"}


@contextmanager
def serving(*options):
    """Run the command, and yield what it says and its process."""
    command = [sys.executable, "-u", "-m", "sunveil", "serve", "--port", "0", *map(str, options)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def links(process, count):
    said = [process.stdout.readline() for _ in range(count)]
    return dict(re.findall(r"(\w+): (http\S+)", "".join(said))), said


def test_the_command_serves_until_it_is_interrupted_and_sets_up_its_first_curator(tmp_path):
    with serving("--data", tmp_path / "data") as process:
        found, _ = links(process, 3)
        assert set(found) == {"one", "Curators", "Analysts"}
        with httpx.Client(timeout=60.0) as client:
            answer = post(client, found["one"], name="cora", password=PASSWORD)
            assert answer.status_code == 303
            base = found["Curators"].removesuffix("/curator")
            assert client.get(f"{base}/curator").status_code == 200
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        said = process.stderr.read().strip().splitlines()
        assert [line.split()[3] for line in said] == ["account-made", "signed-in"]
    assert process.returncode in (0, 130)
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    with serving("--data", tmp_path / "data") as process:
        found, _ = links(process, 2)
        assert set(found) == {"Curators", "Analysts"}


def test_nothing_heavy_is_loaded_before_the_service_listens(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from sunveil.service.app import create_app\n"
        "from sunveil.service.settings import ServiceSettings\n"
        f"create_app(ServiceSettings(data=Path({str(tmp_path)!r}))).state.service.close()\n"
        f"print(sorted({HEAVY} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def interrupted_demo(service, said):
    """Make a demo that is interrupted as each of its steps begins, and begun again."""
    steps = []

    def say(line):
        said.append(line)
        if line[0] != " " and line not in steps:
            steps.append(line)
            raise KeyboardInterrupt

    while True:
        try:
            made = make_demo(service, say=say, systems=3)
        except KeyboardInterrupt:
            continue
        assert len(steps) == 3
        said[:] = [steps[0], *(line for line in said if line[0] == " "), *steps[1:]]
        return made


def test_the_demo_brings_up_a_fleet_also_where_it_was_interrupted(tmp_path, monkeypatch, capsys):
    # a demo stays out of the ledger that the environment names
    earnest = tmp_path / "earnest.db"
    monkeypatch.setenv("SUNVEIL_LEDGER", str(earnest))
    said, data = [], tmp_path / "data"
    service = open_service(ServiceSettings(data=data))
    made = interrupted_demo(service, said)
    (released,) = [each for each in service.ledger.entries(NAME) if each.kind == "answer"]
    assert released.place > 1
    service.close()
    assert [line.split()[0] for line in said if line[0] != " "] == [
        "Simulating", "Inferring", "Publishing",
    ]  # fmt: skip
    assert "3 systems" in said[0]
    # what is a demo is not served in earnest
    database = str(data / "sunveil.db")
    assert main(["serve", "--port", "0", "--data", str(data), "--database", database]) == 2
    assert "holds a demo" in capsys.readouterr().err
    # started again it is quick, with new credentials; over the command, as by hand
    with serving("--data", data, "--demo") as process:
        found, lines = links(process, 3)
        assert lines[0] == "Starting the service ...\n"
        token = re.search(r"token (\S+)", lines[2])[1]
        name, password = re.search(r"name (\S+)\s+password (\S+)", lines[1]).groups()
        assert (name, password != made.password, token != made.token) == (made.curator, True, True)
        base = found["Analyst"].removesuffix("/analyst/login")
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"{base}/api/v1", headers=headers, timeout=60.0) as api:
            (dataset,) = api.get("/datasets").json()["datasets"]
            assert (dataset["name"], dataset["systems"]) == (NAME, 3)
            (release,) = api.get(f"/datasets/{NAME}/releases").json()["releases"]
            assert release["kind"] == "fleet-table"
            question = {"kind": "totals", "epsilon": 1.0, "group_by": "feeder"}
            answer = api.post(f"/datasets/{NAME}/releases", json=question, headers=key())
            assert answer.status_code == 201
        with httpx.Client(base_url=base, timeout=60.0) as client:
            entered = post(client, "/curator/login", name=name, password=password)
            assert entered.headers["location"] == "/curator"
            assert client.get("/curator").status_code == 200
    assert set(found) == {"Curator", "Analyst"}
    assert not earnest.exists()


@pytest.mark.parametrize("holds", ["a file", "a curator"])
def test_a_demo_stays_out_of_what_holds_anything_else(tmp_path, capsys, holds):
    data = tmp_path / "data"
    if holds == "a file":
        data.mkdir()
        (data / "meters.csv").write_text("")
    else:
        service = open_service(ServiceSettings(data=data))
        new_curator(service)
        service.close()
    before = sorted(path.name for path in data.iterdir())
    assert main(["serve", "--port", "0", "--demo", "--data", str(data)]) == 2
    said = capsys.readouterr().err
    assert "holds something else than a demo" in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in data.iterdir()) == before


def test_whoever_waits_is_told_of_it_again_and_again():
    said, waited, before = [], threading.Event(), threading.active_count()

    def say(line):
        said.append(line)
        if len(said) == 3:
            waited.set()

    with telling(say, "Waiting", silence=0.001):
        assert waited.wait(60.0)
    assert said[:3] == ["Waiting ...", "  0 s", "  0 s"]
    assert threading.active_count() == before


def test_a_demo_whose_folder_was_removed_is_made_under_another_name(tmp_path):
    service = open_service(ServiceSettings(data=tmp_path / "one"))
    service.ledger.create_dataset(NAME, Promise(System(), 1.0))
    service.close()
    for path in (tmp_path / "one").glob("sunveil.db*"):
        path.unlink()
    service = open_service(ServiceSettings(data=tmp_path / "one"))
    made = make_demo(service, say=lambda _: None, systems=2)
    assert service.ledger.names() == [f"{NAME}-2"]
    assert made.token.startswith("sv_")
    service.close()


def test_the_folder_of_data_is_its_owners_alone(tmp_path):
    before = os.umask(0o022)
    try:
        open_service(ServiceSettings(data=tmp_path / "data")).close()
    finally:
        os.umask(before)
    for path in [tmp_path / "data", *(tmp_path / "data").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "TAKEN"], "sunveil: the service cannot listen on 127.0.0.1:"),
        (["--database", "mysql://x/y"], "PostgreSQL"),
        (["--database", "/nowhere/at/all.db"], "cannot be written"),
        (["--workers", "2"], "in PostgreSQL"),
        (["--workers", "2", "--demo"], "leave out --workers"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(tmp_path, capsys, options, words):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        given = [port if each == "TAKEN" else each for each in options]
        assert main(["serve", "--data", str(tmp_path), "--port", "0", *given]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_link_can_be_followed_as_soon_as_it_is_printed_and_small_answers_are_sent_at_once(
    tmp_path,
):
    with (
        bind(ServiceSettings(data=tmp_path, port=0)) as bound,
        socket.create_connection(bound.getsockname(), timeout=5.0) as early,
    ):
        assert early.getpeername() == bound.getsockname()
        with bound.accept()[0] as taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
