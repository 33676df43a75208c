"""The sky that makes the power: clear sky, clouds, air."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.simulate.haze import SkyTraits, draw_smog, draw_turbidity, usual_air
from sunveil.simulate.irradiance import clear_sky, split_beam
from sunveil.simulate.noise import SolarCalendar, autoregressive, correlated_noise
from sunveil.simulate.satellite import SatelliteErrors, simulate_satellite
from sunveil.simulate.sunpath import SunPath
from sunveil.site import Array, Site
from sunveil.weather.base import Weather

CLEAR, PARTLY, OVERCAST = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedSky:
    """A true sky, and what a satellite product says of it.

    Parameters
    ----------
    true
        The weather that makes the power, with the sun's position.
    satellite
        The weather that an inference is given.
    clear_index
        GHI over clear-sky GHI at each instant of ``true``.
    day
        Number of the local day of each instant of ``true``.
    """

    true: Weather
    satellite: Weather
    clear_index: Array
    day: NDArray[np.int64]

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def simulate_sky(
    site: Site,
    year: int,
    *,
    seed: int,
    step_minutes: int = 5,
    satellite_minutes: int = 30,
    errors: SatelliteErrors | None = None,
    clear_days: float | None = None,
) -> SimulatedSky:
    """Return a year of sky over a site, true and as seen from space.

    Parameters
    ----------
    site
        Where.
    year
        Calendar year, in UTC.
    seed
        The same seed gives the same sky.
    step_minutes
        Spacing of the true sky; must divide an hour. [minutes]
    satellite_minutes
        Spacing of the satellite's snapshots; must divide an hour. [minutes]
    errors
        How wrong the satellite is; the usual errors when left out.
    clear_days
        Fraction of days that are clear; drawn between 0.25 and 0.75 when left out.
    """
    if satellite_minutes < 1 or 60 % satellite_minutes:
        raise ParameterError(f"satellite_minutes must divide an hour, not {satellite_minutes}")
    sky = simulate_true_sky(site, year, seed=seed, step_minutes=step_minutes, clear_days=clear_days)
    satellite = simulate_satellite(
        sky.weather,
        rng=_streams(seed)[3],
        times=interval_middles(year, satellite_minutes),
        turbidity=sky.turbidity,
        clear_index=sky.clear_index,
        errors=errors or SatelliteErrors(),
    )
    return SimulatedSky(
        true=sky.weather, satellite=satellite, clear_index=sky.clear_index, day=sky.day
    )


@dataclass(frozen=True, slots=True, eq=False)
class TrueSky:
    """The sky that makes the power.

    Parameters
    ----------
    weather
        The weather that makes the power, with the sun's position.
    turbidity, clear_index
        Linke turbidity, and what clouds leave of clear-sky GHI, at each instant.
    day
        Number of the local day of each instant.
    """

    weather: Weather
    turbidity: Array
    clear_index: Array
    day: NDArray[np.int64]


def simulate_true_sky(
    site: Site,
    year: int,
    *,
    seed: int,
    step_minutes: int = 5,
    clear_days: float | None = None,
    path: SunPath | None = None,
    traits: SkyTraits | None = None,
) -> TrueSky:
    """Return the true sky of :func:`simulate_sky` without what a satellite says of it.

    Parameters
    ----------
    site, year, seed, step_minutes, clear_days
        As for :func:`simulate_sky`.
    path
        The sun over ``interval_middles(year, step_minutes)``, made once where many sites share a
        year.
    traits
        What is peculiar to the air of the place; a usual one's when left out.
    """
    if step_minutes < 1 or 60 % step_minutes:
        raise ParameterError(f"step_minutes must divide an hour, and {step_minutes} does not")
    streams = _streams(seed)
    times = interval_middles(year, step_minutes) if path is None else path.times
    calendar = SolarCalendar.of(times, latitude=site.latitude, longitude=site.longitude)
    traits = traits or SkyTraits()
    daily = draw_turbidity(site, year, rng=streams[0], calendar=calendar, traits=traits)
    turbidity = daily[calendar.index]
    sky = clear_sky(site, times, turbidity=turbidity, path=path)
    index = draw_clear_index(streams[1], calendar, step_minutes=step_minutes, clear_days=clear_days)
    left = draw_smog(streams[0], calendar, smog=traits.smog)[calendar.index]
    ghi, dni, dhi = split_beam(sky, index * left)
    temp_air, wind_speed = draw_air(
        streams[2],
        calendar,
        usual=usual_air(site, times, calendar, traits=traits),
        step_minutes=step_minutes,
    )
    weather = Weather(
        site=site,
        times=times,
        ghi=ghi,
        dni=dni,
        dhi=dhi,
        temp_air=temp_air,
        wind_speed=wind_speed,
        source="simulated sky",
        zenith=sky.zenith,
        azimuth=sky.azimuth,
    )
    return TrueSky(weather, turbidity, index, calendar.index)


def _streams(seed: int) -> list[np.random.Generator]:
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(4)]


def interval_middles(year: int, step_minutes: int) -> pd.DatetimeIndex:
    """Return the middles of the intervals of a UTC year."""
    step = pd.Timedelta(minutes=step_minutes)
    start, end = (pd.Timestamp(year=y, month=1, day=1, tz="UTC") for y in (year, year + 1))
    return pd.date_range(start, end, freq=step, inclusive="left") + step / 2


def dull_days(day: NDArray[np.int64], clear_index: Array, ghi: Array) -> NDArray[np.bool_]:
    """Return for each local day whether clouds took more than half of its light.

    Parameters
    ----------
    day
        Number of the local day of each instant.
    clear_index, ghi
        GHI over clear-sky GHI, and GHI itself, at each instant. [1, W/m²]
    """
    bright = ghi > 0.0
    days = int(day[-1]) + 1
    light = np.bincount(day[bright], clear_index[bright], minlength=days)
    return np.asarray(light < 0.5 * np.bincount(day[bright], minlength=days))


def days_since(happened: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many days ago something last happened, counted from the first day at most."""
    days = np.arange(len(happened))
    return np.asarray(days - np.maximum.accumulate(np.where(happened, days, 0)))


