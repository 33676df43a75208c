from __future__ import annotations

import numpy as np
import pandas as pd

from sunveil.simulate.household_loads import HALVES, HouseholdTimes


def test_half_hours_of_the_week_are_those_of_the_wall(mixed_sky):
    times = HouseholdTimes.of(mixed_sky.true, "America/Denver")
    assert times.step_minutes == 10
    wall = mixed_sky.true.times[::3].tz_convert("America/Denver")
    expected = wall.day_of_week * HALVES + 2 * wall.hour + wall.minute // 30
    assert np.array_equal(times.slot, expected)
    assert np.array_equal(np.unique(times.day), np.arange(times.days))


def test_days_begin_at_midnight(mixed_sky):
    times = HouseholdTimes.of(mixed_sky.true, "Europe/Berlin")
    begins = mixed_sky.true.times[times.day_start[1:]].tz_convert("Europe/Berlin")
    assert set(begins.hour) == {0}
    assert set(begins.minute) == {5}


def test_rooms_warm_and_cool_after_the_air(mixed_sky):
    times = HouseholdTimes.of(mixed_sky.true, "America/Denver")
    air = pd.Series(mixed_sky.true.temp_air)
    rooms = pd.Series(times.air)
    assert rooms.std() < air.std()
    lags = [rooms.corr(air.shift(steps)) for steps in (0, 12, 36)]
    assert lags[1] > max(lags[0], lags[2])
    assert abs(times.sun.mean() - mixed_sky.true.ghi.mean() / 1000.0) < 2e-3
