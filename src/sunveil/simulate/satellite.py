"""What a satellite product says of a sky."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.ndimage import gaussian_filter1d

from sunveil.arguments import check_fields
from sunveil.simulate.irradiance import clear_sky, split_beam
from sunveil.simulate.noise import autoregressive, correlated_noise
from sunveil.site import Array
from sunveil.weather.base import Weather


@dataclass(frozen=True, slots=True)
class SatelliteErrors:
    """How wrong a satellite product is: standard deviations between sites unless said otherwise.

    Parameters
    ----------
    turbidity_bias
        Of the factor on turbidity, lognormal.
    turbidity_drift
        Of the slow drift of turbidity within a site, correlated over about 50 days.
    turbidity_noise
        Of what is missed of each day's turbidity within a site.
    ghi_bias, dni_bias
        Of the factors on GHI and DNI, on top of what turbidity does.
    cloud_depth
        Of the relative error of a cloud's depth, within a site, correlated over an hour.
    cloud_shift
        Of how early or late clouds are seen, within a site: they are misplaced by their height
        and by the pixels, and drift over. [minutes]
    lost_cloud
        Smeared loss of light below which a cloud is not seen.
    temperature
        Of the air temperature, half of its variance between sites, half within. [K]
    """

    turbidity_bias: float = 0.15
    turbidity_drift: float = 0.05
    turbidity_noise: float = 0.08
    ghi_bias: float = 0.02
    dni_bias: float = 0.03
    cloud_depth: float = 0.3
    cloud_shift: float = 12.0
    lost_cloud: float = 0.05
    temperature: float = 1.5

    def __post_init__(self) -> None:
        check_fields(self)


def simulate_satellite(
    true: Weather,
    *,
    rng: np.random.Generator,
    times: pd.DatetimeIndex,
    turbidity: Array,
    clear_index: Array,
    errors: SatelliteErrors,
) -> Weather:
    """Return a satellite product's snapshots of a sky.

    Parameters
    ----------
    true
        The sky.
    rng
        Source of randomness.
    times
        Instants of the snapshots.
    turbidity, clear_index
        True Linke turbidity and clear-sky index at the instants of ``true``.
    errors
        How wrong the product is.
    """
    here, there = _seconds(true.times), _seconds(times)

    def at_snapshots(values: Array) -> Array:
        return np.interp(there, here, values)

    haze = at_snapshots(turbidity) * _turbidity_error(rng, there, errors=errors)
    sky = clear_sky(true.site, times, turbidity=np.clip(haze, 1.2, 10.0))
    smeared = smear_clouds(rng, clear_index, step_minutes=true.step_minutes, errors=errors)
    ghi, dni, _ = split_beam(sky, at_snapshots(smeared))
    ghi = ghi * np.exp(errors.ghi_bias * rng.standard_normal())
    dni = dni * np.exp(errors.dni_bias * rng.standard_normal())
    beam = np.minimum(dni * np.cos(np.radians(sky.zenith)), ghi)
    # products keep GHI = DHI + DNI cos z, so a beam larger than GHI gives way
    up = (sky.zenith < 90.0) & (beam > 0.0)
    dni = np.divide(beam, np.cos(np.radians(sky.zenith)), out=np.zeros_like(beam), where=up)
    step = (there[1] - there[0]) / 60.0
    half = errors.temperature / np.sqrt(2.0)
    temperature = half * rng.standard_normal() + half * correlated_noise(
        rng, len(there), step_minutes=step, memory_minutes=720.0
    )
    breeze = 0.2 * rng.standard_normal() + 0.3 * correlated_noise(
        rng, len(there), step_minutes=step, memory_minutes=360.0
    )
    return Weather(
        site=true.site,
        times=times,
        ghi=ghi,
        dni=dni,
        dhi=ghi - beam,
        temp_air=at_snapshots(true.temp_air) + temperature,
        wind_speed=at_snapshots(true.wind_speed) * np.exp(breeze),
        source="simulated satellite",
        zenith=sky.zenith,
        azimuth=sky.azimuth,
    )


def smear_clouds(
    rng: np.random.Generator,
    clear_index: Array,
    *,
    step_minutes: float,
    errors: SatelliteErrors,
) -> Array:
    """Return the clear-sky index as seen through pixels of some kilometres.

    Clouds are smeared over 30 to 60 minutes, a width of the site, and misplaced; their depth is
    misjudged; what is small after smearing is not seen, and light added by cloud edges never is.

    Parameters
    ----------
    rng
        Source of randomness.
    clear_index
        True clear-sky index at even instants.
    step_minutes
        Their spacing. [minutes]
    errors
        How wrong the product is.
    """
    loss = 1.0 - np.minimum(clear_index, 1.0)
    # a Gaussian of standard deviation s is as wide as a box of s times the root of 12
    width = rng.uniform(30.0, 60.0) / np.sqrt(12.0)
    smeared = gaussian_filter1d(loss, width / step_minutes)
    places = np.arange(len(loss), dtype=np.float64)
    shift = correlated_noise(rng, len(loss), step_minutes=step_minutes, memory_minutes=360.0)
    smeared = np.interp(places + errors.cloud_shift / step_minutes * shift, places, smeared)
    depth = correlated_noise(rng, len(loss), step_minutes=step_minutes, memory_minutes=60.0)
    seen = smeared * np.clip(1.0 + errors.cloud_depth * depth, 0.3, 1.7)
    return np.asarray(np.clip(1.0 - np.where(seen < errors.lost_cloud, 0.0, seen), 0.02, 1.0))


def _turbidity_error(rng: np.random.Generator, seconds: Array, *, errors: SatelliteErrors) -> Array:
    days = (seconds - seconds[0]) / 86400.0
    knots = int(days[-1]) + 2
    drift = errors.turbidity_drift * autoregressive(rng, knots, correlation=0.98)
    drift += errors.turbidity_noise * autoregressive(rng, knots, correlation=0.5)
    bias = errors.turbidity_bias * rng.standard_normal()
    return np.asarray(np.exp(bias + np.interp(days, np.arange(knots), drift)))


def _seconds(times: pd.DatetimeIndex) -> Array:
    stamps = times.tz_localize(None).to_numpy().astype("datetime64[ms]")
    return stamps.astype(np.int64).astype(np.float64) / 1000.0
