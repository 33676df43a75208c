from __future__ import annotations

import json
import random
import threading
import time
from itertools import count

import httpx
from service_makers import KillableService, add_dataset, key, new_token, quick_settings

from sunveil.ledger.ledger import Ledger
from sunveil.service.app import open_service

KILLS, CLIENTS = 50, 4
EPSILON = 0.01


class Load:
    """Clients that ask, and ask again under the same key until they are answered."""

    def __init__(self, base: str, token: str) -> None:
        self._base, self._token = base, token
        self._over = threading.Event()
        self.answers: dict[str, bytes] = {}
        self.strange: list[tuple[int, str]] = []
        self.lost = 0
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def finish(self) -> None:
        self._over.set()
        for each in self._threads:
            each.join()

    def _ask(self, client: int) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx.Client(base_url=self._base, headers=headers, timeout=20.0) as api:
            for number in count():
                if self._over.is_set():
                    return
                clip = 1.0 + client + CLIENTS * number / 1000.0
                question = {"kind": "totals", "epsilon": EPSILON, "clip_kw": clip}
                self._until_answered(api, question, key())

    def _until_answered(
        self, api: httpx.Client, question: dict[str, object], mine: dict[str, str]
    ) -> None:
        while True:
            try:
                answer = api.post("/api/v1/datasets/roofs/releases", json=question, headers=mine)
            except httpx.TransportError:
                self.lost += 1
                time.sleep(0.01)
                continue
            if answer.status_code in (200, 201):
                self.answers[answer.json()["id"]] = answer.content
            else:
                self.strange.append((answer.status_code, answer.text))
            return


def test_killed_50_times_under_load_it_answers_nothing_uncharged_and_loses_nothing(tmp_path):
    folder = tmp_path / "data"
    service = open_service(quick_settings(folder))
    add_dataset(service, epsilon=900.0)
    token = new_token(service)
    service.close()
    # a short time for answers, so that many are given between two kills
    with KillableService(folder, pad=0.01) as killable:
        load, chance = Load(killable.base, token), random.Random(5)
        load.start()
        for _ in range(KILLS):
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
    assert len(load.answers) >= 20
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
