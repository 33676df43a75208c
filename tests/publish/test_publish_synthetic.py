from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sunveil.errors import BudgetExceeded, MissingExtra, ParameterError, SunveilError
from sunveil.estimates.read_write import FleetRows
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.privacy import Guarantee, System, discrete_noise
from sunveil.privacy.discrete_noise import Spending
from sunveil.publication.published_tables import BINS, Bins
from sunveil.publish import fit_synthetic, synthetic_table
from sunveil.publish.fit_synthetic import Marginal, sample_model
from sunveil.publish.publisher import Publisher
from sunveil.publish.synthetic_table import SyntheticTable, bins_of_rows, noise_distance

SMALL = Bins(8, (0.0, 10.0, 20.0, 30.0, 90.0), (1.0, 3.0, 6.0, 12.0, 30.0))
SYSTEMS = 3000


def fleet(number: int = SYSTEMS, seed: int = 0) -> FleetRows:
    """Return a fleet whose steep roofs are large and face south."""
    rng = np.random.default_rng(seed)
    tilt = np.clip(rng.gamma(6.0, 4.0, number), 0.0, 80.0)
    azimuth = (180.0 + rng.normal(0.0, 20.0 + 60.0 * (tilt < 20.0), number)) % 360.0
    capacity = 5.0 * np.exp(0.04 * (tilt - 24.0) + rng.normal(0.0, 0.3, number))
    names = tuple(f"customer-{n}" for n in range(number))
    return FleetRows(names, azimuth, tilt, capacity)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledger")
    with Ledger(folder / "l.db", create=True, marks=HighWaterMarks(folder / "mark")) as book:
        book.create_dataset("d", Promise(System(), 10.0))
        yield book


@pytest.fixture(scope="module")
def found(ledger):
    return Publisher(ledger, "d").publish(SyntheticTable(4.0, fleet(), bins=SMALL))


def test_the_table_is_as_long_as_the_fleet_and_like_it(found):
    table = found.tables[0]
    assert len(table.rows) == SYSTEMS
    real, made = bins_of_rows(fleet(), SMALL), synthetic_table.places_of_table(table, SMALL)
    # half of what is seen comes from drawing 3,000 rows, and most of the rest from the noise
    for axes in (*synthetic_table.SINGLES, *synthetic_table.PAIRS):
        moved = (
            np.abs(
                synthetic_table.tally(real, axes, SMALL) - synthetic_table.tally(made, axes, SMALL)
            ).sum()
            / 2
        )
        assert moved / SYSTEMS < (0.06 if len(axes) == 1 else 0.12)

    def correlations(places):
        turns = 2.0 * np.pi * places[0] / SMALL.sectors
        tilts, classes = np.array(SMALL.tilt_edges), np.array(SMALL.capacity_edges_kw)
        tilt = (tilts[1:] + tilts[:-1])[places[1]]
        capacity = np.log(classes[1:] + classes[:-1])[places[2]]
        found = np.corrcoef([np.cos(turns), np.sin(turns), tilt, capacity])
        return found[[0, 1, 0, 1, 2], [2, 2, 3, 3, 3]]

    assert np.abs(correlations(real)).max() > 0.4
    assert np.abs(correlations(made) - correlations(real)).max() < 0.12


def test_what_goes_together_still_does(found):
    table = found.tables[0]
    tilt, capacity = np.array(table.column("surface_tilt")), table.column("dc_capacity_kw")
    assert np.corrcoef(tilt, np.log(capacity))[0, 1] > 0.4


def test_values_lie_in_the_public_range_and_none_is_a_customers(found):
    table = found.tables[0]
    azimuth, tilt, capacity = (np.array(table.column(name)) for name in fit_synthetic.NAMES)
    assert azimuth.min() >= 0.0
    assert azimuth.max() <= 360.0
    assert tilt.min() >= 0.0
    assert tilt.max() <= 90.0
    assert capacity.min() >= 1.0
    assert capacity.max() <= 30.0
    assert len(set(table.rows)) > 0.99 * SYSTEMS


def test_the_counts_that_it_was_made_of_stand_beside_it_with_their_noise(found):
    counts = found.tables[2]
    noise = found.public["noise_sd"]
    assert counts.name == "noisy-counts"
    assert len(counts.rows) == 8 + 4 + 4 + 32 + 32 + 16
    singles = [row for row in counts.rows if row[:3].count(None) == 2]
    assert {row[4] for row in singles} == {noise["singles"]}
    assert {row[4] for row in counts.rows} == set(noise.values())
    sectors = [row[3] for row in singles if row[0] is not None]
    # eight draws of noise add up; eight deviations of their sum do not happen
    assert sum(sectors) == pytest.approx(SYSTEMS, abs=8 * np.sqrt(8) * noise["singles"])


