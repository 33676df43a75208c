"""The sky of a cell over an axis of time: what one computation gives to all systems of the cell."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sunveil.timegrid import TimeGrid
from sunveil.cells.clear import clear_sheets
from sunveil.cells.orbit import DAY as DAY
from sunveil.cells.place import Cell
from sunveil.cells.sun import NODES, Seen, instants, seen_from
from sunveil.cells.tables import Sheet, in_blocks, make_rows, spread_out, take
from sunveil.jit import compiled
from sunveil.site import Array, Site
from sunveil.sky import covered, sky_at
from sunveil.weather.base import utc_index

if TYPE_CHECKING:
    from sunveil.weather import Weather, WeatherCache

Index = NDArray[np.int32]
Light = NDArray[np.float32]

# Below this elevation light is modelled for the ends of the day only. [sine]
LOWEST = float(np.sin(np.radians(3.0)))
# So many intervals of daylight are enough to find the neighbourhood of a plane in ...
ENOUGH = 500
# ... and so many of a year to fit it: the others tell little that these do not.
MOST = 1500
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
        The sky at some of the usable intervals, to fit planes by, and at fewer, to search by.
    some_at, few_at
        Which of the usable intervals these are.
    ghi
        Global light of each lit interval. [W/m²]
    sun
        The sun's vector at the middle of each usable interval, shape (usable, 3).
    again
        Makes the sky of the same cell and weather on another axis.
    """

    cell: Cell
    site: Site
    axis: TimeGrid
    clear: bool
    source: str
    slot: Index
    usable: int
    sheet: Sheet
    low: Sheet
    some: Sheet
    few: Sheet
    some_at: Index
    few_at: Index
    ghi: Light
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
    axis: TimeGrid,
    *,
    weather: str = "clearsky",
    cache: WeatherCache | None = None,
    only_some: bool = False,
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
    only_some
        Make the sky at the intervals of ``some`` alone, which takes less time; these are then all
        there are.
    **server
        What a server of weather must be told, as for :func:`~sunveil.weather.get_weather`.
    """
    long = axis.long
    site = cell.site
    seen = seen_from(site, long)
    lit = seen.slot
    clear = weather == "clearsky"
    source, known = "clearsky", np.ones(len(lit), dtype=bool)
    if not clear:
        found, cloudless = _measured(site, long, weather, cache, **server)
        middles = (long.starts[lit] + long.step // 2).view("M8[s]")
        source, known = found.source, covered(found, middles)
    order, usable = _by_height(seen, known)
    years = max(1.0, long.count * long.step / (365.0 * DAY))
    share, least = MOST * years / max(usable, 1), ENOUGH / max(usable, 1)
    number = long.first // long.step
    some_at = spread_out(lit[order[:usable]], number, share)
    if only_some:
        order = order[some_at]
        usable = len(order)
        some_at = np.arange(usable, dtype=np.int32)
    few_at = spread_out(lit[order[:usable]], number, least)
    if clear:
        sheet, low, ghi = _clear(seen, order, usable, site=site, axis=long)
    else:
        sheet, low, ghi = _laid(found, cloudless, lit[order], usable, axis=long)
    return CellSky(
        cell=cell,
        site=site,
        axis=axis,
        clear=clear,
        source=source,
        slot=lit[order],
        usable=usable,
        sheet=sheet,
        low=low,
        some=sheet if len(some_at) == usable else take(sheet, some_at),
        few=sheet if len(few_at) == usable else take(sheet, few_at),
        some_at=some_at,
        few_at=few_at,
        ghi=ghi,
        sun=_rows_of(seen.middle, order[:usable]),
        again=functools.partial(make_cell_sky, cell, weather=weather, cache=cache, **server),
    )


def _by_height(seen: Seen, known: NDArray[np.bool_]) -> tuple[Index, int]:
    """Return the known lit intervals, those with the sun well up first, and how many these are."""
    order = np.empty(len(known), dtype=np.int32)
    usable = _fill_by_height(seen.middle, known, False, order)
    low = _fill_by_height(seen.middle, known, True, order[usable:])
    return order[: usable + low], usable


@compiled
def _fill_by_height(middle, known, low, order):  # type: ignore[no-untyped-def]
    """Fill which intervals are known and have a low sun, or a high one; return how many."""
    count = 0
    for i in range(len(known)):
        if known[i] and (middle[2, i] <= LOWEST) == low:
            order[count] = i
            count += 1
    return count


def _rows_of(middle: Array, order: Index) -> Array:
    out = np.empty((len(order), 3))
    _fill_rows(middle, order, out)
    return out


@compiled
def _fill_rows(middle, order, out):  # type: ignore[no-untyped-def]
    for i in range(len(order)):
        for j in range(3):
            out[i, j] = middle[j, order[i]]


def _clear(
    seen: Seen, order: Index, usable: int, *, site: Site, axis: TimeGrid
) -> tuple[Sheet, Sheet, Light]:
    """Return a cloudless sky at the usable and the other intervals, and all their global light."""
    earliest = seen.slot[order.min()] if len(order) else axis.count - 1
    first = axis.first + int(earliest) * axis.step + round(NODES[0] * axis.step)
    year = int(np.datetime64(first, "s").astype("M8[Y]").astype(np.int64)) + 1970
    orders = order[:usable], order[usable:]
    (sheet, low), ghi = clear_sheets(site, axis, seen=seen, orders=orders, year=year)
    return sheet, low, ghi


def _measured(
    site: Site, axis: TimeGrid, weather: str, cache: WeatherCache | None, **server: Any
) -> tuple[Weather, Weather]:
    from sunveil.weather import clearsky, get_weather

    first, last = (np.datetime64(int(axis.first + axis.step * k), "s") for k in (0, axis.count))
    span = utc_index(np.array([first - _MARGIN, last + _MARGIN]))
    found = get_weather(weather, site, span[0], span[1], cache=cache, **server)
    return found, clearsky(site, span[0], span[1], cache=cache)


def _laid(
    weather: Weather, clear: Weather, slot: NDArray[np.int32], usable: int, *, axis: TimeGrid
) -> tuple[Sheet, Sheet, Light]:
    """Return measured weather at the same; its own interpolation of the sun is as good."""
    early, late = (
        sky_at(weather, instants(axis, node)[slot].view("M8[s]"), clear) for node in range(2)
    )
    rows = make_rows((early, late))
    ghi = (0.5 * (early.ghi + late.ghi)).astype(np.float32)
    return in_blocks(rows[:, :usable]), in_blocks(rows[:, usable:]), ghi
