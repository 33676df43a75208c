"""One plane, or two planes or a tracker: mixture of bright readings."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.bright_envelope import points_of, profiles_of, times_each_row
from sunveil.engine.coarse_search import Searched, padded
from sunveil.engine.constants import Numbers
from sunveil.engine.power_model import CAPACITY, EAST, LIMIT, NO_LIMIT, NORTH, Sheet
from sunveil.engine.shading import PreparedSky
from sunveil.grids import Grid
from sunveil.site import Array

kernel = njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"}
)


class MixtureNumbers(NamedTuple):
    """Parameters of the mixture kernels: the model of errors, and when to stop."""

    relative: float  # as those of a plane's fit
    absolute: float  # as those of a plane's fit
    reach: float  # as those of a plane's fit
    alone_width: float
    narrow: float
    hardly: float
    misfit: float  # [standard deviations] of a plane, from which the mixture starts without it
    rounds: int  # rounds of reweighting


@kernel
def weigh(value, model, bright, width, rules, weight):  # type: ignore[no-untyped-def]
    """Fill the weight of each value over its variance; return the share of energy explained."""
    relative = np.float32((width * rules.relative) ** 2)
    absolute = np.float32((width * rules.absolute * bright) ** 2)
    reach = np.float32(0.5 / rules.reach**2)
    one, half, sixth, least = np.float32(1), np.float32(0.5), np.float32(1 / 6), np.float32(1 / 24)
    total, seen = np.float32(1e-30), np.float32(0.0)
    for g in range(len(value)):
        m, v = model[g], value[g]
        variance = relative * m * m + absolute
        far = v - m
        # exp(-y) as a 32nd power, which wide registers can take
        y = min(far * far * reach / variance, np.float32(16)) * np.float32(1 / 32)
        say = one - y * (one - y * (half - y * (sixth - y * least)))
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


@kernel
def _pull(rows, weight, value, x, model, pull):  # type: ignore[no-untyped-def]
    """Fill the sum of rows, each ``x`` times, and how strongly what is left pulls at each row."""
    model[:] = 0.0
    for i in range(len(rows)):
        if x[i] > 0.0:
            one, times = rows[i], np.float32(x[i])
            for g in range(len(model)):
                model[g] += times * one[g]
    for i in range(len(rows)):
        one, total = rows[i], np.float32(0.0)
        for g in range(len(model)):
            total += one[g] * weight[g] * (value[g] - model[g])
        pull[i] = total


@kernel
def _solve_free(gram, free, right, work, found):  # type: ignore[no-untyped-def]
    """Fill ``found``, where ``free``, with the solution of those rows and columns of ``gram``."""
    # By elimination in `work`, without changing rows: products of rows with one another need none,
    # with a diagonal that is a little enlarged. numpy's own takes five seconds to compile.
    size = len(free)
    for i in range(size):
        if free[i]:
            found[i] = right[i]
            for j in range(size):
                work[i, j] = gram[i, j]
            work[i, i] = work[i, i] * (1.0 + 1e-6) + 1e-30
    for i in range(size):
        if free[i]:
            for j in range(i + 1, size):
                if free[j]:
                    factor = work[j, i] / work[i, i]
                    found[j] -= factor * found[i]
                    for k in range(i, size):
                        work[j, k] -= factor * work[i, k]
    for i in range(size - 1, -1, -1):
        if free[i]:
            for k in range(i + 1, size):
                if free[k]:
                    found[i] -= work[i, k] * found[k]
            found[i] /= work[i, i]


@kernel
def non_negative(rows, weight, value, x, model):  # type: ignore[no-untyped-def]
    """Move ``x`` to the weighted non-negative least squares, by Lawson and Hanson's method."""
    # Products are made of rows that get free only: few of many do. Neither coordinate descent (not
    # there after sixty sweeps: the planes are too much alike) nor the best pair of a grid (which
    # misses most sums of two real homes) was as quick and as good.
    size = len(x)
    free, met = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
    gram, right, pull = np.empty((size, size)), np.empty(size), np.empty(size)
    work, found = np.empty((size, size)), np.empty(size)
    _pull(rows, weight, value, np.zeros(size), model, right)
    converged, strongest = True, 1e-30
    for i in range(size):
        free[i] = x[i] > 0.0
        converged = converged and not free[i]
        strongest = max(strongest, right[i])
    # what pulls no more than this share of the strongest is at rest
    least = 1e-6 * strongest
    for _ in range(2 * size):
        if converged:
            _pull(rows, weight, value, x, model, pull)
            best, most = -1, least
            for i in range(size):
                if not free[i] and pull[i] > most:
                    best, most = i, pull[i]
            if best < 0:
                break
            free[best] = True
        for i in range(size):
            if free[i] and not met[i]:
                met[i] = True
                for j in range(size):
                    if met[j]:
                        one, other, total = rows[i], rows[j], np.float32(0.0)
                        for g in range(len(weight)):
                            total += weight[g] * one[g] * other[g]
                        gram[i, j] = total
                        gram[j, i] = total
        converged = True
        for _ in range(size):
            _solve_free(gram, free, right, work, found)
            step, worst = 1.0, -1
            for i in range(size):
                if free[i] and found[i] <= 0.0:
                    share = x[i] / max(x[i] - found[i], 1e-300)
                    if share < step:
                        step, worst = share, i
            for i in range(size):
                if free[i]:
                    x[i] += step * (found[i] - x[i])
            if worst < 0:
                break
            x[worst] = 0.0
            free[worst] = False
    _pull(rows, weight, value, x, model, pull)


