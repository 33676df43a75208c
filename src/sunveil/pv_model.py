"""The physics of eqs. 1 to 3: incidence, plane-of-array irradiance, AC power."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pvlib
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, number
from sunveil.errors import ParameterError
from sunveil.site import SHELTER, Array, Losses, Site, SkyModel
from sunveil.weather.weather_data import Weather, utc_seconds


@functools.cache
def _modifier_table(kind: np.dtype[Any], size: int = 16384) -> Array:
    cosines = (np.arange(size + 1) + 0.5) / size
    angles = np.degrees(np.arccos(np.minimum(cosines, 1.0)))
    return np.asarray(pvlib.iam.physical(angles), dtype=kind)


def direct_modifier(cosine: Array) -> Array:
    """Return the incidence-angle modifier of direct light, by table, for cosines in [0, 1]."""
    # The table is so fine that its nearest entry is right to 2e-4 at grazing light, and the light
    # that enters, which is what counts, to 2e-5 of the beam. It reaches one step beyond 1, where
    # rounding may put a cosine.
    table = _modifier_table(cosine.dtype)
    return np.asarray(table[(cosine * (len(table) - 1)).astype(np.int32)])


# Marion's modifiers of sky and ground light under pvlib's glass by tilt [degrees], dense where they
# bend. A flat plane sees no ground.
MODIFIERS = np.array(
    [
        (0.0, 0.944394240096, 0.0),
        (1.0, 0.944472645175, 0.0406836175513),
        (2.0, 0.944661390098, 0.103958509497),
        (3.5, 0.945124086621, 0.180798536381),
        (5.0, 0.945738834226, 0.246122678902),
        (7.5, 0.947002756038, 0.341501914026),
        (10.0, 0.948415146445, 0.421184719467),
        (15.0, 0.95130627186, 0.546630840117),
        (20.0, 0.953917829444, 0.63871401178),
        (25.0, 0.956057285777, 0.707519628673),
        (30.0, 0.957675389134, 0.75971430282),
        (40.0, 0.959430094964, 0.83107761269),
        (50.0, 0.959469456137, 0.875189661764),
        (60.0, 0.958033230309, 0.903567385413),
        (75.0, 0.953190181064, 0.929509453764),
        (90.0, 0.944404794632, 0.944404794632),
    ]
)


def diffuse_modifiers(surface_tilt: Array) -> tuple[Array, Array]:
    """Return Marion's modifiers of sky and ground light for planes of given tilts."""
    tilts, sky, ground = MODIFIERS.T
    return np.interp(surface_tilt, tilts, sky), np.interp(surface_tilt, tilts, ground)


# Light below this elevation is modelled badly and gives little energy. [sine]
LOWEST_SUN = float(np.sin(np.radians(1.0)))

# Perez and others hold the sun here when spreading diffuse light. [sine]
LOWEST_FOR_DIFFUSE = float(np.cos(np.radians(85.0)))
SOLAR_CONSTANT = 1366.1

# More than the haze of any air differs from that of another; no exponent overflows at it.
MOST_HAZE = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class Sky:
    """The sun and the light at n instants."""

    site: Site  # where
    sun: Array  # unit vectors to the sun (east, north, up), one per row
    dni: Array  # irradiance [W/m²]
    dhi: Array  # irradiance [W/m²]
    ghi: Array  # irradiance [W/m²]
    dni_extra: Array  # direct irradiance above the air [W/m²]
    temp_air: Array  # air temperature [°C]
    wind_speed: Array  # wind speed [m/s]
    circumsolar: Array  # share of the diffuse light that comes from around the sun
    horizon: Array  # share of the diffuse light that comes, positive or negative, from the horizon
    clearness: Array  # direct irradiance over that of a clear sky: 1 where the weather is clear

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
    """Return the shares of diffuse light that come from around the sun and from the horizon."""
    # They depend on the sky alone, not on the plane, so one call serves every plane.
    if sky_model is SkyModel.ISOTROPIC:
        return np.zeros(len(dni)), np.zeros(len(dni))
    if sky_model is SkyModel.HAYDAVIES:
        return dni / dni_extra, np.zeros(len(dni))
    zenith = np.degrees(np.arccos(np.clip(sun[:, 2], -1.0, 1.0)))
    daylight = (zenith < 89.0) & (dhi > 1.0)
    circumsolar, horizon = np.zeros(len(dni)), np.zeros(len(dni))
    if not daylight.any():
        return circumsolar, horizon
    # a vertical plane under the sun shows both shares at once
    parts = pvlib.irradiance.perez_driesse(
        90.0,
        180.0,
        dhi[daylight],
        dni[daylight],
        dni_extra[daylight],
        zenith[daylight],
        np.full(int(daylight.sum()), 180.0),
        return_components=True,
    )
    up = np.maximum(np.cos(np.radians(zenith[daylight])), LOWEST_FOR_DIFFUSE)
    seen = np.sin(np.radians(zenith[daylight]))
    horizon[daylight] = np.asarray(parts["poa_horizon"]) / dhi[daylight]
    circumsolar[daylight] = np.asarray(parts["poa_circumsolar"]) * up / (seen * dhi[daylight])
    return circumsolar, horizon


