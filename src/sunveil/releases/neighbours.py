"""Pairs of neighbours that try to break a claim: simulated records, and replacements in them.

A pair comes close to the claim when nearly all of the probability is on candidates that lose all
that a unit gives, and another candidate gains it. So some records fit one candidate in every
reading, and some replacements fit another.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.meters.record import Cleaning, Record
from sunveil.privacy.units import Days, Readings, Unit
from sunveil.releases.choices import Choices
from sunveil.releases.frame import (
    MIDNIGHT_AFTER,
    MIDNIGHT_BEFORE,
    SHORTEST,
    Frame,
    make_frame,
    time_grid_of,
)
from sunveil.releases.mounts import MountChoices
from sunveil.releases.score import count_score
from sunveil.releases.worth import HOUR
from sunveil.scores import Capacities
from sunveil.simulate import CITIES, draw_systems, simulate_power, simulate_sky
from sunveil.site import Array
from sunveil.timegrid import DAY, TimeGrid
from sunveil.weather import WeatherCache, clearsky

YEAR = 2019
# Few candidates, so that a pair takes a millisecond; two clocks, and mounts of every kind whatever
# a release is worth, so that these dimensions are there.
SMALL = Choices(
    step=30.0,
    capacities=Capacities(1.0, 30.0, 0.1),
    clocks=(0.0, 60.0),
    window_steps=(30.0, 15.0, 0.5),
    mounts=MountChoices(
        90.0, (30.0,), (0.6,), axis_step=90.0, gcrs=(0.4,), readings_worth=0.0, days_worth=0.0
    ),
)
# A record that fits one candidate must be long enough for nearly all of the probability to be
# there: a day is worth half of ε to it.
NATS = 10.0
FEWEST_DAYS, MOST_DAYS = 6, 240
# What a household takes beside what one candidate of a net meter explains. [kW]
BASE_KW = 0.4
FIRST_DAY, LAST_DAY = 50, 310
SYSTEMS = 3
SPARSE = (0.5, 0.05)
# No finite reading is larger. [kW]
ENORMOUS = float(np.finfo(np.float64).max)

Rng = np.random.Generator
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A small public frame, and simulated records in it.

    Parameters
    ----------
    frame
        The frame.
    interval_minutes
        Length of the readings' intervals; short ones are averaged on their way to a score.
        [minutes]
    fitted, simulated, sparse, flat
        Readings over the frame's times, NaN where there is none: such that one candidate explains
        them all, of simulated systems, mostly missing, and all alike. [kW]
    """

    frame: Frame
    interval_minutes: float
    fitted: tuple[Array, ...] = ()
    simulated: tuple[Array, ...] = ()
    sparse: tuple[Array, ...] = ()
    flat: tuple[Array, ...] = ()

    @property
    def net(self) -> bool:
        """Whether the records are those of net meters."""
        return self.frame.choices.net is not None

    @property
    def bases(self) -> tuple[Array, ...]:
        """All readings that neighbours are made of."""
        return self.fitted + self.simulated + self.sparse + self.flat

    @property
    def times(self) -> NDArray[np.datetime64]:
        """UTC start of every interval of the readings."""
        grid = self.frame.time_grid
        return TimeGrid(grid.first, grid.step // self.ratio, grid.count * self.ratio).times

    @property
    def ratio(self) -> int:
        """How many readings are averaged to one of the frame's."""
        return round(self.frame.time_grid.step / (60.0 * self.interval_minutes))

    def record(self, power: Array) -> Record:
        """Return readings as a record."""
        held = ~np.isnan(power)
        return Record(
            "audit",
            self.times[held],
            power[held],
            self.interval_minutes,
            cleaning=Cleaning.EACH,
            net=self.net,
            rows_span=(self.times[0], self.times[-1]) if self.net else None,
        )

    def fitting(self, candidate: int) -> Array:
        """Return readings that one candidate explains, every one."""
        clock, plane, capacity = np.unravel_index(candidate, self.frame.shape)
        logs = self.frame.profiles[clock][0][plane].astype(np.float64)
        shares = np.exp(logs, where=np.isfinite(logs), out=np.zeros(len(logs)))
        power = np.zeros(self.frame.time_grid.count)
        power[self.frame.lit] = self.frame.choices.capacities.values[capacity] * shares
        return np.repeat(power - BASE_KW * self.net, self.ratio)

    def best(self, power: Array) -> int:
        """Return the candidate that most readings agree with, or days are likeliest under."""
        unit = Days(1) if self.net else Readings(1)
        return int(count_score(self.frame, self.record(power), unit).levels.argmax())


def make_setting(
    *,
    epsilon: float,
    interval_minutes: float = 60.0,
    measured: bool = False,
    seed: int = 1,
    choices: Choices = SMALL,
    cache: WeatherCache | None = None,
) -> Setting:
    """Return a setting at a random place and time of the year.

    Parameters
    ----------
    epsilon
        The claim that pairs are to come close to: the smaller, the longer the records.
    interval_minutes
        Of the readings. [minutes]
    measured
        Whether candidates are modelled under a satellite's weather, or under a clear sky.
    seed
        The same seed gives the same setting.
    choices
        The public choices.
    cache
        Where clear skies are kept.
    """
    rng = np.random.default_rng(seed)
    site = CITIES[rng.integers(len(CITIES))].site
    coarse = max(interval_minutes, SHORTEST)
    days = math.ceil(2.0 * NATS / epsilon * coarse / 60.0)
    days = min(max(days, FEWEST_DAYS), MOST_DAYS)
    first = int(rng.integers(FIRST_DAY, LAST_DAY - days))
    # the whole solar days between two stamps
    ends = np.datetime64(f"{YEAR}-01-01", "s") + np.array([first, first + days - 1]) * DAY
    grid = time_grid_of(Record("audit", ends, np.zeros(2), coarse), longitude=site.longitude)
    sky = simulate_sky(site, YEAR, seed=seed, step_minutes=round(SHORTEST))
    span = (f"{YEAR - 1}-12-29", f"{YEAR + 1}-01-04")
    weather = sky.satellite if measured else clearsky(site, *span, cache=cache)
    bare = Setting(make_frame(weather, grid, choices, cache=cache), interval_minutes)
    simulated = []
    for number, truth in enumerate(draw_systems(SYSTEMS, seed=seed)):
        power = simulate_power(
            replace(truth, site=site), sky, seed=seed + number, step_minutes=round(coarse)
        )
        starts = pd.DatetimeIndex(power.index).tz_localize(None).to_numpy()
        held = slice(at := int(np.searchsorted(starts, grid.times[0])), at + grid.count)
        loads = BASE_KW * rng.lognormal(0.5, 0.5, grid.count) if bare.net else 0.0
        simulated.append(np.repeat(power.to_numpy()[held] - loads, bare.ratio))
    candidates = (*_extremes(bare.frame), *rng.integers(len(bare.frame), size=2).tolist())
    return replace(
        bare,
        fitted=tuple(bare.fitting(candidate) for candidate in candidates),
        simulated=tuple(simulated),
        sparse=tuple(_sparse(bare, simulated[0], share, rng) for share in SPARSE),
        flat=(_filled(bare, 0.0), _filled(bare, 3.0)),
    )


def neighbour_pairs(
    setting: Setting, unit: Unit, *, pairs: int, seed: int = 1, among: Mask | None = None
) -> Iterator[tuple[Record, Record]]:
    """Yield records with neighbours of them, many neighbours of one record after another.

    Parameters
    ----------
    setting
        The frame and the records.
    unit
        What neighbours differ in.
    pairs
        How many.
    seed
        The same seed gives the same pairs.
    among
        Which readings may be replaced one by one; those in daylight when left out.
    """
    rng = np.random.default_rng(seed)
    single = np.flatnonzero(np.repeat(setting.frame.lit, setting.ratio) if among is None else among)
    alternatives = ALTERNATIVES + (NET_ALTERNATIVES if setting.net else ())
    for number, power in enumerate(setting.bases):
        share = len(range(number, pairs, len(setting.bases)))
        if share:
            record, best = setting.record(power), setting.best(power)
            for turn in range(share):
                other = alternatives[(number + turn) % len(alternatives)](setting, best, rng)
                mask = _replaced(setting, unit, single, rng)
                yield record, setting.record(_never_empty(setting, np.where(mask, other, power)))


def _extremes(frame: Frame) -> list[int]:
    """Return candidates of the first clock: flat and smallest, and the largest of every mount.

    Those are the steepest plane, the last pair and the last tracker.
    """
    capacities = len(frame.choices.capacities)
    ends = np.cumsum([size for size in frame.mounts.sizes if size])
    return [0, *(capacities * ends - 1).tolist()]


def _sparse(setting: Setting, power: Array, share: float, rng: Rng) -> Array:
    """Return readings with a share of them left."""
    kept = rng.random(len(power)) < share
    # one at the beginning of each day, so that some are left whichever days are replaced
    kept.reshape(-1, _per_day(setting))[:, : setting.ratio] = True
    return np.where(kept, power, np.nan)


def _random_candidate(setting: Setting, rng: Rng) -> int:
    return int(rng.integers(len(setting.frame)))


def _replaced(setting: Setting, unit: Unit, single: NDArray[np.intp], rng: Rng) -> Mask:
    """Return which readings a neighbour has replaced."""
    count = setting.frame.time_grid.count * setting.ratio
    mask = np.zeros(count, dtype=bool)
    if isinstance(unit, Readings):
        mask[rng.choice(single, unit.k, replace=False)] = True
    elif isinstance(unit, Days):
        # the first and the last day more often, since the frame ends there
        weights = np.ones(count // _per_day(setting))
        weights[[0, -1]] = 4.0
        for day in rng.choice(len(weights), unit.k, replace=False, p=weights / weights.sum()):
            mask |= civil_day(setting, int(day), rng)
    else:
        mask[:] = True
    return mask


def civil_day(setting: Setting, day: int, rng: Rng) -> Mask:
    """Return the readings of a day by some clock, of 23, 24 or 25 hours."""
    turn = round(setting.frame.weather.site.longitude * 240.0)
    since = setting.times.astype("datetime64[s]").astype(np.int64) + turn
    # what is stamped at the end of its interval may be taken for the start
    earliest, latest = -MIDNIGHT_BEFORE, MIDNIGHT_AFTER + round(setting.interval_minutes * 60.0)
    begin = int(rng.integers(earliest, latest + 1))
    end = min(max(begin + round(HOUR) * int(rng.integers(-1, 2)), earliest), latest)
    first = (since[0] // DAY + day) * DAY
    return np.asarray((since >= first + begin) & (since < first + DAY + end))


def _per_day(setting: Setting) -> int:
    return DAY // round(setting.interval_minutes * 60.0)


def _never_empty(setting: Setting, power: Array) -> Array:
    """Return readings with some among them: a record without any is a net meter's alone."""
    if np.isnan(power).all() and not setting.net:
        power[: setting.ratio] = 0.0
    return power


def _filled(setting: Setting, value: float) -> Array:
    return np.full(setting.frame.time_grid.count * setting.ratio, value)


def _lonely(setting: Setting, best: int, rng: Rng) -> Array:
    """Return readings of one interval in the light, and no others."""
    power = _filled(setting, math.nan)
    place = int(rng.choice(np.flatnonzero(setting.frame.lit))) * setting.ratio
    held = slice(place, place + setting.ratio)
    power[held] = setting.fitting(best)[held]
    return power


def _foreign(setting: Setting, best: int, rng: Rng) -> Array:
    del best
    return setting.bases[rng.integers(len(setting.bases))]


def _other(setting: Setting, best: int, rng: Rng) -> Array:
    del best
    return setting.fitting(_random_candidate(setting, rng))


def _with_nights(setting: Setting, power: Array, rng: Rng) -> Array:
    """Return readings with one load in all the dark: it may tell the base of another day."""
    lit = np.repeat(setting.frame.lit, setting.ratio)
    return np.where(lit, power, -float(rng.lognormal(0.0, 2.0)))


# What readings are replaced by, given the best candidate before.
ALTERNATIVES: tuple[Callable[[Setting, int, Rng], Array], ...] = (
    _other,
    lambda setting, best, rng: _filled(setting, math.nan),
    lambda setting, best, rng: _filled(setting, 0.0),
    lambda setting, best, rng: _filled(setting, ENORMOUS),
    _other,
    lambda setting, best, rng: setting.fitting(best),
    _foreign,
    _lonely,
    lambda setting, best, rng: _filled(setting, float(rng.uniform(0.1, 30.0))),
    lambda setting, best, rng: setting.fitting(best) * rng.uniform(0.5, 2.0),
)
# Of a net meter, beside: readings below zero, and nights that tell another base.
NET_ALTERNATIVES: tuple[Callable[[Setting, int, Rng], Array], ...] = (
    lambda setting, best, rng: _filled(setting, -ENORMOUS),
    lambda setting, best, rng: _filled(setting, -float(rng.uniform(0.01, 30.0))),
    lambda setting, best, rng: setting.fitting(best) - float(rng.lognormal(0.0, 2.0)),
    lambda setting, best, rng: np.maximum(_other(setting, best, rng), 0.0),
    lambda setting, best, rng: _with_nights(setting, _other(setting, best, rng), rng),
)
