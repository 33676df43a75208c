from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks.net_answers import NetAnswer
from benchmarks.net_scores import Honesty, net_errors
from benchmarks.net_separation import separate_by_context
from benchmarks.net_systems import KnownNet
from sunveil.estimates import Flag
from sunveil.site import Plane, Site

HERE = Site(40.0, 0.0, 0.0)
HOURS = pd.date_range("2019-01-01", periods=365 * 24, freq="h", tz="Europe/Paris")
TOLD = NetAnswer(
    azimuth=355.0,
    tilt=22.0,
    capacity=4.4,
    azimuth_interval=(345.0, 5.0),
    tilt_interval=(21.0, 30.0),
    capacity_interval=(4.2, 4.6),
    flags=(Flag.NET_METER,),
    quality="good",
    self_consumption=0.4,
    mean_load=1.1,
)


def known(**changes) -> KnownNet:
    sun = np.maximum(np.cos(2.0 * np.pi * (HOURS.hour - 12) / 24.0), 0.0)
    system = KnownNet(
        name="one",
        generation=pd.Series(4.0 * sun, index=HOURS),
        load=pd.Series(1.0, index=HOURS),
        site=HERE,
        plane=Plane(3.0, 20.0),
        dc_capacity_kw=4.0,
    )
    return replace(system, **changes)


def known_use() -> float:
    one = known()
    return float(np.minimum(one.generation, one.load).sum() / one.generation.sum())


def test_errors_pass_north_and_intervals_hold_or_do_not():
    errors = net_errors(known(), TOLD)
    assert errors.azimuth == pytest.approx(8.0)
    assert errors.tilt == pytest.approx(2.0)
    assert errors.capacity == pytest.approx(10.0)
    assert errors.load == pytest.approx(10.0)
    assert errors.self_consumption == pytest.approx(abs(0.4 - known_use()), abs=1e-6)
    assert errors.held == (True, False, False)
    assert not errors.wrong


@pytest.mark.parametrize("changes", [{"azimuth": 30.0}, {"capacity": 5.1}])
def test_far_off_in_azimuth_or_capacity_is_wrong(changes):
    assert net_errors(known(), replace(TOLD, **changes)).wrong


def test_a_refusal_is_judged_by_what_would_have_been_told():
    wrong, flagged = replace(TOLD, azimuth=90.0), replace(TOLD, flags=(Flag.LITTLE_EXPORT,))
    answers = [TOLD, wrong, NetAnswer(), NetAnswer(), NetAnswer(), flagged]
    forced = [TOLD, wrong, wrong, TOLD, NetAnswer(), flagged]
    told = [(known(), answer) for answer in answers]
    assert Honesty.of(told, forced) == Honesty(wrong=3, said=2, right=3, cried=2)


def test_separation_by_context_finds_generation_that_its_features_span():
    rng = np.random.default_rng(1)
    days = np.repeat(rng.uniform(0.2, 1.0, 365), 24)
    up = np.maximum(np.cos(2.0 * np.pi * (HOURS.hour.to_numpy() - 12) / 24.0), 0.0)
    east, west = np.roll(up, -2) * days, np.roll(up, 2) * days
    made = 1.0 * east + 3.0 * west
    load = 0.3 + 0.4 * (HOURS.hour.to_numpy() > 17) + rng.exponential(0.5, len(HOURS))
    dark = HERE.sun((HOURS + pd.Timedelta(minutes=30)).tz_convert("UTC"))["apparent_zenith"] > 90.0
    made[dark.to_numpy()] = 0.0
    net = pd.Series(made - load, index=HOURS)
    found = separate_by_context(net, HERE, np.column_stack([east, west]))
    assert np.abs(found - made).mean() < 0.04 * np.abs(net - net.mean()).mean()
    assert (found >= net.clip(lower=0.0).where(~dark.to_numpy(), 0.0) - 1e-9).all()
