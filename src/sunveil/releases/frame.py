"""The public frame of a release: candidates, times, and what each candidate would give.

A frame is made of weather, place, times and choices. No reading is looked at: which intervals a
record has a reading for makes no difference to it beyond the first and the last day, and a missing
reading agrees with no candidate.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.engine.skytable import LOWEST
from sunveil.errors import MeterError, ParameterError
from sunveil.grids import Grid
from sunveil.meters.clock import clock_elsewhere
from sunveil.meters.coarsen import coarsen
from sunveil.meters.record import Cleaning, Record
from sunveil.privacy.units import Unit
from sunveil.releases.choices import Choices
from sunveil.releases.mounts import Mounts
from sunveil.releases.prior import mount_offsets
from sunveil.releases.profiles import mount_profiles
from sunveil.scores import Logs, RatioBins, log_power
from sunveil.site import Array
from sunveil.sky import covered, sun_at
from sunveil.timegrid import DAY, TimeGrid
from sunveil.weather import Weather, WeatherCache, clearsky

# Shorter intervals are averaged to this, which no reading can change. [minutes]
SHORTEST = 15.0
# Readings are held to this and to zero, each alone, so that their sums are finite. [kW]
LARGEST = 1e15
# A civil day begins at most this long before and after mean solar midnight: in Alaska by daylight
# saving time and in the west of China, and in the east of Brazil and of Poland, with room. A
# quarter of an hour of the first is for stamps that are taken for their intervals' middle. [s]
MIDNIGHT_BEFORE, MIDNIGHT_AFTER = 12_600, 3_600


def time_grid_of(record: Record, *, longitude: float) -> TimeGrid:
    """Return the whole solar days between the first and the last row of a record's source.

    Parameters
    ----------
    record
        As :func:`prepared` returns it.
    longitude
        Of the system, which says when its solar days begin. [degrees east]

    Privacy
    -------
    Public: it depends on which rows the source has, with a reading or without.
    """
    step = round(record.interval_minutes * 60.0)
    # of the rows, not of the readings: that a reading is missing is private
    first, last = (int(end.astype("datetime64[s]").astype(np.int64)) for end in record.extent)
    turn = round(longitude * 240.0)
    before = ((first + turn) % DAY) // step
    count = before + (last - first) // step + 1
    return TimeGrid(first - before * step, step, -(-count * step // DAY) * DAY // step)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What is public about a release.

    Parameters
    ----------
    weather
        The weather that candidates are modelled under.
    time_grid
        The intervals, whole solar days of them.
    choices
        Grids, tolerances and thresholds; those of scores are settled (:meth:`settled`).
    mounts
        What candidates stand on: single planes, and pairs and trackers where they are candidates.
    lit
        Which intervals are in daylight, by the declared clock; none about midnight.
    days
        Where each solar day begins among the lit intervals, and where the last ends.
    dark
        In which intervals the sun is well below the horizon, so that a net meter sees load alone;
        none about midnight.
    profiles
        Logarithm of every mount's profile in the lit intervals, for every clock under every haze.
    """

    weather: Weather
    time_grid: TimeGrid
    choices: Choices
    mounts: Mounts
    lit: NDArray[np.bool_]
    days: NDArray[np.int64]
    dark: NDArray[np.bool_]
    profiles: tuple[tuple[Logs, ...], ...]

    def __post_init__(self) -> None:
        check_fields(self)

    def __len__(self) -> int:
        return math.prod(self.shape)

    @property
    def grid(self) -> Grid:
        """The effective plane of every mount."""
        return self.mounts.grid

    @property
    def bins(self) -> RatioBins:
        """The capacities under their tolerance."""
        return RatioBins.of(self.choices.capacities, self.choices.tolerance)

    @property
    def nbytes(self) -> int:
        """What the profiles take in memory. [bytes]"""
        return sum(each.nbytes for each in chain.from_iterable(self.profiles))

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many clocks, mounts and capacities there are."""
        return len(self.profiles), len(self.mounts), len(self.choices.capacities)

    def fingerprint(self) -> str:
        """Return a digest of all that a score is made with, besides the readings."""
        digest = hashlib.sha256(self.choices.fingerprint().encode())
        grid = self.grid
        for part in (grid.surface_azimuth, grid.surface_tilt, self.lit, self.days, self.offsets()):
            digest.update(np.ascontiguousarray(part).tobytes())
        if self.choices.net is not None:
            digest.update(self.dark.tobytes())
        for profiles in chain.from_iterable(self.profiles):
            digest.update(np.ascontiguousarray(profiles).tobytes())
        return digest.hexdigest()

    @checked
    def settled(
        self,
        unit: Unit,
        epsilon: float,
        *,
        differenced: bool = False,
        time_grid: TimeGrid | None = None,
    ) -> Frame:
        """Return the frame with choices settled for a release; nothing is modelled anew.

        Parameters
        ----------
        unit, epsilon
            Of the release.
        differenced
            Whether the record holds differences of a register.
        time_grid
            The intervals of the record, where the frame is made for longer ones too.
        """
        grid = time_grid or self.time_grid
        choices = self.choices.settled(unit, epsilon, grid, differenced=differenced)
        found = replace(self, choices=choices)
        return found.of_singles() if choices.mounts is None else found

    def of_singles(self) -> Frame:
        """Return the frame with single planes for its only candidates."""
        mounts = Mounts(self.mounts.singles)
        profiles = tuple(tuple(each[: len(mounts)] for each in hazes) for hazes in self.profiles)
        choices = replace(self.choices, mounts=None, levels_behind=None)
        return replace(self, choices=choices, mounts=mounts, profiles=profiles)

    def offsets(self) -> NDArray[np.int64]:
        """Return what the public prior adds to every level, one number for each mount."""
        choices, offsets = self.choices, np.zeros(len(self.mounts), dtype=np.int64)
        if choices.planes is not None and choices.levels_per_nat is not None:
            offsets = mount_offsets(
                choices.planes,
                self.mounts,
                choices.mounts,
                self.weather.site.latitude,
                levels_per_nat=choices.levels_per_nat,
            )
        offsets[len(self.mounts.singles) :] -= choices.levels_behind or 0
        return offsets

    @checked
    def lit_flat(self, profiles: Logs) -> NDArray[np.int64]:
        """Return in how many intervals of each day a flat plane has light, the first candidate."""
        lit = np.isfinite(profiles[0]).astype(np.int64)
        return np.add.reduceat(lit, self.days[:-1])

    @checked
    def readings(self, record: Record) -> Logs:
        """Return the logarithm of a record's readings in the lit intervals."""
        return log_power(power_on(self.time_grid, record)[self.lit])


