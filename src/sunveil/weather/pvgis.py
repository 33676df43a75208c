"""PVGIS: hourly satellite weather of Europe, Africa, Asia and the Americas, without a key."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

import numpy as np
import pandas as pd
import pvlib

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.site import Site
from sunveil.weather.base import Weather, join_weather
from sunveil.weather.cache import CacheKey, WeatherCache
from sunveil.weather.light import normal_beam
from sunveil.weather.remote import RequestPolicy, cached_year


@checked
def get_pvgis(
    site: Site,
    years: int | Iterable[int],
    *,
    database: str | None = None,
    url: str | None = None,
    timeout: float = 60.0,
    attempts: int = 4,
    pause: float = 2.0,
    cache: WeatherCache | None = None,
) -> Weather:
    """Return measured hourly weather from PVGIS, a UTC year at a time, each cached.

    Parameters
    ----------
    site
        Where.
    years
        UTC calendar years, consecutive.
    database
        PVGIS's radiation database, such as ``"PVGIS-SARAH3"``; its own choice when left out.
    url
        Another address of the interface, up to and with the last slash.
    timeout
        How long the server may stay silent. [s]
    attempts, pause
        How often to ask a busy or silent server, and the first wait between, doubled each time.
        [s]
    cache
        Where whole years are kept; the user's cache folder when left out.

    Returns
    -------
    Weather
        At the instants PVGIS stamps, those of the satellite's images, such as ten past.
    """
    asked = [years] if isinstance(years, int) else sorted(set(years))
    if not asked:
        raise ParameterError("years must name at least one year")
    policy = RequestPolicy("PVGIS", timeout=timeout, attempts=attempts, pause=pause)
    address = pvlib.iotools.pvgis.URL if url is None else url
    other = "" if url is None else f"-{zlib.crc32(url.encode()):08x}"
    product = f"{database or 'default'}{other}"

    def fetch(year: int) -> pd.DataFrame:
        frame, _ = pvlib.iotools.get_pvgis_hourly(
            round(site.latitude, 4),
            round(site.longitude, 4),
            start=year,
            end=year,
            raddatabase=database,
            components=True,
            surface_tilt=0,
            url=address,
            timeout=timeout,
        )
        return horizontal_weather(frame)

    def year_of(year: int) -> Weather:
        key = CacheKey.of(
            site, year, source="pvgis", dataset=product, step_minutes=60, by_altitude=False
        )
        return cached_year(lambda: fetch(year), key=key, site=site, cache=cache, policy=policy)

    return join_weather([year_of(year) for year in asked])


def horizontal_weather(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the light of a horizontal plane, in pvlib's PVGIS names, as weather.

    PVGIS gives the beam on the plane; dividing by the sine of its own solar elevation undoes
    what it multiplied by.
    """
    beam = frame["poa_direct"].to_numpy(np.float64)
    diffuse = frame["poa_sky_diffuse"].to_numpy(np.float64)
    sine = np.sin(np.radians(frame["solar_elevation"].to_numpy(np.float64)))
    days = pd.DatetimeIndex(frame.index).day_of_year.to_numpy()
    columns = {
        "ghi": beam + diffuse,
        "dni": normal_beam(beam, sine, days),
        "dhi": diffuse,
        "temp_air": frame["temp_air"].to_numpy(np.float64),
        "wind_speed": frame["wind_speed"].to_numpy(np.float64),
    }
    return pd.DataFrame(columns, index=frame.index)
