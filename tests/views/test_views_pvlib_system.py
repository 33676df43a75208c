from __future__ import annotations

import numpy as np
import pytest
from pvlib.location import Location
from pvlib.pvsystem import FixedMount, SingleAxisTrackerMount

from plot_makers import GOLDEN, estimate_of, pair_of, tracker_of
from pvlib_chain import pvlib_ac_power, pvlib_dc_power, pvlib_irradiance
from sunveil.errors import ParameterError
from sunveil.estimates.estimates_table import EstimateSource
from sunveil.meters import Record
from sunveil.weather import clearsky

# pvlib's own use of what pandas is going to rename
pytestmark = pytest.mark.filterwarnings("ignore:DatetimeIndex.dayofyear is deprecated")


@pytest.fixture(scope="module")
def weather():
    return clearsky(GOLDEN, "2019-06-01", "2019-06-08", step_minutes=30)


def own_power(estimate, weather):
    """Return the power that Sunveil's own chain gives, of fixed planes. [kW]"""
    frame, sun = weather.to_frame(), GOLDEN.sun(weather.times)
    losses, heat = estimate.assumptions.losses, estimate.assumptions.mount.heat
    total = sum(
        plane.dc_capacity_kw
        * pvlib_dc_power(
            pvlib_irradiance(plane.plane, frame, sun),
            weather.temp_air,
            weather.wind_speed,
            losses,
            heat=heat,
        )
        for plane in estimate.planes
    )
    limit = estimate.ac_limit_kw or np.inf
    return pvlib_ac_power(total, estimate.dc_capacity_kw, losses, limit=limit)


@pytest.mark.parametrize(
    "estimate", [estimate_of(), pair_of(), estimate_of(ac_limit_kw=3.5)], ids=["one", "two", "clip"]
)
def test_pvlibs_chain_gives_what_sunveils_own_does(estimate, weather):
    chain = estimate.to_pvlib(GOLDEN)
    chain.run_model(weather.to_frame())
    theirs = chain.results.ac.fillna(0.0).to_numpy() / 1000.0
    ours = own_power(estimate, weather)
    assert theirs.max() > 3.0
    assert np.abs(theirs - ours).max() < 0.03 * estimate.dc_capacity_kw
    assert abs(theirs.sum() / ours.sum() - 1.0) < 0.01


def test_each_plane_is_an_array_and_a_tracker_is_one_that_turns(weather):
    first, second = pair_of().to_pvlib(GOLDEN).system.arrays
    assert isinstance(first.mount, FixedMount)
    assert (first.mount.surface_azimuth, second.mount.surface_azimuth) == (92.0, 271.0)
    assert first.module_parameters["pdc0"] == pytest.approx(3000.0)
    estimate = tracker_of()
    chain = estimate.to_pvlib(Location(GOLDEN.latitude, GOLDEN.longitude, altitude=1795.0))
    (array,) = chain.system.arrays
    assert isinstance(array.mount, SingleAxisTrackerMount)
    assert array.mount.axis_azimuth == estimate.tracker.axis_azimuth
    chain.run_model(weather.to_frame())
    still = estimate_of().to_pvlib(GOLDEN)
    still.run_model(weather.to_frame())
    assert chain.results.ac.sum() > 1.15 * still.results.ac.sum()


def test_a_chain_stands_where_the_estimate_was_inferred_or_where_it_is_told():
    times = np.datetime64("2019-06-01", "s") + np.arange(2) * np.timedelta64(3600, "s")
    record = Record("roof", times, np.zeros(2), 60.0)
    known = estimate_of(source=EstimateSource(record, None, GOLDEN))
    assert known.to_pvlib().location.altitude == 1795.0
    with pytest.raises(ParameterError, match="give site="):
        estimate_of().to_pvlib()
