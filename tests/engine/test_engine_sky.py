from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.engine import make_sky_table
from sunveil.engine.power_model import (
    BLOCK,
    CIRCUMSOLAR,
    CLOUD,
    COOLING,
    DNI,
    DNI_FADE,
    DOME,
    GHI,
    GHI_FADE,
    HORIZON,
    ROWS,
    SEASON,
    SUN_EAST,
    SUN_NORTH,
    SUN_UP,
    WARMTH,
)
from sunveil.engine.sky_tables import NODES, SHARES, in_blocks, sun_vectors_over, winter
from sunveil.pv_model import LOWEST_FOR_DIFFUSE, LOWEST_SUN, sky_at
from sunveil.site import Site, TimeGrid
from sunveil.weather import clearsky

FIRST = int(pd.Timestamp("2019-01-01", tz="UTC").timestamp())


@pytest.fixture(scope="module")
def measured(weathered):
    """Weather as a satellite saw it."""
    return weathered.satellite


def nodes(table, weather, clear=None):
    starts = table.grid.long.starts[table.slot[: table.usable]]
    return [
        sky_at(weather, (starts + round(node * table.grid.long.step)).astype("M8[s]"), clear)
        for node in NODES
    ]


def test_rows_are_the_clear_sky_at_two_instants(denver):
    weather = clearsky(denver.site, "2018-12-30", "2020-01-03", step_minutes=5)
    rows = denver.rows[:, : denver.usable]
    for node, sky in enumerate(nodes(denver, weather)):
        np.testing.assert_allclose(rows[SUN_EAST + node], sky.sun[:, 0], atol=5e-5)
        np.testing.assert_allclose(rows[SUN_NORTH + node], sky.sun[:, 1], atol=5e-5)
        up = np.maximum(sky.sun[:, 2], LOWEST_SUN)
        np.testing.assert_allclose(rows[SUN_UP + node], up, atol=5e-5)
        np.testing.assert_allclose(rows[DNI + node], sky.dni, atol=0.5)
        np.testing.assert_allclose(rows[GHI + node], sky.ghi, atol=0.2)
        share = rows[CIRCUMSOLAR + node] * np.maximum(sky.sun[:, 2], LOWEST_FOR_DIFFUSE)
        # taken once for both instants; at the horizon itself Perez's shares jump
        high = sky.sun[:, 2] > 0.3
        np.testing.assert_allclose(share[high], sky.circumsolar[high], atol=0.03)
        np.testing.assert_allclose(rows[DOME + node], 1.0 - share, atol=5e-4)
        np.testing.assert_allclose(rows[HORIZON + node][high], sky.horizon[high], atol=0.03)
    early, late = nodes(denver, weather)
    np.testing.assert_allclose(rows[WARMTH], (early.temp_air + late.temp_air) / 2 - 25.0, atol=0.05)
    assert (rows[CLOUD] == 0.0).all()
    assert (rows[COOLING] > 0.0).all()


@pytest.mark.parametrize("haze", [-2.0, -0.5, 0.7, 2.0])
def test_haze_fades_light_as_the_sky_made_hazier_does(denver, haze):
    weather = clearsky(denver.site, "2018-12-30", "2020-01-03", step_minutes=5)
    rows = denver.rows[:, : denver.usable]
    for node, sky in enumerate(nodes(denver, weather)):
        high, hazier = sky.sun[:, 2] > 0.1, sky.hazier(haze)
        for now, fade, values in ((DNI, DNI_FADE, hazier.dni), (GHI, GHI_FADE, hazier.ghi)):
            faded = rows[now + node] * np.exp(-haze * rows[fade + node])
            np.testing.assert_allclose(faded[high], values[high], atol=0.6)


def test_winter_is_in_january_north_of_the_equator_and_in_july_south_of_it(denver):
    times = np.array(["2019-01-16", "2019-04-17", "2020-07-16T12", "2021-10-16"], dtype="M8[s]")
    north = winter(denver.site, times.astype(np.int64))
    np.testing.assert_allclose(north, [1.0, 0.0, -1.0, 0.0], atol=0.03)
    np.testing.assert_array_equal(winter(Site(-33.0, 18.0, 10.0), times.astype(np.int64)), -north)
    starts = denver.grid.long.starts[denver.slot[: denver.usable]]
    np.testing.assert_allclose(
        denver.rows[SEASON, : denver.usable], winter(denver.site, starts), atol=1e-6
    )


