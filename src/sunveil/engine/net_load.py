"""Household load behind a net meter, by hour and season."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.first_and_last_light import saving_days, saving_rule
from sunveil.engine.shading import PreparedSky
from sunveil.estimates.planes_and_intervals import HOURS, SEASONS
from sunveil.site import DAY, Array

CELLS = HOURS * len(SEASONS)

# By how much the mean logarithm of the load differs between neighbouring hours, and between
# neighbouring seasons at the same hour.
BETWEEN_HOURS, BETWEEN_SEASONS = 0.4, 0.4

# What a load is before anything is read: this share of the record's highest powers, within a factor
# of e to the power of that.
USUAL_SHARE, USUAL_WIDTH = 0.15, 0.8

# The usual width of a load about its mean, and as how many readings that counts in a cell.
USUAL_SPREAD, SPREAD_READINGS = 0.5, 30.0

NARROWEST, WIDEST = 0.15, 1.5

# Loads below this share of the usual are hardly any: a meter's gap, or a house that is empty. By
# day such a load lies anywhere below this share of the record's highest powers.
IDLE_SHARE, IDLE_TOP = 0.1, 0.04

# How often that is before anything is read, and its weight in readings.
IDLE_USUAL, IDLE_READINGS = 0.02, 50.0

# Nights show how high the load was within LEVEL_DAYS, as a standard deviation; single nights no
# further than LEVEL_CLIP from the usual, and nothing counted as LEVEL_READINGS.
LEVEL_DAYS, LEVEL_CLIP, LEVEL_READINGS = 5, 2.0, 20.0

# How much of that level days share before anything is read, and how sure that is.
LEVEL_SHARED, LEVEL_WIDTH = 0.5, 0.3

# How many readings of a load err alike: what happens in a house lasts for hours, or for days.
LOADS_ALIKE = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class LoadCells:
    """In which hour and season each interval of a long grid lies, on the clock people live by."""

    usable: NDArray[np.int64]  # the cell of each usable interval
    night: NDArray[np.intp]  # places on the long grid of intervals without light
    dark: NDArray[np.int64]  # the cell of each of these
    day: NDArray[np.int64]
    dark_day: NDArray[np.int64]
    every: NDArray[np.int64]  # cell and day of every interval
    every_day: NDArray[np.int64]  # cell and day of every interval


@functools.lru_cache(maxsize=8)
def load_cells(prepared: PreparedSky, timezone: str) -> LoadCells:
    """Return the cells of a sky's intervals, made once for all systems of a block."""
    long, site = prepared.sky.grid.long, prepared.sky.site
    middles = long.starts + long.step // 2
    local = middles + _ahead(middles, site.longitude, timezone)
    if _plain_utc(timezone):
        local += 3600 * saving_days(middles // DAY, saving_rule(site, timezone))
    hour = local % DAY // 3600
    month = local.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12
    cell = (month + 1) % 12 // 3 * HOURS + hour
    dark = np.ones(long.count, dtype=bool)
    dark[prepared.sky.slot] = False
    night = np.flatnonzero(dark)
    day = local // DAY
    day -= day[0]
    slot = prepared.slot
    return LoadCells(cell[slot], night, cell[night], day[slot], day[night], cell, day)


def _plain_utc(timezone: str) -> bool:
    return timezone.upper() in {"UTC", "ETC/UTC", "GMT", "Z", "+00:00"}


def _ahead(seconds: NDArray[np.int64], longitude: float, timezone: str) -> NDArray[np.int64]:
    """Return how far the clock that people live by is ahead of UTC; by the sun if UTC. [s]"""
    if not _plain_utc(timezone):
        try:
            zone = ZoneInfo(timezone)
        except (ZoneInfoNotFoundError, ValueError, IsADirectoryError):
            zone = None
        if zone is not None:
            days, place = np.unique(seconds // DAY, return_inverse=True)
            noons = (days * DAY + DAY // 2).astype("datetime64[s]").astype(object)
            ahead = [zone.utcoffset(noon) for noon in noons]
            each = np.array([0 if one is None else one.total_seconds() for one in ahead])
            return np.asarray(each[place], dtype=np.int64)
    return np.full(len(seconds), round(longitude / 15.0) * 3600, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A household's load in each cell: private."""

    centre: Array  # [ln kW] mean and standard deviation of its logarithm, shape (CELLS,)
    width: Array  # [ln kW] mean and standard deviation of its logarithm, shape (CELLS,)
    idle: float  # how likely it is that there is hardly any
    shared: float  # how much of the level that nights show days share

    def __repr__(self) -> str:
        return "Load(private)"

    @property
    def mean(self) -> Array:
        """Mean load in each cell. [kW]"""
        return np.asarray((1.0 - self.idle) * np.exp(self.centre + 0.5 * self.width**2))


@dataclass(frozen=True, slots=True, eq=False)
class NightLoads:
    """What nights show of a load: private."""

    sums: Array
    level: Array
    dark_level: Array

    def __repr__(self) -> str:
        return "NightLoads(private)"


def night_loads(row: NDArray[np.float32], cells: LoadCells) -> NightLoads:
    """Return what nights show of a load."""
    load = -row[cells.night].astype(np.float64)
    seen = load > 0.0
    if seen.any():
        seen &= load > IDLE_SHARE * np.median(load[seen])
    cell, day = cells.dark[seen], cells.dark_day[seen]
    log = np.log(load[seen])
    days = int(max(cells.day.max(initial=0), cells.dark_day.max(initial=0))) + 1
    level = _levels(log, cell % HOURS, day, days)
    log = log - level[day]
    sums = [np.bincount(cell, weights, minlength=CELLS) for weights in (None, log, log * log)]
    return NightLoads(np.stack(sums), level[cells.day], level[cells.dark_day])


def _levels(log: Array, hour: NDArray[np.int64], day: NDArray[np.int64], days: int) -> Array:
    """Return how much higher loads were about each day than others at the same hours of night."""
    count = np.bincount(hour, minlength=HOURS)
    usual = np.bincount(hour, log, minlength=HOURS) / np.maximum(count, 1)
    off = np.clip(log - usual[hour], -LEVEL_CLIP, LEVEL_CLIP)
    reach = np.arange(-3 * LEVEL_DAYS, 3 * LEVEL_DAYS + 1)
    kernel = np.exp(-0.5 * (reach / LEVEL_DAYS) ** 2)
    total = np.convolve(np.bincount(day, off, minlength=days), kernel)
    weight = np.convolve(np.bincount(day, minlength=days), kernel)
    inner = slice(3 * LEVEL_DAYS, 3 * LEVEL_DAYS + days)
    return np.asarray(total[inner] / (weight[inner] + LEVEL_READINGS))


@functools.lru_cache(maxsize=1)
def _neighbours() -> Array:
    """Return the precision that neighbouring hours and seasons hold each other with."""
    hours = HOURS
    out = np.zeros((CELLS, CELLS))
    for cell in range(CELLS):
        season, hour = divmod(cell, hours)
        pairs = (
            (season * hours + (hour + 1) % hours, BETWEEN_HOURS),
            ((season + 1) % len(SEASONS) * hours + hour, BETWEEN_SEASONS),
        )
        for other, apart in pairs:
            strength = apart**-2
            out[cell, cell] += strength
            out[other, other] += strength
            out[cell, other] -= strength
            out[other, cell] -= strength
    return out


def load_precision() -> Array:
    """Return the precision of the prior over all cells' mean logarithms, shape (CELLS, CELLS)."""
    return np.asarray(_neighbours() + np.full((CELLS, CELLS), (USUAL_WIDTH * CELLS) ** -2.0))


def load_from(sums: Array, usual: float) -> Load:
    """Return the load that sums over readings tell, where there are none by its neighbours."""
    count, first, _ = sums
    spread = USUAL_SPREAD**2 * LOADS_ALIKE
    precision = load_precision() + np.diag(count / spread)
    pull = first / spread + usual * CELLS * (USUAL_WIDTH * CELLS) ** -2.0
    centre = np.linalg.solve(precision, pull)
    return Load(centre, widths_from(sums, centre), IDLE_USUAL, LEVEL_SHARED)


def widths_from(sums: Array, centre: Array) -> Array:
    """Return the standard deviation in each cell about given means, held to the usual."""
    count, first, second = sums
    about = np.maximum(second - 2.0 * centre * first + count * centre**2, 0.0)
    overall = (about.sum() + 100.0 * USUAL_SPREAD**2) / (count.sum() + 100.0)
    square = (about + SPREAD_READINGS * overall) / (count + SPREAD_READINGS)
    return np.asarray(np.clip(np.sqrt(square), NARROWEST, WIDEST))
