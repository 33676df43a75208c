"""The engine: all systems of a block, which share a sky, a grid of times and a declared clock.

One system is a block of one. :func:`infer_block` reads as the method's page tells it: lay the
readings onto the sky, search the neighbourhood of each plane, find the clock, refine without what
hides the sun, and say how sure each answer is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.cell import Places, as_placed
from sunveil.engine.assumed import (
    CLIPPED_SHARE,
    FEWEST_DAYS,
    FEWEST_READINGS,
    LOW_AGREEMENT_CLEAR,
    LOW_AGREEMENT_MEASURED,
    UNKNOWN_LABEL,
    Clock,
    EngineOptions,
    SystematicErrors,
)
from sunveil.engine.clocks import NOBODY, BlockClocks, find_clocks
from sunveil.engine.final import fit_finally
from sunveil.engine.hypotheses import FoundClock
from sunveil.engine.intervals import intervals_of
from sunveil.engine.model import CAPACITY, EAST, HAZE, HEAT, LIMIT, NO_LIMIT, NORTH
from sunveil.engine.prepared import PreparedSky, prepare
from sunveil.engine.readings import believable, on_long_grid
from sunveil.engine.search import Searched, search
from sunveil.engine.skytable import SkyTable
from sunveil.estimate import DaylightSaving, Flag
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.site import Array

Matrix = NDArray[np.float32]

SAVINGS = tuple(DaylightSaving)
INFERRED, TOO_LITTLE, NO_WEATHER, NO_FIT = range(4)
ONE = np.ones(1, dtype=bool)
# Readings of a block that are worked on at once. [numbers]
CHUNK = 1_500_000


@dataclass(frozen=True, slots=True, eq=False)
class BlockEstimates:
    """Estimates of a block of systems, one entry each: private.

    Parameters
    ----------
    outcome
        0 where the system was inferred; see :func:`reason` for the others.
    surface_azimuth, azimuth_low, azimuth_high
        Azimuth and its 90% interval, clockwise. [degrees]
    surface_tilt, tilt_low, tilt_high
        Tilt and its 90% interval. [degrees]
    dc_capacity_kw, capacity_low, capacity_high
        DC capacity and its 90% interval. [kW]
    plane_error_degrees
        Radius that holds the plane with 90%. [degrees]
    haze
        Linke turbidity of clear hours beyond the sky's own.
    heat
        Rise of the modules' temperature over that of Faiman's open rack.
    ac_limit_kw
        The inverter's limit where clipping shows, NaN elsewhere. [kW]
    clock_offset_minutes, clock_saving
        What the sun says of the clock; the second as a place in ``SAVINGS``.
    clock_gain
        The share of energy that a repair gained.
    clock_steps
        Tuples of :class:`~sunveil.estimate.ClockStep`, empty where the clock was never set.
    agreement
        Share of the bright readings that the estimate explains.
    lit
        Daylight readings with power.
    flags
        Bits in the order of :class:`~sunveil.estimate.Flag`.
    """

    outcome: NDArray[np.uint8]
    surface_azimuth: Array
    azimuth_low: Array
    azimuth_high: Array
    surface_tilt: Array
    tilt_low: Array
    tilt_high: Array
    dc_capacity_kw: Array
    capacity_low: Array
    capacity_high: Array
    plane_error_degrees: Array
    haze: Array
    heat: Array
    ac_limit_kw: Array
    clock_offset_minutes: Array
    clock_saving: NDArray[np.int8]
    clock_gain: Array
    clock_steps: NDArray[np.object_]
    agreement: Array
    lit: NDArray[np.int32]
    flags: NDArray[np.uint32]

    def __repr__(self) -> str:
        return f"BlockEstimates({len(self.outcome)} systems, private)"

    def __len__(self) -> int:
        return len(self.outcome)

    def take(self, chosen: NDArray[np.bool_]) -> BlockEstimates:
        """Return some of the systems."""
        return BlockEstimates(
            **{each.name: getattr(self, each.name)[chosen] for each in fields(self)}
        )

    def put(self, places: NDArray[np.intp], found: BlockEstimates) -> None:
        """Write estimates over those of some systems."""
        for each in fields(self):
            getattr(self, each.name)[places] = getattr(found, each.name)


def reason(outcome: int, lit: int, *, source: str) -> str:
    """Say why a system was not inferred, without its name.

    Parameters
    ----------
    outcome
        Of :class:`BlockEstimates`.
    lit
        How many daylight readings have power.
    source
        Who made the weather.
    """
    if outcome == NO_WEATHER:
        return (
            f"the weather from {source} covers none of the daylight readings; give weather of the"
            " same dates"
        )
    if outcome == NO_FIT:
        return "no plane explains its readings; check their unit and their times"
    return (
        f"there are {lit} daylight readings with power, and at least {FEWEST_READINGS} are needed;"
        " give a longer record, or check its time zone"
    )


def infer_block(
    power: Matrix,
    sky: SkyTable,
    *,
    options: EngineOptions | None = None,
    timezone: str = "UTC",
    label_known: bool = True,
    places: Places | None = None,
) -> BlockEstimates:
    """Infer every system of a block.

    Parameters
    ----------
    power
        Readings on ``sky.grid``, NaN where there is none, shape (systems, intervals). [kW]
    sky
        The sky that they saw.
    options
        What is assumed and done.
    timezone
        The clock that the stamps were declared to be on, whose daylight saving counts.
    label_known
        Whether somebody said which instant of its interval a stamp names.
    places
        Where the systems stand, when that is not the sky's own place.

    Privacy
    -------
    None: estimates are as private as the readings.
    """
    prepared = prepare(sky, options or EngineOptions())
    out = _nothing(np.full(len(power), NO_WEATHER), np.zeros(len(power), dtype=np.int32))
    size = max(1, CHUNK // sky.grid.count)
    for first in range(0, len(power), size):
        part = np.arange(first, min(first + size, len(power)))
        own = np.ascontiguousarray(power[first : part[-1] + 1], dtype=np.float32)
        rows = on_long_grid(believable(own), sky.grid)
        here = None if places is None else places.take(part)
        found = _infer_rows(rows, prepared, timezone=timezone, label_known=label_known, places=here)
        out.put(part, found)
    return out


def _infer_rows(
    rows: Matrix,
    prepared: PreparedSky,
    *,
    timezone: str,
    label_known: bool,
    places: Places | None,
) -> BlockEstimates:
    """Infer systems from readings on the long grid: search, clocks, final fits."""
    if not prepared.sky.usable:
        return _nothing(np.full(len(rows), NO_WEATHER), np.zeros(len(rows), dtype=np.int32))
    searched = search(rows, prepared)
    # light tells the label of a long interval, but not that of a short one
    short = prepared.sky.grid.step < SHORT_INTERVAL
    clocks = BlockClocks(NOBODY, NOBODY, np.zeros(len(rows), dtype=bool))
    if prepared.options.clock is not Clock.GIVEN:
        clocks = find_clocks(
            rows, searched, prepared, timezone=timezone, label_known=label_known or short
        )
    whole, half = clocks.whole, clocks.half
    unknown = clocks.off_label | (short and not label_known)
    moved = np.concatenate([whole.systems, half.systems])
    right = np.setdiff1d(np.arange(len(rows)), moved)
    parts = [searched.take(right), *([] if whole.searched is None else [whole.searched])]
    out = _nothing(np.full(len(rows), TOO_LITTLE), searched.readings.lit)
    settled = np.concatenate([right, whole.systems])
    _complete(out, settled, Searched.joined(parts), prepared, unknown, places)
    if half.searched is not None:
        _complete(out, half.systems, half.searched, prepared.half, unknown, places)
    for s, clock in zip(moved, (*whole.clocks, *half.clocks), strict=True):
        _tell_clock(out, int(s), clock)
    out.flags[unknown & (out.outcome == INFERRED)] |= flag_bits(Flag.LABEL_UNKNOWN, ONE)[0]
    return out


def _complete(
    out: BlockEstimates,
    systems: NDArray[np.intp],
    searched: Searched,
    prepared: PreparedSky,
    unknown_label: NDArray[np.bool_],
    places: Places | None,
) -> None:
    """Fill the estimates of some systems of a block from what was searched of them."""
    for unknown in (False, True):
        here = np.flatnonzero(unknown_label[systems] == unknown)
        if len(here):
            chosen = systems[here]
            own = None if places is None else places.take(chosen)
            errors = _systematic(prepared.sky.grid.step, label_known=not unknown)
            out.put(chosen, _completed(searched.take(here), prepared, errors, own))


def _systematic(step: int, *, label_known: bool) -> SystematicErrors:
    if label_known:
        return SystematicErrors()
    return SystematicErrors(clock_minutes=UNKNOWN_LABEL * step / 60.0)


def _completed(
    searched: Searched, prepared: PreparedSky, errors: SystematicErrors, places: Places | None
) -> BlockEstimates:
    """Return the final fits of those systems that have readings enough, and how sure they are."""
    enough = np.flatnonzero(searched.enough)
    out = _nothing(np.full(len(searched.points), TOO_LITTLE), searched.readings.lit)
    if not len(enough):
        return out
    fit = fit_finally(searched.take(enough), prepared)
    points = fit.points
    if places is not None:
        points = as_placed(points, prepared.sky.site, places.take(enough))
    spread = intervals_of(points, fit.covariances(errors))
    agreement, clipped = fit.agreement(), fit.clipped() > CLIPPED_SHARE
    limited = clipped & (points[:, LIMIT] < NO_LIMIT)
    lowest = LOW_AGREEMENT_CLEAR if prepared.sky.clear else LOW_AGREEMENT_MEASURED
    flags = {
        Flag.CLIPPING: clipped,
        Flag.LOW_AGREEMENT: agreement < lowest,
        Flag.TOO_LITTLE_DATA: fit.searched.readings.days < FEWEST_DAYS,
        Flag.NOT_ONE_PLANE: ~fit.is_one_plane(),
    }
    found = BlockEstimates(
        outcome=np.full(len(enough), INFERRED, dtype=np.uint8),
        surface_azimuth=np.degrees(np.arctan2(points[:, EAST], points[:, NORTH])) % 360.0,
        surface_tilt=np.minimum(np.hypot(points[:, EAST], points[:, NORTH]), 90.0),
        dc_capacity_kw=np.exp(points[:, CAPACITY]),
        haze=points[:, HAZE],
        heat=points[:, HEAT],
        ac_limit_kw=np.where(limited, np.exp(np.minimum(points[:, LIMIT], NO_LIMIT)), np.nan),
        clock_offset_minutes=np.zeros(len(enough)),
        clock_saving=np.zeros(len(enough), dtype=np.int8),
        clock_gain=np.zeros(len(enough)),
        clock_steps=_no_steps(len(enough)),
        agreement=agreement,
        lit=fit.searched.readings.lit.astype(np.int32),
        flags=np.bitwise_or.reduce([flag_bits(flag, where) for flag, where in flags.items()]),
        **asdict(spread),
    )
    out.put(enough, found)
    out.outcome[enough[~_finite(found)]] = NO_FIT
    return out


def _finite(found: BlockEstimates) -> NDArray[np.bool_]:
    """Return which estimates are numbers throughout; an inverter need not show its limit."""
    apart = ("ac_limit_kw", "clock_steps")
    columns = [getattr(found, each.name) for each in fields(found) if each.name not in apart]
    return np.asarray(np.logical_and.reduce([np.isfinite(column) for column in columns]))


def flag_bits(flag: Flag, where: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return the bit of a flag for the systems that have it."""
    return where.astype(np.uint32) << np.uint32(list(Flag).index(flag))


