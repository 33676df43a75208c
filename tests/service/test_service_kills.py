from __future__ import annotations

import json
import random
import time
from itertools import count

import httpx
from service_makers import EPSILON, KillableService, Load, add_dataset, new_token, quick_settings

from sunveil.ledger import Ledger
from sunveil.service.app import open_service

KILLS, ANSWERS = 15, 10


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
