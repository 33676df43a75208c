"""All systems of a block: the same cell, the same axis of time, the same declared clock."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import CellSky
from sunveil.estimate import DaylightSaving, Flag
from sunveil.fit.intervals import Doubts
from sunveil.infer import (
    FEWEST_DAYS,
    FEWEST_READINGS,
    LOW_AGREEMENT_CLEAR,
    LOW_AGREEMENT_MEASURED,
    UNKNOWN_LABEL,
    Clock,
)
from sunveil.meters.assemble import SHORT_INTERVAL
from sunveil.quick import rows as told_of
from sunveil.quick import spread
from sunveil.quick.clocks import Found, find_clocks, relaid, shifts_of
from sunveil.quick.constants import QuickOptions
from sunveil.quick.groups import Matrix
from sunveil.quick.layout import Laid, find_limits, lay_out, on_long_axis
from sunveil.quick.mixture import one_plane
from sunveil.quick.model import LIMIT, NO_LIMIT
from sunveil.quick.newton import FREE
from sunveil.quick.prepared import Prepared, prepare
from sunveil.quick.rows import TOLD, fit_rows
from sunveil.quick.spread import weights_of
from sunveil.quick.starts import bright_powers, find_starts
from sunveil.site import Array

SAVINGS = tuple(DaylightSaving)
INFERRED, TOO_LITTLE, NO_WEATHER = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class BlockFit:
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
    ac_limit_kw
        The inverter's limit where clipping shows, NaN elsewhere. [kW]
    clock_offset_minutes, clock_saving
        What the sun says of the clock; the second as a place in ``SAVINGS``.
    clock_gain
        The agreement that a repair gained.
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
    ac_limit_kw: Array
    clock_offset_minutes: Array
    clock_saving: NDArray[np.int8]
    clock_gain: Array
    agreement: Array
    lit: NDArray[np.int32]
    flags: NDArray[np.uint8]

    def __repr__(self) -> str:
        return f"BlockFit({len(self.outcome)} systems, private)"

    def __len__(self) -> int:
        return len(self.outcome)


def reason(outcome: int, lit: int, *, source: str) -> str:
    """Say why a system was not inferred, without its name."""
    if outcome == NO_WEATHER:
        return (
            f"the weather from {source} covers none of the daylight readings; give weather of the"
            " same dates"
        )
    return (
        f"there are {lit} daylight readings with power, and at least {FEWEST_READINGS} are needed;"
        " give a longer record, or check its time zone"
    )


def fit_block(
    power: Matrix,
    sky: CellSky,
    *,
    options: QuickOptions | None = None,
    timezone: str = "UTC",
    label_known: bool = True,
) -> BlockFit:
    """Infer every system of a block.

    Parameters
    ----------
    power
        Readings on ``sky.axis``, NaN where there is none, shape (systems, intervals). [kW]
    sky
        The sky of their cell.
    options
        What is assumed and done.
    timezone
        The clock that the stamps were declared to be on, whose daylight saving counts.
    label_known
        Whether somebody said which instant of its interval a stamp names.

    Privacy
    -------
    None: estimates are as private as the readings.
    """
    options = options or QuickOptions()
    prepared = prepare(sky, options)
    rows = on_long_axis(np.ascontiguousarray(power, dtype=np.float32), sky.axis)
    laid = lay_out(rows, sky)
    doubts = _doubts(sky.axis.step, label_known=label_known)
    points, out = _fit(laid, prepared, doubts)
    if options.clock is Clock.GIVEN:
        return out
    clocks = find_clocks(rows, laid.bright, points, prepared, timezone=timezone)
    moved = {s: shifts_of(found.clock, prepared, timezone) for s, found in clocks.items()}
    for half in (False, True):
        chosen = np.array([s for s in clocks if moved[s][1] is half], dtype=np.intp)
        if len(chosen):
            under = prepared.half if half else prepared
            again = np.stack([relaid(rows[s], moved[s][0]) for s in chosen])
            _fill(out, chosen, _fit(lay_out(again, under.sky), under, doubts)[1])
    return _with_clocks(out, clocks)


def _doubts(step: int, *, label_known: bool) -> Doubts:
    if label_known or step >= SHORT_INTERVAL:
        return Doubts()
    return Doubts(clock_minutes=UNKNOWN_LABEL * step / 60.0)


def _fill(out: BlockFit, chosen: NDArray[np.intp], part: BlockFit) -> None:
    for one in fields(BlockFit):
        getattr(out, one.name)[chosen] = getattr(part, one.name)


def _with_clocks(out: BlockFit, clocks: dict[int, Found]) -> BlockFit:
    repaired = 1 << list(Flag).index(Flag.CLOCK_REPAIRED)
    for s, found in clocks.items():
        out.clock_offset_minutes[s] = found.clock.offset_minutes
        out.clock_saving[s] = SAVINGS.index(found.clock.saving)
        out.clock_gain[s] = found.gain
        out.flags[s] |= np.uint8(repaired)
    return out


def _fit(laid: Laid, prepared: Prepared, doubts: Doubts) -> tuple[Array, BlockFit]:
    """Fit systems as if their clocks were right; return their points too."""
    sky, count = prepared.sky, len(laid.power)
    hours = sky.axis.long.step / 3600.0
    bright = bright_powers(laid.power, laid.have, prepared.groups)
    starts, left = find_starts(bright, prepared.groups)
    points = np.zeros((count, FREE))
    spreads = np.zeros((count, spread.COLUMNS))
    told = np.zeros((count, TOLD))
    enough = laid.lit >= FEWEST_READINGS
    limits = find_limits(laid, prepared.day, hours=hours)
    limits = np.where(np.isfinite(limits), limits, 2.0 * NO_LIMIT)
    if enough.any():
        whole = bool(enough.all())
        chosen = slice(None) if whole else np.flatnonzero(enough)
        parts = points[chosen], spreads[chosen], told[chosen]
        fit_rows(
            (laid.power[chosen], laid.have[chosen], laid.bright[chosen], limits[chosen]),
            (starts[chosen], left[chosen]),
            (sky.sheet, sky.some, sky.few, sky.each, sky.every),
            (prepared.patches.order, prepared.patches.first),
            (prepared.day, sky.slot[: sky.usable]),
            weights_of(doubts, 60.0 * hours),
            (prepared.thinned(sky.each), prepared.thinned(sky.every)),
            parts,
        )
        points[chosen], spreads[chosen], told[chosen] = parts
    alone = np.ones(count, dtype=bool)
    alone[enough] = one_plane(laid, bright, points, prepared, np.flatnonzero(enough))
    return points, _result(laid, prepared, points, spreads, told, alone)


def _result(
    laid: Laid,
    prepared: Prepared,
    points: Array,
    spreads: Array,
    told: Array,
    alone: NDArray[np.bool_],
) -> BlockFit:
    sky = prepared.sky
    outcome = np.where(laid.lit >= FEWEST_READINGS, INFERRED, TOO_LITTLE)
    if sky.usable == 0:
        outcome[:] = NO_WEATHER
    there = laid.have.sum(axis=1)
    clipped = told[:, told_of.CLIPPED] > 0.005 * there
    lowest = LOW_AGREEMENT_CLEAR if sky.clear else LOW_AGREEMENT_MEASURED
    seen = {
        Flag.CLIPPING: clipped,
        Flag.LOW_AGREEMENT: told[:, told_of.AGREEMENT] < lowest,
        Flag.TOO_LITTLE_DATA: _days(laid, prepared.day) < FEWEST_DAYS,
        Flag.CLOCK_REPAIRED: np.zeros(len(points), dtype=bool),
        Flag.NOT_ONE_PLANE: ~alone,
    }
    flags = np.zeros(len(points), dtype=np.uint8)
    for place, flag in enumerate(Flag):
        flags |= (seen[flag].astype(np.uint8) << place).astype(np.uint8)
    limit = np.exp(np.minimum(points[:, LIMIT], NO_LIMIT))
    return BlockFit(
        outcome=outcome.astype(np.uint8),
        surface_azimuth=np.degrees(np.arctan2(points[:, 0], points[:, 1])) % 360.0,
        azimuth_low=spreads[:, spread.AZIMUTH_LOW],
        azimuth_high=spreads[:, spread.AZIMUTH_HIGH],
        surface_tilt=np.minimum(np.hypot(points[:, 0], points[:, 1]), 90.0),
        tilt_low=spreads[:, spread.TILT_LOW],
        tilt_high=spreads[:, spread.TILT_HIGH],
        dc_capacity_kw=np.exp(points[:, 2]),
        capacity_low=spreads[:, spread.CAPACITY_LOW],
        capacity_high=spreads[:, spread.CAPACITY_HIGH],
        plane_error_degrees=spreads[:, spread.RADIUS],
        ac_limit_kw=np.where(clipped & (points[:, LIMIT] < NO_LIMIT), limit, np.nan),
        clock_offset_minutes=np.zeros(len(points)),
        clock_saving=np.zeros(len(points), dtype=np.int8),
        clock_gain=np.zeros(len(points)),
        agreement=told[:, told_of.AGREEMENT],
        lit=laid.lit,
        flags=flags,
    )


def _days(laid: Laid, day: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return how many days of each system have a reading in daylight."""
    begins = np.flatnonzero(np.diff(day, prepend=-1))
    return np.asarray((np.add.reduceat(laid.have[:, : len(day)], begins, axis=1) > 0).sum(axis=1))