@kernel
def _mix(value, rows, bright, rules, x, model, weight):  # type: ignore[no-untyped-def]
    """Fit a mixture by reweighting, from the weights of ``model``; return what it explains."""
    seen = weigh(value, model, bright, rules.narrow, rules, weight)
    for _ in range(rules.rounds):
        before = seen
        non_negative(rows, weight, value, x, model)
        seen = weigh(value, model, bright, rules.narrow, rules, weight)
        if seen < rules.hardly * before:
            break
    return seen


@kernel
def fit_mixtures(values, planes, capacities, brights, rules, explained, shares):  # type: ignore[no-untyped-def]
    """Fill how much energy one plane and a mixture explain, and the mixture's capacities."""
    count, size = planes.shape[1], planes.shape[2]
    model, weight = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
    other = np.empty(count)
    for s in range(len(values)):
        value, rows, bright, capacity = values[s], planes[s], brights[s], capacities[s]
        # the plane alone, with the capacity that suits these powers best
        for again in range(rules.rounds + 1):
            for g in range(size):
                model[g] = np.float32(capacity) * rows[0, g]
            if again == rules.rounds:
                break
            weigh(value, model, bright, rules.alone_width, rules, weight)
            above, below = np.float32(0.0), np.float32(1e-30)
            for g in range(size):
                above += weight[g] * rows[0, g] * value[g]
                below += weight[g] * rows[0, g] * rows[0, g]
            capacity = above / below
        misfit, energy = np.float32(0.0), np.float32(1e-30)
        relative = np.float32(rules.relative**2)
        absolute = np.float32((rules.absolute * bright) ** 2)
        for g in range(size):
            far = value[g] - model[g]
            misfit += far * far / (relative * model[g] * model[g] + absolute) * value[g]
            energy += value[g]
        alone = weigh(value, model, bright, rules.narrow, rules, weight)
        best = shares[s]
        started = False
        for j in range(count):
            started = started or best[j] > 0.0
        if started:
            model[:] = 0.0
            for j in range(count):
                for g in range(size):
                    model[g] += np.float32(best[j]) * rows[j, g]
        else:
            best[0] = capacity
        together = _mix(value, rows, bright, rules, best, model, weight)
        if np.sqrt(misfit / energy) > rules.misfit:
            # from the bright power itself, which knows nothing of the plane
            for g in range(size):
                model[g] = value[g]
            other[:] = 0.0
            found = _mix(value, rows, bright, rules, other, model, weight)
            if found > together:
                together = found
                for j in range(count):
                    best[j] = other[j]
        explained[s, 0], explained[s, 1] = alone, together


Matrix = NDArray[np.float32]

# It may not be one plane when a mixture explains this much more of the energy ...
LEAST_GAIN = 0.016

