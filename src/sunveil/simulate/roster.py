"""All systems of a cell, with mounts, clocks, loggers, wear."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil._options import checked, number
from sunveil.errors import ParameterError
from sunveil.simulate.fault_rates import (
    SAPM_MOUNTS,
    TILT_EDGES,
    FaultRates,
    FleetStatistics,
    SimulatedClock,
    SystemTruth,
    Tracker,
)
from sunveil.simulate.places import SimulatedCell
from sunveil.simulate.simulated_sky import SolarCalendar, TrueSky, days_since, dull_days
from sunveil.simulate.system_power import Horizon
from sunveil.site import Array, Losses, Mount, Plane, Site

YEAR_DAYS = 365.0


def draw_spells(
    rng: np.random.Generator, share: float, n: int, *, days: tuple[float, float]
) -> tuple[Array, Array]:
    """Return where spells begin and end, as fractions of the year; NaN for those without."""
    has = rng.random(n) < share
    length = np.exp(rng.uniform(np.log(days[0]), np.log(days[1]), n)) / YEAR_DAYS
    begin = rng.random(n) * (1.0 - length)
    return np.where(has, begin, np.nan), np.where(has, begin + length, np.nan)


SENTINELS = (-999.0, -9999.0)

# Watts for kilowatts and back, decimals slipped, and a phase or a transformer miscounted.
SCALES = (0.001, 1000.0, 0.1, 10.0, 0.5, 2.0)
NEGATIVE_DAYS, STUCK_DAYS, SCALE_DAYS = (3.0, 40.0), (0.5, 10.0), (28.0, 31.0)


def draw_logger_faults(rng: np.random.Generator, rates: FaultRates, n: int) -> dict[str, Any]:
    """Return what goes wrong with the loggers of systems, as fields of a roster."""
    fields: dict[str, Any] = {}
    for name, share, days in (
        ("negative", rates.negative, NEGATIVE_DAYS),
        ("stuck", rates.stuck, STUCK_DAYS),
        ("scale", rates.wrong_scale, SCALE_DAYS),
    ):
        fields[f"{name}_begin"], fields[f"{name}_end"] = draw_spells(rng, share, n, days=days)
    factors = rng.choice(SCALES, n)
    fields["scale_factor"] = np.where(np.isnan(fields["scale_begin"]), 1.0, factors)
    fields["negative_depth"] = rng.uniform(0.02, 1.0, n)
    marks = rng.choice(SENTINELS, n)
    fields["sentinel"] = np.where(rng.random(n) < rates.sentinels, marks, np.nan)
    return fields


def add_logger_faults(power: NDArray[np.float32], roster: SimulatedRoster) -> None:
    """Turn what meters say into what loggers write, in place."""
    for row, spell in _spells(power, roster.negative_begin, roster.negative_end):
        spell *= np.float32(-roster.negative_depth[row])
    for _, spell in _spells(power, roster.stuck_begin, roster.stuck_end):
        # stuck by day: at night it would be a system that is down
        daylight = np.flatnonzero(spell > 0.0)
        if len(daylight):
            spell[daylight[0] :] = spell[daylight[0]]
    for row, spell in _spells(power, roster.scale_begin, roster.scale_end):
        spell *= np.float32(roster.scale_factor[row])
    for marked in np.flatnonzero(~np.isnan(roster.sentinel)):
        power[marked, np.isnan(power[marked])] = roster.sentinel[marked]


def _spells(
    power: NDArray[np.float32], begin: Array, end: Array
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the systems that have a spell, and a view of their readings in it."""
    readings = power.shape[1]
    for row in np.flatnonzero(~np.isnan(begin)):
        yield int(row), power[row, round(begin[row] * readings) : round(end[row] * readings)]


# From one side of a ridge to the other. [degrees]
HALF_TURN = 180.0

# Share of the capacity on the larger of two planes.
LARGER_SHARE = (0.5, 0.8)

# By how much two roofs of a house miss equal tilts, and a half or a quarter turn. [degrees]
TILT_SPREAD, TURN_SPREAD = 3.0, 2.0

