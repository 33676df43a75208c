from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from service_makers import quick_settings
from sqlalchemy import inspect, text

from sunveil.errors import LedgerError, ParameterError, ReleaseNotFound
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.move_ledger import move_ledger
from sunveil.ledger.statements import shares_of_analyst, shares_of_dataset
from sunveil.privacy import System
from sunveil.service.app import open_service
from sunveil.service.backup import revoke_everything
from sunveil.service.settings import ANALYST, AUDITOR, NONE, READ
from sunveil.service.store.accounts import PASSWORD as PASSWORD_LINK
from sunveil.service.store.accounts import (
    account_named,
    account_of_id,
    account_of_subject,
    add_account,
    add_first_curator,
    all_accounts,
    analyst_names,
    begin_session,
    change_role,
    disable_account,
    enable_account,
    end_links_of,
    end_other_sessions,
    end_session,
    end_sessions_of_account,
    fact,
    find_account,
    find_link,
    find_session,
    follow_provider,
    has_curator,
    issue_token,
    new_link,
    new_setup_secret,
    note_sign_in,
    revoke_token,
    sessions_of,
    set_account_password,
    set_fact,
    set_flash,
    set_password,
    setup_digest,
    token_rows,
    touch_session,
    withdraw_role,
)
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
from sunveil.service.store.datasets import (
    add_served,
    all_served,
    begin_request,
    change_served,
    drop_request,
    end_request,
    find_promised,
    find_release,
    find_served,
    open_requests,
    releases_of,
)

PASSWORD = "correct horse battery staple"


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
            issue_token(connection, f"analyst {number}")
        made.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(8)))
    made = Store(where)
    with made.reading() as connection:
        assert len(token_rows(connection)) == 8
    made.close()


def test_a_change_that_fails_leaves_nothing(store):
    def fail():
        with store.changing() as connection:
            issue_token(connection, "ann")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.reading() as connection:
        assert token_rows(connection) == []


def test_a_curator_has_one_account_and_a_password_that_can_be_changed(store):
    with store.changing() as connection:
        add_first_curator(connection, "cora", PASSWORD)
        first = find_account(connection, "cora").password
        with pytest.raises(ParameterError, match="already"):
            add_account(connection, "Cora", role="auditor")
        with pytest.raises(ParameterError, match="already"):
            add_first_curator(connection, "dora", PASSWORD)
        set_password(connection, "cora", PASSWORD + "!")
        assert find_account(connection, "cora").password != first
        assert find_account(connection, "dora") is None


def test_tokens_are_listed_with_what_became_of_them(store):
    with store.changing() as connection:
        one = issue_token(connection, "ann")
        issue_token(connection, "bob")
        revoke_token(connection, one.id)
        with pytest.raises(ReleaseNotFound):
            revoke_token(connection, one.id)
        (row,) = token_rows(connection, "ann")
        assert row.revoked is not None
        assert row.digest == one.digest
        assert len(token_rows(connection)) == 2
        with pytest.raises(ParameterError):
            issue_token(connection, " ")


def test_a_dataset_comes_back_as_it_was_kept(store):
    made = Served("roofs", "Roofs", "roofs", keys={"feeder": ["F1"]}, extra={"a": [1]})
    with store.changing() as connection:
        add_served(connection, made)
        with pytest.raises(ParameterError, match="already"):
            add_served(connection, made)
        change_served(connection, "roofs", keys={"zip": ["1", "2"]}, state="ready", latitude=1.5)
        with pytest.raises(ReleaseNotFound):
            change_served(connection, "nothing", state="ready")
        with pytest.raises(ReleaseNotFound):
            find_served(connection, "nothing")
        found = find_served(connection, "roofs")
        assert all_served(connection) == [found]
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
        found = find_release(connection, "r1")
        assert (found, found.body) == (RELEASE, {"a": [1, None]})
        assert find_release(connection, "r2") is None
        assert releases_of(connection, "roofs") == [RELEASE]
        assert releases_of(connection, "roofs", limit=0) == releases_of(connection, "x") == []


def test_a_key_stands_for_what_was_asked_under_it_first_until_that_is_dropped(store):
    first = StoredRequest("ann", "k", "roofs", "{}")
    other = StoredRequest("ann", "k", "roofs", "[]")
    with store.changing() as connection:
        assert begin_request(connection, first) == first
        assert begin_request(connection, other) == first
        assert open_requests(connection, before=now(1.0)) == [first]
        assert open_requests(connection, before=now(-60.0)) == []
        drop_request(connection, first)
        assert open_requests(connection, before=now(1.0)) == []
        assert begin_request(connection, other) == other
        end_request(connection, other, "r1")
        drop_request(connection, other)
        assert begin_request(connection, first) == replace(other, release="r1")
        assert open_requests(connection, before=now(1.0)) == []


