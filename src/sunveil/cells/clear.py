"""The cloudless sky of a cell as one compiled loop.

It does what :func:`sunveil.weather.clearsky.clear_light`, :func:`sunveil.sky.diffuse_shares` and
:func:`sunveil.cells.tables.make_rows` do one after the other, and is tested against them.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cells.axis import Axis
from sunveil.cells.orbit import DAY
from sunveil.cells.perez import shares
from sunveil.cells.sun import instants, pressure_at
from sunveil.cells.tables import (
    BAND,
    BRIGHT,
    COOLING,
    DNI,
    DOME,
    EAST,
    GHI,
    HAZE_LOW,
    HAZE_STEP,
    LANES,
    LEAST,
    LEAST_DIFFUSE,
    LEVELS,
    NORTH,
    ROWS,
    UP,
    WARMTH,
    Sheet,
)
from sunveil.jit import compiled
from sunveil.site import SHELTER, Array, Site
from sunveil.sky import LOWEST_FOR_DIFFUSE, LOWEST_SUN, extra_radiation
from sunveil.weather.clearsky import (
    WARMEST_HOUR,
    WIND_SPEED,
    YEAR_DAYS,
    climate_of,
    turbidity_by_day,
)

# The zenith beyond which diffuse light has no shares, and the least light that has. [rad, W/m²]
_LAST_ZENITH, _DIMMEST = math.radians(89.0), 1.0
# How many levels of haze stand below none.
_BELOW = round(-HAZE_LOW / HAZE_STEP)
_COOLING = 1.0 / (25.0 + 6.84 * SHELTER * WIND_SPEED)


class Calendar(NamedTuple):
    """What light and warmth depend on besides the sun's height, the same for all cells.

    Parameters
    ----------
    day
        Day of the year, from 1, at both instants of each interval, shape (2, n).
    beyond
        Direct light above the air at both. [W/m²]
    season, hour
        Cosine and sine of how far the year and the UTC day have come, the means of both instants,
        shape (2, n).
    """

    day: NDArray[np.int16]
    beyond: Array
    season: Array
    hour: Array


class Air(NamedTuple):
    """What a cell's air does to light and warmth.

    Parameters
    ----------
    thickness
        Absolute airmass over the relative one.
    haze_thickness
        The same, as the levels of haze have it.
    fh1, fh2, cg1, cg2, beam
        Ineichen's functions of altitude.
    mean, season, hour
        Mean air temperature less 25 °C [K], and what to multiply a calendar's columns by. [K]
    """

    thickness: float
    haze_thickness: float
    fh1: float
    fh2: float
    cg1: float
    cg2: float
    beam: float
    mean: float
    season: tuple[float, float]
    hour: tuple[float, float]


@functools.lru_cache(maxsize=8)
def calendar_of(axis: Axis) -> Calendar:
    """Return the calendar of an axis."""
    both = np.stack([instants(axis, node) for node in range(2)]).view("M8[s]")
    years = both.astype("M8[Y]")
    day = (both.astype("M8[D]") - years).astype(np.int16) + np.int16(1)
    days = (both - years).astype(np.int64) / DAY
    season, hour = 2.0 * np.pi * days / YEAR_DAYS, 2.0 * np.pi * (days % 1.0)
    return Calendar(day, extra_radiation(both), _turns(season), _turns(hour))


def _turns(angle: Array) -> Array:
    return np.stack([np.cos(angle).mean(axis=0), np.sin(angle).mean(axis=0)])


@functools.lru_cache(maxsize=1)
def _beyond_by_day() -> Array:
    """Return direct light above the air at the start of each day of a year, from 1. [W/m²]"""
    return extra_radiation(np.datetime64("2020-01-01", "s") + DAY * (np.arange(367) - 1))


def air_of(site: Site) -> Air:
    """Return what a site's air does to light and warmth."""
    height = site.height
    climate = climate_of(site)
    late = 2.0 * math.pi * climate.warmest_day / YEAR_DAYS
    ahead = math.radians(site.longitude - 15.0 * WARMEST_HOUR)
    fh1 = math.exp(-height / 8000.0)
    return Air(
        thickness=pressure_at(height) / 101325.0,
        haze_thickness=math.exp(-height / 8434.5),
        fh1=fh1,
        fh2=math.exp(-height / 1250.0),
        cg1=5.09e-5 * height + 0.868,
        cg2=3.92e-5 * height + 0.0387,
        beam=0.664 + 0.163 / fh1,
        mean=climate.mean - 25.0,
        season=(climate.season * math.cos(late), climate.season * math.sin(late)),
        hour=(climate.hour * math.cos(ahead), -climate.hour * math.sin(ahead)),
    )


