"""The sun for every cell from one computation.

Where the sun stands in the sky of a place is where it stands above the turning globe, seen from
there: the first part is the same for all cells and is computed once, the second is a rotation, a
little less for the place is not the globe's centre, and a little more for air bends light.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cells.axis import Axis
from sunveil.cells.orbit import above_globe
from sunveil.jit import compiled
from sunveil.site import Array, Site

# Where the two instants of an interval stand for all of it.
NODES = (0.5 - 0.5 / math.sqrt(3.0), 0.5 + 0.5 / math.sqrt(3.0))
# Of the air, as pvlib's solar position assumes. [°C]
_TEMPERATURE = 12.0
# The globe's radius over the sun's distance.
_PARALLAX = math.radians(8.794 / 3600.0)
# Below this true elevation no light arrives, whatever the air bends. [degrees]
_DARK = -0.8333
_DARK_SINE = math.sin(math.radians(_DARK))


class Seen(NamedTuple):
    """The sun over a site at the lit intervals of an axis.

    Parameters
    ----------
    slot
        Place on the axis of each interval in which the sun shows at either of two instants.
    suns
        Unit vectors (east, north, up) at both instants, shape (2, 3, n).
    middle
        The same halfway, shape (3, n).
    """

    slot: NDArray[np.int32]
    suns: Array
    middle: Array


def pressure_at(height: float) -> float:
    """Return the usual pressure of the air at a height above the sea. [Pa], as pvlib has it."""
    return float(100.0 * ((44331.514 - height) / 11880.516) ** (1.0 / 0.1902632))


def instants(axis: Axis, node: int) -> NDArray[np.int64]:
    """Return the first or second of the two instants of each interval. [s since 1970, UTC]"""
    return axis.starts + round(NODES[node] * axis.step)


@functools.lru_cache(maxsize=8)
def globe_over(axis: Axis) -> Array:
    """Return the sun above the globe at both instants of each interval, shape (2, 3, n)."""
    return np.stack([above_globe(instants(axis, node)) for node in range(2)])


def sun_of(site: Site, seconds: NDArray[np.int64]) -> Array:
    """Return unit vectors (east, north, up) to the sun as it appears through the air.

    Parameters
    ----------
    site
        Where.
    seconds
        The instants. [s since 1970, UTC]
    """
    globe = above_globe(seconds)
    out = np.empty_like(globe)
    _fill(globe, *_numbers(site), out)
    return out


def seen_from(site: Site, axis: Axis) -> Seen:
    """Return the sun over a site at the lit intervals of an axis."""
    slot = np.empty(axis.count, dtype=np.int32)
    suns, middle = np.empty((2, 3, axis.count)), np.empty((3, axis.count))
    lit = _fill_lit(globe_over(axis), *_numbers(site), slot, suns, middle)
    return Seen(slot[:lit], suns[:, :, :lit], middle[:, :lit])


def _numbers(site: Site) -> tuple[Array, float]:
    """Return the rotation to a site's east, north and up, and how strongly its air bends light."""
    latitude, longitude = math.radians(site.latitude), math.radians(site.longitude)
    north, out = math.sin(latitude), math.cos(latitude)
    east = np.array([-math.sin(longitude), math.cos(longitude), 0.0])
    away = np.array([math.cos(longitude), math.sin(longitude), 0.0])
    pole = np.array([0.0, 0.0, 1.0])
    turn = np.stack([east, out * pole - north * away, out * away + north * pole])
    bend = pressure_at(site.height) / 101000.0 * 283.0 / (273.0 + _TEMPERATURE) * 1.02 / 60.0
    return turn, math.radians(bend)


@compiled
def _seen(x, y, z, turn, bend):  # type: ignore[no-untyped-def]
    """Return the sun above the globe as a site sees it: east, north, up."""
    east = turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z
    north = turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z
    up = turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z
    far = 1.0 + _PARALLAX * up
    east, north, up = east * far, north * far, (up - _PARALLAX) * far
    if up < _DARK_SINE:
        return east, north, up
    # below the horizon the formula soon means nothing, and nothing is lit
    held = max(math.degrees(math.asin(min(up, 1.0))), -0.8)
    lift = bend / math.tan(math.radians(held + 10.3 / (held + 5.11)))
    # sine and cosine of so small an angle
    sine, cosine = lift - lift**3 / 6.0, 1.0 - 0.5 * lift * lift
    flat = math.sqrt(max(1.0 - up * up, 1e-18))
    less = cosine - up * sine / flat
    return east * less, north * less, up * cosine + flat * sine


@compiled
def _fill(globe, turn, bend, out):  # type: ignore[no-untyped-def]
    for i in range(globe.shape[1]):
        out[0, i], out[1, i], out[2, i] = _seen(globe[0, i], globe[1, i], globe[2, i], turn, bend)


@compiled
def _fill_lit(globe, turn, bend, slot, suns, middle):  # type: ignore[no-untyped-def]
    """Fill the sun at the lit intervals; return how many there are."""
    lit = 0
    for i in range(globe.shape[2]):
        a, b, c = _seen(globe[0, 0, i], globe[0, 1, i], globe[0, 2, i], turn, bend)
        d, e, f = _seen(globe[1, 0, i], globe[1, 1, i], globe[1, 2, i], turn, bend)
        if c > 0.0 or f > 0.0:
            slot[lit] = i
            suns[0, 0, lit], suns[0, 1, lit], suns[0, 2, lit] = a, b, c
            suns[1, 0, lit], suns[1, 1, lit], suns[1, 2, lit] = d, e, f
            x, y, z = a + d, b + e, c + f
            long = math.sqrt(x * x + y * y + z * z)
            middle[0, lit], middle[1, lit], middle[2, lit] = x / long, y / long, z / long
            lit += 1
    return lit
