from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier

import httpx
import pytest
from service_makers import (
    EPSILON,
    KillableService,
    Killed,
    Load,
    add_dataset,
    held_draw,
    key,
    links,
    new_token,
    quick_settings,
    raises,
    serving,
    wait_for,
)
from sqlalchemy import create_engine, text

from sunveil.ledger import Ledger
from sunveil.ledger.ledger_database import open_engine
from sunveil.service.app import open_service
from sunveil.service.questions import TotalsQuestion

KILLS = 15
ANSWERS = 10
CLIENTS = 64
ASK = "/datasets/roofs/releases"


def race(running, tokens):
    """Ask 64 different questions in the same instant, and return the statuses."""
    start = Barrier(CLIENTS)

    def ask(number):
        headers = {"Authorization": f"Bearer {tokens[number]}", **key()}
        question = {"kind": "totals", "epsilon": 0.1, "clip_kw": 10.0 + number}
        with httpx.Client(base_url=f"{running.base}/api/v1", headers=headers, timeout=120.0) as api:
            api.get("/me")
            start.wait()
            return api.post(ASK, json=question)

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(ask, range(CLIENTS)))


def check(running, answers, *, granted):
    assert sorted({answer.status_code for answer in answers}) == [201, 403]
    assert sum(answer.status_code == 201 for answer in answers) == granted
    for answer in answers:
        if answer.status_code == 403:
            assert answer.json()["type"] == "urn:sunveil:problem:over-budget"
    verdict = running.service.ledger.verify("roofs")
    assert verdict.holds, verdict.faults
    assert verdict.charges == verdict.answered == granted


def test_64_clients_racing_for_the_last_of_a_promise_are_granted_exactly_that(serve, database):
    running = serve(database=database)
    shares = {f"analyst {number}": 1.0 for number in range(CLIENTS)}
    add_dataset(running.service, epsilon=1.05, shares=shares)
    answers = race(running, [new_token(running.service, name) for name in shares])
    check(running, answers, granted=10)
    assert running.service.ledger.dataset("roofs").spent == pytest.approx(1.0)


def test_64_clients_racing_for_one_share_are_granted_exactly_that(serve):
    running = serve()
    add_dataset(running.service, epsilon=4.0, shares={"ann": 0.75})
    answers = race(running, [new_token(running.service)] * CLIENTS)
    check(running, answers, granted=7)


def test_killed_often_under_load_it_answers_nothing_uncharged_and_loses_nothing(tmp_path):
    folder = tmp_path / "data"
    service = open_service(quick_settings(folder))
    add_dataset(service, epsilon=900.0)
    token = new_token(service)
    service.close()
    # a short time for answers, so that many are given between two kills
    with KillableService(folder, pad=0.01) as killable:
        load, chance = Load(killable.base, token), random.Random(5)
        load.start()
        for number in count():
            # on a busy machine few are answered between two kills
            if number >= KILLS and len(load.answers) >= ANSWERS:
                break
            killable.start()
            time.sleep(chance.uniform(0.0, 0.25))
            killable.kill()
        killable.start()
        load.finish()
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"{killable.base}/api/v1", headers=headers, timeout=20.0) as api:
            served = {name: api.get(f"/releases/{name}").content for name in load.answers}
        killable.kill()
    assert load.strange == []
    assert load.lost >= KILLS / 2
    assert len(load.answers) >= ANSWERS
    # nothing that was answered is lost, or has become another answer
    assert {name: json.loads(body) for name, body in load.answers.items()} == {
        name: json.loads(body) for name, body in served.items()
    }
    with Ledger(folder / "sunveil.db") as ledger:
        verdict = ledger.verify("roofs")
        assert verdict.holds, verdict.faults
        # every question was asked until it was answered: one charge each, and none unanswered
        assert verdict.charges == verdict.answered == len(load.answers)
        assert round(ledger.dataset("roofs").spent / EPSILON) == len(load.answers)


ASK = "/datasets/roofs/releases"
TOTALS = {"kind": "totals", "epsilon": 0.1, "group_by": "feeder"}


@pytest.fixture
def two(serve, database, tmp_path):
    """Return two services over one database, and a token."""
    found = [serve(tmp_path / "data", database=database, workers=2) for _ in range(2)]
    add_dataset(found[0].service, epsilon=3.0)
    return *found, new_token(found[0].service)


def test_whichever_worker_is_asked_the_answer_and_its_cost_are_the_same(two):
    first, second, token = two
    api, mine = first.client(token), key()
    answer = api.post(ASK, json=TOTALS, headers=mine)
    assert answer.status_code == 201
    for each in (api, second.client(token)):
        for headers in (mine, key()):
            again = each.post(ASK, json=TOTALS, headers=headers)
            assert (again.status_code, again.content) == (200, answer.content)
    api = second.client(token)
    other = api.post(ASK, json={**TOTALS, "epsilon": 0.2}, headers=mine)
    assert other.json()["type"] == "urn:sunveil:problem:key-reused"
    dear = api.post(ASK, json={**TOTALS, "epsilon": 9.0}, headers=key())
    assert dear.status_code == 403
    assert dear.json()["remaining"] == pytest.approx(2.9)
    assert first.service.ledger.verify("roofs").charges == 1


