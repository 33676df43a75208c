from __future__ import annotations

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.engine.sky_tables import sun_vectors_over
from sunveil.site import Site

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
