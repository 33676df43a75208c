from __future__ import annotations

from service_makers import add_dataset, key, new_token

from sunveil.cli import main

ASK = "/datasets/roofs/releases"
QUESTION = {"kind": "totals", "epsilon": 0.5}


def test_a_service_goes_on_in_postgresql_with_its_tokens_releases_and_spending(serve, database):
    running = serve()
    add_dataset(running.service, epsilon=1.0)
    token = new_token(running.service)
    first = running.client(token).post(ASK, json=QUESTION, headers=key())
    assert first.status_code == 201
    settings = running.service.settings
    running.stop()
    assert main(["ledger", "move", "--ledger", settings.where, "--to", database]) == 0
    moved = serve(settings.data, database=database)
    api = moved.client(token)
    again = api.post(ASK, json=QUESTION, headers=key())
    assert (again.status_code, again.content) == (200, first.content)
    assert api.post(ASK, json={**QUESTION, "epsilon": 0.6}, headers=key()).status_code == 403
    assert api.post(ASK, json={**QUESTION, "epsilon": 0.4}, headers=key()).status_code == 201
    # the old database shows what there was, and charges nothing
    old = serve(settings.data)
    assert old.client(token).post(ASK, json=QUESTION, headers=key()).status_code == 200
    refused = old.client(token).post(ASK, json={**QUESTION, "epsilon": 0.1}, headers=key())
    assert refused.status_code == 503