# ... while leaving the plane itself less than this share of the capacity ...
LARGEST_OWN_SHARE = 0.7

# ... or when it explains so much more that the plane is hardly right; with so much more it cannot
# be, whatever else explains it: real single planes come up to 0.1, trackers have 0.16 at the least.
SURE_GAIN, BEYOND_DOUBT = 0.08, 0.12

# The same of the bright envelope alone, which is quick: who passes is tested on readings.
SCREEN_GAIN, SCREEN_OWN_SHARE, SCREEN_SURE_GAIN = 0.012, 0.75, 0.08

# The plane's own are those of the mixture that face so close to it. [degrees]
NEAR_DEGREES = 8.0

# Errors narrower than the fit's own, to see small misfits.
NARROW = 0.6

# On the envelope, what gains so little at once will not gain enough, and misfits beyond these
# standard deviations are looked at without the plane too.
HARDLY = 1.01

MISFIT = 3.0

# Rounds of reweighting, on the envelope and on readings.
SCREEN_ROUNDS, ROUNDS = 2, 4

# So many readings are enough for the test.
ENOUGH = 1600

# Powers so close to the limit say nothing of planes, and so few of them nothing at all.
BELOW_LIMIT = 0.96

FEWEST = 40


@functools.lru_cache(maxsize=1)
def mixture_grid() -> Grid:
    """Return the planes that a mixture may hold beside the fitted one."""
    azimuth, tilt = [np.array([0.0])], [np.array([0.0])]
    for one in (15.0, 35.0, 70.0):
        azimuth.append(np.arange(10) * 36.0)
        tilt.append(np.full(10, one))
    return Grid(np.concatenate(azimuth), np.concatenate(tilt))


def screen(
    envelope: Matrix, bright: Array, points: Array, *, sheet: Sheet, numbers: Numbers
) -> tuple[NDArray[np.bool_], Array]:
    value = padded(below_limit(envelope, points))
    rules = _rules(numbers)._replace(hardly=HARDLY, misfit=MISFIT, rounds=SCREEN_ROUNDS)
    rules = rules._replace(alone_width=1.0)
    shares = np.zeros((len(points), 1 + len(mixture_grid())))
    found = _compare(value, bright, points, shares, sheet=sheet, numbers=numbers, rules=rules)
    gain = _gain(found)
    another = (gain >= SCREEN_GAIN) & (_own_share(shares, points) < SCREEN_OWN_SHARE)
    enough = np.count_nonzero(value, axis=1) >= FEWEST
    return enough & (another | (gain >= SCREEN_SURE_GAIN)), shares


def several_planes(
    power: Matrix,
    bright: Array,
    points: Array,
    shares: Array,
    *,
    sheet: Sheet,
    numbers: Numbers,
) -> tuple[NDArray[np.bool_], Array]:
    """Return which systems may not be one fixed plane, and how much more a mixture explains."""
    value, shares = below_limit(power, points), shares.copy()
    rules = _rules(numbers)
    found = _compare(value, bright, points, shares, sheet=sheet, numbers=numbers, rules=rules)
    gain = _gain(found)
    another = (gain >= LEAST_GAIN) & (_own_share(shares, points) < LARGEST_OWN_SHARE)
    return np.asarray(another | (gain >= SURE_GAIN)), gain


def by_mixture(
    power: Matrix, bright: Array, points: Array, *, sheet: Sheet, numbers: Numbers
) -> Array:
    """Return the share of energy that the best mixture of planes explains, wherever it starts."""
    value, shares = below_limit(power, points), np.zeros((len(points), 1 + len(mixture_grid())))
    rules = _rules(numbers)._replace(misfit=0.0)
    found = _compare(value, bright, points, shares, sheet=sheet, numbers=numbers, rules=rules)
    return np.asarray(found[:, 1])


def share_explained(power: Matrix, model: Matrix, bright: float, numbers: Numbers) -> float:
    """Return the share of energy that a model of one system explains."""
    return float(weigh(power, model, bright, NARROW, _rules(numbers), np.empty_like(power)))


def _gain(explained: Array) -> Array:
    """Return how much more mixtures explain than planes alone, as a fraction."""
    return np.asarray(explained[:, 1] / np.maximum(explained[:, 0], 1e-9) - 1.0)


