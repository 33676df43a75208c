from __future__ import annotations

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.site import Site, altitude, monthly_turbidity

MONTHS = pd.date_range("2019-01-01", periods=12, freq="MS", tz="UTC")
# the corners of the maps, whole degrees, which lie between two rows, and some others
PLACES = [
    (90.0, 180.0),
    (-90.0, -180.0),
    (0.0, 0.0),
    (40.0, -105.0),
    (39.75, -105.25),
    (-33.9, 151.2),
    (27.988, 86.925),
    *np.random.default_rng(3).uniform((-89.0, -179.0), (89.0, 179.0), (20, 2)).round(1).tolist(),
]


@pytest.mark.parametrize(("latitude", "longitude"), PLACES)
def test_the_maps_say_what_pvlib_says(latitude: float, longitude: float) -> None:
    assert altitude(latitude, longitude) == pvlib.location.lookup_altitude(latitude, longitude)
    theirs = pvlib.clearsky.lookup_linke_turbidity(
        MONTHS, latitude, longitude, interp_turbidity=False
    )
    np.testing.assert_array_equal(monthly_turbidity(latitude, longitude), theirs.to_numpy())


def test_a_site_of_unknown_altitude_takes_the_maps() -> None:
    assert Site(39.74, -104.99).altitude == altitude(39.74, -104.99)
    assert 1400.0 < Site(39.74, -104.99).height < 1900.0
