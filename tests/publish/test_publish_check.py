from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sunveil.errors import ParameterError
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promise import Promise
from sunveil.meters.record import Cleaning, Record
from sunveil.privacy.units import System
from sunveil.publish import check_cells
from sunveil.publish.check import plan_check, publish_check
from sunveil.publish.check_cells import (
    CELLS,
    CheckChoices,
    cells_of_times,
    check_bounds,
    check_counts,
    check_sensitivity,
    system_means,
)
from sunveil.site import Site

CHOICES = CheckChoices(Site(39.74, -105.17), "2023-01-01", "2023-12-31", 1.0, largest_kw=10.0)
FIRST = int(np.datetime64("2023-01-01").astype("datetime64[s]").astype(np.int64))
HOURS = FIRST + 3600 * np.arange(364 * 24)


def record(power, name="a", cleaning=Cleaning.EACH) -> Record:
    values = np.broadcast_to(np.asarray(power, dtype=np.float64), HOURS.shape)
    return Record(name, HOURS.astype("datetime64[s]"), values.copy(), 60.0, cleaning=cleaning)


def moved(one: Record, other: Record) -> np.ndarray:
    rest = [record(3.0, "b")]
    return np.abs(
        check_counts([one, *rest], CHOICES).values - check_counts([other, *rest], CHOICES).values
    )


@settings(max_examples=30)
@given(
    powers=st.tuples(*[st.sampled_from([-50.0, 0.0, 0.3, 4.0, 10.0, 1e9])] * 2),
    gaps=st.integers(1, 24),
)
def test_no_record_moves_a_total_beyond_its_bound(powers, gaps):
    one = record(powers[0])
    other = Record("a", HOURS[::gaps].astype("datetime64[s]"),
                   np.full(len(HOURS[::gaps]), powers[1]), 60.0)  # fmt: skip
    assert (moved(one, other) <= check_bounds(CHOICES)).all()


def test_the_bounds_are_reached():
    assert moved(record(0.0), record(1e9)).tolist() == check_bounds(CHOICES).tolist()


def loss(counts_a, counts_b, sensitivity, epsilon) -> float:
    """Return the largest log ratio of the laws of Laplace noise around two rows of totals."""
    from sunveil.privacy.counting import DiscreteLaplace

    return float(np.abs(counts_a - counts_b).sum() / DiscreteLaplace(epsilon).scale(sensitivity))


def test_neighbours_are_within_epsilon_and_a_bound_planted_too_small_is_caught(monkeypatch):
    ours, theirs = (check_counts([record(p)], CHOICES) for p in (0.0, 1e9))
    assert 0.99 < loss(ours.values, theirs.values, ours.sensitivity, 1.0) <= 1.0
    true = check_bounds(CHOICES)
    # the fault: systems are held at the bounds, and noise is scaled to a quarter of them
    monkeypatch.setattr(
        check_cells, "check_sensitivity", lambda bounds: check_sensitivity(bounds // 4)
    )
    ours, theirs = (check_counts([record(p)], CHOICES) for p in (0.0, 1e9))
    assert (check_bounds(CHOICES) == true).all()
    assert loss(ours.values, theirs.values, ours.sensitivity, 1.0) > 3.0


def test_a_missing_reading_counts_as_zero():
    half = Record("a", HOURS[::2].astype("datetime64[s]"), np.full(len(HOURS[::2]), 2.0), 60.0)
    whole = system_means(record(2.0), CHOICES)
    assert system_means(half, CHOICES) == pytest.approx(whole / 2.0, rel=0.01)


def test_every_daylight_hour_has_a_season_and_a_part_of_the_day():
    cells = cells_of_times(HOURS, CHOICES.site)
    assert set(cells.tolist()) == {-1, *range(CELLS)}
    noon = cells_of_times(np.array([FIRST + 19 * 3600]), CHOICES.site)
    assert noon.tolist() == [1]
    assert cells_of_times(np.array([FIRST + 2 * 3600]), Site(-33.9, 151.2)).tolist() == [9]


def test_a_check_is_charged_and_kept(tmp_path):
    records = [record(1.0 + k / 10.0, f"s{k}") for k in range(20)]
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.create_dataset("homes", Promise(System(), epsilon=2.0))
        plan = plan_check(ledger, "homes", choices=CHOICES)
        assert (plan.cost, plan.kept) == (1.0, False)
        found = publish_check(ledger, "homes", records, choices=CHOICES)
        again = publish_check(ledger, "homes", records, choices=CHOICES)
        assert found.tables[0].rows == again.tables[0].rows
        assert ledger.dataset("homes").remaining == pytest.approx(1.0)
    assert len(found.tables[0].rows) == CELLS
    assert found.tables[0].column("sd_kw")[0] == pytest.approx(plan.deviation_kw, rel=1e-3)


def test_cleaned_and_net_records_are_refused(tmp_path):
    with Ledger(tmp_path / "ledger.db", create=True) as ledger:
        ledger.create_dataset("homes", Promise(System(), epsilon=2.0))
        with pytest.raises(ParameterError, match="cleaning"):
            publish_check(ledger, "homes", [record(1.0, cleaning=Cleaning.RECORD)], choices=CHOICES)
        net = Record("a", HOURS.astype("datetime64[s]"), np.ones(len(HOURS)), 60.0, net=True)
        with pytest.raises(ParameterError, match="net"):
            publish_check(ledger, "homes", [net], choices=CHOICES)
        assert ledger.dataset("homes").remaining == 2.0
