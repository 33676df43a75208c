"""The public frame of a release: candidates, calendar, and what each candidate would give.

A frame is made of weather, place, calendar and choices. No reading is looked at: which intervals a
record has a reading for makes no difference to it beyond the first and the last day, and a missing
reading agrees with no candidate.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.atlas import Grid
from sunveil.errors import MeterError
from sunveil.engine.assumed import TYPICAL_HAZE
from sunveil.engine.skytable import LOWEST
from sunveil.meters.coarsen import coarsen
from sunveil.meters.record import Cleaning, Record
from sunveil.releases.choices import Choices
from sunveil.search.exhaustive import blocks
from sunveil.site import Array
from sunveil.sky import covered, sky_at, unit_power
from sunveil.tally import Bins, Logs, log_power, log_profiles
from sunveil.weather import Weather, WeatherCache, clearsky

# Shorter intervals are averaged to this, which no reading can change. [minutes]
SHORTEST = 15.0
# Readings are held to this and to zero, each alone, so that their sums are finite. [kW]
LARGEST = 1e15
DAY = 86400


@dataclass(frozen=True, slots=True)
class Calendar:
    """A public, evenly spaced run of intervals.

    Parameters
    ----------
    start
        UTC start of the first. [s since 1970]
    interval_minutes
        Length of each. [minutes]
    count
        How many.
    """

    start: int
    interval_minutes: float
    count: int

    @classmethod
    def of(cls, record: Record, *, longitude: float) -> Calendar:
        """Return the whole solar days between the first and the last row of a record's source."""
        step = round(record.interval_minutes * 60.0)
        # of the rows, not of the readings: that a reading is missing is private
        first, last = (int(end.astype("datetime64[s]").astype(np.int64)) for end in record.extent)
        turn = round(longitude * 240.0)
        before = ((first + turn) % DAY) // step
        count = before + (last - first) // step + 1
        return cls(
            first - before * step, record.interval_minutes, -(-count * step // DAY) * DAY // step
        )

    @property
    def days(self) -> int:
        """How many days it spans."""
        return -(-self.count * round(self.interval_minutes * 60.0) // DAY)

    @property
    def times(self) -> NDArray[np.datetime64]:
        """UTC start of each interval."""
        step = round(self.interval_minutes * 60.0)
        seconds = self.start + step * np.arange(self.count, dtype=np.int64)
        return seconds.astype("datetime64[s]")


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What is public about a release.

    Parameters
    ----------
    weather
        The weather that candidates are modelled under.
    calendar
        The intervals.
    choices
        Grids, tolerances and thresholds.
    grid
        The candidate planes.
    lit
        Which intervals of the calendar are in daylight, by the declared clock.
    days
        Where each solar day begins among the lit intervals, and where the last ends.
    profiles
        Logarithm of every plane's profile in the lit intervals, one array per clock.
    """

    weather: Weather
    calendar: Calendar
    choices: Choices
    grid: Grid
    lit: NDArray[np.bool_]
    days: NDArray[np.int64]
    profiles: tuple[Logs, ...]

    def __len__(self) -> int:
        return len(self.profiles) * len(self.grid) * len(self.choices.capacities)

    @property
    def bins(self) -> Bins:
        """The capacities under their tolerance."""
        return Bins.of(self.choices.capacities, self.choices.tolerance)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many clocks, planes and capacities there are."""
        return len(self.profiles), len(self.grid), len(self.choices.capacities)

    def fingerprint(self) -> str:
        """Return a digest of all that a score is made with, besides the readings."""
        digest = hashlib.sha256(self.choices.fingerprint().encode())
        for part in (self.grid.surface_azimuth, self.grid.surface_tilt, self.lit, self.days):
            digest.update(np.ascontiguousarray(part).tobytes())
        for profiles in self.profiles:
            digest.update(np.ascontiguousarray(profiles).tobytes())
        return digest.hexdigest()

    def readings(self, record: Record) -> Logs:
        """Return the logarithm of a record's readings in the lit intervals."""
        held = prepared(record)
        if held.interval_minutes != self.calendar.interval_minutes:
            raise MeterError(
                f"system {record.system_id} has intervals of {held.interval_minutes:g} minutes, and"
                f" the release was framed for {self.calendar.interval_minutes:g}"
            )
        step = round(self.calendar.interval_minutes * 60.0)
        seconds = held.times.astype("datetime64[s]").astype(np.int64)
        place, off = np.divmod(seconds - self.calendar.start, step)
        if off.any() or place.min() < 0 or place.max() >= self.calendar.count:
            raise MeterError(
                f"system {record.system_id} has stamps outside the calendar that the release was"
                " framed for"
            )
        power = np.full(self.calendar.count, np.nan)
        power[place] = held.power_kw
        return log_power(np.nan_to_num(power[self.lit], nan=0.0))


def prepared(record: Record) -> Record:
    """Return a record as releases take it: each reading cleaned alone, intervals not too short."""
    if record.cleaning is not Cleaning.EACH:
        raise MeterError(
            f"system {record.system_id} was read with rules that look at the whole record, which a"
            " private release cannot use; read it with cleaning='each'"
        )
    held = np.clip(record.power_kw, 0.0, LARGEST)
    return coarsen(replace(record, power_kw=held), SHORTEST)


def make_frame(
    weather: Weather,
    calendar: Calendar,
    choices: Choices | None = None,
    *,
    cache: WeatherCache | None = None,
) -> Frame:
    """Return the public frame of releases over a calendar under some weather."""
    choices = choices or Choices()
    times = calendar.times
    length = calendar.interval_minutes * 60.0
    edge = np.timedelta64(2, "D")
    clear = (
        weather
        if weather.clear
        else clearsky(weather.site, *_stamps(times[0] - edge, times[-1] + edge), cache=cache)
    )
    middles = times + np.timedelta64(round(length / 2.0), "s")
    middle = sky_at(weather, middles, clear)
    lit = (middle.sun[:, 2] > LOWEST) & covered(weather, middles)
    if not lit.any():
        raise MeterError("the readings and the weather have no daylight in common")
    solar = times[lit].astype(np.int64) + round(weather.site.longitude * 240.0)
    begins = np.flatnonzero(np.diff(solar // DAY, prepend=-1))
    grid = choices.grid()
    profiles = tuple(
        _profiles(weather, clear, times[lit], grid, choices=choices, ahead=ahead, length=length)
        for ahead in choices.clocks
    )
    days = np.append(begins, int(lit.sum())).astype(np.int64)
    return Frame(weather, calendar, choices, grid, lit, days, profiles)


def frame_of(
    record: Record,
    weather: Weather,
    choices: Choices | None = None,
    *,
    cache: WeatherCache | None = None,
) -> Frame:
    """Return the public frame for the calendar of a record."""
    calendar = Calendar.of(prepared(record), longitude=weather.site.longitude)
    return make_frame(weather, calendar, choices, cache=cache)


def _profiles(
    weather: Weather,
    clear: Weather,
    starts: NDArray[np.datetime64],
    grid: Grid,
    *,
    choices: Choices,
    ahead: float,
    length: float,
) -> Logs:
    """Return the logarithm of every plane's mean profile over each interval."""
    places, weights = np.polynomial.legendre.leggauss(2 if length > 900.0 else 1)
    early = np.timedelta64(round(ahead * 60.0), "s")
    skies = []
    for place in places:
        offset = np.timedelta64(round((place + 1.0) / 2.0 * length), "s")
        sky = sky_at(weather, starts - early + offset, clear)
        skies.append(sky.hazier(TYPICAL_HAZE) if weather.clear else sky)
    out = np.empty((len(grid), len(starts)), dtype=np.float32)
    for piece, part in blocks(grid, 256):
        normals = part.normals
        mean: Array = np.zeros((len(part), len(starts)))
        for sky, weight in zip(skies, weights, strict=True):
            mean += (weight / 2.0) * unit_power(
                sky, normals, losses=choices.losses, albedo=choices.albedo, heat=choices.heat
            )
        out[piece] = log_profiles(mean.astype(np.float32), choices.tolerance.floor)
    return out


def _stamps(*times: np.datetime64) -> list[str]:
    return [f"{time}Z" for time in times]
