"""Readings below zero: an inverter's own needs, faults and households are told apart."""

from __future__ import annotations

import numpy as np
import pytest
from meter_makers import note_with, sunny

from sunveil.errors import MeterError
from sunveil.meters import from_pandas


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
        for given, options in ((net, {}), (-net, {"negate": True})):
            record = from_pandas(given, net=True, cleaning=cleaning, **options)
            np.testing.assert_array_equal(record.power_kw, net.to_numpy())
            assert record.net
    assert from_pandas(-net, net=True).power_kw.max() == net.max()
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


def test_a_stretch_with_its_sign_turned_costs_these_days_alone():
    power = sunny(60)
    turned = power.copy()
    turned.iloc[20 * 96 : 40 * 96] *= -1.0
    record = from_pandas(turned, label="start")
    assert not record.net
    kept = np.isin(starts_of(power), record.times)
    assert kept[: 20 * 96].all()
    assert kept[40 * 96 :].all()
    assert not kept[20 * 96 : 40 * 96].any()
    assert "rows 1921 to 3840" in note_with(record, "far below zero")


def test_generation_that_is_never_quite_zero_is_no_household_for_a_few_turned_hours():
    power = sunny(60) + 0.002
    noons = (power.index.hour == 12) & (power.index.day < 15)
    record = from_pandas(power.where(~noons, -power), label="start")
    assert not record.net
    assert len(record.times) == len(power) - noons.sum()


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


def test_a_few_hours_with_their_sign_turned_cost_these_alone():
    power = sunny(30)
    turned = power.copy()
    turned.iloc[10 * 96 + 48 : 10 * 96 + 56] *= -1.0
    record = from_pandas(turned, label="start")
    assert len(record.times) == len(power) - 8


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


def test_generation_counted_as_negative_can_be_turned():
    power = sunny(10)
    assert (from_pandas(-power, negate=True).power_kw == power.to_numpy()).all()


def test_a_few_deep_negatives_are_left_out():
    power = sunny(10)
    power.iloc[50] = -2.0
    record = from_pandas(power)
    assert len(record.times) == 959
    assert "row 51" in note_with(record, "far below zero")
