"""Plausibility: PV, this place, this unit."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import pvlib
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.first_and_last_light import SolarDays
from sunveil.engine.shading import PreparedSky
from sunveil.engine.sky_tables import SkyTable, sun_vectors_over
from sunveil.estimates.estimates_table import Estimates
from sunveil.estimates.flags_and_quality import Doubt, Flag, flag_bits
from sunveil.meters.header_and_units import LARGEST, SMALLEST
from sunveil.site import Array

# Where nothing gives the unit or every reading is a whole number: a thousand times the size of a
# home, which may be a home in W. [kW]
HOMES = (1000.0, 30_000.0)

_UNITS = ("W", "kW", "MW")

Mask = NDArray[np.bool_]


def flag_units(found: Estimates) -> None:
    """Flag the estimates of a block that have a capacity no system behind one meter has."""
    unlikely = has_unlikely_unit(found.dc_capacity_kw)
    found.flags[:] |= flag_bits(Flag.UNLIKELY_UNIT, (found.outcome == 0) & unlikely)


def has_unlikely_unit(capacity: Array) -> Mask:
    """Return which capacities no system behind one meter has. [kW]

    >>> has_unlikely_unit(np.array([0.006, 6439.0, 6.4]))
    array([ True, False, False])
    """
    return np.asarray((capacity < SMALLEST) | (capacity > LARGEST))


def note_on_unit(capacity: float, unit: str, *, unit_known: bool) -> str:
    """Return a note where another unit is likelier or as likely, empty where none is.

    >>> note_on_unit(6439.0, "kW", unit_known=True)
    ''
    >>> note_on_unit(6439.0, "kW", unit_known=False)
    'The capacity would be 6.44 kW if the readings were in W rather than kW.'
    """
    doubtful = HOMES[0] < capacity < HOMES[1] and not unit_known
    unlikely = bool(has_unlikely_unit(np.array(capacity)))
    return name_likelier_unit(capacity, unit) if doubtful or unlikely else ""


def name_likelier_unit(capacity: float, unit: str) -> str:
    """Return a note on the unit in which a capacity in kW would make sense.

    >>> name_likelier_unit(6439.0, "kW")
    'The capacity would be 6.44 kW if the readings were in W rather than kW.'
    >>> name_likelier_unit(0.006, "Wh")
    'The capacity would be 6 kW if the readings were in kWh rather than Wh.'
    """
    up = capacity < SMALLEST
    power = unit.removesuffix("h")
    place = _UNITS.index(power) + (1 if up else -1)
    if not 0 <= place < len(_UNITS):
        return f"The capacity makes no sense: check that the readings are in {unit}."
    other = _UNITS[place] + unit[len(power) :]
    likelier = capacity * (1000.0 if up else 0.001)
    return (
        f"The capacity would be {likelier:.3g} kW if the readings were in {other} rather than"
        f" {unit}."
    )


Matrix = NDArray[np.float32]

# A sun well up. [sine of the elevation]
WELL_UP = math.sin(math.radians(10.0))

# Shares of the record's top: less is a meter's own consumption, or nothing at all; ...
IDLE, NOTHING = 0.02, 0.005

# ... a day that exceeds this is bright; readings between these two are neither nothing nor all.
BRIGHT_DAY, SOME, MOST = 0.3, 0.05, 0.9

# A meter with coarser steps reads zero while there is light, and shows no day's bounds.
COARSE = 0.03

# PV systems are between nothing and all in 77 to 99% of daylight readings, switches never are.
FEWEST_BETWEEN = 0.3

# Real systems have 0.02% of their energy in the dark at most, and households 27% at least; systems
# that are said to stand near a pole or many hours away have 14% at least.
DARK_ENERGY = 0.05

# PV systems idle for half of the time; households hardly ever do.
FEWEST_IDLE = 0.3

# Lit readings of PV systems are correlated with those a day before by 0.2 at least, those of noise
# by 0.05 at most where there are ENOUGH_PAIRS. [correlation, readings]
LEAST_LIKENESS, ENOUGH_PAIRS = 0.12, 500

# The share of readings that are zero under a sun well up, times the share of bright days that have
# such readings: what a household leaves over has 0.03 to 0.3, real systems have 0.016 at most (one
# with a meter that takes its own 3% off), and 0.0001 mostly.
OFTEN_ZERO = 0.02

# By how much the latitude that days' lengths tell may be off, as a tangent. More beyond the
# tropics, since low light lasts for long there and is faint on planes that face away from it.
LATITUDE_OFF, OFF_PER_TANGENT, TROPICS = 0.3, 0.5, 0.25

# How sure of that one must be; days err alike. [standard errors]
SURE = 4.0

# Days that last so much longer than the sun is up are another place's. [h]
TOO_LONG = 1.25

# What is needed to tell: days, their spread in tangents of the declination, and dark readings
# with power.
FEWEST_DAYS, SPREAD, FEWEST_DARK = 20, 0.1, 24

# Where the sun rises and sets on all days. [degrees]
FARTHEST = 65.0

# A day that is longer or shorter by more than this is a fault, and has no more say. [h]
LONGEST = 6.0

# How the length of a day changes with the product of both tangents. [h]
HOURS = 24.0 / math.pi

# What is counted of a record.
DARK, DARK_LIT, LIT, BETWEEN, UP, ZERO, BRIGHT_DAYS, DAYS_WITH_ZEROS = range(8)

DAYS, LENGTH, LENGTH_SQUARED, TANGENT, TANGENT_SQUARED, PRODUCT = range(8, 14)

COUNTS = 14

kernel = njit(cache=True, nogil=True, error_model="numpy")


@dataclass(frozen=True, slots=True, eq=False)
class DaysAtPlace:
    """The solar days of a grid at a place: public."""

    bounds: NDArray[np.int64]
    length: Array  # [h] for how long the sun is up
    tangent: Array  # tangent of the sun's declination


def find_doubts(
    rows: Matrix, top: Array, prepared: PreparedSky, *, suspect: NDArray[np.bool_]
) -> NDArray[np.uint8]:
    """Return what speaks against each record, as a :class:`Doubt`."""
    # It looks at all readings; releases never use it.
    if prepared.days.count == 0:
        return np.full(len(rows), Doubt.NONE, dtype=np.uint8)
    days, per_day = days_at_place(prepared.sky), prepared.days.per_day
    counts = np.zeros((len(rows), COUNTS))
    _count(rows, top, days.bounds, days.length, days.tangent, prepared.minutes / 60.0, counts)
    of = counts.T
    out = np.full(len(rows), Doubt.NONE, dtype=np.uint8)
    out[reads_zero(of)] = Doubt.EXPORTED_ONLY
    out[days_of_elsewhere(of, prepared.sky.site.latitude)] = Doubt.WRONG_PLACE
    for s in np.flatnonzero((out != Doubt.NONE) | suspect):
        if _least_step(rows[s]) > COARSE * top[s]:
            out[s] = Doubt.NONE
        elif not _alike(rows[s], IDLE * top[s], per_day):
            out[s] = Doubt.NOT_GENERATION
    # at least so large a share of the dark readings has that share of the energy
    for s in np.flatnonzero(of[DARK_LIT] > np.maximum(DARK_ENERGY * of[DARK], FEWEST_DARK)):
        out[s] = _of_night(rows[s], IDLE * top[s], days.bounds, per_day) or out[s]
    out[of[BETWEEN] < FEWEST_BETWEEN * of[LIT]] = Doubt.NOT_GENERATION
    return out


def reads_zero(of: Array) -> NDArray[np.bool_]:
    """Return which records are often zero on bright days while the sun is well up."""
    return np.asarray(
        of[ZERO] * of[DAYS_WITH_ZEROS] > OFTEN_ZERO * of[UP] * of[BRIGHT_DAYS], dtype=bool
    )


def days_of_elsewhere(of: Array, latitude: float) -> NDArray[np.bool_]:
    """Return which systems have days too long for a latitude, or with the seasons of another."""
    # A day lasts for about `12 + 24/π tan(latitude) tan(declination)` hours. What the days of a
    # record last beyond that, against the declination, is the tangent by which the latitude is off.
    if abs(latitude) > FARTHEST:
        return np.zeros(of.shape[1], dtype=bool)
    number = np.maximum(of[DAYS], 1.0)
    mean, middle = of[LENGTH] / number, of[TANGENT] / number
    spread = of[TANGENT_SQUARED] / number - middle**2
    known = spread >= SPREAD**2
    spread = np.where(known, spread, 1.0)
    together = of[PRODUCT] / number - mean * middle
    rest = of[LENGTH_SQUARED] / number - mean**2 - together**2 / spread
    unsure = SURE * np.sqrt(np.maximum(rest, 0.0) / (number * spread)) / HOURS
    beyond = max(math.tan(math.radians(abs(latitude))) - TROPICS, 0.0)
    allowed = LATITUDE_OFF + OFF_PER_TANGENT * beyond
    known &= np.abs(together / spread / HOURS) - unsure > allowed
    return np.asarray((of[DAYS] >= FEWEST_DAYS) & (known | (mean > TOO_LONG)))


def _of_night(row: Matrix, idle: float, bounds: NDArray[np.int64], per_day: int) -> Doubt:
    """Return what a record is that has power at night: another thing, or another place's."""
    dark = np.ones(len(row), dtype=bool)
    for begin, end in bounds[:, [1, 4]]:
        dark[begin:end] = False
    power = np.where(row > idle, row, 0.0).astype(np.float64)
    if power[dark].sum() <= DARK_ENERGY * power.sum():
        return Doubt.NONE
    never_idle = np.count_nonzero(row <= idle) < FEWEST_IDLE * np.count_nonzero(np.isfinite(row))
    if never_idle or not _alike(row, idle, per_day):
        return Doubt.NOT_GENERATION
    return Doubt.WRONG_PLACE


