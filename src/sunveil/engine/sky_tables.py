"""Sky of a site over a TimeGrid, laid out for kernels."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pvlib
from numpy.typing import NDArray
from pvlib import spa

from sunveil._options import check_fields, checked
from sunveil.engine.power_model import (
    BLOCK,
    CIRCUMSOLAR,
    CLOUD,
    COOLING,
    DNI,
    DNI_FADE,
    DOME,
    GHI,
    GHI_FADE,
    HORIZON,
    LEAST_DIFFUSE,
    ROWS,
    SEASON,
    SUN_EAST,
    SUN_NORTH,
    SUN_UP,
    WARMTH,
    Sheet,
)
from sunveil.pv_model import (
    LOWEST_FOR_DIFFUSE,
    LOWEST_SUN,
    Sky,
    covered,
    diffuse_shares,
    extra_radiation,
    sky_at,
)
from sunveil.site import DAY, SHELTER, Array, Site, SkyModel, TimeGrid
from sunveil.weather.clear_sky import WIND_SPEED, clear_light, clearsky
from sunveil.weather.climate_normals import YEAR_DAYS, climate_temperature
from sunveil.weather.weather_data import Weather, utc_index

# The sun's declination bends by less than 1e-4° from a straight line in this time. [s]
KNOT = 6 * 3600

# What pvlib.solarposition.get_solarposition takes when nothing is said.
DELTA_T = 67.0

REFRACTION = 0.5667

TEMPERATURE = 12.0


@functools.lru_cache(maxsize=8)
def _above_globe(first: int, last: int) -> tuple[Array, Array, Array]:
    """Return knots of time [s], and the sun's hour angle at Greenwich and declination [rad]."""
    knots = np.arange(first, last + 1, dtype=np.float64) * KNOT
    sidereal, ascension, declination = spa.solar_position_numpy(
        knots, 0.0, 0.0, 0.0, 0.0, TEMPERATURE, DELTA_T, REFRACTION, 1, sst=True
    )
    # four knots a day lie a quarter of a turn apart, so that turns can be counted
    hour = np.unwrap(np.radians(sidereal - ascension))
    return knots, hour, np.radians(declination)


def sun_vectors_over(site: Site, seconds: NDArray[np.int64]) -> Array:
    """Return unit vectors (east, north, up) to the sun as it appears through the air."""
    first, last = int(seconds.min()) // KNOT, int(seconds.max()) // KNOT + 1
    knots, hours, declinations = _above_globe(first, last)
    hour = np.interp(seconds, knots, hours) + np.radians(site.longitude)
    declination = np.interp(seconds, knots, declinations)
    latitude = np.radians(site.latitude)
    out, along = np.cos(declination), np.sin(declination)
    toward = out * np.cos(hour)
    up = along * np.sin(latitude) + toward * np.cos(latitude)
    true = np.degrees(np.arcsin(np.clip(up, -1.0, 1.0)))
    pressure = pvlib.atmosphere.alt2pres(site.height) / 100.0
    lift = spa.atmospheric_refraction_correction(pressure, TEMPERATURE, true, REFRACTION)
    seen = np.radians(true + lift)
    # air lifts the sun and leaves its azimuth
    flat = np.cos(seen) / np.maximum(np.cos(np.radians(true)), 1e-9)
    east = -out * np.sin(hour)
    north = along * np.cos(latitude) - toward * np.sin(latitude)
    return np.stack([east * flat, north * flat, np.sin(seen)], axis=-1)


Index = NDArray[np.int32]

# Below this elevation light is modelled for the bounds of the day only. [sine]
LOWEST = float(np.sin(np.radians(3.0)))

# Where the two instants of an interval stand for all of it.
NODES = (0.5 - 0.5 / math.sqrt(3.0), 0.5 + 0.5 / math.sqrt(3.0))

# The middle of January, when the north is coldest and its winter smog thickest. [days of the year]
MIDWINTER = 15.0

# What diffuse light keeps in the clearest air.
KEPT_DIFFUSE = 0.3

# Shares of the intervals that a fit may look at; a smaller one is a part of each larger one.
SHARES = tuple(step * 0.5**k for k in range(8) for step in (1.0, 0.75))

# What its multiples have beyond whole numbers never repeats, and never crowds.
_GOLDEN = (5.0**0.5 - 1.0) / 2.0

_MARGIN = np.timedelta64(2, "D")


