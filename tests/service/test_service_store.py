from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import inspect, text

from sunveil.errors import LedgerError, ParameterError
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.move_ledger import move_ledger
from sunveil.privacy import System
from sunveil.service.settings import ANALYST, NONE, READ
from sunveil.service.store import accounts, datasets
from sunveil.service.store.database import (
    SERVICE_TABLES,
    ReleaseRow,
    Served,
    Store,
    StoredRequest,
    insert_new,
    now,
)


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "sunveil.db")
    return request.getfixturevalue("database")


@pytest.fixture
def store(where):
    Ledger(where, create=True).close()
    found = Store(where)
    yield found
    found.close()


def test_opening_again_changes_nothing_and_the_ledger_opens_beside_it(store, where):
    before = sorted(inspect(store.engine).get_table_names())
    Store(where).close()
    with Ledger(where) as ledger:
        ledger.create_dataset("roofs", Promise(System(), 1.0))
        assert ledger.verify("roofs").holds
    assert sorted(inspect(store.engine).get_table_names()) == before


def test_tables_of_another_version_are_refused(store, where, tmp_path):
    with store.changing() as connection:
        connection.execute(text("UPDATE sunveil_service SET version = 2"))
    with pytest.raises(LedgerError, match="another version of Sunveil made the service's tables"):
        Store(where)
    # they are not moved either, and the ledger stays in use
    with pytest.raises(LedgerError, match="another version of Sunveil made the service's tables"):
        move_ledger(where, tmp_path / "new.db", beside=[SERVICE_TABLES])
    assert not (tmp_path / "new.db").exists()
    with Ledger(where) as ledger:
        ledger.create_dataset("roofs", Promise(System(), 1.0))


def test_many_make_the_tables_at_once(where):
    Ledger(where, create=True).close()
    start = threading.Barrier(8)

    def make(number):
        start.wait()
        made = Store(where)
        with made.changing() as connection:
            accounts.issue_token(connection, f"analyst {number}")
        made.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(8)))
    made = Store(where)
    with made.reading() as connection:
        assert len(accounts.token_rows(connection)) == 8
    made.close()


def test_a_change_that_fails_leaves_nothing(store):
    def fail():
        with store.changing() as connection:
            accounts.issue_token(connection, "ann")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as connection:
        assert accounts.token_rows(connection) == []


def test_rows_are_new_once_and_found(store, where):
    release = ReleaseRow(
        "r1", "roofs", "totals", "Totals", 0.5, 0.5, "2026-01-01", "q", {"a": [1, None]}
    )
    with Ledger(where) as ledger:
        ledger.create_dataset("roofs", Promise(System(), 1.0))
    with store.changing() as connection:
        again = (replace(release, body={"a": []}), replace(release, id="r2"))
        found = [insert_new(connection, each) for each in (release, *again)]
        assert found == [True, False, False]  # r2 answers the question of r1
        found = datasets.find_release(connection, "r1")
        assert (found, found.body) == (release, {"a": [1, None]})
        assert datasets.find_release(connection, "r2") is None
        assert datasets.releases_of(connection, "roofs") == [release]
        assert datasets.releases_of(connection, "roofs", limit=0) == []
        assert datasets.releases_of(connection, "x") == []
        assert datasets.find_promised(connection, "roofs").name == "roofs"
        assert datasets.find_promised(connection, "x") is None
        accounts.set_fact(connection, "demo", "1")
        accounts.set_fact(connection, "demo", "2")
        assert (accounts.fact(connection, "demo"), accounts.fact(connection, "x")) == ("2", None)
        who = ("https://id", "7")
        sue = accounts.add_account(connection, "sue", role=ANALYST, subject=who)
        accounts.follow_provider(connection, sue, role=ANALYST, analyst="sue", scope=READ)
        assert accounts.account_of_subject(connection, *who).scope == READ
        accounts.withdraw_role(connection, sue)
        assert accounts.account_of_subject(connection, *who).role == NONE
        assert accounts.account_of_subject(connection, "https://id", "8") is None


def test_a_key_stands_for_what_was_asked_under_it_first_until_that_is_dropped(store):
    first, other = (StoredRequest("ann", "k", "roofs", text) for text in ("{}", "[]"))
    with store.changing() as connection:
        assert datasets.begin_request(connection, first) == first
        assert datasets.begin_request(connection, other) == first
        assert datasets.open_requests(connection, before=now(1.0)) == [first]
        assert datasets.open_requests(connection, before=now(-60.0)) == []
        datasets.drop_request(connection, first)
        assert datasets.open_requests(connection, before=now(1.0)) == []
        assert datasets.begin_request(connection, other) == other
        datasets.end_request(connection, other, "r1")
        datasets.drop_request(connection, other)
        assert datasets.begin_request(connection, first) == replace(other, release="r1")
        assert datasets.open_requests(connection, before=now(1.0)) == []


@pytest.mark.parametrize("name", ["", "Roofs", "a/b", "..", "-a", "a-", "a" * 61, "ä"])
def test_a_name_that_cannot_stand_in_a_link_is_refused(name):
    with pytest.raises(ParameterError, match="small letters"):
        Served(name, "Roofs", "roofs")


def test_kinds_of_question_follow_from_the_files_that_are_there():
    def kinds(**more):
        return Served("roofs", "Roofs", "roofs", **more).kinds

    fleet = ("fleet-table", "totals", "quantiles", "synthetic")
    assert kinds() == ()
    assert kinds(estimates="e.json") == fleet
    assert kinds(estimates="e.json", meters="m.csv") == fleet
    assert kinds(meters="m.csv", latitude=0.0, longitude=0.0) == ("systems",)
    placed = {"estimates": "e.json", "meters": "m.csv", "extra": {"systems_table": "s.csv"}}
    assert kinds(**placed, systems=2000) == (*fleet, "systems")
    assert kinds(**placed, systems=2001) == fleet
