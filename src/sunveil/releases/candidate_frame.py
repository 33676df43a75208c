"""The public frame of a release: profiles of all candidates."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked
from sunveil.engine.sky_tables import LOWEST
from sunveil.errors import MeterError, ParameterError
from sunveil.fleet.blocks import power_on, time_grid_of
from sunveil.grids import Grid
from sunveil.meters.record import Record, prepared
from sunveil.meters.time_steps import clock_elsewhere
from sunveil.paper.grid_and_bayesian_search import blocks
from sunveil.privacy.guarantees import Unit
from sunveil.pv_model import Sky, ac_power, covered, sky_at, sun_at
from sunveil.releases.prior_and_votes import (
    Mounts,
    PlanePairs,
    SingleAxisTrackers,
    mount_offsets,
    sun_angles,
)
from sunveil.releases.release_choices import Choices
from sunveil.releases.score_kernels import Logs, RatioBins, log_power, log_profiles
from sunveil.site import DAY, Array, TimeGrid
from sunveil.weather.cache import WeatherCache
from sunveil.weather.clear_sky import clearsky
from sunveil.weather.weather_data import Weather

# Instants of mounts that are modelled at once: what is made on the way stays in the cache, and
# short records do not pay for many small pieces.
_TOGETHER, _FEWEST = 65_536, 32

Powers = NDArray[np.floating]


def mount_profiles(
    weather: Weather,
    clear: Weather,
    starts: NDArray[np.datetime64],
    mounts: Mounts,
    *,
    choices: Choices,
    ahead: float,
    hazes: Sequence[float],
    length: float,
) -> tuple[Logs, ...]:
    """Return the logarithm of every mount's mean profile over each interval, for each haze."""
    # at one or two places of Gauss-Legendre, which count alike
    places, _ = np.polynomial.legendre.leggauss(2 if length > 900.0 else 1)
    early = np.timedelta64(round(ahead * 60.0), "s")
    offsets = [np.timedelta64(round((place + 1.0) / 2.0 * length), "s") for place in places]
    skies = [sky_at(weather, starts - early + offset, clear) for offset in offsets]
    normals = _tracker_normals(skies, mounts.trackers)  # where the sun is, whatever the haze
    return tuple(
        _log_profiles([sky.hazier(haze).single() for sky in skies], mounts, normals, choices)
        for haze in hazes
    )


def _log_profiles(
    skies: Sequence[Sky], mounts: Mounts, normals: Sequence[Array], choices: Choices
) -> Logs:
    out = np.empty((len(mounts), len(skies[0].sun)), dtype=np.float32)
    first = 0
    for powers in _powers(skies, mounts, normals, choices):
        log_profiles(powers, choices.tolerance.floor, out=out[first : first + len(powers)])
        first += len(powers)
    return out


def _tracker_normals(
    skies: Sequence[Sky], trackers: SingleAxisTrackers | None
) -> list[NDArray[np.float64]]:
    """Return the unit normals of all trackers under each sky, shape (trackers, instants, 3)."""
    if trackers is None:
        return []
    suns = [sun_angles(sky.single().sun.astype(np.float64)) for sky in skies]
    return [
        np.stack([trackers.normals(number, *angles) for number in range(len(trackers))])
        for angles in suns
    ]


def _powers(
    skies: Sequence[Sky], mounts: Mounts, normals: Sequence[Array], choices: Choices
) -> Iterator[Powers]:
    """Yield the power of mounts per kW, some of them at a time, in their order."""
    for _, part in blocks(mounts.singles, _together(skies)):
        yield _mean_power(skies, [part.normals] * len(skies), choices)
    if mounts.pairs is not None:
        yield from _pair_powers(skies, mounts.pairs, choices)
    for number in range(0 if mounts.trackers is None else len(mounts.trackers)):
        yield _mean_power(skies, [each[number : number + 1] for each in normals], choices)


