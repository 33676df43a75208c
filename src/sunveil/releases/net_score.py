"""Scores of net meters: how likely each day's readings are under each candidate, held to a range.

A reading is clear power times clearness less a load. For each reading it is told how likely it is
under any clear power (:func:`levels_by_power`), on a grid as fine as that of the capacities: the
capacities of a plane are then so many neighbours on that grid, wherever its profile puts the first.
What is missing counts for all candidates alike.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.record import Record
from sunveil.privacy.score import Score
from sunveil.privacy.units import Days, Readings
from sunveil.releases.frame import Frame, power_on
from sunveil.releases.net_choices import NetChoices
from sunveil.releases.worth import HOUR, reach
from sunveil.site import Array
from sunveil.timegrid import DAY

PROOF = "docs/proofs/net-days.md"
# Bins of the logarithm of a load. [log kW]
_LOWEST, _HIGHEST, _BIN = -10.0, 12.0, 0.05
# No plane gives more than this. [kW/kW]
_MOST = 1.5
Levels = NDArray[np.int16]


def net_score(frame: Frame, record: Record, unit: Readings | Days) -> Score:
    """Return what the units of a net meter's record count for every candidate.

    Parameters
    ----------
    frame
        The public frame, made with :class:`~sunveil.releases.net_choices.NetChoices`.
    record
        The readings.
    unit
        How many readings, or how many days, neighbours differ in.

    Privacy
    -------
    What a day counts for a candidate is a whole number from 0 to L, and a function of that day's
    readings alone; so the sensitivity is ``k L``, and three times as much of a register. Of single
    readings the same holds, without the nights, and twice as much of a register. Proof:
    ``docs/proofs/net-days.md``.
    """
    from sunveil.releases.net_kernels import sum_days  # numba takes a second to load

    net, by_day = _choices(frame), isinstance(unit, Days)
    table = levels_by_power(frame, power_on(frame.time_grid, record), net, by_day=by_day)
    levels = net.day_levels if by_day else net.reading_levels
    # readings are held to a range already, so that days of them are held to all they can count
    most = levels if by_day else levels * int(np.diff(frame.days).max())
    place = places(frame, net)
    out = np.zeros((len(place), len(frame.choices.capacities)), dtype=np.int64)
    sum_days(table, place, frame.days, most, by_day, out)
    sensitivity = unit.k * levels * reach(unit, differenced=record.differenced)
    return Score(out.ravel(), sensitivity, unit, PROOF)


def levels_by_power(frame: Frame, power: Array, net: NetChoices, *, by_day: bool) -> Levels:
    """Return how likely every lit reading is under every clear power, in levels below the best.

    Parameters
    ----------
    frame
        The public frame.
    power
        The readings on the frame's grid of times, NaN where there is none. [kW]
    net
        The public model.
    by_day
        Whether a day's dark readings tell its base load, and readings count by their length.
    """
    from sunveil.releases.net_kernels import tabulate

    day = _days(frame)
    weights = base_weights(frame, power, net, day) if by_day else _no_nights(net)
    middles = np.arange(_LOWEST, _HIGHEST, _BIN) + _BIN / 2.0
    density = weights @ net.load_density(middles - net.bases()[0][:, np.newaxis])
    above = np.cumsum(density[:, ::-1], axis=1)[:, ::-1] * _BIN
    lit = power[frame.lit]
    clear = _clear_powers(frame, net)
    out = np.empty((len(lit), len(clear) + len(frame.choices.capacities)), dtype=np.int16)
    # readings of short intervals say less that is new
    hours = min(frame.time_grid.step / HOUR, 1.0) if by_day else 1.0
    tabulate(
        np.nan_to_num(lit),
        (~np.isnan(lit)).astype(np.float64),
        day[frame.lit] if by_day else np.zeros(len(lit), dtype=np.int64),
        density,
        above,
        _LOWEST,
        1.0 / _BIN,
        clear,
        *net.clearness(clear_sky=frame.weather.clear),
        math.exp(-net.reading_nats),
        net.levels_per_nat * hours,
        out,
    )
    return out


def base_weights(frame: Frame, power: Array, net: NetChoices, day: NDArray[np.int64]) -> Array:
    """Return how likely base loads are in every day by its own dark readings, shape (days, bases).

    Parameters
    ----------
    frame, power, net
        As for :func:`levels_by_power`.
    day
        The day of every interval.
    """
    bases, prior = net.bases()
    # dark readings that are no load tell nothing, as missing ones do
    load = frame.dark & (power < 0.0)
    logs = np.log(np.where(load, -power, 1.0))
    said = net.night * np.log(net.load_density(logs[:, np.newaxis] - bases) + np.exp(-20.0))
    found = np.zeros((day[-1] + 1, len(bases)))
    np.add.at(found, day, np.where(load[:, np.newaxis], said, 0.0))
    found += prior
    found = np.exp(found - found.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def places(frame: Frame, net: NetChoices) -> NDArray[np.int32]:
    """Return where in a table of levels every plane's smallest capacity stands in every interval.

    Planes of all clocks stand one after another, shape (clocks * planes, lit intervals).
    """
    step = frame.choices.capacities.step
    most = round(math.log(_MOST / net.floor) / step)
    dark = len(_clear_powers(frame, net)) - 1
    found = []
    for (logs,) in frame.profiles:
        lit = np.isfinite(logs)
        near = np.rint((np.where(lit, logs, 0.0) - math.log(net.floor)) / step)
        found.append(np.where(lit, np.clip(near, 0, most), dark).astype(np.int32))
    return np.concatenate(found)


def _clear_powers(frame: Frame, net: NetChoices) -> Array:
    """Return the clear powers of a table: those of all capacities, and none at all. [kW]"""
    capacities = frame.choices.capacities
    count = round(math.log(_MOST / net.floor) / capacities.step) + len(capacities)
    powers = net.floor * capacities.low * np.exp(capacities.step * np.arange(count))
    return np.append(powers, 0.0)


def _no_nights(net: NetChoices) -> Array:
    weights = np.exp(net.bases()[1])
    return np.asarray(weights / weights.sum())[np.newaxis]


def _days(frame: Frame) -> NDArray[np.int64]:
    """Return the solar day of every interval, counted from the first."""
    solar = frame.time_grid.times.astype("datetime64[s]").astype(np.int64)
    found = (solar + round(frame.weather.site.longitude * 240.0)) // DAY
    return np.asarray(found - found[0])


def _choices(frame: Frame) -> NetChoices:
    assert frame.choices.net is not None  # count_score asks for no other
    return frame.choices.net
