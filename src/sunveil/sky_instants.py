"""The sun and the light at chosen instants: weather laid onto them, daylight only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields, number
from sunveil.checked import checked
from sunveil.site import Array, Site, SkyModel
from sunveil.weather.base import Weather, utc_seconds

# Light below this elevation is neither modelled well nor worth much. [sine]
LOWEST_SUN = float(np.sin(np.radians(1.0)))
# Perez and others hold the sun here when spreading diffuse light. [sine]
LOWEST_FOR_DIFFUSE = float(np.cos(np.radians(85.0)))
SOLAR_CONSTANT = 1366.1


# More than the haze of any air differs from that of another; no exponent overflows at it.
MOST_HAZE = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Sky:
    """The sun and the light at n instants.

    Parameters
    ----------
    site
        Where.
    sun
        Unit vectors to the sun (east, north, up), one per row.
    dni, dhi, ghi
        Irradiance. [W/m²]
    dni_extra
        Direct irradiance above the air. [W/m²]
    temp_air
        Air temperature. [°C]
    wind_speed
        Wind speed. [m/s]
    circumsolar
        Share of the diffuse light that comes from around the sun.
    horizon
        Share of the diffuse light that comes, positive or negative, from the horizon.
    clearness
        Direct irradiance over that of a clear sky: 1 where the weather is clear.
    """

    site: Site
    sun: Array
    dni: Array
    dhi: Array
    ghi: Array
    dni_extra: Array
    temp_air: Array
    wind_speed: Array
    circumsolar: Array
    horizon: Array
    clearness: Array

    def __post_init__(self) -> None:
        check_fields(self)

    def __len__(self) -> int:
        return len(self.dni)

    @checked
    def take(self, chosen: NDArray[np.intp] | NDArray[np.bool_]) -> Sky:
        """Return the sky at the chosen instants only."""
        return self._each(lambda part: part[chosen])

    def single(self) -> Sky:
        """Return the same sky in single precision, in which many planes take half the time.

        The power of planes is then the same to 3e-5 of their capacity: where rounding takes another
        entry of the table of :func:`direct_modifier`, and to 1e-6 elsewhere.
        """
        return self._each(lambda part: part.astype(np.float32))

    def _each(self, change: Callable[[Array], Any]) -> Sky:
        parts = {
            field.name: change(getattr(self, field.name))
            for field in fields(self)
            if field.name != "site"
        }
        return Sky(site=self.site, **parts)

    @checked
    def hazier(self, turbidity: float) -> Sky:
        """Return the same sky with the Linke turbidity raised by ``turbidity``.

        The direct and global light fall as they do in Ineichen's clear-sky model, so the
        difference moves into the diffuse part. Negative values clear the air.
        """
        number("turbidity", turbidity, low=-MOST_HAZE, high=MOST_HAZE)
        if turbidity == 0.0:
            return self
        up = np.maximum(self.sun[:, 2], LOWEST_SUN)
        airmass = relative_airmass(up) * np.exp(-self.site.height / 8434.5)
        low = np.exp(-self.site.height / 1250.0)
        fade = np.exp(-(3.92e-5 * self.site.height + 0.0387) * low * turbidity * airmass)
        dni = self.dni * np.exp(-0.09 * turbidity * airmass)
        ghi = self.ghi * fade
        dhi = np.maximum(ghi - dni * up, 0.3 * self.dhi)
        return replace(self, dni=dni, dhi=dhi, ghi=ghi)


def relative_airmass(sine: Array) -> Array:
    """Return Kasten and Young's airmass for the sine of the sun's elevation."""
    elevation = np.degrees(np.arcsin(np.clip(sine, 0.0, 1.0)))
    return np.asarray(1.0 / (sine + 0.50572 * (elevation + 6.07995) ** -1.6364))


def sun_vectors(zenith: Array, azimuth: Array) -> Array:
    """Return unit vectors (east, north, up) to the sun from its angles in degrees."""
    z, a = np.radians(zenith), np.radians(azimuth)
    return np.stack([np.sin(z) * np.sin(a), np.sin(z) * np.cos(a), np.cos(z)], axis=-1)


_KNOWN_VECTORS: WeakKeyDictionary[Weather, Array] = WeakKeyDictionary()


def _base_vectors(weather: Weather) -> Array:
    """Return the sun's vectors at the weather's own times, computed once while it lives."""
    if weather not in _KNOWN_VECTORS:
        _KNOWN_VECTORS[weather] = sun_vectors(*weather.sun())
    return _KNOWN_VECTORS[weather]


def extra_radiation(times: NDArray[np.datetime64]) -> Array:
    """Return direct irradiance above the air by Spencer's series, without pandas. [W/m²]"""
    day = (times - times.astype("datetime64[Y]")).astype("timedelta64[s]").astype(np.float64)
    angle = 2.0 * np.pi * day / 86400.0 / 365.0
    series = (
        1.00011
        + 0.034221 * np.cos(angle)
        + 0.00128 * np.sin(angle)
        + 0.000719 * np.cos(2 * angle)
        + 7.7e-05 * np.sin(2 * angle)
    )
    return np.asarray(SOLAR_CONSTANT * series)


