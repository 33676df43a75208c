from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from pvlib_chain import pvlib_irradiance
from reproduction.figure1 import trusted_curator
from reproduction.figure2 import angles
from reproduction.figure3 import (
    daily_statement,
    irradiance_by_azimuth,
    irradiance_by_tilt,
    paper_skies,
    yearly_irradiance,
)
from reproduction.figure4 import (
    LARGEST_HOME_KW,
    PLACES,
    capacity_and_peak,
    capacity_statement,
    simulate_homes,
)
from reproduction.optimum import (
    CLEAR,
    CLOUDY,
    EARLY,
    Optimum,
    find_optima,
    mean_daily_light,
    optimum_statement,
    sun_too_early,
)
from reproduction.subject import CHINO
from sunveil.grids import Grid, plane_grid
from sunveil.plots.style import embedded
from sunveil.site import Plane


@pytest.fixture(scope="module")
def by_azimuth():
    return irradiance_by_azimuth()


@pytest.fixture(scope="module")
def by_tilt():
    return irradiance_by_tilt()


@pytest.fixture(scope="module")
def skies():
    return paper_skies()


@pytest.fixture(scope="module")
def optima(skies):
    return find_optima(skies)


@pytest.fixture(scope="module")
def yearly(skies, optima):
    return yearly_irradiance(skies, optima)


def test_turning_moves_the_peak_and_tilting_lowers_it(by_azimuth, by_tilt):
    turned = {curve["surface_azimuth"]: curve for curve in by_azimuth.data["curves"]}
    hours = [turned[azimuth]["peak_hour"] for azimuth in (90.0, 135.0, 180.0, 225.0, 270.0)]
    assert hours == sorted(hours)
    assert turned[0.0]["peak"] == min(curve["peak"] for curve in turned.values())
    assert hours[0] < 11.0
    assert hours[-1] > 13.0
    assert hours[2] == pytest.approx(12.0, abs=0.1)
    walls = {curve["surface_tilt"]: curve["peak"] for curve in by_tilt.data["curves"]}
    assert walls[90.0] < 0.4 * walls[15.0]
    assert all(curve["surface_azimuth"] == 180.0 for curve in by_tilt.data["curves"])
    said = daily_statement(by_azimuth, by_tilt)
    assert said.holds is True
    assert f"{hours[-1] - hours[0]:.1f} h" in said.measured


def test_the_light_of_a_year_is_the_one_through_pvlib(skies):
    plane = Plane(200.0, 30.0)
    weather = skies[CLEAR]
    frame, sun = weather.to_frame(), CHINO.sun(weather.times)
    poa = pvlib_irradiance(plane, frame, sun)
    grid = Grid(np.array([plane.surface_azimuth]), np.array([plane.surface_tilt]))
    assert mean_daily_light(weather, grid)[0] == pytest.approx(poa.mean() * 0.024, rel=0.01)


def test_the_map_shows_the_numbers_beside_it(yearly):
    grid = plane_grid(5.0, 5.0)
    assert yearly.data["surface_azimuth"] == list(grid.surface_azimuth)
    for ax, values in zip(
        yearly.figure.axes, yearly.data["mean_daily_kwh_per_m2"].values(), strict=False
    ):
        drawn = np.asarray(ax.collections[0].get_array()).reshape(19, -1)[:, :-1]
        assert np.allclose(drawn.ravel(), values, atol=1e-3)
        assert "best: azimuth 18" in ax.get_xlabel()
    assert set(yearly.data["optimum"]) == {CLEAR, CLOUDY, EARLY}


def test_weather_that_is_given_takes_the_place_of_the_simulated_sky(skies):
    given = paper_skies(skies[CLOUDY])
    assert list(given) == [CLEAR, "weather from simulated sky"]
    drawn = irradiance_by_azimuth(skies[CLOUDY])
    assert "weather from simulated sky" in drawn.words
    assert drawn.data["weather"] == "simulated sky"


def test_the_best_plane_is_found_to_the_degree(skies, optima):
    found = optima[CLEAR]
    assert found.plane == Plane(180.0, 34.0)
    azimuth, tilt = found.plane.surface_azimuth, found.plane.surface_tilt
    around = Grid(
        np.array([azimuth, azimuth - 1, azimuth + 1, azimuth, azimuth]),
        np.array([tilt, tilt, tilt, tilt - 1, tilt + 1]),
    )
    light = mean_daily_light(skies[CLEAR], around)
    assert light.argmax() == 0
    assert light[0] == found.energy


def test_the_paper_s_optimum_is_held_against_both_skies(optima):
    said = optimum_statement(optima)
    assert (said.holds, said.verdict) == (False, "in part")
    for name in (CLEAR, CLOUDY):
        assert f"{optima[name]} under {name}" in said.measured
    assert str(optima[EARLY]) in said.why
    assert optima[CLOUDY].plane.surface_tilt < optima[CLEAR].plane.surface_tilt
    assert 0.0 < optima[CLEAR].paper_loss < optima[CLOUDY].paper_loss < 0.01