def clear_sheet(
    site: Site, axis: Axis, *, slot: NDArray[np.int32], suns: Array, year: int
) -> tuple[Sheet, NDArray[np.float32]]:
    """Return the cloudless sky at some intervals of an axis, and its global light. [W/m²]

    Parameters
    ----------
    site, axis
        Where and when.
    slot
        Places of the intervals on the axis.
    suns
        The sun at both instants of each, as :class:`~sunveil.cells.sun.Seen` has it.
    year
        The year whose middles of months turbidity is drawn through.
    """
    sheet = np.zeros((-(-len(slot) // LANES), ROWS, LANES), dtype=np.float32)
    ghi = np.empty(len(slot), dtype=np.float32)
    turbidity = turbidity_by_day(site, year)
    _fill(calendar_of(axis), air_of(site), turbidity, _beyond_by_day(), slot, suns, sheet, ghi)
    return sheet, ghi


@compiled
def _airmass(sine, zenith):  # type: ignore[no-untyped-def]
    """Return Kasten and Young's relative airmass."""
    return 1.0 / (sine + 0.50572 * math.exp(-1.6364 * math.log(96.07995 - math.degrees(zenith))))


@compiled
def _light(air, sine, airmass, turbidity, beyond):  # type: ignore[no-untyped-def]
    """Return direct and global light by Ineichen and Perez. [W/m²]"""
    thick = airmass * air.thickness
    ghi = air.cg1 * beyond * sine
    ghi *= math.exp(-air.cg2 * thick * (air.fh1 + air.fh2 * (turbidity - 1.0)))
    dni = beyond * air.beam * math.exp(-0.09 * thick * (turbidity - 1.0))
    # their correction, without which low suns are too bright
    most = (1.0 - (0.1 - 0.2 * math.exp(-turbidity)) / (0.1 + 0.882 / air.fh1)) / sine
    return min(dni, ghi * most), ghi


@compiled
def _fill_levels(light, share, out, row, lane):  # type: ignore[no-untyped-def]
    """Fill light at every level of haze, from the light at none and what half a unit keeps."""
    level = light / share**_BELOW
    for place in range(LEVELS):
        out[row + 2 * place, lane] = level
        level *= share


@compiled
def _fill(calendar, air, turbidity, beyond, slot, suns, sheet, ghi):  # type: ignore[no-untyped-def]
    """Fill a sheet that is zero, and the global light, at each interval."""
    lowest = _airmass(LOWEST_SUN, math.acos(LOWEST_SUN))
    for i in range(len(slot)):
        place, out, lane = slot[i], sheet[i // LANES], i % LANES
        both = 0.0
        for node in range(2):
            sine = min(suns[node, 2, i], 1.0)
            around, horizon = 0.0, 0.0
            if sine > 0.0:
                day, zenith = calendar.day[node, place], math.acos(sine)
                airmass = _airmass(sine, zenith)
                dni, whole = _light(air, sine, airmass, turbidity[day], beyond[day])
                dhi = whole - dni * sine
                if zenith < _LAST_ZENITH and dhi > _DIMMEST:
                    outside = calendar.beyond[node, place]
                    around, horizon = shares(zenith, airmass, dni, dhi, outside)
                haze = HAZE_STEP * air.haze_thickness * (airmass if sine > LOWEST_SUN else lowest)
                _fill_levels(dni, math.exp(-0.09 * haze), out, DNI + node, lane)
                fade = math.exp(-air.cg2 * air.fh2 * haze)
                _fill_levels(whole, fade, out, GHI + node, lane)
                out[LEAST + node, lane] = LEAST_DIFFUSE * dhi
                both += whole
            out[EAST + node, lane], out[NORTH + node, lane] = suns[node, 0, i], suns[node, 1, i]
            out[UP + node, lane] = max(sine, LOWEST_SUN)
            out[BRIGHT + node, lane] = around / max(sine, LOWEST_FOR_DIFFUSE)
            out[DOME + node, lane], out[BAND + node, lane] = 1.0 - around, horizon
        season, hour = calendar.season, calendar.hour
        warmth = air.mean + air.season[0] * season[0, place] + air.season[1] * season[1, place]
        warmth += air.hour[0] * hour[0, place] + air.hour[1] * hour[1, place]
        out[WARMTH, lane], out[COOLING, lane] = warmth, _COOLING
        ghi[i] = 0.5 * both
