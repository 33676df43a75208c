from __future__ import annotations

import numpy as np
import pytest

from pvlib_chain import pvlib_irradiance
from reproduction.artefact import Artefact, Statement
from reproduction.figure3 import (
    daily_statement,
    irradiance_by_azimuth,
    irradiance_by_tilt,
    paper_skies,
    yearly_irradiance,
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
from sunveil.site import Plane
from sunveil.weather import Weather


@pytest.fixture(scope="module")
def by_azimuth() -> Artefact:
    return irradiance_by_azimuth()


@pytest.fixture(scope="module")
def by_tilt() -> Artefact:
    return irradiance_by_tilt()


@pytest.fixture(scope="module")
def skies() -> dict[str, Weather]:
    return paper_skies()


@pytest.fixture(scope="module")
def optima(skies: dict[str, Weather]) -> dict[str, Optimum]:
    return find_optima(skies)


@pytest.fixture(scope="module")
def yearly(skies: dict[str, Weather], optima: dict[str, Optimum]) -> Artefact:
    return yearly_irradiance(skies, optima)


def test_turning_moves_the_peak_and_tilting_lowers_it(
    by_azimuth: Artefact, by_tilt: Artefact
) -> None:
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


def test_the_light_of_a_year_is_the_one_through_pvlib(skies: dict[str, Weather]) -> None:
    plane = Plane(200.0, 30.0)
    weather = skies[CLEAR]
    frame, sun = weather.to_frame(), CHINO.sun(weather.times)
    poa = pvlib_irradiance(plane, frame, sun)
    grid = Grid(np.array([plane.surface_azimuth]), np.array([plane.surface_tilt]))
    assert mean_daily_light(weather, grid)[0] == pytest.approx(poa.mean() * 0.024, rel=0.01)


def test_the_map_shows_the_numbers_beside_it(yearly: Artefact) -> None:
    grid = plane_grid(5.0, 5.0)
    assert yearly.data["surface_azimuth"] == list(grid.surface_azimuth)
    for ax, values in zip(
        yearly.figure.axes, yearly.data["mean_daily_kwh_per_m2"].values(), strict=False
    ):
        drawn = np.asarray(ax.collections[0].get_array()).reshape(19, -1)[:, :-1]
        assert np.allclose(drawn.ravel(), values, atol=1e-3)
        assert "best: azimuth 18" in ax.get_xlabel()
    assert set(yearly.data["optimum"]) == {CLEAR, CLOUDY, EARLY}


def test_weather_that_is_given_takes_the_place_of_the_simulated_sky(
    skies: dict[str, Weather],
) -> None:
    given = paper_skies(skies[CLOUDY])
    assert list(given) == [CLEAR, "weather from simulated sky"]
    drawn = irradiance_by_azimuth(skies[CLOUDY])
    assert "weather from simulated sky" in drawn.words
    assert drawn.data["weather"] == "simulated sky"


def test_the_best_plane_is_found_to_the_degree(
    skies: dict[str, Weather], optima: dict[str, Optimum]
) -> None:
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


def test_the_paper_s_optimum_is_held_against_both_skies(optima: dict[str, Optimum]) -> None:
    said = optimum_statement(optima)
    assert (said.holds, said.verdict) == (False, "in part")
    for name in (CLEAR, CLOUDY):
        assert f"{optima[name]} under {name}" in said.measured
    assert str(optima[EARLY]) in said.why
    assert optima[CLOUDY].plane.surface_tilt < optima[CLEAR].plane.surface_tilt
    assert 0.0 < optima[CLEAR].paper_loss < optima[CLOUDY].paper_loss < 0.01


def test_a_sun_half_an_hour_early_turns_the_best_plane_east(
    skies: dict[str, Weather], optima: dict[str, Optimum]
) -> None:
    assert optima[EARLY].plane.surface_azimuth == pytest.approx(165.0, abs=2.0)
    early = sun_too_early(skies[CLEAR])
    assert (skies[CLEAR].times[0] - early.times[0]).total_seconds() == 1800.0
    assert not np.allclose(early.sun()[0], skies[CLEAR].sun()[0])


@pytest.mark.parametrize(
    ("plane", "inside"),
    [
        (Plane(165.0, 35.0), True),
        (Plane(180.0, 40.0), True),
        (Plane(181.0, 37.0), False),
        (Plane(170.0, 34.0), False),
    ],
)
def test_a_plane_in_the_paper_s_range_holds(plane: Plane, inside: bool) -> None:
    found = Optimum(plane, 6.0, (160.0, 190.0), (30.0, 40.0), 0.0)
    said: Statement = optimum_statement({CLEAR: found, CLOUDY: found, EARLY: found})
    assert said.holds is inside
