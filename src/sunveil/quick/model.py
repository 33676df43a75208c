"""The power of a plane under a cell's sky, with its derivatives, compiled.

The same physics as :func:`sunveil.sky.unit_power`, which is its test oracle: the cosine of
incidence is a product with the sun's vector, the glass is a polynomial, haze is looked up between
two tabulated levels. Derivatives are exact, so a step of the fit costs one pass, not six.
"""

from __future__ import annotations

import numpy as np

from sunveil.cells import tables
from sunveil.cells.tables import HAZE_HIGH, HAZE_LOW, HAZE_STEP, LANES, LEVELS, MASK, ROWS
from sunveil.jit import compiled

EAST, NORTH, CAPACITY, HAZE, HEAT, LIMIT = range(6)
# A limit's logarithm beyond which there is none.
NO_LIMIT = 80.0
STEEPEST = 89.9
# Rows of a linearisation: model, inverse scale, residual, weight, then the six derivatives.
MODEL, INVERSE, RESIDUAL, WEIGHT, SLOPES = range(5)
OUT = SLOPES + 6
_E, _N, _U = tables.EAST * LANES, tables.NORTH * LANES, tables.UP * LANES
_BRIGHT, _DOME, _BAND = tables.BRIGHT * LANES, tables.DOME * LANES, tables.BAND * LANES
_LEAST, _COOLING, _WARMTH = tables.LEAST * LANES, tables.COOLING * LANES, tables.WARMTH * LANES
_CLOUD, _DNI, _GHI = tables.CLOUD * LANES, tables.DNI * LANES, tables.GHI * LANES
_BLOCK = ROWS * LANES
# PVWatts' part-load curve.
_A, _B, _C = np.float32(0.9858), np.float32(0.0162), np.float32(0.0059)
_ONE, _TWO, _ZERO, _HALF = np.float32(1), np.float32(2), np.float32(0), np.float32(0.5)
_SIXTH, _24TH, _32ND, _16 = (
    np.float32(1 / 6),
    np.float32(1 / 24),
    np.float32(1 / 32),
    np.float32(16),
)


@compiled
def plane_numbers(east, north, constants):  # type: ignore[no-untyped-def]
    """Return what a plane adds to the model: its normal, its views, and their derivatives.

    The order is normal (3), its derivatives by east (3) and by north (3), the views of dome, band
    and ground (3), the views' derivatives by tilt (3), and the tilt's by east and north (2).
    """
    radian = np.pi / 180.0
    tilt = np.sqrt(east * east + north * north)
    safe = max(tilt, 1e-6)
    sine, cosine = np.sin(tilt * radian), np.cos(tilt * radian)
    ratio = sine / safe if tilt > 1e-3 else radian
    bend = (cosine * radian - ratio) / safe if tilt > 1e-3 else 0.0
    te, tn = east / safe, north / safe
    whole = min(int(tilt), 89)
    part = tilt - whole
    sky0, sky1 = constants.sky_modifier[whole], constants.sky_modifier[whole + 1]
    ground0, ground1 = constants.ground_modifier[whole], constants.ground_modifier[whole + 1]
    sky, ground = sky0 + part * (sky1 - sky0), ground0 + part * (ground1 - ground0)
    bent = sine * radian * ground + (1.0 - cosine) * (ground1 - ground0)
    return (
        np.float32(east * ratio),
        np.float32(north * ratio),
        np.float32(cosine),
        np.float32(ratio + east * bend * te),
        np.float32(north * bend * te),
        np.float32(-sine * radian * te),
        np.float32(east * bend * tn),
        np.float32(ratio + north * bend * tn),
        np.float32(-sine * radian * tn),
        np.float32(0.5 * (1.0 + cosine) * sky),
        np.float32(sine * sky),
        np.float32(0.5 * constants.albedo * (1.0 - cosine) * ground),
        np.float32(-0.5 * sine * radian * sky + 0.5 * (1.0 + cosine) * (sky1 - sky0)),
        np.float32(cosine * radian * sky + sine * (sky1 - sky0)),
        np.float32(0.5 * constants.albedo * bent),
        np.float32(te),
        np.float32(tn),
    )


@compiled
def haze_place(haze):  # type: ignore[no-untyped-def]
    """Return the tabulated level below a haze, and how far above it the haze lies."""
    place = (min(max(haze, HAZE_LOW), HAZE_HIGH) - HAZE_LOW) / HAZE_STEP
    level = min(int(place), LEVELS - 2)
    return level, np.float32(place - level)


