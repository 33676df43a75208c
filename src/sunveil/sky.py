"""The sun and the light at chosen instants, and what planes make of them.

A :class:`Sky` is weather laid onto the instants at which it is needed, daylight only, with the
sun as a vector (:mod:`sunveil.sky_instants`). :func:`unit_power` turns it into the power of planes
per kW of DC capacity, for one plane or many, without a call to pvlib per plane: the cosine of
incidence is one matrix product, and Hay-Davies adds terms of rank one (the paper's eqs. 1 to 3).
"""

from __future__ import annotations

import numpy as np

from sunveil.arguments import number
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.glass import MODIFIERS as MODIFIERS
from sunveil.glass import diffuse_modifiers as diffuse_modifiers
from sunveil.glass import direct_modifier as direct_modifier
from sunveil.site import SHELTER as SHELTER
from sunveil.site import Array, Losses
from sunveil.sky_instants import LOWEST_FOR_DIFFUSE as LOWEST_FOR_DIFFUSE
from sunveil.sky_instants import LOWEST_SUN as LOWEST_SUN
from sunveil.sky_instants import Sky as Sky
from sunveil.sky_instants import covered as covered
from sunveil.sky_instants import diffuse_shares as diffuse_shares
from sunveil.sky_instants import extra_radiation as extra_radiation
from sunveil.sky_instants import relative_airmass as relative_airmass
from sunveil.sky_instants import sky_at as sky_at
from sunveil.sky_instants import sun_at as sun_at
from sunveil.sky_instants import sun_vectors as sun_vectors


@checked
def plane_light(
    sky: Sky,
    normals: Array,
    *,
    albedo: float = 0.2,
    diffuse_modifier: bool = True,
    circumsolar_modifier: bool = True,
) -> Array:
    """Return the light that enters the cells of planes: paper eq. 2.

    Parameters
    ----------
    sky
        The light, n instants.
    normals
        Unit normals (east, north, up): one plane per row, shape (planes, 3); or one plane that
        turns, shape (n, 3), when ``normals`` has a row per instant and a leading axis of one.
    albedo
        Fraction of global light that the ground sends back.
    diffuse_modifier
        Apply an incidence-angle modifier to the light of the dome and the ground too; the paper's
        f(θ) is on the light that comes from the sun only.
    circumsolar_modifier
        Apply the modifier of direct light to the diffuse light about the sun too, which comes from
        where the sun stands. The paper's eq. 2 to the letter has f(θ) on the direct light alone.

    Returns
    -------
    numpy.ndarray
        Shape (planes, n). [W/m²]
    """
    number("albedo", albedo, low=0.0, high=1.0)
    if normals.ndim not in (2, 3) or normals.shape[-1] != 3:
        raise ParameterError("normals must have three numbers per row: east, north and up")
    kind = sky.sun.dtype
    views = _views(normals[..., 2], albedo, diffuse_modifier=diffuse_modifier).astype(kind)
    up = np.maximum(sky.sun[:, 2], LOWEST_FOR_DIFFUSE)
    beam = sky.dni + sky.dhi * sky.circumsolar / up  # circumsolar light comes from the sun
    diffuse = np.stack([sky.dhi * (1.0 - sky.circumsolar), sky.dhi * sky.horizon, sky.ghi])
    if normals.ndim == 3:
        light = np.einsum("kij,ij->ki", normals.astype(kind), sky.sun)
        scattered = np.einsum("kij,ji->ki", views, diffuse)
    else:
        light = normals.astype(kind) @ sky.sun.T
        scattered = views @ diffuse
    np.maximum(light, 0.0, out=light)
    modifier = direct_modifier(light)
    if circumsolar_modifier:
        light *= beam
        light *= modifier
    else:
        light *= sky.dni * modifier + (beam - sky.dni)
    light += scattered
    return np.asarray(np.maximum(light, 0.0, out=light))


def _views(cos_tilt: Array, albedo: float, *, diffuse_modifier: bool) -> Array:
    """Return the shares that planes take of the dome's, the horizon's and the global light.

    Parameters
    ----------
    cos_tilt
        Cosine of the tilts, of any shape; the three shares are one axis more.
    albedo, diffuse_modifier
        As for :func:`plane_light`.
    """
    sin_tilt = np.sqrt(np.maximum(1.0 - cos_tilt**2, 0.0))
    dome, ground = (1.0 + cos_tilt) / 2.0, albedo * (1.0 - cos_tilt) / 2.0
    if not diffuse_modifier:
        return np.stack([dome, sin_tilt, ground], axis=-1)
    sky, below = diffuse_modifiers(np.degrees(np.arctan2(sin_tilt, cos_tilt)))
    return np.stack([dome * sky, sin_tilt * sky, ground * below], axis=-1)


@checked
def unit_power(
    sky: Sky,
    normals: Array,
    *,
    losses: Losses | None = None,
    albedo: float = 0.2,
    heat: float = 1.0,
) -> Array:
    """Return the AC power of planes per kW of DC capacity, without the inverter's limit: eq. 3.

    Parameters
    ----------
    sky
        The light, n instants.
    normals
        As for :func:`plane_light`.
    losses
        What stands between light and meter; PVWatts' defaults when None.
    albedo
        Fraction of global light that the ground sends back.
    heat
        How much hotter than Faiman's open rack the modules run: 1 as hot, 2 twice the rise.

    Returns
    -------
    numpy.ndarray
        Shape (planes, n). [kW/kW]
    """
    losses = losses or Losses()
    power = plane_light(sky, normals, albedo=albedo)
    kept = 1e-3 * (1.0 - losses.system)
    # of the light, what is left at the modules' temperature, which rises with it
    left = power * (kept * losses.gamma_pdc * heat / (25.0 + 6.84 * SHELTER * sky.wind_speed))
    left += kept * (1.0 + losses.gamma_pdc * (sky.temp_air - 25.0))
    power *= left
    return part_load(power, losses)


def part_load(pdc: Array, losses: Losses) -> Array:
    """Return AC power for DC power, both per kW of DC capacity: PVWatts' inverter below its limit.

    The inverter's own size is not known here and is taken to be the array's: the curve is so flat
    that a ratio of 1.3 changes it by 1.4% at a tenth of full power and by 0.3% from a third up.
    """
    # (a ζ - b + c / ζ) ζ with PVWatts' coefficients, so that no power needs no special case
    scale = losses.inverter_efficiency / 0.9637
    out = (-0.0162 * scale) * pdc
    out += 0.9858 * scale
    out *= pdc
    out -= 0.0059 * scale
    return np.maximum(out, 0.0, out=out)
