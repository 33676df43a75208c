"""Kernels: power of a plane, its derivatives, and robust fits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.engine.constants import Numbers, SystematicErrors
from sunveil.site import Array

Sheet = NDArray[np.float32]
"""Shape (blocks, ROWS, BLOCK)."""


kernel = njit(
    cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"}
)

BLOCK = 64

# Tells the compiler that a place is not negative, so that it need not wrap around.
_MASK = 0x7FFFFFFFFF

# Bounds of a fit's haze and of its season, wider than any clear sky's. [Linke turbidity]
_CLEAREST, _HAZIEST, _MOST_SEASON = -2.5, 4.0, 2.0

# Rows of a block. Those of the sun and the light come in pairs, one for each of the two instants
# that stand for an interval: the sun's vector; the circumsolar share of diffuse light over the sine
# of the sun's elevation; the shares of the whole dome and of the horizon; what diffuse light cannot
# fall below, direct and global light [W/m²], and by how much a unit of haze fades each of these two
# [logarithm]. Then, once: what a W/m² warms the modules by on an open rack [K m²/W]; air
# temperature less 25 °C [K]; how much of the direct light the weather hides; the season, 1 in
# midwinter and -1 in midsummer.
SUN_EAST, SUN_NORTH, SUN_UP, CIRCUMSOLAR, DOME, HORIZON, LEAST_DIFFUSE = 0, 2, 4, 6, 8, 10, 12

DNI, GHI, DNI_FADE, GHI_FADE = 14, 16, 18, 20

COOLING, WARMTH, CLOUD, SEASON = 22, 23, 24, 25

ROWS = 26

EAST, NORTH, CAPACITY, HAZE, HEAT, HAZE_SEASON, LIMIT = 0, 1, 2, 3, 4, 5, 6

PARAMETERS = 7

# A limit's logarithm beyond which there is none, and the one that stands for none.
NO_LIMIT, UNLIMITED = 80.0, 160.0

# Rows of a linearisation: model [kW], inverse standard deviation [1/kW], residual, weight, and the
# derivatives of the model over its standard deviation by the parameters.
_MODEL, _INVERSE, _RESIDUAL, _WEIGHT, _SLOPES = 0, 1, 2, 3, 4

_OUT = _SLOPES + PARAMETERS

_STEEPEST = 89.9

_E, _N, _U = SUN_EAST * BLOCK, SUN_NORTH * BLOCK, SUN_UP * BLOCK

_CIRCUMSOLAR, _DOME, _HORIZON = CIRCUMSOLAR * BLOCK, DOME * BLOCK, HORIZON * BLOCK

_LEAST, _COOLING, _WARMTH = LEAST_DIFFUSE * BLOCK, COOLING * BLOCK, WARMTH * BLOCK

_CLOUD, _SEASON, _DNI, _GHI = CLOUD * BLOCK, SEASON * BLOCK, DNI * BLOCK, GHI * BLOCK

_DNI_FADE, _GHI_FADE = DNI_FADE * BLOCK, GHI_FADE * BLOCK

_SHEET = ROWS * BLOCK

# PVWatts' part-load curve.
_A, _B, _C = np.float32(0.9858), np.float32(0.0162), np.float32(0.0059)

_ONE, _TWO, _ZERO, _HALF = np.float32(1), np.float32(2), np.float32(0), np.float32(0.5)

_SIXTH, _24TH, _32ND, _16 = (
    np.float32(1 / 6),
    np.float32(1 / 24),
    np.float32(1 / 32),
    np.float32(16),
)

_HUGE = np.float32(3e38)


@kernel
def _plane_numbers(east, north, numbers):  # type: ignore[no-untyped-def]
    """Return what a plane adds to the model: its normal, its views, and their derivatives."""
    # The order is normal (3), its derivatives by east (3) and by north (3), the views of dome,
    # horizon and ground (3), the views' derivatives by tilt (3), and the tilt's by east and north.
    radian = np.pi / 180.0
    tilt = np.sqrt(east * east + north * north)
    safe = max(tilt, 1e-6)
    sine, cosine = np.sin(tilt * radian), np.cos(tilt * radian)
    ratio = sine / safe if tilt > 1e-3 else radian
    bend = (cosine * radian - ratio) / safe if tilt > 1e-3 else 0.0
    te, tn = east / safe, north / safe
    whole = min(int(tilt), 89)
    part = tilt - whole
    sky0, sky1 = numbers.sky_modifier[whole], numbers.sky_modifier[whole + 1]
    ground0, ground1 = numbers.ground_modifier[whole], numbers.ground_modifier[whole + 1]
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
        np.float32(0.5 * numbers.albedo * (1.0 - cosine) * ground),
        np.float32(-0.5 * sine * radian * sky + 0.5 * (1.0 + cosine) * (sky1 - sky0)),
        np.float32(cosine * radian * sky + sine * (sky1 - sky0)),
        np.float32(0.5 * numbers.albedo * bent),
        np.float32(te),
        np.float32(tn),
    )


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
def fill_profiles(sheet, points, numbers, out):  # type: ignore[no-untyped-def]
    """Fill the power of points per kW of capacity, limits not applied. [kW/kW]"""
    p = numbers.entering
    p0, p1, p2, p3, p4, p5 = p[0], p[1], p[2], p[3], p[4], p[5]
    p6, p7, p8, p9, p10 = p[6], p[7], p[8], p[9], p[10]
    gamma, gain = np.float32(numbers.gamma), np.float32(1e-3 * (1.0 - numbers.system))
    half = np.float32(0.5 * numbers.efficiency / 0.9637)
    s = sheet.ravel()
    for point in range(len(points)):
        n = _plane_numbers(points[point, EAST], points[point, NORTH], numbers)
        n0, n1, n2, n9, n10, n11 = n[0], n[1], n[2], n[9], n[10], n[11]
        haze, winter = np.float32(points[point, HAZE]), np.float32(points[point, HAZE_SEASON])
        heat = np.float32(points[point, HEAT])
        row = out[point]
        for block in range(sheet.shape[0]):
            base, at = (block * _SHEET) & _MASK, (block * BLOCK) & _MASK
            for k in range(BLOCK):
                total = _ZERO
                hazy = haze + winter * s[base + _SEASON + k]
                for j in range(2):
                    i = base + j * BLOCK + k
                    up = s[i + _U]
                    cosine = n0 * s[i + _E] + n1 * s[i + _N] + n2 * up
                    u = _TWO * min(max(cosine, _ZERO), _ONE) - _ONE
                    glass = ((((p10 * u + p9) * u + p8) * u + p7) * u + p6) * u + p5
                    glass = ((((glass * u + p4) * u + p3) * u + p2) * u + p1) * u + p0
                    glass = glass if cosine > _ZERO else _ZERO
                    dni = s[i + _DNI] * _faded(hazy * s[i + _DNI_FADE])
                    ghi = s[i + _GHI] * _faded(hazy * s[i + _GHI_FADE])
                    dhi = max(ghi - dni * up, s[i + _LEAST])
                    seen = glass * s[i + _CIRCUMSOLAR] + n9 * s[i + _DOME] + n10 * s[i + _HORIZON]
                    light = max(dni * glass + dhi * seen + n11 * ghi, _ZERO)
                    rise = light * heat * s[base + _COOLING + k] + s[base + _WARMTH + k]
                    dc = gain * light * (_ONE + gamma * rise)
                    total += max((_A - _B * dc) * dc - _C, _ZERO)
                row[at + k] = half * total


@kernel
def _linearise(sheet, power, have, point, bright, widen, numbers, out):  # type: ignore[no-untyped-def]
    # `power` [kW] and `have` (1 where there is a reading, else 0) are padded to whole blocks;
    # `bright` is the record's bright power [kW]; errors are `widen` times as wide as assumed.
    n = _plane_numbers(point[EAST], point[NORTH], numbers)
    n0, n1, n2, n3, n4, n5, n6, n7, n8 = n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]
    n9, n10, n11, n12, n13, n14, n15, n16 = n[9], n[10], n[11], n[12], n[13], n[14], n[15], n[16]
    haze, winter = np.float32(point[HAZE]), np.float32(point[HAZE_SEASON])
    p = numbers.entering
    p0, p1, p2, p3, p4, p5 = p[0], p[1], p[2], p[3], p[4], p[5]
    p6, p7, p8, p9, p10 = p[6], p[7], p[8], p[9], p[10]
    heat, gamma = np.float32(point[HEAT]), np.float32(numbers.gamma)
    gain = np.float32(1e-3 * (1.0 - numbers.system))
    capacity = np.float32(np.exp(point[CAPACITY]))
    half = np.float32(0.5 * numbers.efficiency / 0.9637) * capacity
    limit = np.float32(np.exp(point[LIMIT])) if point[LIMIT] < NO_LIMIT else _HUGE
    relative = np.float32((numbers.relative * widen) ** 2)
    clouds = np.float32(numbers.cloud**2)
    absolute = np.float32((numbers.absolute * widen * bright) ** 2)
    dimmest = np.float32(numbers.dimmest * bright)
    reach = np.float32(0.5 / numbers.reach**2)
    s, o = sheet.ravel(), out.ravel()
    faded = np.empty(4 * BLOCK, dtype=np.float32)
    for block in range(sheet.shape[0]):
        base, at = (block * _SHEET) & _MASK, (block * BLOCK) & _MASK
        to = (block * (_OUT * BLOCK)) & _MASK
        # apart from what follows, which is as much as a compiler takes into wide registers
        for k in range(BLOCK):
            hazy = haze + winter * s[base + _SEASON + k]
            for j in range(2):
                i = base + j * BLOCK + k
                faded[j * BLOCK + k] = s[i + _DNI] * _faded(hazy * s[i + _DNI_FADE])
                faded[(2 + j) * BLOCK + k] = s[i + _GHI] * _faded(hazy * s[i + _GHI_FADE])
        for k in range(BLOCK):
            total, by_east, by_north, by_haze, by_heat = _ZERO, _ZERO, _ZERO, _ZERO, _ZERO
            cooling, warmth = gamma * s[base + _COOLING + k], gamma * s[base + _WARMTH + k]
            for j in range(2):
                i = base + j * BLOCK + k
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
                dni, ghi = faded[j * BLOCK + k], faded[(2 + j) * BLOCK + k]
                d_step, g_step = -dni * s[i + _DNI_FADE], -ghi * s[i + _GHI_FADE]
                dhi, least = ghi - dni * su, s[i + _LEAST]
                dhi_step = g_step - d_step * su if dhi > least else _ZERO
                dhi = max(dhi, least)
                around, dome, band = s[i + _CIRCUMSOLAR], s[i + _DOME], s[i + _HORIZON]
                seen = glass * around + n9 * dome + n10 * band
                light = max(dni * glass + dhi * seen + n11 * ghi, _ZERO)
                turned = (dni + dhi * around) * slope
                tilted = dhi * (n12 * dome + n13 * band) + n14 * ghi
                hazed = d_step * glass + dhi_step * seen + n11 * g_step
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
            counts = have[at + k] if model >= dimmest else _ZERO
            there = half * below * inverse
            o[to + k] = model
            o[to + BLOCK + k] = inverse
            o[to + 2 * BLOCK + k] = residual
            # Welsch's weight
            o[to + 3 * BLOCK + k] = _faded(residual * residual * reach) * counts
            o[to + 4 * BLOCK + k] = by_east * there
            o[to + 5 * BLOCK + k] = by_north * there
            o[to + 6 * BLOCK + k] = free * below * inverse
            o[to + 7 * BLOCK + k] = by_haze * there
            o[to + 8 * BLOCK + k] = by_heat * there
            o[to + 9 * BLOCK + k] = by_haze * s[base + _SEASON + k] * there
            o[to + 10 * BLOCK + k] = model * (_ONE - below) * inverse


@kernel
def _normal_equations(point, numbers, correlated, bend, out, scratch, information, gradient):  # type: ignore[no-untyped-def]
    """Fill the information matrix and the gradient from a linearisation, priors included."""
    # With `bend` of 1 the matrix is that of Newton's method, which knows that a reading's say falls
    # as the model moves away from it: close to the best fit its steps end where those of Gauss only
    # creep to. What `correlated` readings tell counts once. `scratch` has 3 BLOCK places.
    size = PARAMETERS if point[LIMIT] < NO_LIMIT else PARAMETERS - 1
    o = out.ravel()
    weighed, pulled, curve = scratch[:BLOCK], scratch[BLOCK : 2 * BLOCK], scratch[2 * BLOCK :]
    bent = np.float32(bend / numbers.reach**2)
    information[:] = 0.0
    gradient[:] = 0.0
    for block in range(out.shape[0]):
        base = (block * (_OUT * BLOCK)) & _MASK
        for k in range(BLOCK):
            residual, weight = o[base + 2 * BLOCK + k], o[base + 3 * BLOCK + k]
            pulled[k] = weight * residual
            curve[k] = weight * (_ONE - bent * residual * residual)
        for i in range(size):
            row = (base + (_SLOPES + i) * BLOCK) & _MASK
            for k in range(BLOCK):
                weighed[k] = curve[k] * o[row + k]
            for j in range(i + 1):
                other = (base + (_SLOPES + j) * BLOCK) & _MASK
                total = _ZERO
                for k in range(BLOCK):
                    total += weighed[k] * o[other + k]
                information[i, j] += total
            total = _ZERO
            for k in range(BLOCK):
                total += pulled[k] * o[row + k]
            gradient[i] += total
    for i in range(size):
        gradient[i] /= correlated
        for j in range(i + 1):
            information[i, j] /= correlated
            information[j, i] = information[i, j]
    information[HAZE, HAZE] += numbers.haze_deviation**-2
    information[HEAT, HEAT] += numbers.heat_deviation**-2
    information[HAZE_SEASON, HAZE_SEASON] += numbers.season_deviation**-2
    gradient[HAZE] -= (point[HAZE] - numbers.haze_mean) / numbers.haze_deviation**2
    gradient[HAZE_SEASON] -= point[HAZE_SEASON] / numbers.season_deviation**2
    gradient[HEAT] -= (point[HEAT] - numbers.heat_mean) / numbers.heat_deviation**2
    # the limit has no prior, but nothing may reach it on the way there; without one its row is idle
    information[LIMIT, LIMIT] += 1e-3 if size == PARAMETERS else 1.0


@kernel
def _solve(a, b, x):  # type: ignore[no-untyped-def]
    """Fill ``x`` with the solution of a symmetric system, its diagonal a little enlarged."""
    size = len(b)
    work = np.empty((size, size))
    for i in range(size):
        x[i] = b[i]
        for j in range(size):
            work[i, j] = a[i, j]
        work[i, i] += 1e-6 * (a[i, i] + 1e-12)
    for i in range(size):
        pivot = work[i, i] if abs(work[i, i]) > 1e-300 else 1e-300
        for j in range(i + 1, size):
            factor = work[j, i] / pivot
            x[j] -= factor * x[i]
            for k in range(i, size):
                work[j, k] -= factor * work[i, k]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            x[i] -= work[i, k] * x[k]
        x[i] /= work[i, i] if abs(work[i, i]) > 1e-300 else 1e-300


@kernel
def refine(sheet, power, have, bright, points, settings, numbers, explained):  # type: ignore[no-untyped-def]
    widen, near, most, correlated = settings[0], settings[1], int(settings[2]), settings[3]
    longest, trusted, small = settings[4], settings[5], settings[6:]
    out = np.empty((sheet.shape[0], _OUT, BLOCK), dtype=np.float32)
    scratch = np.empty(3 * BLOCK, dtype=np.float32)
    information, gradient = np.empty((PARAMETERS, PARAMETERS)), np.empty(PARAMETERS)
    step = np.empty(PARAMETERS)
    for s in range(len(points)):
        point = points[s]
        length = 0.0 if near > 0.0 else 1e9
        for _ in range(most):
            _linearise(sheet, power[s], have[s], point, bright[s], widen, numbers, out)
            newton = length < trusted
            if newton:
                _normal_equations(
                    point, numbers, correlated, 1.0, out, scratch, information, gradient
                )
                _solve(information, gradient, step)
                length = np.sqrt(step[EAST] ** 2 + step[NORTH] ** 2)
                along = 0.0
                for i in range(PARAMETERS):
                    along += step[i] * gradient[i]
                # else uphill, or too far for a curvature to hold
                newton = along > 0.0 and length < trusted
            if not newton:
                _normal_equations(
                    point, numbers, correlated, 0.0, out, scratch, information, gradient
                )
                _solve(information, gradient, step)
                length = np.sqrt(step[EAST] ** 2 + step[NORTH] ** 2)
            scale = longest / length if length > longest else 1.0
            largest = 0.0
            limit = point[LIMIT]
            for i in range(PARAMETERS):
                point[i] += scale * step[i]
                if i < LIMIT or limit < NO_LIMIT:
                    largest = max(largest, scale * abs(step[i]) / small[i])
            if limit >= NO_LIMIT:
                point[LIMIT] = limit
            tilt = np.sqrt(point[EAST] ** 2 + point[NORTH] ** 2)
            if tilt > _STEEPEST:
                point[EAST] *= _STEEPEST / tilt
                point[NORTH] *= _STEEPEST / tilt
            point[CAPACITY] = min(max(point[CAPACITY], -20.0), 20.0)
            point[HAZE] = min(max(point[HAZE], _CLEAREST), _HAZIEST)
            point[HAZE_SEASON] = min(max(point[HAZE_SEASON], -_MOST_SEASON), _MOST_SEASON)
            # what is left after one of Newton's steps is far below that step
            if largest < (1.0 if newton else 0.1):
                break
        total, seen = np.float32(1e-30), _ZERO
        o = out.ravel()
        for block in range(out.shape[0]):
            base, at = (block * (_OUT * BLOCK)) & _MASK, (block * BLOCK) & _MASK
            for k in range(BLOCK):
                total += have[s, at + k] * power[s, at + k]
                seen += o[base + _WEIGHT * BLOCK + k] * power[s, at + k]
        explained[s] = seen / total


@kernel
def inform(sheet, power, have, bright, points, numbers, correlated, shifts, spans, found):  # type: ignore[no-untyped-def]
    """Fill what readings tell of each parameter, how their pulls scatter, what a clock does."""
    information, scatter, clock = found
    out = np.empty((sheet.shape[0], _OUT, BLOCK), dtype=np.float32)
    scratch = np.empty(3 * BLOCK, dtype=np.float32)
    pull, turn = scratch[:BLOCK], scratch[BLOCK : 2 * BLOCK]
    gradient, sums = np.empty(PARAMETERS), np.empty(PARAMETERS)
    scatter[:] = 0.0
    clock[:] = 0.0
    for s in range(len(points)):
        point = points[s]
        _linearise(sheet, power[s], have[s], point, bright[s], 1.0, numbers, out)
        _normal_equations(point, numbers, correlated, 0.0, out, scratch, information[s], gradient)
        size = PARAMETERS if point[LIMIT] < NO_LIMIT else PARAMETERS - 1
        o = out.ravel()
        for span in range(len(spans) - 1):
            start, end = spans[span], spans[span + 1]
            for i in range(size):
                sums[i] = 0.0
            for block in range(start // BLOCK, (end - 1) // BLOCK + 1):
                base, at = (block * (_OUT * BLOCK)) & _MASK, (block * BLOCK) & _MASK
                low, high = max(start - at, 0), min(end - at, BLOCK)
                for k in range(low, high):
                    weight = o[base + _WEIGHT * BLOCK + k]
                    pull[k] = weight * o[base + _RESIDUAL * BLOCK + k]
                    turn[k] = -weight * shifts[s, at + k] * o[base + _INVERSE * BLOCK + k]
                for i in range(size):
                    row = (base + (_SLOPES + i) * BLOCK) & _MASK
                    pulled, turned = _ZERO, _ZERO
                    for k in range(low, high):
                        pulled += pull[k] * o[row + k]
                        turned += turn[k] * o[row + k]
                    sums[i] += pulled
                    clock[s, i] += turned
            for i in range(size):
                for j in range(size):
                    scatter[s, i, j] += sums[i] * sums[j]


@kernel
def fill_slopes(sheet, points, numbers, out):  # type: ignore[no-untyped-def]
    """Fill the power of planes without a limit, and how it changes with their parameters."""
    nothing = np.zeros(sheet.shape[0] * BLOCK, dtype=np.float32)
    lines = np.empty((sheet.shape[0], _OUT, BLOCK), dtype=np.float32)
    o = lines.ravel()
    for point in range(len(points)):
        _linearise(sheet, nothing, nothing, points[point], 1.0, 1.0, numbers, lines)
        for i in range(PARAMETERS):
            row = out[point, i]
            from_row = 0 if i == 0 else (_SLOPES + i - 1) * BLOCK
            for block in range(sheet.shape[0]):
                base, at = (block * (_OUT * BLOCK)) & _MASK, (block * BLOCK) & _MASK
                for k in range(BLOCK):
                    row[at + k] = o[base + from_row + k]


Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class FittedReadings:
    """The readings of one system that two planes or a tracker are fitted to: private."""

    sky: Matrix  # the sky at the readings, as the model takes it
    power: Matrix  # power [kW], and how much each reading counts
    say: Matrix  # power [kW], and how much each reading counts
    bright: float  # [kW] the record's bright power
    correlated: float  # how many readings err alike
    numbers: Numbers  # what is assumed

    def __repr__(self) -> str:
        return f"FittedReadings({len(self.power)} readings, private)"


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A model at the readings it is fitted to, and how it changes with its parameters: private."""

    model: Matrix  # [kW] power, and its standard deviation
    deviation: Matrix  # [kW] power, and its standard deviation
    residual: Matrix  # readings less the model, in standard deviations
    weight: Matrix  # what each reading counts
    slopes: Matrix
    correlated: float  # how many readings err alike
    worth: float  # the robust log likelihood of the readings

    def __repr__(self) -> str:
        return f"LinearModel({len(self.model)} readings, private)"

    def information(self) -> Array:
        """Return what the readings say of the parameters, as an information matrix."""
        products = (self.slopes * self.weight) @ self.slopes.T
        return np.asarray(products.astype(np.float64) / self.correlated)

    def pull(self) -> Array:
        """Return where the readings pull the parameters: the gradient of the log likelihood."""
        return np.asarray(self.slopes @ (self.weight * self.residual) / self.correlated)

    def covariance(
        self,
        information: Array,
        *,
        shifts: Matrix,
        spans: NDArray[np.intp],
        errors: SystematicErrors,
        stretch: float = 1.0,
    ) -> Array:
        """Return the covariance of the parameters: by scatter, by the model, and by the clock."""
        inverse = np.linalg.inv(information)
        weighed = (self.slopes * self.weight).astype(np.float64)
        pulls = np.add.reduceat(weighed * self.residual, spans, axis=1) / self.correlated
        spread = inverse @ pulls @ pulls.T @ inverse
        moved = inverse @ (weighed @ (shifts / self.deviation)) / self.correlated
        out = (stretch * errors.stretch) ** 2 * (spread + inverse)
        return np.asarray(out + errors.clock_minutes**2 * np.outer(moved, moved))


