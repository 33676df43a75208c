from __future__ import annotations

import numpy as np
import pytest

from sunveil.engine import InferOptions, make_sky_table
from sunveil.engine.constants import ERRORS
from sunveil.engine.shading import PreparedSky, correlated_in, shares_for
from sunveil.engine.sky_tables import SHARES
from sunveil.site import DAY, TimeGrid


def test_days_begin_at_solar_midnight(prepared):
    starts = prepared.sky.grid.starts[prepared.slot]
    for begin in prepared.begins[1::40]:
        assert prepared.day[begin] == prepared.day[begin - 1] + 1
        assert starts[begin] - starts[begin - 1] > 6 * 3600
        # sunrise at 105° W: between 11 and 15 UTC
        assert 11 <= starts[begin] % DAY // 3600 <= 15
    assert len(prepared.begins) == len(np.unique(prepared.day))


def test_neighbours_are_intervals_that_follow_each_other(prepared):
    before, after, minutes = prepared.neighbours
    slot = prepared.slot.astype(int)
    for place in range(0, len(slot), 11):
        early = place > 0 and slot[place - 1] == slot[place] - 1
        late = place + 1 < len(slot) and slot[place + 1] == slot[place] + 1
        assert before[place] == place - early
        assert after[place] == place + late
        assert minutes[place] == 60.0 * max(int(early) + int(late), 1)


def test_spans_part_all_intervals_by_their_own_time(prepared, denver):
    spans = prepared.spans
    assert spans[0] == 0
    assert spans[-1] == len(prepared.slot)
    sizes = np.diff(spans)
    assert (sizes > 0).all()
    assert 40 < np.median(sizes) < 90
    grid = denver.grid
    longer = PreparedSky(
        make_sky_table(denver.site, TimeGrid(grid.first - 50 * 3600, 3600, grid.count + 300)),
        InferOptions(),
    )
    mine, theirs = (
        set(each.sky.grid.starts[each.slot[each.spans[1:-1]]].tolist())
        for each in (prepared, longer)
    )
    assert {each for each in mine if each > grid.first + 10 * DAY} <= theirs


def test_the_half_sky_stands_half_an_interval_earlier(prepared):
    half = prepared.half
    assert half.sky.grid == prepared.sky.grid.moved(-1800)
    assert half.options == prepared.options
    assert prepared.half is half


def test_daylight_is_saved_by_the_declared_zone(prepared):
    days, intervals = prepared.calendars("America/Phoenix")
    assert not days.saving.any()
    assert not intervals.saving.any()
    days, intervals = prepared.calendars("UTC")
    assert days.saving.mean() == pytest.approx(238 / 366, abs=0.01)
    assert len(intervals.saving) == len(intervals.day) == prepared.sky.grid.count
    assert intervals.saving.mean() == pytest.approx(238 / 365, abs=0.01)


def test_calendars_count_solar_days(prepared):
    days, intervals = prepared.calendars("UTC")
    assert set(intervals.day) == set(days.day)
    # at 105° W a day begins seven hours after UTC's
    assert np.flatnonzero(np.diff(intervals.day))[:2].tolist() == [6, 30]


@pytest.mark.parametrize(
    ("wanted", "available", "share"),
    [(500, 4000, 0.125), (500, 3999, 0.1875), (500, 500, 1.0), (500, 10, 1.0), (500, 0, 1.0),
     (1, 10**9, SHARES[-1])],
)  # fmt: skip
def test_a_share_leaves_readings_enough(wanted, available, share):
    assert shares_for(wanted, np.array([available])).tolist() == [share]


def test_fewer_readings_err_alike_in_a_share():
    assert correlated_in(1.0) == ERRORS.correlated
    assert correlated_in(0.25) == ERRORS.correlated / 4.0
