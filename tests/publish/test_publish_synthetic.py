from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import SunveilError
from sunveil.estimates.read_write import FleetRows
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.privacy import Guarantee, System, discrete_noise
from sunveil.privacy.discrete_noise import Spending
from sunveil.publication.published_tables import BINS, Bins
from sunveil.publish import fit_synthetic, synthetic_table
from sunveil.publish.fit_synthetic import Marginal, sample_model
from sunveil.publish.publisher import Publisher
from sunveil.publish.synthetic_table import SyntheticTable, bins_of_rows, noise_distance, tally

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
    return publish(ledger, 4.0)


def publish(ledger, epsilon, rows=None):
    table = SyntheticTable(epsilon, fleet() if rows is None else rows, bins=SMALL)
    return Publisher(ledger, "d").publish(table)


def plan(ledger, epsilon, dataset="d"):
    return Publisher(ledger, dataset).plan(SyntheticTable(epsilon, size=SYSTEMS, bins=SMALL))


def correlations(places):
    turns = 2.0 * np.pi * places[0] / SMALL.sectors
    tilts, classes = np.array(SMALL.tilt_edges), np.array(SMALL.capacity_edges_kw)
    tilt = (tilts[1:] + tilts[:-1])[places[1]]
    capacity = np.log(classes[1:] + classes[:-1])[places[2]]
    found = np.corrcoef([np.cos(turns), np.sin(turns), tilt, capacity])
    return found[[0, 1, 0, 1, 2], [2, 2, 3, 3, 3]]


def test_the_table_is_as_long_as_the_fleet_and_like_it(found):
    table = found.tables[0]
    assert len(table.rows) == SYSTEMS
    real, made = bins_of_rows(fleet(), SMALL), synthetic_table.places_of_table(table, SMALL)
    # half of what is seen comes from drawing 3,000 rows, and most of the rest from the noise
    for axes in (*synthetic_table.SINGLES, *synthetic_table.PAIRS):
        moved = np.abs(tally(real, axes, SMALL) - tally(made, axes, SMALL)).sum() / 2
        assert moved / SYSTEMS < (0.06 if len(axes) == 1 else 0.12)
    assert np.abs(correlations(real)).max() > 0.4
    assert np.abs(correlations(made) - correlations(real)).max() < 0.12


def test_values_go_together_lie_in_the_public_range_and_none_is_a_customers(found):
    table = found.tables[0]
    azimuth, tilt, capacity = (np.array(table.column(name)) for name in fit_synthetic.NAMES)
    assert np.corrcoef(tilt, np.log(capacity))[0, 1] > 0.4
    for values, low, high in ((azimuth, 0.0, 360.0), (tilt, 0.0, 90.0), (capacity, 1.0, 30.0)):
        assert low <= values.min() <= values.max() <= high
    assert len(set(table.rows)) > 0.99 * SYSTEMS
    assert "jax" not in sys.modules  # which must stay out of the process that holds the ledger


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


def test_a_plan_states_the_errors_that_the_table_then_states(ledger, found):
    distances = [row[1] for row in found.tables[1].rows if row[0] == "distance"]
    one, four = (plan(ledger, epsilon).expected for epsilon in (1.0, 4.0))
    assert list(one) == distances
    assert four["surface_tilt"] < one["surface_tilt"] / 3.0
    assert found.guarantee == Guarantee(System(), 4.0, 0.0, "docs/proofs/discrete-laplace.md")


def parts_of(spending):
    return [mechanism for mechanism, _ in synthetic_table._mechanisms(spending)]


def test_under_a_promise_with_delta_noise_is_gaussian_and_rho_is_charged(ledger):
    ledger.create_dataset("many", Promise(System(), 9.0, 1e-6))
    ledger.create_dataset("few", Promise(System(), 9.0))
    rho, epsilon = (plan(ledger, 1.0, name) for name in ("many", "few"))
    assert (rho.cost, epsilon.cost) == (0.5, 1.0)
    assert all(rho.expected[name] < 0.5 * noise for name, noise in epsilon.expected.items())


def test_the_stated_noise_is_what_the_noise_does():
    mechanism, bound = parts_of(Spending(1.0))[1], synthetic_table.SENSITIVITY
    empty = np.zeros(2000, dtype=np.int64)
    counts = discrete_noise.Counts(empty, bound, System(), synthetic_table.PROOFS[0])
    marginal = Marginal((0, 1), empty.astype(float), mechanism.deviation(bound))
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


def test_where_noise_leaves_nobody_or_no_spread_the_stated_error_says_only_noise():
    for left in (0.0, -3.0):
        table = np.array([[2.0, -2.0], [1.0, left - 1.0]])
        shares, x, y = synthetic_table._standard(table, np.arange(2.0), np.arange(2.0))
        assert float(x @ shares @ y) == 0.0
    for column in (0, 1):
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
