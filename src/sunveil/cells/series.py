"""Functions as polynomials, for compiled loops.

A call of the mathematical library keeps a loop from filling a processor's wide registers; sums and
products do not. Each is right to a few parts in 1e10, where 32-bit numbers keep one in 1e7.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sunveil.jit import compiled
from sunveil.site import Array

# The least sine of an elevation whose arc is told: a little below the horizon.
LEAST_SINE = -0.02
# Below its logarithm nothing is left of light.
_FADED = -44.0
# Of the airmass by Kasten and Young, whose angle is an elevation above this. [degrees]
_POWER, _LOWEST, _HIGHEST = -1.6364, 6.07995, 96.07995


def _fitted(
    function: Callable[[Array], Array], low: float, high: float, degree: int
) -> tuple[float, ...]:
    """Return a polynomial that is close to a function all over an interval, lowest power first.

    Its argument runs from -1 to 1 over the interval.
    """
    at = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    values = function(low + 0.5 * (high - low) * (at + 1.0))
    return tuple(np.linalg.solve(np.vander(at, increasing=True), values).tolist())


def _arc_over_root(sine: Array) -> Array:
    return np.asarray(np.arccos(sine) / np.sqrt(1.0 - sine))


def _of_inverse_root(root: Array) -> Array:
    return np.asarray(root ** (-4.0 * _POWER))


_ARC = _fitted(_arc_over_root, LEAST_SINE, 1.0, 11)
_ARC_SCALE = 2.0 / (1.0 - LEAST_SINE)
_EXPONENTIAL = _fitted(np.exp, _FADED / 64.0, 0.0, 8)
_EXPONENTIAL_SCALE = -2.0 / _FADED
# In the inverse of a fourth root the power of the airmass is nearly a polynomial.
_ROOTS = _HIGHEST**-0.25, _LOWEST**-0.25
_HAZY = _fitted(_of_inverse_root, *_ROOTS, 8)
_HAZY_SCALE = 2.0 / (_ROOTS[1] - _ROOTS[0])


@compiled
def arc(sine):  # type: ignore[no-untyped-def]
    """Return the angle from the zenith at which a sine of elevation of -0.02 to 1 is seen. [rad]"""
    p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11 = _ARC
    x = (sine - LEAST_SINE) * _ARC_SCALE - 1.0
    high = ((((p11 * x + p10) * x + p9) * x + p8) * x + p7) * x + p6
    return np.sqrt(1.0 - sine) * (
        (((((high * x + p5) * x + p4) * x + p3) * x + p2) * x + p1) * x + p0
    )


@compiled
def fading(x):  # type: ignore[no-untyped-def]
    """Return the exponential of what is not above zero, as a 64th power; no less than exp(-44)."""
    p0, p1, p2, p3, p4, p5, p6, p7, p8 = _EXPONENTIAL
    x = 1.0 + max(x, _FADED) * _EXPONENTIAL_SCALE
    part = (((p8 * x + p7) * x + p6) * x + p5) * x + p4
    part = (((part * x + p3) * x + p2) * x + p1) * x + p0
    part *= part
    part *= part
    part *= part
    part *= part
    part *= part
    return part * part


@compiled
def airmass(sine, zenith):  # type: ignore[no-untyped-def]
    """Return Kasten and Young's relative airmass of a sun that is up.

    Parameters
    ----------
    sine
        Of the sun's elevation.
    zenith
        The sun's angle from the zenith. [rad]

    References
    ----------
    F. Kasten and A. T. Young, "Revised optical air mass tables and approximation formula", Applied
    Optics 28, 1989. DOI 10.1364/AO.28.004735
    """
    p0, p1, p2, p3, p4, p5, p6, p7, p8 = _HAZY
    root = 1.0 / np.sqrt(np.sqrt(_HIGHEST - zenith * (180.0 / np.pi)))
    x = (root - _ROOTS[0]) * _HAZY_SCALE - 1.0
    bent = (((((((p8 * x + p7) * x + p6) * x + p5) * x + p4) * x + p3) * x + p2) * x + p1) * x + p0
    return 1.0 / (sine + 0.50572 * bent)
