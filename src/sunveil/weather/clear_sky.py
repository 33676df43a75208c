"""Embedded clear sky (no network, no key)."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pvlib

from sunveil._options import checked, instance, whole
from sunveil.errors import ParameterError
from sunveil.site import Array, Site, monthly_turbidity
from sunveil.weather.cache import CacheKey, WeatherCache, stored_precision
from sunveil.weather.climate_normals import climate_temperature
from sunveil.weather.weather_data import TimeLike, Weather, join_weather, span, utc_index, years_of

WIND_SPEED = 1.5  # m/s, about what a roof sees on a fine day


@checked
def clearsky(
    site: Site,
    start: TimeLike,
    end: TimeLike,
    *,
    step_minutes: int = 15,
    cache: WeatherCache | None = None,
) -> Weather:
    """Return cloudless weather by the Ineichen-Perez model and pvlib's monthly turbidity maps."""
    first, last = span(start, end)
    instance("site", site, Site, give="a Site")
    if cache is not None:
        instance("cache", cache, WeatherCache, give="a WeatherCache, or None for the user's own")
    if 1440 % whole("step_minutes", step_minutes, low=1, high=1440) != 0:
        raise ParameterError(
            f"step_minutes must divide a day of 1440 minutes, and {step_minutes} does not"
        )
    store = WeatherCache() if cache is None else cache
    years = [_year(site, year, step_minutes, store) for year in years_of(first, last)]
    return join_weather(years).between(first, last)


def _year(site: Site, year: int, step_minutes: int, cache: WeatherCache) -> Weather:
    key = CacheKey.of(
        site,
        year,
        source="clearsky",
        # another name when the values change, so that no older year is taken from the cache
        dataset="ineichen-normals",
        step_minutes=step_minutes,
        by_altitude=True,
    )
    known = cache.load(key, site, source="clearsky", clear=True)
    if known is not None:
        return known
    # At the place the key names, so that the answer never depends on who filled the cache.
    place = Site(key.latitude, key.longitude, key.altitude)
    made = stored_precision(_computed(place, _middles(year, step_minutes)))
    cache.store(key, made)
    return replace(made, site=site)


def _middles(year: int, step_minutes: int) -> pd.DatetimeIndex:
    """Return the middles of the year's intervals, in UTC."""
    first, last = np.datetime64(f"{year:04d}", "s"), np.datetime64(f"{year + 1:04d}", "s")
    half = np.timedelta64(30 * step_minutes, "s")
    return utc_index(np.arange(first, last, np.timedelta64(60 * step_minutes, "s")) + half)


def _computed(site: Site, times: pd.DatetimeIndex) -> Weather:
    sun = site.sun(times)
    zenith = sun["apparent_zenith"].to_numpy(np.float64)
    days = times.day_of_year.to_numpy()
    light: dict[str, Any] = clear_light(site, zenith, days, year=times[0].year)
    return Weather(
        site=site,
        times=times,
        temp_air=climate_temperature(site, times),
        wind_speed=np.full(len(times), WIND_SPEED),
        source="clearsky",
        clear=True,
        zenith=zenith,
        azimuth=sun["azimuth"].to_numpy(np.float64),
        **light,
    )


def clear_light(site: Site, zenith: Array, days: Array, *, year: int) -> dict[str, Array]:
    """Return ``ghi``, ``dni`` and ``dhi`` under a cloudless sky. [W/m²]"""
    up = zenith < 90.0
    pressure = float(pvlib.atmosphere.alt2pres(site.height))
    relative = pvlib.atmosphere.get_relative_airmass(zenith[up])
    sky = pvlib.clearsky.ineichen(
        zenith[up],
        pvlib.atmosphere.get_absolute_airmass(relative, pressure),
        np.interp(days[up], *_turbidity(site, year)),
        altitude=site.height,
        dni_extra=pvlib.irradiance.get_extra_radiation(days[up]),
    )
    light = {name: np.zeros(len(zenith)) for name in ("ghi", "dni", "dhi")}
    for name, values in light.items():
        values[up] = np.nan_to_num(sky[name])
    return light


@functools.lru_cache(maxsize=256)
def _turbidity(site: Site, year: int) -> tuple[Array, Array]:
    """Return the days of ``year`` at the middles of its months, and the map's turbidity there."""
    # Straight lines between, with a month before and after the year, as pvlib draws them.
    starts = np.arange(f"{year:04d}", f"{year + 1:04d}-02", dtype="datetime64[M]")
    firsts = (starts.astype("datetime64[D]") - starts[0].astype("datetime64[D]")).astype(float)
    middles = (firsts[:-1] + firsts[1:]) / 2.0
    monthly = monthly_turbidity(site.latitude, site.longitude)
    days = np.concatenate([[-15.5], middles, [firsts[-1] + 15.5]])
    return days, np.concatenate([monthly[-1:], monthly, monthly[:1]])
