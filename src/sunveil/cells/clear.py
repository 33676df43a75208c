"""The cloudless sky of a cell as one compiled loop.

It does what :func:`sunveil.weather.clearsky.clear_light`, :func:`sunveil.sky.diffuse_shares` and
:func:`sunveil.cells.tables.make_rows` do one after the other, and is tested against them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import perez
from sunveil.timegrid import TimeGrid
from sunveil.cells.orbit import DAY
from sunveil.cells.series import airmass, arc, fading
from sunveil.cells.sun import Seen, instants, pressure_at
from sunveil.cells.tables import (
    BAND,
    BRIGHT,
    CLOUD,
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
    MASK,
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

Index = NDArray[np.int32]

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
def calendar_of(axis: TimeGrid) -> Calendar:
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


@functools.lru_cache(maxsize=256)
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


def clear_sheets(
    site: Site, axis: TimeGrid, *, seen: Seen, orders: Sequence[Index], year: int
) -> tuple[list[Sheet], NDArray[np.float32]]:
    """Return the cloudless sky at some lit intervals and others, and all global light. [W/m²]

    Parameters
    ----------
    site, axis
        Where and when.
    seen
        The sun over the site.
    orders
        Which of the lit intervals each sheet has, in which order.
    year
        The year whose middles of months turbidity is drawn through.
    """
    ghi = np.empty(sum(len(order) for order in orders), dtype=np.float32)
    by_day = turbidity_by_day(site, year), _beyond_by_day()
    calendar, air, done = calendar_of(axis), air_of(site), 0
    sheets = []
    for order in orders:
        sheet = np.empty((-(-len(order) // LANES), ROWS, LANES), dtype=np.float32)
        if len(order):
            _fill(calendar, air, by_day, order, seen, sheet, ghi[done : done + len(order)])
        sheets.append(sheet)
        done += len(order)
    return sheets, ghi


# Rows of what a block is worked in, beyond those of the shares: the sun's vector at one instant,
# turbidity and, by the day, light above the air; what half a unit of haze leaves of direct and of
# global light, both lights at the lowest level, and the sum of global light at both instants.
_EAST, _NORTH, _SINE, _CLOUDY, _ABOVE, _DNI_KEEPS, _GHI_KEEPS, _DNI_LEVEL, _GHI_LEVEL, _BOTH = (
    LANES * row for row in range(perez.USED, perez.USED + 10)
)
_ROOM = LANES * (perez.USED + 10)


@compiled
def _gather(calendar, by_day, order, seen, first, node, room):  # type: ignore[no-untyped-def]
    """Lay the sun and the calendar of a block into its room; lanes beyond the last repeat it."""
    turbidity, beyond = by_day
    for lane in range(LANES):
        i = order[min(first + lane, len(order) - 1)]
        place = seen.slot[i]
        day = calendar.day[node, place]
        room[_EAST + lane], room[_NORTH + lane] = seen.suns[node, 0, i], seen.suns[node, 1, i]
        room[_SINE + lane] = min(seen.suns[node, 2, i], 1.0)
        room[_CLOUDY + lane], room[_ABOVE + lane] = turbidity[day], beyond[day]
        room[perez.BEYOND + lane] = calendar.beyond[node, place]


@compiled
def _fill_light(air, room):  # type: ignore[no-untyped-def]
    """Fill a block's light by Ineichen and Perez, and what haze makes of it, into its room."""
    lowest = airmass(LOWEST_SUN, arc(LOWEST_SUN))
    last, step = 0.1 + 0.882 / air.fh1, HAZE_STEP * air.haze_thickness
    for k in range(LANES):
        sine, cloudy, above = room[_SINE + k], room[_CLOUDY + k] - 1.0, room[_ABOVE + k]
        up = max(sine, 0.0)
        zenith = arc(up)
        mass = airmass(up, zenith)
        thick = mass * air.thickness
        whole = air.cg1 * above * fading(-air.cg2 * thick * (air.fh1 + air.fh2 * cloudy))
        dni = above * air.beam * fading(-0.09 * thick * cloudy)
        # their correction, without which low suns are too bright
        dni = min(dni, whole * (1.0 - (0.1 - 0.2 * fading(-1.0 - cloudy)) / last))
        dni = dni if sine > 0.0 else 0.0
        whole *= up
        haze = step * (mass if sine > LOWEST_SUN else lowest)
        direct, both = fading(-0.09 * haze), fading(-air.cg2 * air.fh2 * haze)
        room[perez.ZENITH + k], room[perez.AIRMASS + k] = zenith, mass
        room[perez.DIRECT + k], room[perez.DIFFUSE + k] = dni, whole - dni * up
        room[_DNI_KEEPS + k], room[_DNI_LEVEL + k] = direct, dni / direct**_BELOW
        room[_GHI_KEEPS + k], room[_GHI_LEVEL + k] = both, whole / both**_BELOW
        room[_BOTH + k] += whole