# Of ridges that run east to west, how many have modules on both sides all the same.
POLEWARD = 0.1

# Share of axes that do not run north to south, and how far they are turned. [1, degrees]
TURNED_AXES, AXIS_SPREAD, AXIS_AT_MOST = 0.25, 15.0, 45.0
BACKTRACKING = 0.75
GCR = (0.25, 0.5)
MAX_ANGLE = (45.0, 60.0)

# Of what follows the sun, how much does so about two axes.
DUAL_AXIS = 0.1


def ridge_azimuths(rng: np.random.Generator, azimuth: Array) -> Array:
    """Return azimuths of first planes turned so that both sides of their ridges see the sun."""
    n = len(azimuth)
    side = np.where(rng.random(n) < 0.5, 90.0, -90.0)
    polar = np.abs(np.cos(np.radians(azimuth))) > np.sqrt(0.5)
    turned = polar & (rng.random(n) >= POLEWARD)
    return np.asarray(np.mod(np.where(turned, azimuth + side, azimuth), 360.0))


def second_planes(
    rng: np.random.Generator, azimuth: Array, tilt: Array, *, turn: Array
) -> tuple[Array, Array]:
    """Return azimuth and tilt of second planes, about as steep as the first. [degrees]"""
    n = len(azimuth)
    turned = azimuth + turn + TURN_SPREAD * rng.standard_normal(n)
    like = np.clip(tilt + TILT_SPREAD * rng.standard_normal(n), 0.0, TILT_EDGES[-1])
    return np.mod(turned, 360.0), np.where(np.isnan(turn), np.nan, like)


