"""Kernels of net meters' scores: how likely readings are, and sums of days over candidates.

As in :mod:`sunveil.score_kernels`, no branch is taken and no work is skipped on a reading: what the
work takes does not tell what was read. See :mod:`sunveil.releases.net_score` for what is counted.
"""

from __future__ import annotations

import numpy as np
from numba import njit

kernel = njit(cache=True, nogil=True)

# Loads are told down to this. [kW]
LEAST_LOAD = 1e-4
# Nothing is less likely, so that a reading that no candidate explains counts for none.
LEAST_CHANCE = 1e-300


@kernel
def tabulate(  # type: ignore[no-untyped-def]
    power, seen, day, density, above, lowest, per_step, clear, clearness, chances, floor, scale, out
):
    """Tell how likely every reading is under every clear power, beside the likeliest, in levels.

    Parameters
    ----------
    power
        The readings, 0 where there is none, shape (n,) float64. [kW]
    seen
        1 where there is a reading and 0 where there is none, shape (n,) float64.
    day
        The day of each, shape (n,) int64.
    density, above
        Density of the logarithm of the day's loads, and the share of loads above each, shape (days,
        bins) float64.
    lowest, per_step
        Logarithm at which the first bin begins, and bins to a unit of logarithm. [log kW]
    clear
        The clear powers, shape (powers,) float64. [kW]
    clearness, chances
        The clearnesses and how likely each is, shape (m,) float64.
    floor
        Share of the likeliest below which all count alike.
    scale
        Levels to a nat.
    out
        Zero or less, shape (n, powers or more) int16; written to. What is beyond the powers gets
        what the last of them has.
    """
    last = density.shape[1] - 1.0
    row = np.empty(len(clear))
    for t in range(len(power)):
        dense, over = density[day[t]], above[day[t]]
        top = LEAST_CHANCE
        for g in range(len(clear)):
            exact, at_most = 0.0, 0.0
            for k in range(len(clearness)):
                load = clearness[k] * clear[g] - power[t]
                held = max(load, LEAST_LOAD)
                place = min(max((np.log(held) - lowest) * per_step, 0.0), last)
                exact += chances[k] * dense[int(place)] / held * (load > LEAST_LOAD)
                at_most += chances[k] * over[int(place)]
            # of a meter that counts only what is given, zero says that it was at most zero
            row[g] = at_most if power[t] == 0.0 else exact
            top = max(top, row[g])
        for g in range(len(clear)):
            nats = seen[t] * np.log(max(row[g] / top, floor))
            # at most 50 nats of 64 levels (NetChoices): 3,200, whatever the interval
            out[t, g] = np.int16(np.rint(scale * nats))
        for g in range(len(clear), out.shape[1]):
            out[t, g] = out[t, len(clear) - 1]


@kernel
def sum_days(table, place, days, most, beside_best, out):  # type: ignore[no-untyped-def]
    """Add up what days count for every plane and capacity: the levels of their readings.

    Parameters
    ----------
    table
        Levels of readings by clear power, shape (n, powers) int16.
    place
        Where in the table a plane's smallest capacity stands, shape (planes, n) int32; the others
        follow it.
    days
        Where each day begins among the readings, and where the last ends, shape (days + 1,) int64.
    most
        What a day counts at most.
    beside_best
        Whether a day counts that much for the candidate with the highest levels for it, and for
        others as much less as they are behind, down to nothing; if not, for levels of zero.
    out
        Shape (planes, capacities) int64; added to.
    """
    planes, capacities = out.shape
    # Intervals last a minute or more, so a day has at most 1,440, of at most 3,200 levels each
    # (NetChoices): its sums stay within 4.7 million of zero, where 32 bits hold 2,147 million.
    sums = np.empty((planes, capacities), dtype=np.int32)
    for d in range(len(days) - 1):
        best = np.int32(-(2**31) + 1)
        for plane in range(planes):
            own = sums[plane]
            own[:] = np.int32(0)
            for t in range(days[d], days[d + 1]):
                first = place[plane, t]
                row = table[t, first : first + capacities]
                for c in range(capacities):
                    own[c] += row[c]
            for c in range(capacities):
                best = max(best, own[c])
        least = np.int32((best if beside_best else 0) - most)
        for plane in range(planes):
            for c in range(capacities):
                out[plane, c] += max(sums[plane, c] - least, 0)
