from __future__ import annotations

import datetime
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from fleet_makers import KEYS, fleet, neighbours, random_fleet
from hypothesis import given
from scipy.stats import chi2

from sunveil.privacy import DiscreteLaplace
from sunveil.privacy.discrete_noise import Spending
from sunveil.publication import write_publication
from sunveil.publication.published_tables import Bins
from sunveil.publish.fleet_tables import (
    LABELS,
    SENSITIVITY,
    TableChoices,
    draw_mounts,
    expected_tables,
    fleet_tables,
    mount_counts,
    mount_deviation,
)
from sunveil.publish.noisy_counts import groups_of

NAN = float("nan")
PAIR = [(90, 30, 0.6), (270, 30, 0.4)]
# Two on one plane, one on two, one that turns, one refused and one that nothing can tell.
VALUES = [(180, 30, 4)] * 4 + [(NAN, NAN, NAN), (180, 30, 4)]
MIXED = {"planes": {2: PAIR}, "turning": {3}, "untold": {5}}


def grouped(rows):
    return groups_of(rows, key="feeder", keys=KEYS)


def test_every_system_is_in_one_row_of_its_group():
    rows = fleet(VALUES, ["F1", "F3", "F3", "F3", "F3", "F3"], **MIXED)
    counts = mount_counts(rows, grouped(rows))
    assert counts.values.reshape(3, -1).tolist() == [[1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 2]]
    assert counts.sensitivity == SENSITIVITY


@given(neighbours())
def test_one_row_moves_two_cells_of_its_own_group_by_one_at_most(pair):
    before, after = (mount_counts(rows, grouped(rows)).values for rows in pair)
    moved = (before - after).reshape(len(KEYS), -1)
    assert np.abs(moved).sum() <= SENSITIVITY.absolute
    assert (moved**2).sum() <= SENSITIVITY.squared
    assert (moved.sum(axis=1) == 0).all()
    assert before.sum() == len(pair[0])


def test_two_is_reached():
    ours, theirs = (fleet(VALUES[:1], turning=turning) for turning in ((), {0}))
    whole = groups_of(ours, key=None, keys=None)
    moved = mount_counts(ours, whole).values - mount_counts(theirs, whole).values
    assert np.abs(moved).sum() == SENSITIVITY.absolute
    assert (moved**2).sum() == SENSITIVITY.squared


def test_the_drawn_noise_follows_its_law():
    """Noise for half the sensitivity would give some 800; the limit is 58."""
    rows = fleet([], [])
    groups = groups_of(rows, key="feeder", keys=[f"F{i}" for i in range(500)])
    found = draw_mounts(rows, groups, spending=Spending(1.0))
    reach, far = 5, np.arange(-200, 201)
    law = DiscreteLaplace(1.0).probabilities(far, SENSITIVITY)
    expected = len(found.rows) * np.bincount(np.clip(far, -reach, reach) + reach, weights=law)
    seen = np.bincount(np.clip(found.column("noisy"), -reach, reach) + reach)
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-8, 2 * reach)
    assert set(found.column("systems")) == {0}


def test_the_table_has_all_rows_and_says_its_error():
    """At this ε noise of two systems or more has a probability of e^-50."""
    rows = fleet(VALUES * 10, planes=dict.fromkeys(range(2, 60, 6), PAIR),
                 turning=range(3, 60, 6), untold=range(5, 60, 6))  # fmt: skip
    asked = {"bins": Bins(), "epsilon": 50.0, "tables": ("mounts",)}
    (table,) = fleet_tables(rows, TableChoices(**asked)).tables
    assert table.column("mount") == list(LABELS)
    np.testing.assert_allclose(table.column("noisy"), [20, 10, 10, 20], atol=1)
    assert sum(table.column("systems")) == 60
    (expected,) = expected_tables(TableChoices(**asked))
    assert (expected.table, expected.cost, expected.unit) == ("mounts", 50.0, "systems")
    assert set(table.column("sd")) == {round(expected.error, 4)}


@pytest.mark.parametrize("concentrated", [False, True])
def test_its_noise_is_that_of_any_lone_table_of_counts(concentrated):
    spending = Spending.asked(1.0, concentrated=concentrated)
    expected = expected_tables(
        TableChoices(epsilon=1.0, tables=("sectors",)), concentrated=concentrated
    )
    assert mount_deviation(spending) == pytest.approx(expected[0].error, rel=0.011)


def test_it_is_bought_only_by_name_and_then_takes_its_share():
    rows = random_fleet(60)
    usual = fleet_tables(rows, TableChoices(epsilon=1.0))
    assert "mounts" not in {table.name for table in usual.tables}
    found = fleet_tables(
        rows, TableChoices(epsilon=1.0, key="feeder", keys=KEYS, shares={"mounts": 1, "sectors": 3})
    )
    assert found.public["parts"] == {"sectors": 0.75, "mounts": 0.25}
    assert [table.name for table in found.tables] == ["sectors", "mounts"]
    assert found.mechanism == "discrete Laplace noise (sectors, mounts)"
    mounts = found.tables[1]
    assert [row[:2] for row in mounts.rows] == [(key, label) for key in KEYS for label in LABELS]
    whole = np.array(mounts.column("systems")).reshape(3, -1).sum(axis=1)
    np.testing.assert_array_equal(whole, grouped(rows).sizes)


def test_its_folder_looks_the_same_whatever_systems_stand_on(tmp_path):
    texts = []
    for name, mixed in (("some", MIXED), ("none", {})):
        rows = fleet(VALUES, **mixed)
        made = fleet_tables(rows, TableChoices(epsilon=1.0, tables=("mounts",)))
        folder = tmp_path / name
        write_publication(folder, made, published=datetime.date(2026, 3, 1))
        described, *_ = json.loads((folder / "datapackage.json").read_text())["resources"]
        kinds = [(field["name"], field["type"]) for field in described["schema"]["fields"]]
        assert kinds == [
            ("mount", "string"), ("systems", "integer"), ("noisy", "integer"), ("sd", "number"),
        ]  # fmt: skip
        card, words = ((folder / each).read_text() for each in ("release-card.yaml", "README.md"))
        for text in (card, words):
            assert "A system is in one row." in " ".join(text.split())
        assert "on two or on a tracker" in " ".join(card.split())
        schema = pq.read_table(folder / "mounts.parquet").schema
        texts.append((described["schema"], described["description"], card, words, str(schema)))
    assert texts[0] == texts[1]
