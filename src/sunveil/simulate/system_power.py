"""PV power of one simulated system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
import pandas as pd
import pvlib

from sunveil._options import checked
from sunveil.errors import ParameterError
from sunveil.simulate.fault_rates import SAPM_MOUNTS, SystemTruth, Tracker, draw_systems
from sunveil.simulate.simulated_sky import (
    SatelliteErrors,
    SimulatedSky,
    days_since,
    dull_days,
    simulate_sky,
)
from sunveil.site import Array, Site
from sunveil.weather.weather_data import Weather

Horizon = Callable[[Array], Array]
"""From azimuths to the elevation below which the sun is hidden. [degrees -> degrees]"""


@checked
def simulate_power(
    truth: SystemTruth,
    sky: SimulatedSky,  # the sky over it; only ``sky.true`` makes power
    *,
    seed: int,
    # interval of the meter, a multiple of the sky's step that divides an hour. [minutes]
    step_minutes: int = 60,
    noise: float = 0.02,  # standard deviation of the relative error of each reading
    horizon: Horizon | None = None,  # what hides the sun's beam and the bright sky around it
    degradation: float = 0.0,  # loss of DC power through the year, as a fraction
    # loss of DC power by each dry day, as a fraction; a dull day washes all of it off
    soiling: float = 0.0,
    # share of DC power that is left on each local day of the sky, for whatever reason. Default:
    # all of it.
    kept: Array | None = None,
) -> pd.Series:
    """Return the readings of a system's meter [kW].

    Returns
    -------
    pandas.Series
        Mean AC power of each interval, labelled with its start in UTC.
    """
    weather = sky.true
    per_reading = step_minutes / weather.step_minutes
    if per_reading < 1 or per_reading % 1 or 60 % step_minutes:
        raise ParameterError(
            f"step_minutes must be a multiple of the sky's {weather.step_minutes:g} minutes that"
            f" divides an hour, and {step_minutes} is not"
        )
    zenith, _ = weather.sun()
    up = zenith < 90.0
    fine = np.zeros(len(up))
    years = np.linspace(0.0, 1.0, len(up))[up]
    worn = (1.0 - degradation * years) * (1.0 - _soiled(sky, soiling)[up])
    if kept is not None:
        worn = worn * kept[sky.day[up]]
    fine[up] = inverter_power(dc_power(truth, Light.of(weather, up), horizon=horizon) * worn, truth)
    mean = fine.reshape(-1, int(per_reading)).mean(axis=1)
    mean *= 1.0 + noise * np.random.default_rng(seed).standard_normal(len(mean))
    half = pd.Timedelta(minutes=weather.step_minutes) / 2
    starts = pd.DatetimeIndex(weather.times[:: int(per_reading)] - half, name="time")
    return pd.Series(mean, index=starts, name=truth.system_id)


@dataclass(frozen=True, slots=True, eq=False)
class Light:
    """The daylight instants of a sky."""

    zenith: Array  # [degrees] apparent
    azimuth: Array  # [degrees]
    ghi: Array  # [W/m²] global
    dni: Array  # [W/m²] direct normal
    dhi: Array  # [W/m²] diffuse
    dni_extra: Array  # [W/m²] direct, outside the atmosphere
    temp_air: Array  # [°C]
    wind_speed: Array  # [m/s]

    @classmethod
    def of(cls, weather: Weather, up: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Light:
        """Return the instants of a sky at which the sun is ``up``."""
        zenith, azimuth = weather.sun()
        day = weather.times.day_of_year.to_numpy()[up]
        return cls(
            zenith=zenith[up],
            azimuth=azimuth[up],
            ghi=weather.ghi[up],
            dni=weather.dni[up],
            dhi=weather.dhi[up],
            dni_extra=np.asarray(pvlib.irradiance.get_extra_radiation(day)),
            temp_air=weather.temp_air[up],
            wind_speed=weather.wind_speed[up],
        )


def dc_power(truth: SystemTruth, light: Light, *, horizon: Horizon | None) -> Array:
    """Return DC power after system losses, all planes together [kW]."""
    hidden = (
        np.zeros(len(light.zenith), dtype=bool)
        if horizon is None
        else 90.0 - light.zenith < horizon(light.azimuth)
    )
    total = np.zeros(len(light.zenith))
    for tilt, azimuth, share in _orientations(truth, light):
        poa = effective_irradiance(tilt, azimuth, light=light, albedo=truth.albedo, hidden=hidden)
        heat = pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS["sapm"][SAPM_MOUNTS[truth.mount]]
        cell = pvlib.temperature.sapm_cell(poa, light.temp_air, light.wind_speed, **heat)
        pdc0 = share * truth.dc_capacity_kw
        total += pvlib.pvsystem.pvwatts_dc(poa, cell, pdc0, truth.losses.gamma_pdc)
    return np.maximum(total * (1.0 - truth.losses.system), 0.0)


def inverter_power(pdc: Array, truth: SystemTruth) -> Array:
    """Return AC power by PVWatts' inverter, with its part-load curve and its limit [kW]."""
    nominal = truth.losses.inverter_efficiency
    return np.asarray(pvlib.inverter.pvwatts(pdc, truth.ac_limit_kw / nominal, eta_inv_nom=nominal))