@compiled
def _fill_dome(node, room, out):  # type: ignore[no-untyped-def]
    """Fill a block's sun and diffuse light from its room."""
    to = (node * LANES) & MASK
    for k in range(LANES):
        sine, dhi = room[_SINE + k], room[perez.DIFFUSE + k]
        told = (room[perez.ZENITH + k] < _LAST_ZENITH) & (dhi > _DIMMEST)
        around = room[perez.AROUND + k] if told else 0.0
        horizon = room[perez.HORIZON + k] if told else 0.0
        out[to + EAST * LANES + k], out[to + NORTH * LANES + k] = room[_EAST + k], room[_NORTH + k]
        out[to + UP * LANES + k] = max(sine, LOWEST_SUN)
        out[to + BRIGHT * LANES + k] = around / max(sine, LOWEST_FOR_DIFFUSE)
        out[to + DOME * LANES + k], out[to + BAND * LANES + k] = 1.0 - around, horizon
        out[to + LEAST * LANES + k] = LEAST_DIFFUSE * dhi


@compiled
def _fill_levels(node, room, out):  # type: ignore[no-untyped-def]
    """Fill a block's light at every level of haze, from the lowest on."""
    to = (node * LANES) & MASK
    for k in range(LANES):
        dni, ghi = room[_DNI_LEVEL + k], room[_GHI_LEVEL + k]
        for place in range(LEVELS):
            out[to + (DNI + 2 * place) * LANES + k] = dni
            out[to + (GHI + 2 * place) * LANES + k] = ghi
            dni *= room[_DNI_KEEPS + k]
            ghi *= room[_GHI_KEEPS + k]


@compiled
def _fill_warmth(calendar, air, order, seen, first, out):  # type: ignore[no-untyped-def]
    """Fill what a block's modules are warmed by."""
    season, hour = calendar.season, calendar.hour
    for k in range(LANES):
        place = seen.slot[order[min(first + k, len(order) - 1)]]
        warmth = air.mean + air.season[0] * season[0, place] + air.season[1] * season[1, place]
        warmth += air.hour[0] * hour[0, place] + air.hour[1] * hour[1, place]
        out[WARMTH * LANES + k] = warmth
        out[COOLING * LANES + k], out[CLOUD * LANES + k] = _COOLING, 0.0


@compiled
def _fill(calendar, air, by_day, order, seen, sheet, ghi):  # type: ignore[no-untyped-def]
    """Fill a sheet, and the global light, at each interval."""
    room = np.empty(_ROOM)
    for block in range(sheet.shape[0]):
        first, out = block * LANES, sheet[block].ravel()
        count = min(LANES, len(order) - first)
        room[_BOTH:] = 0.0
        for node in range(2):
            _gather(calendar, by_day, order, seen, first, node, room)
            _fill_light(air, room)
            perez.fill_shares(room)
            _fill_dome(node, room, out)
            _fill_levels(node, room, out)
        _fill_warmth(calendar, air, order, seen, first, out)
        for k in range(count):
            ghi[first + k] = 0.5 * room[_BOTH + k]
        if count < LANES:
            sheet[block, :, count:] = 0.0