def test_sessions_are_counted_as_they_end(store):
    with store.changing() as connection:
        ann = add_account(connection, "ann", role=ANALYST, scope=READ)
        asked = {"role": ANALYST, "who": "ann", "hours": 1.0}
        mine, two, three = (begin_session(connection, **asked, account_id=ann.id) for _ in range(3))
        token = issue_token(connection, "ann")
        by_token = begin_session(connection, **asked, token=token.id)

        def lives(*secrets):
            found = [find_session(connection, each, idle_minutes=9.0) for each in secrets]
            return [each is not None for each in found]

        here = find_session(connection, mine, idle_minutes=9.0)
        touch_session(connection, mine)
        set_flash(connection, mine, [("good", "Done.")])
        assert dict(find_session(connection, mine, idle_minutes=9.0).flash) == {"good": "Done."}
        assert len(sessions_of(connection, here, idle_minutes=9.0)) == 3
        assert end_other_sessions(connection, here) == 2
        assert end_other_sessions(connection, here) == 0
        assert lives(mine, two, three, by_token) == [True, False, False, True]
        revoke_token(connection, token.id)
        end_session(connection, mine)
        last = begin_session(connection, **asked, account_id=ann.id)
        assert lives(mine, by_token, last) == [False, False, True]
        end_sessions_of_account(connection, ann.id)
        assert lives(last) == [False]


def test_a_revoked_token_ends_its_sessions_and_others_are_found_by_id(store):
    with store.changing() as connection:
        one, two = issue_token(connection, "ann"), issue_token(connection, "bob")
        asked = {"role": ANALYST, "who": "ann", "hours": 1.0, "token": one.id}
        opened = begin_session(connection, **asked)
        revoke_token(connection, one.id)
        assert find_session(connection, opened, idle_minutes=9.0) is None
        assert not connection.get(TokenRow, one.id).works
        assert {each.id for each in token_rows(connection)} == {one.id, two.id}
        assert analyst_names(connection) == {"ann", "bob"}


def test_accounts_are_changed_and_found(store):
    with store.changing() as connection:
        assert not has_curator(connection)
        new_setup_secret(connection, "one")
        new_setup_secret(connection, "two")
        assert setup_digest(connection) is not None
        add_first_curator(connection, "cora", PASSWORD)
        assert has_curator(connection)
        assert setup_digest(connection) is None
        ann = add_account(connection, "ann", role=ANALYST)
        set_account_password(connection, ann, PASSWORD)
        change_role(connection, ann, role=AUDITOR)
        disable_account(connection, account_named(connection, "ANN"))
        found = account_of_id(connection, ann.id)
        assert (found.role, found.disabled is None, found.usable) == (AUDITOR, False, False)
        enable_account(connection, found)
        note_sign_in(connection, found)
        found = account_of_id(connection, ann.id)
        assert found.usable
        assert found.signed_in is not None
        sso = add_account(connection, "sue", role=ANALYST, subject=("https://id", "7"))
        follow_provider(connection, sso, role=ANALYST, analyst="sue", scope=READ)
        assert account_of_subject(connection, "https://id", "7").scope == READ
        withdraw_role(connection, sso)
        assert account_of_subject(connection, "https://id", "7").role == NONE
        assert account_of_subject(connection, "https://id", "8") is None
        with pytest.raises(ParameterError, match="last curator"):
            disable_account(connection, account_named(connection, "cora"))
        assert [each.name for each in all_accounts(connection)] == ["ann", "cora", "sue"]


def test_links_work_until_another_is_made_or_they_end(store):
    with store.changing() as connection:
        first = new_link(connection, "a")
        second = new_link(connection, "a")
        assert find_link(connection, first) is None
        assert find_link(connection, second) == ("a", PASSWORD_LINK)
        end_links_of(connection, "a")
        assert find_link(connection, second) is None


def test_facts_and_promises_are_found(store, where):
    with Ledger(where) as ledger:
        ledger.create_dataset("roofs", Promise(System(), 1.0))
    with store.changing() as connection:
        set_fact(connection, "demo", "1")
        set_fact(connection, "demo", "2")
        assert (fact(connection, "demo"), fact(connection, "x")) == ("2", None)
        assert find_promised(connection, "roofs").name == "roofs"
        assert find_promised(connection, "x") is None


def test_everything_is_revoked_at_once(store):
    with store.changing() as connection:
        token = issue_token(connection, "ann")
        session = begin_session(connection, role=ANALYST, who="ann", hours=1.0, token=token.id)
        link = new_link(connection, "a")
        new_setup_secret(connection, "one")
        revoke_everything(connection)
        assert find_session(connection, session, idle_minutes=9.0) is None
        assert find_link(connection, link) is None
        assert setup_digest(connection) is None
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
