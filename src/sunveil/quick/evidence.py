"""What first and last light say of a clock, and what is decided, compiled.

The rules are those of :mod:`sunveil.fit.clocks`, which is their test oracle.
"""

from __future__ import annotations

import numpy as np

from sunveil.fit.shared import (
    AS_GOOD,
    DECISIVE_MINUTES,
    EXPLAINED_MINUTES,
    LEAST_LIGHT_MINUTES,
    RARE_MINUTES,
    SAVING_MINUTES,
    SUSPICIOUS_MINUTES,
)
from sunveil.jit import compiled
from sunveil.quick.ends import typical

# How many times the energy a repaired clock must explain: a fit wavers less than a count.
LEAST_GAIN = 1.0
# Kinds of daylight saving, in the order of :class:`sunveil.estimate.DaylightSaving`.
AS_DECLARED, LEFT_IN, APPLIED_TWICE = range(3)
# The declared clock, one with another daylight saving, and three offsets.
MOST_CLOCKS = 5


@compiled
def suspicious(base, winter, summer):  # type: ignore[no-untyped-def]
    """Return whether light speaks for more than the declared clock."""
    step = abs(summer - winter)
    return abs(base) > SUSPICIOUS_MINUTES or (step > SAVING_MINUTES[0] and step < SAVING_MINUTES[1])


@compiled
def propose(base, winter, summer, minutes, options):  # type: ignore[no-untyped-def]
    """Fill the clocks that first and last light make plausible; return how many there are."""
    kind = AS_DECLARED
    step = abs(summer - winter)
    if step > SAVING_MINUTES[0] and step < SAVING_MINUTES[1]:
        kind = LEFT_IN if summer > winter else APPLIED_TWICE
        base = winter
    options[0, 0], options[0, 1] = 0.0, AS_DECLARED
    count = 1
    if kind != AS_DECLARED:
        options[1, 0], options[1, 1] = 0.0, kind
        count = 2
    if not abs(base) > SUSPICIOUS_MINUTES:
        return count
    for k in range(-26, 27):
        offset = 30.0 * k
        away = abs(offset - base)
        whole = minutes >= 60.0 or k % 2 == 0
        if k != 0 and away <= 30.0 and (whole or away <= 20.0) and count < MOST_CLOCKS:
            options[count, 0], options[count, 1] = offset, kind
            count += 1
    return count


@compiled
def unexplained(ours, theirs, calendar, clock, minutes, room):  # type: ignore[no-untyped-def]
    """Return how far light still is from a plane's under a clock. [minutes]"""
    offset, kind = clock
    hour = 60.0 if kind == LEFT_IN else -60.0 if kind == APPLIED_TWICE else 0.0
    winter = typical(ours, theirs, calendar.days, 1, minutes, room) - offset
    summer = typical(ours, theirs, calendar.days, 2, minutes, room) - offset - hour
    if hour == 0.0:
        base = typical(ours, theirs, calendar.days, 0, minutes, room) - offset
    else:
        # the hour is taken out of the days of saving before all are looked at together
        moved, light = room[2], ours[0]
        for d in range(len(moved)):
            moved[d] = light[d] - np.float32(hour / minutes if calendar.days[d] else 0.0)
        base = typical((moved, ours[1]), theirs, calendar.days, 0, minutes, room) - offset
    worst = 0.0
    for one in (base, winter, summer):
        worst = max(worst, abs(one)) if one == one else worst
    return worst


@compiled
def decide(options, shares, left, number, minutes):  # type: ignore[no-untyped-def]
    """Return the place of the clock that the evidence is for.

    ``shares`` are what each clock explains of the energy, ``left`` the minutes of first and last
    light that each leaves unexplained; see :func:`sunveil.fit.clocks.decide`.
    """
    rare = 0.0 if minutes >= 30.0 else RARE_MINUTES
    most = shares[:number].max()
    best, least = 0, np.inf
    for i in range(number):
        if shares[i] < AS_GOOD * most:
            continue
        odd = left[i] + (rare if options[i, 0] % 60.0 != 0.0 else 0.0)
        if odd < least:
            best, least = i, odd
    agrees = shares[best] >= LEAST_GAIN * shares[0]
    # a short record may agree as well with a turned plane, but its days cannot begin at night
    decisive = left[0] > DECISIVE_MINUTES and left[best] < EXPLAINED_MINUTES
    if not (agrees or decisive) or left[best] > left[0] - LEAST_LIGHT_MINUTES:
        return 0
    return best