def flags_of(bits: int) -> tuple[Flag, ...]:
    """Return the flags that the bits of a system stand for."""
    return tuple(flag for place, flag in enumerate(Flag) if bits >> place & 1)


def _tell_clock(out: BlockEstimates, system: int, found: FoundClock) -> None:
    out.clock_offset_minutes[system] = found.hypothesis.offset_minutes
    out.clock_saving[system] = SAVINGS.index(found.hypothesis.saving)
    out.clock_gain[system] = found.gain
    out.clock_steps[system] = found.hypothesis.steps
    out.flags[system] |= flag_bits(Flag.CLOCK_REPAIRED, ONE)[0]


def _no_steps(count: int) -> NDArray[np.object_]:
    out = np.empty(count, dtype=np.object_)
    out.fill(())
    return out


def _nothing(outcome: NDArray[np.int64], lit: NDArray[np.integer]) -> BlockEstimates:
    """Return systems that are not inferred, and why."""
    count = len(outcome)
    kinds: dict[str, Any] = {
        "outcome": outcome.astype(np.uint8),
        "clock_saving": np.zeros(count, dtype=np.int8),
        "lit": lit.astype(np.int32),
        "flags": np.zeros(count, dtype=np.uint32),
        "clock_offset_minutes": np.zeros(count),
        "clock_gain": np.zeros(count),
        "clock_steps": _no_steps(count),
    }
    numbers = {each.name: np.full(count, np.nan) for each in fields(BlockEstimates)}
    return BlockEstimates(**(numbers | kinds))