def test_parts_are_nested_and_evenly_spread(denver):
    before = set(range(denver.usable))
    for share in SHARES:
        places, sheet = denver.part(share)
        assert set(places.tolist()) <= before
        assert len(places) == pytest.approx(share * denver.usable, abs=0.03 * denver.usable**0.75)
        assert len(sheet) == -(-len(places) // BLOCK)
        before = set(places.tolist())
    places, sheet = denver.part(0.25)
    np.testing.assert_array_equal(sheet, in_blocks(denver.rows[:, places]))
    # of every hour and of every month there is about a quarter
    slot = denver.slot[: denver.usable]
    for group in (slot % 24, slot // (24 * 30)):
        there, chosen = np.bincount(group), np.bincount(group[places], minlength=group.max() + 1)
        many = there > 100
        np.testing.assert_allclose(chosen[many] / there[many], 0.25, atol=0.06)


def test_a_longer_grid_has_the_same_sky_and_chooses_the_same_part(denver):
    grid = denver.grid
    longer = make_sky_table(
        denver.site, TimeGrid(grid.first - 30 * 3600, grid.step, grid.count + 900)
    )
    for share in (0.75, 0.25, SHARES[-1]):
        times = []
        for table in (denver, longer):
            starts = table.grid.starts[table.slot[table.part(share)[0]]]
            inside = (starts >= grid.first) & (starts <= grid.starts[-1])
            times.append(starts[inside])
        np.testing.assert_array_equal(*times)
    place = np.searchsorted(longer.slot[: longer.usable], denver.slot[: denver.usable] + 30)
    there = denver.rows[:, : denver.usable]
    np.testing.assert_allclose(longer.rows[:, place], there, rtol=1e-6, atol=1e-6)


def test_short_intervals_are_compared_half_an_hour_at_a_time():
    table = make_sky_table(Site(39.7, -105.0, 1600.0), TimeGrid(FIRST, 900, 4 * 24 * 20))
    assert table.grid.long == TimeGrid(FIRST, 1800, 2 * 24 * 20)
    assert table.slot.max() < 960
    assert table.turn == -7 * 3600


def test_a_polar_night_has_no_usable_interval():
    table = make_sky_table(Site(78.2, 15.6, 10.0), TimeGrid(FIRST, 3600, 24 * 20))
    assert table.usable == 0
    assert len(table.sheet) == 0
    assert table.part(0.5)[1].shape == (0, ROWS, BLOCK)
    day = make_sky_table(Site(78.2, 15.6, 10.0), TimeGrid(FIRST + 170 * 86400, 3600, 24 * 3))
    assert day.usable == 72


def test_rows_of_measured_weather_are_those_of_the_plain_sky(measured, denver):
    table = make_sky_table(measured.site, denver.grid, measured)
    assert not table.clear
    assert table.source == measured.source
    clear = clearsky(measured.site, "2018-12-30", "2020-01-04")
    skies = nodes(table, measured, clear)
    rows = table.rows[:, : table.usable]
    for node, sky in enumerate(skies):
        np.testing.assert_allclose(rows[DNI + node], sky.dni, atol=0.5)
        np.testing.assert_allclose(rows[GHI + node], sky.ghi, atol=0.5)
    cloud = 1.0 - 0.5 * (skies[0].clearness + skies[1].clearness)
    np.testing.assert_allclose(rows[CLOUD], np.maximum(cloud, 0.0), atol=1e-3)
    assert (rows[CLOUD] > 0.5).sum() > 100
    assert np.isfinite(table.rows).all()


def test_intervals_without_weather_close_by_are_left_out(measured, denver):
    march = measured.between("2019-03-01", "2019-04-01")
    table = make_sky_table(measured.site, denver.grid, march)
    starts = denver.grid.starts[table.slot].astype("M8[s]")
    assert starts.min() >= np.datetime64("2019-02-28T22:00")
    assert starts.max() <= np.datetime64("2019-04-01T01:00")
    assert 300 < table.usable < 400
    gone = make_sky_table(measured.site, denver.grid.moved(5 * 366 * 86400), march)
    assert gone.usable == len(gone.slot) == 0


def test_clear_weather_is_the_embedded_clear_sky(denver):
    weather = clearsky(denver.site, "2019-01-01", "2019-02-01")
    table = make_sky_table(Site(0.0, 0.0, 0.0), denver.grid, weather)
    assert table.clear
    assert table.weather is None
    np.testing.assert_array_equal(table.rows, denver.rows)


def test_a_place_without_an_altitude_gets_the_one_that_is_looked_up(denver):
    site = replace(denver.site, altitude=None)
    grid = TimeGrid(FIRST, 3600, 24 * 5)
    known = make_sky_table(replace(site, altitude=site.height), grid)
    np.testing.assert_array_equal(make_sky_table(site, grid).rows, known.rows)


SITES = [
    Site(39.742, -105.1727, 1795.0),
    Site(-33.9, 151.2, 20.0),
    Site(0.3, 36.0, 2500.0),
    Site(69.6, 18.9, 10.0),
    Site(-54.8, -68.3, 30.0),
]


@pytest.mark.parametrize("site", SITES, ids=lambda site: f"{site.latitude:g}")
@pytest.mark.parametrize("year", [1999, 2016, 2031])
def test_the_sun_stands_where_pvlib_puts_it(site, year):
    times = pd.date_range(f"{year}-01-01", f"{year + 1}-01-01", freq="89min", tz="UTC")
    seconds = times.tz_localize(None).to_numpy().astype("datetime64[s]").astype(np.int64)
    mine = sun_vectors_over(site, seconds)
    theirs = pvlib.solarposition.get_solarposition(
        times, site.latitude, site.longitude, altitude=site.height
    )
    zenith, azimuth = np.radians(theirs[["apparent_zenith", "azimuth"]].to_numpy().T)
    vector = np.stack(
        [np.sin(zenith) * np.sin(azimuth), np.sin(zenith) * np.cos(azimuth), np.cos(zenith)], axis=1
    )
    up = theirs["apparent_zenith"].to_numpy() < 90.0
    assert up.sum() > 1000
    apart = np.degrees(np.linalg.norm(mine - vector, axis=1))[up]
    assert apart.max() < 0.003


def test_vectors_have_length_one_and_do_not_depend_on_their_neighbours():
    seconds = 1_546_300_800 + 1800 * np.arange(3000)
    site = SITES[0]
    whole = sun_vectors_over(site, seconds)
    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(sun_vectors_over(site, seconds[700:900]), whole[700:900], atol=1e-9)
    np.testing.assert_allclose(sun_vectors_over(site, seconds[7:8]), whole[7:8], atol=1e-9)
