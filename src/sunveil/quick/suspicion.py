"""Systems whose clock is in doubt, found on the way to their fit, compiled.

First and last light are compared with those of a flat plane, which a wrong clock moves. Most that
look moved only face the rising or the setting sun: the plane that was found so far tells these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.shared import EXPLAINED_MINUTES, LIGHT_THRESHOLD
from sunveil.jit import compiled
from sunveil.quick.constants import Constants
from sunveil.quick.ends import (
    Calendar,
    Days,
    fill_middles,
    fill_modelled,
    light_room,
    modelled_room,
    typical,
    typical_room,
)
from sunveil.quick.evidence import AS_DECLARED, MOST_CLOCKS, propose, suspicious, unexplained
from sunveil.site import Array

Matrix = NDArray[np.float32]


class Watch(NamedTuple):
    """What the light of a cell's systems is compared with.

    Parameters
    ----------
    days
        The solar days.
    calendar
        When daylight is saved by the declared clock.
    middle, energy
        Middles and sums of each day's light on a flat plane.
    constants
        What is assumed.
    """

    days: Days
    calendar: Calendar
    middle: Matrix
    energy: Matrix
    constants: Constants


class Suspects(NamedTuple):
    """What is known of the clocks of a block, one entry for each system: private.

    Parameters
    ----------
    number
        How many clocks are plausible: 1 where the declared one is.
    options
        These clocks, the declared one first: minutes ahead, and kind of daylight saving.
    left
        What the declared clock leaves unexplained of light, where it is in doubt. [minutes]
    share
        Share of energy that the best plane explains under it.
    limit
        Logarithm of the inverter's limit, which no clock changes.
    middle, energy
        Middles and sums of each day's light.
    """

    number: NDArray[np.int64]
    options: Array
    left: Array
    share: Array
    limit: Array
    middle: Matrix
    energy: Matrix


def no_suspects(count: int, days: Days) -> Suspects:
    """Return room for the suspicions of so many systems, of whom nothing is thought yet."""
    return Suspects(
        np.ones(count, dtype=np.int64),
        np.zeros((count, MOST_CLOCKS, 2)),
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
        np.empty((count, days.number), dtype=np.float32),
        np.empty((count, days.number), dtype=np.float32),
    )


@compiled
def watch_room(days):  # type: ignore[no-untyped-def]
    """Return what :func:`is_suspect` is worked in."""
    return typical_room(days), modelled_room(days), light_room(days)


@compiled
def is_suspect(row, bright, point, watch, suspects, s, room):  # type: ignore[no-untyped-def]
    """Fill the plausible clocks of one system; return whether there are others than the declared.

    ``row`` is on the long axis, ``bright`` its bright power [kW], ``point`` the plane found so far.
    """
    medians, drawing, theirs = room
    days, calendar = watch.days, watch.calendar
    ours, flat = (suspects.middle[s], suspects.energy[s]), (watch.middle, watch.energy)
    fill_middles(row, np.float32(LIGHT_THRESHOLD * bright), days, ours[0], ours[1])
    base = typical(ours, flat, calendar.days, 0, days.minutes, medians)
    winter = typical(ours, flat, calendar.days, 1, days.minutes, medians)
    summer = typical(ours, flat, calendar.days, 2, days.minutes, medians)
    if not suspicious(base, winter, summer):
        return False
    fill_modelled(point, days, watch.constants, drawing, theirs[0], theirs[1])
    declared = (0.0, AS_DECLARED)
    left = unexplained(ours, theirs, calendar, declared, days.minutes, medians)
    if left < EXPLAINED_MINUTES:
        return False
    suspects.left[s] = left
    suspects.number[s] = propose(base, winter, summer, days.minutes, suspects.options[s])
    return suspects.number[s] > 1
