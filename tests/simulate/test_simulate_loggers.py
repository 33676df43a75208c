from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.simulate import CLEAN_FLEET, FaultRates
from sunveil.simulate.fault_rates import US
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.roster import (
    SCALES,
    SENTINELS,
    SimulatedRoster,
    add_logger_faults,
    draw_roster,
)
from sunveil.site import Site

CELL = SimulatedCell(0, "here", Site(45.0, -93.3, 250.0), "America/Chicago", US, systems=200)
# a day of twelve hours, all year, with a gap
YEAR = np.tile(np.r_[np.zeros(6), np.arange(1.0, 13.0), np.zeros(6)], 365).astype(np.float32)


def written(**rates: float) -> tuple[SimulatedRoster, np.ndarray]:
    """Return systems with some faults, and what is written of a year of theirs."""
    given: FaultRates = replace(CLEAN_FLEET, **rates)
    roster = draw_roster(CELL, given, rng=np.random.default_rng(2))
    power = np.tile(YEAR, (CELL.systems, 1))
    power[:, 1000:1030] = np.nan
    add_logger_faults(power, roster)
    return roster, power


def clean() -> np.ndarray:
    power = YEAR.copy()
    power[1000:1030] = np.nan
    return power


def test_loggers_without_faults_write_what_they_are_given():
    _, power = written()
    assert np.array_equal(power, np.tile(clean(), (CELL.systems, 1)), equal_nan=True)


def test_sentinels_stand_where_readings_are_missing():
    roster, power = written(sentinels=0.3)
    marked = ~np.isnan(roster.sentinel)
    assert np.mean(marked) == pytest.approx(0.3, abs=0.1)
    assert set(np.unique(power[marked, 1000:1030])) == set(SENTINELS)
    assert np.isnan(power[~marked, 1000:1030]).all()
    assert np.nanmin(np.delete(power, np.s_[1000:1030], axis=1)) == 0.0


def test_negative_readings_stand_in_one_stretch_by_day():
    roster, power = written(negative=0.3)
    has = ~np.isnan(roster.negative_begin)
    below = power < 0.0
    assert np.array_equal(below.any(axis=1), has)
    assert not below[:, YEAR == 0.0].any()
    days = (np.array([np.ptp(np.flatnonzero(row)) for row in below[has]]) + 1) / 24.0
    assert np.all((days > 2.0) & (days < 41.0))


def test_a_stuck_logger_repeats_a_reading_by_day_and_night():
    roster, power = written(stuck=0.3)
    has = ~np.isnan(roster.stuck_begin)
    at_night = power[:, YEAR == 0.0] > 0.0
    assert 0.2 < np.mean(has) < 0.4
    assert not at_night[~has].any()
    # short spells may fall into one day, or one night
    assert np.mean(at_night[has].any(axis=1)) > 0.8
    row = int(np.flatnonzero(at_night.any(axis=1))[0])
    assert len(np.unique(power[row][(power[row] > 0.0) & (YEAR == 0.0)])) == 1


def test_a_month_may_have_another_scale():
    roster, power = written(wrong_scale=0.5)
    has = ~np.isnan(roster.scale_begin)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = power / clean()
    for row in np.flatnonzero(has):
        other = ratio[row][np.isfinite(ratio[row]) & (ratio[row] != 1.0)]
        assert np.allclose(other, roster.scale_factor[row])
        # the gap may take thirty of them
        assert 26 * 12 < len(other) <= 31.5 * 12
    assert set(roster.scale_factor[has]) == set(SCALES)
    assert np.nanmax(np.abs(ratio[~has] - 1.0)) == 0.0
