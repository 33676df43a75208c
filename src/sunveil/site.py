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
from types import MappingProxyType

import numpy as np
import pandas as pd
import pvlib
from numpy.typing import NDArray

from sunveil import maps
from sunveil.errors import ParameterError

Array = NDArray[np.float64]

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
            if not (math.isfinite(value) and -limit <= value <= limit):
                raise ParameterError(
                    f"{name} must be between {-limit:g} and {limit:g} degrees, not {value:g};"
                    " north and east are positive"
                )
        if self.altitude is None:
            object.__setattr__(self, "altitude", maps.altitude(self.latitude, self.longitude))
        elif not (math.isfinite(self.altitude) and -500.0 <= self.altitude <= 9000.0):
            raise ParameterError(
                f"altitude must be between -500 and 9000 metres, and {self.altitude:g} is not"
            )

    @property
    def height(self) -> float:
        """The altitude, given or looked up. [m]"""
        assert self.altitude is not None
        return self.altitude

    def sun(self, times: pd.DatetimeIndex) -> pd.DataFrame:
        """Return pvlib's solar position (``apparent_zenith``, ``azimuth``, ...) at ``times``."""
        return pd.DataFrame(
            pvlib.solarposition.get_solarposition(
                times, self.latitude, self.longitude, altitude=self.height
            )
        )


@dataclass(frozen=True, slots=True)
class Plane:
    """The orientation of an array: azimuth and tilt.

    Parameters
    ----------
    surface_azimuth
        Clockwise from north; brought into [0, 360). [degrees]
    surface_tilt
        From horizontal, in [0, 90]. [degrees]
    """

    surface_azimuth: float
    surface_tilt: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.surface_azimuth):
            raise ParameterError("surface_azimuth must be a finite number of degrees")
        if not (math.isfinite(self.surface_tilt) and 0.0 <= self.surface_tilt <= 90.0):
            raise ParameterError(
                f"surface_tilt must be between 0 and 90 degrees, and {self.surface_tilt:g} is not"
            )
        object.__setattr__(self, "surface_azimuth", self.surface_azimuth % 360.0 % 360.0)

    @property
    def normal(self) -> Array:
        """The unit vector out of the plane: east, north, up."""
        both = normals(np.array([self.surface_azimuth]), np.array([self.surface_tilt]))
        return np.asarray(both[0])

    def angle_to(self, other: Plane) -> float:
        """Return the angle between two planes. [degrees]"""
        cosine = float(np.clip(self.normal @ other.normal, -1.0, 1.0))
        return math.degrees(math.acos(cosine))


class Mount(StrEnum):
    """How the modules are mounted, which decides how hot they run."""

    UNKNOWN = "unknown"
    RACK = "rack"
    ROOF = "roof"

    @property
    def heat(self) -> float:
        """How much more the modules warm above the air than on Faiman's open rack, as a factor."""
        return {"unknown": 1.25, "rack": 1.0, "roof": 1.5}[self.value]


# What PVWatts 5 takes off the DC power of a system that runs, under a sky that nothing hides. Its
# shading, snow and availability are left out: an inference rests on hours without them.
LOSS_PARTS = MappingProxyType(
    {
        "soiling": 0.02,
        "mismatch": 0.02,
        "wiring": 0.02,
        "connections": 0.005,
        "light-induced degradation": 0.015,
        "nameplate rating": 0.01,
    }
)
# How much more than that real, labelled systems give on clear days, in the mean
# (``python -m benchmarks.calibrate``).
CALIBRATION = 1.04
RUNNING_LOSSES = round(1.0 - CALIBRATION * math.prod(1.0 - part for part in LOSS_PARTS.values()), 3)


@dataclass(frozen=True, slots=True)
class Losses:
    """Losses between the light on the modules and the meter.

    They are assumed, never inferred, and named in every result.

    Parameters
    ----------
    system
        Soiling, wiring, mismatch and the like, as a fraction of DC power; the default is
        :data:`LOSS_PARTS` together, corrected by :data:`CALIBRATION`. Below zero where a system
        gives more than its nameplate says.
    inverter_efficiency
        Nominal inverter efficiency, as a fraction.
    gamma_pdc
        Temperature coefficient of DC power. [1/°C]
    """

    system: float = RUNNING_LOSSES
    inverter_efficiency: float = 0.96
    gamma_pdc: float = -0.004

    def __post_init__(self) -> None:
        if not -0.2 <= self.system < 1.0:
            raise ParameterError(f"system losses must be in [-0.2, 1), and {self.system:g} is not")
        if not 0.5 <= self.inverter_efficiency <= 1.0:
            raise ParameterError(
                f"inverter_efficiency must be in [0.5, 1], and {self.inverter_efficiency:g} is not"
            )
        if not -0.02 <= self.gamma_pdc <= 0.0:
            raise ParameterError(
                f"gamma_pdc must be in [-0.02, 0] per °C, and {self.gamma_pdc:g} is not"
            )

    @property
    def parts(self) -> dict[str, float]:
        """What the system losses are made of: the assumed parts, or all of them as given."""
        if self.system != RUNNING_LOSSES:
            return {"given": self.system}
        return {**LOSS_PARTS, "calibration on real systems": round(1.0 - CALIBRATION, 3)}

    @property
    def factor(self) -> float:
        """AC power per unit of DC power far from the inverter's limit."""
        return (1.0 - self.system) * self.inverter_efficiency


def normals(surface_azimuth: Array, surface_tilt: Array) -> Array:
    """Return the unit normals (east, north, up) of planes, one per row."""
    azimuth, tilt = np.radians(surface_azimuth), np.radians(surface_tilt)
    return np.stack(
        [np.sin(tilt) * np.sin(azimuth), np.sin(tilt) * np.cos(azimuth), np.cos(tilt)], axis=-1
    )


def incidence_cosine(plane: Plane, zenith: Array, azimuth: Array) -> Array:
    """Return cos θ of the angle of incidence: paper eq. 1.

    Parameters
    ----------
    plane
        The plane of the array.
    zenith, azimuth
        Position of the sun. [degrees]
    """
    return np.asarray(
        pvlib.irradiance.aoi_projection(plane.surface_tilt, plane.surface_azimuth, zenith, azimuth)
    )


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
    return np.asarray(pvlib.temperature.faiman(poa_global, temp_air, SHELTER * wind_speed))


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
    power = pvlib.pvsystem.pvwatts_dc(poa_global, temp_cell, pdc0, losses.gamma_pdc)
    return np.asarray(power) * (1.0 - losses.system)


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
    power = pvlib.inverter.pvwatts(pdc, pdc0, eta_inv_nom=losses.inverter_efficiency)
    return np.asarray(np.minimum(power, limit))