@checked
def sky_at(
    weather: Weather,
    times: NDArray[np.datetime64],
    clear: Weather | None = None,
    *,
    sky_model: SkyModel = SkyModel.PEREZ,
) -> Sky:
    """Lay weather onto instants by interpolation."""
    # Of measured weather with the clear sky of the same site, the clear-sky index is interpolated,
    # so that the sun's own movement within a weather interval is kept.
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


def incidence_cosine(sun: Array, normals: Array) -> Array:
    """Return cos θ between planes and the sun, shape (planes, n): paper eq. 1."""
    if normals.ndim == 3:
        return np.asarray(np.einsum("kij,ij->ki", normals, sun))
    return np.asarray(normals @ sun.T)


@checked
def plane_irradiance(
    sky: Sky,
    normals: Array,
    *,
    albedo: float = 0.2,
    diffuse_modifier: bool = True,
    circumsolar_modifier: bool = True,
) -> Array:
    """Return the light that enters the cells of planes, shape (planes, n): paper eq. 2. [W/m²]"""
    # Normals are unit vectors (east, north, up), shape (planes, 3), or (planes, n, 3) for planes
    # that turn. The paper's eq. 2 to the letter has f(θ) on the direct light alone, without the
    # modifiers of diffuse light and of the light around the sun, which comes from where the sun is.
    number("albedo", albedo, low=0.0, high=1.0)
    if normals.ndim not in (2, 3) or normals.shape[-1] != 3:
        raise ParameterError("normals must have three numbers per row: east, north and up")
    kind = sky.sun.dtype
    views = _views(normals[..., 2], albedo, diffuse_modifier=diffuse_modifier).astype(kind)
    up = np.maximum(sky.sun[:, 2], LOWEST_FOR_DIFFUSE)
    beam = sky.dni + sky.dhi * sky.circumsolar / up  # circumsolar light comes from the sun
    diffuse = np.stack([sky.dhi * (1.0 - sky.circumsolar), sky.dhi * sky.horizon, sky.ghi])
    light = incidence_cosine(sky.sun, normals.astype(kind))
    scattered = np.einsum("kij,ji->ki", views, diffuse) if normals.ndim == 3 else views @ diffuse
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
    """Return the shares that planes take of the dome's, the horizon's and the global light."""
    sin_tilt = np.sqrt(np.maximum(1.0 - cos_tilt**2, 0.0))
    dome, ground = (1.0 + cos_tilt) / 2.0, albedo * (1.0 - cos_tilt) / 2.0
    if not diffuse_modifier:
        return np.stack([dome, sin_tilt, ground], axis=-1)
    sky, below = diffuse_modifiers(np.degrees(np.arctan2(sin_tilt, cos_tilt)))
    return np.stack([dome * sky, sin_tilt * sky, ground * below], axis=-1)


@checked
def ac_power(
    sky: Sky,
    normals: Array,
    *,
    losses: Losses | None = None,
    albedo: float = 0.2,
    heat: float = 1.0,
) -> Array:
    """Return the AC power of planes per kW of DC capacity, without the inverter's limit: eq. 3."""
    # Normals as for `plane_irradiance`; heat is the rise of the cells over that of Faiman's open
    # rack, 1 as hot, 2 twice the rise.
    losses = losses or Losses()
    power = plane_irradiance(sky, normals, albedo=albedo)
    kept = 1e-3 * (1.0 - losses.system)
    # of the light, what is left at the modules' temperature, which rises with it
    left = power * (kept * losses.gamma_pdc * heat / (25.0 + 6.84 * SHELTER * sky.wind_speed))
    left += kept * (1.0 + losses.gamma_pdc * (sky.temp_air - 25.0))
    power *= left
    return part_load(power, losses)


def part_load(pdc: Array, losses: Losses) -> Array:
    # The inverter's own size is not known here and is taken to be the array's: the curve is so flat
    # that a ratio of 1.3 changes it by 1.4% at a tenth of full power and by 0.3% from a third up.
    # (a ζ - b + c / ζ) ζ with PVWatts' coefficients, so that no power needs no special case
    scale = losses.inverter_efficiency / 0.9637
    out = (-0.0162 * scale) * pdc
    out += 0.9858 * scale
    out *= pdc
    out -= 0.0059 * scale
    return np.maximum(out, 0.0, out=out)
