"""The quick looks may call too much unusual, but never too little."""

from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import MeterError
from sunveil.fleet.unusual_records import _count_dim_days, _stuck_levels, inspect
from sunveil.meters import MeterOptions
from sunveil.meters.quality_rules import clean
from sunveil.meters.time_steps import RawReadings, find_interval
from sunveil.site import TimeGrid

AXIS = TimeGrid(1_546_300_800, 3600, 24 * 90)
OPTIONS = MeterOptions()
FACTOR = np.float32(500.0)


def sunny(rng):
    """Return 90 days of a clear to cloudy record. [kW]"""
    hours = np.arange(AXIS.count) % 24
    shape = np.maximum(0.0, np.cos((hours - 12.0) / 6.0 * np.pi / 2.0))
    return (5.0 * shape * rng.uniform(0.2, 1.0, AXIS.count)).astype(np.float32)


def by_the_rules(power, *, net=False):
    """Return a record as the rules for meters leave it, or None when they refuse it."""
    there = np.flatnonzero(~np.isnan(power))
    values = power[there].astype(float)
    readings = RawReadings(AXIS.starts[there], values, there + 1, "it", net=net)
    try:
        if find_interval(readings) != AXIS.step:
            return None
        kept = clean(readings, OPTIONS, interval=AXIS.step)
    except MeterError:
        return None
    out = np.full(AXIS.count, np.nan, dtype=np.float32)
    out[(kept.seconds - AXIS.first) // AXIS.step] = kept.power
    return out


def spike(power, rng):
    power[rng.integers(AXIS.count, size=rng.integers(1, 4))] = rng.uniform(20.0, 2000.0)


def stuck(power, rng):
    start = rng.integers(AXIS.count - 40)
    power[start : start + rng.integers(5, 30)] = rng.uniform(0.0, 6.0)


def consumption(power, rng):
    power[power == 0.0] = -rng.uniform(0.0, 0.2)


def household(power, rng):
    power -= rng.exponential(rng.uniform(0.05, 1.0), AXIS.count).astype(np.float32)


def turned(power, rng):
    start = 24 * rng.integers(80)
    power[start : start + 24 * rng.integers(1, 40)] *= -1.0


def deep(power, rng):
    power[rng.integers(AXIS.count, size=rng.integers(1, 60))] = -rng.uniform(0.1, 20.0)


def switched(power, rng):
    start = 24 * rng.integers(80)
    power[start : start + 24 * rng.integers(1, 40)] /= 1000.0


def negated(power, rng):
    power *= -1.0


def register(power, rng):
    power[:] = np.cumsum(np.abs(power))


def dark(power, rng):
    power[:] = 0.0


def gaps(power, rng):
    power[rng.random(AXIS.count) < rng.uniform(0.0, 0.7)] = np.nan


def thinned(power, rng):
    start = rng.integers(AXIS.count - 300)
    part = power[start : start + 2 * rng.integers(30, 120)]
    part[1::2] = np.nan


def clipped(power, rng):
    np.minimum(power, rng.uniform(1.0, 5.0), out=power)


def standby(power, rng):
    power[power < 0.01] = rng.choice([0.002, 0.05, 0.4])


FAULTS = [
    spike, stuck, consumption, household, turned, deep, switched, negated, register, dark, gaps,
    thinned, clipped, standby,
]  # fmt: skip


@pytest.mark.parametrize("net", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_record_that_passes_is_as_the_rules_leave_it(fault, net):
    rng = np.random.default_rng(len(fault.__name__))
    power = np.stack([sunny(rng) for _ in range(40 if net else 150)])
    for row in power:
        if net:
            household(row, rng)
        fault(row, rng)
        if rng.random() < 0.3:
            rng.choice(FAULTS)(row, rng)
    raw = power.copy()
    needs_review = inspect(power, AXIS, net=net)
    for row, before, is_odd in zip(power, raw, needs_review, strict=True):
        if not is_odd:
            np.testing.assert_array_equal(row, by_the_rules(before, net=net))


def test_most_net_meters_pass_and_keep_what_their_households_take():
    rng = np.random.default_rng(2)
    power = np.stack([sunny(rng) for _ in range(60)])
    for row in power:
        household(row, rng)
    power[40:] = np.maximum(power[40:], 0.0)  # only what is given to the grid is counted
    raw = power.copy()
    assert inspect(power, AXIS, net=True).sum() <= 3
    np.testing.assert_array_equal(power, raw)
    assert inspect(-power[:40], AXIS, net=True).all()
    assert (power[:40] < 0.0).any(axis=1).all()


def test_most_plain_records_pass():
    rng = np.random.default_rng(0)
    power = np.stack([sunny(rng) for _ in range(100)])
    for row in power[50:]:
        consumption(row, rng)
    assert inspect(power, AXIS)[:50].sum() == 0
    assert (power[50:][~inspect(power[50:], AXIS)] >= 0.0).all()


@pytest.mark.parametrize(
    "fault", [spike, household, turned, deep, switched, negated, register, dark]
)
def test_what_the_rules_change_is_found(fault):
    rng = np.random.default_rng(7)
    power = np.stack([sunny(rng) for _ in range(60)])
    for row in power:
        fault(row, rng)
    assert inspect(power, AXIS).sum() > 20


@pytest.mark.parametrize("least", [8, 24])
def test_every_stuck_stretch_is_found_once_with_its_level(least):
    rng = np.random.default_rng(5)
    levels = rng.integers(0, 4, 120).astype(np.float32)
    row = np.repeat(levels, rng.integers(1, 2 * least, 120))
    row[rng.integers(len(row), size=3)] = np.nan
    starts = np.flatnonzero(np.r_[True, row[1:] != row[:-1]])
    long = np.diff(np.r_[starts, len(row)]) >= least
    told = row[starts[long & (row[starts] > 0.0)]]
    found = np.zeros(100, dtype=np.float32)
    assert _stuck_levels(row, least, found) == len(told) > 10
    np.testing.assert_array_equal(found[: len(told)], told)


@pytest.mark.parametrize("begin", [0, 5 * 3600])
def test_days_without_much_power_are_counted(begin):
    rng = np.random.default_rng(6)
    row = sunny(rng)
    days = (AXIS.first + begin + 3600 * np.arange(len(row))) // 86400
    for day in (3, 4, 40, 41, 88):
        row[days == days[0] + day] *= 1e-4
    row[days == days[0] + 20] = 0.0
    row[days == days[0] + 60] = np.nan
    assert _count_dim_days(row, AXIS.first + begin, 3600, row[row == row].max(), FACTOR) == 5


def test_dark_days_that_no_change_of_unit_explains_are_usual():
    rng = np.random.default_rng(8)
    power = np.stack([sunny(rng) for _ in range(40)])
    for row in power:
        for day in rng.choice(90, 5, replace=False):
            row[24 * day : 24 * (day + 1)] *= 10.0 ** -rng.uniform(2.0, 4.0)
    days = [_count_dim_days(row, AXIS.first, 3600, row.max(), FACTOR) for row in power]
    assert sum(each >= 2 for each in days) > 20
    assert inspect(power, AXIS).sum() < 5