def effective_irradiance(
    surface_tilt: Array | float,
    surface_azimuth: Array | float,
    *,
    light: Light,
    albedo: Array | float,
    hidden: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> Array:
    """Return the light that enters the cells of a plane [W/m²]."""
    # Perez-Driesse; the light around the sun enters as the beam does, the rest of the sky and the
    # ground by Marion's integrals.
    projection = pvlib.irradiance.aoi_projection(
        surface_tilt, surface_azimuth, light.zenith, light.azimuth
    )
    sky = pvlib.irradiance.perez_driesse(
        surface_tilt,
        surface_azimuth,
        light.dhi,
        light.dni,
        light.dni_extra,
        light.zenith,
        light.azimuth,
        airmass=pvlib.atmosphere.get_relative_airmass(light.zenith),
        return_components=True,
    )
    beam = light.dni * np.maximum(projection, 0.0) + sky["poa_circumsolar"]
    beam = beam * pvlib.iam.physical(np.degrees(np.arccos(np.clip(projection, -1.0, 1.0))))
    ground = pvlib.irradiance.get_ground_diffuse(surface_tilt, light.ghi, albedo=albedo)
    enters = diffuse_modifiers(surface_tilt)
    diffuse = sky["poa_isotropic"] * enters["sky"] + sky["poa_horizon"] * enters["horizon"]
    dome = np.maximum(diffuse, 0.0) + ground * enters["ground"]
    return np.asarray(np.where(hidden, 0.0, beam) + dome)


def diffuse_modifiers(surface_tilt: Array | float) -> dict[str, Array]:
    """Return Marion's incidence modifiers of sky, horizon and ground."""
    tilts, table = _modifier_table()
    return {
        name: np.asarray(np.interp(surface_tilt, tilts, values)) for name, values in table.items()
    }


@lru_cache(maxsize=1)
def _modifier_table() -> tuple[Array, dict[str, Array]]:
    # each integral takes 20 ms: a table makes trackers, with a tilt per instant, affordable
    tilts = np.array([0.0, 1.0, 2.0, 3.5, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 75.0, 90.0])
    table = pvlib.iam.marion_diffuse("physical", tilts)
    return tilts, {name: np.nan_to_num(np.asarray(values)) for name, values in table.items()}


def _orientations(
    truth: SystemTruth, light: Light
) -> list[tuple[Array | float, Array | float, float]]:
    if truth.tracker is None:
        return [(p.surface_tilt, p.surface_azimuth, share) for p, share in truth.planes]
    return [(*tracker_angles(truth.tracker, light.zenith, light.azimuth), 1.0)]


def tracker_angles(tracker: Tracker, zenith: Array, azimuth: Array) -> tuple[Array, Array]:
    """Return tilt and azimuth of a tracker's modules at each instant [degrees]."""
    if tracker.dual_axis:
        return zenith, azimuth
    turned = pvlib.tracking.singleaxis(
        zenith,
        azimuth,
        axis_tilt=0.0,
        axis_azimuth=tracker.axis_azimuth,
        max_angle=tracker.max_angle,
        backtrack=tracker.backtrack,
        gcr=tracker.gcr,
    )
    # where the sun is behind the axis the tracker lies flat
    return np.nan_to_num(turned["surface_tilt"]), np.nan_to_num(turned["surface_azimuth"])


def _soiled(sky: SimulatedSky, rate: float) -> Array:
    dull = dull_days(sky.day, sky.clear_index, sky.true.ghi)
    return np.asarray(np.minimum(rate * days_since(dull), 0.5)[sky.day])


@checked
def simulate_fleet(
    n: int,
    *,
    seed: int,
    year: int = 2019,
    step_minutes: int = 60,
    noise: float = 0.02,
    loss_spread: float = 0.0,
    change: Callable[[SystemTruth], SystemTruth] | None = None,
    horizon: Horizon | None = None,
    sky_minutes: int = 5,
    satellite_minutes: int = 30,
    errors: SatelliteErrors | None = None,
) -> Iterator[tuple[SystemTruth, pd.Series, Weather]]:
    """Yield systems drawn like a real fleet, their readings, and a satellite's weather.

    Systems come site by site and share the sky of their site.

    Parameters
    ----------
    n
        How many systems.
    seed
        The same seed gives the same fleet, and a larger fleet holds the smaller one's systems
        under the same skies.
    year
        Calendar year, in UTC.
    step_minutes, noise, horizon
        As for :func:`~sunveil.simulate.system_power.simulate_power`.
    loss_spread
        As for :func:`~sunveil.simulate.fault_rates.draw_systems`.
    change
        Applied to each system before it makes power: a fault, a second plane, a tracker.
    sky_minutes
        Spacing of the true sky. [minutes]
    satellite_minutes, errors
        As for :func:`~sunveil.simulate.simulated_sky.simulate_sky`.

    Yields
    ------
    truth, power, satellite
        The system, its readings in kW labelled at interval start in UTC, and the weather that an
        inference is given. Systems of one site are given the same object.
    """
    systems = draw_systems(n, seed=seed, loss_spread=loss_spread)
    places = _places([truth.site for truth in systems])
    order = sorted(range(n), key=lambda i: places[systems[i].site])
    for site, members in groupby(order, key=lambda i: systems[i].site):
        sky = simulate_sky(
            site,
            year,
            seed=_seed(seed, 1, *_whole(site)),
            step_minutes=sky_minutes,
            satellite_minutes=satellite_minutes,
            errors=errors,
        )
        for i in members:
            truth = systems[i] if change is None else change(systems[i])
            power = simulate_power(
                truth,
                sky,
                seed=_seed(seed, 2, i),
                step_minutes=step_minutes,
                noise=noise,
                horizon=horizon,
            )
            yield truth, power, sky.satellite


def _places(sites: Sequence[Site]) -> dict[Site, int]:
    return {site: place for place, site in enumerate(dict.fromkeys(sites))}


def _whole(site: Site) -> tuple[int, int]:
    # a site's sky depends on where it is, not on when it was drawn
    return round((site.latitude + 90.0) * 1e4), round((site.longitude + 180.0) * 1e4)


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
