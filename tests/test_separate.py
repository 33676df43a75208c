from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sunveil
from plot_makers import GOLDEN, estimate_of, net_of, net_sunny, sunny
from sunveil.estimates import ClockFinding
from sunveil.meters import Label

PLACE = {
    "latitude": GOLDEN.latitude, "longitude": GOLDEN.longitude, "altitude": GOLDEN.altitude,
}  # fmt: skip
HOME = net_of(haze_summer=-0.2, haze_winter=-0.2, heat=1.25)


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return sunveil.separate(net_sunny()[0], HOME, **PLACE)


def test_generation_less_load_is_the_reading_and_the_band_holds_the_generation(
    found: pd.DataFrame,
) -> None:
    net, generation = net_sunny()[0].power_kw, sunny()[0].power_kw
    assert found.index.equals(pd.DatetimeIndex(net_sunny()[0].times).tz_localize("UTC"))
    np.testing.assert_allclose(found["generation_kw"] - found["load_kw"], net, atol=1e-5)
    assert (found["load_kw"] >= -1e-6).all()
    assert np.abs(found["generation_kw"] - generation).mean() < 0.1
    low, high = found["generation_low_kw"], found["generation_high_kw"]
    assert ((low - 0.01 <= found["generation_kw"]) & (found["generation_kw"] <= high + 0.01)).all()
    bright = generation > 0.5
    assert ((low <= generation + 0.05) & (generation <= high + 0.05))[bright].mean() > 0.8


def test_a_clock_that_was_repaired_is_repaired_once(found: pd.DataFrame) -> None:
    record = net_sunny()[0]
    fast = replace(record, times=record.times + np.timedelta64(90, "m"))
    clock = ClockFinding(90.0, Label.START)
    other = sunveil.separate(fast, HOME.replaced(clock=clock), **PLACE)
    pd.testing.assert_frame_equal(other, found)


def test_a_series_is_read_as_an_inference_reads_it(found: pd.DataFrame) -> None:
    watts = 1000.0 * net_sunny()[0].to_series().tz_convert("Etc/GMT+7")
    other = sunveil.separate(watts, HOME, power_unit="W", label="start", **PLACE)
    here = found.loc[other.index, "load_kw"]
    assert len(other) > 0.99 * len(found)
    # the same hours of the same household, whatever the clock is called
    np.testing.assert_allclose(other["load_kw"], here, atol=0.05)


def test_a_meter_of_generation_has_no_load_to_be_told_from() -> None:
    with pytest.raises(sunveil.MeterError, match="roof is no net meter: it reads its generation"):
        sunveil.separate(sunny()[0], estimate_of(), **PLACE)
