from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from fleet_makers import KEYS, fleet, random_fleet
from hypothesis import given
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.privacy.units import System
from sunveil.publish.bins import Bins
from sunveil.publish.fleet import dry_fleet_tables, fleet_tables, split

BINS = Bins(4, (0.0, 30.0, 90.0), (0.0, 5.0, 1000.0))
NAN = float("nan")
WEIGHTS = st.floats(0.01, 1.0)


@given(st.floats(0.1, 20.0), WEIGHTS, WEIGHTS, WEIGHTS)
def test_the_parts_add_up_to_epsilon_and_never_above(epsilon, a, b, c):
    parts = split(epsilon, {"counts": a, "totals": b, "quantiles": c}, quantiles=3)
    assert sum(map(Fraction, parts.values())) <= Fraction(epsilon)
    assert sum(parts.values()) == pytest.approx(epsilon)
    assert parts["counts"] == pytest.approx(epsilon * a / (a + b + c))


def test_the_default_shares_leave_out_quantiles_that_nobody_asks_for():
    assert split(1.0, None, quantiles=3) == {"counts": 0.5, "totals": 0.25, "quantiles": 0.25}
    assert list(split(1.0, None, quantiles=0)) == ["counts", "totals"]


@pytest.mark.parametrize(
    ("shares", "quantiles"),
    [({"counts": -1.0}, 0), ({"counts": NAN}, 0), ({"sums": 1.0}, 0), ({}, 0), ({"counts": 0.0}, 0),
     ({"counts": 1.0, "quantiles": 1.0}, 0), ({"counts": 1.0}, 3)],
)  # fmt: skip
def test_shares_that_are_none_are_refused(shares, quantiles):
    with pytest.raises(ParameterError):
        split(1.0, shares, quantiles=quantiles)


def test_a_publication_has_its_tables_its_guarantee_and_its_public_choices():
    rows = random_fleet(200)
    found = fleet_tables(rows, bins=BINS, epsilon=1.0, key="feeder", keys=KEYS)
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
    assert found.mechanism.startswith("discrete Laplace noise (counts and totals), permute")
    for table in found.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert {type(cell) for row in table.rows for cell in row} <= {str, int, float, type(None)}


@pytest.mark.parametrize(
    ("shares", "quantiles", "names", "words"),
    [
        ({"totals": 1.0}, (), ["totals"], "discrete Laplace noise (totals)"),
        ({"quantiles": 1.0}, (0.5,), ["quantiles"], "permute-and-flip on ranks (quantiles)"),
    ],
)
def test_a_part_without_a_share_is_not_drawn(shares, quantiles, names, words):
    found = fleet_tables(
        random_fleet(50), bins=BINS, epsilon=1.0, shares=shares, quantiles=quantiles
    )
    assert [table.name for table in found.tables] == names
    assert found.mechanism == words


def test_the_dry_run_says_the_errors_that_the_tables_then_say():
    choices = {"bins": BINS, "epsilon": 0.8, "key": "feeder", "keys": KEYS}
    expected = {(each.table, each.value): each for each in dry_fleet_tables(**choices)}
    found = {table.name: table for table in fleet_tables(random_fleet(90), **choices).tables}
    for name in ("counts", "planes", "sectors", "tilts", "capacities"):
        known = [row for row in found[name].rows if "unknown" not in row]
        assert {row[-1] for row in known} == {round(expected[name, "systems"].error, 4)}
    stated = set(found["totals"].column("total_sd_kw"))
    assert stated == {round(expected["totals", "total_kw"].error, 6)}
    for row in found["quantiles"].rows:
        assert row[-1] == round(expected["quantiles", row[1]].error, 4)
    # five tables of counts are one draw, and six quantiles are six
    cost = (
        expected["counts", "systems"].epsilon
        + expected["totals", "total_kw"].epsilon
        + 6 * expected["quantiles", "surface_tilt"].epsilon
    )
    assert cost == pytest.approx(0.8)


def test_values_that_are_missing_are_published_as_unknown_and_refused_nowhere():
    rows = fleet([(NAN, NAN, NAN)] * 500)
    found = fleet_tables(rows, bins=BINS, epsilon=20.0)
    counts = found.tables[0]
    assert counts.rows[-1][:3] == ("unknown",) * 3
    assert counts.rows[-1][3] >= 480
    assert math.isfinite(found.tables[5].rows[0][1])


@pytest.mark.parametrize("epsilon", [0.0, -1.0, NAN, np.inf, 100.0, 1e-5, True])
def test_an_epsilon_that_means_nothing_is_refused_in_one_sentence(epsilon):
    rows = fleet([(123.456, 12.3456, 98.7654)] * 20)
    with pytest.raises(ParameterError, match="epsilon") as caught:
        fleet_tables(rows, bins=BINS, epsilon=epsilon)
    message = str(caught.value)
    assert "\n" not in message
    assert not any(value in message for value in ("123.4", "12.34", "98.7", "secret"))


def test_quantiles_with_too_small_a_part_are_refused_before_anything_is_drawn():
    choices = {"bins": BINS, "epsilon": 0.001, "quantiles": (0.1, 0.5, 0.9)}
    with pytest.raises(ParameterError, match="epsilon"):
        dry_fleet_tables(**choices)
    with pytest.raises(ParameterError, match="epsilon"):
        fleet_tables(random_fleet(9), **choices)


def test_an_unknown_key_is_refused_before_anything_is_drawn():
    rows = fleet([(1, 1, 98765)], ["F9"])
    with pytest.raises(ParameterError, match="'F9'") as caught:
        fleet_tables(rows, bins=BINS, epsilon=1.0, key="feeder", keys=KEYS)
    assert "98765" not in str(caught.value)
