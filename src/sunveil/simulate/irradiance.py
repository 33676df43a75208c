"""Clear sky, and how clouds divide light into beam and diffuse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pvlib

from sunveil.simulate.sunpath import SunPath
from sunveil.site import Array, Site


@dataclass(frozen=True, slots=True, eq=False)
class ClearSky:
    """Ineichen's clear sky with the sun's position.

    Parameters
    ----------
    zenith, azimuth
        Apparent position of the sun. [degrees]
    dni_extra
        Irradiance outside the atmosphere. [W/m²]
    ghi, dni, dhi
        Clear-sky irradiance. [W/m²]
    """

    zenith: Array
    azimuth: Array
    dni_extra: Array
    ghi: Array
    dni: Array
    dhi: Array


def clear_sky(
    site: Site, times: pd.DatetimeIndex, *, turbidity: Array, path: SunPath | None = None
) -> ClearSky:
    """Return the clear sky over a site under a Linke turbidity per instant.

    Parameters
    ----------
    site
        Where.
    times
        The instants, in UTC.
    turbidity
        Linke turbidity at each of them.
    path
        The sun over the same times, made once where many sites share them; computed when left out.
    """
    zenith, azimuth = _sun(site, times) if path is None else path.over(site)
    pressure = pvlib.atmosphere.alt2pres(site.height)
    airmass = pvlib.atmosphere.get_absolute_airmass(
        pvlib.atmosphere.get_relative_airmass(zenith), pressure
    )
    extra = np.asarray(pvlib.irradiance.get_extra_radiation(times.day_of_year.to_numpy()))
    # at the horizon Ineichen divides by a cosine of zero, and takes the finite branch
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = pvlib.clearsky.ineichen(
            zenith, airmass, turbidity, altitude=site.height, dni_extra=extra
        )
    up = zenith < 90.0
    ghi, dni, dhi = (
        np.where(up, np.nan_to_num(parts[name]), 0.0) for name in ("ghi", "dni", "dhi")
    )
    return ClearSky(zenith, azimuth, extra, ghi, dni, np.maximum(dhi, 0.0))


def _sun(site: Site, times: pd.DatetimeIndex) -> tuple[Array, Array]:
    sun = site.sun(times)
    zenith, azimuth = (sun[name].to_numpy(np.float64) for name in ("apparent_zenith", "azimuth"))
    return zenith, azimuth


def split_beam(sky: ClearSky, clear_index: Array) -> tuple[Array, Array, Array]:
    """Return GHI, DNI and DHI under clouds [W/m²].

    Erbs-Driesse tells by how much the beam falls against its own clear value, and Ineichen's
    beam falls by as much: clear instants are Ineichen's to the last digit. Light that cloud edges
    add is diffuse.
    """
    ghi = sky.ghi * clear_index
    beams = [
        pvlib.irradiance.erbs_driesse(g, sky.zenith, dni_extra=sky.dni_extra)["dni"]
        for g in (np.minimum(ghi, sky.ghi), sky.ghi)
    ]
    # below 3 degrees of sun the model gives no beam at all: there a cloud simply hides it
    falls = np.clip((clear_index - 0.3) / 0.7, 0.0, 1.0)
    np.divide(beams[0], beams[1], out=falls, where=beams[1] > 1.0)
    dni = sky.dni * np.clip(falls, 0.0, 1.0)
    dhi = np.maximum(ghi - dni * np.cos(np.radians(sky.zenith)), 0.0)
    return ghi, dni, dhi
