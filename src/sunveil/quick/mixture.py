"""One fixed plane, or something else, for many systems: see :mod:`sunveil.fit.planes`.

The same comparison on fewer numbers: the bright power of every second window of ten days, against
a mixture of planes that stand farther apart. A mixture is a non-negative least squares problem; its
matrix is small.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.atlas import Grid
from sunveil.cells.tables import HAZE_HIGH, HAZE_LOW, LANES, Sheet, take
from sunveil.fit.shared import CLEAR_GAIN, NEAR_DEGREES
from sunveil.fit.shared import MIXTURE_SCALE as SCALE
from sunveil.jit import compiled
from sunveil.quick.constants import Constants
from sunveil.quick.groups import Groups, Matrix, points_of
from sunveil.quick.least_squares import non_negative, squares_room
from sunveil.quick.levels import fill_by_level
from sunveil.quick.model import EAST, HAZE, HEAT, LIMIT, NO_LIMIT, NORTH, unit_profile
from sunveil.site import Array

ITERATIONS = 2
# It is not one plane when a mixture explains this much more of the bright power ...
LEAST_GAIN = 0.03
# ... while leaving the plane itself less than this share of the capacity ...
LARGEST_OWN_SHARE = 0.55
# ... or when it explains so much more that the plane cannot be right.
SURE_GAIN = 3.0 * CLEAR_GAIN
# What gains so little at once will not gain enough.
HARDLY = 1.01
# Misfits beyond this, in standard deviations, are looked at without the plane too.
MISFIT = 3.0
# Readings so close to the limit say nothing of planes.
BELOW_LIMIT = 0.95
_NEAR = float(np.cos(np.radians(NEAR_DEGREES)))
_FEWEST = 40
# Haze and heat at which the planes' power is known; between them it runs nearly straight.
_HAZES = np.linspace(HAZE_LOW, HAZE_HIGH, 5)
_HEATS = np.array([0.0, 2.0])
_ONE, _HALF, _SIXTH, _24TH = (np.float32(each) for each in (1.0, 1 / 2, 1 / 6, 1 / 24))
_16, _32ND = np.float32(16.0), np.float32(1 / 32)


class Mixture(NamedTuple):
    """Planes that a system's bright power is compared with, at every second window.

    Their places and the sky there are also what starts are refined on.

    Parameters
    ----------
    places
        The groups that are compared.
    probe
        The sky at these.
    profiles
        Power of each plane per kW by haze and heat, shape (hazes, heats, planes, padded). [kW/kW]
    directions
        The planes' normals.
    """

    places: NDArray[np.int32]
    probe: Sheet
    profiles: Matrix
    directions: Array


@functools.lru_cache(maxsize=1)
def mixture_grid() -> Grid:
    """Return the planes that a mixture may hold beside the fitted one."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one in (15.0, 35.0, 70.0):
        azimuth.append(np.arange(10) * 36.0)
        tilt.append(np.full(10, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def make_mixture(
    groups: Groups, day: NDArray[np.int32], constants: Constants, *, window: int
) -> Mixture:
    """Return the planes that a system which is not one plane may be made of.

    Parameters
    ----------
    groups
        The groups of readings.
    day
        The solar day of each usable interval.
    constants
        What is assumed.
    window
        Length of a group. [days]
    """
    places = np.flatnonzero(day[groups.middle] // window % 2 == 0)
    probe = take(groups.probe, places)
    points, directions = _candidates()
    shape = len(_HAZES), len(_HEATS), len(points), probe.shape[0] * LANES
    profiles = np.empty(shape, dtype=np.float32)
    fill_by_level(probe, points, (_HAZES, _HEATS), constants, profiles)
    return Mixture(places.astype(np.int32), probe, profiles, directions)


@functools.lru_cache(maxsize=1)
def _candidates() -> tuple[Array, Array]:
    """Return the planes of a mixture as points, and their normals."""
    grid = mixture_grid()
    return points_of(grid), grid.normals


@compiled
def fill_seen(own, mixture, constants, seen):  # type: ignore[no-untyped-def]
    """Fill the power of the plane and of all candidates under its own haze and heat. [kW/kW]"""
    profiles = mixture.profiles
    unit_profile(mixture.probe, own, constants, seen[0])
    last = profiles.shape[0] - 1
    place = min(max((own[HAZE] - HAZE_LOW) / (HAZE_HIGH - HAZE_LOW), 0.0), 1.0) * last
    level = min(int(place), last - 1)
    up = place - level
    warm = (own[HEAT] - _HEATS[0]) / (_HEATS[1] - _HEATS[0])
    a, b = np.float32((1.0 - up) * (1.0 - warm)), np.float32((1.0 - up) * warm)
    c, d = np.float32(up * (1.0 - warm)), np.float32(up * warm)
    for j in range(profiles.shape[2]):
        one, two = profiles[level, 0, j], profiles[level, 1, j]
        three, four = profiles[level + 1, 0, j], profiles[level + 1, 1, j]
        for g in range(profiles.shape[3]):
            seen[j + 1, g] = a * one[g] + b * two[g] + c * three[g] + d * four[g]


@compiled
def weigh(value, model, bright, width, constants, weight):  # type: ignore[no-untyped-def]
    """Fill the weight of each value over its variance; return the share of energy explained.

    Values of zero are those that are not there.
    """
    relative = np.float32((width * constants.relative) ** 2)
    absolute = np.float32((width * constants.absolute * bright) ** 2)
    reach = np.float32(0.5 / constants.reach**2)
    total, seen = np.float32(1e-30), np.float32(0.0)
    for g in range(len(value)):
        m, v = model[g], value[g]
        variance = relative * m * m + absolute
        far = v - m
        # exp(-y) as a 32nd power, which wide registers can take
        y = min(far * far * reach / variance, _16) * _32ND
        say = _ONE - y * (_ONE - y * (_HALF - y * (_SIXTH - y * _24TH)))
        say *= say
        say *= say
        say *= say
        say *= say
        say *= say
        say = say if v > np.float32(0.0) else np.float32(0.0)
        weight[g] = say / variance
        total += v
        seen += say * v
    return seen / total


@compiled
def mixed(value, profiles, bright, constants, x, model, weight, room):  # type: ignore[no-untyped-def]
    """Fit a mixture by reweighting, from the weights of ``model``; return what it explains."""
    seen = weigh(value, model, bright, SCALE, constants, weight)
    for _ in range(ITERATIONS):
        before = seen
        non_negative(profiles, weight, value, x, model, room)
        seen = weigh(value, model, bright, SCALE, constants, weight)
        if seen < HARDLY * before:
            break
    return seen


@compiled
def fill_values(glow, places, limit, value):  # type: ignore[no-untyped-def]
    """Fill the bright powers that are compared, zero where there is none; return how many are."""
    value[:] = 0.0
    count = 0
    for g in range(len(places)):
        here = glow[places[g]]
        if here > 0.0 and here < limit:
            value[g] = here
            count += 1
    return count


@compiled
def fit_alone(value, profile, capacity, bright, constants, model, weight):  # type: ignore[no-untyped-def]
    """Fill the model of the plane with the capacity that suits it; return that, and the misfit."""
    for again in range(ITERATIONS + 1):
        for g in range(len(value)):
            model[g] = np.float32(capacity) * profile[g]
        if again == ITERATIONS:
            break
        weigh(value, model, bright, 1.0, constants, weight)
        above, below = np.float32(0.0), np.float32(1e-30)
        for g in range(len(value)):
            above += weight[g] * profile[g] * value[g]
            below += weight[g] * profile[g] * profile[g]
        capacity = above / below
    misfit, energy = np.float32(0.0), np.float32(1e-30)
    relative = np.float32(constants.relative**2)
    absolute = np.float32((constants.absolute * bright) ** 2)
    for g in range(len(value)):
        far = value[g] - model[g]
        misfit += far * far / (relative * model[g] * model[g] + absolute) * value[g]
        energy += value[g]
    return capacity, np.sqrt(misfit / energy)


@compiled
def mixing_room(mixture):  # type: ignore[no-untyped-def]
    """Return what :func:`is_one_plane` is worked in."""
    planes, size = mixture.profiles.shape[2] + 1, mixture.profiles.shape[3]
    return (
        np.empty((planes, size), dtype=np.float32),
        np.empty((3, size), dtype=np.float32),
        np.empty((2, planes)),
        squares_room(planes, size),
    )


@compiled
def is_one_plane(glow, bright, own, mixture, constants, room):  # type: ignore[no-untyped-def]
    """Return whether a system looks like one fixed plane.

    ``glow`` is its bright power in each group, NaN where there is none [kW], ``bright`` its bright
    power as a whole [kW], ``own`` what was fitted; ``room`` is what is worked in.
    """
    seen, lines, shares, solving = room
    value, model, weight = lines[0], lines[1], lines[2]
    limit = BELOW_LIMIT * np.exp(own[LIMIT]) if own[LIMIT] < NO_LIMIT else 3e38
    if fill_values(glow, mixture.places, limit, value) < _FEWEST:
        return True
    fill_seen(own, mixture, constants, seen)
    capacity, misfit = fit_alone(value, seen[0], np.exp(own[2]), bright, constants, model, weight)
    alone = weigh(value, model, bright, SCALE, constants, weight)
    best, other = shares[0], shares[1]
    shares[:] = 0.0
    best[0] = capacity
    together = mixed(value, seen, bright, constants, best, model, weight, solving)
    if misfit > MISFIT:
        # from the bright power itself, which knows nothing of the plane
        model[:] = value
        found = mixed(value, seen, bright, constants, other, model, weight, solving)
        if found > together:
            together = found
            best = other
    gain = together / max(alone, 1e-9) - 1.0
    if gain < LEAST_GAIN:
        return True
    return not (gain >= SURE_GAIN or own_share(best, own, mixture) < LARGEST_OWN_SHARE)


@compiled
def own_share(best, own, mixture):  # type: ignore[no-untyped-def]
    """Return the share of a mixture's capacity that faces about as the plane does."""
    tilt = np.sqrt(own[EAST] ** 2 + own[NORTH] ** 2) * np.pi / 180.0
    sine = np.sin(tilt) / max(tilt * 180.0 / np.pi, 1e-9)
    near = best[0]
    for j in range(len(best) - 1):
        along = mixture.directions[j, 0] * own[EAST] + mixture.directions[j, 1] * own[NORTH]
        if along * sine + mixture.directions[j, 2] * np.cos(tilt) > _NEAR:
            near += best[j + 1]
    return near / max(best.sum(), 1e-9)
