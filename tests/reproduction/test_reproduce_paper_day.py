from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from reproduction.paper_day import SCALE, PaperDayFrame, paper_day_frame, paper_day_score
from sunveil.estimates.inference_options import DayGroup
from sunveil.grids import plane_grid
from sunveil.meters import Record, from_pandas
from sunveil.paper.fit import paper_score
from sunveil.privacy import Days
from sunveil.site import DAY, TimeGrid
from sunveil.weather import Weather, clearsky


@pytest.fixture(scope="module")
def weather(golden_site) -> Weather:
    return clearsky(golden_site, "2019-03-01", "2019-06-01")


@pytest.fixture(scope="module")
def record(clear_power) -> Record:
    power = clear_power(200.0, 30.0, dc_capacity_kw=5.0, start="2019-03-10", days=60)
    return from_pandas(power, label="start", cleaning="each", power_unit="kW")


def frame_by(record: Record, weather: Weather, group: DayGroup, step: float) -> PaperDayFrame:
    first = int(record.times[0].astype("datetime64[s]").astype(np.int64))
    turn = round(weather.site.longitude * 240.0)
    first -= (first + turn) % DAY // 3600 * 3600
    calendar = TimeGrid(first, 3600, 61 * 24)
    return paper_day_frame(weather, calendar, group=group, grid=plane_grid(step, step))


def days_of(record: Record, ahead: float) -> np.ndarray:
    """The day of each reading by a clock that is this far from UTC. [h]"""
    return (record.times.astype("datetime64[s]").astype(np.int64) + round(ahead * 3600.0)) // DAY


def test_levels_are_the_papers_score_on_a_fixed_scale(record, weather):
    frame = frame_by(record, weather, DayGroup.MONTH, 10.0)
    score = paper_day_score(frame, record)
    assert (score.unit, score.sensitivity) == (Days(1), SCALE)
    days = {each.day for each in frame.prototypes}
    fitted = paper_score(record, weather, to_the_letter=True)
    same = [number for number, day in enumerate(fitted.days) if day.day in days]
    assert same
    whole = fitted.of_groups(frame.grid)[same].sum(axis=0)
    # each group is rounded down to a level
    off = whole * SCALE - score.levels
    assert off.min() >= -1e-3
    assert off.max() <= len(same) + 1e-3


def moved_by(frame: PaperDayFrame, record: Record, value: float, which: np.ndarray) -> int:
    power = np.where(which, value, record.power_kw)
    power[np.flatnonzero(which)[len(np.flatnonzero(which)) // 2]] = 1e-3
    held = ~np.isnan(power)
    other = replace(record, times=record.times[held], power_kw=power[held])
    change = paper_day_score(frame, other).levels - paper_day_score(frame, record).levels
    return int(np.abs(change).max())


@pytest.mark.parametrize("value", [0.0, 3.0, 1e300, math.nan])
def test_a_replaced_solar_day_moves_no_level_by_more_than_one_day_has(record, weather, value):
    frame = replace(frame_by(record, weather, DayGroup.DAY, 15.0), most=0.01)
    days = days_of(record, weather.site.longitude / 15.0)
    chosen = days[len(days) // 2]
    assert 0 < moved_by(frame, record, value, days == chosen) <= frame.levels_of_a_day


def test_a_civil_day_moves_two_so_that_it_is_no_release(record, weather):
    frame = replace(frame_by(record, weather, DayGroup.DAY, 15.0), most=0.01)
    # a clock an hour fast of the sun, and a system that gives nothing
    days = days_of(record, weather.site.longitude / 15.0 + 1.0)
    dark = replace(record, power_kw=np.where(record.power_kw > 0.0, 0.0, 0.0))
    chosen = np.flatnonzero(days == days[len(days) // 2])
    power = dark.power_kw.copy()
    power[chosen[0]] = power[chosen[12]] = 1.0
    other = replace(dark, power_kw=power)
    change = paper_day_score(frame, other).levels - paper_day_score(frame, dark).levels
    assert np.abs(change).max() == 2 * frame.levels_of_a_day == 20_972