def power_on(time_grid: TimeGrid, record: Record) -> Array:
    """Return a record's power on a grid of times. [kW]

    Where there is no reading it is 0, which agrees with no candidate; NaN of a net meter.

    Refuses a record whose intervals are not those of the grid, without telling a reading.
    """
    held = prepared(record)
    if round(held.interval_minutes * 60.0) != time_grid.step:
        raise MeterError(
            f"system {record.system_id} has intervals of {held.interval_minutes:g} minutes, and"
            f" the release was framed for {time_grid.step / 60.0:g}"
        )
    seconds = held.times.astype("datetime64[s]").astype(np.int64)
    place, off = np.divmod(seconds - time_grid.first, time_grid.step)
    if len(place) and (off.any() or place.min() < 0 or place.max() >= time_grid.count):
        raise MeterError(
            f"system {record.system_id} has stamps outside the times that the release was"
            " framed for"
        )
    power: Array = np.full(time_grid.count, np.nan if record.net else 0.0)
    power[place] = held.power_kw
    return power


def check_clock(record: Record, longitude: float) -> None:
    """Refuse a record whose clock cannot be that of its place.

    Privacy
    -------
    Public: stamps and places are, and no reading is looked at.
    """
    # the weather may be of a cell whose middle is not the system's place
    if (reason := clock_elsewhere(record.timezone, longitude, slack=0.1)) is not None:
        raise ParameterError(f"system {record.system_id}: {reason}")


def prepared(record: Record) -> Record:
    """Return a record as releases take it: each reading cleaned alone, intervals not too short."""
    if record.cleaning is not Cleaning.EACH:
        raise MeterError(
            f"system {record.system_id} was read with rules that look at the whole record, which a"
            " private release cannot use; read it with cleaning='each'"
        )
    lowest = -LARGEST if record.net else 0.0
    held = replace(record, power_kw=np.clip(record.power_kw, lowest, LARGEST))
    if record.net:  # zeros would say something of it: without a whole interval it has no reading
        return coarsen(replace(held, rows_span=record.extent), SHORTEST)
    try:
        return coarsen(held, SHORTEST)
    except MeterError:
        # No longer interval is whole, which is private: zeros agree with no candidate either, and
        # have the span of the rows alone to be refused for.
        return coarsen(_zeros(record), SHORTEST)


