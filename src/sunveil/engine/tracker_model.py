"""Kernels: single-axis tracker power."""

from __future__ import annotations

import functools

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.constants import TYPICAL_HAZE, Numbers, modifiers_by_degree
from sunveil.engine.power_model import (
    CIRCUMSOLAR,
    CLOUD,
    COOLING,
    DNI,
    DNI_FADE,
    DOME,
    GHI,
    GHI_FADE,
    HORIZON,
    LEAST_DIFFUSE,
    NO_LIMIT,
    SEASON,
    SUN_EAST,
    SUN_NORTH,
    SUN_UP,
    UNLIMITED,
    WARMTH,
)
from sunveil.site import Array, Mount

Matrix = NDArray[np.float32]

# The greatest angle that stands for two axes. [degrees]
TWO_AXES = 180.0

AXIS, COVERAGE, MOST, T_CAPACITY, T_HAZE, T_HEAT, T_SEASON, T_LIMIT = range(8)

TRACKER_PARAMETERS = 8

# Trackers that fits start from: how far apart their axes are [degrees], and the rest of them as
# farms usually are: coverage or no backtracking, and greatest angle [degrees].
AXIS_STEP, USUAL_COVERAGE, USUAL_MOST = 15.0, 0.38, 52.0

# Rows of a sky as the kernel below reads them, pairs of instants first; clouds, which only fits
# look at, last.
_PAIRS = (
    *(SUN_EAST, SUN_NORTH, SUN_UP, CIRCUMSOLAR, DOME, HORIZON, LEAST_DIFFUSE),
    *(DNI, GHI, DNI_FADE, GHI_FADE),
)

_ORDER = [row + node for row in _PAIRS for node in range(2)] + [COOLING, WARMTH, SEASON, CLOUD]

CLOUDS = len(_ORDER) - 1

kernel = njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"}
)

# PVWatts' part-load curve.
_A, _B, _C = np.float32(0.9858), np.float32(0.0162), np.float32(0.0059)

_ONE, _TWO, _ZERO, _HALF = np.float32(1), np.float32(2), np.float32(0), np.float32(0.5)

_SIXTH, _24TH, _32ND, _16 = (
    np.float32(1 / 6),
    np.float32(1 / 24),
    np.float32(1 / 32),
    np.float32(16),
)


def tracked_sky(rows: Matrix) -> Matrix:
    """Return the rows of a sky (ROWS, n) in the order that the kernel of trackers takes them."""
    return np.ascontiguousarray(rows[_ORDER])


def tracker_grid() -> Array:
    """Return trackers with axes all around, without and with backtracking, shape (trackers, 8)."""
    axes = np.arange(90.0, 270.0, AXIS_STEP)
    out = np.zeros((2, len(axes), TRACKER_PARAMETERS))
    out[:, :, AXIS], out[1, :, COVERAGE], out[:, :, MOST] = axes, USUAL_COVERAGE, USUAL_MOST
    out[:, :, T_HAZE], out[:, :, T_HEAT], out[:, :, T_LIMIT] = (
        TYPICAL_HAZE,
        Mount.RACK.heat,
        UNLIMITED,
    )
    return out.reshape(-1, TRACKER_PARAMETERS)


def tracker_profiles(sky: Matrix, points: Array, numbers: Numbers) -> Matrix:
    """Return the power of trackers per kW of capacity, limits not applied. [kW/kW]"""
    out = np.empty((len(points), sky.shape[1]), dtype=np.float32)
    _fill_trackers(sky, points, _views_by_sine(), numbers, out)
    return out


def tracker_power(sky: Matrix, points: Array, numbers: Numbers) -> Matrix:
    """Return the power of trackers, limits applied. [kW]"""
    out = tracker_profiles(sky, points, numbers)
    out *= np.exp(points[:, T_CAPACITY]).astype(np.float32)[:, None]
    limit = np.exp(np.minimum(points[:, T_LIMIT], NO_LIMIT)).astype(np.float32)
    return np.minimum(out, limit[:, None], out=out)


@functools.lru_cache(maxsize=1)
def _views_by_sine() -> Matrix:
    """Return Marion's modifier of sky light, and the ground's view without albedo, by tilt."""
    # Both as polynomials of the tilt's sine, lowest power first, shape (2, 7): right to 1e-3 of the
    # diffuse light up to 75°, farther than any tracker with one axis turns.
    tilt = np.arange(76.0)
    sky, ground = modifiers_by_degree()
    sine, cosine = np.sin(np.radians(tilt)), np.cos(np.radians(tilt))
    views = sky[:76], 0.5 * (1.0 - cosine) * ground[:76]
    fits = [np.polynomial.Polynomial.fit(sine, view, 6, domain=[-1.0, 1.0]).coef for view in views]
    return np.array(fits, dtype=np.float32)