def test_it_is_charged_once_and_kept(ledger, found, monkeypatch):
    charges = [e.facts() for e in ledger.entries("d") if e.kind == "charge"]
    assert [(each["cost"], each["systems"]) for each in charges] == [(4 * 10**9, None)]
    monkeypatch.setattr(SyntheticTable, "draw", lambda *_, **__: pytest.fail("drawn again"))
    again = Publisher(ledger, "d").publish(SyntheticTable(4.0, fleet(), bins=SMALL))
    assert again.tables[0].rows == found.tables[0].rows
    assert again.tables[1].rows == found.tables[1].rows
    assert ledger.dataset("d").fleet_spent == 4.0
    assert found.guarantee == Guarantee(System(), 4.0, 0.0, "docs/proofs/discrete-laplace.md")


def test_a_stopped_call_is_taken_up_without_a_second_charge(ledger, monkeypatch):
    before = ledger.dataset("d").fleet_spent
    with monkeypatch.context() as patch:
        patch.setattr(SyntheticTable, "draw", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Publisher(ledger, "d").publish(SyntheticTable(0.5, fleet(), bins=SMALL))
    paid = ledger.dataset("d").fleet_spent
    assert paid == before + 0.5
    assert Publisher(ledger, "d").plan(SyntheticTable(0.5, size=SYSTEMS, bins=SMALL)).cost == 0.0
    Publisher(ledger, "d").publish(SyntheticTable(0.5, fleet(), bins=SMALL))
    assert ledger.dataset("d").fleet_spent == paid


def test_a_plan_says_cost_and_noise_and_spends_nothing(ledger, found):
    before = ledger.dataset("d").remaining
    plan = Publisher(ledger, "d").plan(SyntheticTable(1.0, size=SYSTEMS, bins=SMALL))
    assert (plan.cost, plan.remaining, plan.kept) == (1.0, before, False)
    assert list(plan.expected) == [row[1] for row in found.tables[1].rows if row[0] == "distance"]
    kept = Publisher(ledger, "d").plan(SyntheticTable(4.0, size=SYSTEMS, bins=SMALL))
    assert (kept.cost, kept.kept) == (0.0, True)
    assert kept.expected["surface_tilt"] < plan.expected["surface_tilt"] / 3.0
    assert ledger.dataset("d").remaining == before


def test_the_noise_of_all_counts_costs_epsilon_and_no_more():
    for epsilon in (0.1, 0.7, 1.0, 3.3):
        parts = [
            mechanism.epsilon for mechanism, _ in synthetic_table._mechanisms(Spending(epsilon))
        ]
        total = sum(Fraction(part) for part in parts)
        assert Fraction(epsilon) * (1 - Fraction(1, 10**12)) < total <= Fraction(epsilon)


def test_under_a_promise_with_delta_noise_is_gaussian_and_rho_is_charged(ledger):
    parts = [
        noise.rho
        for noise, _ in synthetic_table._mechanisms(Spending.asked(1.0, concentrated=True))
    ]
    assert sum(map(Fraction, parts)) <= Fraction(1, 2)
    assert sum(parts) == pytest.approx(0.5)
    ledger.create_dataset("many", Promise(System(), 9.0, 1e-6))
    ledger.create_dataset("few", Promise(System(), 9.0))
    rho, epsilon = (
        Publisher(ledger, name).plan(SyntheticTable(1.0, size=SYSTEMS, bins=SMALL))
        for name in ("many", "few")
    )
    assert (rho.cost, epsilon.cost) == (0.5, 1.0)
    assert all(rho.expected[name] < 0.5 * noise for name, noise in epsilon.expected.items())


def test_replacing_any_row_moves_each_kind_of_counts_by_at_most_the_sensitivity():
    rows = fleet(50)
    real = synthetic_table.bins_of_rows(rows, BINS)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        other = FleetRows(
            rows.system_ids,
            np.append(rows.surface_azimuth[:-1], rng.uniform(0.0, 360.0)),
            np.append(rows.surface_tilt[:-1], rng.uniform(0.0, 90.0)),
            np.append(rows.dc_capacity_kw[:-1], rng.uniform(0.0, 200.0)),
        )
        moved = synthetic_table.bins_of_rows(other, BINS)
        for kinds in (synthetic_table.SINGLES, synthetic_table.PAIRS):
            away = [
                synthetic_table.tally(real, a, BINS) - synthetic_table.tally(moved, a, BINS)
                for a in kinds
            ]
            assert (
                sum(np.abs(table).sum() for table in away) <= synthetic_table.SENSITIVITY.absolute
            )
            assert sum((table**2).sum() for table in away) <= synthetic_table.SENSITIVITY.squared


def test_the_stated_noise_is_what_the_noise_does():
    mechanism, _ = synthetic_table._mechanisms(Spending(1.0))[1]
    empty = np.zeros(2000, dtype=np.int64)
    counts = discrete_noise.Counts(
        empty, synthetic_table.SENSITIVITY, System(), synthetic_table.PROOFS[0]
    )
    marginal = Marginal(
        (0, 1), empty.astype(float), mechanism.deviation(synthetic_table.SENSITIVITY)
    )
    seen = np.abs(mechanism.draw(counts)).sum() / 2.0 / 500
    assert seen == pytest.approx(noise_distance(marginal, 500), rel=0.15)


def test_the_report_compares_with_the_noisy_counts_only(found):
    table = found.tables[1]
    kinds = [row[0] for row in table.rows]
    assert kinds == ["distance"] * 6 + ["correlation"] * 5
    for kind, _, measured, synthetic, difference, noise in table.rows:
        assert noise > 0.0
        if kind == "correlation":
            assert difference == pytest.approx(synthetic - measured, abs=2e-6)
            assert abs(difference) < 0.15
        else:
            assert 0.0 < difference < 0.3


def test_the_stated_error_of_a_correlation_is_that_of_noisy_counts():
    rng = np.random.default_rng(0)
    x, y = np.arange(5.0), np.arange(6.0)
    table = 5.0 + 900.0 * np.exp(-4.0 * (x[:, None] - y[None, :] * 0.8) ** 2 - x[:, None])
    real = synthetic_table._correlation(table, x, y)
    told = synthetic_table._correlation_noise(Marginal((1, 2), table, 2.0), real, x, y)
    seen = [
        synthetic_table._correlation(table + rng.normal(0.0, 2.0, table.shape), x, y)
        for _ in range(400)
    ]
    assert np.std(seen) == pytest.approx(told, rel=0.15)


def test_jax_stays_out_of_the_process_that_holds_the_ledger(found):
    assert "jax" not in sys.modules


def test_a_model_that_cannot_be_fitted_is_told_in_one_sentence():
    empty = Marginal((0,), np.zeros(3), 1.0)
    with pytest.raises(SunveilError, match="could not be fitted: ") as caught:
        sample_model([empty], 5, shape=(8, 4, 4))
    assert "\n" not in str(caught.value)


def test_a_system_without_values_is_counted_like_any_other():
    gap = fleet(20)
    gap = replace(gap, surface_tilt=np.append(gap.surface_tilt[:-1], np.nan))
    cells = bins_of_rows(gap, BINS)
    assert cells.shape == (3, 20)
    assert cells[:, -1].tolist() == [0, 0, 0]
    assert (cells[:, :-1] == bins_of_rows(fleet(20), BINS)[:, :-1]).all()


def test_refusals_charge_nothing(ledger, found, monkeypatch):
    before = ledger.entries("d")
    with pytest.raises(ParameterError, match="at least one system"):
        Publisher(ledger, "d").publish(SyntheticTable(1.0, fleet(0)))
    with pytest.raises(BudgetExceeded):
        Publisher(ledger, "d").publish(SyntheticTable(7.0, fleet(20)))
    with pytest.raises(ParameterError):
        Publisher(ledger, "d").publish(SyntheticTable(0.0, fleet(20)))
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sunveil\[synthetic\]'"):
        Publisher(ledger, "d").publish(SyntheticTable(1.0, fleet(20)))
    assert ledger.entries("d") == before


@pytest.mark.parametrize("left", [0.0, -3.0])
def test_noise_that_leaves_nobody_leaves_no_correlation(left):
    table = np.array([[2.0, -2.0], [1.0, left - 1.0]])
    shares, x, y = synthetic_table._standard(table, np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert float(x @ shares @ y) == 0.0


@pytest.mark.parametrize("column", [0, 1])
def test_where_noise_leaves_no_spread_the_stated_error_says_only_noise(column):
    # all that is left stands in one bin of an axis: first order would say a billion
    counts = np.zeros((4, 3))
    counts[:, column] = [1.0, 0.0, 2.0, 0.0]
    bare = Marginal((1, 2), counts, 300.0)
    found = synthetic_table._correlation_noise(bare, 0.0, np.arange(4.0), np.arange(3.0))
    assert found == 1.0


def test_no_error_of_survival_is_larger_than_what_it_is_an_error_of(ledger, found):
    table = found.tables[0]
    noisy = [
        Marginal(axes, np.full([SMALL.shape[a] for a in axes], 1e-3), 1e5)
        for axes in (*synthetic_table.SINGLES, *synthetic_table.PAIRS)
    ]
    rows = synthetic_table.survival(table, noisy, SMALL).column("noise_error")
    assert all(0.0 <= each <= 1.0 for each in rows)
    assert max(rows) == 1.0
