from __future__ import annotations

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from service_makers import quick_settings
from sqlalchemy import inspect, text

from sunveil.errors import LedgerError, ParameterError, ReleaseNotFound
from sunveil.ledger.database import open_engine
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.opening import config_of
from sunveil.ledger.promise import Promise
from sunveil.ledger.shares import shares_of_analyst, shares_of_dataset
from sunveil.privacy.units import System
from sunveil.service.app import open_service
from sunveil.service.store.accounts import (
    add_account,
    add_first_curator,
    find_account,
    set_password,
)
from sunveil.service.store.base import Store
from sunveil.service.store.datasets import (
    Served,
    add_served,
    all_served,
    change_served,
    find_served,
)
from sunveil.service.store.opening import MIGRATIONS
from sunveil.service.store.releases import open_requests
from sunveil.service.store.schema import metadata
from sunveil.service.store.tokens import issue_token, revoke_token, token_rows

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


def test_the_steps_lead_to_the_tables_of_the_schema(store):
    names = set(metadata.tables)

    def ours(thing, name, kind, *_):
        return kind != "table" or name in names

    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": ours})
        assert compare_metadata(context, metadata) == []


def test_opening_again_changes_nothing_and_the_ledger_opens_beside_it(store, where):
    before = sorted(inspect(store.engine).get_table_names())
    Store(where).close()
    with Ledger(where) as ledger:
        ledger.create_dataset("roofs", Promise(System(), 1.0))
        assert ledger.verify("roofs").holds
    assert sorted(inspect(store.engine).get_table_names()) == before


def test_a_database_of_the_first_step_is_brought_to_this_version_with_what_it_holds(where):
    Ledger(where, create=True).close()
    engine = open_engine(where)
    config = config_of(MIGRATIONS)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text(
                "INSERT INTO service_requests (analyst, key, dataset, asked, made)"
                " VALUES ('ann', 'k', 'roofs', '{}', '2026-01-01')"
            )
        )
    engine.dispose()
    store = Store(where)
    with store.reading() as connection:
        (left,) = open_requests(connection)
    store.close()
    assert (left.analyst, left.ending, left.came) == ("ann", None, None)


def test_tables_of_a_newer_version_are_refused(store, where):
    with store.changing() as connection:
        connection.execute(text("UPDATE sunveil_service SET version_num = '9999'"))
    with pytest.raises(LedgerError, match="newer Sunveil"):
        Store(where)


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
