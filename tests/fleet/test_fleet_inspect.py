"""The quick looks may call too much unusual, but never too little."""

from __future__ import annotations

import numpy as np
import pytest

from sunveil.errors import MeterError
from sunveil.fleet.unusual_records import inspect
from sunveil.meters import MeterOptions
from sunveil.meters.quality_rules import clean
from sunveil.meters.time_steps import RawReadings, find_interval
from sunveil.site import TimeGrid

AXIS = TimeGrid(1_546_300_800, 3600, 24 * 90)
OPTIONS = MeterOptions()


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


def put(power, where, value):
    power[where] = value


def scale(power, where, factor):
    power[where] *= factor


def some(rng, least, most):
    """Return a few readings anywhere."""
    return rng.integers(AXIS.count, size=rng.integers(least, most))


def days(rng):
    """Return some days that follow each other."""
    start = 24 * rng.integers(80)
    return slice(start, start + 24 * rng.integers(1, 40))


def stretch(rng, least, most, step=1):
    start = rng.integers(AXIS.count - most)
    return slice(start, start + rng.integers(least, most), step)


FAULTS = {
    "spike": lambda power, rng: put(power, some(rng, 1, 4), rng.uniform(20.0, 2000.0)),
    "stuck": lambda power, rng: put(power, stretch(rng, 5, 30), rng.uniform(0.0, 6.0)),
    "long stuck": lambda power, rng: put(power, stretch(rng, 30, 200), rng.uniform(0.0, 3.0)),
    "consumption": lambda power, rng: put(power, power == 0.0, -rng.uniform(0.0, 0.2)),
    "household": lambda power, rng: put(
        power, slice(None), power - rng.exponential(rng.uniform(0.05, 1.0), AXIS.count)
    ),
    "turned": lambda power, rng: scale(power, days(rng), -1.0),
    "deep": lambda power, rng: put(power, some(rng, 1, 60), -rng.uniform(0.1, 20.0)),
    "switched": lambda power, rng: scale(power, days(rng), 0.001),
    "negated": lambda power, rng: scale(power, slice(None), -1.0),
    "register": lambda power, rng: put(power, slice(None), np.cumsum(np.abs(power))),
    "dark": lambda power, rng: put(power, slice(None), 0.0),
    "gaps": lambda power, rng: put(power, rng.random(AXIS.count) < rng.uniform(0.0, 0.7), np.nan),
    "thinned": lambda power, rng: put(power, stretch(rng, 60, 240, 2), np.nan),
    "clipped": lambda power, rng: np.minimum(power, rng.uniform(1.0, 5.0), out=power),
    "standby": lambda power, rng: put(power, power < 0.01, rng.choice([0.002, 0.05, 0.4])),
}


def records(count, *faults, seed):
    rng = np.random.default_rng(seed)
    power = np.stack([sunny(rng) for _ in range(count)])
    for row in power:
        for fault in faults:
            FAULTS[fault](row, rng)
    return power, rng


@pytest.mark.parametrize("net", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_record_that_passes_is_as_the_rules_leave_it(fault, net):
    power, rng = records(
        40 if net else 150, *(["household"] * net), fault, seed=list(FAULTS).index(fault)
    )
    for row in power:
        if rng.random() < 0.3:
            FAULTS[rng.choice(list(FAULTS))](row, rng)
    raw = power.copy()
    needs_review = inspect(power, AXIS, net=net)
    for row, before, is_odd in zip(power, raw, needs_review, strict=True):
        if not is_odd:
            np.testing.assert_array_equal(row, by_the_rules(before, net=net))


def test_most_net_meters_pass_and_keep_what_their_households_take():
    power, _ = records(60, "household", seed=2)
    power[40:] = np.maximum(power[40:], 0.0)  # only what is given to the grid is counted
    raw = power.copy()
    assert inspect(power, AXIS, net=True).sum() <= 3
    np.testing.assert_array_equal(power, raw)
    assert inspect(-power[:40], AXIS, net=True).all()
    assert (power[:40] < 0.0).any(axis=1).all()


def test_most_plain_records_pass_also_with_consumption_and_dark_days_in_winter():
    assert inspect(records(50, seed=0)[0], AXIS).sum() == 0
    power, _ = records(50, "consumption", seed=0)
    assert (power[~inspect(power, AXIS)] >= 0.0).all()
    power, rng = records(40, seed=8)
    for row in power:
        for day in rng.choice(90, 5, replace=False):
            row[24 * day : 24 * (day + 1)] *= 10.0 ** -rng.uniform(2.0, 4.0)
    assert inspect(power, AXIS).sum() < 5
