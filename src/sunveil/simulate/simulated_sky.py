"""Simulated or real sky, haze, satellite errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pvlib
from numpy.typing import NDArray
from pvlib import spa
from scipy.ndimage import gaussian_filter1d
from scipy.signal import lfilter
from scipy.special import ndtri

from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError, WeatherError
from sunveil.simulate.fault_rates import FaultRates
from sunveil.site import Array, Site
from sunveil.weather.climate_normals import climate_temperature
from sunveil.weather.weather_data import Weather, covering, utc_seconds


def autoregressive(rng: np.random.Generator, size: int, *, correlation: float) -> Array:
    """Return a stationary AR(1) series of unit variance."""
    shocks = rng.standard_normal(size)
    shocks[1:] *= math.sqrt(1.0 - correlation**2)
    return np.asarray(lfilter([1.0], [1.0, -correlation], shocks), dtype=np.float64)


def correlated_noise(
    rng: np.random.Generator, size: int, *, step_minutes: float, memory_minutes: float
) -> Array:
    """Return an AR(1) series of unit variance, its memory given in time."""
    return autoregressive(rng, size, correlation=math.exp(-step_minutes / memory_minutes))


@dataclass(frozen=True, slots=True, eq=False)
class SolarCalendar:
    """The days of a place by its own sun, so that a day's weather does not change at noon."""

    index: NDArray[np.int64]  # number of the local day of each instant, from 0
    hour: Array  # [h] local mean solar time of each instant
    days: int  # number of local days
    season: Array  # from 0 to 1 through the year from the depth of winter, one per local day

    @classmethod
    def of(cls, times: pd.DatetimeIndex, *, latitude: float, longitude: float) -> SolarCalendar:
        """Return the calendar of a place over ``times``."""
        first = times[0].normalize() - pd.Timedelta(days=1)
        hours = (times - first).total_seconds().to_numpy() / 3600.0 + longitude / 15.0
        index = (hours // 24.0).astype(np.int64)
        index -= index[0]
        days = int(index[-1]) + 1
        # mid-January is the coldest time of the north, mid-July that of the south
        turn = 15.0 if latitude >= 0.0 else 197.0
        day_of_year = times[0].day_of_year + np.arange(days, dtype=np.float64)
        return cls(index, hours % 24.0, days, np.mod((day_of_year - turn) / 365.25, 1.0))

    @property
    def summer(self) -> Array:
        """+1 at the height of summer, -1 in the depth of winter, one per local day."""
        return -np.cos(2.0 * np.pi * self.season)


SMOG_DEPTHS = (0.35, 0.6)


@dataclass(frozen=True, slots=True)
class SkyTraits:
    """What is peculiar to the air of a place."""

    turbidity_spread: float = 0.15
    winter_turbidity: float = 0.0
    smog: float = 0.0
    own_climate: bool = False
    swing: float = 0.0  # [K]


def draw_traits(rates: FaultRates, *, rng: np.random.Generator) -> SkyTraits:
    """Return the traits of a place's air."""
    season, swing = rng.standard_normal(2)
    smoggy, depth = rng.random() < rates.smog, rng.uniform(*SMOG_DEPTHS)
    return SkyTraits(
        winter_turbidity=rates.turbidity_season * np.sqrt(2.0) * float(season),
        smog=float(depth) if smoggy else 0.0,
        own_climate=rates.climate > 0.0,
        swing=rates.climate * float(swing),
    )


def map_turbidity(site: Site, year: int, *, days: int) -> Array:
    """Return the Linke turbidity of pvlib's maps on each day of a year."""
    months = pd.date_range(f"{year}-01-01", periods=12, freq="MS", tz="UTC") + pd.Timedelta(days=14)
    maps = pvlib.clearsky.lookup_linke_turbidity(
        months, site.latitude, site.longitude, interp_turbidity=False
    )
    daily = np.interp(np.arange(1, days + 1), months.day_of_year, maps, period=365.25)
    return np.asarray(daily)


def draw_turbidity(
    site: Site, year: int, *, rng: np.random.Generator, calendar: SolarCalendar, traits: SkyTraits
) -> Array:
    """Return the Linke turbidity of each local day: maps, a site's factor, season and weather."""
    climatology = map_turbidity(site, year, days=calendar.days)
    factor = np.exp(traits.turbidity_spread * rng.standard_normal())
    weather = np.exp(0.12 * autoregressive(rng, calendar.days, correlation=0.8))
    season = np.exp(-traits.winter_turbidity * calendar.summer)
    return np.asarray(np.clip(climatology * factor * weather * season, 1.3, 9.0))


def draw_smog(rng: np.random.Generator, calendar: SolarCalendar, *, smog: float) -> Array:
    """Return the share of light that smog leaves on each local day."""
    # It is thickest in the depth of winter, gone in summer, and comes and goes over some days.
    thickness = -np.log1p(-smog) * np.maximum(-calendar.summer, 0.0)
    spells = np.exp(0.4 * autoregressive(rng, calendar.days, correlation=0.7))
    return np.asarray(np.exp(-thickness * spells))


def usual_air(
    site: Site, times: pd.DatetimeIndex, calendar: SolarCalendar, *, traits: SkyTraits
) -> Array:
    """Return the air temperature of a place without its weather [°C]."""
    swing = (traits.swing * calendar.summer)[calendar.index]
    if traits.own_climate:
        return np.asarray(swing + climate_temperature(site, times))
    latitude = abs(site.latitude)
    mean = 33.0 - 0.45 * latitude - 0.005 * site.height
    season = ((4.0 + 0.15 * latitude) * calendar.summer)[calendar.index]
    by_hour = 5.0 * np.cos(2.0 * np.pi * (calendar.hour - 15.0) / 24.0)
    return np.asarray(mean + season + swing + by_hour)


# What pvlib.solarposition.get_solarposition takes when nothing is said.
DELTA_T = 67.0
REFRACTION = 0.5667
TEMPERATURE = 12.0


@dataclass(frozen=True, slots=True, eq=False)
class SunPath:
    """The sun as seen from the centre of the Earth."""

    times: pd.DatetimeIndex  # the instants, in UTC
    radius: Array  # [astronomical units] distance of the sun
    sidereal: Array  # [degrees] apparent sidereal time at Greenwich
    ascension: Array  # [degrees] apparent place of the sun
    declination: Array  # [degrees] apparent place of the sun

    @classmethod
    def of(cls, times: pd.DatetimeIndex) -> SunPath:
        """Return the sun's path over ``times``."""
        unix = utc_seconds(times).astype(np.float64)
        place = (0.0, 0.0, 0.0, 0.0, TEMPERATURE, DELTA_T, REFRACTION, 1)
        (radius,) = spa.solar_position_numpy(unix, *place, esd=True)
        sidereal, ascension, declination = spa.solar_position_numpy(unix, *place, sst=True)
        return cls(times, radius, sidereal, ascension, declination)

    def over(self, site: Site) -> tuple[Array, Array]:
        """Return the sun's apparent zenith and azimuth at a site [degrees]."""
        latitude, height = site.latitude, site.height
        pressure = pvlib.atmosphere.alt2pres(height) / 100.0
        hour = spa.local_hour_angle(self.sidereal, site.longitude, self.ascension)
        parallax = spa.equatorial_horizontal_parallax(self.radius)
        reduced = spa.uterm(latitude)
        x, y = (term(reduced, latitude, height) for term in (spa.xterm, spa.yterm))
        shift = spa.parallax_sun_right_ascension(x, parallax, hour, self.declination)
        declination = spa.topocentric_sun_declination(self.declination, x, y, parallax, shift, hour)
        hour = spa.topocentric_local_hour_angle(hour, shift)
        bare = spa.topocentric_elevation_angle_without_atmosphere(latitude, declination, hour)
        lifted = spa.atmospheric_refraction_correction(pressure, TEMPERATURE, bare, REFRACTION)
        zenith = spa.topocentric_zenith_angle(spa.topocentric_elevation_angle(bare, lifted))
        turned = spa.topocentric_astronomers_azimuth(hour, declination, latitude)
        azimuth = spa.topocentric_azimuth_angle(turned)
        return np.asarray(zenith, dtype=np.float64), np.asarray(azimuth, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ClearSky:
    """Ineichen's clear sky with the sun's position."""

    zenith: Array  # [degrees] apparent
    azimuth: Array  # [degrees]
    dni_extra: Array  # [W/m²] irradiance outside the atmosphere
    ghi: Array  # [W/m²] global
    dni: Array  # [W/m²] direct normal
    dhi: Array  # [W/m²] diffuse


def clear_sky(
    site: Site, times: pd.DatetimeIndex, *, turbidity: Array, path: SunPath | None = None
) -> ClearSky:
    """Return the clear sky over a site under a Linke turbidity per instant."""
    zenith, azimuth = _sun(site, times) if path is None else path.over(site)
    pressure = pvlib.atmosphere.alt2pres(site.height)
    airmass = pvlib.atmosphere.get_absolute_airmass(
        pvlib.atmosphere.get_relative_airmass(zenith), pressure
    )
    extra = np.asarray(pvlib.irradiance.get_extra_radiation(times.day_of_year.to_numpy()))
    # at the horizon Ineichen divides by a cosine of zero, and takes the finite branch
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = pvlib.clearsky.ineichen(
            zenith, airmass, turbidity, altitude=site.height, dni_extra=extra
        )
    up = zenith < 90.0
    ghi, dni, dhi = (
        np.where(up, np.nan_to_num(parts[name]), 0.0) for name in ("ghi", "dni", "dhi")
    )
    return ClearSky(zenith, azimuth, extra, ghi, dni, np.maximum(dhi, 0.0))


def _sun(site: Site, times: pd.DatetimeIndex) -> tuple[Array, Array]:
    sun = site.sun(times)
    zenith, azimuth = (sun[name].to_numpy(np.float64) for name in ("apparent_zenith", "azimuth"))
    return zenith, azimuth


def split_beam(sky: ClearSky, clear_index: Array) -> tuple[Array, Array, Array]:
    """Return GHI, DNI and DHI under clouds [W/m²]."""
    # Erbs-Driesse gives the fall of the beam relative to its own clear value, and Ineichen's beam
    # falls by as much: clear instants are Ineichen's to the last digit. Light that cloud edges add
    # is diffuse.
    ghi = sky.ghi * clear_index
    beams = [
        pvlib.irradiance.erbs_driesse(g, sky.zenith, dni_extra=sky.dni_extra)["dni"]
        for g in (np.minimum(ghi, sky.ghi), sky.ghi)
    ]
    # below 3 degrees of sun the model gives no beam at all: there a cloud simply hides it
    falls = np.clip((clear_index - 0.3) / 0.7, 0.0, 1.0)
    np.divide(beams[0], beams[1], out=falls, where=beams[1] > 1.0)
    dni = sky.dni * np.clip(falls, 0.0, 1.0)
    dhi = np.maximum(ghi - dni * np.cos(np.radians(sky.zenith)), 0.0)
    return ghi, dni, dhi


@dataclass(frozen=True, slots=True)
class SatelliteErrors:
    """How wrong a satellite product is: standard deviations between sites unless said otherwise."""

    turbidity_bias: float = 0.15  # of the factor on turbidity, lognormal
    turbidity_drift: float = 0.05
    turbidity_noise: float = 0.08  # of what is missed of each day's turbidity within a site
    ghi_bias: float = 0.02  # of the factors on GHI and DNI, on top of what turbidity does
    dni_bias: float = 0.03  # of the factors on GHI and DNI, on top of what turbidity does
    cloud_depth: float = 0.3
    cloud_shift: float = 12.0  # [minutes]
    lost_cloud: float = 0.05  # smeared loss of light below which a cloud is not seen
    temperature: float = 1.5  # [K]

    def __post_init__(self) -> None:
        check_fields(self)


def simulate_satellite(
    true: Weather,
    *,
    rng: np.random.Generator,
    times: pd.DatetimeIndex,
    turbidity: Array,
    clear_index: Array,
    errors: SatelliteErrors,
) -> Weather:
    """Return a satellite product's snapshots of a sky."""
    here, there = _seconds(true.times), _seconds(times)

    def at_snapshots(values: Array) -> Array:
        return np.interp(there, here, values)

    haze = at_snapshots(turbidity) * _turbidity_error(rng, there, errors=errors)
    sky = clear_sky(true.site, times, turbidity=np.clip(haze, 1.2, 10.0))
    smeared = smear_clouds(rng, clear_index, step_minutes=true.step_minutes, errors=errors)
    ghi, dni, _ = split_beam(sky, at_snapshots(smeared))
    ghi = ghi * np.exp(errors.ghi_bias * rng.standard_normal())
    dni = dni * np.exp(errors.dni_bias * rng.standard_normal())
    beam = np.minimum(dni * np.cos(np.radians(sky.zenith)), ghi)
    # products keep GHI = DHI + DNI cos z, so a beam larger than GHI gives way
    up = (sky.zenith < 90.0) & (beam > 0.0)
    dni = np.divide(beam, np.cos(np.radians(sky.zenith)), out=np.zeros_like(beam), where=up)
    step = (there[1] - there[0]) / 60.0
    half = errors.temperature / np.sqrt(2.0)
    temperature = half * rng.standard_normal() + half * correlated_noise(
        rng, len(there), step_minutes=step, memory_minutes=720.0
    )
    breeze = 0.2 * rng.standard_normal() + 0.3 * correlated_noise(
        rng, len(there), step_minutes=step, memory_minutes=360.0
    )
    return Weather(
        site=true.site,
        times=times,
        ghi=ghi,
        dni=dni,
        dhi=ghi - beam,
        temp_air=at_snapshots(true.temp_air) + temperature,
        wind_speed=at_snapshots(true.wind_speed) * np.exp(breeze),
        source="simulated satellite",
        zenith=sky.zenith,
        azimuth=sky.azimuth,
    )


def smear_clouds(
    rng: np.random.Generator, clear_index: Array, *, step_minutes: float, errors: SatelliteErrors
) -> Array:
    """Return the clear-sky index as seen through pixels of some kilometres."""
    # Clouds are smeared over 30 to 60 minutes, a width of the site, and misplaced; their depth is
    # misjudged; what is small after smearing is not seen, and light added by cloud edges never is.
    loss = 1.0 - np.minimum(clear_index, 1.0)
    # a Gaussian of standard deviation s is as wide as a box of s times the root of 12
    width = rng.uniform(30.0, 60.0) / np.sqrt(12.0)
    smeared = gaussian_filter1d(loss, width / step_minutes)
    places = np.arange(len(loss), dtype=np.float64)
    shift = correlated_noise(rng, len(loss), step_minutes=step_minutes, memory_minutes=360.0)
    smeared = np.interp(places + errors.cloud_shift / step_minutes * shift, places, smeared)
    depth = correlated_noise(rng, len(loss), step_minutes=step_minutes, memory_minutes=60.0)
    seen = smeared * np.clip(1.0 + errors.cloud_depth * depth, 0.3, 1.7)
    return np.asarray(np.clip(1.0 - np.where(seen < errors.lost_cloud, 0.0, seen), 0.02, 1.0))


def _turbidity_error(rng: np.random.Generator, seconds: Array, *, errors: SatelliteErrors) -> Array:
    days = (seconds - seconds[0]) / 86400.0
    knots = int(days[-1]) + 2
    drift = errors.turbidity_drift * autoregressive(rng, knots, correlation=0.98)
    drift += errors.turbidity_noise * autoregressive(rng, knots, correlation=0.5)
    bias = errors.turbidity_bias * rng.standard_normal()
    return np.asarray(np.exp(bias + np.interp(days, np.arange(knots), drift)))


def _seconds(times: pd.DatetimeIndex) -> Array:
    stamps = times.tz_localize(None).to_numpy().astype("datetime64[ms]")
    return stamps.astype(np.int64).astype(np.float64) / 1000.0


CLEAR, PARTLY, OVERCAST = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedSky:
    """A true sky, and what a satellite product says of it."""

    true: Weather  # the weather that makes the power, with the sun's position
    satellite: Weather  # the weather that an inference is given
    clear_index: Array  # GHI over clear-sky GHI at each instant of `true`
    day: NDArray[np.int64]  # number of the local day of each instant of `true`

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def simulate_sky(
    site: Site,
    year: int,
    *,
    seed: int,
    step_minutes: int = 5,  # spacing of the true sky; must divide an hour. [minutes]
    # spacing of the satellite's snapshots; must divide an hour. [minutes]
    satellite_minutes: int = 30,
    errors: SatelliteErrors | None = None,  # how wrong the satellite is. Default: the usual errors.
    # fraction of days that are clear. Default: drawn between 0.25 and 0.75.
    clear_days: float | None = None,
) -> SimulatedSky:
    """Return a year of sky over a site, true and as seen from space."""
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
    """The sky that makes the power."""

    weather: Weather  # the weather that makes the power, with the sun's position
    turbidity: Array  # Linke turbidity at each instant
    clear_index: Array  # GHI over clear-sky GHI at each instant
    day: NDArray[np.int64]  # number of the local day of each instant


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
    """Return the true sky of :func:`simulate_sky` without what a satellite says of it."""
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
    """Return for each local day whether clouds took more than half of its light."""
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
    """Return the type of each local day by a Markov chain."""
    # A day repeats the one before with probability 0.4 and is else drawn afresh, so that the long-
    # run fractions are those asked for. Summers have more clear days, and more broken than full
    # cloud.
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
    """Return GHI over clear-sky GHI at each instant."""
    # A Gaussian process with memories of 15 minutes and 2 hours models the clouds overhead:
    # where it passes the day's threshold a cloud hides the sun, and just below it the cloud's edge
    # adds light. Days with no cloud, and gaps wide enough, are exactly 1.
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
    """Return air temperature and wind speed at each instant [°C, m/s]."""
    warmer = rng.normal(0.0, 2.0)
    # weather systems pass over days, not at midnight: join the daily values by straight lines
    systems = 4.0 * autoregressive(rng, calendar.days + 1, correlation=0.7)
    moment = calendar.index + calendar.hour / 24.0
    synoptic = np.interp(moment, np.arange(calendar.days + 1), systems)
    gusts = correlated_noise(rng, len(moment), step_minutes=step_minutes, memory_minutes=180.0)
    wind = 2.5 * np.exp(0.5 * gusts + 0.2 * rng.standard_normal())
    return usual + warmer + synoptic, np.clip(wind, 0.1, 20.0)


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
    """Return a year of real weather as the sky that makes power."""
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
    """Return real weather as the sky of a system; its satellite says what the file says."""
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
