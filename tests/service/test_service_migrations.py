"""A service's database of version 0.2, as its own code left it."""

from __future__ import annotations

import json

import pytest
from alembic import command
from service_makers import PASSWORD, post, quick_settings
from service_makers import running as start
from sqlalchemy import insert, text

from sunveil.ledger.database import open_engine
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.opening import config_of
from sunveil.service.security.passwords import hash_password
from sunveil.service.security.tokens import make_token
from sunveil.service.store.datasets import find_served
from sunveil.service.store.opening import MIGRATIONS, prepare
from sunveil.service.store.schema import served
from sunveil.service.store.tokens import token_row


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "sunveil.db")
    return request.getfixturevalue("database")


def test_curators_keep_their_passwords_and_tokens_keep_working(where, tmp_path):
    Ledger(where, create=True).close()
    token, made = make_token(), "2026-01-02T03:04:05.678+00:00"
    engine, config = open_engine(where), config_of(MIGRATIONS)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for line in (
            f"INSERT INTO service_curators VALUES ('cora', '{hash_password(PASSWORD)}', '{made}')",
            f"INSERT INTO service_curators VALUES ('dora', '{hash_password('x' * 12)}', '{made}')",
            "INSERT INTO service_tokens VALUES"
            f" ('{token.id}', 'ann', '{token.digest}', '{made}', NULL)",
            "INSERT INTO service_sessions VALUES ('d', 'curator', 'cora', 99999999999, '[]')",
        ):
            connection.execute(text(line))
    engine.dispose()
    running = start(quick_settings(tmp_path / "data", database=where))
    try:
        page = running.client()
        answer = post(page, "/curator/login", name="cora", password=PASSWORD)
        assert answer.headers["location"] == "/curator"
        listed = page.get("/curator/accounts").text
        assert "cora" in listed
        assert "dora" in listed
        # a password from before they were judged still opens
        weak = post(running.client(), "/curator/login", name="dora", password="x" * 12)
        assert weak.status_code == 303
        assert running.client(token.text).get("/me").json()["analyst"] == "ann"
        with running.service.store.reading() as connection:
            row = token_row(connection, token.id)
        assert (row.scope, row.expires, row.account) == ("ask", None, None)
        assert "never expires" in page.get("/curator/analysts").text
    finally:
        running.stop()


def test_the_unit_of_readings_is_kept_under_its_new_name(where, tmp_path):
    Ledger(where, create=True).close()
    engine, config = open_engine(where), config_of(MIGRATIONS)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0004")
        stated = {"unit": "Wh", "label": "end"}
        row = {"name": "homes", "extra": json.dumps({"options": stated, "next": {"extra": {}}})}
        columns = {each.name: "" for each in served.columns if not each.nullable} | row
        connection.execute(insert(served).values(columns | {"keys": "{}"}))
    prepare(engine)
    with engine.connect() as connection:
        found = find_served(connection, "homes")
    engine.dispose()
    assert found.extra["options"] == {"power_unit": "Wh", "label": "end"}
