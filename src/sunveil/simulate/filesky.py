"""Real weather in place of a simulated sky.

Files have a value every half an hour or hour, and a meter needs several within each of its
intervals. Between the file's times, what is interpolated is the share of a clear sky's global and
direct light that the file has, so that the sun's path within the hour stays exact.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sunveil.checked import checked
from sunveil.errors import WeatherError
from sunveil.simulate.haze import map_turbidity
from sunveil.simulate.irradiance import ClearSky, clear_sky
from sunveil.simulate.noise import SolarCalendar
from sunveil.simulate.sky import SimulatedSky, TrueSky, interval_middles
from sunveil.simulate.sunpath import SunPath
from sunveil.site import Array, Site
from sunveil.weather.base import Weather, utc_seconds
from sunveil.weather.typical import covering

# A file on a local clock ends some hours before or after the year in UTC.
EDGE_DAYS = 2
# Below this the share of a clear sky is a ratio of small numbers, and its neighbours' is taken.
DIM = 20.0


def sky_from_weather(
    weather: Weather,
    year: int,
    *,
    site: Site | None = None,
    step_minutes: int = 5,
    path: SunPath | None = None,
) -> TrueSky:
    """Return a year of real weather as the sky that makes power.

    Parameters
    ----------
    weather
        Weather that covers the year, or a typical year, which is laid over it.
    year
        Calendar year, in UTC.
    site
        Where the sun is seen from, near the weather; its own place when left out.
    step_minutes
        Spacing of the sky; must divide an hour. [minutes]
    path
        The sun over ``interval_middles(year, step_minutes)``, made once where many sites share a
        year.
    """
    here = site or weather.site
    given = whole_year(weather, year)
    times = interval_middles(year, step_minutes) if path is None else path.times
    calendar = SolarCalendar.of(times, latitude=here.latitude, longitude=here.longitude)
    turbidity = map_turbidity(here, year, days=calendar.days)
    fine = clear_sky(here, times, turbidity=turbidity[calendar.index], path=path)
    days = np.clip(given.times.day_of_year.to_numpy() - 1, 0, calendar.days - 1)
    coarse = clear_sky(given.site, given.times, turbidity=turbidity[days])
    known, asked = (utc_seconds(each).astype(np.float64) for each in (given.times, times))

    def at(values: Array) -> Array:
        return np.interp(asked, known, values)

    index = at(_share(given.ghi, coarse.ghi))
    ghi = fine.ghi * index
    dni = _beam(fine, ghi, at(_share(given.dni, coarse.dni)))
    real = Weather(
        site=here,
        times=times,
        ghi=ghi,
        dni=dni,
        dhi=ghi - dni * np.maximum(np.cos(np.radians(fine.zenith)), 0.0),
        temp_air=at(given.temp_air),
        wind_speed=at(given.wind_speed),
        source=weather.source,
        zenith=fine.zenith,
        azimuth=fine.azimuth,
    )
    return TrueSky(real, turbidity[calendar.index], index, calendar.index)


@checked
def real_sky(
    weather: Weather, year: int, *, site: Site | None = None, step_minutes: int = 5
) -> SimulatedSky:
    """Return real weather as the sky of a system; its satellite says what the file says.

    Parameters
    ----------
    weather, year, site, step_minutes
        As for :func:`sky_from_weather`.
    """
    sky = sky_from_weather(weather, year, site=site, step_minutes=step_minutes)
    return SimulatedSky(
        true=sky.weather,
        satellite=whole_year(weather, year),
        clear_index=sky.clear_index,
        day=sky.day,
    )


def weather_year(weather: Weather) -> int | None:
    """Return the year that most of a file's weather is of; None for a typical one."""
    return None if weather.typical else int(weather.times[len(weather.times) // 2].year)


def whole_year(weather: Weather, year: int) -> Weather:
    """Return a file's weather of one year in UTC, a typical one laid over it; refuse less."""
    start, end = (pd.Timestamp(year=each, month=1, day=1, tz="UTC") for each in (year, year + 1))
    edge = pd.Timedelta(days=EDGE_DAYS)
    given = weather
    if weather.typical or (weather.times[0] < end and weather.times[-1] > start):
        given = covering(weather, start, end)
    if given.times[0] > start + edge or given.times[-1] < end - edge:
        raise WeatherError(
            f"the weather from {weather.source} runs from {weather.times[0]:%Y-%m-%d} to"
            f" {weather.times[-1]:%Y-%m-%d} and is not of all {year}; give a whole year of weather,"
            " and ask for that year"
        )
    return given


def _share(values: Array, clear: Array) -> Array:
    """Return values over those of a clear sky, with neighbours' where that is dim."""
    bright = clear > DIM
    places = np.arange(len(clear))
    share = np.clip(values[bright] / clear[bright], 0.0, 1.5)
    return np.interp(places, places[bright], share) if bright.any() else np.ones(len(clear))


def _beam(sky: ClearSky, ghi: Array, share: Array) -> Array:
    """Return the direct light, no more of it than global light allows [W/m²]."""
    cosine = np.maximum(np.cos(np.radians(sky.zenith)), 1e-3)
    return np.asarray(np.minimum(sky.dni * share, ghi / cosine))
