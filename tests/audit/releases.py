"""The exact audit of releases: records that differ in one unit, all the way to their scores.

A pair comes close to a claim when nearly all of the probability is on candidates that lose all that
a unit gives, and another candidate gains it. So some records fit one candidate in every reading,
and some replacements fit another. A claim is about scores with a sensitivity: it says nothing if
what a score is made with, a grid, a tolerance or a choice of days, was taken from the data before.
So releases are also recorded and replayed with another's readings.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.errors import SunveilError
from sunveil.fleet.blocks import time_grid_of
from sunveil.meters import Record, from_pandas
from sunveil.meters.record import SHORTEST, Cleaning
from sunveil.paper import DPBO
from sunveil.paper.dpbo import DELTA, posterior
from sunveil.paper.fit import paper_score
from sunveil.privacy import Days, PermuteAndFlip, Readings, Score, System
from sunveil.privacy.guarantees import Unit
from sunveil.privacy.mechanism_audit import ExactFinding, SamplerFinding, audit_exact, audit_sampler
from sunveil.privacy.mechanisms import Exponential, Placement
from sunveil.privacy.two_level_window import best_window
from sunveil.releases import Choices
from sunveil.releases.candidate_frame import (
    MIDNIGHT_AFTER,
    MIDNIGHT_BEFORE,
    ReleaseFrame,
    frame_of,
    make_frame,
)
from sunveil.releases.prior_and_votes import HOUR, VOTE_RULES, MountChoices
from sunveil.releases.release import score_record
from sunveil.releases.score_kernels import Capacities
from sunveil.releases.scores import count_score, placement, unit_score
from sunveil.simulate import CITIES, draw_systems, simulate_power, simulate_sky
from sunveil.site import DAY, Array, Site, TimeGrid
from sunveil.weather import clearsky

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

# Of the pairs, every so many are of readings that are averaged first or of net meters, go through a
# whole replay, or are shown to the paper's mechanism, a pair of which takes a second.
FINE, REPLAYED, PAPER = 4, 40, 500
FEWEST_PAPER, MOST_PAPER = 2, 40
FEWEST_REPLAYED = 11
FINE_MINUTES = 5.0
# Records of audits are short and worth one vote; the fine ones vote as long records do.
MANY_VOTES = replace(SMALL, thresholds=VOTE_RULES[-1].thresholds, fewest=VOTE_RULES[-1].fewest)
# Net meters have a frame of their own.
NET = replace(SMALL.for_meter(net=True), capacities=Capacities(1.0, 30.0, 0.3))
UNITS = (Readings(1), Days(1))
SELECTORS = {PermuteAndFlip: "permute-and-flip", Exponential: "exponential"}
# A place whose summer's days are so long that 16 bits do not hold what readings of one add up to.
NORTH, MIDSUMMER = Site(60.2, 24.9, 20.0), "2019-06-20"


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A small public frame, and simulated records in it."""

    frame: ReleaseFrame
    interval_minutes: float
    bases: tuple[Array, ...] = ()  # all readings that neighbours are made of
    usual: tuple[Array, ...] = ()  # of them, those of a simulated system, and the most sparse

    @property
    def net(self) -> bool:
        """Whether the records are those of net meters."""
        return self.frame.choices.net is not None

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
        power[self.frame.daylight] = self.frame.choices.capacities.values[capacity] * shares
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
) -> Setting:
    """Return a setting at a random place and time of the year."""
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
    weather = sky.satellite if measured else clearsky(site, *span)
    bare = Setting(make_frame(weather, grid, choices), interval_minutes)
    simulated = []
    for number, truth in enumerate(draw_systems(SYSTEMS, seed=seed)):
        power = simulate_power(
            replace(truth, site=site), sky, seed=seed + number, step_minutes=round(coarse)
        )
        starts = pd.DatetimeIndex(power.index).tz_localize(None).to_numpy()
        held = slice(at := int(np.searchsorted(starts, grid.times[0])), at + grid.count)
        loads = BASE_KW * rng.lognormal(0.5, 0.5, grid.count) if bare.net else 0.0
        simulated.append(np.repeat(power.to_numpy()[held] - loads, bare.ratio))
    # of the first clock flat and smallest, and the largest of every mount: the steepest plane, the
    # last pair and the last tracker
    sizes = np.cumsum([size for size in bare.frame.mounts.sizes if size])
    largest = (len(choices.capacities) * sizes - 1).tolist()
    candidates = (0, *largest, *rng.integers(len(bare.frame), size=2).tolist())
    fitted = [bare.fitting(candidate) for candidate in candidates]
    sparse = [_sparse(bare, simulated[0], share, rng) for share in SPARSE]
    flat = (_filled(bare, 0.0), _filled(bare, 3.0))
    usual = (simulated[0], sparse[-1])
    return replace(bare, bases=(*fitted, *simulated, *sparse, *flat), usual=usual)


