from __future__ import annotations

import json
import threading
from contextvars import copy_context

import pytest
from ledger_makers import question

from sunveil.cli import main
from sunveil.errors import ParameterError
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import acting_as, actor_of
from sunveil.privacy import System


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        yield made


def actors(ledger):
    return [(entry.kind, actor_of(entry.facts())) for entry in ledger.entries("roofs")]


def fill(ledger):
    with acting_as("cora"):
        ledger.create_dataset("roofs", Promise(System(), 2.0))
        ledger.set_share("roofs", "ann", 1.0)
        ledger.register("roofs", ["a", "b"])
    with acting_as("ann@home"):
        ledger.ask("roofs", question(1, epsilon=0.25), lambda: "drawn")
    ledger.set_share("roofs", "ann", 2.0)


def test_every_change_says_which_account_did_it_and_verifies(ledger):
    fill(ledger)
    assert actors(ledger) == [
        ("promise", "cora"),
        ("analyst", "cora"),
        ("households", "cora"),
        ("charge", "ann@home"),
        ("answer", None),
        ("analyst", None),
    ]
    assert ledger.verify("roofs").holds
    assert ledger.dataset("roofs").promise == Promise(System(), 2.0)


def test_an_entry_outside_of_any_account_is_as_it_always_was(ledger):
    ledger.create_dataset("roofs", Promise(System(), 2.0))
    (entry,) = ledger.entries("roofs")
    assert "by" not in json.loads(entry.body)


def test_who_did_it_cannot_be_changed_afterwards(ledger, tmp_path):
    import sqlite3

    fill(ledger)
    with sqlite3.connect(tmp_path / "ledger.db") as database:
        database.execute("UPDATE entries SET body = replace(body, 'cora', 'dora') WHERE place = 2")
    assert ledger.verify("roofs").faults == ("entry 2 was changed",)


def test_the_account_holds_in_threads_that_the_context_is_copied_to(ledger):
    with acting_as("cora"):
        context = copy_context()
        make = lambda: ledger.create_dataset("roofs", Promise(System(), 1.0))  # noqa: E731
        thread = threading.Thread(target=lambda: context.run(make))
        thread.start()
        thread.join()
    assert actors(ledger) == [("promise", "cora")]


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 401])
def test_a_name_that_cannot_be_printed_is_refused(name):
    with pytest.raises(ParameterError, match="printable"), acting_as(name):
        pass


def test_the_command_shows_which_account_it_was(ledger, tmp_path, capsys):
    fill(ledger)
    assert main(["ledger", "show", "--ledger", str(tmp_path / "ledger.db")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].rstrip().endswith(", by account cora")
    assert "by account" not in lines[-1]
