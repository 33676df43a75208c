from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.cells import Cell, CellSky, cell_of, make_cell_sky
from sunveil.timegrid import TimeGrid
from sunveil.cells.perez import (
    AIRMASS,
    AROUND,
    BEYOND,
    DIFFUSE,
    DIRECT,
    HORIZON,
    USED,
    ZENITH,
    fill_shares,
)
from sunveil.cells.series import airmass as airmass_of
from sunveil.cells.series import arc, fading
from sunveil.cells.sky import DAY
from sunveil.cells.sun import instants, seen_from, sun_of
from sunveil.cells.tables import BRIGHT, LANES, ROWS, make_rows
from sunveil.site import Site, SkyModel
from sunveil.sky import Sky, diffuse_shares, extra_radiation, sun_vectors
from sunveil.weather.base import utc_index
from sunveil.weather.clearsky import WIND_SPEED, clear_light, climate_temperature

FIRST = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())


def flat(sheet: np.ndarray, count: int) -> np.ndarray:
    """Return the rows of a sheet without its padding."""
    return sheet.transpose(1, 0, 2).reshape(ROWS, -1)[:, :count]


def pvlib_sky(site: Site, seconds: np.ndarray, sun: np.ndarray) -> Sky:
    """Return a cloudless sky at instants, model by model through pvlib."""
    times = seconds.view("M8[s]")
    zenith = np.degrees(np.arccos(np.clip(sun[:, 2], -1.0, 1.0)))
    years = times.astype("M8[Y]")
    days = (times.astype("M8[D]") - years).astype(np.int64) + 1
    light: dict[str, Any] = clear_light(
        site, zenith, days, year=int(years.min().astype(np.int64)) + 1970
    )
    beyond = extra_radiation(times)
    circumsolar, horizon = diffuse_shares(
        SkyModel.PEREZ, sun=sun, dni=light["dni"], dhi=light["dhi"], dni_extra=beyond
    )
    return Sky(
        site=site,
        sun=sun,
        dni_extra=beyond,
        circumsolar=circumsolar,
        horizon=horizon,
        temp_air=climate_temperature(site, utc_index(times)),
        wind_speed=np.full(len(times), WIND_SPEED),
        clearness=np.ones(len(times)),
        **light,
    )


def skies_of(sky: CellSky) -> list[Sky]:
    """Return the skies at the two instants of each of a cell sky's intervals, through pvlib."""
    long = sky.axis.long
    seen = seen_from(sky.site, long)
    place = np.searchsorted(seen.slot, sky.slot)
    return [
        pvlib_sky(sky.site, instants(long, node)[sky.slot], seen.suns[node][:, place].T)
        for node in range(2)
    ]


@pytest.mark.parametrize(
    ("cell", "axis"),
    [
        (cell_of(39.7, -105.0, 1609.0), TimeGrid(FIRST, 3600, 8760)),
        (cell_of(-33.9, 151.2), TimeGrid(FIRST - 7200, 1800, 17520)),
        (cell_of(69.6, 18.9, 100.0), TimeGrid(FIRST + 300, 900, 35040)),
        (cell_of(-0.2, -78.5, 2850.0), TimeGrid(FIRST + 300 * DAY, 3600, 4000)),
    ],
)
def test_the_compiled_sky_is_pvlibs_row_by_row(cell: Cell, axis: TimeGrid) -> None:
    sky = make_cell_sky(cell, axis)
    early, late = skies_of(sky)
    expected = make_rows((early, late)).astype(np.float64)
    found = np.concatenate(
        [flat(sky.sheet, sky.usable), flat(sky.low, len(sky.slot) - sky.usable)], axis=1
    )
    # at 89° of zenith, or a W/m², diffuse light begins to have shares: all at once
    steady = np.ones(len(sky.slot), dtype=bool)
    for node in (early, late):
        zenith = np.degrees(np.arccos(np.clip(node.sun[:, 2], -1.0, 1.0)))
        steady &= (np.abs(zenith - 89.0) > 1e-6) & (np.abs(node.dhi - 1.0) > 1e-6)
    assert steady.mean() > 0.99
    np.testing.assert_allclose(found[:, steady], expected[:, steady], rtol=1e-5, atol=2e-5)
    np.testing.assert_allclose(sky.ghi, 0.5 * (early.ghi + late.ghi), rtol=1e-5, atol=1e-4)
    assert (found[BRIGHT] > 0.0).any()