def diffuse_shares(
    sky_model: SkyModel, *, sun: Array, dni: Array, dhi: Array, dni_extra: Array
) -> tuple[Array, Array]:
    """Return the shares of diffuse light that come from around the sun and from the horizon.

    They depend on the sky alone, not on the plane, so one call serves every plane.

    Parameters
    ----------
    sky_model
        How diffuse light is spread over the dome.
    sun
        Unit vectors to the sun, shape (n, 3).
    dni, dhi, dni_extra
        Direct and diffuse light, and direct light above the air. [W/m²]
    """
    if sky_model is SkyModel.ISOTROPIC:
        return np.zeros(len(dni)), np.zeros(len(dni))
    if sky_model is SkyModel.HAYDAVIES:
        return dni / dni_extra, np.zeros(len(dni))
    zenith = np.degrees(np.arccos(np.clip(sun[:, 2], -1.0, 1.0)))
    lit = (zenith < 89.0) & (dhi > 1.0)
    circumsolar, horizon = np.zeros(len(dni)), np.zeros(len(dni))
    if not lit.any():
        return circumsolar, horizon
    import pvlib

    # a vertical plane under the sun shows both shares at once
    parts = pvlib.irradiance.perez_driesse(
        90.0,
        180.0,
        dhi[lit],
        dni[lit],
        dni_extra[lit],
        zenith[lit],
        np.full(int(lit.sum()), 180.0),
        return_components=True,
    )
    up = np.maximum(np.cos(np.radians(zenith[lit])), LOWEST_FOR_DIFFUSE)
    seen = np.sin(np.radians(zenith[lit]))
    horizon[lit] = np.asarray(parts["poa_horizon"]) / dhi[lit]
    circumsolar[lit] = np.asarray(parts["poa_circumsolar"]) * up / (seen * dhi[lit])
    return circumsolar, horizon


@checked
def sky_at(
    weather: Weather,
    times: NDArray[np.datetime64],
    clear: Weather | None = None,
    *,
    sky_model: SkyModel = SkyModel.PEREZ,
) -> Sky:
    """Lay weather onto instants by interpolation.

    Parameters
    ----------
    weather
        The weather.
    times
        UTC instants, ``datetime64[s]``.
    clear
        Clear-sky weather of the same site. When given and ``weather`` is measured, it is the
        clear-sky index that is interpolated, so that the sun's own movement within a weather
        interval is kept.
    sky_model
        How diffuse light is spread over the dome.
    """
    base = weather if weather.clear or clear is None else clear
    seconds = times.astype("datetime64[s]").astype(np.float64)
    grid = utc_seconds(base.times).astype(np.float64)
    sun = sun_at(base, times)
    values = {name: np.interp(seconds, grid, getattr(base, name)) for name in ("ghi", "dni", "dhi")}
    clearness = np.ones(len(times))
    if base is not weather:
        values, clearness = _measured(weather, base, seconds, sun=sun, clear=values)
    native = utc_seconds(weather.times).astype(np.float64)
    dni_extra = extra_radiation(times)
    circumsolar, horizon = diffuse_shares(
        sky_model, sun=sun, dni=values["dni"], dhi=values["dhi"], dni_extra=dni_extra
    )
    return Sky(
        site=weather.site,
        sun=sun,
        dni_extra=dni_extra,
        circumsolar=circumsolar,
        horizon=horizon,
        temp_air=np.interp(seconds, native, weather.temp_air),
        wind_speed=np.interp(seconds, native, weather.wind_speed),
        clearness=clearness,
        **values,
    )


def sun_at(weather: Weather, times: NDArray[np.datetime64]) -> Array:
    """Return unit vectors (east, north, up) to the sun at UTC instants within some weather."""
    seconds = times.astype("datetime64[s]").astype(np.float64)
    grid = utc_seconds(weather.times).astype(np.float64)
    vectors = _base_vectors(weather)
    sun = np.stack([np.interp(seconds, grid, vectors[:, i]) for i in range(3)], axis=-1)
    sun /= np.linalg.norm(sun, axis=1, keepdims=True)
    return sun


def covered(weather: Weather, times: NDArray[np.datetime64]) -> NDArray[np.bool_]:
    """Return which instants have weather close by, so that none is made up across a gap."""
    known = utc_seconds(weather.times).astype(np.float64)
    seconds = times.astype("datetime64[s]").astype(np.float64)
    place = np.clip(np.searchsorted(known, seconds), 1, len(known) - 1)
    gap = np.minimum(np.abs(seconds - known[place - 1]), np.abs(seconds - known[place]))
    return np.asarray(gap <= max(1.05 * weather.step_minutes * 60.0, 1800.0))


def _measured(
    weather: Weather, base: Weather, seconds: Array, *, sun: Array, clear: dict[str, Array]
) -> tuple[dict[str, Array], Array]:
    """Carry measured irradiance to instants through its ratio to a clear sky's."""
    native = utc_seconds(weather.times).astype(np.float64)
    grid = utc_seconds(base.times).astype(np.float64)
    out: dict[str, Array] = {}
    ratios: dict[str, Array] = {}
    for name in ("ghi", "dni"):
        there = np.interp(native, grid, getattr(base, name))
        bright = there > 20.0
        ratio = np.divide(getattr(weather, name), there, where=bright, out=np.ones(len(native)))
        ratio = np.clip(ratio, 0.0, 1.6)
        if not bright.any():  # a polar night, or weather of other dates
            ratio, bright = np.ones(len(native)), np.ones(len(native), dtype=bool)
        ratios[name] = np.interp(seconds, native[bright], ratio[bright])
        out[name] = clear[name] * ratios[name]
    up = np.maximum(sun[:, 2], LOWEST_SUN)
    out["dni"] = np.minimum(out["dni"], out["ghi"] / up)
    out["dhi"] = np.maximum(out["ghi"] - out["dni"] * up, 0.0)
    return out, ratios["dni"]
