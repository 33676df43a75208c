"""Several processes over one database: one charges and draws, the others pass questions on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from service_makers import ANSWER_SECONDS, Load, add_dataset, key, new_token, quick_settings
from sqlalchemy import text

from sunveil.errors import ParameterError
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.records import Question
from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.units import System
from sunveil.service.app import open_service
from sunveil.service.leading import LEADER_LOCK, SteppedDown
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.releases import StoredRequest, begin_request, find_request, open_requests

ASK = "/datasets/roofs/releases"
TOTALS = {"kind": "totals", "epsilon": 0.1, "group_by": "feeder"}


def until(happens):
    """Wait until something is so."""
    for _ in range(6000):
        if happens():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


@pytest.fixture
def two(serve, database, tmp_path):
    """Return the leader of two services over one database, the other one, and a token."""
    first = serve(tmp_path / "data", database=database, workers=2)
    add_dataset(first.service, epsilon=3.0)
    until(lambda: first.service.leadership.leading)
    second = serve(tmp_path / "data", database=database, workers=2)
    return first, second, new_token(first.service)


def test_several_workers_over_a_file_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="PostgreSQL"):
        ServiceSettings(data=tmp_path, workers=2)


def test_who_does_not_lead_passes_questions_on_and_answers_as_the_leader_does(two):
    leader, follower, token = two
    api, mine = follower.client(token), key()
    answer = api.post(ASK, json=TOTALS, headers=mine)
    assert answer.status_code == 201
    assert not follower.service.leadership.leading
    guarantee = Guarantee(System(), 0.1, 0.0, "docs/proofs/counts.md")
    question = Question("totals", {"number": 1}, "discrete Laplace", guarantee)
    with pytest.raises(SteppedDown):
        follower.service.ledger.charge("roofs", question)
    # again, under the same key and another, there and at the leader
    for each in (api, leader.client(token)):
        for headers in (mine, key()):
            again = each.post(ASK, json=TOTALS, headers=headers)
            assert (again.status_code, again.content) == (200, answer.content)
    other = api.post(ASK, json={**TOTALS, "epsilon": 0.2}, headers=mine)
    assert other.json()["type"] == "urn:sunveil:problem:key-reused"
    dear = api.post(ASK, json={**TOTALS, "epsilon": 9.0}, headers=key())
    assert dear.status_code == 403
    assert dear.json()["remaining"] == pytest.approx(2.9)
    assert leader.service.ledger.verify("roofs").charges == 1


def test_an_error_inside_the_leader_is_told_by_the_same_number(two, monkeypatch, caplog):
    def fail(*_, **__):
        raise RuntimeError("secret-7 has 4.2 kW")

    _, follower, token = two
    follower.service.broker.warm()
    api, mine = follower.client(token), key()
    with monkeypatch.context() as patch:
        patch.setattr("sunveil.publish.tables.fleet_tables", fail)
        answer = api.post(ASK, json=TOTALS, headers=mine)
    assert answer.json()["type"] == "urn:sunveil:problem:internal"
    assert answer.json()["id"] in caplog.text
    assert "secret" not in answer.text
    assert api.post(ASK, json=TOTALS, headers=mine).status_code == 201


def test_a_draw_is_held_from_when_its_request_came_in_elsewhere(serve, database, monkeypatch):
    pads = dict.fromkeys(ANSWER_SECONDS, 0.5)
    first = serve(database=database, workers=2, answer_seconds=pads)
    add_dataset(first.service)
    until(lambda: first.service.leadership.leading)
    second = serve(first.service.settings.data, database=database, workers=2, answer_seconds=pads)
    api = second.client(new_token(first.service))
    second.service.broker.warm()
    held = []
    monkeypatch.setattr(
        "sunveil.service.answering.broker.draws_held",
        lambda started, pad: held.append((started, pad)) or threading.Lock(),
    )
    begun = time.monotonic()
    assert api.post(ASK, json=TOTALS, headers=key()).status_code == 201
    ((started, pad),) = held
    assert pad == 0.5
    assert begun < started < begun + 0.4  # by the clock of the other, not when it was passed on
    took = (time.monotonic() - begun) / 0.5
    assert took >= 1.0


def test_when_the_leader_is_gone_the_other_takes_up_what_was_paid_and_puts_aside_the_rest(
    two, monkeypatch
):
    leader, follower, token = two
    store = leader.service.store

    def fail(*_, **__):
        raise RuntimeError

    # paid and not drawn: as if the leader were killed between both
    with monkeypatch.context() as patch:
        patch.setattr("sunveil.service.answering.broker.fail_request", lambda *_: None)
        patch.setattr("sunveil.publish.tables.fleet_tables", fail)
        leader.client(token).post(ASK, json=TOTALS, headers=key())
    # not paid, by somebody who has gone
    orphan = StoredRequest("ann", "k" * 20, "roofs", '{"epsilon":0.3,"kind":"quantiles"}')
    with store.changing() as connection:
        begin_request(connection, orphan)
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_locks"
                f" WHERE locktype = 'advisory' AND objid = {LEADER_LOCK}"
            )
        )
    with pytest.raises(SteppedDown):
        leader.service.leadership.confirm()
    until(lambda: leader.service.leadership.leading or follower.service.leadership.leading)
    found = follower.service

    def over():
        with found.store.reading() as connection:
            return not open_requests(connection)

    until(over)
    with found.store.reading() as connection:
        assert find_request(connection, orphan).ending == '{"kind": "interrupted"}'
    verdict = found.ledger.verify("roofs")
    assert (verdict.holds, verdict.charges, verdict.answered) == (True, 1, 1)
    # and whoever asks now is answered
    assert follower.client(token).post(ASK, json=TOTALS, headers=key()).status_code == 200


def test_questions_that_wait_while_there_is_no_leader_are_answered_by_the_next(two):
    leader, follower, token = two
    with ThreadPoolExecutor(4) as pool:
        asked = [{**TOTALS, "epsilon": 0.1 + number / 100} for number in range(4)]
        leader.service.leadership.close()
        api = follower.client(token)
        answers = list(pool.map(lambda each: api.post(ASK, json=each, headers=key()), asked))
    assert [answer.status_code for answer in answers] == [201] * 4
    assert follower.service.ledger.verify("roofs").charges == 4


def workers_of(parent):
    """Return the process ids of a service's workers."""
    listed = subprocess.run(
        ["ps", "--ppid", str(parent), "-o", "pid="], capture_output=True, text=True, check=False
    )
    return {int(each) for each in listed.stdout.split()}


def test_workers_that_are_killed_are_replaced_and_lose_no_answer(database, tmp_path):
    settings = quick_settings(tmp_path / "data", database=database)
    service = open_service(settings)
    add_dataset(service, epsilon=100.0)
    token = new_token(service)
    service.close()
    options = ["--data", settings.data, "--database", database, "--port", "0", "--workers", "2"]
    command = [sys.executable, "-u", "-m", "sunveil", "serve", *map(str, options)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        said = "".join(process.stdout.readline() for _ in range(3))
        base = re.search(r"Curators: (http\S+)/curator", said)[1]
        load = Load(base, token)
        load.start()
        until(lambda: len(load.answers) >= 2)
        first = workers_of(process.pid)
        for worker in first:  # one of them leads
            os.kill(worker, signal.SIGKILL)
            before = len(load.answers)
            until(lambda before=before: len(load.answers) >= before + 2)
        load.finish()
        last = workers_of(process.pid)
        assert len(first) == len(last) == 2
        assert not first & last
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
    assert process.returncode == 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in last)
    assert load.strange == []
    with Ledger(database) as ledger:
        verdict = ledger.verify("roofs")
    assert verdict.holds, verdict.faults
    assert verdict.charges == verdict.answered == len(load.answers)
