"""Ledgers of version 0.1: what its own code wrote is in ``ledger_0_1.sql``."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from ledger_makers import question

from sunveil.errors import BudgetExceeded, ParameterError
from sunveil.ledger.database import open_engine
from sunveil.ledger.households import SystemHome
from sunveil.ledger.ledger import Promise
from sunveil.ledger.opening import MIGRATIONS
from sunveil.privacy.units import System

WRITTEN = Path(__file__).with_name("ledger_0_1.sql").read_text(encoding="utf-8").splitlines()[1:]


@pytest.fixture
def old(where, open_ledger):
    """Return a ledger of version 0.1 as this version opens it."""
    engine = open_engine(where, create=True)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        for line in WRITTEN:
            connection.exec_driver_sql(line)
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SELECT setval('datasets_id_seq', 2)")
    engine.dispose()
    return open_ledger(where, create=False)


def faults(ledger):
    # these ledgers came from elsewhere, without their marks
    found = [fault for name in ledger.names() for fault in ledger.verify(name).faults]
    return [fault for fault in found if "high-water mark" not in fault]


def never():
    raise AssertionError("a kept answer is drawn again")


def test_an_old_ledger_verifies_and_keeps_what_was_spent(old):
    assert faults(old) == []
    assert [old.dataset(name).spent for name in ("roofs", "homes")] == [0.5, 0.375]
    assert old.dataset("roofs").promise == Promise(System(), 2.0)
    assert old.ask("roofs", question(1, epsilon=0.25), never).value == "tables"
    assert old.ask("roofs", question(2, epsilon=0.25, systems=("a", "b")), never).value == [1, 2]
    with pytest.raises(BudgetExceeded):
        old.charge("roofs", question(9, epsilon=1.6))
    old.charge("roofs", question(9, epsilon=1.5))
    assert faults(old) == []


def test_an_old_dataset_takes_those_whom_it_knows(old):
    with pytest.raises(ParameterError, match="not registered"):
        old.register("roofs", ("a", "renamed"))
    old.register("roofs", ("a", "b"))
    # b is in the other dataset too, which has not registered anybody
    assert old.dataset("roofs").spent == 0.875
    assert old.dataset("homes").households == 1
    with pytest.raises(BudgetExceeded) as refusal:
        old.charge("roofs", question(9, epsilon=0.25, systems=("b",)))
    assert refusal.value.remaining == 0.125
    old.charge("roofs", question(9, epsilon=1.5, systems=("a",)))
    old.register("homes", ("b", "c"))
    with pytest.raises(BudgetExceeded):
        old.charge("homes", question(9, epsilon=0.25))
    assert old.dataset("homes").households == 2
    assert faults(old) == []


def test_a_new_dataset_counts_what_was_spent_in_old_ones(old):
    old.create_dataset("new", Promise(System(), 5.0, meters=2))
    old.register("new", [SystemHome("a", "x"), SystemHome("c", "x"), SystemHome("d", "y")])
    # a in roofs 0.25 + 0.25, c in homes 0.25 + 0.125
    assert old.dataset("new").spent == 0.875
    old.charge("new", question(9, epsilon=0.0625, systems=("a", "c", "d")))
    with pytest.raises(BudgetExceeded):
        old.charge("new", question(10, epsilon=0.0625, systems=("c",)))
    old.charge("new", question(11, epsilon=4.0, systems=("d",)))
    assert faults(old) == []


def test_who_has_spent_too_much_in_old_datasets_is_published_no_more(old):
    old.charge("roofs", question(9, epsilon=1.0, systems=("b",)))
    before = old.entries("roofs")
    with pytest.raises(ParameterError, match="already spent more"):
        old.register("roofs", ("a", "b"))
    assert old.entries("roofs") == before
    assert old.ask("roofs", question(1, epsilon=0.25), never).value == "tables"
    assert faults(old) == []
