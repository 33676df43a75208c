from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.simulate import CLEAN_FLEET, FaultRates
from sunveil.simulate.block_power import add_meter_faults
from sunveil.simulate.fault_rates import US
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import SimulatedRoster, draw_roster
from sunveil.site import Site

CELL = SimulatedCell(0, "here", Site(45.0, -93.3, 250.0), "America/Chicago", US, systems=300)
HOURS = 8760


def drawn(rates: FaultRates) -> SimulatedRoster:
    return draw_roster(CELL, rates, rng=np.random.default_rng(2))


def metered(rates: FaultRates, *, gone: slice = slice(0)) -> np.ndarray:
    """Return a year of 5 kW, with some of it gone, after what befalls it."""
    power = np.full((CELL.systems, HOURS), 5.0, dtype=np.float32)
    power[:, gone] = np.nan
    add_meter_faults(
        power,
        drawn(rates),
        rates,
        interval_minutes=60,
        rng=np.random.default_rng(3),
    )
    return power


def test_a_clean_fleet_has_noise_and_nothing_else():
    power = metered(CLEAN_FLEET)
    spread = np.std(power / 5.0 - 1.0, axis=1)
    assert np.median(spread) == pytest.approx(0.02, rel=0.1)
    assert np.quantile(spread, 0.9) > 1.4 * np.median(spread)
    assert np.all(power > 0.0)


@pytest.mark.parametrize(
    ("name", "rate", "shortest", "longest"),
    [("hour_gaps", 4.0, 1, 12), ("day_gaps", 1.0, 24, 168), ("week_gaps", 0.5, 168, 1344)],
)
def test_gaps_are_as_many_and_as_long_as_they_should_be(name, rate, shortest, longest):
    gone = np.isnan(metered(replace(CLEAN_FLEET, **{name: rate})))
    starts = np.flatnonzero(np.diff(np.pad(gone, ((0, 0), (1, 1))).ravel().astype(int)) == 1)
    ends = np.flatnonzero(np.diff(np.pad(gone, ((0, 0), (1, 1))).ravel().astype(int)) == -1)
    assert len(starts) == pytest.approx(rate * CELL.systems, rel=0.3)
    lengths = ends - starts
    # gaps may meet, and end with the year
    assert np.mean((lengths >= shortest) & (lengths <= longest)) > 0.85
    assert np.any(~gone.any(axis=1))


@pytest.mark.parametrize("name", ["down_days", "down_weeks"])
def test_a_system_that_is_down_says_zero(name):
    power = metered(replace(CLEAN_FLEET, **{name: 1.0}))
    assert not np.isnan(power).any()
    assert 0.0 < np.mean(power == 0.0) < 0.1


def test_records_may_begin_late_or_be_short():
    there = ~np.isnan(metered(replace(CLEAN_FLEET, late=0.2, short=0.2)))
    late = ~there[:, 0] & there[:, -1]
    days = np.sum(there, axis=1) / 24.0
    assert np.mean(late) == pytest.approx(0.2, abs=0.08)
    assert np.mean(days < 41.0) == pytest.approx(0.2, abs=0.1)
    assert np.min(days) >= 1.0
    assert np.mean(days == 365.0) == pytest.approx(0.6, abs=0.1)
