"""Clocks that were set to another time within a record, found in first and last light.

A logger that was exchanged, a battery that ran out, daylight saving that somebody switched on or
off: from one day on first and last light both come earlier or later. The days are parted into runs
of one offset each, at a price for every step, so that only what weeks of days say is a step. What
stands before the sun for a season moves one end of its days, and is none.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.hypotheses import ClockHypothesis
from sunveil.engine.light import Daylight, lower_median, moved_together
from sunveil.engine.saving import ClockCalendar
from sunveil.estimate import ClockStep
from sunveil.site import Array

# How far a clock may be off on some days of a record, against most of them. [minutes]
OFFSETS = 30.0 * np.arange(-4, 5)
# What a day at most says against an offset. [minutes]
MOST_OF_A_DAY = 45.0
# What speaks against an offset on every day, as a share of it.
OPEN_SHARE = 0.05
# What a step must explain, over all days. [minutes]
PRICE = 400.0
# More steps are no clock that somebody set.
MOST_STEPS = 24
# Days are looked at by so many first, and so many such parts must be this far off. [minutes]
PART_DAYS, FEWEST_PARTS, PART_MINUTES = 14, 2, 17.0

kernel = njit(cache=True, nogil=True, error_model="numpy")


def may_have_steps(measured: Daylight, flat: Daylight, *, minutes: float) -> NDArray[np.bool_]:
    """Return which systems have weeks whose light is far from what it is on most days.

    Parameters
    ----------
    measured
        Daylight of systems.
    flat
        That of a flat plane.
    minutes
        Length of an interval. [minutes]
    """
    _, systems, days = measured.bounds.shape
    parts = days // PART_DAYS
    if parts <= FEWEST_PARTS:
        return np.zeros(systems, dtype=bool)
    ahead = ((measured.bounds - flat.bounds) * np.float32(minutes))[:, :, : parts * PART_DAYS]
    by_part = ahead.reshape(2 * systems * parts, PART_DAYS)
    typical = lower_median(by_part, np.isfinite(by_part)).reshape(2, systems, parts)
    there = np.isfinite(typical)
    usual = np.array([lower_median(each, own) for each, own in zip(typical, there, strict=True)])
    away = np.where(
        there.all(axis=0), typical - np.where(usual < np.inf, usual, 0.0)[:, :, None], 0.0
    )
    far = np.abs(moved_together(away)) > PART_MINUTES
    return np.asarray(far.sum(axis=1) >= FEWEST_PARTS)


def light_against(leads: Array, offsets: Array) -> Array:
    """Return what each day says against each offset, shape (days, offsets). [minutes]"""
    away = leads[:, :, None] - offsets
    against = np.minimum(np.abs(moved_together(away)), MOST_OF_A_DAY)
    shown = np.isfinite(leads[0]) & np.isfinite(leads[1])
    return np.where(shown[:, None], against, 0.0)


def offsets_by_day(leads: Array, *, step: int) -> list[Array]:
    """Return offsets of each day that explain the light with few steps. [minutes]

    Parameters
    ----------
    leads
        How far first and last light run ahead on each day, shape (2, days). [minutes]
    step
        Length of an interval: all days must move onto one grid, so that offsets of half an
        interval are tried apart from whole ones. [s]
    """
    rests = OFFSETS * 60.0 % step
    paths = []
    for rest in np.unique(rests):
        offsets = OFFSETS[rests == rest]
        # where days leave it open, the clock is right
        against = light_against(leads, offsets) + OPEN_SHARE * np.abs(offsets)
        places = np.empty(len(against), dtype=np.int64)
        _cheapest_path(against, PRICE, places, np.empty(against.shape, dtype=np.int64))
        paths.append(offsets[places])
    return paths


def with_offsets(
    clock: ClockHypothesis, offsets: Array, calendar: ClockCalendar
) -> ClockHypothesis:
    """Return a clock without steps that runs ahead by more on some days.

    Parameters
    ----------
    clock
        The clock.
    offsets
        How much more on each day. [minutes]
    calendar
        That of the days.
    """
    total = clock.offset_minutes + offsets
    changes = np.flatnonzero(np.diff(total)) + 1
    steps = tuple(ClockStep.on(calendar.day[k], total[k]) for k in changes.tolist())
    return ClockHypothesis(float(total[0]), clock.saving, steps)


@kernel
def _cheapest_path(against, price, places, came):  # type: ignore[no-untyped-def]
    """Fill the place of each day's offset, so that days and steps together cost least.

    ``against`` has shape (days, offsets), ``places`` (days,); ``came`` is scratch, (days, offsets).
    """
    days, count = against.shape
    total = against[0].copy()
    for d in range(1, days):
        cheapest = int(np.argmin(total))
        least = total[cheapest] + price
        for k in range(count):
            came[d, k] = k
            if least < total[k]:
                total[k], came[d, k] = least, cheapest
            total[k] += against[d, k]
    places[days - 1] = int(np.argmin(total))
    for d in range(days - 1, 0, -1):
        places[d - 1] = came[d, places[d]]