def draw_trackers(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Return the columns of ``n`` single-axis trackers, by the names of :class:`Tracker`."""
    away = np.clip(AXIS_SPREAD * rng.standard_normal(n), -AXIS_AT_MOST, AXIS_AT_MOST)
    return {
        "axis_azimuth": np.where(rng.random(n) < TURNED_AXES, 180.0 + away, 180.0),
        "backtrack": rng.random(n) < BACKTRACKING,
        "gcr": rng.uniform(*GCR, n),
        "max_angle": rng.uniform(*MAX_ANGLE, n),
    }


SECTORS = 72
SECTOR_DEGREES = 360.0 / SECTORS
OBSTACLES = 6
Skyline = NDArray[np.float32]


def sectors_of(azimuth: Array) -> NDArray[np.int32]:
    """Return the sector of a skyline that each azimuth [degrees] lies in."""
    return np.asarray(np.mod(azimuth, 360.0) // SECTOR_DEGREES, dtype=np.int32) % SECTORS


def box_skyline(middle: Array, width: Array, height: Array) -> Skyline:
    """Return the skylines of one obstacle each, nothing where its height is NaN."""
    away = _away(np.nan_to_num(middle))
    inside = away <= np.nan_to_num(width)[..., None] / 2.0
    return np.where(inside, np.nan_to_num(height)[..., None], 0.0).astype(np.float32)


def draw_skylines(rng: np.random.Generator, share: float, n: int) -> Skyline:
    """Return the skylines of systems, flat for those that have none."""
    # Hills are low and wide, up to 10 degrees. In front of them are up to six trees or houses,
    # most of them below 30 degrees, in any direction. They hide the sun, not the rest of the sky.
    has = rng.random(n) < share
    around = np.radians(SECTOR_DEGREES) * (np.arange(SECTORS) + 0.5)
    phases = rng.uniform(0.0, 2.0 * np.pi, (3, n))
    waves = sum(
        np.sin(order * around[None, :] + phase[:, None])
        for order, phase in enumerate(phases, start=1)
    )
    hills = rng.uniform(0.0, 10.0, n)[:, None] * np.maximum(waves, 0.0) / 3.0
    shape = (n, OBSTACLES)
    there = np.arange(OBSTACLES) < rng.integers(0, OBSTACLES + 1, n)[:, None]
    height = np.where(there, np.minimum(20.0 * np.exp(0.5 * rng.standard_normal(shape)), 60.0), 0.0)
    half = rng.uniform(5.0, 35.0, shape)[..., None]
    away = _away(rng.uniform(0.0, 360.0, shape)) / half
    # trees are round, houses are not
    tree = (rng.random(shape) < 0.5)[..., None]
    outline = np.where(tree, np.sqrt(np.maximum(1.0 - away**2, 0.0)), away <= 1.0)
    tops = np.max(height[..., None] * outline, axis=1)
    return np.where(has[:, None], np.maximum(hills, tops), 0.0).astype(np.float32)


def _away(middle: Array) -> Array:
    """Return how far each sector's middle is from directions, as one more axis [degrees]."""
    middles = SECTOR_DEGREES * (np.arange(SECTORS) + 0.5)
    turn = np.mod(middles - np.asarray(middle)[..., None] + 180.0, 360.0) - 180.0
    return np.asarray(np.abs(turn))


CLOCKS = tuple(SimulatedClock)
DECLARED = CLOCKS.index(SimulatedClock.DECLARED)
Index = NDArray[np.int32]


def draw_clocks(
    rng: np.random.Generator, rates: FaultRates, n: int, *, saves_daylight: bool
) -> NDArray[np.int64]:
    """Return the clocks of systems, as places in ``CLOCKS``."""
    drawn = rng.choice(len(CLOCKS), size=n, p=[rates.clocks[clock] for clock in CLOCKS])
    if not saves_daylight:
        drawn[drawn == CLOCKS.index(SimulatedClock.DAYLIGHT_SAVING)] = DECLARED
    return np.asarray(drawn, dtype=np.int64)


def draw_clock_steps(
    rng: np.random.Generator, rates: FaultRates, clock: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the clocks before and after a step, and when it comes, as fields of a roster."""
    # A clock that steps is right on one side of its step and an hour off on the other.
    n = len(clock)
    off = [CLOCKS.index(each) for each in (SimulatedClock.HOUR_FAST, SimulatedClock.HOUR_SLOW)]
    steps = rng.random(n) < rates.clock_steps
    wrong, at = rng.choice(off, n), rng.uniform(0.1, 0.9, n)
    first = rng.random(n) < 0.5
    return {
        "clock": np.where(steps, np.where(first, wrong, DECLARED), clock),
        "later_clock": np.where(steps, np.where(first, DECLARED, wrong), clock),
        "clock_step": np.where(steps, at, np.nan),
    }


def clock_sources(
    times: pd.DatetimeIndex, timezone: str, *, interval_minutes: int, step_minutes: int
) -> tuple[Index, Index]:
    """Return which true interval each clock fault records under each stamp, and half steps."""
    # Shape (faults, stamps), -1 for none: before a slow clock's year begins, and in the hour
    # that is skipped in spring. Of the hour that comes twice in autumn the first is kept, as
    # meters that overwrite do.
    ahead: dict[SimulatedClock, Any] = {
        SimulatedClock.DECLARED: 0,
        SimulatedClock.HOUR_FAST: 60,
        SimulatedClock.HOUR_SLOW: -60,
        SimulatedClock.HALF_HOUR_FAST: 30,
        SimulatedClock.HALF_HOUR_SLOW: -30,
        SimulatedClock.DAYLIGHT_SAVING: _saved_minutes(times, timezone),
        SimulatedClock.LABEL_END: interval_minutes,
        SimulatedClock.LABEL_MIDDLE: interval_minutes / 2,
    }
    n = len(times)
    out = np.full((len(CLOCKS), n), -1, dtype=np.int32)
    instants = np.arange(n, dtype=np.int32)
    for row, clock in zip(out, CLOCKS, strict=True):
        stamps = instants + np.asarray(ahead[clock] // step_minutes, dtype=np.int32)
        kept = (stamps >= 0) & (stamps < n)
        # backwards, so that the first of two is written last
        row[stamps[kept][::-1]] = instants[kept][::-1]
    halved = [clock is SimulatedClock.LABEL_MIDDLE for clock in CLOCKS]
    odd = interval_minutes / 2 % step_minutes > 0
    return out, np.asarray(np.array(halved) & odd, dtype=np.int32)


def _saved_minutes(times: pd.DatetimeIndex, timezone: str) -> NDArray[np.int64]:
    plain = times.tz_localize(None)
    ahead = times.tz_convert(timezone).tz_localize(None) - plain
    minutes = (ahead.total_seconds().to_numpy() // 60).astype(np.int64)
    return np.asarray(minutes - minutes.min())


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
    """What the days of a cell bring to all its systems, one value per local day."""

    since_rain: NDArray[np.int64]  # days since rain last washed the modules
    snow: NDArray[np.bool_]  # whether snow falls that covers them
    slide: Array  # how much of a vertical module's snow slides off, as a share of its height
    melt: Array  # how much of the snow melts
    whiteness: Array  # what the ground's albedo is multiplied by: more than 1 while snow lies


@dataclass(frozen=True, slots=True, eq=False)
class Wear:
    """What is left of the DC power of systems."""

    kept: NDArray[np.float32]  # share of DC power that is left, shape (systems, days)
    snow_days: NDArray[np.int64]  # on how many days of the year snow took some of it
    soiling_loss: Array  # what dirt took, in the mean over the year


def draw_cell_days(sky: TrueSky, rates: FaultRates, *, rng: np.random.Generator) -> CellDays:
    """Return when it rains and snows on a cell, and how snow leaves."""
    # Rain and snow fall on dull days, snow below freezing. Where there is a dry season, no rain
    # falls in it.
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
    """Return what decides how systems wear, as fields of a roster."""
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
    """Return what dirt and age take from a fleet in the mean."""
    # Nominal losses are those of running systems, dirty and not new; what is simulated of these is
    # taken out of a system's other losses, so that fleets have the nominal ones in the mean.
    soiling = NOMINAL_SOILING if rates.soiling > 0.0 else 0.0
    return soiling + rates.degradation * rates.oldest_years / 2.0


def wear_down(roster: SimulatedRoster, days: CellDays) -> Wear:
    """Return what is left of the DC power of systems on each day of the year."""
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


MOUNTS = tuple(SAPM_MOUNTS)

# Values of `tracker`: a fixed system, or one that follows the sun about one or two axes.
FIXED, SINGLE_AXIS, TWO_AXES = range(3)
FEEDER_SYSTEMS = 40
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedRoster:
    """The systems of one simulated cell, as one array for each of their properties."""

    latitude: Array  # [degrees]
    longitude: Array  # [degrees]
    feeder: Whole  # number of the feeder that it hangs on, from 0 in each cell
    surface_azimuth: Array  # [degrees] of its plane, or of the first of two
    surface_tilt: Array  # [degrees] of its plane, or of the first of two
    second_azimuth: Array  # [degrees] of its second plane; NaN for none
    second_tilt: Array  # [degrees] of its second plane; NaN for none
    first_share: Array  # share of the capacity on the first plane
    dc_capacity_kw: Array  # [kW] DC nameplate capacity
    dc_ac_ratio: Array  # DC capacity over the inverter's limit
    losses: Array  # system losses as a fraction
    gamma_pdc: Array  # [1/°C] temperature coefficient
    albedo: Array  # reflectivity of the ground
    mount: Whole  # its place in `MOUNTS`
    tracker: Whole  # `FIXED`, `SINGLE_AXIS` or `TWO_AXES`
    axis_azimuth: Array  # [degrees] this and the next three of a `SINGLE_AXIS` alone, as in Tracker
    backtrack: NDArray[np.bool_]  # whether it turns back at low sun
    gcr: Array  # ground coverage ratio
    max_angle: Array  # [degrees] farthest turn from horizontal
    clock: Whole  # place in `CLOCKS`
    later_clock: Whole  # place in `CLOCKS` after its step
    clock_step: Array  # when its clock steps, as a fraction of the year; NaN for never
    noise: Array  # standard deviation of the relative error of its readings
    shade_azimuth: Array  # [degrees] middle of its obstacle; NaN for none
    shade_width: Array  # [degrees] of its obstacle
    shade_elevation: Array  # [degrees] of its obstacle
    skyline: Skyline  # [degrees] height of the horizon by sector
    begin: Array  # where its record begins, as a fraction of the year
    end: Array  # where its record ends, as a fraction of the year
    soiling: Array  # share of DC power lost by each dry day
    degradation: Array  # share of DC power lost by each year of age
    age_years: Array  # [years] at the start
    snow_strings: Whole  # strings that snow slides off one by one
    dead_share: Array  # share of DC power on a string that dies; 0 for none
    dead_begin: Array  # when it dies, as a fraction of the year
    dead_end: Array  # when it is repaired
    negative_begin: Array  # when readings turn negative, as a fraction of the year; NaN for never
    negative_end: Array  # when they turn back
    negative_depth: Array  # what they are multiplied by, less the sign
    stuck_begin: Array  # when its logger repeats one reading; NaN for never
    stuck_end: Array  # when it goes on
    scale_begin: Array  # when its logger writes another scale; NaN for never
    scale_end: Array  # when it goes back
    scale_factor: Array  # the other scale
    sentinel: Array  # value written for missing readings; NaN for none

    def __len__(self) -> int:
        return len(self.latitude)

    def rows(self, start: int, stop: int) -> SimulatedRoster:
        """Return the systems from ``start`` up to, and without, ``stop``."""
        return self.take(slice(start, stop))

    def take(self, rows: slice | Whole) -> SimulatedRoster:
        """Return the systems at ``rows``."""
        return SimulatedRoster(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def truth(self, row: int, *, cell: SimulatedCell, system_id: str = "one") -> SystemTruth:
        """Return one system as the rest of the simulator knows it, under the sky of its cell."""
        first = Plane(float(self.surface_azimuth[row]), float(self.surface_tilt[row]))
        share = float(self.first_share[row])
        planes: tuple[tuple[Plane, float], ...] = ((first, share),)
        if share < 1.0:
            second = Plane(float(self.second_azimuth[row]), float(self.second_tilt[row]))
            planes = (*planes, (second, 1.0 - share))
        return SystemTruth(
            system_id=system_id,
            site=cell.site,
            planes=planes,
            dc_capacity_kw=float(self.dc_capacity_kw[row]),
            dc_ac_ratio=float(self.dc_ac_ratio[row]),
            losses=Losses(system=float(self.losses[row]), gamma_pdc=float(self.gamma_pdc[row])),
            albedo=float(self.albedo[row]),
            mount=MOUNTS[self.mount[row]],
            tracker=self.tracker_of(row),
            timezone=cell.timezone,
        )

    def tracker_of(self, row: int) -> Tracker | None:
        """Return what turns one system, if anything does."""
        if self.tracker[row] != SINGLE_AXIS:
            return Tracker(dual_axis=True) if self.tracker[row] == TWO_AXES else None
        return Tracker(
            backtrack=bool(self.backtrack[row]),
            axis_azimuth=float(self.axis_azimuth[row]),
            max_angle=float(self.max_angle[row]),
            gcr=float(self.gcr[row]),
        )

    def horizon(self, row: int) -> Horizon | None:
        """Return what hides the sun from one system, if anything does."""
        skyline = self.skyline[row].astype(np.float64)
        if not skyline.any():
            return None

        def horizon(azimuth: Array) -> Array:
            return np.asarray(skyline[sectors_of(azimuth)])

        return horizon


def draw_roster(
    cell: SimulatedCell, rates: FaultRates, *, rng: np.random.Generator
) -> SimulatedRoster:
    """Return the systems of a cell, drawn like a real fleet's."""
    # Planes, capacities, ratios and mounts are drawn as draw_systems does; south of the equator the
    # planes are turned to face it.
    n = cell.systems
    # what real records have besides is drawn apart: a plain fleet's systems stay what they were
    apart, mounting = rng.spawn(2)
    commercial = rng.random(n) < cell.statistics.commercial
    latitude, longitude = _scatter(rng, cell.site, n)
    azimuth, tilt = _draw_planes(rng, cell.statistics, n)
    if cell.site.latitude < 0.0:
        azimuth = np.mod(180.0 - azimuth, 360.0)
    turns, two_axes = rng.random(n) < rates.trackers, rng.random(n) < DUAL_AXIS
    tracker = np.where(turns, np.where(two_axes, TWO_AXES, SINGLE_AXIS), FIXED)
    turn, share = _draw_second(rng, rates, n)
    turn, share = np.where(turns, np.nan, turn), np.where(turns, 1.0, share)
    azimuth = np.where(turn == HALF_TURN, ridge_azimuths(mounting, azimuth), azimuth)
    second_azimuth, second_tilt = second_planes(mounting, azimuth, tilt, turn=turn)
    ratio = np.where(
        rng.random(n) < rates.oversized, rng.uniform(1.4, 1.8, n), rng.uniform(1.0, 1.3, n)
    )
    roof = (rng.random(n) < np.where(commercial, 0.3, 0.75)) & ~turns
    begin, end = _draw_spans(rng, rates, n)
    usual = Losses().system - mean_wear(rates)
    south = cell.site.latitude < 0.0
    return SimulatedRoster(
        latitude=latitude,
        longitude=longitude,
        feeder=rng.integers(0, 1 + n // FEEDER_SYSTEMS, n),
        surface_azimuth=azimuth,
        surface_tilt=tilt,
        second_azimuth=second_azimuth,
        second_tilt=second_tilt,
        first_share=share,
        dc_capacity_kw=_draw_capacities(rng, cell.statistics, commercial=commercial),
        dc_ac_ratio=ratio,
        losses=np.clip(usual + rates.loss_spread * rng.standard_normal(n), -0.15, 0.4),
        gamma_pdc=np.clip(rng.normal(-0.0040, 0.0004, n), -0.0055, -0.0025),
        albedo=rng.uniform(0.15, 0.25, n),
        mount=np.where(roof, MOUNTS.index(Mount.ROOF), MOUNTS.index(Mount.RACK)),
        tracker=tracker,
        **draw_trackers(mounting, n),
        **draw_clock_steps(
            apart, rates, draw_clocks(rng, rates, n, saves_daylight=cell.saves_daylight)
        ),
        noise=np.clip(rates.noise * np.exp(rates.noise_spread * rng.standard_normal(n)), 0.0, 0.1),
        **_draw_shade(rng, apart, rates, n, south=south),
        begin=begin,
        end=end,
        **draw_wear(apart, rates, n),
        **draw_logger_faults(apart, rates, n),
    )


def _scatter(rng: np.random.Generator, site: Site, n: int) -> tuple[Array, Array]:
    # short of the cell's edge, so that rounding never moves a system into the next one
    latitude = np.clip(site.latitude + rng.uniform(-0.0499, 0.0499, n), -90.0, 90.0)
    longitude = np.clip(site.longitude + rng.uniform(-0.0499, 0.0499, n), -180.0, 180.0)
    return np.round(latitude, 5), np.round(longitude, 5)


def _draw_planes(
    rng: np.random.Generator, statistics: FleetStatistics, n: int
) -> tuple[Array, Array]:
    weights = np.array(statistics.azimuths)
    centre = 45.0 * rng.choice(len(weights), size=n, p=weights / weights.sum())
    spread = statistics.bin_spread
    within = rng.uniform(-22.5, 22.5, n) if spread is None else spread * rng.standard_normal(n)
    weights = np.array(statistics.tilts)
    band = rng.choice(len(weights), size=n, p=weights / weights.sum())
    edges = np.array(TILT_EDGES)
    return np.mod(centre + within, 360.0), rng.uniform(edges[band], edges[band + 1])


def _draw_capacities(
    rng: np.random.Generator, statistics: FleetStatistics, *, commercial: NDArray[np.bool_]
) -> Array:
    n = len(commercial)
    large = np.exp(rng.uniform(np.log(20.0), np.log(1000.0), n))
    home = statistics.median_kw * np.exp(statistics.spread * rng.standard_normal(n))
    return np.where(commercial, large, np.clip(home, 1.0, statistics.largest_home_kw))


def _draw_second(rng: np.random.Generator, rates: FaultRates, n: int) -> tuple[Array, Array]:
    """Return how second planes are turned, NaN for none, and the share of the first."""
    kind = rng.random(n)
    corner = np.where(rng.random(n) < 0.5, 90.0, -90.0)
    both = rates.east_west + rates.hipped
    turn = np.where(kind < rates.east_west, HALF_TURN, np.where(kind < both, corner, np.nan))
    share = np.where(np.isnan(turn), 1.0, rng.uniform(*LARGER_SHARE, n))
    return turn, share


def _draw_shade(
    rng: np.random.Generator, apart: np.random.Generator, rates: FaultRates, n: int, *, south: bool
) -> dict[str, Any]:
    shaded = rng.random(n) < rates.shaded
    middle = np.mod(rng.uniform(80.0, 280.0, n) + (180.0 if south else 0.0), 360.0)
    drawn = {
        "shade_azimuth": middle,
        "shade_width": rng.uniform(20.0, 110.0, n),
        "shade_elevation": rng.uniform(10.0, 40.0, n),
    }
    shade = {name: np.where(shaded, values, np.nan) for name, values in drawn.items()}
    around = draw_skylines(apart, rates.skylines, n)
    return {**shade, "skyline": np.maximum(around, box_skyline(*shade.values()))}


def _draw_spans(rng: np.random.Generator, rates: FaultRates, n: int) -> tuple[Array, Array]:
    kind = rng.random(n)
    late = np.where(kind < rates.late, rng.random(n), 0.0)
    length = rng.uniform(4.0, 40.0, n) / 365.0
    short = (kind >= rates.late) & (kind < rates.late + rates.short)
    begin = np.where(short, rng.random(n) * (1.0 - length), late)
    # a record that begins in the last days still has a day
    begin = np.minimum(begin, 364.0 / 365.0)
    return begin, np.where(short, begin + length, 1.0)


@checked
def clipped(truth: SystemTruth, dc_ac_ratio: float = 1.7) -> SystemTruth:
    """Return a system with an inverter too small for its modules."""
    return replace(truth, dc_ac_ratio=dc_ac_ratio)


@checked
def western_horizon(elevation: float = 35.0) -> Horizon:
    """Return a horizon that hides the sun west of south below ``elevation`` [degrees]."""

    def horizon(azimuth: Array) -> Array:
        return np.where(np.mod(azimuth, 360.0) > 180.0, elevation, 0.0)

    return horizon


# Ten years: no clock is further off. [minutes]
MOST_MINUTES = 5_256_000.0


@checked
def daylight_saving_stamps(series: pd.Series, timezone: str) -> pd.Series:
    """Return readings with stamps an hour ahead during daylight saving time."""
    # The index still claims standard time. Of the hour that comes twice in autumn the first is
    # kept, as meters that overwrite do.
    index = _index(series)
    ahead = [stamp.dst() or timedelta(0) for stamp in index.tz_convert(_zone(timezone))]
    moved = series.set_axis(index + pd.TimedeltaIndex(ahead).as_unit(index.unit))
    return moved[~moved.index.duplicated(keep="first")]


@checked
def fast_clock(series: pd.Series, minutes: float) -> pd.Series:
    """Return readings stamped ``minutes`` late: by a clock that runs ahead [minutes]."""
    number("minutes", minutes, low=-MOST_MINUTES, high=MOST_MINUTES)
    return series.set_axis(_index(series) + pd.Timedelta(minutes=minutes))


def _index(series: pd.Series) -> pd.DatetimeIndex:
    if not isinstance(series.index, pd.DatetimeIndex) or series.index.tz is None:
        raise ParameterError("series must be indexed by times with a time zone")
    return series.index


def _zone(timezone: str) -> ZoneInfo:
    try:
        return ZoneInfo(timezone)
    except (ValueError, OSError, KeyError, IndexError):
        raise ParameterError("timezone must be an IANA name, such as America/Denver") from None
