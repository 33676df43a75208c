from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.simulate import CITIES, SystemTruth, Tracker, draw_systems, east_west, tracking
from sunveil.site import RUNNING_LOSSES, Mount, Plane


def test_the_same_seed_draws_the_same_systems() -> None:
    assert draw_systems(20, seed=4) == draw_systems(20, seed=4)
    assert draw_systems(20, seed=4) != draw_systems(20, seed=5)


def test_a_larger_draw_begins_with_the_systems_of_a_smaller() -> None:
    small, large = draw_systems(5, seed=4), draw_systems(50, seed=4)
    assert [truth.plane for truth in large[:5]] == [truth.plane for truth in small]
    assert len({truth.system_id for truth in large}) == 50


def test_systems_face_as_the_public_lists_do() -> None:
    planes = [truth.plane for truth in draw_systems(3000, seed=1)]
    azimuth = np.array([plane.surface_azimuth for plane in planes])
    tilt = np.array([plane.surface_tilt for plane in planes])
    assert 0.4 < np.mean(np.abs(azimuth - 180.0) < 22.5) < 0.55
    assert 0.75 < np.mean(np.abs(azimuth - 180.0) < 67.5) < 0.92
    assert 0.03 < np.mean(np.abs(azimuth - 90.0) < 22.5) < 0.10
    assert 0.05 < np.mean(np.abs(azimuth - 270.0) < 22.5) < 0.13
    assert 0.005 < np.mean((azimuth < 22.5) | (azimuth > 337.5)) < 0.04
    assert 0.03 < np.mean(tilt < 5.0) < 0.08
    assert 0.03 < np.mean(tilt > 50.0) < 0.09
    assert 20.0 < np.median(tilt) < 32.0


def test_capacities_are_mostly_homes_with_some_commercial() -> None:
    fleet = draw_systems(3000, seed=1)
    american = [t.dc_capacity_kw for t in fleet if t.timezone.startswith("America/")]
    european = [t.dc_capacity_kw for t in fleet if t.timezone.startswith("Europe/")]
    assert np.median(american) == pytest.approx(7.2, abs=0.5)
    assert np.median(european) == pytest.approx(2.2, abs=0.15)
    assert np.quantile(american, 0.9) == pytest.approx(13.9, abs=2.5)
    assert np.quantile(european, 0.9) == pytest.approx(3.4, abs=0.4)
    assert 0.02 < np.mean(np.array(american) > 20.0) < 0.07
    assert 100.0 < max(american) <= 1000.0
    assert min(american + european) >= 1.0


def test_other_properties_stay_in_their_ranges() -> None:
    fleet = draw_systems(500, seed=2)
    gamma = np.array([t.gamma_pdc for t in fleet])
    assert gamma.mean() == pytest.approx(-0.004, abs=1e-4)
    assert gamma.std() == pytest.approx(4e-4, rel=0.2)
    assert all(1.0 <= t.dc_ac_ratio <= 1.3 and 0.15 <= t.albedo <= 0.25 for t in fleet)
    assert {t.losses.system for t in fleet} == {RUNNING_LOSSES}
    assert {t.mount for t in fleet} == {Mount.ROOF, Mount.RACK}
    assert {t.site for t in fleet} == {city.site for city in CITIES}


def test_losses_spread_only_when_asked() -> None:
    losses = [t.losses.system for t in draw_systems(500, seed=2, loss_spread=0.03)]
    assert np.std(losses) == pytest.approx(0.03, rel=0.2)


def test_an_east_west_pair_faces_both_ways(south_roof: SystemTruth) -> None:
    roof = replace(south_roof, planes=((Plane(90.0, 20.0), 1.0),))
    pair = east_west(roof, share=0.6)
    assert pair.planes == ((Plane(90.0, 20.0), 0.6), (Plane(270.0, 20.0), 0.4))
    assert pair.plane == Plane(90.0, 20.0)


def test_a_tracking_system_stands_on_an_open_rack(south_roof: SystemTruth) -> None:
    assert tracking(south_roof, Tracker()).mount is Mount.RACK


@pytest.mark.parametrize(
    "wrong",
    [
        {"planes": ()},
        {"planes": ((Plane(180.0, 20.0), 0.5),)},
        {"dc_capacity_kw": 0.0},
        {"mount": Mount.UNKNOWN},
    ],
)
def test_an_impossible_system_is_refused(south_roof: SystemTruth, wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="south must"):
        replace(south_roof, **wrong)


def test_an_empty_fleet_is_refused() -> None:
    with pytest.raises(ParameterError, match="n must be a whole number between 1"):
        draw_systems(0, seed=1)