def test_a_sun_half_an_hour_early_turns_the_best_plane_east(skies, optima):
    assert optima[EARLY].plane.surface_azimuth == pytest.approx(165.0, abs=2.0)
    early = sun_too_early(skies[CLEAR])
    assert (skies[CLEAR].times[0] - early.times[0]).total_seconds() == 1800.0
    assert not np.allclose(early.sun()[0], skies[CLEAR].sun()[0])


@pytest.mark.parametrize(
    ("azimuth", "tilt", "inside"),
    [(165.0, 35.0, True), (180.0, 40.0, True), (181.0, 37.0, False), (170.0, 34.0, False)],
)
def test_a_plane_in_the_paper_s_range_holds(azimuth, tilt, inside):
    found = Optimum(Plane(azimuth, tilt), 6.0, (160.0, 190.0), (30.0, 40.0), 0.0)
    assert optimum_statement({CLEAR: found, CLOUDY: found, EARLY: found}).holds is inside


def test_the_parties_are_drawn():
    drawn = trusted_curator()
    told = {text.get_text() for text in drawn.figure.axes[0].texts}
    assert {"consumers", "trusted curator", "untrusted analyst", "query"} <= told
    assert embedded(drawn.figure, drawn.words).source


def test_the_angles_are_those_of_the_papers_first_equation():
    drawn = angles()
    zenith, azimuth, own, tilt = (
        np.radians(drawn.data[name])
        for name in ("solar_zenith", "solar_azimuth", "surface_azimuth", "surface_tilt")
    )
    cosine = np.sin(zenith) * np.cos(own - azimuth) * np.sin(tilt) + np.cos(zenith) * np.cos(tilt)
    assert drawn.data["angle_of_incidence"] == pytest.approx(np.degrees(np.arccos(cosine)))
    told = {text.get_text() for text in drawn.figure.axes[0].texts}
    assert {"γ", "β", "θ", "N", "E", "S", "W"} <= told


@pytest.fixture(scope="module")
def fleet():
    return simulate_homes(40, seed=3)


def test_a_fleet_is_of_homes_spread_over_california_and_its_statement_says_what_was_counted(fleet):
    assert len(fleet.capacity) == len(fleet.peak) == 40
    assert {fleet.city.count(place.name) for place in PLACES} == {8}
    for place in PLACES:
        assert 32.5 < place.site.latitude < 42.0
        assert -124.5 < place.site.longitude < -114.0
    assert 1.0 <= fleet.capacity.min() <= fleet.capacity.max() <= LARGEST_HOME_KW
    assert ((fleet.low <= fleet.peak) & (fleet.peak <= fleet.high)).all()
    assert (fleet.high < 1.1 * fleet.capacity).all()
    said = capacity_statement(fleet)
    assert said.holds is True
    assert f"{fleet.rank_correlation:.2f}" in said.measured
    assert f"{100 * fleet.agreeing:.0f}%" in said.measured
    assert fleet.rank_correlation > 0.8
    # the same peaks dealt out at random tell nothing of capacity
    shuffled = replace(fleet, peak=np.random.default_rng(1).permutation(fleet.peak))
    assert capacity_statement(shuffled).holds is False


def test_the_figure_has_a_joint_panel_and_four_densities_on_either_side(fleet):
    artefact = capacity_and_peak(fleet)
    axes = {(ax.get_xlabel(), ax.get_ylabel()): ax for ax in artefact.figure.axes}
    joint = axes["Nameplate capacity, DC [kW]", "Daily peak power, AC [W]"]
    dots = [dot for drawn in joint.collections for dot in drawn.get_offsets() * [1.0, 1e-3]]
    assert sorted(map(tuple, np.round(dots, 4))) == sorted(
        zip(artefact.data["dc_capacity_kw"], artefact.data["daily_peak_kw"], strict=True)
    )
    counts = sorted(len(ax.get_lines()) for ax in artefact.figure.axes)
    assert counts == [0, 4, 4, 4]
    points = np.concatenate([np.asarray(line.get_ydata()) for line in joint.get_lines()])
    assert np.allclose(np.sort(points), np.sort(1000.0 * fleet.days.ravel()))  # all of them, in W
    for ax in set(artefact.figure.axes) - {joint}:
        for line in ax.get_lines():
            # a density's integral over capacity or peak is one
            across, dense = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
            if ax.get_ylim() == joint.get_ylim():
                across, dense = dense, across
            assert np.trapezoid(dense, across) == pytest.approx(1.0, abs=0.1)
    assert [artefact.data["quarter"].count(n) for n in (1, 2, 3, 4)] == [10] * 4
    json.dumps(artefact.data, allow_nan=False)
    assert embedded(artefact.figure, artefact.words).source
