from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pvlib
import pytest

from sunveil.errors import ParameterError
from sunveil.site import Site
from sunveil.weather import WeatherCache, clearsky
from sunveil.weather.cache import CacheKey


@pytest.mark.parametrize("year", [2016, 2017])
@pytest.mark.parametrize("place", [(39.742, -105.1727, 1795.0), (-33.9, 18.4, 20.0)])
def test_clear_sky_is_that_of_pvlib(year, place):
    site = Site(*place)
    ours = clearsky(site, str(year), str(year + 1), step_minutes=60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pvlib asks pandas for a deprecated name
        theirs = pvlib.location.Location(*place[:2], tz="UTC", altitude=place[2]).get_clearsky(
            ours.times
        )
    for name in ("ghi", "dni", "dhi"):
        np.testing.assert_allclose(getattr(ours, name), theirs[name], atol=1e-3)
    assert ours.ghi.max() > 900.0
    assert ours.clear
    assert ours.source == "clearsky"


def test_times_are_the_middles_of_a_utc_grid_and_the_span_is_half_open(golden):
    weather = clearsky(golden, "2016-12-31T23:07:30Z", "2017-01-01T00:22:30Z")
    expected = pd.date_range("2016-12-31T23:07:30Z", "2017-01-01T00:07:30Z", freq="15min")
    assert list(weather.times) == list(expected)


def test_a_cached_answer_equals_the_first_to_the_last_bit(golden):
    first = clearsky(golden, "2015-12-01", "2016-02-01", step_minutes=30)
    second = clearsky(golden, "2015-12-01", "2016-02-01", step_minutes=30)
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame(), check_exact=True)
    for one, other in zip(first.sun(), second.sun(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(list(WeatherCache().folder.iterdir())) == 2


def own_key(site, dataset):
    return CacheKey.of(
        site, 2016, source="clearsky", dataset=dataset, step_minutes=60, by_altitude=True
    )


def test_a_cached_year_is_read_rather_than_computed(golden, own_cache):
    clearsky(golden, "2016", "2017", step_minutes=60)
    (entry,) = own_cache.folder.iterdir()
    other = clearsky(Site(0.0, 0.0, 0.0), "2016", "2017", step_minutes=60, cache=WeatherCache(
        own_cache.folder / "other"
    ))  # fmt: skip
    key = own_key(golden, "ineichen-normals")
    assert own_cache.path(key) == entry
    own_cache.store(key, other)
    again = clearsky(golden, "2016", "2017", step_minutes=60)
    np.testing.assert_array_equal(again.ghi, other.ghi)
    assert again.site == golden


def test_a_folder_that_cannot_be_written_costs_only_the_cache(golden, tmp_path):
    (tmp_path / "file").write_text("in the way")
    blocked = clearsky(
        golden, "2016-06-20", "2016-06-21", cache=WeatherCache(tmp_path / "file" / "cache")
    )
    np.testing.assert_array_equal(blocked.ghi, clearsky(golden, "2016-06-20", "2016-06-21").ghi)


@pytest.mark.parametrize("step", [0, -15, 7, 2880])
def test_a_step_that_does_not_divide_the_day_is_refused(golden, step):
    with pytest.raises(ParameterError, match="step_minutes must"):
        clearsky(golden, "2016", "2017", step_minutes=step)


@pytest.mark.parametrize(
    ("start", "end"), [("2017", "2016"), ("2016", "2016"), ("soon", "2017"), (None, "2017")]
)
def test_a_span_that_is_no_span_is_refused(golden, start, end):
    with pytest.raises(ParameterError):
        clearsky(golden, start, end)