def draw_day_types(
    rng: np.random.Generator, calendar: SolarCalendar, *, clear_days: float
) -> NDArray[np.int64]:
    """Return the type of each local day by a Markov chain.

    A day repeats the one before with probability 0.4 and is else drawn afresh, so that the long-run
    fractions are those asked for. Summers have more clear days, and more broken than full cloud.

    Parameters
    ----------
    rng
        Source of randomness.
    calendar
        The local days.
    clear_days
        Fraction of days that are clear, over the year.

    Returns
    -------
    numpy.ndarray
        ``CLEAR``, ``PARTLY`` or ``OVERCAST``, one per local day.
    """
    clear = np.clip(clear_days + 0.12 * calendar.summer, 0.05, 0.95)
    partly = (1.0 - clear) * (0.55 + 0.15 * calendar.summer)
    draw = rng.random(calendar.days)
    fresh = np.where(draw < clear, CLEAR, np.where(draw < clear + partly, PARTLY, OVERCAST))
    keep = rng.random(calendar.days) < 0.4
    keep[0] = False
    # a day that keeps takes the type of the last day drawn afresh
    last = np.maximum.accumulate(np.where(keep, 0, np.arange(calendar.days)))
    return np.asarray(fresh[last], dtype=np.int64)


def draw_clear_index(
    rng: np.random.Generator,
    calendar: SolarCalendar,
    *,
    step_minutes: int,
    clear_days: float | None = None,
) -> Array:
    """Return GHI over clear-sky GHI at each instant.

    A Gaussian process with memories of 15 minutes and 2 hours stands for the clouds overhead: where
    it passes the day's threshold a cloud hides the sun, and just below it the cloud's edge adds
    light. Days with no cloud, and gaps wide enough, are exactly 1.

    Parameters
    ----------
    rng
        Source of randomness.
    calendar
        The instants and their local days.
    step_minutes
        Spacing of the instants. [minutes]
    clear_days
        Fraction of days that are clear; drawn between 0.25 and 0.75 when left out.
    """
    if clear_days is None:
        clear_days = float(rng.uniform(0.25, 0.75))
    kinds = draw_day_types(rng, calendar, clear_days=clear_days)
    days, size = calendar.days, len(calendar.index)
    # three clear days in ten have a few small clouds
    few = np.where(rng.random(days) < 0.3, rng.uniform(0.01, 0.1, days), 0.0)
    cover = np.choose(kinds, [few, 0.1 + 0.8 * rng.beta(2, 2, days), rng.uniform(0.95, 1.05, days)])
    depth = np.choose(kinds, [0.6, rng.normal(0.45, 0.12, days), rng.normal(0.28, 0.12, days)])

    def passing(minutes: float) -> Array:
        return correlated_noise(rng, size, step_minutes=step_minutes, memory_minutes=minutes)

    overhead = np.sqrt(0.6) * passing(15.0) + np.sqrt(0.4) * passing(120.0)
    above = overhead - ndtri(1.0 - np.clip(cover, 0.0, 1.0))[calendar.index]
    hidden = np.clip(above / 0.3 + 0.5, 0.0, 1.0)
    through = np.clip(depth[calendar.index] * np.exp(0.25 * passing(40.0)), 0.04, 0.85)
    edge = np.clip(1.0 + above / 0.8, 0.0, 1.0) * (1.0 - hidden)
    added = np.clip(0.06 * np.abs(passing(10.0)), 0.0, 0.2) * edge
    return np.asarray(1.0 - hidden * (1.0 - through) + added)


def draw_air(
    rng: np.random.Generator, calendar: SolarCalendar, *, usual: Array, step_minutes: int
) -> tuple[Array, Array]:
    """Return air temperature and wind speed at each instant [°C, m/s].

    Parameters
    ----------
    rng
        Source of randomness.
    calendar
        The instants and their local days.
    usual
        Air temperature at each instant without the weather. [°C]
    step_minutes
        Spacing of the instants. [minutes]
    """
    warmer = rng.normal(0.0, 2.0)
    # weather systems pass over days, not at midnight: join the daily values by straight lines
    systems = 4.0 * autoregressive(rng, calendar.days + 1, correlation=0.7)
    moment = calendar.index + calendar.hour / 24.0
    synoptic = np.interp(moment, np.arange(calendar.days + 1), systems)
    gusts = correlated_noise(rng, len(moment), step_minutes=step_minutes, memory_minutes=180.0)
    wind = 2.5 * np.exp(0.5 * gusts + 0.2 * rng.standard_normal())
    return usual + warmer + synoptic, np.clip(wind, 0.1, 20.0)
