from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from service_makers import PASSWORD, quick_settings
from sqlalchemy import inspect, text

from sunveil.errors import LedgerError, ParameterError, ReleaseNotFound
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.move_ledger import move_ledger
from sunveil.ledger.statements import shares_of_analyst, shares_of_dataset
from sunveil.privacy import System
from sunveil.service.app import open_service
from sunveil.service.backup import revoke_everything
from sunveil.service.settings import ANALYST, AUDITOR, NONE, READ
from sunveil.service.store import accounts, datasets
from sunveil.service.store.database import (
    SERVICE_TABLES,
    ReleaseRow,
    Served,
    Store,
    StoredRequest,
    TokenRow,
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


def test_a_curator_has_one_account_and_a_password_that_can_be_changed(store):
    with store.changing() as connection:
        accounts.add_first_curator(connection, "cora", PASSWORD)
        first = accounts.find_account(connection, "cora").password
        with pytest.raises(ParameterError, match="already"):
            accounts.add_account(connection, "Cora", role="auditor")
        with pytest.raises(ParameterError, match="already"):
            accounts.add_first_curator(connection, "dora", PASSWORD)
        accounts.set_password(connection, "cora", PASSWORD + "!")
        assert accounts.find_account(connection, "cora").password != first
        assert accounts.find_account(connection, "dora") is None


def test_tokens_are_listed_with_what_became_of_them(store):
    with store.changing() as connection:
        one = accounts.issue_token(connection, "ann")
        accounts.issue_token(connection, "bob")
        accounts.revoke_token(connection, one.id)
        with pytest.raises(ReleaseNotFound):
            accounts.revoke_token(connection, one.id)
        (row,) = accounts.token_rows(connection, "ann")
        assert row.revoked is not None
        assert row.digest == one.digest
        assert len(accounts.token_rows(connection)) == 2
        with pytest.raises(ParameterError):
            accounts.issue_token(connection, " ")


def test_a_dataset_comes_back_as_it_was_kept(store):
    made = Served("roofs", "Roofs", "roofs", keys={"feeder": ["F1"]}, extra={"a": [1]})
    with store.changing() as connection:
        datasets.add_served(connection, made)
        with pytest.raises(ParameterError, match="already"):
            datasets.add_served(connection, made)
        datasets.change_served(
            connection, "roofs", keys={"zip": ["1", "2"]}, state="ready", latitude=1.5
        )
        with pytest.raises(ReleaseNotFound):
            datasets.change_served(connection, "nothing", state="ready")
        with pytest.raises(ReleaseNotFound):
            datasets.find_served(connection, "nothing")
        found = datasets.find_served(connection, "roofs")
        assert datasets.all_served(connection) == [found]
    assert (found.keys, found.extra) == ({"zip": ["1", "2"]}, {"a": [1]})
    assert (found.state, found.latitude, found.systems) == ("ready", 1.5, None)


RELEASE = ReleaseRow(
    "r1", "roofs", "totals", "Totals", 0.5, 0.5, "2026-01-01", "q", {"a": [1, None]}
)


def test_a_row_is_new_once(store):
    with store.changing() as connection:
        found = [insert_new(connection, RELEASE) for _ in range(2)]
        found.append(insert_new(connection, replace(RELEASE, id="r2")))
    assert found == [True, False, False]  # r2 answers the question of r1


def test_a_release_is_kept_once_and_found(store):
    with store.changing() as connection:
        insert_new(connection, RELEASE)
        insert_new(connection, replace(RELEASE, body={"a": []}))
        found = datasets.find_release(connection, "r1")
        assert (found, found.body) == (RELEASE, {"a": [1, None]})
        assert datasets.find_release(connection, "r2") is None
        assert datasets.releases_of(connection, "roofs") == [RELEASE]
        assert (
            datasets.releases_of(connection, "roofs", limit=0)
            == datasets.releases_of(connection, "x")
            == []
        )


def test_a_key_stands_for_what_was_asked_under_it_first_until_that_is_dropped(store):
    first = StoredRequest("ann", "k", "roofs", "{}")
    other = StoredRequest("ann", "k", "roofs", "[]")
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


def test_sessions_are_counted_as_they_end(store):
    with store.changing() as connection:
        ann = accounts.add_account(connection, "ann", role=ANALYST, scope=READ)
        asked = {"role": ANALYST, "who": "ann", "hours": 1.0}
        mine, two, three = (
            accounts.begin_session(connection, **asked, account_id=ann.id) for _ in range(3)
        )
        token = accounts.issue_token(connection, "ann")
        by_token = accounts.begin_session(connection, **asked, token=token.id)

        def lives(*secrets):
            found = [accounts.find_session(connection, each, idle_minutes=9.0) for each in secrets]
            return [each is not None for each in found]

        here = accounts.find_session(connection, mine, idle_minutes=9.0)
        accounts.touch_session(connection, mine)
        accounts.set_flash(connection, mine, [("good", "Done.")])
        assert dict(accounts.find_session(connection, mine, idle_minutes=9.0).flash) == {
            "good": "Done."
        }
        assert len(accounts.sessions_of(connection, here, idle_minutes=9.0)) == 3
        assert accounts.end_other_sessions(connection, here) == 2
        assert accounts.end_other_sessions(connection, here) == 0
        assert lives(mine, two, three, by_token) == [True, False, False, True]
        accounts.revoke_token(connection, token.id)
        accounts.end_session(connection, mine)
        last = accounts.begin_session(connection, **asked, account_id=ann.id)
        assert lives(mine, by_token, last) == [False, False, True]
        accounts.end_sessions_of_account(connection, ann.id)
        assert lives(last) == [False]


def test_a_revoked_token_ends_its_sessions_and_others_are_found_by_id(store):
    with store.changing() as connection:
        one, two = accounts.issue_token(connection, "ann"), accounts.issue_token(connection, "bob")
        asked = {"role": ANALYST, "who": "ann", "hours": 1.0, "token": one.id}
        opened = accounts.begin_session(connection, **asked)
        accounts.revoke_token(connection, one.id)
        assert accounts.find_session(connection, opened, idle_minutes=9.0) is None
        assert not connection.get(TokenRow, one.id).works
        assert {each.id for each in accounts.token_rows(connection)} == {one.id, two.id}
        assert accounts.analyst_names(connection) == {"ann", "bob"}


def test_accounts_are_changed_and_found(store):
    with store.changing() as connection:
        assert not accounts.has_curator(connection)
        accounts.new_setup_secret(connection, "one")
        accounts.new_setup_secret(connection, "two")
        assert accounts.setup_digest(connection) is not None
        accounts.add_first_curator(connection, "cora", PASSWORD)
        assert accounts.has_curator(connection)
        assert accounts.setup_digest(connection) is None
        ann = accounts.add_account(connection, "ann", role=ANALYST)
        accounts.set_account_password(connection, ann, PASSWORD)
        accounts.change_role(connection, ann, role=AUDITOR)
        accounts.disable_account(connection, accounts.account_named(connection, "ANN"))
        found = accounts.account_of_id(connection, ann.id)
        assert (found.role, found.disabled is None, found.usable) == (AUDITOR, False, False)
        accounts.enable_account(connection, found)
        accounts.note_sign_in(connection, found)
        found = accounts.account_of_id(connection, ann.id)
        assert found.usable
        assert found.signed_in is not None
        sso = accounts.add_account(connection, "sue", role=ANALYST, subject=("https://id", "7"))
        accounts.follow_provider(connection, sso, role=ANALYST, analyst="sue", scope=READ)
        assert accounts.account_of_subject(connection, "https://id", "7").scope == READ
        accounts.withdraw_role(connection, sso)
        assert accounts.account_of_subject(connection, "https://id", "7").role == NONE
        assert accounts.account_of_subject(connection, "https://id", "8") is None
        with pytest.raises(ParameterError, match="last curator"):
            accounts.disable_account(connection, accounts.account_named(connection, "cora"))
        assert [each.name for each in accounts.all_accounts(connection)] == ["ann", "cora", "sue"]


def test_links_work_until_another_is_made_or_they_end(store):
    with store.changing() as connection:
        first = accounts.new_link(connection, "a")
        second = accounts.new_link(connection, "a")
        assert accounts.find_link(connection, first) is None
        assert accounts.find_link(connection, second).purpose == accounts.PASSWORD
        accounts.end_links_of(connection, "a")
        assert accounts.find_link(connection, second) is None


def test_facts_and_promises_are_found(store, where):
    with Ledger(where) as ledger:
        ledger.create_dataset("roofs", Promise(System(), 1.0))
    with store.changing() as connection:
        accounts.set_fact(connection, "demo", "1")
        accounts.set_fact(connection, "demo", "2")
        assert (accounts.fact(connection, "demo"), accounts.fact(connection, "x")) == ("2", None)
        assert datasets.find_promised(connection, "roofs").name == "roofs"
        assert datasets.find_promised(connection, "x") is None


def test_everything_is_revoked_at_once(store):
    with store.changing() as connection:
        token = accounts.issue_token(connection, "ann")
        session = accounts.begin_session(
            connection, role=ANALYST, who="ann", hours=1.0, token=token.id
        )
        link = accounts.new_link(connection, "a")
        accounts.new_setup_secret(connection, "one")
        revoke_everything(connection)
        assert accounts.find_session(connection, session, idle_minutes=9.0) is None
        assert accounts.find_link(connection, link) is None
        assert accounts.setup_digest(connection) is None
        assert not connection.get(TokenRow, token.id).works


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


def test_shares_are_the_ledgers_own(tmp_path):
    service = open_service(quick_settings(tmp_path))
    service.ledger.create_dataset("roofs", Promise(System(), 2.0))
    service.ledger.set_share("roofs", "bob", 1.5)
    service.ledger.set_share("roofs", "ann", 0.5)
    with service.store.reading() as connection:
        assert [each.analyst for each in shares_of_dataset(connection, "roofs")] == ["ann", "bob"]
        (share,) = shares_of_analyst(connection, "bob").values()
    assert (share.share, share.spent, share.remaining) == (1.5, 0.0, 1.5)
    service.close()
