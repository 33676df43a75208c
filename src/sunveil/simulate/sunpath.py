"""Where the sun stands over many places at the same instants.

Most of the work of a solar position depends on the instant alone: where the Earth is on its
orbit and how its axis nods. That part is done once here, by pvlib, and each place adds its own
turn of the sky, its parallax and its refraction. The result is pvlib's to the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pvlib
from pvlib import spa

from sunveil.site import Array, Site
from sunveil.weather.base import utc_seconds

# What pvlib.solarposition.get_solarposition takes when nothing is said.
DELTA_T = 67.0
REFRACTION = 0.5667
TEMPERATURE = 12.0


@dataclass(frozen=True, slots=True, eq=False)
class SunPath:
    """The sun as seen from the centre of the Earth.

    Parameters
    ----------
    times
        The instants, in UTC.
    radius
        Distance of the sun. [astronomical units]
    sidereal
        Apparent sidereal time at Greenwich. [degrees]
    ascension, declination
        Apparent place of the sun. [degrees]
    """

    times: pd.DatetimeIndex
    radius: Array
    sidereal: Array
    ascension: Array
    declination: Array

    @classmethod
    def of(cls, times: pd.DatetimeIndex) -> SunPath:
        """Return the sun's path over ``times``."""
        unix = utc_seconds(times).astype(np.float64)
        place = (0.0, 0.0, 0.0, 0.0, TEMPERATURE, DELTA_T, REFRACTION, 1)
        (radius,) = spa.solar_position_numpy(unix, *place, esd=True)
        sidereal, ascension, declination = spa.solar_position_numpy(unix, *place, sst=True)
        return cls(times, radius, sidereal, ascension, declination)

    def over(self, site: Site) -> tuple[Array, Array]:
        """Return the sun's apparent zenith and azimuth at a site [degrees]."""
        latitude, height = site.latitude, site.height
        pressure = pvlib.atmosphere.alt2pres(height) / 100.0
        hour = spa.local_hour_angle(self.sidereal, site.longitude, self.ascension)
        parallax = spa.equatorial_horizontal_parallax(self.radius)
        reduced = spa.uterm(latitude)
        x, y = (term(reduced, latitude, height) for term in (spa.xterm, spa.yterm))
        shift = spa.parallax_sun_right_ascension(x, parallax, hour, self.declination)
        declination = spa.topocentric_sun_declination(self.declination, x, y, parallax, shift, hour)
        hour = spa.topocentric_local_hour_angle(hour, shift)
        bare = spa.topocentric_elevation_angle_without_atmosphere(latitude, declination, hour)
        lifted = spa.atmospheric_refraction_correction(pressure, TEMPERATURE, bare, REFRACTION)
        zenith = spa.topocentric_zenith_angle(spa.topocentric_elevation_angle(bare, lifted))
        turned = spa.topocentric_astronomers_azimuth(hour, declination, latitude)
        azimuth = spa.topocentric_azimuth_angle(turned)
        return np.asarray(zenith, dtype=np.float64), np.asarray(azimuth, dtype=np.float64)