def test_the_same_question_to_two_workers_at_once_is_drawn_once(two, monkeypatch):
    first, second, token = two
    for each in (first, second):
        each.service.broker.warm()
    mine, apis = key(), [first.client(token), second.client(token), second.client(token)]
    with held_draw(monkeypatch) as held, ThreadPoolExecutor(4) as pool:
        found = [pool.submit(apis[0].post, ASK, json=TOTALS, headers=mine)]
        assert held.drawing.wait(60.0)
        found += [
            pool.submit(api.post, ASK, json=TOTALS, headers=headers)
            for api, headers in zip(apis[1:], (mine, key()), strict=True)
        ]
        # recovery takes the turn of whoever draws for cut short, and waits for it
        found.append(pool.submit(second.service.broker.recover, after=-60.0))
        time.sleep(0.2)
        held.go_on.set()
        answers = [each.result() for each in found[:3]]
        found[3].result()
    assert [each.status_code for each in answers] == [201, 200, 200]
    assert len({each.content for each in answers}) == len(held.drawn) == 1
    verdict = first.service.ledger.verify("roofs")
    assert (verdict.holds, verdict.charges, verdict.answered) == (True, 1, 1)


def test_another_worker_takes_up_what_was_paid_and_leaves_alone_what_was_not(two, monkeypatch):
    first, second, token = two

    die = raises(Killed())
    first.service.broker.warm()
    with monkeypatch.context() as patch:
        steps = ("publish.fleet_tables.fleet_tables", "ledger.ledger.charge_question")
        for name, epsilon in zip(steps, (0.1, 0.2), strict=True):
            patch.setattr(f"sunveil.{name}", die)
            asked = TotalsQuestion(**{**TOTALS, "epsilon": epsilon})
            with pytest.raises(Killed):
                first.service.broker.ask("roofs", asked, analyst="ann", key=f"{epsilon}" * 8)
    ledger = first.service.ledger
    assert len(ledger.unanswered("roofs")) == 1
    second.service.broker.recover(after=0.0)
    verdict = ledger.verify("roofs")
    assert (verdict.holds, verdict.charges, verdict.answered) == (True, 1, 1)
    assert ledger.unanswered("roofs") == frozenset()
    # and whoever asks now is answered, under the key that is still theirs too
    api = second.client(token)
    assert api.post(ASK, json=TOTALS, headers=key()).status_code == 200
    mine, other = {"Idempotency-Key": "0.2" * 8}, {**TOTALS, "epsilon": 0.2}
    assert api.post(ASK, json=other, headers=mine).status_code == 201


def test_one_of_several_watches_and_another_when_it_is_gone(serve, database, tmp_path, monkeypatch):
    monkeypatch.setattr("sunveil.service.app.JOBS_PAUSE", 0.01)
    looked = []
    monkeypatch.setattr("sunveil.service.app.update_states", lambda service: looked.append(service))
    first = serve(tmp_path / "data", database=database, workers=2)
    wait_for(lambda: len(looked) >= 2)
    second = serve(tmp_path / "data", database=database, workers=2)
    time.sleep(0.1)
    assert second.service not in looked
    assert second.client().get("/readyz").text == "ledger: ok\njob runner: ok\n"
    first.server.should_exit = True
    wait_for(lambda: second.service in looked)


def workers_of(parent):
    """Return the process ids of a service's workers that are up: they have an event loop."""
    listed = subprocess.run(
        ["pgrep", "-P", str(parent), "-f", "spawn_main"],
        capture_output=True,
        text=True,
        check=False,
    )
    return {each for each in map(int, listed.stdout.split()) if _is_up(each)}


def _is_up(worker):
    try:
        links = [os.readlink(each) for each in Path(f"/proc/{worker}/fd").iterdir()]
    except OSError:
        return False
    return "anon_inode:[eventpoll]" in links


def end_all_connections(database):
    """Have the server end all connections, as if it were started anew."""
    engine = create_engine(open_engine(database).url)
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        )
    engine.dispose()


def counted(base):
    """Return how many questions all workers say that they have taken."""
    said = httpx.get(f"{base}/metrics", timeout=60.0).text
    asked = re.findall(
        r'^sunveil_request_seconds_count\{.*method="POST".*\} (\S+)$', said, re.MULTILINE
    )
    return sum(map(float, asked))


def test_workers_and_connections_that_are_killed_lose_no_answer(database, tmp_path):
    settings = quick_settings(tmp_path / "data", database=database)
    service = open_service(settings)
    add_dataset(service, epsilon=100.0)
    token = new_token(service)
    service.close()
    options = ["--data", settings.data, "--database", database, "--workers", "2"]
    with serving(*options, stderr=subprocess.DEVNULL, last=signal.SIGTERM) as process:
        base = links(process, 3)[0]["Curators"].removesuffix("/curator")
        load = Load(base, token)
        load.start()
        try:
            wait_for(lambda: len(load.answers) >= 2)
            before = counted(base)
            wait_for(lambda: len(workers_of(process.pid)) == 2)
            first = workers_of(process.pid)
            killed = max(first)
            os.kill(killed, signal.SIGKILL)
            for _ in range(2):
                more = len(load.answers) + 3
                wait_for(lambda more=more: len(load.answers) >= more)
                end_all_connections(database)
            # replaced within a minute: uvicorn waits so long if it was asking how it is
            wait_for(lambda: len(workers_of(process.pid) - {killed}) == 2)
        finally:
            load.finish()
        last = workers_of(process.pid)
        assert first & last == first - {killed}
        # what the workers that are gone have counted stays counted, whoever is asked
        found = {counted(base) for _ in range(8)}
        assert len(found) == 1
        assert found.pop() > before
    assert process.returncode == 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in last)
    assert load.strange == []
    with Ledger(database) as ledger:
        verdict = ledger.verify("roofs")
        assert ledger.unanswered("roofs") == frozenset()
    assert verdict.holds, verdict.faults
    assert verdict.charges == verdict.answered == len(load.answers)
