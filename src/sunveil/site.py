"""Where a system is, how it faces, and what it gives: the PVWatts v5 chain of the paper's II-A.

The chain is pvlib's, step by step: :func:`incidence_cosine` is the paper's eq. 1,
:func:`plane_irradiance` its eq. 2, :func:`cell_temperature`, :func:`dc_power` and
:func:`ac_power` its eq. 3. It is written for clarity, for one plane at a time;
:mod:`sunveil.grids` does the same for thousands of planes at once and is tested against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
import pvlib

from sunveil import maps
from sunveil.arguments import is_number, number, shown, together
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.losses import CALIBRATION as CALIBRATION
from sunveil.losses import LOSS_PARTS as LOSS_PARTS
from sunveil.losses import RUNNING_LOSSES as RUNNING_LOSSES
from sunveil.losses import Losses as Losses
from sunveil.losses import Mount as Mount
from sunveil.plane import Array as Array
from sunveil.plane import Plane as Plane
from sunveil.plane import normals as normals

# Wind at the modules over wind at 10 m, where weather services measure it.
SHELTER = 0.5
# By how much the air cools on each kilometre of height, near the ground over a year. [K/km]
LAPSE = 5.5


class SkyModel(StrEnum):
    """How the diffuse light of the sky is spread over the dome."""

    ISOTROPIC = "isotropic"
    HAYDAVIES = "haydavies"
    PEREZ = "perez-driesse"


@dataclass(frozen=True, slots=True)
class Site:
    """A place on the globe.

    Parameters
    ----------
    latitude
        North positive, in [-90, 90]. [degrees]
    longitude
        East positive, in [-180, 180]. [degrees]
    altitude
        Height above the sea; looked up in pvlib's coarse map when left out. [m]
    """

    latitude: float
    longitude: float
    altitude: float | None = None

    def __post_init__(self) -> None:
        for name, limit in (("latitude", 90.0), ("longitude", 180.0)):
            value = getattr(self, name)
            if not (is_number(value) and math.isfinite(value) and -limit <= value <= limit):
                raise ParameterError(
                    f"{name} must be between {-limit:g} and {limit:g} degrees, not {shown(value)};"
                    " north and east are positive"
                )
        if self.altitude is None:
            object.__setattr__(self, "altitude", maps.altitude(self.latitude, self.longitude))
        else:
            number("altitude", self.altitude, low=-500.0, high=9000.0, unit="metres")

    @classmethod
    @checked
    def of(
        cls,
        place: Any = None,
        *,
        latitude: float | None = None,
        longitude: float | None = None,
        altitude: float | None = None,
    ) -> Site:
        """Return a site given by its numbers, or by something that has them.

        Parameters
        ----------
        place
            A site, pvlib's ``Location`` or anything else with ``latitude``, ``longitude`` and,
            where it knows it, ``altitude``; in place of the numbers.
        latitude, longitude, altitude
            The numbers, where there is no place. [degrees, degrees, m]
        """
        numbers = (latitude, longitude, altitude)
        if place is None:
            if latitude is None or longitude is None:
                raise ParameterError(
                    "a place is needed: give latitude= and longitude= in degrees, or site= as a"
                    " Site or as pvlib's Location"
                )
            return cls(latitude, longitude, altitude)
        if any(each is not None for each in numbers):
            raise ParameterError("give site= or latitude= and longitude=, not both")
        if isinstance(place, cls):
            return place
        if not (hasattr(place, "latitude") and hasattr(place, "longitude")):
            raise ParameterError(
                f"site must be a Site or pvlib's Location, and {shown(place)} is not"
            )
        return cls(place.latitude, place.longitude, getattr(place, "altitude", None))

    @property
    def height(self) -> float:
        """The altitude, given or looked up. [m]"""
        assert self.altitude is not None
        return self.altitude

    @checked
    def sun(self, times: pd.DatetimeIndex) -> pd.DataFrame:
        """Return pvlib's solar position (``apparent_zenith``, ``azimuth``, ...) at ``times``."""
        return pd.DataFrame(
            pvlib.solarposition.get_solarposition(
                times, self.latitude, self.longitude, altitude=self.height
            )
        )


@checked
def incidence_cosine(plane: Plane, zenith: Array, azimuth: Array) -> Array:
    """Return cos θ of the angle of incidence: paper eq. 1.

    Parameters
    ----------
    plane
        The plane of the array.
    zenith, azimuth
        Position of the sun. [degrees]
    """
    together(zenith=zenith, azimuth=azimuth)
    return np.asarray(
        pvlib.irradiance.aoi_projection(plane.surface_tilt, plane.surface_azimuth, zenith, azimuth)
    )


