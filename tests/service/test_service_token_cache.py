"""Tokens in memory: all that are in use are looked up again by one request in a while."""

import pytest
from sqlalchemy import event

from sunveil.ledger.ledger import Ledger
from sunveil.service.store.base import Store
from sunveil.service.store.tokens import issue_token, revoke_token
from sunveil.service.token_cache import REFRESH_EVERY, TOKEN_MEMORY, TokenCache


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(tmp_path):
    Ledger(tmp_path / "ledger.db", create=True).close()
    opened = Store(str(tmp_path / "ledger.db"))
    yield opened
    opened.close()


def issue(store, count):
    with store.changing() as connection:
        return [issue_token(connection, "ann") for _ in range(count)]


def test_tokens_in_use_are_looked_up_again_by_one_query(store, clock):
    cache, tokens, asked = TokenCache(store, clock=clock), issue(store, 5), []
    for token in tokens:
        cache.look_up(token)
    event.listen(
        store.engine, "before_cursor_execute", lambda *given: asked.append(given[2].split()[0])
    )
    for _ in range(5):
        clock.now += REFRESH_EVERY
        assert cache.take_refresh()
        cache.refresh()
        assert all(cache.cached(token) is not None for token in tokens)
    assert asked.count("SELECT") == 5


def test_one_request_refreshes_and_the_others_go_on(store, clock):
    cache = TokenCache(store, clock=clock)
    assert cache.take_refresh()
    assert not cache.take_refresh()
    clock.now += REFRESH_EVERY
    assert cache.take_refresh()


def test_a_token_that_another_process_revoked_opens_nothing_after_a_second(store, clock):
    cache, (revoked, kept) = TokenCache(store, clock=clock), issue(store, 2)
    cache.look_up(revoked)
    cache.look_up(kept)
    with store.changing() as connection:
        revoke_token(connection, revoked.id)
    assert cache.cached(revoked) is not None
    cache.refresh()
    assert cache.cached(revoked) is None
    assert cache.cached(kept) is not None
    clock.now += TOKEN_MEMORY + 0.01
    assert cache.cached(kept) is None, "without a refresh, nothing is believed for longer"


def test_a_token_that_nobody_uses_is_forgotten_and_not_asked_for(store, clock):
    cache, (token,) = TokenCache(store, clock=clock), issue(store, 1)
    cache.look_up(token)
    for _ in range(2):
        cache.refresh()
        assert cache.cached(token) is not None
    clock.now += TOKEN_MEMORY + 0.01
    cache.refresh()  # it was used just before
    clock.now += TOKEN_MEMORY + 0.01
    cache.refresh()
    assert cache.cached(token) is None


def test_a_token_forgotten_while_it_is_looked_up_stays_forgotten(store, clock):
    cache, (token,) = TokenCache(store, clock=clock), issue(store, 1)
    cache.look_up(token)
    event.listen(store.engine, "after_cursor_execute", lambda *_: cache.forget(token.id))
    cache.refresh()
    assert cache.cached(token) is None