def neighbour_pairs(
    setting: Setting, unit: Unit, *, pairs: int, seed: int = 1, among: Mask | None = None
) -> Iterator[tuple[Record, Record]]:
    """Yield records with neighbours of them, many neighbours of one record after another.

    ``among`` are the readings that may be replaced one by one; those in daylight where left out.
    """
    rng = np.random.default_rng(seed)
    single = np.flatnonzero(
        np.repeat(setting.frame.daylight, setting.ratio) if among is None else among
    )
    alternatives = ALTERNATIVES + (NET_ALTERNATIVES if setting.net else ())
    for number, power in enumerate(setting.bases):
        share = len(range(number, pairs, len(setting.bases)))
        if share:
            record, best = setting.record(power), setting.best(power)
            for turn in range(share):
                other = alternatives[(number + turn) % len(alternatives)](setting, best, rng)
                mask = _replaced(setting, unit, single, rng)
                replaced = np.where(mask, other, power)
                # a record without any readings is a net meter's alone
                if np.isnan(replaced).all() and not setting.net:
                    replaced[: setting.ratio] = 0.0
                yield record, setting.record(replaced)


def _sparse(setting: Setting, power: Array, share: float, rng: Rng) -> Array:
    """Return readings with a share of them left."""
    kept = rng.random(len(power)) < share
    # one at the beginning of each day, so that some are left whichever days are replaced
    kept.reshape(-1, _per_day(setting))[:, : setting.ratio] = True
    return np.where(kept, power, np.nan)


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
            mask |= _civil_day(setting, int(day), rng)
    else:
        mask[:] = True
    return mask


def _civil_day(setting: Setting, day: int, rng: Rng) -> Mask:
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


def _filled(setting: Setting, value: float) -> Array:
    return np.full(setting.frame.time_grid.count * setting.ratio, value)


def _lonely(setting: Setting, best: int, rng: Rng) -> Array:
    """Return readings of one interval in the light, and no others."""
    power = _filled(setting, math.nan)
    place = int(rng.choice(np.flatnonzero(setting.frame.daylight))) * setting.ratio
    held = slice(place, place + setting.ratio)
    power[held] = setting.fitting(best)[held]
    return power


def _foreign(setting: Setting, best: int, rng: Rng) -> Array:
    del best
    return setting.bases[rng.integers(len(setting.bases))]


def _other(setting: Setting, best: int, rng: Rng) -> Array:
    del best
    return setting.fitting(int(rng.integers(len(setting.frame))))


def _with_nights(setting: Setting, power: Array, rng: Rng) -> Array:
    """Return readings with one load in all the dark: it may tell the base of another day."""
    lit = np.repeat(setting.frame.daylight, setting.ratio)
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