@checked
def plane_irradiance(
    plane: Plane,
    weather: pd.DataFrame,
    sun: pd.DataFrame,
    *,
    sky_model: SkyModel = SkyModel.HAYDAVIES,
    albedo: float = 0.2,
    modifier: bool = True,
) -> pd.DataFrame:
    """Return what reaches the cells of a plane: paper eq. 2.

    Parameters
    ----------
    plane
        The plane of the array.
    weather
        ``ghi``, ``dni`` and ``dhi``. [W/m²]
    sun
        ``apparent_zenith`` and ``azimuth`` at the same times. [degrees]
    sky_model
        The model of the sky's diffuse light.
    albedo
        Fraction of global irradiance that the ground sends back.
    modifier
        Apply pvlib's physical incidence-angle modifier: the paper's f(θ) on the direct light and on
        the light around the sun, and its hemispherical integrals (Marion) on the rest.

    Returns
    -------
    pandas.DataFrame
        ``poa_global`` and its parts ``poa_direct``, ``poa_sky_diffuse``,
        ``poa_ground_diffuse``. [W/m²]
    """
    zenith, azimuth = (sun[name].to_numpy(np.float64) for name in ("apparent_zenith", "azimuth"))
    ghi, dni = (weather[name].to_numpy(np.float64) for name in ("ghi", "dni"))
    circumsolar, rest = _sky_parts(plane, weather, zenith, azimuth, sky_model=sky_model)
    direct = dni * np.maximum(incidence_cosine(plane, zenith, azimuth), 0.0)
    ground = np.asarray(pvlib.irradiance.get_ground_diffuse(plane.surface_tilt, ghi, albedo=albedo))
    if modifier:
        cosine = incidence_cosine(plane, zenith, azimuth)
        beam = pvlib.iam.physical(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
        diffuse = pvlib.iam.marion_diffuse("physical", plane.surface_tilt)
        direct, circumsolar = direct * beam, circumsolar * beam
        rest = rest * float(diffuse["sky"])
        # a flat plane sees no ground, and Marion's integral over nothing is not a number
        ground = ground * float(np.nan_to_num(diffuse["ground"]))
    out = pd.DataFrame(
        {
            "poa_direct": direct,
            "poa_sky_diffuse": circumsolar + rest,
            "poa_ground_diffuse": ground,
        },
        index=weather.index,
    ).fillna(0.0)
    out["poa_global"] = out.sum(axis=1)
    return out


def _sky_parts(
    plane: Plane, weather: pd.DataFrame, zenith: Array, azimuth: Array, *, sky_model: SkyModel
) -> tuple[Array, Array]:
    """Return the sky's diffuse light on a plane: from around the sun, and the rest. [W/m²]"""
    dni, dhi = (weather[name].to_numpy(np.float64) for name in ("dni", "dhi"))
    if sky_model is SkyModel.ISOTROPIC:
        whole = np.asarray(pvlib.irradiance.isotropic(plane.surface_tilt, dhi))
        return np.zeros(len(dhi)), whole
    days = pd.DatetimeIndex(weather.index).day_of_year.to_numpy()
    angles = (plane.surface_tilt, plane.surface_azimuth)
    light = (dhi, dni, np.asarray(pvlib.irradiance.get_extra_radiation(days)))
    model = {
        SkyModel.HAYDAVIES: pvlib.irradiance.haydavies,
        SkyModel.PEREZ: pvlib.irradiance.perez_driesse,
    }[sky_model]
    parts = model(*angles, *light, zenith, azimuth, return_components=True)
    around = np.nan_to_num(np.asarray(parts["poa_circumsolar"], dtype=np.float64))
    return around, np.nan_to_num(np.asarray(parts["poa_sky_diffuse"], dtype=np.float64)) - around


@checked
def cell_temperature(poa_global: Array, temp_air: Array, wind_speed: Array) -> Array:
    """Return the cell temperature by Faiman's model with pvlib's defaults. [°C]

    Parameters
    ----------
    poa_global
        Light on the cells. [W/m²]
    temp_air
        Air temperature. [°C]
    wind_speed
        Wind at 10 m, of which half reaches the modules. [m/s]
    """
    together(poa_global=poa_global, temp_air=temp_air, wind_speed=wind_speed)
    return np.asarray(pvlib.temperature.faiman(poa_global, temp_air, SHELTER * wind_speed))


@checked
def dc_power(poa_global: Array, temp_cell: Array, *, pdc0: float, losses: Losses) -> Array:
    """Return DC power before the inverter: paper eq. 3 with ζ as PVWatts' losses. [unit of pdc0]

    Parameters
    ----------
    poa_global
        Light on the cells. [W/m²]
    temp_cell
        Temperature of the cells. [°C]
    pdc0
        DC capacity. [any unit]
    losses
        System losses and temperature coefficient.
    """
    together(poa_global=poa_global, temp_cell=temp_cell)
    number("pdc0", pdc0, low=0.0)
    power = pvlib.pvsystem.pvwatts_dc(poa_global, temp_cell, pdc0, losses.gamma_pdc)
    return np.asarray(power) * (1.0 - losses.system)


@checked
def ac_power(pdc: Array, *, pdc0: float, losses: Losses, limit: float = math.inf) -> Array:
    """Return AC power by PVWatts' inverter of the array's own size, up to a limit. [unit of pdc]

    Parameters
    ----------
    pdc
        DC power. [any unit]
    pdc0
        DC capacity, which the inverter's part-load curve is drawn over. [unit of pdc]
    losses
        The inverter's efficiency.
    limit
        The most that comes out. [unit of pdc]
    """
    if not 0.0 < pdc0 < math.inf:
        raise ParameterError("pdc0 must be a finite number above 0")
    power = pvlib.inverter.pvwatts(pdc, pdc0, eta_inv_nom=losses.inverter_efficiency)
    return np.asarray(np.minimum(power, limit))
