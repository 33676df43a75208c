from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import httpx
import pytest
from service_makers import add_dataset, key, new_token

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
