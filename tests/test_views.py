"""What an estimate shows of itself: in notebooks, and as systems of pvlib and SAM."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from pvlib.location import Location
from pvlib.pvsystem import FixedMount, SingleAxisTrackerMount

from plot_makers import GOLDEN, estimate_of, net_of, pair_of, sunny, tracker_of
from pvlib_chain import pvlib_ac_power, pvlib_dc_power, pvlib_irradiance
from sunveil.errors import ParameterError
from sunveil.estimates import Assumptions
from sunveil.estimates.estimates_table import EstimateSource
from sunveil.site import Losses, Mount
from sunveil.weather import clearsky
from test_report import Page

# pvlib's own use of what pandas is going to rename
pytestmark = pytest.mark.filterwarnings("ignore:DatetimeIndex.dayofyear is deprecated")


@pytest.mark.parametrize("make", [estimate_of, pair_of, tracker_of, net_of])
def test_a_notebook_shows_a_table_of_text(make):
    page = make()._repr_html_()
    allowed = {"table", "caption", "tbody", "tr", "th", "td", "small", "br"}
    tags = Page(page).tags
    assert {"table", "td"} <= {tag for tag, _ in tags} <= allowed
    assert not any(name.startswith("on") for _, own in tags for name in own)
    assert "5.00 kW" in page
    page = make(system_id="<script>roof</script>")._repr_html_()
    assert "script" not in dict(Page(page).tags)
    assert "&lt;script&gt;roof" in page


def test_a_repr_is_short_rounded_and_says_how_sure_it_is():
    assert repr(estimate_of()) == (
        "Estimate('roof': azimuth 200.0° (196 to 204), tilt 30.0° (28 to 32),"
        " 5.00 kW (4.70 to 5.30) DC; good)"
    )
    assert repr(pair_of()).count("\n") == 1
    assert "92°/31° 3.00 kW, 271°/30° 2.00 kW" in repr(pair_of())
    assert repr(tracker_of()).startswith("Estimate('roof': tracker axis 178.0°")


def test_readings_are_never_shown_written_compared_or_taken_along():
    record, _ = sunny(5)
    plain = estimate_of()
    estimate = plain.replaced(source=EstimateSource(record, None, GOLDEN))
    assert estimate == plain
    assert hash(estimate) == hash(plain)
    assert repr(estimate) == repr(plain)
    assert estimate.to_dict() == plain.to_dict()
    assert "source" not in estimate.to_row()
    assert pickle.loads(pickle.dumps(estimate)).source is None
    assert copy.deepcopy(estimate).source is None
    assert "private" in repr(estimate.source)
    with pytest.raises(ParameterError, match="does not have its readings any more"):
        plain.plot()


@pytest.fixture(scope="module")
def weather():
    return clearsky(GOLDEN, "2019-06-01", "2019-06-08", step_minutes=30)


def own_power(estimate, weather):
    """Return the power that Sunveil's own chain gives, of fixed planes. [kW]"""
    frame, sun = weather.to_frame(), GOLDEN.sun(weather.times)
    losses, heat = estimate.assumptions.losses, estimate.assumptions.mount.heat
    air, total = (weather.temp_air, weather.wind_speed), 0.0
    for plane in estimate.planes:
        light = pvlib_irradiance(plane.plane, frame, sun)
        total += plane.dc_capacity_kw * pvlib_dc_power(light, *air, losses, heat=heat)
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
    known = estimate_of(source=EstimateSource(sunny(5)[0], None, GOLDEN))
    assert known.to_pvlib().location.altitude == 1795.0
    with pytest.raises(ParameterError, match="give site="):
        estimate_of().to_pvlib()


def test_one_plane_is_one_set_of_pvwatts_inputs():
    (inputs,) = estimate_of(ac_limit_kw=4.0).to_sam()
    assert inputs == {
        "system_capacity": 5.0, "module_type": 0, "dc_ac_ratio": 1.25, "array_type": 0,
        "tilt": 30.0, "azimuth": 200.0, "gcr": 0.4, "losses": pytest.approx(5.0), "inv_eff": 96.0,
    }  # fmt: skip
    assert json.loads(json.dumps(inputs)) == inputs


def test_two_planes_are_two_sets_that_add_up_and_a_tracker_turns():
    first, second = pair_of().to_sam()
    assert first["system_capacity"] + second["system_capacity"] == pytest.approx(5.0)
    assert (first["azimuth"], second["azimuth"]) == (92.0, 271.0)
    estimate = tracker_of()
    (turned,) = estimate.to_sam()
    assert turned["array_type"] == (3 if estimate.tracker.backtrack else 2)
    assert turned["azimuth"] == estimate.tracker.axis_azimuth
    assert turned["rotlim"] == estimate.tracker.max_angle
    assert turned["tilt"] == 0.0


def test_what_pvwatts_does_not_accept_is_brought_to_what_it_does():
    losses = Losses(system=-0.15, inverter_efficiency=0.8)
    assumed = Assumptions(losses, 0.2, "perez-driesse", "clearsky", "default", Mount.ROOF)
    (inputs,) = estimate_of(assumptions=assumed).to_sam()
    assert (inputs["losses"], inputs["inv_eff"], inputs["array_type"]) == (-5.0, 90.0, 1)