@compiled
def unit_profile(sheet, point, constants, out):  # type: ignore[no-untyped-def]
    """Fill ``out``, padded to whole blocks, with the power of a point per kW. [kW/kW]

    The inverter's limit is not applied.
    """
    n = plane_numbers(point[EAST], point[NORTH], constants)
    n0, n1, n2, n9, n10, n11 = n[0], n[1], n[2], n[9], n[10], n[11]
    level, part = haze_place(point[HAZE])
    p = constants.entering
    p0, p1, p2, p3, p4, p5 = p[0], p[1], p[2], p[3], p[4], p[5]
    p6, p7, p8, p9, p10 = p[6], p[7], p[8], p[9], p[10]
    heat, gamma = np.float32(point[HEAT]), np.float32(constants.gamma)
    gain = np.float32(1e-3 * (1.0 - constants.system))
    half = np.float32(0.5 * constants.efficiency / 0.9637)
    s = sheet.ravel()
    for block in range(sheet.shape[0]):
        base = (block * _BLOCK) & MASK
        at = (block * LANES) & MASK
        d, g = (
            base + ((_DNI + 2 * level * LANES) & MASK),
            base + ((_GHI + 2 * level * LANES) & MASK),
        )
        for k in range(LANES):
            total = _ZERO
            for j in range(2):
                i = base + j * LANES + k
                up = s[i + _U]
                cosine = n0 * s[i + _E] + n1 * s[i + _N] + n2 * up
                u = _TWO * min(max(cosine, _ZERO), _ONE) - _ONE
                glass = ((((p10 * u + p9) * u + p8) * u + p7) * u + p6) * u + p5
                glass = ((((glass * u + p4) * u + p3) * u + p2) * u + p1) * u + p0
                glass = glass if cosine > _ZERO else _ZERO
                d0, g0 = s[d + j * LANES + k], s[g + j * LANES + k]
                dni = d0 + part * (s[d + (2 + j) * LANES + k] - d0)
                ghi = g0 + part * (s[g + (2 + j) * LANES + k] - g0)
                dhi = max(ghi - dni * up, s[i + _LEAST])
                seen = glass * s[i + _BRIGHT] + n9 * s[i + _DOME] + n10 * s[i + _BAND]
                light = max(dni * glass + dhi * seen + n11 * ghi, _ZERO)
                rise = light * heat * s[base + _COOLING + k] + s[base + _WARMTH + k]
                dc = gain * light * (_ONE + gamma * rise)
                total += max((_A - _B * dc) * dc - _C, _ZERO)
            out[at + k] = half * total


