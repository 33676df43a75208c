"""The power of planes under several hazes and heats at once.

What :func:`sunveil.quick.model.unit_profile` fills one after the other shares most of its work:
how a plane sees the sun depends on neither haze nor heat, and its light not on heat.
"""

from __future__ import annotations

import numpy as np

from sunveil.cells import tables
from sunveil.cells.tables import LANES, MASK, ROWS
from sunveil.jit import compiled
from sunveil.quick.model import EAST, NORTH, haze_place, plane_numbers

# Rows of what a block is worked in, a pair each for the two instants of an interval: what enters of
# direct light, what of diffuse light, and the light that does. [W/m²]
_GLASS, _SEEN, _LIGHT = (2 * LANES * row for row in range(3))
_ROOM = 6 * LANES
_E, _N, _U = tables.EAST * LANES, tables.NORTH * LANES, tables.UP * LANES
_BRIGHT, _DOME, _BAND = tables.BRIGHT * LANES, tables.DOME * LANES, tables.BAND * LANES
_LEAST, _COOLING, _WARMTH = tables.LEAST * LANES, tables.COOLING * LANES, tables.WARMTH * LANES
_DNI, _GHI, _BLOCK = tables.DNI * LANES, tables.GHI * LANES, ROWS * LANES
# PVWatts' part-load curve.
_A, _B, _C = np.float32(0.9858), np.float32(0.0162), np.float32(0.0059)
_ONE, _TWO, _ZERO = np.float32(1), np.float32(2), np.float32(0)


@compiled
def fill_by_level(sheet, points, levels, constants, out):  # type: ignore[no-untyped-def]
    """Fill the power of points per kW, shape (hazes, heats, points, padded). [kW/kW]

    ``levels`` are the hazes and the heats; those of the points do not count.
    """
    hazes, heats = levels
    room = np.empty(sheet.shape[0] * _ROOM, dtype=np.float32)
    s = sheet.ravel()
    gamma, gain = np.float32(constants.gamma), np.float32(1e-3 * (1.0 - constants.system))
    half = np.float32(0.5 * constants.efficiency / 0.9637)
    for j in range(len(points)):
        numbers = plane_numbers(points[j, EAST], points[j, NORTH], constants)
        _fill_view(s, numbers, constants.entering, room)
        for h in range(len(hazes)):
            _fill_light(s, hazes[h], numbers[11], room)
            for w in range(len(heats)):
                scales = (np.float32(heats[w]) * gamma, gamma, gain, half)
                _fill_power(s, scales, room, out[h, w, j])


@compiled
def _fill_view(s, n, p, room):  # type: ignore[no-untyped-def]
    """Fill what enters a plane of direct and of diffuse light."""
    n0, n1, n2, n9, n10 = n[0], n[1], n[2], n[9], n[10]
    p0, p1, p2, p3, p4, p5 = p[0], p[1], p[2], p[3], p[4], p[5]
    p6, p7, p8, p9, p10 = p[6], p[7], p[8], p[9], p[10]
    for block in range(len(room) // _ROOM):
        base, at = (block * _BLOCK) & MASK, (block * _ROOM) & MASK
        for k in range(2 * LANES):
            i = base + k
            cosine = n0 * s[i + _E] + n1 * s[i + _N] + n2 * s[i + _U]
            u = _TWO * min(max(cosine, _ZERO), _ONE) - _ONE
            glass = ((((p10 * u + p9) * u + p8) * u + p7) * u + p6) * u + p5
            glass = ((((glass * u + p4) * u + p3) * u + p2) * u + p1) * u + p0
            glass = glass if cosine > _ZERO else _ZERO
            seen = glass * s[i + _BRIGHT] + n9 * s[i + _DOME] + n10 * s[i + _BAND]
            room[at + _GLASS + k], room[at + _SEEN + k] = glass, seen


@compiled
def _fill_light(s, haze, ground, room):  # type: ignore[no-untyped-def]
    """Fill the light that enters under a haze. [W/m²]"""
    level, part = haze_place(haze)
    to_dni = (_DNI + 2 * level * LANES) & MASK
    to_ghi = (_GHI + 2 * level * LANES) & MASK
    for block in range(len(room) // _ROOM):
        base, at = (block * _BLOCK) & MASK, (block * _ROOM) & MASK
        for k in range(2 * LANES):
            i = base + k
            d0, g0 = s[i + to_dni], s[i + to_ghi]
            dni = d0 + part * (s[i + to_dni + 2 * LANES] - d0)
            ghi = g0 + part * (s[i + to_ghi + 2 * LANES] - g0)
            dhi = max(ghi - dni * s[i + _U], s[i + _LEAST])
            light = dni * room[at + _GLASS + k] + dhi * room[at + _SEEN + k] + ground * ghi
            room[at + _LIGHT + k] = max(light, _ZERO)


@compiled
def _fill_power(s, scales, room, out):  # type: ignore[no-untyped-def]
    """Fill the power of the light in the room. [kW/kW]

    ``scales`` are what a kelvin of a heat and of the air takes of it, and those of DC and AC power.
    """
    heat, gamma, gain, half = scales
    for block in range(len(room) // _ROOM):
        base, at = (block * _BLOCK) & MASK, (block * _ROOM) & MASK
        to = (block * LANES) & MASK
        for k in range(LANES):
            cooling, warm = heat * s[base + _COOLING + k], _ONE + gamma * s[base + _WARMTH + k]
            total = _ZERO
            for j in range(2):
                light = room[at + _LIGHT + j * LANES + k]
                dc = gain * light * (light * cooling + warm)
                total += max((_A - _B * dc) * dc - _C, _ZERO)
            out[to + k] = half * total
