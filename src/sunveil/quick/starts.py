"""Where the fit of a system starts: products of bright readings and planes.

Of every ten days and time of day the system's bright power is taken; how well it looks like each
plane's is a product of the two.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.fit.shared import MIXTURE_FEWEST as FEWEST
from sunveil.fit.shared import MIXTURE_QUANTILE as BRIGHT_QUANTILE
from sunveil.jit import compiled

# A group whose bright power is so far from the best plane's has lost half its say.
FAR = 0.2
MOST = 3
APART = float(np.cos(np.radians(25.0)))


def bright_ranks(members: int) -> NDArray[np.int32]:
    """Return which of the largest of so many readings is their bright one, -1 for none."""
    count = np.arange(members + 1)
    ranks = count - 1 - (BRIGHT_QUANTILE * (count - 1) + 0.5).astype(np.int64)
    return np.where(count >= FEWEST, ranks, -1).astype(np.int32)


@compiled
def fill_bright(row, places, scale, ranks, room, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with each group's bright power, NaN where too few readings are. [kW]

    ``row`` is on the long axis. ``places`` and ``scale`` have a row for each member of a group, so
    that all groups are gone through at once; ``ranks`` says which of the largest counts among so
    many. ``room`` is what is worked in.
    """
    largest, value, count = room
    count[:] = 0
    largest[:] = -np.inf
    for d in range(places.shape[0]):
        for g in range(places.shape[1]):
            here = row[places[d, g]] * scale[d, g]
            there = here == here
            value[g] = here if there else np.float32(-np.inf)
            count[g] += there
        for m in range(largest.shape[0]):
            for g in range(places.shape[1]):
                here, before = value[g], largest[m, g]
                largest[m, g] = max(here, before)
                value[g] = min(here, before)
    for g in range(places.shape[1]):
        rank = ranks[count[g]]
        out[g] = largest[rank, g] if rank >= 0 else np.float32(np.nan)


@compiled
def fill_products(value, weight, profiles, left, capacity):  # type: ignore[no-untyped-def]
    """Fill what each plane leaves of the energy's square, and the capacity it does so with."""
    energy = np.float32(1e-12)
    for g in range(len(value)):
        energy += weight[g] * value[g] * value[g]
    for p in range(profiles.shape[0]):
        one = profiles[p]
        both, own = np.float32(0.0), np.float32(1e-12)
        for g in range(len(value)):
            weighed = weight[g] * one[g]
            both += weighed * value[g]
            own += weighed * one[g]
        left[p] = np.float32(1.0) - both * both / (own * energy)
        capacity[p] = both / own


@compiled
def find_starts(glow, groups, room, starts, unexplained):  # type: ignore[no-untyped-def]
    """Fill the best starting points, and what each leaves of the energy's square.

    ``glow`` is the bright power of each group, NaN where there is none [kW]; ``groups`` the planes'
    power in each group, the planes as points, and which planes are near each other. Points are as
    :class:`sunveil.fit.refine.Point` has them, best first.
    """
    profiles, points, near = groups
    value, weight, left, capacity = room
    for g in range(len(glow)):
        there = glow[g] == glow[g]
        value[g] = glow[g] if there else np.float32(0.0)
        weight[g] = np.float32(1.0) if there else np.float32(0.0)
    fill_products(value, weight, profiles, left, capacity)
    best = left.argmin()
    fitting = capacity[best]
    for g in range(len(glow)):
        expected = fitting * profiles[best, g]
        far = (value[g] - expected) / (np.float32(FAR) * max(expected, np.float32(1e-6)))
        fall = np.float32(1.0) + min(far * far, np.float32(1e4))
        weight[g] /= fall * fall
    fill_products(value, weight, profiles, left, capacity)
    for place in range(MOST):
        best = left.argmin()
        unexplained[place] = left[best]
        starts[place] = points[best]
        starts[place, 2] = np.log(max(capacity[best], np.float32(1e-6)))
        for p in range(len(left)):
            left[p] = np.float32(np.inf) if near[best, p] else left[p]


@compiled
def search_room(known):  # type: ignore[no-untyped-def]
    """Return what starts are looked for in: bright powers, starts, what these leave, and more."""
    groups, planes = known.places.shape[1], len(known.starts)
    glow, starts, left = np.empty(groups, dtype=np.float32), np.empty((MOST, 6)), np.empty(MOST)
    glowing = (
        np.empty((known.ranks.max() + 1, groups), dtype=np.float32),
        np.empty(groups, dtype=np.float32),
        np.empty(groups, dtype=np.int32),
    )
    comparing = (
        np.empty(groups, dtype=np.float32),
        np.empty(groups, dtype=np.float32),
        np.empty(planes, dtype=np.float32),
        np.empty(planes, dtype=np.float32),
    )
    return glow, starts, left, glowing, comparing


@compiled
def search(row, known, room):  # type: ignore[no-untyped-def]
    """Fill a room with the bright powers and the starts of readings on the long axis."""
    glow, starts, left, glowing, comparing = room
    fill_bright(row, known.places, known.scale, known.ranks, glowing, glow)
    find_starts(glow, (known.profiles, known.starts, known.near), comparing, starts, left)
