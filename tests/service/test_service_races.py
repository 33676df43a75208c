from __future__ import annotations

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier

import httpx
import pytest
from service_makers import (
    EPSILON,
    KillableService,
    Load,
    add_dataset,
    key,
    new_token,
    quick_settings,
)

from sunveil.ledger import Ledger
from sunveil.service.app import open_service

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
