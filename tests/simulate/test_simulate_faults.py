from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.stressed_systems import missing_and_snow
from sunveil.simulate import (
    daylight_saving_stamps,
    fast_clock,
)


@pytest.fixture
def year() -> pd.Series:
    index = pd.date_range("2019-01-01", "2020-01-01", freq="h", tz="UTC", inclusive="left")
    return pd.Series(np.arange(1.0, len(index) + 1.0), index=index, name="meter")


def test_daylight_saving_moves_the_stamps_of_summer_by_an_hour(year: pd.Series) -> None:
    faulty = daylight_saving_stamps(year, "America/Denver")
    assert faulty.index.is_monotonic_increasing
    assert not faulty.index.has_duplicates
    summer, winter = (pd.Timestamp(f"2019-{m}-15 19:00", tz="UTC") for m in ("07", "01"))
    assert faulty[summer + pd.Timedelta(hours=1)] == year[summer]
    assert faulty[winter] == year[winter]
    # an hour is missing in spring, and the hour that came twice in autumn is kept once
    assert pd.Timestamp("2019-03-10 09:00", tz="UTC") not in faulty.index
    assert len(faulty) == len(year) - 1


def test_a_fast_clock_stamps_late(year: pd.Series) -> None:
    faulty = fast_clock(year, 60)
    noon = pd.Timestamp("2019-05-01 12:00", tz="UTC")
    assert faulty[noon + pd.Timedelta(hours=1)] == year[noon]
    assert len(faulty) == len(year)


def test_days_go_missing_whole_and_snow_falls_in_winter_only(year: pd.Series) -> None:
    zone = "America/Denver"
    faulty = missing_and_snow(year, seed=3, timezone=zone)
    local = faulty.index.tz_convert(zone)
    counts = faulty.groupby(local.date).size()
    days = pd.Index(year.index.tz_convert(zone).date).unique()
    assert len(days) - len(counts) == round(0.05 * len(days))
    assert set(counts) <= {23, 24, 25, 7, 17}  # changes of the clock, and the ends of a UTC year
    snow = faulty == 0.0
    snowy_days = snow.groupby(local.date).mean()
    assert set(snowy_days) == {0.0, 1.0}
    assert 5 <= (snowy_days == 1.0).sum() <= 30
    assert {day.month for day in snowy_days.index[snowy_days == 1.0]} <= {12, 1, 2, 3}
    kept = faulty[~snow]
    pd.testing.assert_series_equal(kept, year[kept.index], check_freq=False)


def test_the_same_seed_breaks_a_record_in_the_same_places(year: pd.Series) -> None:
    pd.testing.assert_series_equal(missing_and_snow(year, seed=3), missing_and_snow(year, seed=3))
    assert not missing_and_snow(year, seed=3).equals(missing_and_snow(year, seed=4))
