"""SERF East, a real system at azimuth 158 and tilt 45, in the two records pvanalytics carries.

One has its summers stamped an hour ahead (daylight saving left in), the other is right. Labels of
real systems are good to a few degrees.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import sunveil
from sunveil.estimates import Estimate, Flag
from sunveil.estimates.planes_and_intervals import DaylightSaving
from sunveil.meters import Label
from sunveil.site import Plane

SERF = {"latitude": 39.742, "longitude": -105.1727, "altitude": 1795.0}
LABEL = Plane(158.0, 45.0)
DATA = files("pvanalytics") / "data"


@pytest.fixture(scope="module")
def with_saving() -> pd.Series:
    """A year of one of the two inverters, about 3 kW of modules."""
    with (DATA / "system_50_ac_power_2_full_DST.parquet").open("rb") as file:
        frame = pd.read_parquet(file)
    power = frame.set_index("measured_on")["ac_power_2"].dropna()
    return power[power.index < "2012-04-15"]


@pytest.fixture(scope="module")
def as_declared() -> pd.Series:
    """Three and a half months of the whole system, 6 kW of modules."""
    with (DATA / "serf_east_15min_ac_power.csv").open("rb") as file:
        power = pd.read_csv(file, index_col=0)["ac_power"].dropna()
    return power.set_axis(pd.to_datetime(power.index, utc=True).tz_convert("Etc/GMT+7"))


@pytest.fixture(scope="module")
def saved(with_saving) -> Estimate:
    return sunveil.infer(with_saving, power_unit="W", **SERF)


@pytest.fixture(scope="module")
def right(as_declared) -> Estimate:
    return sunveil.infer(as_declared, power_unit="W", **SERF)


def azimuth_error(found: Estimate) -> float:
    return abs((found.surface_azimuth - LABEL.surface_azimuth + 180.0) % 360.0 - 180.0)


def test_daylight_saving_left_in_is_found_and_said_and_the_plane_is_found_after_its_repair(
    with_saving, saved
):
    assert saved.clock.daylight_saving is DaylightSaving.LEFT_IN
    assert saved.clock.offset_minutes == 0.0
    assert Flag.CLOCK_REPAIRED in saved.flags
    assert azimuth_error(saved) <= 8.0
    assert abs(saved.surface_tilt - LABEL.surface_tilt) <= 8.0
    assert 2.4 <= saved.dc_capacity_kw <= 4.2  # one inverter
    assert saved.ac_limit_kw is None
    given = sunveil.infer(with_saving, power_unit="W", clock="given", **SERF)
    assert given.clock.daylight_saving is DaylightSaving.AS_DECLARED
    assert given.plane.angle_to(LABEL) > saved.plane.angle_to(LABEL) + 3.0
    assert given.agreement < saved.agreement


def test_a_clock_that_is_right_is_left_alone_and_summer_and_autumn_give_the_plane(right):
    assert right.clock.offset_minutes == 0.0
    assert right.clock.daylight_saving is DaylightSaving.AS_DECLARED
    assert Flag.CLOCK_REPAIRED not in right.flags
    assert right.clock.label is Label.MIDDLE  # undeclared, and the interval is short
    assert azimuth_error(right) <= 8.0
    assert abs(right.surface_tilt - LABEL.surface_tilt) <= 8.0
    assert right.dc_capacity_kw == pytest.approx(6.0, rel=0.15)


def test_neither_is_taken_for_more_than_one_plane_nor_for_noise_and_the_label_is_within(
    right, saved
):
    for found in (right, saved):
        # twice the radius, since the label's own few degrees add up
        assert found.plane.angle_to(LABEL) <= 2.0 * found.plane_error_degrees
        assert Flag.NOT_ONE_PLANE not in found.flags
        assert Flag.LOW_AGREEMENT not in found.flags
        assert found.agreement > 0.4


def test_a_slow_clock_on_real_readings_is_found(as_declared, right):
    early = as_declared.set_axis(as_declared.index - pd.Timedelta(hours=1))
    found = sunveil.infer(early, power_unit="W", **SERF)
    assert found.clock.offset_minutes == -60.0
    assert found.plane.angle_to(right.plane) < 0.5
    np.testing.assert_allclose(found.dc_capacity_kw, right.dc_capacity_kw, rtol=0.01)
