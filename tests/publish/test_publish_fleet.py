from __future__ import annotations

import datetime
import json
import math

import numpy as np
import pyarrow.parquet as pq
import pytest
from fleet_makers import KEYS, fleet, random_fleet

from sunveil.errors import ParameterError
from sunveil.privacy import ConcentratedGuarantee, System
from sunveil.publication import write_publication
from sunveil.publication.published_tables import Bins
from sunveil.publish.fleet_tables import TableChoices, expected_tables, fleet_tables

BINS = Bins(4, (0.0, 30.0, 90.0), (0.0, 5.0, 1000.0))
NAN = float("nan")
PAIR = [(90.0, 30.0, 0.61), (270.0, 30.0, 0.39)]


def test_a_publication_has_its_tables_its_guarantee_and_its_public_choices():
    rows = random_fleet(200)
    found = fleet_tables(rows, TableChoices(bins=BINS, epsilon=1.0, key="feeder", keys=KEYS))
    assert [table.name for table in found.tables] == [
        "counts", "planes", "sectors", "tilts", "capacities", "totals", "quantiles",
    ]  # fmt: skip
    assert (found.guarantee.unit, found.guarantee.epsilon, found.guarantee.delta) == (
        System(),
        1.0,
        0.0,
    )
    assert found.public["systems"] == 200
    assert found.public["keys"] == list(KEYS)
    assert found.mechanism.startswith("discrete Laplace noise (counts, totals), permute")
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert {type(cell) for row in table.rows for cell in row} <= {str, int, float, type(None)}


@pytest.mark.parametrize(
    ("shares", "quantiles", "names", "words"),
    [
        ({"totals": 1.0}, (), ["totals"], "discrete Laplace noise (totals)"),
        ({"quantiles": 1.0}, (0.5,), ["quantiles"], "permute-and-flip (quantiles"),
    ],
)
def test_a_part_without_a_share_is_not_drawn(shares, quantiles, names, words):
    found = fleet_tables(
        random_fleet(50), TableChoices(bins=BINS, epsilon=1.0, shares=shares, quantiles=quantiles)
    )
    assert [table.name for table in found.tables] == names
    assert found.mechanism.startswith(words)


def test_the_dry_run_says_the_errors_that_the_tables_then_say():
    choices = {"bins": BINS, "epsilon": 0.8, "key": "feeder", "keys": KEYS}
    expected = {(each.table, each.value): each for each in expected_tables(TableChoices(**choices))}
    found = {
        table.name: table
        for table in fleet_tables(random_fleet(90), TableChoices(**choices)).tables
    }
    for name in ("counts", "planes", "sectors", "tilts", "capacities"):
        known = [row for row in found[name].rows if "unknown" not in row]
        assert {row[-1] for row in known} == {round(expected[name, "systems"].error, 4)}
    assert (expected["totals", "total_kw"].unit, expected["counts", "systems"].unit) == (
        "%",
        "systems",
    )
    for row in found["quantiles"].rows:
        assert row[-1] == round(expected["quantiles", row[1]].error, 4)
    # five tables of counts are one draw, and quantiles of two quantities cost the same
    cost = (
        expected["counts", "systems"].cost
        + expected["totals", "total_kw"].cost
        + 2 * expected["quantiles", "surface_tilt"].cost
    )
    assert cost == pytest.approx(0.8)


def test_values_that_are_missing_are_published_as_unknown_and_refused_nowhere():
    rows = fleet([(NAN, NAN, NAN)] * 500)
    found = fleet_tables(rows, TableChoices(bins=BINS, epsilon=20.0))
    counts = found.tables[0]
    assert counts.rows[-1][:3] == ("unknown",) * 3
    assert counts.rows[-1][3] >= 480
    assert math.isfinite(found.tables[5].rows[0][1])


@pytest.mark.parametrize("epsilon", [0.0, -1.0, NAN, np.inf, 100.0, 1e-5, True])
def test_an_epsilon_that_means_nothing_is_refused_in_one_sentence(epsilon):
    rows = fleet([(123.456, 12.3456, 98.7654)] * 20)
    with pytest.raises(ParameterError, match="epsilon") as caught:
        fleet_tables(rows, TableChoices(bins=BINS, epsilon=epsilon))
    message = str(caught.value)
    assert "\n" not in message
    assert not any(value in message for value in ("123.4", "12.34", "98.7", "secret"))


def test_quantiles_with_too_small_a_part_are_refused_before_anything_is_drawn():
    choices = {"bins": BINS, "epsilon": 0.001, "quantiles": (0.1, 0.5, 0.9)}
    with pytest.raises(ParameterError, match="epsilon"):
        expected_tables(TableChoices(**choices))
    with pytest.raises(ParameterError, match="epsilon"):
        fleet_tables(random_fleet(9), TableChoices(**choices))