def linear_model(
    model: Matrix, slopes: Matrix, clouds: Matrix, readings: FittedReadings
) -> LinearModel:
    """Return a model with its residuals and weights."""
    numbers = readings.numbers
    deviation = deviations(model, clouds, np.float32(readings.bright), numbers)
    slopes /= deviation
    residual = (readings.power - model) / deviation
    bright = model >= np.float32(numbers.dimmest * readings.bright)
    weight = readings.say * robust_weights(residual, numbers) * bright
    worth = log_likelihood(residual, readings.say, numbers, correlated=readings.correlated)
    return LinearModel(
        model, deviation, residual, weight, slopes, readings.correlated, float(worth)
    )


def deviations(
    model: Matrix, clouds: Matrix, bright: np.float32 | Matrix, numbers: Numbers
) -> Matrix:
    """Return the standard deviations of readings about a model. [kW]"""
    relative = np.float32(numbers.relative**2) + np.float32(numbers.cloud**2) * clouds * clouds
    dim = np.float32(numbers.absolute) * bright
    return np.asarray(np.sqrt(relative * model * model + dim * dim))


def robust_weights(residual: Matrix, numbers: Numbers) -> Matrix:
    """Return what readings count by how many standard deviations they are from a model."""
    return np.asarray(np.exp(np.float32(-0.5 / numbers.reach**2) * residual * residual))


def log_likelihood(residual: Matrix, say: Matrix, numbers: Numbers, *, correlated: float) -> Array:
    """Return the robust log likelihood of each record's readings: what misfits take from zero."""
    lost = say * (robust_weights(residual, numbers) - np.float32(1.0))
    return np.asarray(numbers.reach**2 * lost.sum(axis=-1, dtype=np.float64) / correlated)
