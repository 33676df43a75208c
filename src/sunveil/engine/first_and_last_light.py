"""First and last light; daylight saving; clock steps within a record."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import IntEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from sunveil.engine.bright_envelope import profiles_of
from sunveil.engine.constants import Numbers
from sunveil.engine.power_model import CAPACITY, HAZE, HEAT, PARAMETERS
from sunveil.engine.sky_tables import SkyTable
from sunveil.estimates.planes_and_intervals import ClockHypothesis, ClockStep
from sunveil.site import DAY, Array, Site

Matrix = NDArray[np.float32]

# Light begins and ends at this share of the bright power.
THRESHOLD = 0.01

# Share of a day's intervals that must have a reading for its light to be known.
WHOLE = 0.9

# Days before and after a day; the brightest of them stands for a clear day. [days]
AROUND = 15

# Days that are enough for a median.
FEWEST_DAYS = 10

kernel = njit(cache=True, nogil=True, error_model="numpy")


class Season(IntEnum):
    """Which days are looked at."""

    ALL = 0
    WINTER = 1
    SUMMER = 2


@dataclass(frozen=True, slots=True, eq=False)
class Daylight:
    bounds: Matrix
    energy: Matrix  # sum over the day, up to a factor, shape (systems, days)

    def middle(self) -> Daylight:
        """Return the daylight with one bound only, halfway between its first and last light."""
        return Daylight(self.bounds.mean(axis=0, keepdims=True), self.energy)

    def take(self, systems: NDArray[np.intp]) -> Daylight:
        """Return the daylight of some of the systems."""
        return Daylight(self.bounds[:, systems], self.energy[systems])


@dataclass(frozen=True, slots=True)
class SolarDays:
    """The days of a grid from solar midnight to solar midnight."""

    first: int  # number of the first day since 1970
    lead: int  # intervals of the first day that lie before the grid
    per_day: int  # intervals of a day
    count: int  # how many days; none where intervals do not divide a day

    @classmethod
    def of(cls, sky: SkyTable) -> SolarDays:
        """Return the solar days of a sky's grid."""
        long = sky.grid.long
        local = long.first + sky.turn
        lead, per_day = local % DAY // long.step, DAY // long.step
        whole = DAY % long.step == 0
        return cls(local // DAY, lead, per_day, -(-(lead + long.count) // per_day) if whole else 0)


def measured_daylight(rows: Matrix, bright: Array, days: SolarDays) -> Daylight:
    """Return the daylight of readings."""
    shape = len(rows), days.count
    out = Daylight(np.empty((2, *shape), dtype=np.float32), np.empty(shape, dtype=np.float32))
    thresholds = (THRESHOLD * bright).astype(np.float32)
    _fill_bounds(
        rows, thresholds, days.lead, days.per_day, WHOLE * days.per_day, out.bounds, out.energy
    )
    return out


def modelled_daylight(
    points: Array, bright: Array, sky: SkyTable, numbers: Numbers, days: SolarDays
) -> Daylight:
    """Return the daylight of planes, under the maps' own haze on an open rack."""
    light = measured_daylight(
        _daylight_rows(points, sky, numbers), bright / np.exp(points[:, CAPACITY]), days
    )
    if sky.clear:
        return light
    # measured weather is dull on dull days: a day is bright beside the brightest ones around it
    return Daylight(light.bounds, maximum_filter1d(light.energy, 2 * AROUND + 1, axis=1))


def flat_daylight(sky: SkyTable, numbers: Numbers, days: SolarDays) -> Daylight:
    """Return the daylight of a flat plane, which every system's is compared with first."""
    rows = _daylight_rows(np.zeros((1, PARAMETERS)), sky, numbers)
    return measured_daylight(rows, np.quantile(rows[:, sky.slot[: sky.usable]], [0.98]), days)


def _daylight_rows(points: Array, sky: SkyTable, numbers: Numbers) -> Matrix:
    """Return the power of planes on the long grid, a kilowatt each, zero by night."""
    sharp = points.copy()
    sharp[:, HAZE], sharp[:, HEAT] = 0.0, 1.0
    rows = np.zeros((len(points), sky.grid.long.count), dtype=np.float32)
    usable, rest = sky.slot[: sky.usable], sky.slot[sky.usable :]
    rows[:, usable] = profiles_of(sky.sheet, sharp, numbers)[:, : len(usable)]
    rows[:, rest] = profiles_of(sky.low, sharp, numbers)[:, : len(rest)]
    return rows


def typical_leads(
    measured: Daylight,
    modelled: Daylight,
    saving: NDArray[np.bool_],
    season: Season,
    *,
    minutes: float,
) -> Array:
    """Return how far first and last light run ahead of a plane's on brighter days. [minutes]"""
    ahead = measured.bounds - modelled.bounds
    chosen = np.isfinite(ahead[0])
    if season is not Season.ALL:
        chosen &= saving == (season is Season.SUMMER)
    bright = measured.energy / np.maximum(modelled.energy, np.float32(1e-9))
    kept = chosen & (bright >= lower_median(bright, chosen)[:, None])
    enough = chosen.sum(axis=1) >= FEWEST_DAYS
    medians = np.array([lower_median(each, kept) for each in ahead])
    return np.where(enough, medians * minutes, np.nan)


def moved_together(leads: NDArray[np.floating]) -> Array:
    """Return by how much first and last light are off the same way, zero where they are not."""
    # `leads` has first and last light along its first axis. Only a clock does this: what stands
    # before the sun, and what a plane lacks of it, makes days shorter or longer at one end.
    first, last = leads
    least = np.minimum(np.abs(first), np.abs(last))
    return np.where(first * last > 0.0, np.copysign(least, first), 0.0)


def lower_median(values: NDArray[np.floating], chosen: NDArray[np.bool_]) -> Array:
    """Return the lower median of each row's chosen values, infinite where there are none."""
    ordered = np.sort(np.where(chosen, values, np.float32(np.inf)), axis=1)
    place = np.maximum((chosen.sum(axis=1) - 1) // 2, 0)
    return np.asarray(ordered[np.arange(len(values)), place])


@kernel
def _fill_bounds(rows, thresholds, lead, per_day, least, bounds, energy):  # type: ignore[no-untyped-def]
    """Fill the bounds of each day's light, in intervals, NaN where unknown, and its sum."""
    # `rows` has shape (systems, intervals), NaN where there is no reading; `bounds` (2, systems,
    # days), `energy` (systems, days); a day needs `least` readings.
    for s in range(rows.shape[0]):
        row, threshold = rows[s], thresholds[s]
        for d in range(energy.shape[1]):
            start = d * per_day - lead
            low, high = max(start, 0), min(start + per_day, len(row))
            there, total = 0, np.float32(0.0)
            for k in range(low, high):
                known = row[k] == row[k]
                there += known
                total += row[k] if known else np.float32(0.0)
            energy[s, d] = total
            bounds[:, s, d] = np.nan
            first, last = low, high - 1
            while first < high and not row[first] > threshold:
                first += 1
            while last > first and not row[last] > threshold:
                last -= 1
            if there < least or last <= first or first <= low or last >= high - 1:
                continue
            before, after = row[first - 1], row[last + 1]
            before = before if before == before else np.float32(0.0)
            after = after if after == after else np.float32(0.0)
            rise = (threshold - before) / (row[first] - before)
            fall = (row[last] - threshold) / (row[last] - after)
            bounds[0, s, d] = first - 1 - start + rise
            bounds[1, s, d] = last - start + fall


_DAY = 86400

_MANY_DAYS = 512


@dataclass(frozen=True, slots=True, eq=False)
class ClockCalendar:
    """What decides how far stamps run ahead, one entry each."""

    day: NDArray[np.int64]  # the solar day that each lies in, counted since 1970
    saving: NDArray[np.bool_]  # whether it lies in daylight saving

    @classmethod
    def of(cls, seconds: NDArray[np.int64], site: Site, timezone: str) -> ClockCalendar:
        turned = seconds + round(site.longitude * 240.0)
        return cls(turned // _DAY, saving_days(seconds // _DAY, saving_rule(site, timezone)))


def saving_rule(site: Site, timezone: str) -> ZoneInfo | None:
    """Return the zone of the daylight-saving dates: the declared one, or one by place."""
    try:
        declared = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, IsADirectoryError):
        declared = None
    if declared is not None and not timezone.upper().startswith(("UTC", "ETC/", "GMT")):
        return declared
    latitude, longitude = site.latitude, site.longitude
    if latitude > 15.0 and -170.0 < longitude < -50.0:
        return ZoneInfo("America/Denver")
    if latitude > 33.0 and -25.0 < longitude < 45.0:
        return ZoneInfo("Europe/Berlin")
    if latitude < -24.0 and 140.0 < longitude < 180.0:
        return ZoneInfo("Australia/Sydney")
    return None


def saving_days(days: NDArray[np.int64], rule: ZoneInfo | None) -> NDArray[np.bool_]:
    """Return which days (numbers since 1970) lie in daylight saving."""
    if rule is None or len(days) == 0:
        return np.zeros(len(days), dtype=bool)
    first, last = int(days.min()) // _MANY_DAYS, int(days.max()) // _MANY_DAYS
    known = np.concatenate([_saving_part(rule, part) for part in range(first, last + 1)])
    return np.asarray(known[days - first * _MANY_DAYS])


@functools.lru_cache(maxsize=256)
def _saving_part(rule: ZoneInfo, part: int) -> NDArray[np.bool_]:
    """Return which days of some hundreds lie in daylight saving."""
    days = part * _MANY_DAYS + np.arange(_MANY_DAYS, dtype=np.int64)
    noons = (days * _DAY + _DAY // 2).astype("datetime64[s]").astype(object)
    return np.array([bool(rule.dst(noon)) for noon in noons])


# How far a clock may be off on some days of a record, against most of them. [minutes]
OFFSETS = 30.0 * np.arange(-4, 5)

# What a day at most says against an offset. [minutes]
MOST_OF_A_DAY = 45.0

# What speaks against an offset on every day, as a share of it.
OPEN_SHARE = 0.05

# What a step must explain, over all days. [minutes]
PRICE = 400.0

# More steps are no clock that somebody set.
MOST_STEPS = 24

# Length of the parts looked at first [days], how many must be far off, and how far. [minutes]
PART_DAYS, FEWEST_PARTS, PART_MINUTES = 14, 2, 17.0


def may_have_steps(measured: Daylight, flat: Daylight, *, minutes: float) -> NDArray[np.bool_]:
    """Return which systems have weeks with light far from that of most days."""
    _, systems, days = measured.bounds.shape
    parts = days // PART_DAYS
    if parts <= FEWEST_PARTS:
        return np.zeros(systems, dtype=bool)
    ahead = ((measured.bounds - flat.bounds) * np.float32(minutes))[:, :, : parts * PART_DAYS]
    by_part = ahead.reshape(2 * systems * parts, PART_DAYS)
    typical = lower_median(by_part, np.isfinite(by_part)).reshape(2, systems, parts)
    there = np.isfinite(typical)
    usual = np.array([lower_median(each, own) for each, own in zip(typical, there, strict=True)])
    away = np.where(
        there.all(axis=0), typical - np.where(usual < np.inf, usual, 0.0)[:, :, None], 0.0
    )
    far = np.abs(moved_together(away)) > PART_MINUTES
    return np.asarray(far.sum(axis=1) >= FEWEST_PARTS)


def light_against(leads: Array, offsets: Array) -> Array:
    """Return what each day says against each offset, shape (days, offsets). [minutes]"""
    away = leads[:, :, None] - offsets
    against = np.minimum(np.abs(moved_together(away)), MOST_OF_A_DAY)
    shown = np.isfinite(leads[0]) & np.isfinite(leads[1])
    return np.where(shown[:, None], against, 0.0)


def offsets_by_day(leads: Array, *, step: int) -> list[Array]:
    """Return offsets of each day that explain the light with few steps. [minutes]"""
    rests = OFFSETS * 60.0 % step
    paths = []
    for rest in np.unique(rests):
        offsets = OFFSETS[rests == rest]
        # where days leave it open, the clock is right
        against = light_against(leads, offsets) + OPEN_SHARE * np.abs(offsets)
        places = np.empty(len(against), dtype=np.int64)
        _cheapest_path(against, PRICE, places, np.empty(against.shape, dtype=np.int64))
        paths.append(offsets[places])
    return paths


def with_offsets(
    clock: ClockHypothesis, offsets: Array, calendar: ClockCalendar
) -> ClockHypothesis:
    """Return a clock without steps that runs ahead by more on some days."""
    total = clock.offset_minutes + offsets
    changes = np.flatnonzero(np.diff(total)) + 1
    steps = tuple(ClockStep.on(calendar.day[k], total[k]) for k in changes.tolist())
    return ClockHypothesis(float(total[0]), clock.saving, steps)


@kernel
def _cheapest_path(against, price, places, came):  # type: ignore[no-untyped-def]
    """Fill the place of each day's offset, so that days and steps together cost least."""
    # `against` has shape (days, offsets), `places` (days,); `came` is scratch, (days, offsets).
    days, count = against.shape
    total = against[0].copy()
    for d in range(1, days):
        cheapest = int(np.argmin(total))
        least = total[cheapest] + price
        for k in range(count):
            came[d, k] = k
            if least < total[k]:
                total[k], came[d, k] = least, cheapest
            total[k] += against[d, k]
    places[days - 1] = int(np.argmin(total))
    for d in range(days - 1, 0, -1):
        places[d - 1] = came[d, places[d]]