def _zeros(record: Record) -> Record:
    """Return a record of zeros over the rows of another."""
    step = np.timedelta64(round(record.interval_minutes * 60.0), "s")
    first, last = record.extent
    times = np.arange(first, last + step, step)
    return replace(record, times=times, power_kw=np.zeros(len(times)))


def make_frame(
    weather: Weather,
    time_grid: TimeGrid,
    choices: Choices | None = None,
    *,
    cache: WeatherCache | None = None,
) -> Frame:
    """Return the public frame of releases over a grid of times under some weather.

    Parameters
    ----------
    weather
        Public weather, which brings the place.
    time_grid
        The intervals.
    choices
        The public choices; the defaults when left out.
    cache
        Where clear skies are kept.
    """
    choices = choices or Choices()
    times, length = time_grid.times, float(time_grid.step)
    clear = _clear_sky(weather, time_grid, cache)
    lit, dark = _lit(weather, clear, time_grid)
    solar = times[lit].astype(np.int64) + round(weather.site.longitude * 240.0)
    begins = np.flatnonzero(np.diff(solar // DAY, prepend=-1))
    mounts = Mounts.of(choices.grid(), choices.mounts)
    hazes = choices.hazes if weather.clear else (0.0,)
    under = partial(
        mount_profiles, weather, clear, times[lit], mounts, choices=choices, length=length
    )
    profiles = tuple(
        tuple(under(ahead=ahead, haze=haze) for haze in hazes) for ahead in choices.clocks
    )
    days = np.append(begins, int(lit.sum())).astype(np.int64)
    return Frame(weather, time_grid, choices, mounts, lit, days, dark, profiles)


def check_daylight(
    weather: Weather, time_grid: TimeGrid, *, cache: WeatherCache | None = None
) -> None:
    """Refuse times for which :func:`make_frame` would refuse, without modelling any candidate.

    Parameters
    ----------
    weather, time_grid
        Of the frame to be made.
    cache
        Where clear skies are kept.
    """
    _lit(weather, _clear_sky(weather, time_grid, cache), time_grid)


@checked
def frame_of(
    record: Record,
    weather: Weather,
    choices: Choices | None = None,
    *,
    cache: WeatherCache | None = None,
) -> Frame:
    """Return the public frame for the days of a record.

    Parameters
    ----------
    record
        Read with ``cleaning="each"``; its readings are not looked at, but whether it is declared a
        net meter.
    weather
        Public weather, which brings the place.
    choices
        The public choices; the defaults when left out.
    cache
        Where clear skies are kept.
    """
    time_grid = time_grid_of(prepared(record), longitude=weather.site.longitude)
    asked = (choices or Choices()).for_meter(net=record.net)
    return make_frame(weather, time_grid, asked, cache=cache)


def _clear_sky(weather: Weather, time_grid: TimeGrid, cache: WeatherCache | None) -> Weather:
    """Return the clear sky over a grid of times, two days more at either end."""
    if weather.clear:
        return weather
    times, edge = time_grid.times, np.timedelta64(2, "D")
    return clearsky(weather.site, f"{times[0] - edge}Z", f"{times[-1] + edge}Z", cache=cache)


def _lit(
    weather: Weather, clear: Weather, time_grid: TimeGrid
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which intervals have daylight in their middle, and weather; and which are dark."""
    middles = time_grid.times + np.timedelta64(round(time_grid.step / 2.0), "s")
    sun = sun_at(clear, middles)
    by_day = ~_about_midnight(time_grid, weather.site.longitude)
    lit: NDArray[np.bool_] = (sun[:, 2] > LOWEST) & covered(weather, middles) & by_day
    if not lit.any():
        raise MeterError("the readings and the weather have no daylight in common")
    return lit, np.asarray((sun[:, 2] < -LOWEST) & by_day)


def _about_midnight(time_grid: TimeGrid, longitude: float) -> NDArray[np.bool_]:
    """Return which intervals a civil day may begin or end in, or one before or after.

    They count for nothing, so that a civil day is part of one solar day alone. One more after it,
    since stamps that are taken for the start of their interval may be its end.
    """
    since = (time_grid.starts + round(longitude * 240.0)) % DAY
    step = time_grid.step
    return (since < MIDNIGHT_AFTER + step) | (since + step > DAY - MIDNIGHT_BEFORE)