@njit(inline="always")
def _faded(y):  # type: ignore[no-untyped-def]
    """Return ``exp(-y)`` as a 32nd power, which wide registers can take: right to 0.1% up to 8."""
    y = min(y, _16) * _32ND
    e = _ONE - y * (_ONE - y * (_HALF - y * (_SIXTH - y * _24TH)))
    e2 = e * e
    e4 = e2 * e2
    e8 = e4 * e4
    e16 = e8 * e8
    return e16 * e16


@kernel
def _fill_trackers(sky, points, views, numbers, out):  # type: ignore[no-untyped-def]
    """Fill the power of trackers per kW, shape (trackers, n); the rest as its callers have it."""
    # The turn is carried by its sine and cosine. The sun stands at the turn w, at which the modules
    # would face it best; rows do not shade each other where cos w is at least the coverage; else
    # they turn back by the arc cosine of cos w over the coverage.
    p, v, g = numbers.entering, views[0], views[1]
    p0, p1, p2, p3, p4, p5 = p[0], p[1], p[2], p[3], p[4], p[5]
    p6, p7, p8, p9, p10 = p[6], p[7], p[8], p[9], p[10]
    v0, v1, v2, v3, v4, v5, v6 = v[0], v[1], v[2], v[3], v[4], v[5], v[6]
    g0, g1, g2, g3, g4, g5, g6 = g[0], g[1], g[2], g[3], g[4], g[5], g[6]
    gamma, gain = np.float32(numbers.gamma), np.float32(1e-3 * (1.0 - numbers.system))
    half = np.float32(0.5 * numbers.efficiency / 0.9637)
    albedo, radian = np.float32(numbers.albedo), np.pi / 180.0
    for point in range(len(points)):
        east = np.float32(np.cos(points[point, 0] * radian))
        north = np.float32(-np.sin(points[point, 0] * radian))
        spacing = np.float32(1.0 / max(points[point, 1], 1e-6))
        most_sine = np.float32(np.sin(points[point, 2] * radian))
        most_cosine = np.float32(np.cos(points[point, 2] * radian))
        facing = points[point, 2] > 90.0
        haze, heat = np.float32(points[point, 4]), np.float32(points[point, 5])
        winter, row = np.float32(points[point, 6]), out[point]
        for k in range(sky.shape[1]):
            row[k] = _ZERO
        for j in range(2):
            for k in range(sky.shape[1]):
                up = sky[4 + j, k]
                aside = east * sky[0 + j, k] + north * sky[2 + j, k]
                # the turn that faces the sun, as if it stood on the sun's side
                far = abs(aside)
                inverse = _ONE / np.sqrt(far * far + up * up)
                sine, cosine = far * inverse, up * inverse
                back = min(cosine * spacing, _ONE)
                back_sine = np.sqrt(_ONE - back * back)
                turn = sine * back - cosine * back_sine
                level = cosine * back + sine * back_sine
                beyond = turn > most_sine
                turn = most_sine if beyond else turn
                level = most_cosine if beyond else level
                turn = np.sqrt(_ONE - up * up) if facing else turn
                level = up if facing else level
                seen = _ONE if facing else turn * far + level * up
                u = _TWO * min(seen, _ONE) - _ONE
                glass = ((((p10 * u + p9) * u + p8) * u + p7) * u + p6) * u + p5
                glass = ((((glass * u + p4) * u + p3) * u + p2) * u + p1) * u + p0
                dome = ((((v6 * turn + v5) * turn + v4) * turn + v3) * turn + v2) * turn + v1
                dome = dome * turn + v0
                ground = ((((g6 * turn + g5) * turn + g4) * turn + g3) * turn + g2) * turn + g1
                ground = ground * turn + g0
                hazy = haze + winter * sky[24, k]
                dni = sky[14 + j, k] * _faded(hazy * sky[18 + j, k])
                ghi = sky[16 + j, k] * _faded(hazy * sky[20 + j, k])
                dhi = max(ghi - dni * up, sky[12 + j, k])
                view = glass * sky[6 + j, k] + dome * (
                    _HALF * (_ONE + level) * sky[8 + j, k] + turn * sky[10 + j, k]
                )
                light = max(dni * glass + dhi * view + albedo * ground * ghi, _ZERO)
                rise = light * heat * sky[22, k] + sky[23, k]
                dc = gain * light * (_ONE + gamma * rise)
                row[k] += half * max((_A - _B * dc) * dc - _C, _ZERO)
