from __future__ import annotations

import numpy as np
import pytest

from audit.releases import ENORMOUS, Setting, make_setting, neighbour_pairs
from sunveil.fleet.blocks import time_grid_of
from sunveil.meters import Record
from sunveil.meters.record import prepared
from sunveil.privacy import Days, Readings, System
from sunveil.releases.scores import day_score, reading_score
from sunveil.site import DAY


@pytest.fixture(scope="module")
def hourly() -> Setting:
    return make_setting(epsilon=4.0, seed=3)


@pytest.fixture(scope="module")
def fine() -> Setting:
    return make_setting(epsilon=4.0, interval_minutes=5.0, measured=True, seed=3)


def whole(setting: Setting, record: Record) -> np.ndarray:
    """Return a record over its setting's times, with -1 where nothing was read."""
    power = np.full(len(setting.times), -1.0)
    power[np.searchsorted(setting.times, record.times)] = record.power_kw
    return power


def replaced(setting: Setting, pair: tuple[Record, Record]) -> np.ndarray:
    ours, theirs = (whole(setting, each) for each in pair)
    return np.flatnonzero(ours != theirs)


def solar_days(setting: Setting, places: np.ndarray) -> np.ndarray:
    turn = round(setting.frame.weather.site.longitude * 240.0)
    return np.unique((setting.times[places].astype(np.int64) + turn) // DAY)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", ["hourly", "fine"])
def test_neighbours_differ_in_no_more_readings_than_the_unit(name, k, request):
    setting = request.getfixturevalue(name)
    counts = [len(replaced(setting, p)) for p in neighbour_pairs(setting, Readings(k), pairs=300)]
    assert max(counts) == k


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("name", ["hourly", "fine"])
def test_neighbours_differ_in_civil_days_which_count_for_one_solar_day_each(name, k, request):
    setting = request.getfixturevalue(name)
    counted = np.repeat(setting.frame.daylight | setting.frame.night, setting.ratio)
    pairs = list(neighbour_pairs(setting, Days(k), pairs=200))
    places = [replaced(setting, pair) for pair in pairs]
    assert max(len(solar_days(setting, each[counted[each]])) for each in places) == k
    assert max(len(solar_days(setting, each)) for each in places) > k
    per_day = len(setting.times) // setting.frame.time_grid.days
    assert max(len(replaced(setting, pair)) for pair in pairs) > k * per_day // 3


def test_a_whole_record_can_become_any_other(hourly):
    pairs = list(neighbour_pairs(hourly, System(), pairs=200))
    changed = [len(replaced(hourly, pair)) for pair in pairs]
    assert max(changed) == len(hourly.times)
    assert min(len(theirs.times) for _, theirs in pairs) == 1


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()], ids=str)
def test_readings_go_missing_to_zero_and_beyond_all_bounds(hourly, unit):
    seen = set()
    for pair in neighbour_pairs(hourly, unit, pairs=200):
        places = replaced(hourly, pair)
        seen |= set(whole(hourly, pair[1])[places])
    assert {-1.0, 0.0, ENORMOUS} <= seen
    assert len(seen) > 30


def test_only_the_readings_that_are_named_are_replaced(hourly):
    among = np.zeros(len(hourly.times), dtype=bool)
    among[[30, 40]] = True
    pairs = neighbour_pairs(hourly, Readings(1), pairs=100, among=among)
    places = {place for pair in pairs for place in replaced(hourly, pair).tolist()}
    assert places == {30, 40}


@pytest.mark.parametrize("name", ["hourly", "fine"])
def test_readings_can_be_made_to_fit_a_candidate_wholly(name, request):
    setting = request.getfixturevalue(name)
    frame = setting.frame
    south = int(np.flatnonzero(frame.grid.surface_azimuth == 180.0)[1])
    for clock, plane, capacity in ((0, 0, 0), (0, south, 35), (1, south, 7)):
        candidate = int(np.ravel_multi_index((clock, plane, capacity), frame.shape))
        record = setting.record(setting.fitting(candidate))
        lit = int(np.isfinite(frame.profiles[clock][0][plane]).sum())
        levels = reading_score(frame, record).levels
        assert lit > 20
        assert levels[candidate] == lit
        assert levels[setting.best(setting.fitting(candidate))] == levels.max() >= lit
        assert day_score(frame.resolved(Days(1), 4.0), record).levels[candidate] > 0


def test_some_neighbours_lose_the_first_or_the_last_day(hourly):
    longitude = hourly.frame.weather.site.longitude
    grids = {
        time_grid_of(prepared(theirs), longitude=longitude)
        for _, theirs in neighbour_pairs(hourly, Days(1), pairs=200)
    }
    assert hourly.frame.time_grid in grids
    assert {grid.first for grid in grids} > {hourly.frame.time_grid.first}
    assert len({grid.first + grid.days * DAY for grid in grids}) > 1
