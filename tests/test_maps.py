from __future__ import annotations

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil import maps
from sunveil.maps import altitude, monthly_turbidity
from sunveil.site import Site

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


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    maps._seen.cache_clear()
    yield tmp_path / "sunveil" / "maps"
    maps._seen.cache_clear()


def test_what_was_looked_up_is_not_looked_up_again(empty_cache, monkeypatch) -> None:
    places = [(39.75, -105.25), (-33.9, 151.2)]
    before = [monthly_turbidity(*place).tolist() for place in places]
    assert len(list(empty_cache.iterdir())) == 1
    maps._seen.cache_clear()
    monkeypatch.delattr(maps, "_opened")
    assert [monthly_turbidity(*place).tolist() for place in places] == before
    with pytest.raises(NameError):
        monthly_turbidity(0.0, 0.0)


def test_what_was_half_written_is_looked_up_again(empty_cache) -> None:
    before = monthly_turbidity(39.75, -105.25).tolist()
    (file,) = empty_cache.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-5], whole[:-5] + bytes(5)):
        file.write_bytes(damaged)
        assert monthly_turbidity(39.75, -105.25).tolist() == before
        assert file.read_bytes() == whole


def test_maps_are_read_where_nothing_can_be_kept(empty_cache) -> None:
    empty_cache.parent.mkdir()
    empty_cache.write_text("a file")
    assert monthly_turbidity(39.75, -105.25).shape == (12,)


def test_a_site_of_unknown_altitude_takes_the_maps() -> None:
    assert Site(39.74, -104.99).altitude == altitude(39.74, -104.99)
    assert 1400.0 < Site(39.74, -104.99).height < 1900.0
