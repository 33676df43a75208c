from __future__ import annotations

import json

import pytest

from plot_makers import estimate_of, pair_of, tracker_of
from sunveil.estimates import Assumptions
from sunveil.site import Losses, Mount


def test_one_plane_is_one_set_of_pvwatts_inputs():
    (inputs,) = estimate_of(ac_limit_kw=4.0).to_sam()
    assert inputs == {
        "system_capacity": 5.0,
        "module_type": 0,
        "dc_ac_ratio": 1.25,
        "array_type": 0,
        "tilt": 30.0,
        "azimuth": 200.0,
        "gcr": 0.4,
        "losses": pytest.approx(5.0),
        "inv_eff": 96.0,
    }
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
