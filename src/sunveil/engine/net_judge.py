"""Whether what was told of a net meter can be relied on, and how sure it is.

Four things hide a plane from a net meter: a household that leaves little over, a load that is
several times the generation, a battery that holds the meter at zero, and a load that comes and goes
with the sun. Each shows in the readings or in what the fit makes of them, without knowing the
truth, and is flagged. What is no net meter at all is refused before anything is fitted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import UNKNOWN_LABEL
from sunveil.engine.intervals import in_plane_axes
from sunveil.engine.model import CAPACITY, HAZE
from sunveil.engine.net_fit import NetFit
from sunveil.engine.net_model import CLEAR, CLEARNESS
from sunveil.engine.net_problem import EDGES
from sunveil.engine.prepared import PreparedSky
from sunveil.estimate import Flag
from sunveil.meters.record import SHORT_INTERVAL
from sunveil.site import Array

Matrix = NDArray[np.float32]

# No net meter: more than this share of the readings at night is above zero by more than that share
# of the highest readings, or less than this share of the daylight readings is above zero.
MOST_AT_NIGHT, IDLE, LEAST_EXPORTING = 0.3, 0.02, 0.03
# Export in a smaller share of the daylight readings hides a plane, ...
LITTLE_EXPORT = 1.0 / 3.0
# ... and so does a load of more than so many times the generation.
HEAVY_LOAD = 3.0
# A battery holds the meter within this share of the highest readings, for more than that share of
# the daylight readings and this many times as often as just beside it. Homes without one cross zero
# in 4 to 16% of daylight and no more often than the powers beside it; with one they stay there for
# 35% and more, ten times as often.
HELD_WITHIN, HELD_SHARE, HELD_OFTEN = 0.02, 0.25, 4.0
# A meter sees import where more than this share of the daylight readings is below zero.
TAKES = 0.01
# A load that is lower at night, as a share of the one by day, comes and goes with the sun.
LEAST_AT_NIGHT = 0.2
# By how much a minute of the clock turns a plane, whatever its tilt. [degrees across]
ACROSS_PER_MINUTE = 0.3
# A fit that explains readings by so large a share of clouds brighter than a clear sky, by air so
# many standard deviations from the usual, or by so few clear hours has not found the plane.
BRIGHTER, BRIGHTEST_CLOUDS, STRANGE_AIR, FEWEST_CLEAR = 1.08, 0.05, 3.5, 0.2


@dataclass(frozen=True, slots=True, eq=False)
class NetErrors:
    """What the fit of a net meter cannot see, by what real homes and real systems elsewhere show.

    Wider than the homes ask for that it was calibrated on: systems in other climates err more.

    Parameters
    ----------
    tilt, across
        Standard deviations along the plane's tilt and across it. [degrees]
    capacity
        Standard deviation as a fraction of the capacity.
    stretch
        Factor on the standard deviations that the fit states.
    """

    tilt: float = 3.2
    across: float = 1.3
    capacity: float = 0.07
    stretch: float = 0.9


NET_ERRORS = NetErrors()


@dataclass(frozen=True, slots=True, eq=False)
class NetJudgement:
    """What is thought of the fit of one net meter: private.

    Parameters
    ----------
    flags
        What to know before trusting it.
    covariance
        Covariance of the point with what the fit cannot see, shape (PARAMETERS, PARAMETERS).
    """

    flags: tuple[Flag, ...]
    covariance: Array

    def __repr__(self) -> str:
        return "NetJudgement(private)"


def is_net(row: Matrix, prepared: PreparedSky) -> bool:
    """Return whether readings look like generation less a load: above zero by day, not at night.

    Parameters
    ----------
    row
        Readings on the long grid, NaN where there is none. [kW]
    prepared
        The sky.
    """
    light, night = row[prepared.slot], _without(prepared.sky.slot, row)
    light = light[np.isfinite(light)]
    if not len(light):
        return True
    idle = IDLE * np.quantile(np.abs(light), 0.98)
    at_night = np.count_nonzero(night > idle) > MOST_AT_NIGHT * len(night)
    return bool(np.mean(light > 0.0) >= LEAST_EXPORTING and not at_night)


def judge_net(
    fit: NetFit, row: Matrix, prepared: PreparedSky, *, label_known: bool = True
) -> NetJudgement:
    """Judge the fit of one net meter.

    Parameters
    ----------
    fit
        The fit.
    row
        Its readings on the long grid, NaN where there is none. [kW]
    prepared
        The sky.
    label_known
        Whether somebody said which instant of its interval a stamp names; of short intervals
        nothing else tells.
    """
    step = prepared.sky.grid.step
    unknown = not label_known and step < SHORT_INTERVAL
    turned = ACROSS_PER_MINUTE * UNKNOWN_LABEL * step / 60.0 if unknown else 0.0
    errors = replace(NET_ERRORS, across=math.hypot(NET_ERRORS.across, turned))
    read = fit.readings.power[fit.have]
    generation = (fit.found[CLEARNESS] * fit.model)[fit.have]
    by_day = np.maximum(generation - read, 0.0)
    at_night = np.maximum(-_without(prepared.slot, row), 0.0)
    takes = np.mean(read < 0.0) > TAKES
    # a meter that sees no import reads zero where there is any
    storage = held_at_zero(read if takes else read[read > 0.0])
    found = {
        Flag.NET_METER: True,
        Flag.LITTLE_EXPORT: fit.exporting < LITTLE_EXPORT,
        Flag.HEAVY_LOAD: by_day.sum() + at_night.sum() > HEAVY_LOAD * generation.sum(),
        Flag.STORAGE: storage,
        Flag.LOAD_FOLLOWS_SUN: takes
        and not storage
        and len(at_night) > 0
        and float(at_night.mean()) < LEAST_AT_NIGHT * float(by_day.mean()),
        Flag.LOW_AGREEMENT: is_strange(fit, prepared),
        Flag.LABEL_UNKNOWN: unknown,
    }
    flags = tuple(flag for flag, there in found.items() if there)
    return NetJudgement(flags, with_systematic_errors(fit, errors))


def held_at_zero(power: Array) -> bool:
    """Return whether something holds a meter at zero, as a battery does.

    Parameters
    ----------
    power
        Daylight readings, those that only say that nothing was left over put aside. [kW]
    """
    size = np.abs(power)
    within = HELD_WITHIN * np.quantile(size, 0.99) if len(size) else 0.0
    held = np.count_nonzero(size < within)
    beside = np.count_nonzero((size >= within) & (size < 3.0 * within)) / 2.0
    return bool(held > HELD_SHARE * len(size) and held > HELD_OFTEN * beside)


def is_strange(fit: NetFit, prepared: PreparedSky) -> bool:
    """Return whether a fit explains readings by a sky that no place has."""
    middles = 0.5 * (EDGES[1:] + EDGES[:-1])
    bright = fit.state.clouds[middles > BRIGHTER].sum()
    numbers = prepared.numbers
    air = abs(fit.state.point[HAZE] - numbers.haze_mean) / numbers.haze_deviation
    clear = fit.found[CLEAR][fit.have].mean()
    return bool(bright > BRIGHTEST_CLOUDS or air > STRANGE_AIR or clear < FEWEST_CLEAR)


def with_systematic_errors(fit: NetFit, errors: NetErrors = NET_ERRORS) -> Array:
    """Return the covariance of a fit with what it cannot see, shape (PARAMETERS, PARAMETERS)."""
    covariance = errors.stretch**2 * fit.covariance
    axes = in_plane_axes(fit.state.point[None, :])[0]
    bias = np.array([errors.tilt, errors.across]) ** 2
    covariance[:2, :2] += np.einsum("ai,a,aj->ij", axes, bias, axes)
    covariance[CAPACITY, CAPACITY] += errors.capacity**2
    return covariance


def _without(slot: NDArray[np.integer], row: Matrix) -> Matrix:
    """Return the readings of a row but for some intervals. [kW]"""
    rest = np.ones(len(row), dtype=bool)
    rest[slot] = False
    return row[rest & np.isfinite(row)]
