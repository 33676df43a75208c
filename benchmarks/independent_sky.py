"""Skies that do not share the inference's: Solis under aerosols and water of the place's own.

The inference knows Ineichen's clear sky under the turbidity of a world map. Here the air of every
place is drawn apart: aerosol optical depth by season and day, and precipitable water by its own
warmth. Where winters are smoggy, aerosol beyond what Solis holds for takes light by Beer's law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pvlib

from sunveil.simulate.fault_rates import CITIES
from sunveil.simulate.simulated_sky import (
    ClearSky,
    SatelliteErrors,
    SkyTraits,
    SolarCalendar,
    autoregressive,
    draw_air,
    draw_clear_index,
    interval_middles,
    simulate_satellite,
    split_beam,
    usual_air,
)
from sunveil.site import Array, Site
from sunveil.weather import Weather

YEAR, SKY_MINUTES, SATELLITE_MINUTES = 2019, 10, 30
# A third of the world's PV stands in China (IEA-PVPS Snapshot 2023) and more of it under the haze
# of India and Korea: places of other fleets' lists, and these beside them.
SMOGGY = (
    Site(39.90, 116.40, 44.0),
    Site(38.04, 114.51, 83.0),
    Site(34.75, 113.63, 110.0),
    Site(28.61, 77.21, 216.0),
    Site(37.57, 126.98, 38.0),
    Site(45.46, 9.19, 120.0),
)
PLACES = tuple(city.site for city in CITIES) + SMOGGY
# Aerosol optical depth at 700 nm: yearly medians of AERONET's sites are 0.02 to 0.15 in North
# America and Europe, and 0.2 to 0.5 in the plains of China and India (Holben et al. 2001,
# doi 10.1029/2001JD900014; Wei et al. 2019, doi 10.1016/j.atmosenv.2019.116954).
CLEAN_AOD, SMOGGY_AOD = (0.02, 0.15), (0.2, 0.45)
# What Solis holds for (Ineichen 2008, doi 10.1016/j.solener.2007.08.003).
LARGEST_AOD = 0.45
# Of the light that aerosol takes from the beam, what still comes down as diffuse.
FORWARD = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class IndependentSky:
    """A year of sky that makes power, and what a satellite says of it.

    Parameters
    ----------
    true
        The weather that makes the power.
    satellite
        What an inference is given where it is given weather.
    water
        Precipitable water at each instant of ``true``. [cm]
    clear_index
        What clouds leave of clear-sky GHI, at each instant of ``true``.
    calendar
        The local days of ``true``.
    """

    true: Weather
    satellite: Weather
    water: Array
    clear_index: Array
    calendar: SolarCalendar


def independent_sky(site: Site, *, seed: int) -> IndependentSky:
    """Return a year of sky over one of ``PLACES``; the same seed gives the same sky."""
    air, clouds, warmth, space = (
        np.random.default_rng(each) for each in np.random.SeedSequence(seed).spawn(4)
    )
    times = interval_middles(YEAR, SKY_MINUTES)
    calendar = SolarCalendar.of(times, latitude=site.latitude, longitude=site.longitude)
    traits = SkyTraits(own_climate=True, swing=2.0 * float(warmth.standard_normal()))
    usual = usual_air(site, times, calendar, traits=traits)
    temp_air, wind_speed = draw_air(warmth, calendar, usual=usual, step_minutes=SKY_MINUTES)
    humidity = float(air.uniform(40.0, 70.0))
    water = np.clip(pvlib.atmosphere.gueymard94_pw(temp_air, humidity), 0.2, 8.0)
    aod = draw_aerosol(air, calendar, smoggy=site in SMOGGY)[calendar.index]
    clear = solis(site, times, aod=aod, water=water)
    index = draw_clear_index(clouds, calendar, step_minutes=SKY_MINUTES)
    ghi, dni, dhi = split_beam(clear, index)
    sun = {"zenith": clear.zenith, "azimuth": clear.azimuth}
    air_of = {"temp_air": temp_air, "wind_speed": wind_speed}
    true = Weather(
        site=site, times=times, ghi=ghi, dni=dni, dhi=dhi, source="independent", **air_of, **sun
    )
    satellite = simulate_satellite(
        true,
        rng=space,
        times=interval_middles(YEAR, SATELLITE_MINUTES),
        turbidity=pvlib.atmosphere.kasten96_lt(1.5, water, aod * (700.0 / 1000.0) ** 1.3 * 1.6),
        clear_index=index,
        errors=SatelliteErrors(),
    )
    return IndependentSky(true, satellite, water, index, calendar)


def draw_aerosol(rng: np.random.Generator, calendar: SolarCalendar, *, smoggy: bool) -> Array:
    """Return aerosol optical depth at 700 nm on each local day.

    Clean places have more of it in summer, by a swing of their own; smoggy ones in winter.

    Parameters
    ----------
    rng
        Source of randomness.
    calendar
        The local days.
    smoggy
        Whether the place is one of ``SMOGGY``.
    """
    low, high = SMOGGY_AOD if smoggy else CLEAN_AOD
    middle = np.exp(rng.uniform(np.log(low), np.log(high)))
    swing = -rng.uniform(0.3, 0.8) if smoggy else rng.normal(0.45, 0.4)
    spells = 0.4 * autoregressive(rng, calendar.days, correlation=0.7)
    return np.asarray(np.clip(middle * np.exp(swing * calendar.summer + spells), 0.01, 2.0))


def solis(site: Site, times: pd.DatetimeIndex, *, aod: Array, water: Array) -> ClearSky:
    """Return the simplified Solis clear sky, and Beer's law for aerosol beyond what it holds for.

    Parameters
    ----------
    site, times
        Where and when, in UTC.
    aod, water
        Aerosol optical depth at 700 nm, and precipitable water, at each instant. [1, cm]
    """
    sun = site.sun(times)
    zenith, azimuth = (sun[name].to_numpy(float) for name in ("apparent_zenith", "azimuth"))
    extra = np.asarray(pvlib.irradiance.get_extra_radiation(times.day_of_year.to_numpy()))
    up = zenith < 89.5
    parts = pvlib.clearsky.simplified_solis(
        90.0 - zenith[up],
        aod700=np.minimum(aod[up], LARGEST_AOD),
        precipitable_water=water[up],
        pressure=pvlib.atmosphere.alt2pres(site.height),
        dni_extra=extra[up],
    )
    dni, dhi = np.zeros(len(times)), np.zeros(len(times))
    mass = pvlib.atmosphere.get_relative_airmass(zenith[up])
    left = np.exp(-np.maximum(aod[up] - LARGEST_AOD, 0.0) * mass)
    beam = np.nan_to_num(parts["dni"])
    dni[up] = beam * left
    falls = np.cos(np.radians(zenith[up]))
    dhi[up] = np.nan_to_num(parts["dhi"]) + FORWARD * beam * (1.0 - left) * falls
    ghi = dhi + dni * np.maximum(np.cos(np.radians(zenith)), 0.0)
    return ClearSky(zenith, azimuth, extra, ghi, dni, dhi)
