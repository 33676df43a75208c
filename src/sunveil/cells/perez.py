"""Perez and Driesse's shares of diffuse light as polynomials, for compiled loops.

References
----------
A. Driesse, A. Jensen and R. Perez, "A continuous form of the Perez diffuse sky model for forward
and reverse transposition", Solar Energy 267, 2024. DOI 10.1016/j.solener.2023.112093
"""

from __future__ import annotations

import itertools

import numpy as np

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


@compiled
def _spline(k, number, zeta):  # type: ignore[no-untyped-def]
    a, b, c = _PIECES[k, number, 0], _PIECES[k, number, 1], _PIECES[k, number, 2]
    return a + zeta * (b + zeta * c)


@compiled
def shares(zenith, airmass, dni, dhi, beyond):  # type: ignore[no-untyped-def]
    """Return the shares of diffuse light from around the sun and, with a sign, the horizon.

    Parameters
    ----------
    zenith
        Of the sun. [rad]
    airmass
        Relative to the zenith's.
    dni, dhi, beyond
        Direct, diffuse and, above the air, direct irradiance. [W/m²]
    """
    delta = dhi * airmass / beyond
    zeta = dni / (dhi + dni)
    zeta /= 1.0 - _KAPPA * zenith**3 * (zeta - 1.0)
    k = 0
    while k < len(_INNER) and zeta >= _INNER[k]:
        k += 1
    around = _spline(k, 0, zeta) + _spline(k, 1, zeta) * delta + _spline(k, 2, zeta) * zenith
    horizon = _spline(k, 3, zeta) + _spline(k, 4, zeta) * delta + _spline(k, 5, zeta) * zenith
    return min(max(around, 0.0), _MOST), horizon
