"""Kernels: readings that agree with candidates, and votes of days, over planes and capacities.

They are what a release spends its time in. See :mod:`sunveil.scores` for what they count.
"""

from __future__ import annotations

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True)


@kernel
def count_agreeing(power, profiles, lowest, per_step, width, capacities):  # type: ignore[no-untyped-def]
    """Count the readings that agree with every plane and capacity.

    Parameters
    ----------
    power
        Logarithm of the readings, -inf where none can agree, shape (n,) float32. [log kW]
    profiles
        Logarithm of the planes' profiles, inf where none can agree, shape (planes, n) float32.
        [log kW/kW]
    lowest, per_step
        Logarithm at which the first bin begins, and bins to a unit of logarithm, float32.
    width
        How many bins a capacity's tolerance spans.
    capacities
        How many capacities there are: capacity c has bins c to c + width - 1.

    Returns
    -------
    counts
        Shape (planes, capacities) int32.
    """
    planes, readings = profiles.shape
    bins = capacities + width - 1
    out = np.empty((planes, capacities), dtype=np.int32)
    tally = np.empty(bins, dtype=np.int32)
    for plane in range(planes):
        tally[:] = 0
        for k in range(readings):
            place = (power[k] - profiles[plane, k] - lowest) * per_step
            if 0.0 <= place < bins:
                tally[int(place)] += 1
        running = 0
        for b in range(width - 1):
            running += tally[b]
        for c in range(capacities):
            running += tally[c + width - 1]
            out[plane, c] = running
            running -= tally[c]
    return out


@kernel
def count_votes(  # type: ignore[no-untyped-def]
    power, profiles, days, shares, fewest, lowest, per_step, width, capacities
):
    """Count the votes that every plane and capacity has from the days.

    Parameters
    ----------
    power, profiles, lowest, per_step, width, capacities
        As for :func:`count_agreeing`.
    days
        Where each day begins among the readings, and where the last ends, shape (days + 1,) int64.
    shares
        Shares of a day's lit intervals; each that is reached is one vote, float64.
    fewest
        Readings of a day that must agree for any vote.

    Returns
    -------
    votes
        Shape (planes, capacities) int32.
    """
    planes = profiles.shape[0]
    bins = capacities + width - 1
    most = 0
    for d in range(len(days) - 1):
        most = max(most, days[d + 1] - days[d])
    out = np.empty((planes, capacities), dtype=np.int32)
    change = np.empty(capacities + 1, dtype=np.int32)
    places = np.empty(most, dtype=np.int64)
    for plane in range(planes):
        change[:] = 0
        for d in range(len(days) - 1):
            lit = 0
            seen = 0
            for k in range(days[d], days[d + 1]):
                if profiles[plane, k] < np.inf:
                    lit += 1
                    place = (power[k] - profiles[plane, k] - lowest) * per_step
                    if 0.0 <= place < bins:
                        value = int(place)
                        j = seen
                        while j > 0 and places[j - 1] > value:
                            places[j] = places[j - 1]
                            j -= 1
                        places[j] = value
                        seen += 1
            for share in shares:
                needed = max(int(np.ceil(share * lit)), fewest)
                # capacities whose window holds the i-th to the (i + needed - 1)-th place; these
                # ranges move up with i, and each capacity is counted once
                end = -1
                for i in range(seen - needed + 1):
                    first = max(places[i + needed - 1] - width + 1, end + 1)
                    last = min(places[i], capacities - 1)
                    if first <= last:
                        change[first] += 1
                        change[last + 1] -= 1
                    end = max(end, last)
        running = 0
        for c in range(capacities):
            running += change[c]
            out[plane, c] = running
    return out
