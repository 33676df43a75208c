from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sunveil.errors import ParameterError
from sunveil.fleet.blocks import power_on
from sunveil.meters import Record, from_pandas
from sunveil.privacy import Days, Readings, System
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.release import release
from sunveil.releases.score_kernels import Capacities
from sunveil.releases.scores import count_score, net_score, placement, unit_score
from sunveil.site import Site
from sunveil.weather import Weather, clearsky

SMALL = Choices(step=30.0, capacities=Capacities(1.0, 30.0, 0.1)).for_meter(net=True)
ANYTHING = (math.nan, 0.0, -0.3, -40.0, 2.5, 1e300, -1e300)


@pytest.fixture(scope="module")
def net(clear_power: Callable[..., pd.Series]) -> pd.Series:
    """A cloudless system of 5 kW at (210, 30), less a load that is often near its base."""
    power = clear_power(210.0, 30.0, dc_capacity_kw=5.0, start="2019-03-10", days=40)
    rng = np.random.default_rng(1)
    return power - 0.4 * np.exp(rng.exponential(0.7, len(power)))


@pytest.fixture(scope="module")
def record(net: pd.Series) -> Record:
    return read(net)


@pytest.fixture(scope="module")
def frame(record: Record, weather: Weather) -> ReleaseFrame:
    return frame_of(record, weather, SMALL)


def read(net: pd.Series) -> Record:
    return from_pandas(
        net, system_id="net", label="start", net=True, cleaning="each", power_unit="kW"
    )


def changed(frame: ReleaseFrame, net: pd.Series, days: set[int], value: float) -> Record:
    """Return the record with all readings of some solar days replaced."""
    times = net.index.tz_localize(None).to_numpy().astype("datetime64[s]").astype(np.int64)
    solar = (times + round(frame.weather.site.longitude * 240.0)) // 86400
    return read(net.where(~np.isin(solar - solar[0], list(days)), value))


def test_a_score_carries_its_unit_and_sensitivity(frame, record):
    for k in (1, 3):
        days, readings = net_score(frame, record, Days(k)), net_score(frame, record, Readings(k))
        assert (days.unit, days.sensitivity) == (Days(k), 12 * 32 * k)
        assert (readings.unit, readings.sensitivity) == (Readings(k), 4 * 32 * k)
        assert days.proof == "docs/proofs/net-days.md"
    counts = replace(record, differenced=True)
    assert net_score(frame, counts, Days(1)).sensitivity == 3 * 12 * 32
    assert net_score(frame, counts, Readings(1)).sensitivity == 2 * 4 * 32


@pytest.mark.parametrize("value", ANYTHING)
def test_k_replaced_days_or_readings_move_a_level_by_at_most_k_times_its_levels(
    frame, net, record, value
):
    pairs = [
        (Days(k), changed(frame, net, days, value))
        for k, days in ((1, {0}), (1, {39}), (3, {17, 18, 30}))
    ]  # with their nights
    bright = np.flatnonzero(frame.daylight)
    values = net.copy()
    values.iloc[[bright[40], bright[41], bright[200]]] = value
    for unit, neighbour in (*pairs, (Readings(3), read(values))):
        whole, other = (net_score(frame, each, unit) for each in (record, neighbour))
        assert 0 < np.abs(whole.levels - other.levels).max() <= other.sensitivity


def test_the_plane_and_the_capacity_come_out(frame, record, net):
    for each in (record, read(net.clip(lower=0.0))):  # signed, and export alone
        best = int(count_score(frame, each, Days(1)).levels.argmax())
        _, plane, capacity = np.unravel_index(best, frame.shape)
        assert frame.grid[plane].surface_azimuth == 210.0
        assert frame.grid[plane].surface_tilt == 30.0
        assert abs(frame.choices.capacities.values[capacity] / 5.0 - 1.0) < 0.15
    assert placement(frame, record).place[0] == 42


def test_what_is_missing_counts_for_all_candidates_alike(frame, net):
    for unit in (Days(1), Readings(1)):
        levels = net_score(frame, read(net * math.nan), unit).levels
        assert levels.min() == levels.max()


def test_a_day_stands_alone(frame, net, record):
    """What one day counts is the same whatever the others read, dark readings too."""
    days = {*range(50)} - {11}
    alone = net_score(frame, changed(frame, net, days, math.nan), Days(1)).levels
    without = net_score(frame, changed(frame, net, {11}, math.nan), Days(1)).levels
    whole = net_score(frame, record, Days(1)).levels
    np.testing.assert_array_equal(alone - alone.max(), whole - without - (whole - without).max())


def test_a_net_release_is_another_question_and_a_frame_of_the_other_meter_is_refused(frame, record):
    gross = replace(frame.choices, net=None)
    assert "net" not in Choices().to_dict()
    assert gross.fingerprint() != frame.choices.fingerprint()
    assert Choices().for_meter(net=True).for_meter(net=False).net is None
    assert Choices().for_meter(net=False) == Choices()
    with pytest.raises(ParameterError, match="another kind of meter"):
        count_score(frame, replace(record, net=False), Days(1))


@pytest.mark.parametrize("unit", [Days(1), Readings(1), System()], ids=str)
def test_a_series_that_is_declared_net_is_released_with_the_errors_of_net_meters(
    net, weather, unit
):
    asked = {"epsilon": 8.0, "power_unit": "kW", "choices": replace(SMALL, net=None)}
    for series in (net, net * math.nan):
        found = release(series, weather, protect=unit, net=True, **asked)
        assert "net meters" in found.expected.basis
        assert "net" in found.public
    plain = release(net, weather, protect=unit, **asked)
    assert "net meters" not in plain.expected.basis


def test_the_papers_mechanism_takes_no_net_meter(net, weather):
    with pytest.raises(ParameterError, match="declared net"):
        release(net, weather, protect=Readings(1), epsilon=1.0, mechanism="paper", net=True)


def test_short_intervals_without_a_whole_one_are_no_readings(frame, weather):
    times = pd.date_range("2019-03-10", periods=3 * 288, freq="5min", tz="UTC")
    power = pd.Series(np.nan, index=times)
    power.iloc[::3] = 1.0
    assert np.isnan(power_on(frame_of(read(power), weather, SMALL).time_grid, read(power))).all()


def test_short_readings_about_midnight_count_for_nothing():
    """Those averaged to a quarter belong to a civil day each, where a clock changes too."""
    times = pd.date_range("2019-03-29 22:00", periods=7 * 288, freq="5min", tz="UTC")
    whole = pd.Series(-0.4, index=times)
    # a clock that is 94 minutes ahead of the sun
    weather = clearsky(Site(51.0, 6.5), "2019-03-25", "2019-04-10")
    frame = frame_of(read(whole), weather, SMALL).resolved(Days(1), 1.0)
    local = times.tz_convert("Europe/Berlin")
    for hour in (23, 0):  # the last of one day, and the first of the next
        other = whole.where(np.asarray((local.hour != hour) | (local.minute > 12)), -30.0)
        scores = [unit_score(frame, read(each), Days(1)) for each in (whole, other)]
        np.testing.assert_array_equal(scores[0].levels, scores[1].levels)
