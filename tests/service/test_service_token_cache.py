"""Tokens in memory: a token that another worker revoked ends within a second."""

from __future__ import annotations

import pytest
from service_makers import add_dataset, new_token
from sqlalchemy import event

from sunveil.service.context import TOKEN_MEMORY, Tokens
from sunveil.service.passwords_and_tokens import read_token
from sunveil.service.store.accounts import revoke_token
from sunveil.service.store.database import Store


@pytest.fixture
def clock(monkeypatch):
    """Let tokens be remembered by a clock that tests move on."""
    told = [100.0]
    init = Tokens.__init__

    def made(self, store):
        init(self, store)
        self._known = type(self._known)(self._known.maxsize, self._known.ttl, lambda: told[0])

    monkeypatch.setattr(Tokens, "__init__", made)
    return told


def test_a_token_that_another_process_revoked_opens_nothing_after_a_second(clock, serve):
    running = serve()
    add_dataset(running.service)
    tokens = [new_token(running.service) for _ in range(2)]
    apis = [running.client(token) for token in tokens]
    assert [api.get("/me").status_code for api in apis] == [200, 200]
    other = Store(running.service.settings.where)
    with other.changing() as connection:
        revoke_token(connection, read_token(tokens[0]).id)
    other.close()
    clock[0] += TOKEN_MEMORY + 0.01
    assert TOKEN_MEMORY <= 1.0
    assert [api.get("/me").status_code for api in apis] == [401, 200]


def test_a_token_is_looked_up_once_a_second_and_not_for_every_request(clock, serve):
    running = serve()
    add_dataset(running.service)
    api, asked = running.api(), []

    def note(*given):
        if "service_tokens" in given[2]:
            asked.append(given[2])

    event.listen(running.service.store.engine, "before_cursor_execute", note)
    for _ in range(3):
        for _ in range(5):
            assert api.get("/me").status_code == 200
        clock[0] += TOKEN_MEMORY + 0.01
    assert len(asked) == 3


def test_a_token_that_is_revoked_here_opens_nothing_from_then_on(serve):
    running = serve()
    add_dataset(running.service)
    token = new_token(running.service)
    api = running.client(token)
    assert api.get("/me").status_code == 200
    curator = running.curator()
    page = curator.get("/curator/analysts").text
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    done = curator.post(
        "/curator/analysts/revoke", data={"csrf": csrf, "token": read_token(token).id}
    )
    assert done.status_code == 303
    assert api.get("/me").status_code == 401