def test_an_unknown_key_is_refused_before_anything_is_drawn():
    rows = fleet([(1, 1, 98765)], ["F9"])
    with pytest.raises(ParameterError, match="'F9'") as caught:
        fleet_tables(rows, TableChoices(bins=BINS, epsilon=1.0, key="feeder", keys=KEYS))
    assert "98765" not in str(caught.value)


def test_epsilon_goes_to_the_tables_that_are_bought_and_sums_come_with_them():
    rows = random_fleet(300)
    found = fleet_tables(
        rows, TableChoices(bins=BINS, epsilon=1.0, tables=("planes", "totals"), quantiles=())
    )
    assert [table.name for table in found.tables] == ["planes", "sectors", "tilts", "totals"]
    assert found.public["parts"] == {"planes": 0.5, "totals": 0.5}
    assert "drawn by itself" in found.tables[0].about
    assert "added up from `planes`" in found.tables[1].about
    assert all("all tables agree" in table.about for table in found.tables[:3])
    expected = expected_tables(
        TableChoices(bins=BINS, epsilon=1.0, tables=("planes", "totals"), quantiles=())
    )
    assert [(each.table, each.cost) for each in expected] == [
        ("planes", 0.5), ("sectors", 0.0), ("tilts", 0.0), ("totals", 0.5),
    ]  # fmt: skip


def test_a_lone_table_is_as_much_less_noisy_as_cells_are_added_up_for_it():
    def error(tables):
        found = expected_tables(TableChoices(epsilon=1.0, tables=tables))
        return next(each.error for each in found if each.table == "sectors")

    assert error(("counts",)) / error(("sectors",)) == pytest.approx(36**0.5)


def test_a_promise_with_delta_is_paid_in_rho_with_gaussian_noise():
    rows = random_fleet(200)
    asked = TableChoices(bins=BINS, epsilon=1.0)
    found = fleet_tables(rows, asked, concentrated=True)
    assert found.guarantee == ConcentratedGuarantee(System(), 0.5, "docs/proofs/counts.md")
    assert found.mechanism.startswith("discrete Gaussian noise (counts, totals), the exponential")
    many = expected_tables(asked, concentrated=True)
    errors = {(each.table, each.value): each.error for each in many}
    pure = {
        (each.table, each.value): each.error
        for each in expected_tables(TableChoices(bins=BINS, epsilon=1.0))
    }
    assert all(errors[each] < pure[each] for each in pure)
    counts = next(table for table in found.tables if table.name == "counts")
    # two cells move by one: √2 over √(2 · half of ρ = 1/2)
    assert counts.rows[0][-1] == pytest.approx(2.0, abs=1e-3)


def test_a_folder_says_how_systems_on_two_planes_are_counted_whether_or_not_there_are_any(tmp_path):
    texts, types = [], []
    for name, given in (("with", {0: PAIR}), ("without", {})):
        rows = fleet([(180.0, 5.0, 4.0)] * 3, planes=given)
        found = fleet_tables(
            rows, TableChoices(bins=BINS, epsilon=1.0, tables=("sectors", "tilts"))
        )
        write_publication(tmp_path / name, found, published=datetime.date(2026, 3, 1))
        described = json.loads((tmp_path / name / "datapackage.json").read_text())["resources"]
        types.append([each["schema"] for each in described])
        said = [each["description"] for each in described]
        said += [
            (tmp_path / name / file).read_text() for file in ("README.md", "release-card.yaml")
        ]
        texts.append(said)
        assert all(
            "A system on two planes counts in the" in " ".join(text.split()) for text in said
        )
        noisy = pq.read_table(tmp_path / name / "sectors.parquet").schema.field("noisy")
        assert str(noisy.type) == "double"
    assert types[0] == types[1]
    assert texts[0] == texts[1]
    kinds = {field["name"]: field["type"] for field in types[0][0]["fields"]}
    assert (kinds["systems"], kinds["noisy"]) == ("integer", "number")


def test_a_pair_is_published_in_both_sectors():
    """At this ε drawn noise of a system or more has a probability of e^-25."""
    rows = fleet([(180.0, 5.0, 4.0)] * 100, planes=dict.fromkeys(range(100), PAIR))
    (table,) = fleet_tables(rows, TableChoices(bins=BINS, epsilon=50.0, tables=("sectors",))).tables
    assert table.column("sector") == ["N", "E", "S", "W", "unknown"]
    np.testing.assert_allclose(table.column("noisy"), [0.0, 60.0, 0.0, 40.0, 0.0], atol=1.0)
    np.testing.assert_allclose(table.column("systems"), [0, 60, 0, 40, 0], atol=1.0)


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
    (table,) = fleet_tables(
        rows,
        TableChoices(
            bins=BINS, epsilon=20.0, tables=("quantiles",), clip_kw=(0.0, 25.0), quantiles=(0.5,)
        ),
    ).tables
    assert table.rows[0][2] == pytest.approx(640.0, rel=0.02)
