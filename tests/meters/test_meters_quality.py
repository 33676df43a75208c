"""Each fault of a record: handled and noted, or refused with its rows and the remedy."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meter_makers import assert_no_reading_told, note_with, refusal, sunny, write_csv

from sunveil.errors import MeterError
from sunveil.meters import from_pandas, read_meters

MENDED = {
    "rows out of order": (6, lambda power: power.sample(frac=1.0, random_state=3), ".*sorted"),
    "rows repeated": (
        *(6, lambda power: pd.concat([power.iloc[:60], power.iloc[40:]])),
        "20 readings repeated",
    ),
    "noise repeated at night": (
        *(6, lambda power: pd.concat([power, power.iloc[:4] - 0.001])),
        "4 readings repeated",
    ),
    "strays off the grid": (
        10,
        lambda power: pd.concat(
            [power, pd.Series(1.0, index=power.index[[50, 150]] + pd.Timedelta("7min"))]
        ),
        "2 readings.* off the even spacing",
    ),
    "consumption at night": (
        *(10, lambda power: power.where(power > 0.0, -0.1)),
        r"410 readings.* \(night consumption",
    ),
}


@pytest.mark.parametrize("fault", MENDED)
def test_a_fault_is_mended_and_noted(fault):
    days, spoil, note = MENDED[fault]
    power = sunny(days)
    record = from_pandas(spoil(power))
    assert (record.power_kw == power.to_numpy()).all()
    assert sum(re.match(note, each) is not None for each in record.notes) == 1


def with_part(begin, end, values):
    """Return a month of which a part has other readings."""
    power = sunny(30)
    power.iloc[begin:end] = values(power.iloc[begin:end])
    return power


FAULTLESS = {
    "a clean record": lambda: sunny(30),
    "a clipping inverter": lambda: sunny(10).clip(upper=1.0),
    "constant nights": lambda: sunny(10).clip(lower=0.01),
    "a dark week": lambda: with_part(960, 1632, lambda part: part * 0.01),
    "an outage at standby power": lambda: with_part(
        960, 1920, lambda part: np.random.default_rng(1).uniform(0.003, 0.004, len(part))
    ),
}


@pytest.mark.parametrize("record", FAULTLESS)
def test_what_is_no_fault_is_not_noted(record):
    power = FAULTLESS[record]()
    found = from_pandas(power)
    assert not found.notes
    assert (found.power_kw == power.to_numpy()).all()


def every(step):
    index = pd.date_range("2016-07-01", periods=500, freq=step, tz="UTC")
    return pd.Series(np.arange(500.0) % 7, index=index)


@pytest.mark.parametrize(
    ("power", "options", "words"),
    [
        (every("20s"), {}, "less than a minute"),
        (every("1D"), {}, "an hour apart"),
        (sunny(10).cumsum(), {"power_unit": "kW"}, "option `power_unit` to kWh"),
        (sunny() * 0.0, {}, "only zeros"),
        (sunny().iloc[50:51], {}, "fewer than two times"),
        (-sunny(10), {}, "option `negate`"),
    ],
)
def test_a_record_that_cannot_be_used_is_refused(power, options, words):
    with pytest.raises(MeterError, match=words):
        from_pandas(power, **options)


def test_gaps_are_left_out_and_noted_with_their_share():
    power = sunny(10)
    record = from_pandas(power.drop(power.index[96:192]), label="start")
    assert len(record.times) == 9 * 96
    assert note_with(record, "no reading").startswith("10% of the intervals have no reading")
    assert "from 2016-07-02 00:00 UTC to 2016-07-03 00:00 UTC" in note_with(record, "no reading")


def test_empty_readings_are_left_out_and_noted(tmp_path):
    power = sunny(10)
    power.iloc[40:50] = np.nan
    path = write_csv(tmp_path / "a.csv", power)
    path.write_text(path.read_text() + "2016-07-11 00:00:00,NaN\n2016-07-11 00:15:00,n/a\n,\n")
    (record,) = read_meters(path, timezone="UTC")
    assert len(record.times) == 950
    assert note_with(record, "empty") == "12 empty readings dropped."


def test_different_readings_for_one_time_are_refused_with_their_rows(tmp_path):
    power = sunny()
    twice = pd.concat([power.iloc[:51], power.iloc[48:50] + 0.5, power.iloc[51:]])
    message = refusal(write_csv(tmp_path / "a.csv", twice), timezone="UTC")
    assert "different readings for the same time at rows 49 to 53 (4 of them)" in message
    assert "option `duplicates`" in message
    assert_no_reading_told(message, twice)


@pytest.mark.parametrize(("policy", "added"), [("mean", 0.25), ("first", 0.0), ("last", 0.5)])
def test_different_readings_for_one_time_are_settled_as_told(policy, added):
    power = sunny()
    twice = pd.concat([power, power.iloc[48:50] + 0.5])
    record = from_pandas(twice, duplicates=policy)
    expected = power.to_numpy().copy()
    expected[48:50] += added
    np.testing.assert_allclose(record.power_kw, expected)
    assert policy in note_with(record, "different readings")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), minutes=st.sampled_from([1, 5, 15, 60]))
def test_stamps_that_waver_by_seconds_are_brought_to_the_grid(seed, minutes):
    power = sunny(2, minutes=minutes)
    rng = np.random.default_rng(seed)
    jitter = pd.to_timedelta(rng.integers(-4, 5, len(power)), unit="s")
    wavering = pd.Series(power.to_numpy(), index=power.index + jitter)
    record = from_pandas(wavering, label="start")
    assert record.interval_minutes == minutes
    assert (record.times == power.index.tz_localize(None).to_numpy()).all()


def test_a_grid_off_the_hour_is_kept():
    power = sunny()
    record = from_pandas(power.shift(freq="1min"), label="start")
    assert (record.times == power.shift(freq="1min").index.tz_localize(None).to_numpy()).all()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (5, "5 minutes apart, but 15 minutes apart at rows 2 to 577"),
        (10, "15 minutes apart, but 10 minutes apart at rows 578 to 720"),
        (60, "15 minutes apart, but 60 minutes apart at rows 578 to 648"),
    ],
)
def test_two_spacings_in_one_file_are_refused_with_the_rows(tmp_path, other, words):
    mixed = pd.concat([sunny(6), sunny(1 if other == 10 else 3, minutes=other, start="2016-07-07")])
    message = refusal(write_csv(tmp_path / "a.csv", mixed), timezone="UTC")
    assert words in message
    assert "one spacing" in message
    assert_no_reading_told(message, mixed)


def test_many_readings_off_the_grid_are_refused_with_the_rows(tmp_path):
    power = sunny(10)
    stray = power.iloc[300:340].shift(freq="7min")
    mixed = pd.concat([power, stray]).sort_index()
    message = refusal(write_csv(tmp_path / "a.csv", mixed), timezone="UTC")
    assert "at rows 302 to 380 (40 of them)" in message


def test_impossible_spikes_are_left_out():
    power = sunny(10)
    power.iloc[[50, 500]] *= 1e4
    record = from_pandas(power.drop(power.index[500]))
    assert record.power_kw.max() < 5.0
    assert "row 51" in note_with(record, "spike")


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("at", [960, 1008])
def test_a_unit_that_switches_is_refused_with_its_place(tmp_path, factor, at):
    broken = with_part(at, None, lambda part: part * factor)
    message = refusal(write_csv(tmp_path / "a.csv", broken), timezone="UTC")
    assert "changes its unit" in message
    assert "set option `unit_switch` to repair" in message
    assert_no_reading_told(message, broken)
    row = int(message.split("at row ")[1].split(" ")[0])
    # Within the night around the change, no reading tells where it was.
    assert abs(row - 1 - at) < 40 if at == 960 else abs(row - 1 - at) <= 1


@pytest.mark.parametrize("factor", [1000.0, 0.001])
@pytest.mark.parametrize("part", [(960, None), (1008, None), (2208, None), (960, 1920)])
def test_a_unit_that_switches_is_repaired_to_the_longer_part(factor, part):
    true = sunny(40 if part[1] else 30)
    broken = true.copy()
    broken.iloc[slice(*part)] *= factor
    record = from_pandas(broken, unit_switch="repair")
    scale = factor if part[1] is None and part[0] < 1440 else 1.0
    np.testing.assert_allclose(record.power_kw, true.to_numpy() * scale, rtol=1e-9)
    assert "factor of 1000" in note_with(record, "unit changed")


def test_a_stuck_value_is_left_out_with_its_times():
    power = sunny(10)
    power.iloc[40:80] = 1.234
    record = from_pandas(power, label="start")
    assert len(record.times) == 920
    note = note_with(record, "stuck")
    assert "40 readings stuck at one value in 1 stretch" in note
    assert "2016-07-01 10:00 UTC and 2016-07-01 19:45 UTC" in note
    assert "1.234" not in note


@pytest.mark.parametrize("daily", [False, True])
def test_a_register_that_counts_up_gives_its_differences(daily):
    power = sunny(10)
    energy = power / 4.0
    counts = energy.groupby(energy.index.date).cumsum() if daily else 5000.0 + energy.cumsum()
    # a count stands at the end of what it has counted
    counts.index = counts.index + pd.Timedelta(minutes=15)
    record = from_pandas(counts, power_unit="kWh")
    assert record.differenced
    assert any("register" in note for note in record.notes)
    found = record.to_series()
    np.testing.assert_allclose(found, power[found.index], atol=1e-9)
    assert len(found) >= len(power) - 1


def test_a_register_is_no_register_for_a_release_unless_it_is_declared():
    counts = 5000.0 + (sunny(10) / 4.0).cumsum()
    assert not from_pandas(counts, power_unit="kWh", cleaning="each").differenced
    declared = from_pandas(counts, power_unit="kWh", cleaning="each", register="cumulative")
    assert declared.differenced
    assert declared.power_kw.max() < 20.0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, -9999.0, 3.0]),
        min_size=1,
        max_size=60,
    )
)
def test_any_numbers_give_a_valid_record_or_one_sentence(values):
    index = pd.date_range("2016-07-01 09:00", periods=len(values), freq="15min", tz="UTC")
    try:
        record = from_pandas(pd.Series(values, index=index, dtype=float))
    except MeterError as error:
        assert "\n" not in str(error)  # noqa: PT017  either outcome is right
    else:
        assert np.isfinite(record.power_kw).all()
        assert (record.power_kw >= 0.0).all()


def test_whole_numbers_under_a_header_of_kilowatts_are_asked_about(tmp_path):
    times = pd.date_range("2019-06-01", periods=96 * 40, freq="15min")
    watts = np.round(6000.0 * np.maximum(np.sin(2 * np.pi * (times.hour - 6) / 24.0), 0.0))
    for name, power, sure in (("whole", watts, False), ("kilowatts", watts / 1000.0, True)):
        path = tmp_path / f"{name}.csv"
        pd.DataFrame({"time": times, "power_kw": power}).to_csv(path, index=False)
        (record,) = read_meters(path, timezone="UTC")
        assert record.unit_known is sure
        (declared,) = read_meters(path, timezone="UTC", power_unit="kW")
        assert declared.unit_known


def household(power):
    """Return what a home uses at the times of a series. [kW]"""
    rng = np.random.default_rng(3)
    evening = np.isin(power.index.hour, (18, 19, 20, 21))
    return 0.2 + rng.exponential(0.3, len(power)) + 0.8 * evening


def wavering(power):
    """Return a load of much that hardly changes. [kW]"""
    return 0.7 + 0.001 * np.random.default_rng(3).random(len(power))


def starts_of(power):
    return power.index.tz_localize(None).to_numpy().astype("M8[s]")


@pytest.mark.parametrize("load", [household, wavering, lambda power: 1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_net_meter_is_seen_and_read_as_it_is(load, sign):
    """Whichever sign it counts generation with: a home takes power at night."""
    power = sunny(10)
    net = power - load(power)
    record = from_pandas(sign * net)
    assert record.net is True
    assert "as a net meter does: taken for one." in note_with(record, "at night on most days")
    assert any("the sign of all readings was turned" in note for note in record.notes) == (sign < 0)
    np.testing.assert_array_equal(record.power_kw, net.to_numpy())


def test_a_net_meter_that_is_said_to_be_one_is_read_with_either_sign():
    net = sunny(10) - household(sunny(10))
    for cleaning in ("record", "each"):
        for power, options in ((net, {}), (-net, {"negate": True})):
            record = from_pandas(power, net=True, cleaning=cleaning, **options)
            np.testing.assert_array_equal(record.power_kw, net.to_numpy())
            assert record.net
    assert from_pandas(-net, net=True).power_kw.max() == net.max()
    assert (from_pandas(-sunny(10), negate=True).power_kw == sunny(10).to_numpy()).all()
    # a release takes the sign that is declared, and no curator is contradicted
    assert (
        from_pandas(-net, net=True, cleaning="each", power_unit="kW").power_kw.min() == -net.max()
    )
    assert from_pandas(net, net=True, negate=True).power_kw.min() == -net.max()


def test_a_meter_of_what_is_given_to_the_grid_alone_stays_as_it_is():
    export = (sunny(10) - household(sunny(10))).clip(lower=0.0)
    record = from_pandas(export, net=True)
    assert record.net
    np.testing.assert_array_equal(record.power_kw, export.to_numpy())
    assert not from_pandas(export).net
    with pytest.raises(MeterError, match="export_column"):
        from_pandas(export * 0.0 + household(export), net=True)


def test_a_load_far_above_what_is_given_to_the_grid_is_no_spike_and_no_other_unit():
    net = 0.2 * sunny(30) - household(sunny(30))
    net.iloc[48 : 15 * 96 : 480] = -12.0
    net.iloc[15 * 96 :] -= 0.7
    record = from_pandas(net, net=True)
    np.testing.assert_array_equal(record.power_kw, net.to_numpy())


def test_a_net_meter_of_which_a_few_readings_are_missing_is_one_still():
    power = sunny(30) - household(sunny(30))
    power.iloc[100:400] = -99.0
    assert from_pandas(power).net


def test_a_large_night_consumption_that_hardly_changes_is_no_household():
    power = sunny(30)
    tare = 0.3 + 0.0005 * np.random.default_rng(1).random(len(power))
    record = from_pandas(power.where(power > 0.0, -tare), label="start")
    assert not record.net
    night = (power.index.hour < 4).astype(bool)
    assert (record.power_kw[np.isin(record.times, starts_of(power)[night])] == 0.0).all()


def test_a_month_of_a_household_in_a_record_of_generation_is_left_out():
    power = sunny(120)
    month = slice(30 * 96, 60 * 96)
    power.iloc[month] -= household(power)[month]
    record = from_pandas(power, label="start")
    assert not record.net
    kept = np.isin(starts_of(power), record.times)
    assert kept[: 30 * 96].all()
    assert kept[60 * 96 :].all()
    assert kept[month].mean() < 0.05


NOON = sunny(60).index
NOON = (NOON.hour == 12) & (NOON.day < 15)
TURNED = {
    "a stretch of days": (sunny(60), slice(20 * 96, 40 * 96), "rows 1921 to 3840"),
    "a few hours": (sunny(30), slice(10 * 96 + 48, 10 * 96 + 56), "rows 1009 to 1016"),
    "noons of what is never quite zero": (sunny(60) + 0.002, NOON, "far below zero"),
}


@pytest.mark.parametrize("part", TURNED)
def test_readings_with_their_sign_turned_cost_these_alone_and_are_no_household(part):
    power, where, words = TURNED[part]
    turned = power.copy()
    turned[where] *= -1.0
    record = from_pandas(turned, label="start")
    assert not record.net
    lost = np.zeros(len(power), dtype=bool)
    lost[where] = True
    np.testing.assert_array_equal(np.isin(starts_of(power), record.times), ~lost)
    assert words in note_with(record, "far below zero")


def test_a_sign_that_is_turned_for_most_of_a_record_is_no_household_either():
    power = sunny(60)
    power.iloc[: 40 * 96] *= -1.0
    record = from_pandas(power, label="start")
    assert not record.net
    assert (record.power_kw[-20 * 96 :] == power.to_numpy()[-20 * 96 :]).all()


@pytest.mark.parametrize("value", [-999.0, -9999.0, -99999.0, -32768.0, -0.999, -9.999, -99.999])
def test_what_loggers_write_for_missing_is_left_out(value):
    power = sunny(10)
    power.iloc[300:340] = value
    narrow = power.astype(np.float32)
    for record in (from_pandas(power), from_pandas(narrow)):
        assert len(record.times) == 920
        assert note_with(record, "logger").startswith("40 readings")


@pytest.mark.parametrize("value", [-99.0, -7.0, -1.0])
def test_somebody_s_own_word_for_missing_is_left_out_by_day(value):
    power = sunny(30)
    missing = np.random.default_rng(0).random(len(power)) < 0.05
    record = from_pandas(power.where(~missing, value), label="start")
    assert not record.net
    kept = np.isin(starts_of(power), record.times)
    assert not kept[missing & (power > 0.5).to_numpy()].any()
    assert kept[~missing].all()


def test_a_logger_that_writes_one_value_all_night_is_no_household():
    power = sunny(30)
    record = from_pandas(power.where(power > 0.0, -5.0), label="start")
    assert not record.net
    assert record.power_kw.min() == 0.0


def test_a_few_deep_negatives_are_left_out():
    power = sunny(10)
    power.iloc[50] = -2.0
    record = from_pandas(power)
    assert len(record.times) == 959
    assert "row 51" in note_with(record, "far below zero")
