from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import MeterError, ParameterError
from sunveil.grids import plane_grid
from sunveil.ledger.promise import Promise
from sunveil.meters.record import Cleaning
from sunveil.paper import paper_score
from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.units import Days, Readings, System
from sunveil.profiles import DayGroup
from sunveil.releases.frame import prepared, time_grid_of
from sunveil.releases.paper_day import (
    SCALE,
    PaperDayFrame,
    paper_day_frame,
    paper_day_score,
)
from sunveil.releases.release import release
from sunveil.timegrid import DAY


@pytest.fixture(scope="module")
def frame(record, weather) -> PaperDayFrame:
    time_grid = time_grid_of(prepared(record), longitude=weather.site.longitude)
    return paper_day_frame(weather, time_grid, grid=plane_grid(10.0, 10.0))


def solar_days(record, frame) -> np.ndarray:
    seconds = record.times.astype("datetime64[s]").astype(np.int64)
    return (seconds + round(frame.weather.site.longitude * 240.0)) // DAY


def test_levels_are_the_papers_score_on_a_fixed_scale(record, weather, frame):
    score = paper_day_score(frame, record)
    assert (score.unit, score.sensitivity) == (Days(1), SCALE)
    assert score.proof == "docs/proofs/paper-day.md"
    days = {each.day for each in frame.prototypes}
    fitted = paper_score(record, weather)
    same = [number for number, day in enumerate(fitted.days) if day.day in days]
    # the last solar day of the calendar has no reading in its evening: it scores nothing
    assert (len(same), len(frame.prototypes)) == (2, 3)
    whole = fitted.of_groups(frame.grid)[same].sum(axis=0)
    # each group is rounded down to a level
    off = whole * SCALE - score.levels
    assert off.min() >= -1e-3
    assert off.max() <= len(same) + 1e-3


def test_days_are_chosen_by_the_weather_alone(record, weather, frame, changed):
    silent = changed(keep=np.arange(len(record.times)) % 7 == 0)
    grid = time_grid_of(prepared(silent), longitude=weather.site.longitude)
    assert grid == frame.time_grid
    other = paper_day_frame(weather, grid, grid=frame.grid)
    assert [each.day for each in other.prototypes] == [each.day for each in frame.prototypes]


@pytest.mark.parametrize("value", [0.0, 3.0, 1e300, math.nan])
@pytest.mark.parametrize("group", [DayGroup.MONTH, DayGroup.DAY])
def test_a_replaced_day_moves_no_level_by_more_than_one_day_has(record, weather, value, group):
    grid = time_grid_of(prepared(record), longitude=weather.site.longitude)
    frame = paper_day_frame(weather, grid, group=group, grid=plane_grid(30.0, 15.0))
    before = paper_day_score(frame, record).levels
    days = solar_days(record, frame)
    chosen = frame.prototypes[len(frame.prototypes) // 2].day
    power = np.where(days == chosen, value, record.power_kw)
    power[np.flatnonzero(days == chosen)[9]] = 1e-3 if not math.isnan(value) else math.nan
    held = ~np.isnan(power)
    other = replace(record, times=record.times[held], power_kw=power[held], rows_span=record.extent)
    moved = paper_day_score(frame, other).levels - before
    assert 0 < np.abs(moved).max() <= SCALE


def test_a_day_that_stands_for_no_group_moves_nothing(record, frame):
    days = solar_days(record, frame)
    free = [day for day in np.unique(days) if day not in {each.day for each in frame.prototypes}]
    power = np.where(np.isin(days, free), 7.0, record.power_kw)
    other = paper_day_score(frame, replace(record, power_kw=power))
    assert np.array_equal(other.levels, paper_day_score(frame, record).levels)


def test_clipping_lowers_the_sensitivity_and_holds_every_day(record, frame):
    tight = replace(frame, most=0.01)
    score = paper_day_score(tight, record, 3)
    assert score.sensitivity == 3 * math.ceil(0.01 * SCALE)
    assert score.levels.min() >= -len(frame.prototypes) * math.ceil(0.01 * SCALE)
    with pytest.raises(ParameterError, match="largest misfit"):
        replace(frame, most=0.0)


def test_a_register_counts_three_times(record, frame):
    counted = replace(record, differenced=True)
    assert paper_day_score(frame, counted).sensitivity == 3 * SCALE


@pytest.mark.parametrize("value", [0.0, 5.0])
def test_readings_without_any_day_to_use_score_alike_and_are_not_refused(record, frame, value):
    flat = replace(record, power_kw=np.full(len(record.power_kw), value))
    assert not paper_day_score(frame, flat).levels.any()
    one = replace(
        record, times=record.times[:1], power_kw=record.power_kw[:1], rows_span=record.extent
    )
    assert not paper_day_score(frame, one).levels.any()


def test_other_records_are_refused_for_what_is_public(record, frame):
    with pytest.raises(MeterError, match="declared a net meter"):
        paper_day_score(frame, replace(record, net=True))
    with pytest.raises(MeterError, match="other intervals"):
        paper_day_score(frame, replace(record, interval_minutes=30.0))
    with pytest.raises(MeterError, match="cleaning='each'"):
        paper_day_score(frame, replace(record, cleaning=Cleaning.RECORD))


def test_a_release_holds_in_the_worst_case_and_has_no_capacity(record, weather):
    found = release(record, weather, protect=Days(2), epsilon=1.0, mechanism="paper-day")
    assert type(found.guarantee) is Guarantee
    assert (found.guarantee.unit, found.guarantee.epsilon) == (Days(2), 1.0)
    assert (found.mechanism, found.dc_capacity_kw) == ("paper-day", None)
    assert found.public == {"group": "month", "most_misfit": 1.0, "levels_of_misfit": SCALE}


@pytest.mark.parametrize("unit", [Readings(1), System()])
def test_it_protects_days_and_nothing_else(record, weather, unit):
    with pytest.raises(ParameterError, match="days:K"):
        release(record, weather, protect=unit, epsilon=1.0, mechanism="paper-day")
    with pytest.raises(ParameterError, match="delta"):
        release(record, weather, protect=Days(1), epsilon=1.0, mechanism="paper-day", delta=0.1)


def test_a_promise_takes_it_without_naming_it(record, weather):
    found = release(record, weather, protect=Days(1), epsilon=0.5, mechanism="paper-day")
    promise = Promise(Days(1), 2.0)
    assert promise.cost(found.guarantee, mechanism=found.mechanism) == 5 * 10**8
    with pytest.raises(ParameterError):
        Promise(System(), 2.0).cost(found.guarantee, mechanism=found.mechanism)