def _alike(row: Matrix, idle: float, per_day: int) -> bool:
    """Return whether daylight readings are like those at the same hour of the day before."""
    before, after = row[:-per_day].astype(np.float64), row[per_day:].astype(np.float64)
    both = (before > idle) & (after > idle)
    if np.count_nonzero(both) < ENOUGH_PAIRS:
        return True
    before, after = before[both] - before[both].mean(), after[both] - after[both].mean()
    size = math.sqrt((before @ before) * (after @ after))
    return bool(before @ after >= LEAST_LIKENESS * size)


def _least_step(row: Matrix) -> float:
    """Return the lowest power that a record has. [kW]"""
    return float(row[row > 0.0].min(initial=np.inf))


@functools.lru_cache(maxsize=32)
def days_at_place(sky: SkyTable) -> DaysAtPlace:
    """Return the days of a sky, made once while it is in use."""
    long, days = sky.grid.long, SolarDays.of(sky)
    up = np.full((days.count, days.per_day), -1.0)
    vectors = sun_vectors_over(sky.site, long.starts + long.step // 2)
    up.ravel()[days.lead : days.lead + long.count] = vectors[:, 2]
    begin = np.arange(days.count) * days.per_day - days.lead
    # as for the sky: an interval may see light though the sun is just below the horizon
    light = _spans(up > -math.sin(math.radians(long.step / 480.0)))
    high = _spans(up > WELL_UP)
    inner = [light[0], np.maximum(high[0], light[0]), np.minimum(high[1], light[1]), light[1]]
    bounds = begin[:, None] + np.stack([np.zeros_like(begin), *inner, begin * 0 + days.per_day], 1)
    dates = (days.first + np.arange(days.count)).astype("datetime64[D]")
    numbers = (dates - dates.astype("datetime64[Y]")).astype(np.int64) + 1
    tangent = np.tan(pvlib.solarposition.declination_spencer71(numbers))
    half = np.arccos(np.clip(-math.tan(math.radians(sky.site.latitude)) * tangent, -1.0, 1.0))
    return DaysAtPlace(np.clip(bounds, 0, long.count), HOURS * half, tangent)


def _spans(there: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each row begins to be true and where it ends; its middle where it never is."""
    some, width = there.any(axis=1), there.shape[1]
    first = np.where(some, there.argmax(axis=1), width // 2)
    last = np.where(some, width - there[:, ::-1].argmax(axis=1), width // 2)
    return first.astype(np.int64), last.astype(np.int64)


@kernel
def _count(rows, top, bounds, length, tangent, hours, counts):  # type: ignore[no-untyped-def]
    """Fill what is counted of each record, shape (systems, COUNTS)."""
    # `rows` has shape (systems, intervals) [kW], NaN where there is no reading; `top` (systems,)
    # [kW]; `bounds` (days, 6); `length` and `tangent` (days,); `hours` is an interval's [h].
    for s in range(rows.shape[0]):
        row, of = rows[s], counts[s]
        idle, nothing = np.float32(IDLE * top[s]), np.float32(NOTHING * top[s])
        some, most = np.float32(SOME * top[s]), np.float32(MOST * top[s])
        bright_day = np.float32(BRIGHT_DAY * top[s])
        dark, dark_lit, light, between = 0, 0, 0, 0
        for d in range(len(length)):
            begin, dawn, dusk, end = bounds[d, 0], bounds[d, 1], bounds[d, 4], bounds[d, 5]
            for k in range(begin, dawn):
                dark += row[k] == row[k]
                dark_lit += row[k] > idle
            for k in range(dusk, end):
                dark += row[k] == row[k]
                dark_lit += row[k] > idle
            highest = np.float32(0.0)
            for k in range(dawn, dusk):
                light += row[k] > some
                between += (row[k] > some) & (row[k] < most)
                highest = max(highest, row[k]) if row[k] == row[k] else highest
            if highest <= bright_day:
                continue
            up, zeros = 0, 0
            for k in range(bounds[d, 2], bounds[d, 3]):
                up += row[k] == row[k]
                zeros += row[k] <= nothing
            of[BRIGHT_DAYS] += 1.0
            of[UP] += up
            of[ZERO] += zeros
            of[DAYS_WITH_ZEROS] += zeros > 0
            first, last = begin, end - 1
            while first < last and not row[first] > idle:
                first += 1
            while last > first and not row[last] > idle:
                last -= 1
            if first == begin or last == end - 1 or last == first:
                continue
            before, after = row[first - 1], row[last + 1]
            if before == before and after == after:
                rise = (idle - before) / (row[first] - before)
                fall = (row[last] - idle) / (row[last] - after)
                beyond = (last - first + 1.0 - rise + fall) * hours - length[d]
                beyond = min(max(beyond, -LONGEST), LONGEST)
                of[DAYS] += 1.0
                of[LENGTH] += beyond
                of[LENGTH_SQUARED] += beyond * beyond
                of[TANGENT] += tangent[d]
                of[TANGENT_SQUARED] += tangent[d] * tangent[d]
                of[PRODUCT] += beyond * tangent[d]
        of[DARK], of[DARK_LIT], of[LIT], of[BETWEEN] = dark, dark_lit, light, between
