from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.fit.daylight import coarsen, daylight, earlier
from sunveil.meters import Record
from sunveil.sky import sky_at


def quarter_hours(count: int, start: str = "2019-06-01T00:00:00") -> Record:
    times = np.datetime64(start, "s") + np.arange(count) * np.timedelta64(900, "s")
    return Record("one", times, np.arange(count, dtype=np.float64), 15.0, notes=("a note",))


def test_short_intervals_are_averaged_to_half_hours():
    found = coarsen(quarter_hours(8))
    assert found.interval_minutes == 30.0
    assert found.power_kw.tolist() == [0.5, 2.5, 4.5, 6.5]
    assert found.times[1] == np.datetime64("2019-06-01T00:30:00")
    assert found.notes == ("a note",)


def test_a_block_with_a_reading_missing_is_left_out():
    whole = quarter_hours(8)
    keep = np.array([True, True, False, True, True, True, True, False])
    found = coarsen(replace(whole, times=whole.times[keep], power_kw=whole.power_kw[keep]))
    assert found.power_kw.tolist() == [0.5, 4.5]
    assert found.times.tolist() == [whole.times[0].tolist(), whole.times[4].tolist()]


def test_blocks_stand_where_the_readings_stand():
    """Stamps of middles, once read as such, start seven and a half minutes off the quarter."""
    whole = quarter_hours(6)
    found = coarsen(replace(whole, times=whole.times - np.timedelta64(450, "s")))
    assert len(found.times) >= 2
    seconds = found.times.astype(np.int64)
    assert (np.diff(seconds) == 1800).all()
    assert (seconds % 900 == 450).all()


@pytest.mark.parametrize("minutes", [60.0, 30.0, 20.0, 7.0])
def test_intervals_that_do_not_divide_half_an_hour_stay_as_they_are(minutes):
    step = np.timedelta64(int(minutes * 60), "s")
    record = Record(
        "one", np.datetime64("2019-06-01", "s") + np.arange(9) * step, np.ones(9), minutes
    )
    assert coarsen(record) is record


def test_averages_keep_the_energy(power_of):
    times = np.datetime64("2019-06-01", "s") + np.arange(96) * np.timedelta64(900, "s")
    record = Record("one", times, power_of(step_minutes=15).to_numpy()[14496 : 14496 + 96], 15.0)
    found = coarsen(record)
    assert found.power_kw.sum() * 2.0 == pytest.approx(record.power_kw.sum())


def test_only_readings_with_the_sun_up_are_kept(south, south_data, clear):
    assert 4000 < len(south_data) < 4700
    assert (south_data.middle.sun[:, 2] > 0.0).all()
    # each keeps its own reading
    place = np.searchsorted(south.times, south_data.starts)
    np.testing.assert_array_equal(south_data.power, south.power_kw[place])
    dark = np.delete(south.power_kw, place)
    assert dark.sum() < 0.01 * south.power_kw.sum()
    middles = sky_at(clear, south_data.starts + np.timedelta64(1800, "s"))
    np.testing.assert_array_equal(south_data.middle.sun, middles.sun)


def test_solar_days_hold_one_day_of_light_each(south_data):
    seconds = south_data.starts.astype(np.int64)
    for day in np.unique(south_data.day)[1:-1:30]:
        members = seconds[south_data.day == day]
        assert len(members) >= 8
        assert np.ptp(members) < 16 * 3600
        assert len(np.unique(south_data.slot[south_data.day == day])) == len(members)


def test_the_nodes_average_over_the_interval(south_data):
    assert sum(south_data.weights) == pytest.approx(1.0)
    assert len(south_data.nodes) == 2
    mean = sum(w * n.sun for w, n in zip(south_data.weights, south_data.nodes, strict=True))
    np.testing.assert_allclose(mean, south_data.middle.sun, atol=0.012)


def test_the_middle_alone_may_stand_for_the_interval(south, clear, south_data):
    quick = daylight(south, clear, clear, only_middles=True)
    assert quick.nodes == (quick.middle,)
    assert quick.weights == (1.0,)
    np.testing.assert_array_equal(quick.power, south_data.power)


def test_a_clock_that_runs_ahead_is_put_back(south, clear):
    late = replace(south, times=south.times + np.timedelta64(3600, "s"))
    found, right = daylight(late, clear, clear, ahead_seconds=3600), daylight(south, clear, clear)
    np.testing.assert_array_equal(found.starts, right.starts)
    np.testing.assert_array_equal(found.power, right.power)


def test_each_reading_may_have_its_own_clock(south, clear):
    ahead = np.zeros(len(south.times), dtype=np.int64)
    ahead[4000:] = 3600
    moved = replace(south, times=south.times + ahead.astype("timedelta64[s]"))
    found = daylight(moved, clear, clear, ahead_seconds=ahead)
    right = daylight(south, clear, clear)
    np.testing.assert_array_equal(found.starts, right.starts)


def test_readings_without_weather_close_by_are_left_out(south, clear):
    short = clear.between("2019-03-01", "2019-04-01")
    found = daylight(south, short, clear)
    assert len(found) > 300
    assert found.starts.min() >= np.datetime64("2019-02-28T23:00:00")
    assert found.starts.max() <= np.datetime64("2019-04-01T00:00:00")


def test_another_clock_shows_the_sun_of_earlier(south_data, clear):
    found = earlier(south_data, 600, weather=clear, clear=clear)
    np.testing.assert_array_equal(found.power, south_data.power)
    expected = sky_at(clear, south_data.starts - np.timedelta64(600, "s"))
    there = sky_at(clear, south_data.starts)
    # in the morning the sun of earlier stands lower
    morning = there.sun[:, 0] > 0.5
    assert (found.nodes[0].sun[morning, 2] < south_data.nodes[0].sun[morning, 2]).all()
    assert (expected.sun[morning, 2] < there.sun[morning, 2]).all()


def test_private_readings_are_not_shown(south_data):
    assert repr(south_data) == f"Daylight({len(south_data)} readings, private)"


def test_chosen_readings_keep_their_skies(south_data):
    some = np.array([5, 2, 100])
    part = south_data.take(some)
    np.testing.assert_array_equal(part.power, south_data.power[some])
    np.testing.assert_array_equal(part.nodes[1].ghi, south_data.nodes[1].ghi[some])
