from __future__ import annotations

import json
import re

import pytest

from sunveil.cli import main
from sunveil.ledger import Ledger
from sunveil.service.store.accounts import (
    account_of_id,
    add_account,
    find_account,
    find_link,
    set_password,
)
from sunveil.service.store.database import Store

PASSWORD = "correct horse battery staple"


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SUNVEIL_LEDGER", raising=False)
    folder = tmp_path / "data"
    folder.mkdir()
    Ledger(folder / "sunveil.db", create=True).close()
    return folder


@pytest.fixture
def store(data):
    found = Store(str(data / "sunveil.db"))
    yield found
    found.close()


def run(capsys, data, *words):
    code = main(["service", "accounts", *words, "--data", str(data)])
    out, err = capsys.readouterr()
    return code, out, err


def linked(store, text):
    """Return the account and the purpose of the link in a text."""
    secret = re.search(r"/links/([\w-]+)", text)[1]
    with store.reading() as connection:
        link = find_link(connection, secret)
        return account_of_id(connection, link.account).name, link.purpose


def test_accounts_are_made_listed_and_let_in_by_commands(capsys, data, store):
    assert run(capsys, data, "list") == (0, "there are no accounts yet\n", "")
    words = ("add", "cora", "--role", "curator", "--address", "https://sunveil.example.org/")
    code, out, _ = run(capsys, data, *words)
    assert code == 0
    assert "https://sunveil.example.org/links/" in out
    assert linked(store, out) == ("cora", "password")
    run(capsys, data, "add", "ann", "--role", "analyst", "--analyst", "Ann", "--scope", "read")
    found = json.loads(run(capsys, data, "list", "--json")[1])
    assert [(each["name"], each["role"], each["analyst"]) for each in found] == [
        ("ann", "analyst", "Ann"),
        ("cora", "curator", None),
    ]
    assert {each["state"] for each in found} == {"no password yet"}
    assert linked(store, run(capsys, data, "reset", "cora")[1]) == ("cora", "password")
    glass = run(capsys, data, "reset", "cora", "--break-glass")[1]
    assert "15 minutes" in glass
    assert linked(store, glass) == ("cora", "sign-in")


def test_roles_change_and_accounts_are_disabled_but_for_the_last_curator(capsys, data, store):
    with store.changing() as connection:
        set_password(connection, "cora", PASSWORD)
        add_account(connection, "audrey", role="auditor")
    for words in (("disable", "cora"), ("role", "cora", "auditor")):
        code, _, err = run(capsys, data, *words)
        assert code == 2
        assert "last curator" in err
    assert run(capsys, data, "role", "audrey", "curator")[0] == 0
    assert run(capsys, data, "disable", "cora")[0] == 2  # audrey cannot sign in yet
    with store.changing() as connection:
        set_password(connection, "audrey", PASSWORD)
    assert run(capsys, data, "disable", "Cora")[0] == 0
    code, _, err = run(capsys, data, "reset", "cora")
    assert (code, "enable it first" in err) == (2, True)
    assert run(capsys, data, "enable", "cora")[0] == 0
    with store.reading() as connection:
        assert find_account(connection, "cora").usable


def test_what_cannot_be_done_is_said_in_one_sentence(capsys, data, store, tmp_path):
    with store.changing() as connection:
        add_account(connection, "far", role="curator", subject=("https://id.example.org", "1"))
    for words, said in (
        (("reset", "nobody"), "there is no account named 'nobody'"),
        (("reset", "far"), "signs in through its provider"),
        (("add", "FAR", "--role", "auditor"), "already"),
        (("add", "x", "--role", "king"), "king"),
    ):
        code, out, err = run(capsys, data, *words)
        assert (code, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1
    assert linked(store, run(capsys, data, "reset", "far", "--break-glass")[1])[1] == "sign-in"
    code, _, err = run(capsys, tmp_path / "nowhere", "list")
    assert (code, err.count("\n")) == (2, 1)
    assert not (tmp_path / "nowhere").exists()
