"""What planes make of one cell's sky, laid out for compiled loops.

Everything that does not depend on the plane is computed once per cell and kept as 32-bit numbers:
the sun as a vector, the shares of diffuse light, and the light itself at some levels of haze. They
stand in blocks of 64 intervals, row by row within a block, so that a processor's wide registers are
filled by one load and compilers can prove that rows do not overlap.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sunveil.jit import compiled
from sunveil.site import SHELTER
from sunveil.sky import LOWEST_FOR_DIFFUSE, LOWEST_SUN, Sky

Sheet = NDArray[np.float32]
"""Shape (blocks, ROWS, LANES)."""

LANES = 64
# Tells the compiler that a place is not negative, so that it need not wrap around.
MASK = 0x7FFFFFFFFF
# What its multiples have beyond whole numbers never repeats, and never crowds.
_GOLDEN = (5.0**0.5 - 1.0) / 2.0
# Linke turbidity beyond the maps' at which light is tabulated, and its spacing.
HAZE_LOW, HAZE_HIGH, HAZE_STEP = -2.0, 2.0, 0.5
LEVELS = round((HAZE_HIGH - HAZE_LOW) / HAZE_STEP) + 1
# What diffuse light keeps in the clearest air.
LEAST_DIFFUSE = 0.3
# Rows of a block. Those of the sun and the light come in pairs, one for each of the two instants
# that stand for an interval: the sun's vector; the circumsolar share of diffuse light over the sine
# of the sun's elevation; the shares of the whole dome and of the horizon; what diffuse light cannot
# fall below [W/m²]. Then, once: what a W/m² warms the modules by on an open rack [K m²/W]; air
# temperature less 25 °C [K]; how much of the direct light the weather hides; then direct and global
# light [W/m²], a pair for each level of haze.
EAST, NORTH, UP, BRIGHT, DOME, BAND, LEAST = range(0, 14, 2)
COOLING, WARMTH, CLOUD, DNI = 14, 15, 16, 17
GHI = DNI + 2 * LEVELS
ROWS = GHI + 2 * LEVELS


def make_sheet(nodes: tuple[Sky, Sky]) -> Sheet:
    """Lay out the skies at the two instants that stand for each interval: :func:`make_rows`."""
    return in_blocks(make_rows(nodes))


def make_rows(nodes: tuple[Sky, Sky]) -> NDArray[np.float32]:
    """Return the rows of a sheet over all intervals, shape (ROWS, n), not yet in blocks.

    Parameters
    ----------
    nodes
        The sky at the two Gauss-Legendre instants of each interval; temperature, wind and clouds
        are the means of both.
    """
    early, late = nodes
    flat = np.empty((ROWS, len(early)), dtype=np.float32)
    for node, sky in enumerate(nodes):
        flat[EAST + node], flat[NORTH + node] = sky.sun[:, 0], sky.sun[:, 1]
        flat[UP + node] = np.maximum(sky.sun[:, 2], LOWEST_SUN)
        flat[BRIGHT + node] = sky.circumsolar / np.maximum(sky.sun[:, 2], LOWEST_FOR_DIFFUSE)
        flat[DOME + node], flat[BAND + node] = 1.0 - sky.circumsolar, sky.horizon
        flat[LEAST + node] = LEAST_DIFFUSE * sky.dhi
        hazier = sky.hazier(1.0)
        _fill_levels(flat[DNI + node : GHI : 2], sky.dni, hazier.dni)
        _fill_levels(flat[GHI + node :: 2], sky.ghi, hazier.ghi)
    flat[COOLING] = 1.0 / (25.0 + 3.42 * SHELTER * (early.wind_speed + late.wind_speed))
    flat[WARMTH] = 0.5 * (early.temp_air + late.temp_air) - 25.0
    flat[CLOUD] = np.maximum(1.0 - 0.5 * (early.clearness + late.clearness), 0.0)
    return flat


def in_blocks(flat: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows over intervals as blocks of 64 intervals; what is left of the last is zero."""
    rows, count = flat.shape
    blocks = -(-count // LANES)
    padded = np.zeros((rows, blocks * LANES), dtype=np.float32)
    padded[:, :count] = flat
    return np.ascontiguousarray(padded.reshape(rows, blocks, LANES).transpose(1, 0, 2))


def spread_out(slot: NDArray[np.int32], first: int, share: float) -> NDArray[np.int32]:
    """Return the places of a share of intervals, evenly spread.

    Not every third one: of twelve hours these would be the same four on all days. Whether one is
    taken depends on its time alone; a smaller share is a part of a larger one.

    Parameters
    ----------
    slot
        Where the intervals stand on their axis.
    first
        Number of the axis' first interval since 1970.
    share
        How many are taken of all that there are.
    """
    out = np.empty(len(slot), dtype=np.int32)
    return out[: _fill_spread(slot, first, share, out)]


@compiled
def _fill_spread(slot, first, share, out):  # type: ignore[no-untyped-def]
    """Fill the places of the intervals that are taken; return how many are."""
    taken = 0
    for place in range(len(slot)):
        turns = (first + slot[place]) * _GOLDEN
        out[taken] = place
        taken += turns - math.floor(turns) < share
    return taken


def take(sheet: Sheet, chosen: NDArray[np.integer]) -> Sheet:
    """Return the chosen intervals of a sheet."""
    out = np.empty((-(-len(chosen) // LANES), sheet.shape[1], LANES), dtype=np.float32)
    _fill_taken(sheet, chosen.astype(np.int32), out)
    return out


@compiled
def _fill_taken(sheet, chosen, out):  # type: ignore[no-untyped-def]
    """Fill the chosen intervals of a sheet; what is left of the last block is zero."""
    rows, s, o = sheet.shape[1], sheet.ravel(), out.ravel()
    at = np.empty(LANES, dtype=np.int64)
    for block in range(out.shape[0]):
        first = block * LANES
        for lane in range(LANES):
            place = chosen[min(first + lane, len(chosen) - 1)]
            at[lane] = place // LANES * (rows * LANES) + place % LANES
        to = (block * rows * LANES) & MASK
        for row in range(rows):
            for lane in range(LANES):
                o[to + row * LANES + lane] = s[(at[lane] + row * LANES) & MASK]
        if len(chosen) - first < LANES:
            out[block, :, len(chosen) - first :] = 0.0


def _fill_levels(
    out: NDArray[np.float32], now: NDArray[np.float64], hazier: NDArray[np.float64]
) -> None:
    """Fill light at every level of haze: each level keeps the same share of the one before."""
    ratio = np.divide(hazier, now, where=now > 0.0, out=np.ones_like(now))
    share = ratio**HAZE_STEP
    level = now * ratio**HAZE_LOW
    for place in range(LEVELS):
        out[place] = level
        level *= share
