"""What hides the sun from a plane: hills, trees, houses, told by where the sun stands.

Clouds come and go; a hill is always there. Where even the brightest readings of a patch of sky
stay far below the model, something hides the sun, and readings of that patch say nothing of the
plane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil.site import Array

Matrix = NDArray[np.float32]

# Patches of sky. [degrees]
AZIMUTH_STEP = 12.0
ELEVATION_STEP = 5.0
COLUMNS = round(360.0 / AZIMUTH_STEP)
LAYERS = round(90.0 / ELEVATION_STEP) + 1
# The sun is hidden in a patch of so many readings at the least, when this share of them stays below
# that share of the model.
FEWEST = 8
DARK_SHARE = 0.9
HIDDEN_BELOW = 0.72
# So small a share of hidden readings is not worth fitting anew for.
WORTH_LEAVING_OUT = 0.01

kernel = njit(cache=True, nogil=True, error_model="numpy")


def sky_patches(sun: Array) -> NDArray[np.int32]:
    """Return the patch of sky that each of the sun's vectors (n, 3) lies in."""
    azimuth = np.degrees(np.arctan2(sun[:, 0], sun[:, 1])) % 360.0
    elevation = np.degrees(np.arcsin(np.clip(sun[:, 2], 0.0, 1.0)))
    row = (elevation / ELEVATION_STEP).astype(np.int32)
    return row * np.int32(COLUMNS) + (azimuth / AZIMUTH_STEP).astype(np.int32) % COLUMNS


class Shade(NamedTuple):
    """What hides the sun from a block of systems: private.

    Parameters
    ----------
    kept
        Which readings are left without those whose sun is hidden, shape (systems, padded).
    share
        The hidden share of each system's readings.
    skyline
        The sun's elevation below which it is hidden, in sectors clockwise from north; 0 where it is
        not, shape (systems, COLUMNS). [degrees]
    """

    kept: Matrix
    share: Array
    skyline: Matrix


def find_shade(
    power: Matrix, have: Matrix, model: Matrix, *, dimmest: Array, patch: NDArray[np.int32]
) -> Shade:
    """Return which readings are left without those whose sun is hidden, and what hides it.

    Parameters
    ----------
    power, have, model
        Readings, which of them there are, and their model, shape (systems, padded). [kW]
    dimmest
        Model below which a reading says nothing, for each system. [kW]
    patch
        The patch of sky at each usable interval.
    """
    out = Shade(
        np.zeros_like(have), np.empty(len(have)), np.zeros((len(have), COLUMNS), dtype=np.float32)
    )
    rules = np.array([HIDDEN_BELOW, FEWEST, DARK_SHARE, ELEVATION_STEP])
    shape = (LAYERS, COLUMNS)
    _leave_out(power, have, model, dimmest.astype(np.float32), patch, shape, rules, *out)
    return out


@kernel
def _leave_out(power, have, model, dimmest, patch, shape, rules, kept, share, skyline):  # type: ignore[no-untyped-def]
    """Fill ``kept`` (systems, padded), ``share`` (systems,) and ``skyline`` (systems, columns).

    ``rules`` are the share of the model that is dark, the fewest readings of a patch, the share
    of them that must be dark, and how high a patch is [degrees].
    """
    below, fewest, dark_share = np.float32(rules[0]), rules[1], rules[2]
    layers, columns = shape
    patches = layers * columns
    lit, dark = np.empty(patches, dtype=np.int32), np.empty(patches, dtype=np.int32)
    hidden = np.empty(patches, dtype=np.bool_)
    for s in range(len(share)):
        lit[:] = 0
        dark[:] = 0
        there = np.float32(0.0)
        for k in range(len(patch)):
            there += have[s, k]
            if have[s, k] > 0.0 and model[s, k] > dimmest[s]:
                lit[patch[k]] += 1
                dark[patch[k]] += power[s, k] < below * model[s, k]
        lost = 0
        for p in range(patches):
            # the reading that is brighter than the dark share of its patch must be dark too
            hidden[p] = lit[p] >= fewest and dark[p] >= int(dark_share * (lit[p] - 1) + 0.5) + 1
            lost += lit[p] if hidden[p] else 0
        for k in range(len(patch)):
            out = model[s, k] > dimmest[s] and hidden[patch[k]]
            kept[s, k] = np.float32(0.0) if out else have[s, k]
        share[s] = lost / max(there, np.float32(1.0))
        for c in range(columns):
            skyline[s, c] = 0.0
            for layer in range(layers):
                p = layer * columns + c
                if hidden[p]:
                    skyline[s, c] = np.float32((layer + 1) * rules[3])
                elif lit[p] >= fewest:
                    break