def _together(skies: Sequence[Sky]) -> int:
    """Return how many mounts are modelled at once."""
    return max(_FEWEST, _TOGETHER // len(skies[0].sun))


def _mean_power(skies: Sequence[Sky], normals: Sequence[Array], choices: Choices) -> Powers:
    """Return the mean of what planes give under skies, with their normals under each."""
    mean, *others = (
        ac_power(sky, each, losses=choices.losses, albedo=choices.albedo, heat=choices.heat)
        for sky, each in zip(skies, normals, strict=True)
    )
    for power in others:
        mean += power
    mean /= len(skies)
    return mean


def _pair_powers(skies: Sequence[Sky], pairs: PlanePairs, choices: Choices) -> Iterator[Powers]:
    """Yield the sums of two planes each, which many pairs have in common."""
    both = np.stack([np.concatenate([pairs.first, pairs.second]), np.tile(pairs.tilt, 2)])
    (azimuth, tilt), place = np.unique(both, axis=1, return_inverse=True)
    first, second = place.reshape(2, -1)
    planes = np.concatenate(
        [
            _mean_power(skies, [part.normals] * len(skies), choices)
            for _, part in blocks(Grid(azimuth, tilt), _together(skies))
        ]
    )
    share, together = pairs.share[:, np.newaxis].astype(planes.dtype), _together(skies)
    for begin in range(0, len(pairs), together):
        some = slice(begin, begin + together)
        # in place, since new arrays of this size cost more than the sums
        power, other = planes[first[some]], planes[second[some]]
        power *= share[some]
        other *= 1.0 - share[some]
        power += other
        yield power


# A civil day begins at most this long before and after mean solar midnight: in Alaska by daylight
# saving time and in the west of China, and in the east of Brazil and of Poland, with room. A
# quarter of an hour of the first is for stamps that are taken for their intervals' middle. [s]
MIDNIGHT_BEFORE, MIDNIGHT_AFTER = 12_600, 3_600


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseFrame:
    """What is public about a release."""

    weather: Weather  # the weather that candidates are modelled under
    time_grid: TimeGrid  # the intervals, whole solar days of them
    # Grids, tolerances and thresholds; those of scores are resolved (:meth:`resolved`)
    choices: Choices
    # what candidates stand on: single planes, and pairs and trackers where they are candidates
    mounts: Mounts
    # which intervals are in daylight, by the declared clock; none about midnight
    daylight: NDArray[np.bool_]
    # where each solar day begins among the daylight intervals, and where the last ends
    days: NDArray[np.int64]
    # in which intervals the sun is well below the horizon, so that a net meter sees load alone;
    # none about midnight
    night: NDArray[np.bool_]
    # logarithm of every mount's profile in the daylight intervals, for each clock and haze
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
        parts = (grid.surface_azimuth, grid.surface_tilt, self.daylight, self.days, self.offsets())
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        if self.choices.net is not None:
            digest.update(self.night.tobytes())
        for profiles in chain.from_iterable(self.profiles):
            digest.update(np.ascontiguousarray(profiles).tobytes())
        return digest.hexdigest()

    @checked
    def resolved(
        self,
        unit: Unit,
        epsilon: float,
        *,
        differenced: bool = False,  # whether the record holds differences of a register
        # the intervals of the record, where the frame is made for longer ones too
        time_grid: TimeGrid | None = None,
    ) -> ReleaseFrame:
        """Return the frame with choices resolved for a release; nothing is modelled again."""
        grid = time_grid or self.time_grid
        choices = self.choices.resolved(unit, epsilon, grid, differenced=differenced)
        found = replace(self, choices=choices)
        return found.of_singles() if choices.mounts is None else found

    def of_singles(self) -> ReleaseFrame:
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
    def daylight_flat(self, profiles: Logs) -> NDArray[np.int64]:
        """Return in how many intervals of each day a flat plane has light, the first candidate."""
        daylight = np.isfinite(profiles[0]).astype(np.int64)
        return np.add.reduceat(daylight, self.days[:-1])

    @checked
    def readings(self, record: Record) -> Logs:
        """Return the logarithm of a record's readings in the daylight intervals."""
        return log_power(power_on(self.time_grid, record)[self.daylight])


def check_clock(record: Record, longitude: float) -> None:
    """Refuse a record if its clock cannot be that of its place."""
    # Public: stamps and places are, and no reading is looked at.
    # the weather may be of the middle of a cell, away from the system
    if (reason := clock_elsewhere(record.timezone, longitude, slack=0.1)) is not None:
        raise ParameterError(f"system {record.system_id}: {reason}")


def make_frame(
    weather: Weather,
    time_grid: TimeGrid,
    choices: Choices | None = None,
    *,
    cache: WeatherCache | None = None,
) -> ReleaseFrame:
    """Return the public frame of releases over a grid of times under some weather."""
    choices = choices or Choices()
    times, length = time_grid.times, float(time_grid.step)
    clear = _clear_sky(weather, time_grid, cache)
    daylight, night = _daylight(weather, clear, time_grid)
    solar = times[daylight].astype(np.int64) + round(weather.site.longitude * 240.0)
    begins = np.flatnonzero(np.diff(solar // DAY, prepend=-1))
    mounts = Mounts.of(choices.grid(), choices.mounts)
    hazes = choices.hazes if weather.clear else (0.0,)
    under = partial(
        mount_profiles, weather, clear, times[daylight], mounts, choices=choices, length=length
    )
    profiles = tuple(under(ahead=ahead, hazes=hazes) for ahead in choices.clocks)
    days = np.append(begins, int(daylight.sum())).astype(np.int64)
    return ReleaseFrame(weather, time_grid, choices, mounts, daylight, days, night, profiles)


def check_daylight(
    weather: Weather, time_grid: TimeGrid, *, cache: WeatherCache | None = None
) -> None:
    """Refuse times for which :func:`make_frame` would refuse, without modelling any candidate."""
    _daylight(weather, _clear_sky(weather, time_grid, cache), time_grid)


@checked
def frame_of(
    record: Record,
    weather: Weather,
    choices: Choices | None = None,
    *,
    cache: WeatherCache | None = None,
) -> ReleaseFrame:
    """Return the public frame for the days of a record."""
    time_grid = time_grid_of(prepared(record), longitude=weather.site.longitude)
    asked = (choices or Choices()).for_meter(net=record.net)
    return make_frame(weather, time_grid, asked, cache=cache)


def _clear_sky(weather: Weather, time_grid: TimeGrid, cache: WeatherCache | None) -> Weather:
    """Return the clear sky over a grid of times, two days more at either end."""
    if weather.clear:
        return weather
    times, edge = time_grid.times, np.timedelta64(2, "D")
    return clearsky(weather.site, f"{times[0] - edge}Z", f"{times[-1] + edge}Z", cache=cache)


def _daylight(
    weather: Weather, clear: Weather, time_grid: TimeGrid
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the intervals with daylight in their middle, and weather; and those at night."""
    middles = time_grid.times + np.timedelta64(round(time_grid.step / 2.0), "s")
    sun = sun_at(clear, middles)
    by_day = ~_about_midnight(time_grid, weather.site.longitude)
    daylight: NDArray[np.bool_] = (sun[:, 2] > LOWEST) & covered(weather, middles) & by_day
    if not daylight.any():
        raise MeterError("the readings and the weather have no daylight in common")
    return daylight, np.asarray((sun[:, 2] < -LOWEST) & by_day)


def _about_midnight(time_grid: TimeGrid, longitude: float) -> NDArray[np.bool_]:
    """Return which intervals a civil day may begin or end in, or one before or after."""
    # They count for nothing, so that a civil day is part of one solar day alone. One more after it,
    # since stamps that are taken for the start of their interval may be its end.
    since = (time_grid.starts + round(longitude * 240.0)) % DAY
    step = time_grid.step
    return (since < MIDNIGHT_AFTER + step) | (since + step > DAY - MIDNIGHT_BEFORE)
