"""The sky of a cell over an axis of time: what one computation gives to all systems of the cell."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sunveil.cells.axis import Axis
from sunveil.cells.place import Cell
from sunveil.cells.sun import sun_of
from sunveil.cells.tables import Sheet, in_blocks, make_rows
from sunveil.site import Array, Site, SkyModel
from sunveil.sky import Sky, covered, diffuse_shares, extra_radiation, sky_at
from sunveil.weather import Weather, WeatherCache, clearsky, get_weather
from sunveil.weather.base import utc_index
from sunveil.weather.clearsky import WIND_SPEED, clear_light, climate_temperature

Index = NDArray[np.int32]

# Below this elevation light is modelled for the ends of the day only. [sine]
LOWEST = float(np.sin(np.radians(3.0)))
# So many intervals of daylight are enough to find the neighbourhood of a plane in ...
ENOUGH = 500
# ... and so many of a year to fit it: the others tell little that these do not.
MOST = 2500
DAY = 86400
# Where the two instants of an interval stand for all of it.
_NODES = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))
_MARGIN = np.timedelta64(2, "D")


@dataclass(frozen=True, slots=True, eq=False)
class CellSky:
    """The sky of a cell at every lit interval of an axis: public.

    Parameters
    ----------
    cell, site, axis
        Where, the cell's centre, and when; ``axis`` is the one that readings come on.
    clear
        Whether it is a cloudless sky rather than measured weather.
    source
        Who made the weather.
    slot
        Place on ``axis.long`` of each lit interval: those with the sun well up first, in the
        order of time, then those with the sun low.
    usable
        How many have the sun well up.
    sheet
        The sky at the usable intervals; see :mod:`sunveil.cells.tables`.
    low
        The sky at the others.
    some, few
        The sky at some of the usable intervals, evenly spread, to fit planes by, and at fewer, for
        coarse searches.
    each, every
        Of the usable intervals, ``some`` has every ``each``, ``few`` every ``every``.
    ghi
        Global light of each lit interval. [W/m²]
    sun
        The sun's vector at the middle of each usable interval, shape (usable, 3).
    again
        Makes the sky of the same cell and weather on another axis.
    """

    cell: Cell
    site: Site
    axis: Axis
    clear: bool
    source: str
    slot: Index
    usable: int
    sheet: Sheet
    low: Sheet
    some: Sheet
    few: Sheet
    each: int
    every: int
    ghi: NDArray[np.float32]
    sun: Array
    again: Callable[..., CellSky]

    @property
    def turn(self) -> int:
        """What turns UTC into days from solar midnight to solar midnight, whole steps. [s]"""
        step = self.axis.long.step
        return round(self.site.longitude * 240.0 / step) * step

    @property
    def day(self) -> Index:
        """Number of the solar day of each lit interval since 1970."""
        return ((self.axis.long.starts[self.slot] + self.turn) // DAY).astype(np.int32)


def make_cell_sky(
    cell: Cell,
    axis: Axis,
    *,
    weather: str = "clearsky",
    cache: WeatherCache | None = None,
    only: Literal["few", "some"] | None = None,
    **server: Any,
) -> CellSky:
    """Return the sky of a cell at every lit interval of an axis.

    Parameters
    ----------
    cell, axis
        Where and when.
    weather
        ``"clearsky"``, ``"nsrdb"``, ``"pvgis"``, or a file's path.
    cache
        Where weather is kept; the user's cache folder when left out.
    only
        Make the sky at the intervals of ``few`` or ``some`` alone, which takes less time; these
        are then all there are.
    **server
        What a server of weather must be told, as for :func:`~sunveil.weather.get_weather`.
    """
    long = axis.long
    site = cell.site
    suns = [_sun(site, long, fraction) for fraction in _NODES]
    lit = np.flatnonzero(np.maximum(suns[0][2], suns[1][2]) > 0.0)
    middle = (suns[0] + suns[1])[:, lit]
    middle /= np.sqrt((middle * middle).sum(axis=0))
    starts = long.starts[lit]
    clear = weather == "clearsky"
    if clear:
        make = functools.partial(_clear, site)
        source, known = "clearsky", np.ones(len(lit), dtype=bool)
    else:
        found, cloudless = _measured(site, long, weather, cache, **server)
        make = functools.partial(_laid, found, cloudless)
        middles = (starts + long.step // 2).view("M8[s]")
        source, known = found.source, covered(found, middles)
    high = (middle[2] > LOWEST) & known
    order = np.concatenate([np.flatnonzero(high), np.flatnonzero(~high & known)])
    usable = int(np.count_nonzero(high))
    years = max(1.0, long.count * long.step / (365.0 * DAY))
    each, every = max(1, math.ceil(usable / (MOST * years))), max(1, usable // ENOUGH)
    if only is not None:
        stride = every if only == "few" else each
        order, each, every = order[:usable:stride], 1, max(1, every // stride)
        usable = len(order)
    lit, starts = lit[order], starts[order]
    early, late = (
        make(starts + round(fraction * long.step), sun[:, lit].T)
        for fraction, sun in zip(_NODES, suns, strict=True)
    )
    rows = make_rows((early, late))
    return CellSky(
        cell=cell,
        site=site,
        axis=axis,
        clear=clear,
        source=source,
        slot=lit.astype(np.int32),
        usable=usable,
        sheet=in_blocks(rows[:, :usable]),
        low=in_blocks(rows[:, usable:]),
        some=in_blocks(rows[:, :usable:each]),
        few=in_blocks(rows[:, :usable:every]),
        each=each,
        every=every,
        ghi=(0.5 * (early.ghi + late.ghi)).astype(np.float32),
        sun=middle[:, order[:usable]].T,
        again=functools.partial(make_cell_sky, cell, weather=weather, cache=cache, **server),
    )


def _sun(site: Site, axis: Axis, fraction: float) -> Array:
    first = axis.first + round(fraction * axis.step)
    return sun_of(site, first, step=axis.step, count=axis.count)


def _clear(site: Site, seconds: NDArray[np.int64], sun: Array) -> Sky:
    """Return a cloudless sky at instants whose sun is known."""
    times = seconds.view("M8[s]")
    zenith = np.degrees(np.arccos(np.clip(sun[:, 2], -1.0, 1.0)))
    year = times.astype("M8[Y]")
    days = (times.astype("M8[D]") - year).astype(np.int64) + 1
    light = clear_light(site, zenith, days, year=int(year.min().astype(np.int64)) + 1970)
    beyond = extra_radiation(times)
    circumsolar, horizon = diffuse_shares(
        SkyModel.PEREZ, sun=sun, dni=light["dni"], dhi=light["dhi"], dni_extra=beyond
    )
    return Sky(
        site=site,
        sun=sun,
        dni_extra=beyond,
        circumsolar=circumsolar,
        horizon=horizon,
        temp_air=climate_temperature(site, utc_index(times)),
        wind_speed=np.full(len(times), WIND_SPEED),
        clearness=np.ones(len(times)),
        **light,
    )


def _measured(
    site: Site, axis: Axis, weather: str, cache: WeatherCache | None, **server: Any
) -> tuple[Weather, Weather]:
    first, last = (np.datetime64(int(axis.first + axis.step * k), "s") for k in (0, axis.count))
    span = utc_index(np.array([first - _MARGIN, last + _MARGIN]))
    found = get_weather(weather, site, span[0], span[1], cache=cache, **server)
    return found, clearsky(site, span[0], span[1], cache=cache)


def _laid(weather: Weather, clear: Weather, seconds: NDArray[np.int64], sun: Array) -> Sky:
    """Return measured weather at instants; its own interpolation of the sun is as good."""
    return sky_at(weather, seconds.view("M8[s]"), clear)