@dataclass(frozen=True, slots=True, eq=False)
class SkyTable:
    """The sky of a place at every daylight interval of a grid: public."""

    # where and when; ``grid`` is the one that readings come on, and intervals below are those of
    # ``grid.long``
    site: Site
    grid: TimeGrid
    clear: bool  # whether it is a cloudless sky rather than measured weather
    source: str  # who made the weather
    # place on ``grid.long`` of each daylight interval: those with the sun well up first, in the
    # order of time, then those with the sun low
    slot: Index
    usable: int  # how many have the sun well up
    rows: NDArray[np.float32]  # the sky at each daylight interval, shape (ROWS, daylight)
    sheet: Sheet  # the same in blocks, at the usable intervals and at the others
    low: Sheet
    ghi: NDArray[np.float32]  # global light of each daylight interval. [W/m²]
    sun: Array  # the sun's vector at the middle of each usable interval, shape (usable, 3)
    weather: Weather | None  # the measured weather that it was made of; None for the clear sky

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def turn(self) -> int:
        """What turns UTC into days from solar midnight to solar midnight, whole steps. [s]"""
        step = self.grid.long.step
        return round(self.site.longitude * 240.0 / step) * step

    def part(self, share: float) -> tuple[Index, Sheet]:
        """Return the places of a share of the usable intervals, evenly spread, and their sheet.

        Not every third one: of twelve hours these would be the same four on all days. Whether one
        is taken depends on its own time alone.
        """
        if share >= 1.0:
            return np.arange(self.usable, dtype=np.int32), self.sheet
        long = self.grid.long
        turns = (long.first // long.step + self.slot[: self.usable].astype(np.int64)) * _GOLDEN
        chosen = np.flatnonzero(turns % 1.0 < share).astype(np.int32)
        return chosen, in_blocks(self.rows[:, chosen])


@checked
def make_sky_table(site: Site, grid: TimeGrid, weather: Weather | None = None) -> SkyTable:
    """Return the sky of a place at every daylight interval of a grid."""
    if weather is not None and weather.clear:
        site, weather = weather.site, None
    long = grid.long
    middle = sun_vectors_over(site, long.starts + long.step // 2)
    # an interval may see light though the sun is just below the horizon at its middle
    daylight = np.flatnonzero(middle[:, 2] > -math.sin(math.radians(long.step / 480.0)))
    if weather is not None:
        middles = (long.starts[daylight] + long.step // 2).astype("datetime64[s]")
        daylight = daylight[covered(weather, middles)]
    high = middle[daylight, 2] > LOWEST
    slot = np.concatenate([daylight[high], daylight[~high]]).astype(np.int32)
    usable = int(np.count_nonzero(high))
    starts = long.starts[slot]
    if weather is None:
        nodes = _clear_nodes(site, starts, long.step)
    else:
        nodes = _measured_nodes(weather, starts, long.step)
    rows = make_rows(nodes, winter(site, starts))
    return SkyTable(
        site=site,
        grid=grid,
        clear=weather is None,
        source="clearsky" if weather is None else weather.source,
        slot=slot,
        usable=usable,
        rows=rows,
        sheet=in_blocks(rows[:, :usable]),
        low=in_blocks(rows[:, usable:]),
        ghi=(0.5 * (nodes[0].ghi + nodes[1].ghi)).astype(np.float32),
        sun=middle[slot[:usable]],
        weather=weather,
    )


def _instants(starts: NDArray[np.int64], step: int, node: int) -> NDArray[np.int64]:
    return starts + round(NODES[node] * step)


def _clear_nodes(site: Site, starts: NDArray[np.int64], step: int) -> tuple[Sky, Sky]:
    """Return the clear sky at the two instants that stand for each interval."""
    # How diffuse light is spread, and how warm it is, hardly changes between them: once for both.
    none = np.empty(0)
    if not len(starts):
        return (Sky(site, np.empty((0, 3)), *[none] * 9),) * 2
    suns = [sun_vectors_over(site, _instants(starts, step, node)) for node in range(2)]
    lights = [
        _clear_light(site, sun, _instants(starts, step, node)) for node, sun in enumerate(suns)
    ]
    middle = suns[0] + suns[1]
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    stamps = (starts + step // 2).astype("datetime64[s]")
    dni_extra = extra_radiation(stamps)
    circumsolar, horizon = diffuse_shares(
        SkyModel.PEREZ,
        sun=middle,
        dni=0.5 * (lights[0]["dni"] + lights[1]["dni"]),
        dhi=0.5 * (lights[0]["dhi"] + lights[1]["dhi"]),
        dni_extra=dni_extra,
    )
    shared = {
        "dni_extra": dni_extra,
        "circumsolar": circumsolar,
        "horizon": horizon,
        "temp_air": climate_temperature(site, utc_index(stamps)),
        "wind_speed": np.full(len(starts), WIND_SPEED),
        "clearness": np.ones(len(starts)),
    }
    early, late = (
        Sky(site=site, sun=sun, **light, **shared) for sun, light in zip(suns, lights, strict=True)
    )
    return early, late


def _clear_light(site: Site, sun: Array, seconds: NDArray[np.int64]) -> dict[str, Array]:
    """Return ``ghi``, ``dni`` and ``dhi`` of a clear sky at instants. [W/m²]"""
    stamps = seconds.astype("datetime64[s]")
    years = stamps.astype("datetime64[Y]")
    days = (stamps.astype("datetime64[D]") - years).astype(np.int64) + 1
    zenith = np.degrees(np.arccos(np.clip(sun[:, 2], -1.0, 1.0)))
    light = {name: np.empty(len(seconds)) for name in ("ghi", "dni", "dhi")}
    for year in np.unique(years):
        own = years == year
        part = clear_light(site, zenith[own], days[own], year=int(year.astype(np.int64)) + 1970)
        for name, values in part.items():
            light[name][own] = values
    return light


def _measured_nodes(weather: Weather, starts: NDArray[np.int64], step: int) -> tuple[Sky, Sky]:
    """Return measured weather at the two instants that stand for each interval."""
    clear = _clear_over(weather, starts, step)
    early, late = (
        sky_at(weather, _instants(starts, step, node).astype("datetime64[s]"), clear)
        for node in range(2)
    )
    return early, late


@functools.lru_cache(maxsize=4)
def _clear_of_days(site: Site, first: int, last: int) -> Weather:
    ends = np.array([first, last]).astype("datetime64[D]").astype("datetime64[s]")
    span = utc_index(ends)
    return clearsky(site, span[0], span[1])


def _clear_over(weather: Weather, starts: NDArray[np.int64], step: int) -> Weather:
    """Return the clear sky that measured weather is laid onto instants by."""
    if not len(starts):
        return weather
    first, last = int(starts.min()) // DAY - 2, (int(starts.max()) + step) // DAY + 3
    return _clear_of_days(weather.site, first, last)


def make_rows(nodes: tuple[Sky, Sky], season: Array) -> NDArray[np.float32]:
    """Return the rows of a sheet over all intervals, shape (ROWS, n), not yet in blocks."""
    early, late = nodes
    flat = np.empty((ROWS, len(early)), dtype=np.float32)
    for node, sky in enumerate(nodes):
        flat[SUN_EAST + node], flat[SUN_NORTH + node] = sky.sun[:, 0], sky.sun[:, 1]
        flat[SUN_UP + node] = np.maximum(sky.sun[:, 2], LOWEST_SUN)
        flat[CIRCUMSOLAR + node] = sky.circumsolar / np.maximum(sky.sun[:, 2], LOWEST_FOR_DIFFUSE)
        flat[DOME + node], flat[HORIZON + node] = 1.0 - sky.circumsolar, sky.horizon
        flat[LEAST_DIFFUSE + node] = KEPT_DIFFUSE * sky.dhi
        hazier = sky.hazier(1.0)
        flat[DNI + node], flat[GHI + node] = sky.dni, sky.ghi
        flat[DNI_FADE + node] = _fade(sky.dni, hazier.dni)
        flat[GHI_FADE + node] = _fade(sky.ghi, hazier.ghi)
    flat[COOLING] = 1.0 / (25.0 + 3.42 * SHELTER * (early.wind_speed + late.wind_speed))
    flat[WARMTH] = 0.5 * (early.temp_air + late.temp_air) - 25.0
    flat[CLOUD] = np.maximum(1.0 - 0.5 * (early.clearness + late.clearness), 0.0)
    flat[SEASON] = season
    return flat


def _fade(now: Array, hazier: Array) -> Array:
    """Return by how much a unit of haze fades light, as a logarithm; zero where there is none."""
    there = (now > 0.0) & (hazier > 0.0)
    return -np.log(np.divide(hazier, now, where=there, out=np.ones_like(now)))


def winter(site: Site, seconds: NDArray[np.int64]) -> Array:
    """Return the season at instants: 1 in the site's midwinter, -1 in its midsummer."""
    stamps = seconds.astype("datetime64[s]")
    days = (stamps - stamps.astype("datetime64[Y]")).astype(np.float64) / DAY
    northern = np.cos(2.0 * np.pi * (days - MIDWINTER) / YEAR_DAYS)
    return np.asarray(northern if site.latitude >= 0.0 else -northern)


def in_blocks(flat: NDArray[np.float32]) -> Sheet:
    """Return rows over intervals in blocks of 64 intervals; what is left of the last is zero."""
    rows, count = flat.shape
    blocks = -(-count // BLOCK)
    padded = np.zeros((rows, blocks * BLOCK), dtype=np.float32)
    padded[:, :count] = flat
    return np.ascontiguousarray(padded.reshape(rows, blocks, BLOCK).transpose(1, 0, 2))