def audit_midsummer(epsilon: float, pairs: int = 12) -> ExactFinding:
    """Audit net meters read every 2 minutes on a long day: more readings than on any other."""
    ends = np.array([f"{MIDSUMMER}T06:00", f"{MIDSUMMER}T18:00"], dtype="datetime64[s]")
    grid = time_grid_of(Record("audit", ends, np.zeros(2), 2.0), longitude=NORTH.longitude)
    weather = clearsky(NORTH, "2019-06-10", "2019-06-30")
    bare = Setting(make_frame(weather, grid, NET), 2.0)
    candidates = [0, *range(50, len(bare.frame), len(bare.frame) // 3)]
    setting = replace(bare, bases=tuple(bare.fitting(each) for each in candidates))
    made = scored_pairs(setting, Readings(1), epsilon=epsilon, pairs=pairs)
    return audit_exact(PermuteAndFlip(epsilon), made, name="permute-and-flip, a long day")


@contextlib.contextmanager
def sums_in_16_bits() -> Iterator[None]:
    """Patch the code: hole 3, what a day's readings count is added up in 16 bits."""

    def sum_days(table, place, days, most, beside_best, out):  # type: ignore[no-untyped-def]
        for first, last in itertools.pairwise(days):
            at = np.arange(first, last)[:, None]
            columns = np.arange(out.shape[1])
            sums = np.stack(
                [
                    table[at, own[first:last, None] + columns].sum(axis=0, dtype=np.int16)
                    for own in place
                ]
            ).astype(np.int64)
            out += np.maximum(sums - (sums.max() if beside_best else 0) + most, 0)

    with mock.patch("sunveil.releases.scores.sum_days", sum_days):
        yield


def make_replay(
    setting: Setting,
    unit: Unit,
    *,
    epsilon: float,
    choose: Callable[[ReleaseFrame, Record], ReleaseFrame] = lambda frame, record: frame,
    hidden: bool = False,
) -> Callable[[Record], ReleaseReplay]:
    """Return what makes a release of a record as far as its score, and can do so again.

    Rows with a stamp for every interval, empty where a reading is missing, are read as a curator's
    are, each reading alone; the frame is made for that record; and the record is scored in it. A
    fault may choose another frame by the record, which shows in the digests or is hidden.
    """

    def replay(record: Record) -> ReleaseReplay:
        read = as_read(setting, record)
        bare = frame_of(read, setting.frame.weather, setting.frame.choices)
        honest = bare.resolved(unit, epsilon, differenced=read.differenced)
        own = choose(honest, read)
        return ReleaseReplay(
            public_of(honest if hidden else own, read, epsilon=epsilon),
            lambda other: score_record(own, as_read(setting, other), unit),
        )

    return replay


def as_read(setting: Setting, record: Record) -> Record:
    """Return a record as it is read from rows with a stamp for every interval."""
    rows = pd.Series(np.nan, index=pd.DatetimeIndex(setting.times).tz_localize("UTC"))
    rows.loc[pd.DatetimeIndex(record.times).tz_localize("UTC")] = record.power_kw
    return from_pandas(
        rows,
        system_id=record.system_id,
        label="start",
        net=setting.net,
        cleaning="each",
        power_unit="kW",
    )


def public_of(frame: ReleaseFrame, record: Record, *, epsilon: float) -> PublicInputs:
    """Return what a release in a frame is made with, besides the readings."""
    inside = best_window(epsilon, frame.choices.axes()).inside
    digest = hashlib.sha256(frame.choices.fingerprint().encode())
    for part in (frame.grid.surface_azimuth, frame.grid.surface_tilt, np.array(inside)):
        digest.update(np.ascontiguousarray(part).tobytes())
    digest.update(f"{record.interval_minutes} {record.label} {record.timezone}".encode())
    return PublicInputs(digest.hexdigest(), repr(frame.time_grid), frame.fingerprint())


def audit_nights(epsilon: float, pairs: int = 500) -> ExactFinding:
    """Audit civil days of net meters."""
    setting = make_setting(epsilon=epsilon, seed=2, choices=NET)
    made = scored_pairs(setting, Days(1), epsilon=epsilon, pairs=pairs)
    return audit_exact(PermuteAndFlip(epsilon), made, name="permute-and-flip, civil days")


@contextlib.contextmanager
def nights_told_from_midnight() -> Iterator[None]:
    """Patch the code: hole 5, readings about midnight count, which two civil days share."""
    with (
        mock.patch("sunveil.releases.candidate_frame.MIDNIGHT_BEFORE", -DAY),
        mock.patch("sunveil.releases.candidate_frame.MIDNIGHT_AFTER", -DAY),
    ):
        yield


@dataclass(frozen=True, slots=True)
class PublicInputs:
    """What a release was made with besides the readings, as digests."""

    choices: str  # grids, tolerances, thresholds: the same for all data
    calendar: str  # of the days that the data's rows span: the same for neighbours
    frame: str  # all that a score is made with: the same for neighbours


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseReplay:
    """How a release of a record was made, to be gone through again with another."""

    public: PublicInputs
    score: Callable[[Any], Score | Placement]


@dataclass(frozen=True, slots=True)
class IndependenceFinding:
    """Whether what must be public changed with the data."""

    name: str
    unit: str
    pairs: int
    choices_changed: int
    frames_changed: int
    scores_changed: int
    refused: int

    @property
    def holds(self) -> bool:
        """Whether nothing changed."""
        changed = self.choices_changed + self.frames_changed + self.scores_changed
        return changed + self.refused == 0


def audit_independence(
    replay: Callable[[Any], ReleaseReplay],
    pairs: Iterable[tuple[Any, Any]],
    *,
    unit: Unit,
    name: str,
) -> IndependenceFinding:
    """Record how releases of neighbours are made, and replay each with the other's data."""
    looked = choices = frames = scores = refused = 0
    base: tuple[Any, ReleaseReplay] | None = None
    for first, second in pairs:
        if base is None or base[0] is not first:
            base = first, replay(first)
        ours, looked = base[1], looked + 1
        try:
            theirs = replay(second)
            same = _parts(ours.score(second)) == _parts(theirs.score(second))
        except SunveilError:
            refused += 1
            continue
        one, other = ours.public, theirs.public
        choices += one.choices != other.choices
        frames += (one.calendar, one.frame) != (other.calendar, other.frame)
        scores += not same
    assert looked
    return IndependenceFinding(name, str(unit), looked, choices, frames, scores, refused)


def _parts(made: Score | Placement) -> tuple[object, ...]:
    if isinstance(made, Score):
        return made.sensitivity, made.unit, made.levels.tobytes()
    return made.place, made.axes


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit of releases found; the paper's claim is conditional, and need not hold."""

    exact: list[ExactFinding]
    paper: ExactFinding
    samplers: list[SamplerFinding]
    independence: list[IndependenceFinding]


def run_audit(*, epsilon: float = 1.0, pairs: int, draws: int, seed: int = 1) -> Audit:
    """Audit releases of every unit, by every mechanism; the same seed gives the same pairs."""
    make = partial(make_setting, epsilon=epsilon, seed=seed)
    hourly, net = make(), make(choices=NET)
    fine = make(interval_minutes=FINE_MINUTES, measured=True, choices=MANY_VOTES)
    few = pairs // FINE
    shown = partial(scored_pairs, epsilon=epsilon, seed=seed)
    window = best_window(epsilon, hourly.frame.choices.axes())
    exact = []
    for of, settings in (
        ("", ((hourly, pairs - few), (fine, few))),
        (", net meters", ((net, few),)),
    ):
        for unit in UNITS:
            # the same pairs are shown to both mechanisms that take scores
            made = [pair for each, count in settings for pair in shown(each, unit, pairs=count)]
            for kind, name in SELECTORS.items():
                exact.append(audit_exact(kind(epsilon), made, name=f"{name}{of}"))
    exact.append(audit_midsummer(epsilon, pairs // PAPER + 8))
    placed = itertools.chain(
        shown(hourly, System(), pairs=pairs - few), shown(fine, System(), pairs=few)
    )
    exact.append(audit_exact(window, placed, name="window"))
    # for the paper's mechanism a few pairs that differ in a reading of a prototypical day
    paper, weather = DPBO(epsilon, DELTA), hourly.frame.weather
    usual, sparse = map(hourly.record, hourly.usual)
    belief = posterior(usual, weather, delta=paper.delta)
    half = np.timedelta64(round(hourly.interval_minutes * 30.0), "s")
    prototypical = np.concatenate([day.times for day in paper_score(usual, weather).days])
    among = np.isin(hourly.times + half, prototypical)
    among &= np.repeat(hourly.frame.daylight, hourly.ratio)
    alone = replace(hourly, bases=hourly.usual[:1])
    count = min(max(pairs // PAPER, FEWEST_PAPER), MOST_PAPER)
    beliefs = (
        (belief, posterior(neighbour, weather, delta=paper.delta))
        for _, neighbour in neighbour_pairs(alone, Readings(1), pairs=count, seed=seed, among=among)
    )
    of_paper = audit_exact(paper, beliefs, name="paper")
    # drawn for a record with most of its readings missing, which has no clear winner
    samplers = []
    for unit in UNITS:
        score = unit_score(hourly.frame.resolved(unit, epsilon), sparse, unit)
        for kind, name in SELECTORS.items():
            samplers.append(audit_sampler(kind(epsilon), score, draws, name=name))
    placed_once = placement(hourly.frame, sparse)
    samplers.append(audit_sampler(window, placed_once, draws, name="window"))
    samplers.append(audit_sampler(paper, belief, draws, name="paper"))
    independence = []
    for setting, name in (
        (hourly, "hourly readings, clear sky"),
        (fine, f"readings every {FINE_MINUTES:g} minutes, measured weather"),
        (net, "net meters"),
    ):
        for protect in (*UNITS, System()):
            count = max(pairs // REPLAYED, FEWEST_REPLAYED)
            two = neighbour_pairs(setting, protect, pairs=count, seed=seed)
            replay = make_replay(setting, protect, epsilon=epsilon)
            independence.append(audit_independence(replay, two, unit=protect, name=name))
    return Audit(exact, of_paper, samplers, independence)


def scored_pairs(
    setting: Setting,
    unit: Unit,
    score: Callable[[ReleaseFrame, Record, Any], Any] = score_record,
    *,
    epsilon: float,
    pairs: int,
    seed: int = 1,
) -> Iterator[tuple[Any, Any]]:
    """Yield what a mechanism takes for neighbours, made once for a record with many."""
    frame = setting.frame.resolved(unit, epsilon)
    base: tuple[Record, Any] | None = None
    for record, neighbour in neighbour_pairs(setting, unit, pairs=pairs, seed=seed):
        if base is None or base[0] is not record:
            base = record, score(frame, record, unit)
        yield base[1], score(frame, neighbour, unit)