def test_thinned_skies_are_some_and_few_of_the_whole() -> None:
    sky = make_cell_sky(cell_of(39.7, -105.0, 1609.0), TimeGrid(FIRST, 3600, 8760))
    whole = flat(sky.sheet, sky.usable)
    assert len(sky.few_at) < len(sky.some_at) < sky.usable
    for sheet, places in ((sky.some, sky.some_at), (sky.few, sky.few_at)):
        chosen = whole[:, places]
        np.testing.assert_array_equal(flat(sheet, chosen.shape[1]), chosen)
        assert sheet.shape[0] == -(-chosen.shape[1] // LANES)
        assert (flat(sheet, sheet.shape[0] * LANES)[:, chosen.shape[1] :] == 0.0).all()


def test_a_polar_night_is_an_empty_sky() -> None:
    sky = make_cell_sky(cell_of(85.0, 20.0, 0.0), TimeGrid(FIRST, 3600, 240))
    assert sky.usable == 0
    assert len(sky.slot) == 0
    assert sky.sheet.shape[0] == sky.few.shape[0] == sky.low.shape[0] == 0


@pytest.mark.parametrize(
    "site",
    [Site(39.74, -105.0, 1600.0), Site(-33.9, 151.2, 20.0), Site(64.0, 25.0, 100.0)],
)
def test_the_sun_stands_where_pvlib_puts_it_for_forty_years(site: Site) -> None:
    first, last = (int(pd.Timestamp(day, tz="UTC").timestamp()) for day in ("2000", "2040"))
    seconds = np.arange(first, last, 41 * 3600 + 1234)
    mine = sun_of(site, seconds)
    position = site.sun(utc_index(seconds.view("M8[s]")))
    zenith, azimuth = position["apparent_zenith"], position["azimuth"]
    theirs = sun_vectors(zenith.to_numpy(float), azimuth.to_numpy(float)).T
    apart = np.degrees(np.linalg.norm(mine - theirs, axis=0))
    assert apart[theirs[2] > 0.0].max() < 0.0007
    np.testing.assert_allclose((mine * mine).sum(axis=0), 1.0, atol=1e-6)


def test_the_shares_of_diffuse_light_are_the_published_splines() -> None:
    sines = np.linspace(0.03, 1.0, 60)
    zenith, airmass = np.arccos(sines), 1.0 / sines
    for dni in (0.0, 5.0, 60.0, 200.0, 450.0, 900.0, 1000.0):
        for dhi in (2.0, 40.0, 160.0, 400.0):
            theirs = pvlib.irradiance.perez_driesse(
                90.0,
                180.0,
                np.full(60, dhi),
                np.full(60, dni),
                np.full(60, 1361.0),
                np.degrees(zenith),
                np.full(60, 180.0),
                airmass=airmass,
                return_components=True,
            )
            least = np.cos(np.radians(85.0))
            scale = np.sin(zenith) / np.maximum(sines, least)
            room = np.ones(USED * LANES)
            for row, values in (
                (ZENITH, zenith),
                (AIRMASS, airmass),
                (DIRECT, dni),
                (DIFFUSE, dhi),
                (BEYOND, 1361.0),
            ):
                room[row : row + 60] = values
            fill_shares(room)
            around, horizon = room[AROUND : AROUND + 60], room[HORIZON : HORIZON + 60]
            np.testing.assert_allclose(horizon, theirs["poa_horizon"] / dhi, rtol=0, atol=1e-12)
            np.testing.assert_allclose(
                around * scale, theirs["poa_circumsolar"] / dhi, rtol=0, atol=1e-12
            )


def test_angles_from_the_zenith_are_right_to_one_in_a_billion() -> None:
    sines = np.concatenate([np.linspace(-0.02, 1.0, 4001)[:-1], 1.0 - np.logspace(-12, -3, 50)])
    np.testing.assert_allclose([arc(one) for one in sines], np.arccos(sines), rtol=1e-9)
    assert arc(1.0) == 0.0


def test_light_fades_exponentially_to_one_in_a_billion() -> None:
    powers = -np.concatenate([np.linspace(0.0, 44.0, 4001), np.logspace(-9, 0, 50)])
    np.testing.assert_allclose([fading(one) for one in powers], np.exp(powers), rtol=1e-9)
    assert fading(-1e3) == pytest.approx(np.exp(-44.0))
    assert fading(0.1) == pytest.approx(np.exp(0.1), rel=1e-9)


def test_airmasses_are_those_of_kasten_and_young_to_one_in_a_billion() -> None:
    zenith = np.linspace(0.0, 90.0, 2001)
    sines = np.cos(np.radians(zenith))
    mine = [airmass_of(sine, one) for sine, one in zip(sines, np.radians(zenith), strict=True)]
    theirs = pvlib.atmosphere.get_relative_airmass(zenith, model="kastenyoung1989")
    np.testing.assert_allclose(mine, theirs, rtol=1e-9)
