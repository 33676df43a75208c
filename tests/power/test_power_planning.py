"""Planners' questions, against numpy over the power of planes that are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sunveil import Site, fleet_power
from sunveil.errors import ParameterError
from sunveil.power.plane_power import Unknowns
from sunveil.power.planning_questions import (
    cloud_front,
    facing_at_evening,
    minimum_load_day,
    more_capacity,
    peak_day,
    steepest_ramps,
)
from sunveil.weather import clearsky

SITE, ZONE = Site(39.74, -105.17), "America/Denver"
EXACT = Unknowns(model=False, weather=False)
PLANES = pd.DataFrame(
    {
        "surface_azimuth": [180.0, 270.0, 90.0],
        "surface_tilt": [25.0, 35.0, 15.0],
        "dc_capacity_kw": [50.0, 30.0, 20.0],
        "feeder": ["F1", "F2", "F2"],
    }
)


def make(planes=PLANES, *, unknowns=EXACT, **options):
    span = {"start": "2023-06-19T06:00", "end": "2023-06-23T06:00", **options}
    return fleet_power(planes, SITE, **span, draws=40, unknowns=unknowns)


@pytest.fixture(scope="module")
def known():
    """Four local days without any unknown: all draws are the same run of power."""
    made = make()
    run = made.power_kw[0].astype(float)
    assert np.ptp(made.draws(), axis=1).max() < 1e-3
    return made, run, made.times.tz_convert(ZONE)


def test_the_peak_is_that_of_the_local_day(known):
    power, run, local = known
    best = peak_day(power, zone=ZONE)
    by_day = pd.Series(run, index=local).groupby(local.strftime("%Y-%m-%d")).max()
    assert (best.day, best.chance) == (by_day.idxmax(), 1.0)
    assert best.answer.value == pytest.approx(by_day.max(), rel=1e-5)
    assert best.answer.low == pytest.approx(best.answer.high, rel=1e-5)


def test_load_less_generation_is_lowest_on_the_day_with_the_lowest_load(known):
    power, run, local = known
    load = np.where(local.strftime("%d") == "21", 100.0, 140.0)
    lowest = minimum_load_day(power, load, zone=ZONE)
    assert lowest.day == "2023-06-21"
    assert lowest.answer.value == pytest.approx((load - run).min(), abs=1e-3)
    for wrong in (math.nan, np.zeros(3), "much"):
        with pytest.raises(ParameterError, match="load_kw"):
            minimum_load_day(power, wrong)


@pytest.mark.parametrize(("minutes", "steps"), [(None, 1), (15, 1), (60, 4)])
def test_ramps_are_the_largest_changes_within_the_window(known, minutes, steps):
    power, run, _ = known
    found = steepest_ramps(power, zone=ZONE, minutes=minutes)
    assert list(found) == ["summer"]
    rise, fall = found["summer"]
    changes = run[steps:] - run[:-steps]
    assert rise.value == pytest.approx(changes.max(), rel=1e-4)
    assert fall.value == pytest.approx(changes.min(), rel=1e-4)


def test_roofs_that_face_west_give_at_evening_what_they_give_alone(known):
    power, _, local = known
    alone = make(PLANES[PLANES.surface_azimuth == 270.0]).power_kw[0].astype(float)
    evening = (local.hour >= 17) & (local.hour < 20)
    found = facing_at_evening(power, hours=(17.0, 20.0), zone=ZONE)
    assert found.value == pytest.approx(alone[evening].mean(), rel=0.02)
    with pytest.raises(ParameterError, match="no such evening"):
        facing_at_evening(power, months=(1,), zone=ZONE)


@pytest.mark.parametrize(
    ("minutes", "left", "lost"), [(15.0, 0.25, 0.75), (30.0, 0.25, 0.375), (5.0, 0.0, 1.0)]
)
def test_a_front_takes_what_it_darkens_within_an_interval(known, minutes, left, lost):
    power, run, _ = known
    assert cloud_front(power, minutes=minutes, left=left).value == pytest.approx(
        lost * run.max(), rel=1e-5
    )


def test_more_capacity_adds_its_share_of_capacity_energy_and_peak(known):
    power, run, _ = known
    added = more_capacity(power, share=0.5)
    expected = {"capacity": 50.0, "energy": 0.5 * run.sum() / 4.0, "peak": 0.5 * run.max()}
    for name, value in expected.items():
        assert added[name].value == pytest.approx(value, rel=1e-3)


def test_a_group_is_asked_for_by_its_name():
    power = make(by="feeder")
    whole = {group: peak_day(power, group=group, zone=ZONE).answer.value for group in ("F1", "F2")}
    assert whole["F1"] == pytest.approx(power.power_kw[0].max(), rel=1e-4)
    with pytest.raises(ParameterError, match="F1, F2"):
        peak_day(power, zone=ZONE)
    with pytest.raises(ParameterError, match="time zone"):
        peak_day(power, group="F1", zone="Mars/Olympus")


def width(power) -> float:
    assert (power.low_kw <= power.power_kw).all()
    assert (power.power_kw <= power.high_kw).all()
    return float((power.high_kw - power.low_kw).sum() / power.power_kw.sum())


def test_the_band_is_wider_with_every_unknown_and_holds_the_middle():
    clear = clearsky(SITE, "2023-06-18", "2023-06-24")
    measured = {"weather": replace(clear, clear=False)}
    model, weather = Unknowns(weather=False), Unknowns(model=False)
    assert width(make(unknowns=EXACT, **measured)) < 1e-4
    alone = [width(make(unknowns=each, **measured)) for each in (model, weather)]
    assert max(alone) < width(make(unknowns=Unknowns(), **measured)) < sum(alone)
    # a clear sky is taken as it is: the band is of a day without clouds
    assert width(make(unknowns=weather)) < 1e-4


def test_the_same_seed_gives_the_same_band_and_another_another():
    one, same, other = (make(unknowns=Unknowns(), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.high_kw, same.high_kw)
    assert not np.array_equal(one.high_kw, other.high_kw)
