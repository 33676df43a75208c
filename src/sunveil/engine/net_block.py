"""The engine for net meters: generation less a household's load, all systems of a block."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from sunveil.cell import Places, as_placed
from sunveil.checked import checked
from sunveil.engine.assumed import (
    AGREES_WITHIN,
    FEWEST_CLEAR_HOURS,
    FEWEST_DAYS,
    FEWEST_READINGS,
    Clock,
    EngineOptions,
)
from sunveil.engine.block import CHUNK
from sunveil.engine.hypotheses import DECLARED, FoundClock
from sunveil.engine.intervals import intervals_of
from sunveil.engine.model import CAPACITY, EAST, HAZE, HAZE_SEASON, HEAT, NORTH
from sunveil.engine.net_apart import tell_apart
from sunveil.engine.net_clock import find_net_clock
from sunveil.engine.net_fit import NetFit, fit_net
from sunveil.engine.net_household import household_of
from sunveil.engine.net_judge import NetJudgement, is_net, judge_net
from sunveil.engine.net_load import load_cells
from sunveil.engine.net_model import CLEAR, CLEARNESS
from sunveil.engine.outcomes import (
    INFERRED,
    NO_FIT,
    NO_WEATHER,
    NOT_NET,
    SAVINGS,
    TOO_LITTLE,
    BlockEstimates,
    flag_bits,
    no_tuples,
    not_inferred,
    says_anything,
)
from sunveil.engine.prepared import PreparedSky, prepare
from sunveil.engine.readings import believable, on_long_grid
from sunveil.engine.shade import COLUMNS
from sunveil.engine.skytable import SkyTable
from sunveil.estimate import Flag

Matrix = NDArray[np.float32]


@checked
def infer_net_block(
    power: Matrix,
    sky: SkyTable,
    *,
    options: EngineOptions | None = None,
    timezone: str = "UTC",
    label_known: bool = True,
    places: Places | None = None,
) -> BlockEstimates:
    """Infer every system of a block from what its meter sees of generation less load.

    Parameters
    ----------
    power
        Generation less load on ``sky.grid``, NaN where there is no reading, shape (systems,
        intervals). A reading of exactly zero says that it was at most zero, as of a meter that
        counts only what is given to the grid. [kW]
    sky
        The sky that they saw.
    options
        What is assumed and done; of clocks only whole hours and daylight saving are repaired.
    timezone
        The clock that the stamps were declared to be on, which households live by.
    label_known
        Whether somebody said which instant of its interval a stamp names.
    places
        Where the systems stand, when that is not the sky's own place.

    Privacy
    -------
    None: estimates are as private as the readings.
    """
    prepared = prepare(sky, options or EngineOptions())
    out = not_inferred(np.full(len(power), NO_WEATHER), np.zeros(len(power), dtype=np.int32))
    if not sky.usable:
        return out
    size = max(1, CHUNK // sky.grid.count)
    for first in range(0, len(power), size):
        part = np.ascontiguousarray(power[first : first + size], dtype=np.float32)
        for s, row in enumerate(on_long_grid(believable(part), sky.grid), start=first):
            here = None if places is None else places.take(np.array([s]))
            found = _infer_row(row, prepared, timezone, label_known, here)
            out.put(np.array([s]), found)
    return out


def _infer_row(
    row: NDArray[np.float32],
    prepared: PreparedSky,
    timezone: str,
    label_known: bool,
    place: Places | None,
) -> BlockEstimates:
    """Infer one system from its readings on the long grid."""
    seen = row[prepared.slot]
    lit = np.array([np.count_nonzero(seen > 0.0)])
    net, force = is_net(row, prepared), prepared.options.force
    if not (net or force):
        return not_inferred(np.array([NOT_NET]), lit)
    if lit[0] < FEWEST_READINGS:
        return not_inferred(np.array([TOO_LITTLE]), lit)
    try:
        found = _fit_row(row, prepared, timezone, label_known, lit, place)
    except np.linalg.LinAlgError:  # no reading bears on some of what is fitted
        return not_inferred(np.array([NO_FIT]), lit)
    found.flags[:] |= flag_bits(Flag.NOT_GENERATION, np.array([not net]))
    return found if says_anything(found)[0] else not_inferred(np.array([NO_FIT]), lit)


def _fit_row(
    row: NDArray[np.float32],
    prepared: PreparedSky,
    timezone: str,
    label_known: bool,
    lit: NDArray[np.integer],
    place: Places | None,
) -> BlockEstimates:
    """Fit one net meter, its clock and its load."""
    cells, clock = load_cells(prepared, timezone), FoundClock()
    fit = fit_net(row, prepared, cells)
    if prepared.options.clock is Clock.REPAIR:
        moved = find_net_clock(row, fit, prepared, cells, timezone)
        if moved is not None:
            gain = agreement_of(moved.fit) - agreement_of(fit)
            clock, row, fit = FoundClock(moved.hypothesis, gain), moved.row, moved.fit
    judged = judge_net(fit, row, prepared, label_known=label_known)
    found = _estimates(fit, clock, judged, prepared, lit, place)
    hours = tell_apart(row, prepared, cells, fit.state.point)
    found.household[0] = household_of(hours, fit.exporting)
    return found


def _estimates(
    fit: NetFit,
    clock: FoundClock,
    judged: NetJudgement,
    prepared: PreparedSky,
    lit: NDArray[np.integer],
    place: Places | None,
) -> BlockEstimates:
    """Return the estimate of one system as a block of one."""
    point = fit.state.point[None, :]
    points = point if place is None else as_placed(point, prepared.sky.site, place)
    clear_hours = np.array([fit.found[CLEAR][fit.have].sum() * prepared.minutes / 60.0])
    days = len(np.unique(prepared.day[fit.have]))
    flags = dict.fromkeys(judged.flags, True)
    flags[Flag.CLOCK_REPAIRED] = clock.hypothesis != DECLARED
    flags[Flag.TOO_LITTLE_DATA] = days < FEWEST_DAYS
    flags[Flag.FEW_CLEAR_HOURS] = bool(clear_hours[0] < FEWEST_CLEAR_HOURS)
    return BlockEstimates(
        outcome=np.full(1, INFERRED, dtype=np.uint8),
        surface_azimuth=np.degrees(np.arctan2(points[:, EAST], points[:, NORTH])) % 360.0,
        surface_tilt=np.minimum(np.hypot(points[:, EAST], points[:, NORTH]), 90.0),
        dc_capacity_kw=np.exp(points[:, CAPACITY]),
        haze_summer=points[:, HAZE] - points[:, HAZE_SEASON],
        haze_winter=points[:, HAZE] + points[:, HAZE_SEASON],
        heat=points[:, HEAT],
        ac_limit_kw=np.full(1, np.nan),
        clock_offset_minutes=np.array([clock.hypothesis.offset_minutes]),
        clock_saving=np.array([SAVINGS.index(clock.hypothesis.saving)], dtype=np.int8),
        clock_gain=np.array([clock.gain]),
        clock_steps=no_tuples(1),
        agreement=np.array([agreement_of(fit)]),
        clear_hours=clear_hours,
        trend=np.full(1, np.nan),
        skyline=np.zeros((1, COLUMNS), dtype=np.float32),
        years=no_tuples(1),
        planes=no_tuples(1),
        tracker=np.full(1, None, dtype=object),
        household=np.full(1, None, dtype=object),
        lit=lit.astype(np.int32),
        flags=np.bitwise_or.reduce(
            [flag_bits(flag, np.array([where])) for flag, where in flags.items()]
        ),
        **asdict(intervals_of(points, judged.covariance[None])),
    )


def agreement_of(fit: NetFit) -> float:
    """Return the share of bright readings whose clearness is expected to be that of a clear sky."""
    bright = fit.have & (fit.model > 0.2 * fit.model.max(initial=0.0))
    close = np.abs(fit.found[CLEARNESS] - 1.0) <= AGREES_WITHIN
    return float((close & bright).sum() / max(bright.sum(), 1))
