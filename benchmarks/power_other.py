"""Power of homes by physics that the analyst does not share: for :mod:`benchmarks.power`.

Perez' sky, Martin and Ruiz' glass, Faiman's temperatures and Huld's modules in place of Hay and
Davies' sky, PVWatts' glass, temperatures and modules; of losses, the middle of the ranges that
:mod:`benchmarks.independent` draws from. Weather is the same.
"""

from __future__ import annotations

import numpy as np
import pvlib

from sunveil.power.posterior import GRID_STEP
from sunveil.pv_model import Sky
from sunveil.site import Array

# Mismatch, wiring, light-induced degradation, four years of age, dirt; and the inverter.
KEPT = (1.0 - 0.015) * (1.0 - 0.0175) * (1.0 - 0.0125) * (1.0 - 4.0 * 0.006) * (1.0 - 0.03)
INVERTER = 0.965
# Faiman's heat transfer close to a roof, the glass, and the ground.
ROOF, GLASS, ALBEDO = (18.5, 6.0), 0.16, 0.2


def other_profiles(sky: Sky) -> Array:
    """Return the power per kW of the planes of a grid, shape (azimuths, tilts, instants). [kW/kW]

    Without the inverter's limit.

    Parameters
    ----------
    sky
        The light.
    """
    sun = sky.sun.astype(np.float64)
    zenith = np.degrees(np.arccos(np.clip(sun[:, 2], -1.0, 1.0)))
    azimuth = np.degrees(np.arctan2(sun[:, 0], sun[:, 1])) % 360.0
    light = [each.astype(np.float64) for each in (sky.dhi, sky.dni, sky.dni_extra)]
    mass = pvlib.atmosphere.get_relative_airmass(zenith)
    across, up = round(360.0 / GRID_STEP), round(90.0 / GRID_STEP) + 1
    found = np.empty((across, up, len(sky)), dtype=np.float32)
    for turn, lean in np.ndindex(across, up):
        plane = GRID_STEP * lean, GRID_STEP * turn
        dome = np.nan_to_num(pvlib.irradiance.perez(*plane, *light, zenith, azimuth, mass))
        away = pvlib.irradiance.aoi(*plane, zenith, azimuth)
        through = pvlib.iam.martin_ruiz(np.minimum(away, 89.9), a_r=GLASS)
        spread = pvlib.iam.martin_ruiz_diffuse(max(plane[0], 0.01), a_r=GLASS)
        beam = light[1] * np.maximum(np.cos(np.radians(away)), 0.0) * through
        ground = pvlib.irradiance.get_ground_diffuse(plane[0], sky.ghi, albedo=ALBEDO)
        front = beam + dome * spread["sky"] + ground * spread["ground"]
        cell = pvlib.temperature.faiman(front, sky.temp_air, sky.wind_speed, *ROOF)
        power = pvlib.pvarray.huld(np.maximum(front, 0.1), cell, 1.0, cell_type="csi")
        found[turn, lean] = KEPT * INVERTER * np.maximum(power, 0.0)
    return found


def at_planes(profiles: Array, azimuth: Array, tilt: Array) -> Array:
    """Return the power of planes between those of the grid, shape (planes, instants). [kW/kW]

    Parameters
    ----------
    profiles
        Of the grid.
    azimuth, tilt
        The planes. [degrees]
    """
    left, right = np.divmod(np.mod(azimuth, 360.0) / GRID_STEP, 1.0)
    lower, upper = np.divmod(np.clip(tilt, 0.0, 90.0 - 1e-6) / GRID_STEP, 1.0)
    turn, lean = left.astype(int) % len(profiles), lower.astype(int)
    found = np.zeros((len(azimuth), profiles.shape[2]))
    for step, share in ((0, 1.0 - right), (1, right)):
        for rise, part in ((0, 1.0 - upper), (1, upper)):
            near = profiles[(turn + step) % len(profiles), lean + rise]
            found += (share * part)[:, None] * near
    return found
