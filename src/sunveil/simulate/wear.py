"""What is left of DC power day by day: under snow, dirt and age, and with a string dead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import FaultRates
from sunveil.simulate.noise import SolarCalendar
from sunveil.simulate.sky import TrueSky, days_since, dull_days
from sunveil.simulate.spells import YEAR_DAYS, draw_spells
from sunveil.site import Array

if TYPE_CHECKING:
    from sunveil.simulate.roster import SimulatedRoster

# PVWatts' share of soiling in its losses, which nominal losses hold already.
NOMINAL_SOILING = 0.02
DIRTIEST = 0.3
DRY_SEASON_DAYS = (120.0, 180.0)
DEAD_STRING_DAYS = (60.0, 300.0)
# Not every dull day rains.
RAIN = 0.5
# Marion's: snow slides while the air is warmer than this part of the light allows [W/m²/K], and by
# so much of the slant height an hour, times the sine of the tilt.
SLIDING_LIGHT = 80.0
SLIDE_AN_HOUR = 0.197
FACING = 0.8
# Degree-days: of a cover of some centimetres this much melts in a day for each degree above zero.
MELT_A_DEGREE = 0.15
# Snow's albedo over that of the ground, 0.65 and 0.2 in pvlib's table.
WHITENESS = 3.25


@dataclass(frozen=True, slots=True, eq=False)
class CellDays:
    """What the days of a cell bring to all its systems, one value per local day.

    Parameters
    ----------
    since_rain
        Days since rain last washed the modules.
    snow
        Whether snow falls that covers them.
    slide
        How much of a vertical module's snow slides off, as a share of its height.
    melt
        How much of the snow melts.
    whiteness
        What the ground's albedo is multiplied by: more than 1 while snow lies.
    """

    since_rain: NDArray[np.int64]
    snow: NDArray[np.bool_]
    slide: Array
    melt: Array
    whiteness: Array


@dataclass(frozen=True, slots=True, eq=False)
class Wear:
    """What is left of the DC power of systems.

    Parameters
    ----------
    kept
        Share of DC power that is left, shape (systems, days).
    snow_days
        On how many days of the year snow took some of it.
    soiling_loss
        What dirt took, in the mean over the year.
    """

    kept: NDArray[np.float32]
    snow_days: NDArray[np.int64]
    soiling_loss: Array


def draw_cell_days(sky: TrueSky, rates: FaultRates, *, rng: np.random.Generator) -> CellDays:
    """Return when it rains and snows on a cell, and how snow leaves.

    Rain and snow fall on dull days, snow below freezing. Where there is a dry season, no rain falls
    in it.

    Parameters
    ----------
    sky
        The cell's sky.
    rates
        How often it snows on a dull day, and how many cells have a dry season.
    rng
        Source of randomness.
    """
    weather, day = sky.weather, sky.day
    dull = dull_days(day, sky.clear_index, weather.ghi)
    an_instant = SLIDE_AN_HOUR * weather.step_minutes / 60.0
    # what a plane has that about faces the sun
    light = FACING * weather.dni + weather.dhi
    slides = (weather.ghi > 0.0) & (weather.temp_air + light / SLIDING_LIGHT > 0.0)
    warmth = np.bincount(day, weather.temp_air) / np.bincount(day)
    dry = rng.random() < rates.dry_seasons
    length = rng.uniform(*DRY_SEASON_DAYS) / YEAR_DAYS
    draws = rng.random((2, len(dull)))
    calendar = SolarCalendar.of(
        weather.times, latitude=weather.site.latitude, longitude=weather.site.longitude
    )
    rains = ~(dry & (np.abs(calendar.season - 0.5) < length / 2.0))
    snow = dull & (warmth < 0.0) & (draws[1] < rates.snowfall)
    melt = MELT_A_DEGREE * np.maximum(warmth, 0.0)
    return CellDays(
        since_rain=days_since(dull & rains & (draws[0] < RAIN)),
        snow=snow,
        slide=np.asarray(an_instant * np.bincount(day[slides], minlength=len(dull)), float),
        melt=melt,
        whiteness=np.where(_lies(snow, melt), WHITENESS, 1.0),
    )


def _lies(snow: NDArray[np.bool_], melt: Array) -> NDArray[np.bool_]:
    """Return on which days snow lies on the ground: from a fall until all of it has melted."""
    out = np.zeros(len(snow), dtype=bool)
    depth = 0.0
    for day, (falls, melts) in enumerate(zip(snow, melt, strict=True)):
        depth = max(depth + float(falls) - float(melts), 0.0)
        out[day] = depth > 0.0
    return out


def draw_wear(rng: np.random.Generator, rates: FaultRates, n: int) -> dict[str, Any]:
    """Return what decides how systems wear, as fields of a roster.

    Parameters
    ----------
    rng
        Source of randomness.
    rates
        How fast they soil and age, and how many lose a string.
    n
        How many systems.
    """
    yearly = rates.degradation + rates.degradation_spread * rng.standard_normal(n)
    begin, end = draw_spells(rng, rates.dead_strings, n, days=DEAD_STRING_DAYS)
    strings = rng.integers(2, 9, n)
    return {
        "soiling": rates.soiling * np.exp(rates.soiling_spread * rng.standard_normal(n)),
        "degradation": np.clip(yearly, 0.0, 0.03),
        "age_years": rates.oldest_years * rng.random(n),
        "snow_strings": rng.integers(1, 4, n),
        "dead_share": np.where(np.isnan(begin), 0.0, 1.0 / strings),
        "dead_begin": begin,
        "dead_end": end,
    }


def mean_wear(rates: FaultRates) -> float:
    """Return what dirt and age take from a fleet in the mean.

    Nominal losses are those of running systems, dirty and not new; what is simulated of these is
    taken out of a system's other losses, so that fleets have the nominal ones in the mean.
    """
    soiling = NOMINAL_SOILING if rates.soiling > 0.0 else 0.0
    return soiling + rates.degradation * rates.oldest_years / 2.0


def wear_down(roster: SimulatedRoster, days: CellDays) -> Wear:
    """Return what is left of the DC power of systems on each day of the year.

    Parameters
    ----------
    roster
        The systems.
    days
        What the days of their cell bring.
    """
    number = np.arange(len(days.snow))
    years = roster.age_years[:, None] + number / YEAR_DAYS
    aged = 1.0 - np.minimum(roster.degradation[:, None] * years, 0.5)
    dirt = np.minimum(roster.soiling[:, None] * days.since_rain, DIRTIEST)
    snow = _snow_losses(roster, days)
    kept = aged * (1.0 - dirt) * (1.0 - snow)
    for row in np.flatnonzero(roster.dead_share > 0.0):
        start, stop = roster.dead_begin[row], roster.dead_end[row]
        dead = slice(round(start * YEAR_DAYS), round(stop * YEAR_DAYS))
        kept[row, dead] *= 1.0 - roster.dead_share[row]
    return Wear(
        kept.astype(np.float32),
        np.asarray(np.sum(snow > 0.0, axis=1), dtype=np.int64),
        np.asarray(np.mean(dirt, axis=1)),
    )


def _snow_losses(roster: SimulatedRoster, days: CellDays) -> Array:
    """Return the share of DC power that snow takes, shape (systems, days)."""
    out = np.zeros((len(roster), len(days.snow)))
    cover, steep = np.zeros(len(roster)), np.sin(np.radians(roster.surface_tilt))
    first = int(np.argmax(days.snow)) if days.snow.any() else len(days.snow)
    for day in range(first, len(days.snow)):
        cover -= steep * days.slide[day] + days.melt[day]
        cover = np.ones(len(roster)) if days.snow[day] else np.maximum(cover, 0.0)
        # a string that is covered in part gives nothing
        out[:, day] = np.ceil(cover * roster.snow_strings) / roster.snow_strings
    return out
