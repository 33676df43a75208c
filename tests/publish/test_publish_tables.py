from __future__ import annotations

import pytest
from fleet_makers import KEYS, random_fleet

from sunveil.errors import BudgetExceeded, ParameterError
from sunveil.ledger import Ledger, Promise
from sunveil.privacy import ConcentratedGuarantee, Days, Guarantee, System
from sunveil.publication import Publication
from sunveil.publication.published_tables import Bins, Column, PublishedTable
from sunveil.publish.fleet_tables import FleetTables, TableChoices
from sunveil.publish.publisher import Publisher

CHOICES = TableChoices(bins=Bins(), epsilon=1.0)
ROWS = random_fleet(200)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        made.create_dataset("homes", Promise(System(), 2.5))
        yield made


def test_tables_are_charged_once_and_the_same_ones_come_back(ledger):
    first = Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS))
    assert ledger.dataset("homes").remaining == pytest.approx(1.5)
    again = Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS))
    assert ledger.dataset("homes").remaining == pytest.approx(1.5)
    assert [t.rows for t in again.tables] == [t.rows for t in first.tables]
    assert [t.columns for t in again.tables] == [t.columns for t in first.tables]
    assert again.guarantee == first.guarantee


def test_tables_of_an_earlier_version_come_back_as_they_were(ledger, monkeypatch):
    """They had whole numbers where parts of systems are now, and said so."""
    columns = (Column("sector", "string", "Sector."), Column("noisy", "integer", "As drawn."))
    earlier = PublishedTable("sectors", "Systems by sector.", columns, (("N", 3), ("E", -2)))

    guarantee = Guarantee(System(), 1.0, 0.0, "docs/proofs/counts.md")

    def drawn(*_, **__):
        return Publication("Tables", (earlier,), guarantee, "discrete Laplace noise", {})

    with monkeypatch.context() as patch:
        patch.setattr("sunveil.publish.fleet_tables.fleet_tables", drawn)
        Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS))
    (table,) = Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS)).tables
    assert table.to_dict() == earlier.to_dict()
    assert [type(row[1]) for row in table.rows] == [int, int]
    assert ledger.dataset("homes").remaining == pytest.approx(1.5)


def test_a_stopped_call_is_taken_up_without_a_second_charge(ledger, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("sunveil.publish.fleet_tables.fleet_tables", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS))
    plan = Publisher(ledger, "homes").plan(FleetTables(CHOICES))
    assert (plan.cost, plan.remaining, plan.kept) == (0.0, 1.5, False)
    Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS))
    verdict = ledger.verify("homes")
    assert (verdict.charges, verdict.answered, verdict.spent) == (1, 1, 1.0)


def test_another_edition_is_another_question(ledger):
    Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS))
    other = TableChoices(bins=Bins(), epsilon=1.0, edition="2026")
    Publisher(ledger, "homes").publish(FleetTables(other, ROWS))
    assert ledger.dataset("homes").remaining == pytest.approx(0.5)


def test_a_plan_spends_nothing_and_says_the_cost(ledger):
    before = Publisher(ledger, "homes").plan(FleetTables(CHOICES))
    assert (before.cost, before.remaining, before.kept) == (1.0, 2.5, False)
    assert {each.table for each in before.expected} >= {"counts", "totals", "quantiles"}
    assert ledger.dataset("homes").remaining == 2.5
    Publisher(ledger, "homes").publish(FleetTables(CHOICES, ROWS))
    assert Publisher(ledger, "homes").plan(FleetTables(CHOICES)).kept


def test_more_than_is_left_is_refused_and_nothing_is_spent(ledger):
    with pytest.raises(BudgetExceeded):
        Publisher(ledger, "homes").publish(
            FleetTables(TableChoices(bins=Bins(), epsilon=3.0), ROWS)
        )
    assert ledger.dataset("homes").remaining == 2.5
    assert len(ledger.entries("homes")) == 1


def test_an_unknown_key_is_refused_before_anything_is_spent(ledger):
    choices = TableChoices(bins=Bins(), epsilon=1.0, key="feeder", keys=KEYS[:1])
    with pytest.raises(ParameterError, match=r"F[23]"):
        Publisher(ledger, "homes").publish(FleetTables(choices, ROWS))
    assert ledger.dataset("homes").remaining == 2.5


def test_tables_of_whole_records_serve_a_promise_about_days(ledger):
    ledger.create_dataset("days", Promise(Days(1), 2.0))
    Publisher(ledger, "days").publish(FleetTables(CHOICES, ROWS))
    assert ledger.dataset("days").remaining == pytest.approx(1.0)


def test_groups_come_back_with_their_names(ledger):
    choices = TableChoices(bins=Bins(), epsilon=1.0, key="feeder", keys=KEYS)
    found = Publisher(ledger, "homes").publish(FleetTables(choices, ROWS))
    totals = next(table for table in found.tables if table.name == "totals")
    assert totals.column("feeder") == list(KEYS)


def test_what_is_bought_is_another_question(ledger):
    for tables in (("sectors",), ("sectors", "totals")):
        choices = TableChoices(bins=Bins(), epsilon=1.0, tables=tables)
        found = Publisher(ledger, "homes").publish(FleetTables(choices, ROWS))
        assert [table.name for table in found.tables] == list(tables)
    assert ledger.dataset("homes").remaining == pytest.approx(0.5)
    same = TableChoices(bins=Bins(), epsilon=1.0, tables=("totals", "sectors"))
    assert Publisher(ledger, "homes").plan(FleetTables(same)).kept


def test_under_a_promise_with_delta_rho_is_charged_and_noise_is_gaussian(ledger):
    ledger.create_dataset("many", Promise(System(), 9.0, 1e-6))
    before = ledger.dataset("many").remaining
    plan = Publisher(ledger, "many").plan(FleetTables(CHOICES, size=200))
    assert plan.cost == pytest.approx(0.5)
    first = Publisher(ledger, "many").publish(FleetTables(CHOICES, ROWS))
    assert first.guarantee == ConcentratedGuarantee(System(), 0.5, "docs/proofs/counts.md")
    assert "Gaussian" in first.mechanism
    assert ledger.dataset("many").remaining == pytest.approx(before - 0.5)
    again = Publisher(ledger, "many").publish(FleetTables(CHOICES, ROWS))
    assert [t.rows for t in again.tables] == [t.rows for t in first.tables]
    assert ledger.dataset("many").remaining == pytest.approx(before - 0.5)