@compiled
def linearise(sheet, power, have, point, bright, widen, constants, out):  # type: ignore[no-untyped-def]
    """Fill ``out``, shape (blocks, OUT, LANES): model, scale, residual, weight, derivatives.

    Parameters are the sky, the readings [kW] and which of them there are, both padded to whole
    blocks, the point, the record's bright power [kW], and by how much the errors are widened.
    """
    n = plane_numbers(point[EAST], point[NORTH], constants)
    n0, n1, n2, n3, n4, n5, n6, n7, n8 = n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]
    n9, n10, n11, n12, n13, n14, n15, n16 = n[9], n[10], n[11], n[12], n[13], n[14], n[15], n[16]
    level, part = haze_place(point[HAZE])
    p = constants.entering
    p0, p1, p2, p3, p4, p5 = p[0], p[1], p[2], p[3], p[4], p[5]
    p6, p7, p8, p9, p10 = p[6], p[7], p[8], p[9], p[10]
    heat, gamma = np.float32(point[HEAT]), np.float32(constants.gamma)
    gain = np.float32(1e-3 * (1.0 - constants.system))
    capacity = np.float32(np.exp(point[CAPACITY]))
    half = np.float32(0.5 * constants.efficiency / 0.9637) * capacity
    limit = np.float32(np.exp(point[LIMIT])) if point[LIMIT] < NO_LIMIT else np.float32(3e38)
    relative = np.float32((constants.relative * widen) ** 2)
    clouds = np.float32(constants.cloud**2)
    absolute = np.float32((constants.absolute * widen * bright) ** 2)
    dimmest = np.float32(constants.dimmest * bright)
    reach = np.float32(0.5 / constants.reach**2)
    per_level = np.float32(1.0 / HAZE_STEP)
    s, o = sheet.ravel(), out.ravel()
    for block in range(sheet.shape[0]):
        base = (block * _BLOCK) & MASK
        at = (block * LANES) & MASK
        to = (block * (OUT * LANES)) & MASK
        d, g = (
            base + ((_DNI + 2 * level * LANES) & MASK),
            base + ((_GHI + 2 * level * LANES) & MASK),
        )
        for k in range(LANES):
            total, by_east, by_north, by_haze, by_heat = _ZERO, _ZERO, _ZERO, _ZERO, _ZERO
            cooling, warmth = gamma * s[base + _COOLING + k], gamma * s[base + _WARMTH + k]
            for j in range(2):
                i = base + j * LANES + k
                se, sn, su = s[i + _E], s[i + _N], s[i + _U]
                cosine = n0 * se + n1 * sn + n2 * su
                u = _TWO * min(max(cosine, _ZERO), _ONE) - _ONE
                # the polynomial and its derivative, by Horner's rule for both
                slope = p10
                glass = p10 * u + p9
                slope, glass = slope * u + glass, glass * u + p8
                slope, glass = slope * u + glass, glass * u + p7
                slope, glass = slope * u + glass, glass * u + p6
                slope, glass = slope * u + glass, glass * u + p5
                slope, glass = slope * u + glass, glass * u + p4
                slope, glass = slope * u + glass, glass * u + p3
                slope, glass = slope * u + glass, glass * u + p2
                slope, glass = slope * u + glass, glass * u + p1
                slope, glass = slope * u + glass, glass * u + p0
                front = _ONE if cosine > _ZERO else _ZERO
                glass, slope = glass * front, _TWO * slope * front
                d0, g0 = s[d + j * LANES + k], s[g + j * LANES + k]
                d_step = s[d + (2 + j) * LANES + k] - d0
                g_step = s[g + (2 + j) * LANES + k] - g0
                dni, ghi = d0 + part * d_step, g0 + part * g_step
                dhi, least = ghi - dni * su, s[i + _LEAST]
                dhi_step = g_step - d_step * su if dhi > least else _ZERO
                dhi = max(dhi, least)
                bright_, dome, band = s[i + _BRIGHT], s[i + _DOME], s[i + _BAND]
                seen = glass * bright_ + n9 * dome + n10 * band
                light = max(dni * glass + dhi * seen + n11 * ghi, _ZERO)
                turned = (dni + dhi * bright_) * slope
                tilted = dhi * (n12 * dome + n13 * band) + n14 * ghi
                hazed = (d_step * glass + dhi_step * seen + n11 * g_step) * per_level
                rise = light * cooling
                warm = _ONE + rise * heat + warmth
                dc = gain * light * warm
                total += max((_A - _B * dc) * dc - _C, _ZERO)
                by_dc = (_A - _TWO * _B * dc) * gain
                by_light = by_dc * (warm + rise * heat)
                by_east += by_light * (turned * (n3 * se + n4 * sn + n5 * su) + tilted * n15)
                by_north += by_light * (turned * (n6 * se + n7 * sn + n8 * su) + tilted * n16)
                by_haze += by_light * hazed
                by_heat += by_dc * light * rise
            free = half * total
            below = _ONE if free < limit else _ZERO
            model = min(free, limit)
            hidden = s[base + _CLOUD + k]
            inverse = _ONE / np.sqrt(
                (relative + clouds * hidden * hidden) * model * model + absolute
            )
            residual = (power[at + k] - model) * inverse
            # exp(-y) as a 32nd power: close to 1% even where it is a millionth
            y = min(residual * residual * reach, _16) * _32ND
            e = _ONE - y * (_ONE - y * (_HALF - y * (_SIXTH - y * _24TH)))
            e2 = e * e
            e4 = e2 * e2
            e8 = e4 * e4
            e16 = e8 * e8
            lit = have[at + k] if model >= dimmest else _ZERO
            there = half * below * inverse
            o[to + k] = model
            o[to + LANES + k] = inverse
            o[to + 2 * LANES + k] = residual
            o[to + 3 * LANES + k] = e16 * e16 * lit
            o[to + 4 * LANES + k] = by_east * there
            o[to + 5 * LANES + k] = by_north * there
            o[to + 6 * LANES + k] = free * below * inverse
            o[to + 7 * LANES + k] = by_haze * there
            o[to + 8 * LANES + k] = by_heat * there
            o[to + 9 * LANES + k] = model * (_ONE - below) * inverse