def _rules(numbers: Numbers) -> MixtureNumbers:
    return MixtureNumbers(
        relative=numbers.relative,
        absolute=numbers.absolute,
        reach=numbers.reach,
        alone_width=NARROW,
        narrow=NARROW,
        hardly=1.0,
        misfit=np.inf,
        rounds=ROUNDS,
    )


def below_limit(power: Matrix, points: Array) -> Matrix:
    """Return powers above zero and well below each system's limit, zero for the others."""
    limit = BELOW_LIMIT * np.exp(np.minimum(points[:, LIMIT], NO_LIMIT))
    return np.where((power > 0.0) & (power < limit[:, None]), power, np.float32(0.0))


def _compare(
    value: Matrix,
    bright: Array,
    points: Array,
    shares: Array,
    *,
    sheet: Sheet,
    numbers: Numbers,
    rules: MixtureNumbers,
) -> Array:
    """Return shares of energy that planes alone and that mixtures explain, shape (systems, 2)."""
    # `shares` is where mixtures start, and is filled with where they end.
    grid = points_of(mixture_grid())
    planes = np.repeat(points[:, None], 1 + len(grid), axis=1)
    # the other planes under the same haze and on the same mounts
    planes[:, 1:, (EAST, NORTH)] = grid[:, (EAST, NORTH)]
    rows = profiles_of(sheet, planes.reshape(-1, planes.shape[2]), numbers)
    out, capacity = np.zeros((len(points), 2)), np.exp(points[:, CAPACITY])
    fit_mixtures(value, rows.reshape(*planes.shape[:2], -1), capacity, bright, rules, out, shares)
    return out


def _own_share(shares: Array, points: Array) -> Array:
    """Return the share of each mixture's capacity that faces about as the fitted plane does."""
    tilt = np.radians(np.hypot(points[:, EAST], points[:, NORTH]))
    azimuth = np.arctan2(points[:, EAST], points[:, NORTH])
    sine = np.sin(tilt)
    normals = np.stack([sine * np.sin(azimuth), sine * np.cos(azimuth), np.cos(tilt)], axis=1)
    near = times_each_row(normals, mixture_grid().normals.T) > np.cos(np.radians(NEAR_DEGREES))
    own = shares[:, 0] + (shares[:, 1:] * near).sum(axis=1)
    return np.asarray(own / np.maximum(shares.sum(axis=1), 1e-9))


# Who looks like a tracker: some tracker leaves no more than this share of what the plane leaves.
LIKE_A_TRACKER = 1.05


class TrackerLikeness(NamedTuple):
    """What is left of the bright envelope of systems, one entry each: private."""

    by_plane: Array  # share of the powers' squares that the plane leaves
    by_trackers: Array  # the same of each of tracker_grid, shape (systems, trackers)
    enough: NDArray[np.bool_]  # whether there are powers enough to say so

    def suspects(self) -> NDArray[np.intp]:
        """Return which systems look at least about as much like a tracker as like their plane."""
        alike = self.by_trackers.min(axis=1) < LIKE_A_TRACKER * self.by_plane
        return np.flatnonzero(self.enough & alike)


def tracker_likeness(searched: Searched, points: Array, prepared: PreparedSky) -> TrackerLikeness:
    """Return how much systems look like trackers, and like planes."""
    groups, probe = prepared.probe
    trackers, value = prepared.trackers, below_limit(searched.envelope[:, groups], points)
    there = (value > 0.0).astype(np.float32)
    plane = profiles_of(probe, points, prepared.numbers)[:, : len(groups)]
    energy = np.einsum("sg,sg->s", value, value) + 1e-12
    own = np.einsum("sg,sg,sg->s", there, plane, plane) + 1e-12
    by_plane = 1.0 - np.einsum("sg,sg->s", value, plane) ** 2 / (own * energy)
    each = times_each_row(there, (trackers * trackers).T) + np.float32(1e-12)
    by_trackers = 1.0 - times_each_row(value, trackers.T) ** 2 / (each * energy[:, None])
    enough = np.count_nonzero(there, axis=1) >= FEWEST
    return TrackerLikeness(by_plane, by_trackers, enough)
