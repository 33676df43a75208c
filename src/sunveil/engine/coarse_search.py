"""Readings on the sky; coarse search on few readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.bright_envelope import STARTS, bright_envelope, find_starts, profiles_of
from sunveil.engine.constants import (
    BRIGHT_QUANTILE,
    LONGEST_STEP,
    SMALL_STEPS,
    TOP_QUANTILE,
    TRUSTED_STEP,
)
from sunveil.engine.power_model import (
    BLOCK,
    CAPACITY,
    LIMIT,
    NO_LIMIT,
    PARAMETERS,
    UNLIMITED,
    Sheet,
    refine,
)
from sunveil.engine.shading import PreparedSky, correlated_in, shares_for
from sunveil.estimates.planes_and_intervals import FEWEST_READINGS
from sunveil.site import DAY, Array, TimeGrid

Matrix = NDArray[np.float32]

# Limits below this share of the record's top are not looked for; piles are, in such steps.
LOWEST_LIMIT, LIMIT_STEP = 0.6, 0.01

# Readings pile up at this multiple of the usual number, with this share of them above at most.
PILE, ABOVE_PILE = 2.5, 0.25

# A day at the limit stays there this long; a clear day is near its top for half as long. [h]
LIMIT_HOURS = 3.0

LIMIT_DAYS = 8

# Readings missing for less than a day, between two below this share of the bright power, are a
# night's.
DUSK = 0.1

# No meter of a roof reads less than a microwatt or more than a terawatt. [kW]
LEAST, MOST = 1e-9, 1e9

kernel = njit(cache=True, nogil=True, error_model="numpy")


@dataclass(frozen=True, slots=True, eq=False)
class BlockReadings:
    """Readings of systems at the usable intervals of a sky: private."""

    power: Matrix
    have: Matrix
    count: NDArray[np.int64]
    daylight_readings: NDArray[np.int64]
    days: NDArray[np.int64]
    bright: Array  # [kW] powers that 2% and 0.1% of the readings exceed
    top: Array  # [kW] powers that 2% and 0.1% of the readings exceed

    def __repr__(self) -> str:
        return f"BlockReadings({len(self.power)} systems, private)"

    def take(self, systems: NDArray[np.intp]) -> BlockReadings:
        """Return the readings of some systems."""
        return BlockReadings(
            **{each.name: getattr(self, each.name)[systems] for each in fields(self)}
        )

    @classmethod
    def joined(cls, parts: Sequence[BlockReadings]) -> BlockReadings:
        """Return the readings of several blocks under one sky, one after the other."""
        return cls(
            *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(cls))
        )

    def thinned(
        self, places: NDArray[np.int32], systems: NDArray[np.intp]
    ) -> tuple[Matrix, Matrix]:
        """Return power and presence of some systems at some of the intervals, padded."""
        return padded(self.power[systems[:, None], places]), padded(
            self.have[systems[:, None], places]
        )


def padded(values: NDArray[np.float32] | NDArray[np.bool_]) -> Matrix:
    """Return rows with zeros behind them, up to whole blocks."""
    width = -(-values.shape[1] // BLOCK) * BLOCK
    out = np.zeros((len(values), width), dtype=np.float32)
    out[:, : values.shape[1]] = values
    return out


def believable(power: Matrix) -> Matrix:
    """Return readings with zero for what is too small to be power, none for what is too large."""
    size = np.abs(power)
    out = np.where(size < np.float32(LEAST), np.float32(0.0), power)
    out[size > np.float32(MOST)] = np.nan
    return out


def with_nights(power: Matrix, step: int) -> Matrix:
    """Return readings every ``step`` seconds with zero for missing nights."""
    if not np.isnan(power).any():
        return power
    out = power.copy()
    for row in out:
        # one reading in seven, of all hours, is enough for the bright power
        some = row[::7]
        some = some[some > 0.0]
        if len(some):
            place = int(BRIGHT_QUANTILE * (len(some) - 1))
            _fill_nights(row, DUSK * np.partition(some, place)[place], DAY // step)
    return out


@kernel
def _fill_nights(row, dusk, per_day):  # type: ignore[no-untyped-def]
    """Write zero over gaps of less than a day in a row between readings no higher than dusk."""
    last = -per_day
    for k in range(len(row)):
        if row[k] == row[k]:
            if last < k - 1 < last + per_day - 1 and row[last] <= dusk and row[k] <= dusk:
                row[last + 1 : k] = 0.0
            last = k


def on_long_grid(power: Matrix, grid: TimeGrid) -> Matrix:
    """Return readings averaged to 30 minutes where they are shorter, as they are otherwise."""
    # A long interval that lacks a reading has none.
    if grid.per_long == 1:
        return power
    whole = grid.long.count * grid.per_long
    out = np.full((len(power), whole), np.nan, dtype=np.float32)
    out[:, grid.lead : grid.lead + power.shape[1]] = power
    whole_means = out.reshape(len(power), grid.long.count, grid.per_long).mean(axis=2)
    return np.asarray(whole_means, dtype=np.float32)


def lay_out(rows: Matrix, slot: NDArray[np.int32], begins: NDArray[np.intp]) -> BlockReadings:
    """Lay readings onto the usable intervals."""
    shape = len(rows), -(-len(slot) // BLOCK) * BLOCK
    power, have = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    counts = np.zeros((3, len(rows)), dtype=np.int64)
    _fill_readings(rows, slot, np.append(begins, len(slot)), power, have, counts)
    bright, top = _quantiles(power, have, counts[0])
    return BlockReadings(power, have, counts[0], counts[1], counts[2], bright, top)


@kernel
def _fill_readings(rows, slot, days, power, have, counts):  # type: ignore[no-untyped-def]
    """Fill readings and which of them there are, shape (systems, padded), and how many."""
    # `rows` has shape (systems, intervals), NaN where there is none; `days` says where each day
    # begins among the places of `slot`, and where the last ends; `counts`, shape (3, systems), is
    # filled with readings, those with power, and days that have any.
    for s in range(rows.shape[0]):
        row = rows[s]
        for d in range(len(days) - 1):
            before = counts[0, s]
            for k in range(days[d], days[d + 1]):
                value = row[slot[k]]
                if value == value:
                    power[s, k], have[s, k] = value, 1.0
                    counts[0, s] += 1
                    counts[1, s] += value > 0.0
            counts[2, s] += counts[0, s] > before


def _quantiles(power: Matrix, have: Matrix, counts: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the bright power and the top of each record, zero where there are no readings."""
    out = np.zeros((2, len(power)))
    _fill_quantiles(power, have, counts, np.array([BRIGHT_QUANTILE, TOP_QUANTILE]), out)
    return out[0], out[1]


