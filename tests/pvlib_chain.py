"""Light and power of one plane, step by step through pvlib: what the model is tested against."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pvlib

from sunveil.pv_model import Sky
from sunveil.site import SHELTER, Array, Losses, Plane, SkyModel


def pvlib_irradiance(
    plane: Plane, weather: pd.DataFrame, sun: pd.DataFrame, *, albedo: float = 0.2
) -> Array:
    """Return the light that enters the cells under Perez-Driesse's sky, for pvlib's frames."""
    days = pd.DatetimeIndex(weather.index).day_of_year.to_numpy()
    return light_through_glass(
        plane,
        SkyModel.PEREZ,
        zenith=sun["apparent_zenith"].to_numpy(),
        azimuth=sun["azimuth"].to_numpy(),
        ghi=weather["ghi"].to_numpy(),
        dni=weather["dni"].to_numpy(),
        dhi=weather["dhi"].to_numpy(),
        dni_extra=np.asarray(pvlib.irradiance.get_extra_radiation(days)),
        albedo=albedo,
    )


def sky_irradiance(plane: Plane, sky: Sky, sky_model: SkyModel, *, albedo: float = 0.2) -> Array:
    """Return the light that enters the cells, at the instants of a Sky."""
    return light_through_glass(
        plane,
        sky_model,
        zenith=np.degrees(np.arccos(sky.sun[:, 2])),
        azimuth=np.degrees(np.arctan2(sky.sun[:, 0], sky.sun[:, 1])) % 360.0,
        ghi=sky.ghi,
        dni=sky.dni,
        dhi=sky.dhi,
        dni_extra=sky.dni_extra,
        albedo=albedo,
    )


def light_through_glass(
    plane: Plane, sky_model: SkyModel, *, zenith: Array, azimuth: Array, ghi: Array, dni: Array,
    dhi: Array, dni_extra: Array, albedo: float,
) -> Array:  # fmt: skip
    """Return eq. 2; light from around the sun passes the glass as direct light does."""
    tilt, turn = plane.surface_tilt, plane.surface_azimuth
    cosine = np.asarray(pvlib.irradiance.aoi_projection(tilt, turn, zenith, azimuth))
    if sky_model is SkyModel.ISOTROPIC:
        around, dome = 0.0, pvlib.irradiance.isotropic(tilt, dhi)
    else:
        model = getattr(pvlib.irradiance, sky_model.value.replace("-", "_"))
        parts = model(tilt, turn, dhi, dni, dni_extra, zenith, azimuth, return_components=True)
        around = np.nan_to_num(np.asarray(parts["poa_circumsolar"]))
        dome = np.nan_to_num(np.asarray(parts["poa_sky_diffuse"])) - around
    ground = pvlib.irradiance.get_ground_diffuse(tilt, ghi, albedo=albedo)
    glass = pvlib.iam.physical(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    diffuse = pvlib.iam.marion_diffuse("physical", tilt)
    light = glass * (dni * np.maximum(cosine, 0.0) + around) + dome * float(diffuse["sky"])
    # a flat plane sees no ground, and Marion's integral over nothing is not a number
    return np.nan_to_num(np.asarray(light + ground * float(np.nan_to_num(diffuse["ground"]))))


def pvlib_dc_power(
    light: Array, temp_air: Array, wind_speed: Array, losses: Losses, *, heat: float = 1.0
) -> Array:
    """Return PVWatts' DC power per kW, the cells ``heat`` times as warm as on Faiman's rack."""
    rack = np.asarray(pvlib.temperature.faiman(light, temp_air, SHELTER * wind_speed))
    cell = temp_air + heat * (rack - temp_air)
    power = pvlib.pvsystem.pvwatts_dc(light, cell, 1.0, losses.gamma_pdc)
    return np.asarray(power) * (1.0 - losses.system)


def pvlib_ac_power(dc: Array, capacity: float, losses: Losses, *, limit: float = np.inf) -> Array:
    """Return the output of PVWatts' inverter of the array's own size, up to a limit. [kW]"""
    power = pvlib.inverter.pvwatts(dc, capacity, eta_inv_nom=losses.inverter_efficiency)
    return np.asarray(np.minimum(power, limit))
