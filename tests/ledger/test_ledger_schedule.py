from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from ledger_makers import question

from sunveil.cli import cli
from sunveil.errors import BudgetExceeded, ParameterError
from sunveil.ledger import Promise, YearlySchedule
from sunveil.ledger import statements as ledger_rows
from sunveil.ledger.hash_chain import Entry
from sunveil.ledger.promises import SystemHome, promise_text, read_promise
from sunveil.ledger.yearly_schedule import spent_by_year, years_of
from sunveil.privacy import System

TEN = Promise(System(), 2.0, schedule=YearlySchedule(2026, 10))


@pytest.fixture
def year(monkeypatch):
    """Return what sets the ledger's clock."""

    def make(number):
        monkeypatch.setattr(ledger_rows, "now", lambda: f"{number}-06-30T12:00:00+00:00")

    make(2026)
    return make


def ask(ledger, number, epsilon, **options):
    return ledger.ask("d", question(number, epsilon=epsilon, **options), lambda: number)


def test_each_year_allows_one_part_more_and_never_more_than_all():
    schedule = YearlySchedule(2026, 3)
    assert [schedule.allowed(10, year) for year in range(2025, 2031)] == [0, 3, 6, 10, 10, 10]
    later = YearlySchedule(2026, 3, start=4e-9)
    assert [later.allowed(10, year) for year in range(2025, 2029)] == [0, 6, 8, 10]
    more = [schedule.more_after(year) for year in (2020, 2026, 2027, 2028)]
    assert more == [2026, 2027, 2028, None]


@pytest.mark.parametrize(
    "given", [(2026, 0), (2026, 101), (1999, 2), (2026, 2, -1.0), (2026, 2, 3.0)]
)
def test_a_schedule_that_cannot_be_is_refused(given):
    with pytest.raises(ParameterError, match="schedule"):
        Promise(System(), 2.0, schedule=YearlySchedule(*given))


def test_only_a_promise_with_a_schedule_says_so():
    assert read_promise(promise_text(TEN)) == TEN
    budget = "total budget ε = 2 for everything ever published"
    assert str(TEN).endswith(f"{budget}, spent in even parts over 10 years from 2026")
    half = Promise(System(), 2.0, schedule=YearlySchedule(2026, 10, 1.0))
    assert read_promise(promise_text(half)) == half
    assert "1 of it at the start and the rest in even parts" in str(half)
    assert "schedule" not in promise_text(Promise(System(), 2.0))


def test_what_a_year_does_not_allow_is_refused_until_it_does(ledger, year):
    ledger.create_dataset("d", TEN)
    ask(ledger, 0, 0.15)
    assert ledger.dataset("d").remaining == 0.05
    with pytest.raises(BudgetExceeded, match=r"leaves 0\.05 in 2026 and adds 0\.2 in 2027") as no:
        ask(ledger, 1, 0.1)
    assert (no.value.requested, no.value.remaining) == (0.1, 0.05)
    with pytest.raises(BudgetExceeded, match="2027"):
        ask(ledger, 1, 0.1, systems=("a",))
    year(2027)
    ask(ledger, 1, 0.1, systems=("a",))
    assert ledger.dataset("d").remaining == 0.15
    year(2040)
    ask(ledger, 2, 1.75)
    with pytest.raises(BudgetExceeded, match="lower epsilon or ask for less"):
        ask(ledger, 3, 0.1)
    assert ledger.verify("d").holds


def test_nothing_is_spent_before_the_first_year_and_two_meters_are_held_to_it_as_one(ledger, year):
    ledger.create_dataset("d", Promise(System(), 2.0, meters=2, schedule=YearlySchedule(2026, 10)))
    year(2025)
    with pytest.raises(BudgetExceeded, match=r"leaves 0 in 2025 and adds 0\.2 in 2026"):
        ask(ledger, 0, 0.1)
    year(2026)
    ledger.register("d", [SystemHome("a", "one"), SystemHome("b", "one")])
    ask(ledger, 0, 0.15, systems=("a",))
    with pytest.raises(BudgetExceeded, match=r"leaves 0\.05 in 2026"):
        ask(ledger, 1, 0.15, systems=("b",))
    ask(ledger, 2, 0.05, systems=("b",))
    assert ledger.dataset("d").remaining == 0.0


def test_a_charge_that_came_too_early_is_found_by_its_date(small, path, year):
    small.create_dataset("d", TEN)
    year(2030)
    ask(small, 0, 0.9)
    assert small.verify("d").holds
    # the same charge, dated four years before: a chain written again, with its digests
    first, *later = small.entries("d")
    previous = first.digest
    with closing(sqlite3.connect(path)) as database, database:
        for one in later:
            entry = Entry(one.place, one.kind, one.body.replace("2030-", "2026-"), previous)
            previous = entry.digest
            database.execute(
                "UPDATE entries SET body = ?, previous = ?, digest = ? WHERE place = ?",
                (entry.body, entry.previous, entry.digest, entry.place),
            )
        database.execute("UPDATE datasets SET head = ?", (previous,))
    faults = small.verify("d").faults
    assert "entry 2 spent more than its year allows by the promise's schedule" in faults


def test_years_tell_what_was_spent_by_their_ends(small, year):
    small.create_dataset("d", TEN)
    ask(small, 0, 0.1, systems=("a", "b"))
    year(2028)
    ask(small, 1, 0.3, systems=("b",))
    ask(small, 2, 0.05)
    spent = spent_by_year(small.entries("d"))
    assert spent == {2026: 10**8, 2028: 45 * 10**7}
    found = years_of(TEN.schedule, TEN.total, spent, present=2029)
    assert [each.spent for each in found[:5]] == [10**8, 10**8, 45 * 10**7, 45 * 10**7, None]
    assert found[4].to_dict() == {"year": 2030, "allowed": 1.0, "spent": None, "left": None}


def test_the_command_shows_a_schedule_and_plans_one(tmp_path, year):
    def run(*words):
        return CliRunner().invoke(cli, ["dataset", *words, "--ledger", str(tmp_path / "l.db")])

    promised = ("--protect", "system", "--epsilon", "2")
    made = run("create", "ten", *promised, "--years", "10")
    assert "0.2 is left of what its schedule allows this year" in made.output
    run("create", "half", *promised, "--years", "10", "--start", "1")
    half = run("schedule", "half").output.splitlines()[-10]
    assert half.split()[2:] == ["1.1", "0", "1.1"]
    assert run("create", "odd", *promised, "--start", "1").exit_code == 2
    run("create", "free", *promised)
    table = run("schedule", "ten").output.splitlines()
    assert table[0].split() == ["year", "measure", "may", "be", "spent", "spent", "left"]
    assert table[-10].split() == ["2026", "ε", "0.2", "0", "0.2"]
    assert table[-1].split() == ["2035", "ε", "2"]
    planned = json.loads(run("schedule", "free", "--over", "4", "--json").output)
    assert (planned["held"], len(planned["years"])) == (False, 4)
    assert planned["years"][0] == {"year": 2026, "allowed": 0.5, "spent": 0.0, "left": 0.5}
    assert "--over" in run("schedule", "free").output
    assert "of its own" in run("schedule", "ten", "--over", "4").output