@kernel
def _fill_quantiles(power, have, counts, shares, out):  # type: ignore[no-untyped-def]
    """Fill quantiles of each system's readings, between neighbours, shape (shares, systems)."""
    # The readings are put into order from the highest down, as far as the lowest share asks for.
    kept = np.empty(power.shape[1], dtype=np.float32)
    for s in range(len(counts)):
        if counts[s] == 0:
            continue
        count = 0
        for k in range(power.shape[1]):
            if have[s, k] > 0.0:
                kept[count] = power[s, k]
                count += 1
        # halving what may hold the place of the lowest share, until little is left of it
        low, high = 0, count - 1
        wanted = int(shares[0] * (count - 1))
        while high - low > 32:
            pivot = kept[(low + high) // 2]
            i, j = low, high
            while i <= j:
                while kept[i] < pivot:
                    i += 1
                while kept[j] > pivot:
                    j -= 1
                if i <= j:
                    kept[i], kept[j] = kept[j], kept[i]
                    i += 1
                    j -= 1
            if wanted <= j:
                high = j
            elif wanted >= i:
                low = i
            else:
                low = wanted
                break
        # what lies above is in no order yet; it is short
        for i in range(low + 1, count):
            value, j = kept[i], i
            while j > low and kept[j - 1] > value:
                kept[j] = kept[j - 1]
                j -= 1
            kept[j] = value
        for q in range(len(shares)):
            place = shares[q] * (count - 1)
            first = int(place)
            after = kept[min(first + 1, count - 1)]
            out[q, s] = kept[first] + (place - first) * (after - kept[first])


def find_limits(readings: BlockReadings, day: NDArray[np.int32], *, hours: float) -> Array:
    """Return the logarithm of each inverter's limit [kW], ``UNLIMITED`` where none shows."""
    # Without a limit, ever fewer readings reach ever higher powers. A limit shows as a pile at the
    # top: a narrow range of power, close to the highest, that holds far more readings than the
    # ranges below it, and whole days that stay there for hours.
    edges = np.arange(LOWEST_LIMIT, 1.1, LIMIT_STEP)
    counts = np.zeros((len(readings.power), len(edges) - 1))
    _count_bins(readings.power, readings.top, edges, counts)
    smooth = counts.copy()
    smooth[:, 1:] += counts[:, :-1]
    smooth[:, :-1] += counts[:, 1:]
    piles = smooth.argmax(axis=1)
    found = np.full(len(counts), UNLIMITED)
    for s, pile in enumerate(piles.tolist()):
        size, above = smooth[s, pile], counts[s, pile + 5 :].sum()
        if size <= 3.0 * PILE or above >= ABOVE_PILE * size:
            continue
        if size <= PILE * np.median(smooth[s, : max(pile - 5, 5)]):
            continue
        level = float(edges[pile] + LIMIT_STEP / 2.0) * readings.top[s]
        power, have = readings.power[s, : len(day)], readings.have[s, : len(day)]
        near = (have > 0.0) & (np.abs(power / level - 1.0) < 0.02)
        _, held = np.unique(day[near], return_counts=True)
        if np.count_nonzero(held * hours >= LIMIT_HOURS) >= LIMIT_DAYS:
            found[s] = np.log(level)
    return found


@kernel
def _count_bins(power, top, edges, counts):  # type: ignore[no-untyped-def]
    """Fill how many readings lie between neighbouring edges, which are shares of the top."""
    # `power` has shape (systems, padded) [kW], `top` (systems,) [kW], `counts` (systems, bins).
    width = edges[1] - edges[0]
    for s in range(len(top)):
        if top[s] > 0.0:
            least, scale = np.float32(edges[0] * top[s]), 1.0 / (width * top[s])
            for k in range(power.shape[1]):
                if power[s, k] >= least:
                    place = int((power[s, k] - least) * scale)
                    if place < counts.shape[1]:
                        counts[s, place] += 1.0


# So many readings are enough to find the neighbourhood of a plane in.
ENOUGH = 500

# Starts that leave so much more unexplained than the best are not worth refining.
WORTH, SLACK = 4.0, 0.01

# Errors are widened by this much while the neighbourhood is looked for.
WIDE = 1.5

# What explains no more of the energy than this may be a wrong neighbourhood.
DOUBTFUL = 0.4

# Most steps of a search.
STEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """What a search found of a block of systems, one entry each: private."""

    readings: BlockReadings  # their readings
    envelope: Matrix  # [kW]
    points: Array  # the neighbourhoods, shape (systems, PARAMETERS)
    explained: Array  # share of the energy of few readings that each explains

    def take(self, systems: NDArray[np.intp]) -> Searched:
        """Return some of the systems, in their order; all of them are not copied."""
        if len(systems) == len(self.points):
            return self
        return Searched(
            self.readings.take(systems),
            self.envelope[systems],
            self.points[systems],
            self.explained[systems],
        )

    @classmethod
    def joined(cls, parts: Sequence[Searched]) -> Searched:
        """Return the systems of several searches under one sky, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            BlockReadings.joined([part.readings for part in parts]),
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("envelope", "points", "explained")
            ),
        )

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Which systems have readings enough to be inferred."""
        return np.asarray(self.readings.daylight_readings >= FEWEST_READINGS)


def search(rows: Matrix, prepared: PreparedSky) -> Searched:
    """Return the neighbourhoods of systems' planes."""
    readings = lay_out(rows, prepared.slot, prepared.begins)
    limits = find_limits(readings, prepared.day, hours=prepared.minutes / 60.0)
    envelope = bright_envelope(rows, prepared.groups)
    starts, remains = find_starts(envelope, prepared.groups)
    starts[:, :, LIMIT] = limits[:, None]
    shares = shares_for(ENOUGH, readings.count)
    # on bright powers first, which clouds do not reach
    groups, probe = prepared.probe
    value = envelope[:, groups]
    there = np.isfinite(value)
    bright = padded(np.where(there, value, np.float32(0.0))), padded(there.astype(np.float32))
    points = np.empty((len(rows), PARAMETERS))
    best = np.full(len(rows), -1.0)
    for place in range(STARTS):
        chosen = np.flatnonzero(remains[:, place] <= WORTH * remains[:, 0] + SLACK)
        # each as it would be alone: the prior's say depends on a record's own length
        for share in np.unique(shares[chosen]):
            here = chosen[shares[chosen] == share]
            trial = starts[here, place]
            seen = run_refine(
                prepared,
                probe,
                (bright[0][here], bright[1][here]),
                readings.bright[here],
                trial,
                share=float(share),
                widen=WIDE,
                near=False,
            )
            _keep_better(here, trial, seen, points, best)
    explained = refine_systems(prepared, readings, points, shares, systems=np.arange(len(rows)))
    doubtful = np.flatnonzero(explained <= DOUBTFUL)
    if len(doubtful):
        # where it is always cloudy, bright powers are not those of a clear sky
        other = _from_readings(
            prepared, readings, starts[doubtful], remains[doubtful], doubtful, shares
        )
        seen = refine_systems(prepared, readings, other, shares[doubtful], systems=doubtful)
        _keep_better(doubtful, other, seen, points, explained)
    return Searched(readings, envelope, points, explained)


def _from_readings(
    prepared: PreparedSky,
    readings: BlockReadings,
    starts: Array,
    remains: Array,
    systems: NDArray[np.intp],
    shares: Array,
) -> Array:
    """Return the best of the starts by few readings themselves."""
    points, best = starts[:, 0].copy(), np.full(len(systems), -1.0)
    for place in range(STARTS):
        chosen = np.flatnonzero(remains[:, place] <= WORTH * remains[:, 0] + SLACK)
        trial = starts[chosen, place]
        seen = refine_systems(
            prepared,
            readings,
            trial,
            shares[systems[chosen]],
            systems=systems[chosen],
            widen=WIDE,
            near=False,
        )
        _keep_better(chosen, trial, seen, points, best)
    return points


def _keep_better(
    chosen: NDArray[np.intp], trial: Array, seen: Array, points: Array, best: Array
) -> None:
    """Take over the trials that explain more than what was best so far."""
    better = seen > best[chosen]
    points[chosen[better]] = trial[better]
    best[chosen[better]] = seen[better]


def refine_systems(
    prepared: PreparedSky,
    readings: BlockReadings,
    points: Array,
    shares: Array,
    *,
    systems: NDArray[np.intp],
    widen: float = 1.0,
    near: bool = True,
) -> Array:
    """Move points to the best fits nearby, each on its own share of its readings."""
    explained = np.empty(len(points))
    for share in np.unique(shares):
        here = np.flatnonzero(shares == share)
        places, sheet = prepared.part(float(share))
        moved = points[here]
        explained[here] = run_refine(
            prepared,
            sheet,
            readings.thinned(places, systems[here]),
            readings.bright[systems[here]],
            moved,
            share=float(share),
            widen=widen,
            near=near,
        )
        points[here] = moved
    return explained


def run_refine(
    prepared: PreparedSky,
    sheet: Sheet,
    readings: tuple[Matrix, Matrix],
    bright: Array,
    points: Array,
    *,
    share: float,
    widen: float = 1.0,
    near: bool = True,
    most: int = STEPS,
) -> Array:
    """Call the kernel that moves points to the best fits nearby; see :func:`refine_systems`."""
    settings = np.array(
        [widen, float(near), most, correlated_in(share), LONGEST_STEP, TRUSTED_STEP, *SMALL_STEPS]
    )
    explained = np.empty(len(points))
    refine(sheet, *readings, bright, points, settings, prepared.numbers, explained)
    return explained


def modelled_power(points: Array, prepared: PreparedSky) -> Matrix:
    """Return the power of points at all usable intervals, limits applied. [kW]"""
    out = profiles_of(prepared.sky.sheet, points, prepared.numbers)
    out *= np.exp(points[:, CAPACITY]).astype(np.float32)[:, None]
    limit = np.exp(np.minimum(points[:, LIMIT], NO_LIMIT)).astype(np.float32)
    return np.minimum(out, limit[:, None], out=out)
