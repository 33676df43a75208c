"""Tables of a fleet: what they hold, what they cost, and how they are charged."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from fleet_makers import KEYS, fleet, random_fleet

from sunveil.errors import ParameterError, SourceError
from sunveil.estimates.read_write import read_fleet
from sunveil.ledger import Ledger, Promise
from sunveil.privacy import Days, Guarantee, System
from sunveil.publication import Publication
from sunveil.publication.published_tables import Bins, Column, PublishedTable
from sunveil.publish.fleet_tables import FleetTables, TableChoices, expected_tables, fleet_tables
from sunveil.publish.publisher import Publisher

BINS = Bins(4, (0.0, 30.0, 90.0), (0.0, 5.0, 1000.0))
NAN = float("nan")
PAIR = [(90.0, 30.0, 0.61), (270.0, 30.0, 0.39)]


def test_a_publication_has_its_tables_its_guarantee_and_its_public_choices():
    rows = random_fleet(200)
    found = fleet_tables(rows, TableChoices(bins=BINS, epsilon=1.0, key="feeder", keys=KEYS))
    assert [table.name for table in found.tables] == [
        "counts", "planes", "sectors", "tilts", "capacities", "totals", "quantiles",
    ]  # fmt: skip
    assert found.guarantee == Guarantee(System(), 1.0, 0.0, "docs/proofs/counts.md")
    assert (found.public["systems"], found.public["keys"]) == (200, list(KEYS))
    assert found.mechanism.startswith("discrete Laplace noise (counts, totals), permute")
    assert found.tables[5].column("feeder") == list(KEYS)
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert {type(cell) for row in table.rows for cell in row} <= {str, int, float, type(None)}


def test_the_dry_run_says_the_errors_that_the_tables_then_say():
    choices = TableChoices(
        bins=BINS, epsilon=0.8, key="feeder", keys=KEYS,
        shares={"counts": 3, "totals": 2, "quantiles": 2, "mounts": 1},
    )  # fmt: skip
    expected = {(each.table, each.value): each for each in expected_tables(choices)}
    made = fleet_tables(random_fleet(90), choices)
    found = {table.name: table for table in made.tables}
    for name in ("counts", "planes", "sectors", "tilts", "capacities", "mounts"):
        known = [row for row in found[name].rows if name == "mounts" or "unknown" not in row]
        assert {row[-1] for row in known} == {round(expected[name, "systems"].error, 4)}
    assert (expected["totals", "total_kw"].unit, expected["counts", "systems"].unit) == (
        "%",
        "systems",
    )
    for row in found["quantiles"].rows:
        assert row[-1] == round(expected["quantiles", row[1]].error, 4)
    # five tables of counts are one draw, and quantiles of two quantities cost the same
    cost = sum(expected[name, "systems"].cost for name in ("counts", "mounts"))
    cost += expected["totals", "total_kw"].cost + 2 * expected["quantiles", "surface_tilt"].cost
    assert cost == pytest.approx(0.8)


def test_values_that_are_missing_are_published_as_unknown_and_refused_nowhere():
    rows = fleet([(NAN, NAN, NAN)] * 500)
    found = fleet_tables(rows, TableChoices(bins=BINS, epsilon=20.0))
    counts = found.tables[0]
    assert counts.rows[-1][:3] == ("unknown",) * 3
    assert counts.rows[-1][3] >= 480
    assert math.isfinite(found.tables[5].rows[0][1])


@pytest.mark.parametrize("concentrated", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, NAN, np.inf, 100.0, 1e-5, True])
def test_an_epsilon_that_means_nothing_is_refused_in_one_sentence(epsilon, concentrated):
    rows = fleet([(123.456, 12.3456, 98.7654)] * 20)
    with pytest.raises(ParameterError, match="epsilon") as caught:
        fleet_tables(rows, TableChoices(bins=BINS, epsilon=epsilon), concentrated=concentrated)
    message = str(caught.value)
    assert "\n" not in message
    assert not any(value in message for value in ("123.4", "12.34", "98.7", "secret"))


def test_what_is_refused_is_refused_before_anything_is_drawn():
    small = TableChoices(bins=BINS, epsilon=0.001, quantiles=(0.1, 0.5, 0.9))
    with pytest.raises(ParameterError, match="epsilon"):
        expected_tables(small)
    with pytest.raises(ParameterError, match="epsilon"):
        fleet_tables(random_fleet(9), small)
    rows = fleet([(1, 1, 98765)], ["F9"])
    with pytest.raises(ParameterError, match="'F9'") as caught:
        fleet_tables(rows, TableChoices(bins=BINS, epsilon=1.0, key="feeder", keys=KEYS))
    assert "98765" not in str(caught.value)


def test_epsilon_goes_to_the_tables_that_are_bought_and_sums_come_with_them():
    choices = TableChoices(bins=BINS, epsilon=1.0, tables=("planes", "totals"), quantiles=())
    found = fleet_tables(random_fleet(300), choices)
    assert [table.name for table in found.tables] == ["planes", "sectors", "tilts", "totals"]
    assert found.public["parts"] == {"planes": 0.5, "totals": 0.5}
    assert "drawn by itself" in found.tables[0].about
    assert "added up from `planes`" in found.tables[1].about
    assert all("all tables agree" in table.about for table in found.tables[:3])
    assert [(each.table, each.cost) for each in expected_tables(choices)] == [
        ("planes", 0.5), ("sectors", 0.0), ("tilts", 0.0), ("totals", 0.5),
    ]  # fmt: skip

    def error(table):
        found = expected_tables(TableChoices(epsilon=1.0, tables=(table,)))
        return next(each.error for each in found if each.table == "sectors")

    assert error("counts") / error("sectors") == pytest.approx(36**0.5)


def test_given_bounds_say_what_they_cut_off_as_far_as_classes_tell():
    rows = fleet([(180.0, 30.0, 4.0)] * 400 + [(180.0, 30.0, 60.0)] * 100)
    asked = {"bins": BINS, "epsilon": 50.0, "clip_kw": (0.0, 25.0), "largest_kw": 500.0}
    shares = {"capacities": 49.0, "totals": 1.0}
    found = {t.name: t for t in fleet_tables(rows, TableChoices(shares=shares, **asked)).tables}
    assert found["totals"].column("cut_at_most_kw") == [47500.0]
    names = [column.name for column in found["totals"].columns]
    assert "error_kw" not in names
    (alone,) = fleet_tables(rows, TableChoices(tables=("totals",), **asked)).tables
    assert "how much is not known" in alone.about
    assert len(alone.columns) == len(names) - 1


def test_no_quantile_is_cut_off_at_the_clip():
    rows = fleet([(180.0, 30.0, 640.0)] * 500)
    asked = {"tables": ("quantiles",), "clip_kw": (0.0, 25.0), "quantiles": (0.5,)}
    (table,) = fleet_tables(rows, TableChoices(bins=BINS, epsilon=20.0, **asked)).tables
    assert table.rows[0][2] == pytest.approx(640.0, rel=0.02)


CHOICES = TableChoices(bins=Bins(), epsilon=1.0)
ROWS = random_fleet(200)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        made.create_dataset("homes", Promise(System(), 2.5))
        made.create_dataset("many", Promise(System(), 9.0, 1e-6))
        yield made


def publish(ledger, dataset="homes", **options):
    choices = TableChoices(**{"bins": Bins(), "epsilon": 1.0, **options})
    return Publisher(ledger, dataset).publish(FleetTables(choices, ROWS))


def test_tables_of_an_earlier_version_come_back_as_they_were(ledger, monkeypatch):
    """They had whole numbers where parts of systems are now, and said so."""
    columns = (Column("sector", "string", "Sector."), Column("noisy", "integer", "As drawn."))
    earlier = PublishedTable("sectors", "Systems by sector.", columns, (("N", 3), ("E", -2)))
    guarantee = Guarantee(System(), 1.0, 0.0, "docs/proofs/counts.md")
    made = Publication("Tables", (earlier,), guarantee, "discrete Laplace noise", {})
    with monkeypatch.context() as patch:
        patch.setattr("sunveil.publish.fleet_tables.fleet_tables", lambda *_, **__: made)
        publish(ledger)
    (table,) = publish(ledger).tables
    assert table.to_dict() == earlier.to_dict()
    assert [type(row[1]) for row in table.rows] == [int, int]
    assert ledger.dataset("homes").remaining == pytest.approx(1.5)


def test_another_edition_and_other_tables_are_other_questions(ledger):
    publish(ledger, epsilon=0.5)
    publish(ledger, epsilon=0.5, edition="2026")
    for tables in (("sectors",), ("sectors", "totals")):
        found = publish(ledger, epsilon=0.5, tables=tables)
        assert [table.name for table in found.tables] == list(tables)
    assert ledger.dataset("homes").remaining == pytest.approx(0.5)
    same = TableChoices(bins=Bins(), epsilon=0.5, tables=("totals", "sectors"))
    assert Publisher(ledger, "homes").plan(FleetTables(same)).kept


def test_tables_of_whole_records_serve_a_promise_about_days(ledger):
    ledger.create_dataset("days", Promise(Days(1), 2.0))
    Publisher(ledger, "days").publish(FleetTables(CHOICES, ROWS))
    assert ledger.dataset("days").remaining == pytest.approx(1.0)


def test_estimates_that_are_torn_tell_nothing_by_their_error(tmp_path):
    """Of a run that is over; other folders are refused in tests/fleet/test_fleet_command.py."""
    (tmp_path / "estimates").mkdir()
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "summary.json").write_text('{"total_dc_capacity_kw": 98765.0}')
    pd.DataFrame({"dc_capacity_kw": [98765.0]}).to_parquet(tmp_path / "estimates/part-0.parquet")
    part = tmp_path / "estimates" / "part-0.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    with pytest.raises(SourceError, match="cannot be read") as refused:
        read_fleet(tmp_path)
    assert "98765" not in str(refused.value)
