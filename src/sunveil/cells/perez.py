"""Perez and Driesse's shares of diffuse light as polynomials, for compiled loops.

References
----------
A. Driesse, A. Jensen and R. Perez, "A continuous form of the Perez diffuse sky model for forward
and reverse transposition", Solar Energy 267, 2024. DOI 10.1016/j.solener.2023.112093
"""

from __future__ import annotations

import itertools

import numpy as np

from sunveil.cells.tables import LANES
from sunveil.jit import compiled
from sunveil.site import Array

_KNOTS = np.array([0.0, 0, 0, 0.061, 0.187, 0.333, 0.487, 0.643, 0.778, 0.839, 1, 1, 1])
# Of the quadratic splines F11, F12, F13, F21, F22 and F23.
_COEFFICIENTS = np.array(
    [
        [-0.053, -0.008, 0.131, 0.328, 0.557, 0.861, 1.212, 1.099, 0.544, 0.544],
        [0.529, 0.588, 0.770, 0.471, 0.241, -0.323, -1.239, -1.847, 0.157, 0.157],
        [-0.028, -0.062, -0.167, -0.216, -0.300, -0.355, -0.444, -0.365, -0.213, -0.213],
        [-0.071, -0.060, -0.026, 0.069, 0.086, 0.240, 0.305, 0.275, 0.118, 0.118],
        [0.061, 0.072, 0.106, -0.105, -0.085, -0.467, -0.797, -1.132, -1.455, -1.455],
        [-0.019, -0.022, -0.032, -0.028, -0.012, -0.008, 0.047, 0.124, 0.292, 0.292],
    ]
)
# How much brighter the circumsolar light may be than all diffuse light.
_MOST = 0.9
_KAPPA = 1.041


def _pieces() -> Array:
    """Return each spline's polynomial between neighbouring knots, shape (8, 6, 3)."""
    inner = _KNOTS[2:-2]
    pieces = np.empty((len(inner) - 1, len(_COEFFICIENTS), 3))
    for k, (low, high) in enumerate(itertools.pairwise(inner)):
        places = np.array([low, 0.5 * (low + high), high])
        values = np.stack([_COEFFICIENTS[:, k : k + 3] @ _weights(k + 2, x) for x in places])
        pieces[k] = np.linalg.solve(np.vander(places, increasing=True), values).T
    return pieces


def _weights(k: int, x: float) -> Array:
    """Return how much each of three coefficients counts between knots ``k`` and ``k + 1``."""
    before, low, high, after = _KNOTS[k - 1 : k + 3]
    rising, falling = (x - low) / (high - low), (high - x) / (high - low)
    first = falling * (high - x) / (high - before)
    last = rising * (x - low) / (after - low)
    return np.array([first, 1.0 - first - last, last])


_PIECES = _pieces()
_INNER = _KNOTS[3:-3]
# A spline is its first piece, and from each knot on what its curvature changes by there: written so
# no piece need be looked for, and loops fill wide registers.
_FIRST = _PIECES[0]
_KINKS = np.diff(_PIECES[:, :, 2], axis=0)


# Rows of what is worked in: the sun's angle from the zenith [rad], the airmass relative to the
# zenith's, direct, diffuse and, above the air, direct light [W/m²]; then what is filled, the shares
# of diffuse light from around the sun and, with a sign, from the horizon.
ZENITH, AIRMASS, DIRECT, DIFFUSE, BEYOND, AROUND, HORIZON = (LANES * row for row in range(7))
USED = 7


@compiled
def fill_shares(room):  # type: ignore[no-untyped-def]
    """Fill the shares of diffuse light of a block, from the other rows of its room."""
    f = _FIRST
    for lane in range(LANES):
        zenith, dni, dhi = room[ZENITH + lane], room[DIRECT + lane], room[DIFFUSE + lane]
        delta = dhi * room[AIRMASS + lane] / room[BEYOND + lane]
        # dni / (dhi + dni), less what it depends on the zenith by
        zeta = dni / (dhi + dni + _KAPPA * zenith * zenith * zenith * dhi)
        square = zeta * zeta
        around = f[0, 0] + f[1, 0] * delta + f[2, 0] * zenith
        around += zeta * (f[0, 1] + f[1, 1] * delta + f[2, 1] * zenith)
        around += square * (f[0, 2] + f[1, 2] * delta + f[2, 2] * zenith)
        horizon = f[3, 0] + f[4, 0] * delta + f[5, 0] * zenith
        horizon += zeta * (f[3, 1] + f[4, 1] * delta + f[5, 1] * zenith)
        horizon += square * (f[3, 2] + f[4, 2] * delta + f[5, 2] * zenith)
        for k in range(len(_INNER)):
            bend = max(zeta - _INNER[k], 0.0)
            bend *= bend
            around += bend * (_KINKS[k, 0] + _KINKS[k, 1] * delta + _KINKS[k, 2] * zenith)
            horizon += bend * (_KINKS[k, 3] + _KINKS[k, 4] * delta + _KINKS[k, 5] * zenith)
        room[AROUND + lane], room[HORIZON + lane] = min(max(around, 0.0), _MOST), horizon
