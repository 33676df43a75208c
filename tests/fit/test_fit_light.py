from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.fit.light import day_ends
from sunveil.meters import Record, from_pandas
from sunveil.simulate import fast_clock
from sunveil.site import Plane


@pytest.mark.parametrize("minutes", [-120, -60, -30, 0, 30, 60, 180])
def test_a_clock_ahead_shows_as_that_many_minutes_on_a_south_plane(power_of, clear, minutes):
    record = from_pandas(fast_clock(power_of(180.0, 30.0), minutes))
    assert day_ends(record, clear).typical() == pytest.approx(minutes, abs=8.0)


@pytest.mark.parametrize("minutes", [0, 60])
def test_short_intervals_show_it_too(power_of, clear, minutes):
    record = from_pandas(fast_clock(power_of(180.0, 30.0, step_minutes=15), minutes))
    assert day_ends(record, clear).typical() == pytest.approx(minutes, abs=8.0)


@pytest.mark.parametrize("azimuth", [90.0, 270.0])
def test_a_known_plane_makes_the_ends_of_its_days_fit(power_of, clear, azimuth):
    record = from_pandas(power_of(azimuth, 35.0))
    blind = day_ends(record, clear).typical()
    seeing = day_ends(record, clear, normal=Plane(azimuth, 35.0).normal).typical()
    assert abs(seeing) < 8.0
    assert abs(seeing) < abs(blind)


def test_days_are_numbered_and_dark_ones_left_out(power_of, clear):
    power = power_of()
    dark = (power.index >= "2019-05-10T07:00Z") & (power.index < "2019-05-11T07:00Z")
    ends = day_ends(from_pandas(power.where(~dark, 0.0)), clear)
    number = (np.datetime64("2019-05-10") - np.datetime64("1970-01-01")).astype(int)
    assert number not in ends.day
    assert number - 1 in ends.day
    assert len(ends.day) == len(np.unique(ends.day)) > 350
    assert len(ends.ahead_minutes) == len(ends.brightness) == len(ends.day)


def test_light_at_midnight_is_no_end_of_a_day_and_gives_no_warning(power_of, clear):
    """pytest turns a warning into an error, so that arithmetic on nothing would show."""
    power = power_of()
    lamp = np.random.default_rng(0).uniform(1.0, 2.0, len(power))
    ends = day_ends(from_pandas(power.where(power.index.day != 10, lamp)), clear)
    assert np.isfinite(ends.ahead_minutes).all()
    assert np.abs(ends.ahead_minutes).max() < 720.0
    assert ends.typical() == pytest.approx(0.0, abs=8.0)


def test_few_days_say_nothing(south, clear):
    short = replace(south, times=south.times[: 24 * 6], power_kw=south.power_kw[: 24 * 6])
    assert np.isnan(day_ends(short, clear).typical())


def test_the_chosen_days_alone_have_their_say(south, clear):
    ends = day_ends(south, clear)
    shifted = replace(ends, ahead_minutes=np.where(ends.day % 2 == 0, 60.0, 0.0))
    assert shifted.typical(ends.day % 2 == 0) == 60.0
    assert shifted.typical(ends.day % 2 == 1) == 0.0


def test_intervals_that_do_not_divide_a_day_say_nothing(clear):
    step = np.timedelta64(7 * 60, "s")
    times = np.datetime64("2019-06-01", "s") + np.arange(3000) * step
    assert len(day_ends(Record("odd", times, np.ones(3000), 7.0), clear).day) == 0


def test_ends_do_not_show_their_days(south, clear):
    assert "private" in repr(day_ends(south, clear))
