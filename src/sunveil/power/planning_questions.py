"""Planners' questions: peak day, ramps, cloud front, more capacity.

Each takes the fleet's power, a group of it (None if there is only one) and, where days or hours
count, the place's time zone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil._options import checked, number, shown, whole
from sunveil.errors import ParameterError
from sunveil.power.power_result import Banded, FleetPower, banded
from sunveil.site import Array

SEASONS = {"winter": (12, 1, 2), "spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11)}

EVENING = (17.0, 20.0)

# Of clear-sky power, what is left under a front of clouds: mostly the diffuse light.
UNDER_FRONT = 0.25

Draws = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BandedDay:
    """A day, and the reason it was chosen."""

    day: str  # the date, by the place's clock
    answer: Banded  # what makes it that day, with its band
    chance: float  # the share of draws in which it is that day


# More than all loads of the world. [kW]
MOST_LOAD = 1e12


@checked
def peak_day(power: FleetPower, *, group: str | None = None, zone: str = "UTC") -> BandedDay:
    """Return the day of the highest power, and that power.

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.planning_questions import peak_day
    >>> found = peak_day(example_power(), zone="America/Denver")
    >>> found.answer.low <= found.answer.value <= found.answer.high
    True
    """
    draws = power.draws(group)
    days, names = _days(power, zone)
    highest = np.maximum.reduceat(draws, days, axis=0)
    return _banded_day(highest, names, "kW", "highest power of the day", np.argmax)


@checked
def minimum_load_day(
    power: FleetPower,
    load_kw: pd.Series | Array | float,
    *,
    group: str | None = None,
    zone: str = "UTC",
) -> BandedDay:
    """Return the day on which load less generation is lowest, and how low it is.

    Parameters
    ----------
    load_kw
        The load of the same group in every interval, or one number for all of them. [kW]

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.planning_questions import minimum_load_day
    >>> found = minimum_load_day(example_power(), 2000.0, zone="America/Denver")
    >>> found.answer.value < 2000.0
    True
    """
    draws = power.draws(group)
    given = np.asarray(load_kw)
    fitting = given.dtype.kind in "fiu" and given.shape in ((), (power.grid.count,))
    if not fitting or not (np.abs(given) < MOST_LOAD).all():
        raise ParameterError("load_kw must be a finite number of kW, or one for every interval")
    load = np.broadcast_to(given.astype(np.float32), (power.grid.count,))
    days, names = _days(power, zone)
    lowest = np.minimum.reduceat(load[:, None] - draws, days, axis=0)
    about = "lowest load less generation of the day"
    return _banded_day(lowest, names, "kW", about, np.argmin)


@checked
def steepest_ramps(
    power: FleetPower, *, group: str | None = None, zone: str = "UTC", minutes: int | None = None
) -> dict[str, tuple[Banded, Banded]]:
    """Return the steepest rise and fall within an interval, for every season that the span has.

    Parameters
    ----------
    minutes
        Length of the window; one interval if None. [minutes]

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.planning_questions import steepest_ramps
    >>> rise, fall = steepest_ramps(example_power(), zone="America/Denver")["summer"]
    >>> rise.value > 0.0 > fall.value
    True
    """
    draws = power.draws(group)
    step = power.grid.step // 60
    if minutes is not None:
        whole("minutes", minutes, low=1, high=power.grid.count * step)
    many = max(round((minutes or step) / step), 1)
    ramps = draws[many:] - draws[:-many]
    month = _local(power, zone).month.to_numpy()[many:]
    found = {}
    for season, months in SEASONS.items():
        own = ramps[np.isin(month, months)]
        if len(own):
            over = f"within {many * step} minutes, in {season}"
            rise = banded(own.max(axis=0), "kW", f"steepest rise {over}")
            found[season] = rise, banded(own.min(axis=0), "kW", f"steepest fall {over}")
    return found


@checked
def facing_at_evening(
    power: FleetPower,
    *,
    azimuth: float = 270.0,
    width: float = 90.0,
    hours: tuple[float, float] = EVENING,
    months: tuple[int, ...] = SEASONS["summer"],
    group: str | None = None,
    zone: str = "UTC",
) -> Banded:
    """Return what roofs that face one way give at the evening peak, on average.

    Parameters
    ----------
    azimuth, width
        Which way they face, and how wide that is. [degrees]
    hours, months
        When the evening peak is, by the place's clock.

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.planning_questions import facing_at_evening
    >>> facing_at_evening(example_power(), zone="America/Denver").value > 0.0
    True
    """
    number("azimuth", azimuth)
    away = np.abs((power.mixture.surface_azimuth - azimuth + 180.0) % 360.0 - 180.0)
    local = _local(power, zone)
    hour = local.hour.to_numpy() + local.minute.to_numpy() / 60.0
    when = (hour >= hours[0]) & (hour < hours[1]) & np.isin(local.month.to_numpy(), months)
    if not when.any():
        raise ParameterError("the span has no such evening; give hours and months that it has")
    draws = power.draws(group, planes=away <= width / 2.0)[when]
    about = (
        f"mean power of roofs within {width / 2:g}° of {azimuth:g}°, from {hours[0]:g} to"
        f" {hours[1]:g} h"
    )
    return banded(draws.mean(axis=0), "kW", about)


@checked
def cloud_front(
    power: FleetPower, *, group: str | None = None, minutes: float = 15.0, left: float = UNDER_FRONT
) -> Banded:
    """Return how much power a front of clouds takes away at the group's highest hour.

    The front darkens all of the group within some minutes; a longer passage loses as much, more
    slowly. The answer is the fall in one interval of the grid, or in the whole passage where that
    is shorter.

    Parameters
    ----------
    minutes
        How long the front takes to pass over the group. [minutes]
    left
        Share of the power that is left under it.

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.planning_questions import cloud_front
    >>> slow, fast = (cloud_front(example_power(), minutes=m).value for m in (60.0, 15.0))
    >>> slow < fast
    True
    """
    if not (minutes > 0.0 and 0.0 <= left <= 1.0):
        raise ParameterError("minutes are above 0, and what is left is a share from 0 to 1")
    step = power.grid.step / 60.0
    lost = (1.0 - left) * min(1.0, step / minutes) * power.draws(group).max(axis=0)
    about = f"fall within {min(step, minutes):g} minutes when a front passes in {minutes:g}"
    return banded(lost, "kW", about)


@checked
def more_capacity(
    power: FleetPower, *, share: float = 0.2, group: str | None = None
) -> dict[str, Banded]:
    """Return what more capacity of the same mix would add: capacity, energy and peak.

    Parameters
    ----------
    share
        How much more.

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.planning_questions import more_capacity
    >>> sorted(more_capacity(example_power(), share=0.2))
    ['capacity', 'energy', 'peak']
    """
    if not 0.0 < share < MOST_LOAD:
        raise ParameterError("share must be a finite number above 0: the part that is added")
    draws, place = power.draws(group), power.place(group)
    hours = power.grid.step / 3600.0
    added = f"added by {100 * share:g}% more capacity of the same mix"
    capacity = power.mixture.weights[:, place].sum(axis=1)
    return {
        "capacity": banded(share * capacity, "kW", f"DC capacity {added}"),
        "energy": banded(share * hours * draws.sum(axis=0), "kWh", f"energy over the span {added}"),
        "peak": banded(share * draws.max(axis=0), "kW", f"highest power {added}"),
    }


def _local(power: FleetPower, zone: str) -> pd.DatetimeIndex:
    try:
        return power.times.tz_convert(ZoneInfo(zone))
    except (KeyError, ValueError, OSError):
        raise ParameterError(
            f"{shown(zone)} is no time zone; give one such as America/Denver, or UTC"
        ) from None


def _days(power: FleetPower, zone: str) -> tuple[NDArray[np.intp], list[str]]:
    """Return where every local day begins, and its date."""
    dates = _local(power, zone).strftime("%Y-%m-%d").to_numpy()
    starts = np.flatnonzero(np.r_[True, dates[1:] != dates[:-1]])
    return starts, [str(each) for each in dates[starts]]


def _banded_day(
    values: Draws, names: list[str], unit: str, about: str, best: Callable[..., NDArray[np.intp]]
) -> BandedDay:
    """Return the day that is best in most draws."""
    chosen = np.bincount(best(values, axis=0), minlength=len(names))
    place = int(chosen.argmax())
    answer = banded(values[place], unit, about)
    return BandedDay(names[place], answer, float(chosen[place] / chosen.sum()))
