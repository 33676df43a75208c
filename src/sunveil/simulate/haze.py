"""How the air of one place differs from the maps': turbidity, smog, and the swing of seasons."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pvlib

from sunveil.simulate.fault_rates import FaultRates
from sunveil.simulate.noise import SolarCalendar, autoregressive
from sunveil.site import Array, Site
from sunveil.weather.climate import climate_temperature

SMOG_DEPTHS = (0.35, 0.6)


@dataclass(frozen=True, slots=True)
class SkyTraits:
    """What is peculiar to the air of a place.

    Parameters
    ----------
    turbidity_spread
        Lognormal spread of a place's factor on the turbidity of the maps, the same all year.
    winter_turbidity
        Logarithm of the factor on turbidity in the depth of winter; its inverse acts at the height
        of summer.
    smog
        Share of the light that haze takes in the depth of winter, in the mean; none in summer.
    own_climate
        Whether the air is as warm as is usual at the place, or by its latitude and height alone.
    swing
        What is added to the temperature of summer and taken from that of winter. [K]
    """

    turbidity_spread: float = 0.15
    winter_turbidity: float = 0.0
    smog: float = 0.0
    own_climate: bool = False
    swing: float = 0.0


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
    """Return the Linke turbidity of pvlib's maps on each day of a year.

    Parameters
    ----------
    site
        Where.
    year
        Calendar year.
    days
        How many local days.
    """
    months = pd.date_range(f"{year}-01-01", periods=12, freq="MS", tz="UTC") + pd.Timedelta(days=14)
    maps = pvlib.clearsky.lookup_linke_turbidity(
        months, site.latitude, site.longitude, interp_turbidity=False
    )
    daily = np.interp(np.arange(1, days + 1), months.day_of_year, maps, period=365.25)
    return np.asarray(daily)


def draw_turbidity(
    site: Site,
    year: int,
    *,
    rng: np.random.Generator,
    calendar: SolarCalendar,
    traits: SkyTraits,
) -> Array:
    """Return the Linke turbidity of each local day: maps, a site's factor, season and weather.

    Parameters
    ----------
    site
        Where; pvlib's maps give the climatology.
    year
        Calendar year.
    rng
        Source of randomness.
    calendar
        The local days.
    traits
        How the place differs from the maps.
    """
    climatology = map_turbidity(site, year, days=calendar.days)
    factor = np.exp(traits.turbidity_spread * rng.standard_normal())
    weather = np.exp(0.12 * autoregressive(rng, calendar.days, correlation=0.8))
    season = np.exp(-traits.winter_turbidity * calendar.summer)
    return np.asarray(np.clip(climatology * factor * weather * season, 1.3, 9.0))


def draw_smog(rng: np.random.Generator, calendar: SolarCalendar, *, smog: float) -> Array:
    """Return the share of light that smog leaves on each local day.

    It is thickest in the depth of winter, gone in summer, and comes and goes over some days.

    Parameters
    ----------
    rng
        Source of randomness.
    calendar
        The local days.
    smog
        Share of the light that is taken in the depth of winter, in the mean.
    """
    thickness = -np.log1p(-smog) * np.maximum(-calendar.summer, 0.0)
    spells = np.exp(0.4 * autoregressive(rng, calendar.days, correlation=0.7))
    return np.asarray(np.exp(-thickness * spells))


def usual_air(
    site: Site, times: pd.DatetimeIndex, calendar: SolarCalendar, *, traits: SkyTraits
) -> Array:
    """Return the air temperature of a place without its weather [°C].

    Parameters
    ----------
    site
        Where.
    times
        The instants, in UTC.
    calendar
        Their local days.
    traits
        Whether the climate is the place's own, and how its seasons differ from that.
    """
    swing = (traits.swing * calendar.summer)[calendar.index]
    if traits.own_climate:
        return np.asarray(swing + climate_temperature(site, times))
    latitude = abs(site.latitude)
    mean = 33.0 - 0.45 * latitude - 0.005 * site.height
    season = ((4.0 + 0.15 * latitude) * calendar.summer)[calendar.index]
    by_hour = 5.0 * np.cos(2.0 * np.pi * (calendar.hour - 15.0) / 24.0)
    return np.asarray(mean + season + swing + by_hour)
