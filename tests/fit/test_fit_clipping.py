from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from sunveil.fit.clipping import find_limit
from sunveil.fit.daylight import coarsen, daylight
from sunveil.meters import from_pandas
from sunveil.simulate import clipped


@pytest.mark.parametrize("ratio", [1.5, 1.7])
@pytest.mark.parametrize("minutes", [15, 60])
def test_a_planted_limit_is_found_within_two_percent(power_of, clear, ratio, minutes):
    power = power_of(180.0, 30.0, change=partial(clipped, dc_ac_ratio=ratio), step_minutes=minutes)
    data = daylight(coarsen(from_pandas(power)), clear, clear)
    found = find_limit(data.power, data.day, interval_minutes=data.interval_minutes)
    assert found == pytest.approx(5.0 / ratio, rel=0.02)


@pytest.mark.parametrize(
    ("azimuth", "tilt"), [(180.0, 30.0), (90.0, 25.0), (270.0, 40.0), (180.0, 5.0), (10.0, 20.0)]
)
def test_no_limit_is_found_where_there_is_none(power_of, clear, azimuth, tilt):
    data = daylight(from_pandas(power_of(azimuth, tilt)), clear, clear)
    assert find_limit(data.power, data.day, interval_minutes=60.0) == np.inf


def test_readings_without_power_have_no_limit():
    assert find_limit(np.zeros(100), np.arange(100), interval_minutes=60.0) == np.inf


def test_a_pile_on_a_few_days_is_not_a_limit():
    rng = np.random.default_rng(0)
    power = np.concatenate([rng.uniform(0.0, 4.5, 3000), np.full(400, 5.0)])
    usual = np.arange(3000) // 12
    few, many = (
        np.concatenate([usual, days]) for days in (np.arange(400) // 100, np.arange(400) // 4)
    )
    assert find_limit(power, few, interval_minutes=60.0) == np.inf
    assert find_limit(power, many, interval_minutes=60.0) == pytest.approx(5.0, rel=0.02)


def test_the_round_tops_of_clear_days_are_not_a_limit():
    """A short clear season has the same top every day, but no day stays at it for hours."""
    hours = np.arange(6.0, 19.0)
    power = np.tile(5.0 * np.sin(np.pi * (hours - 6.0) / 13.0), 60)
    day = np.repeat(np.arange(60), len(hours))
    assert find_limit(power, day, interval_minutes=60.0) == np.inf
