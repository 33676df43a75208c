"""Embedded temperature normals by month."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pandas as pd

from sunveil.site import LAPSE, Array, Site

DATA = "normals.npz"
SPACING = 2.5  # degrees between the normals, from the south pole and from 177.5° west
STEP = 0.1  # K to a unit of the file
WARMEST_HOUR = 14.0  # solar time; of the swing, which is highest before the warmest minute
YEAR_DAYS = 365.25

# Short winter days swing less than long summer days, by this share of their mean, where the year
# itself swings by this much or more. [K]
HOUR_SEASON, SEASONAL = 0.3, 5.0


class Climate(NamedTuple):
    """The air's temperature over the year and the day at a site."""

    mean: float  # [°C] its mean
    season: float  # [K] amplitude over the year
    half_year: float  # [K] amplitude of the half-yearly swing
    hour: float  # [K] amplitude over the day
    hour_season: float  # by how much the daily swing is larger in summer, as a fraction
    warmest_day: float  # [days] from the start of the year
    warmest_half_year: float  # [days] first maximum of the half-yearly swing


def climate_temperature(site: Site, times: pd.DatetimeIndex) -> Array:
    """Return the air temperature that is usual at a site [°C]."""
    climate = climate_of(site)
    stamps = times.tz_convert("UTC").tz_localize(None).to_numpy().astype("datetime64[s]")
    days = (stamps - stamps.astype("datetime64[Y]")).astype(np.float64) / 86400.0
    hours = days * 24.0 + site.longitude / 15.0
    turn = 2.0 * np.pi / YEAR_DAYS
    summer = np.cos(turn * (days - climate.warmest_day))
    by_hour = climate.hour * np.cos(2.0 * np.pi * (hours - WARMEST_HOUR) / 24.0)
    temperature: Array = (
        climate.mean
        + climate.season * summer
        + climate.half_year * np.cos(2.0 * turn * (days - climate.warmest_half_year))
        + by_hour * (1.0 + climate.hour_season * summer)
    )
    return temperature


def climate_of(site: Site) -> Climate:
    """Return the mean and the swings that :func:`climate_temperature` adds up."""
    # Bilinear between the four normals around. They hold at the mean height of the land around
    # them, so the mean falls by `sunveil.site.LAPSE` on each kilometre that the site is above it.
    # The day's swing grows with height, a proxy for dry inland air, and with the season.
    mean, cosine, sine, cosine_2, sine_2, terrain = _between_normals(site.latitude, site.longitude)
    season = float(np.hypot(cosine, sine))
    inland = min(max(site.height / 1000.0, 0.0), 2.0)
    days = YEAR_DAYS / (2.0 * np.pi)
    return Climate(
        mean=float(mean - LAPSE * (site.height - terrain) / 1000.0),
        season=season,
        half_year=float(np.hypot(cosine_2, sine_2)),
        hour=4.5 + 2.0 * inland,
        hour_season=HOUR_SEASON * min(season / SEASONAL, 1.0),
        warmest_day=float(np.arctan2(sine, cosine) * days % YEAR_DAYS),
        warmest_half_year=float(np.arctan2(sine_2, cosine_2) * days / 2.0 % (YEAR_DAYS / 2.0)),
    )


def _between_normals(latitude: float, longitude: float) -> Array:
    """Return the normals' six numbers at a place, as :func:`_normals` has them."""
    normals = _normals()
    _, rows, columns = normals.shape
    row, column = (latitude + 90.0) / SPACING, (longitude + 180.0) / SPACING - 1.0
    south, west = min(int(row), rows - 2), int(np.floor(column))
    north_share, east_share = row - south, column - west
    pair = np.array([west, west + 1]) % columns
    southern, northern = normals[:, south, pair], normals[:, south + 1, pair]
    line = southern + north_share * (northern - southern)
    return np.asarray(line[:, 0] + east_share * (line[:, 1] - line[:, 0]))


@functools.lru_cache(maxsize=1)
def _normals() -> Array:
    """Return the normals by number, latitude and longitude."""
    # The numbers: the mean [°C], the cosine's and the sine's share of the year's swing and of the
    # half year's [K], and the height of the land around [m].
    with (files("sunveil.weather") / DATA).open("rb") as file, np.load(file) as data:
        air, terrain = data["air"], data["terrain"]
    return np.concatenate([air * STEP, terrain[None].astype(np.float64)])
