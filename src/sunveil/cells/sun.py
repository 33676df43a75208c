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

from sunveil.timegrid import TimeGrid
from sunveil.cells.orbit import above_globe
from sunveil.cells.series import arc
from sunveil.cells.tables import MASK
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
# Below this the air lifts as much as there.
_LEAST_LIFTED = math.sin(math.radians(-0.8))
# What the air's lift is told by: an angle over an elevation and another. [rad², rad]
_BENNETT = math.radians(math.radians(10.3)), math.radians(5.11)
# So many intervals are worked on at once.
_CHUNK = 256


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


def instants(axis: TimeGrid, node: int) -> NDArray[np.int64]:
    """Return the first or second of the two instants of each interval. [s since 1970, UTC]"""
    return axis.starts + round(NODES[node] * axis.step)


@functools.lru_cache(maxsize=8)
def globe_over(axis: TimeGrid) -> Array:
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
    _fill(globe.ravel(), 0, len(seconds), *_numbers(site), out.ravel())
    return out


def seen_from(site: Site, axis: TimeGrid) -> Seen:
    """Return the sun over a site at the lit intervals of an axis."""
    slot = np.empty(axis.count, dtype=np.int32)
    suns, middle = np.empty((2, 3, axis.count)), np.empty((3, axis.count))
    lit = _fill_lit(globe_over(axis), *_numbers(site), slot, suns, middle)
    return Seen(slot[:lit], suns[:, :, :lit], middle[:, :lit])


def _numbers(site: Site) -> tuple[tuple[tuple[float, float, float], ...], float]:
    """Return the rotation to a site's east, north and up, and how strongly its air bends light."""
    latitude, longitude = math.radians(site.latitude), math.radians(site.longitude)
    north, out = math.sin(latitude), math.cos(latitude)
    across, along = math.sin(longitude), math.cos(longitude)
    turn = (
        (-across, along, 0.0),
        (-north * along, -north * across, out),
        (out * along, out * across, north),
    )
    bend = pressure_at(site.height) / 101000.0 * 283.0 / (273.0 + _TEMPERATURE) * 1.02 / 60.0
    return turn, math.radians(bend)


@compiled
def _fill(globe, first, count, turn, bend, out):  # type: ignore[no-untyped-def]
    """Fill the sun above the globe, from a place on, as a site sees it: east, north, up.

    ``globe`` and ``out`` are flat, one component after the other.
    """
    (a, b, c), (d, e, f), (g, h, i) = turn
    whole, size = len(globe) // 3, len(out) // 3
    for k in range(count):
        x = globe[(first + k) & MASK]
        y, z = globe[(first + whole + k) & MASK], globe[(first + 2 * whole + k) & MASK]
        up = g * x + h * y + i * z
        far = 1.0 + _PARALLAX * up
        up = min((up - _PARALLAX) * far, 1.0)
        # the lift of the air; below the horizon its formula soon means nothing, and nothing is lit
        sine = max(up, _LEAST_LIFTED)
        flat = math.sqrt(max(1.0 - sine * sine, 1e-18))
        more = _BENNETT[0] / (0.5 * math.pi - arc(sine) + _BENNETT[1])
        # the tangent of a sum, of which the second is a few degrees
        square = more * more
        across = more * (1.0 - square / 6.0 * (1.0 - square / 20.0))
        along = 1.0 - square / 2.0 * (1.0 - square / 12.0)
        under = sine * along + flat * across
        both = 1.0 / (under * flat)
        lift = bend * (flat * along - sine * across) * flat * both
        lift = lift if up >= _DARK_SINE else 0.0
        # sine and cosine of so small an angle
        across, along = lift - lift * lift * lift / 6.0, 1.0 - 0.5 * lift * lift
        less = (along - up * across * under * both) * far
        out[k] = (a * x + b * y + c * z) * less
        out[(size + k) & MASK] = (d * x + e * y + f * z) * less
        out[(2 * size + k) & MASK] = up * along + flat * across


@compiled
def _fill_middle(early, late, out):  # type: ignore[no-untyped-def]
    """Fill the directions halfway between those at two instants."""
    for k in range(_CHUNK):
        x, y = early[k] + late[k], early[_CHUNK + k] + late[_CHUNK + k]
        z = early[2 * _CHUNK + k] + late[2 * _CHUNK + k]
        scale = 1.0 / math.sqrt(x * x + y * y + z * z)
        out[k], out[_CHUNK + k], out[2 * _CHUNK + k] = x * scale, y * scale, z * scale


@compiled
def _fill_lit(globe, turn, bend, slot, suns, middle):  # type: ignore[no-untyped-def]
    """Fill the sun at the lit intervals; return how many there are."""
    early, late, half = np.ones(3 * _CHUNK), np.ones(3 * _CHUNK), np.empty(3 * _CHUNK)
    both = globe[0].ravel(), globe[1].ravel()
    lit, whole = 0, globe.shape[2]
    for first in range(0, whole, _CHUNK):
        count = min(_CHUNK, whole - first)
        _fill(both[0], first, count, turn, bend, early)
        _fill(both[1], first, count, turn, bend, late)
        _fill_middle(early, late, half)
        for k in range(count):
            if early[2 * _CHUNK + k] > 0.0 or late[2 * _CHUNK + k] > 0.0:
                slot[lit] = first + k
                for j in range(3):
                    suns[0, j, lit], suns[1, j, lit] = early[j * _CHUNK + k], late[j * _CHUNK + k]
                    middle[j, lit] = half[j * _CHUNK + k]
                lit += 1
    return lit
