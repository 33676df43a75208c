"""All systems of a block: the same cell, the same axis of time, the same declared clock."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sunveil.cells import CellSky
from sunveil.estimate import DaylightSaving, Flag
from sunveil.fit.shared import (
    FEWEST_DAYS,
    FEWEST_READINGS,
    LOW_AGREEMENT_CLEAR,
    LOW_AGREEMENT_MEASURED,
    UNKNOWN_LABEL,
    Clock,
    Doubts,
)
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.quick import rows as told_of
from sunveil.quick import spread
from sunveil.quick.clocks import Clocks, find_clocks, relaid
from sunveil.quick.constants import QuickOptions
from sunveil.quick.groups import Matrix
from sunveil.quick.layout import on_long_axis
from sunveil.quick.model import LIMIT, NO_LIMIT
from sunveil.quick.newton import FREE
from sunveil.quick.prepared import Prepared, prepare
from sunveil.quick.rows import TOLD, fit_rows
from sunveil.quick.spread import Weights, weights_of
from sunveil.quick.suspicion import Suspects, Watch, no_suspects
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
    weights = weights_of(_doubts(sky.axis.step, label_known=label_known))
    watch = prepared.watch(timezone)
    found = _fit(rows, prepared, weights, watch, watched=options.clock is not Clock.GIVEN)
    out = _result(found, prepared)
    bright = found.told[:, told_of.BRIGHT]
    clocks = find_clocks(rows, prepared, bright=bright, suspects=found.suspects, watch=watch)
    for half in (False, True):
        chosen = np.flatnonzero(clocks.doubted & (clocks.half == half))
        if len(chosen):
            under = prepared.half if half else prepared
            again = relaid(rows, clocks, chosen, watch.calendar)
            _fill(out, chosen, _result(_fit(again, under, weights, watch, watched=False), under))
    return _with_clocks(out, clocks)


def _doubts(step: int, *, label_known: bool) -> Doubts:
    if label_known or step >= SHORT_INTERVAL:
        return Doubts()
    return Doubts(clock_minutes=UNKNOWN_LABEL * step / 60.0)


def _fill(out: BlockFit, chosen: NDArray[np.intp], part: BlockFit) -> None:
    for one in fields(BlockFit):
        getattr(out, one.name)[chosen] = getattr(part, one.name)


def _with_clocks(out: BlockFit, clocks: Clocks) -> BlockFit:
    repaired = np.uint8(1 << list(Flag).index(Flag.CLOCK_REPAIRED))
    out.clock_offset_minutes[:] = clocks.offset
    out.clock_saving[:] = clocks.saving
    out.clock_gain[:] = clocks.gain
    out.flags[clocks.wrong] |= repaired
    return out


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """What was fitted to each system whose clock is not in doubt, and who is suspect."""

    points: Array
    spreads: Array
    told: Array
    suspects: Suspects


def _fit(
    rows: Matrix, prepared: Prepared, weights: Weights, watch: Watch, *, watched: bool
) -> _Fit:
    found = _Fit(
        np.zeros((len(rows), FREE)),
        np.zeros((len(rows), spread.COLUMNS)),
        np.zeros((len(rows), TOLD)),
        no_suspects(len(rows), watch.days),
    )
    sky = prepared.sky
    if sky.usable:
        both = prepared.for_some, prepared.for_few
        clocks, told = (watched, watch, found.suspects), (found.points, found.spreads, found.told)
        fit_rows(rows, prepared.known, weights, both, clocks, told)
    return found


def _result(found: _Fit, prepared: Prepared) -> BlockFit:
    points, spreads, told = found.points, found.spreads, found.told
    lit = told[:, told_of.LIT].astype(np.int32)
    outcome = np.where(lit >= FEWEST_READINGS, INFERRED, TOO_LITTLE)
    if prepared.sky.usable == 0:
        outcome[:] = NO_WEATHER
    clipped = told[:, told_of.CLIPPED] > 0.005
    lowest = LOW_AGREEMENT_CLEAR if prepared.sky.clear else LOW_AGREEMENT_MEASURED
    seen = {
        Flag.CLIPPING: clipped,
        Flag.LOW_AGREEMENT: told[:, told_of.AGREEMENT] < lowest,
        Flag.TOO_LITTLE_DATA: told[:, told_of.DAYS] < FEWEST_DAYS,
        Flag.CLOCK_REPAIRED: np.zeros(len(points), dtype=bool),
        Flag.NOT_ONE_PLANE: (told[:, told_of.ALONE] == 0.0) & (outcome == INFERRED),
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
        lit=lit,
        flags=flags,
    )
