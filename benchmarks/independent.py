"""Simulated systems that do not share the inference's physics, with labels as real ones have.

The inference models Hay-Davies' sky, one temperature rule, PVWatts' module and inverter under
Ineichen's clear sky. Here a system stands under Solis (:mod:`benchmarks.independent_sky`) and gives
power by Perez' sky, Martin and Ruiz' glass, a spectral factor, Faiman's temperatures, a
single-diode module and a Sandia inverter of the CEC's lists, and with what befalls real ones:
skylines, dirt, snow, age, mismatch, wiring, clipping, gaps, a plane not quite as drawn, and a label
that is rounded. What is drawn comes from the ranges below. None was fitted to a system's label, but
they were settled in four rounds in which the errors of these systems were compared with those of
the real ones: the two are not quite independent.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pvlib
from scipy.interpolate import RegularGridInterpolator

from benchmarks.independent_sky import (
    PLACES,
    SKY_MINUTES,
    SMOGGY,
    IndependentSky,
    independent_sky,
)
from sunveil.simulate.fault_rates import SystemTruth, draw_systems
from sunveil.simulate.roster import draw_skylines, sectors_of
from sunveil.simulate.simulated_sky import days_since, dull_days
from sunveil.simulate.system_power import tracker_angles
from sunveil.site import Array, Mount, Plane, Site
from sunveil.weather import Weather

# Tilt and azimuth, fixed or at each daylight instant, and share. [degrees, degrees, 1]
Orientation = tuple[Array | float, Array | float, float]
Change = Callable[[SystemTruth], SystemTruth]
# The sun is up below this. [degrees]
HIGHEST_ZENITH = 89.5
# As many systems stand under each sky.
UNDER_ONE_SKY = 4
HOUR = 60 // SKY_MINUTES
# Share of systems with something on their horizon, and of those planned to face south: 24 of the
# 44 labels of the PV Validation Hub.
SHADED, DUE_SOUTH = 0.5, 0.55
# Plants of China's plains face south, a few degrees flatter than their latitude (PVOD, doi
# 10.11922/sciencedb.01094). [degrees]
PLANT_AZIMUTHS, PLANT_TILTS = 5.0, (-5.0, 4.0)
# As built against the drawings, one standard deviation, and a logger's clock. [degrees, minutes]
AZIMUTH_BUILT, TILT_BUILT, CLOCK = 1.0, 0.75, 1.0
# Labels: of the PV Validation Hub's, a third of azimuths are in steps of five degrees.
AZIMUTH_LABELS, TILT_LABELS = (1.0, 1.0, 5.0), 1.0
# Faiman's heat transfer: open racks (Faiman 2008, doi 10.1002/pip.813), and close to roofs.
RACK_U0, ROOF_U0, U1 = (23.0, 30.0), (15.0, 22.0), (4.0, 8.0)
# Martin and Ruiz 2001, doi 10.1016/S0927-0248(00)00408-6.
GLASS = (0.14, 0.20)
# Shares of power: PVWatts' ranges (Dobos 2014, NREL/TP-6A20-62641), and flash tests at the factory.
MISMATCH, WIRING, LIGHT_INDUCED = (0.005, 0.025), (0.005, 0.03), (0.005, 0.02)
FLASH = (0.01, 0.015)
# A year (Jordan et al. 2016, doi 10.1002/pip.2744) of a fleet half of which is younger than four,
# and a dry day (Kimber et al. 2006, doi 10.1109/WCPEC.2006.279690), which rain washes off.
DEGRADATION, AGE = (0.003, 0.009), (0.0, 8.0)
SOILING, SOILED_AT_MOST = (0.0001, 0.0015), 0.12
# Snow on cold dull days, how many days it lies, what it leaves of power, and what it sends back.
FREEZING, SNOW_LIES, UNDER_SNOW, SNOW_ALBEDO = -1.0, 4.0, 0.1, 0.6
# Of racks, how many are bifacial, and how much of the ground's light their backs make use of.
BIFACIAL, BEHIND = 0.4, 0.35
# How many records have a gap, and how much of a year it takes: half of the real ones have one.
GAPS, MISSING = 0.4, (0.02, 0.5)
ALBEDO, NOISE = (0.12, 0.28), 0.01
DC_AC = (0.95, 1.4)


@dataclass(frozen=True, slots=True, eq=False)
class IndependentSystem:
    """A simulated system, its readings, and the weather that an inference may be given.

    Parameters
    ----------
    name
        What it is called.
    plane, dc_capacity_kw
        Its label. [degrees, kW]
    power
        Mean AC power of each hour of a year, stamped at its start in UTC. [kW]
    satellite
        Weather from space, the same object for systems under one sky.
    truth
        What was planned: its planes or its tracker, without the label's rounding.
    """

    name: str
    plane: Plane
    dc_capacity_kw: float
    power: pd.Series
    satellite: Weather
    truth: SystemTruth


def independent_fleet(
    count: int, *, seed: int, change: Change | None = None
) -> Iterator[IndependentSystem]:
    """Yield systems, those of one place and one sky after each other.

    Parameters
    ----------
    count
        How many.
    seed
        The same seed gives the same systems.
    change
        Applied to each system before it makes power: a second plane, a tracker.
    """
    systems = draw_systems(count, seed=seed)
    skies = range(-(-count // UNDER_ONE_SKY))
    # place by place, so that what is made for one place can be used again
    for which in sorted(skies, key=lambda each: each % len(PLACES)):
        site = PLACES[which % len(PLACES)]
        sky = independent_sky(site, seed=_seed(seed, 1, which))
        first = which * UNDER_ONE_SKY
        for number in range(first, min(first + UNDER_ONE_SKY, count)):
            rng = np.random.default_rng(_seed(seed, 2, number))
            truth = replace(systems[number], site=site)
            plane = _plane(truth.plane, site, rng)
            truth = replace(truth, planes=((plane, 1.0),))
            yield _system(change(truth) if change else truth, sky, rng)


def _system(truth: SystemTruth, sky: IndependentSky, rng: np.random.Generator) -> IndependentSystem:
    size = truth.dc_capacity_kw
    return IndependentSystem(
        name=truth.system_id,
        plane=_label(truth.plane, rng),
        dc_capacity_kw=round(size, 1 if size < 100.0 else 0),
        power=_power(truth, _orientations(truth, sky, rng), sky, rng),
        satellite=sky.satellite,
        truth=truth,
    )


def _plane(drawn: Plane, site: Site, rng: np.random.Generator) -> Plane:
    """Return a plane that was drawn for a fleet, or one that was planned to face south."""
    if site in SMOGGY:
        tilt = site.latitude + rng.normal(*PLANT_TILTS)
        return Plane(180.0 + PLANT_AZIMUTHS * rng.standard_normal(), tilt)
    return replace(drawn, surface_azimuth=180.0) if rng.random() < DUE_SOUTH else drawn


def _orientations(
    truth: SystemTruth, sky: IndependentSky, rng: np.random.Generator
) -> list[Orientation]:
    """Return tilt, azimuth and share of each of a system's planes, as built."""
    if truth.tracker is not None:
        zenith, azimuth = sky.true.sun()
        up = zenith < HIGHEST_ZENITH
        return [(*tracker_angles(truth.tracker, zenith[up], azimuth[up]), 1.0)]
    built = [(_as_built(plane, rng), share) for plane, share in truth.planes]
    return [(each.surface_tilt, each.surface_azimuth, share) for each, share in built]


def _as_built(plane: Plane, rng: np.random.Generator) -> Plane:
    azimuth = plane.surface_azimuth + AZIMUTH_BUILT * rng.standard_normal()
    tilt = plane.surface_tilt + TILT_BUILT * rng.standard_normal()
    return Plane(azimuth, float(np.clip(tilt, 0.0, 90.0)))


def _label(plane: Plane, rng: np.random.Generator) -> Plane:
    step = float(rng.choice(AZIMUTH_LABELS))
    azimuth = step * round(plane.surface_azimuth / step)
    return Plane(azimuth, TILT_LABELS * round(plane.surface_tilt / TILT_LABELS))


def _power(
    truth: SystemTruth,
    built: Sequence[Orientation],
    sky: IndependentSky,
    rng: np.random.Generator,
) -> pd.Series:
    """Return the hourly readings of a system's meter [kW]."""
    weather = sky.true
    snow = _snow(sky, rng)
    lights = _irradiance(truth, built, sky, rng, snow=snow)
    faiman = rng.uniform(*(ROOF_U0 if truth.mount is Mount.ROOF else RACK_U0)), rng.uniform(*U1)
    module = _module(str(rng.choice(_modules().index)))
    per_kw = np.zeros(len(weather.times))
    for light, (_, _, share) in zip(lights, built, strict=True):
        cell = pvlib.temperature.faiman(light, weather.temp_air, weather.wind_speed, *faiman)
        per_kw += share * np.where(light > 0.0, module(np.column_stack([light, cell])), 0.0)
    pdc = per_kw * truth.dc_capacity_kw * _kept(sky, rng)
    pdc = pdc * np.where(snow[sky.calendar.index], UNDER_SNOW, 1.0)
    ac = _inverter(pdc, truth.dc_capacity_kw / rng.uniform(*DC_AC), rng)
    shift = rng.normal(0.0, CLOCK) / SKY_MINUTES
    places = np.arange(len(ac), dtype=float)
    mean = np.interp(places + shift, places, ac).reshape(-1, HOUR).mean(axis=1)
    mean *= 1.0 + NOISE * rng.standard_normal(len(mean))
    if rng.random() < GAPS:
        missing = int(rng.uniform(*MISSING) * len(mean))
        first = int(rng.integers(len(mean) - missing))
        mean[first : first + missing] = np.nan
    starts = weather.times[::HOUR] - pd.Timedelta(minutes=SKY_MINUTES) / 2
    return pd.Series(mean, index=pd.DatetimeIndex(starts, name="time"), name=truth.system_id)


def _irradiance(
    truth: SystemTruth,
    built: Sequence[Orientation],
    sky: IndependentSky,
    rng: np.random.Generator,
    *,
    snow: np.ndarray,
) -> list[Array]:
    """Return the light that the cells of each plane make power of [W/m²]."""
    weather, up = sky.true, sky.true.sun()[0] < HIGHEST_ZENITH
    zenith, azimuth = (each[up] for each in weather.sun())
    dni, dhi, ghi = weather.dni[up], weather.dhi[up], weather.ghi[up]
    extra = pvlib.irradiance.get_extra_radiation(weather.times.day_of_year.to_numpy()[up])
    mass = pvlib.atmosphere.get_relative_airmass(zenith)
    skyline = draw_skylines(rng, SHADED, 1)[0]
    glass = rng.uniform(*GLASS)
    shown = dni * (90.0 - zenith >= skyline[sectors_of(azimuth)])
    albedo = np.where(snow[sky.calendar.index[up]], SNOW_ALBEDO, rng.uniform(*ALBEDO))
    behind = 0.0
    if truth.mount is Mount.RACK and rng.random() < BIFACIAL:
        behind = BEHIND * albedo * ghi
    colour = pvlib.spectrum.spectral_factor_firstsolar(
        np.clip(sky.water[up], 0.1, 8.0), np.clip(mass, 0.58, 10.0), module_type="monosi"
    )
    lights = []
    for *plane, _ in built:
        dome = pvlib.irradiance.perez(*plane, dhi, dni, np.asarray(extra), zenith, azimuth, mass)
        incidence = pvlib.irradiance.aoi(*plane, zenith, azimuth)
        beam = shown * np.maximum(np.cos(np.radians(incidence)), 0.0)
        beam = beam * pvlib.iam.martin_ruiz(np.minimum(incidence, 89.9), a_r=glass)
        enters = pvlib.iam.martin_ruiz_diffuse(np.maximum(plane[0], 0.01), a_r=glass)
        ground = pvlib.irradiance.get_ground_diffuse(plane[0], ghi, albedo=albedo)
        front = beam + np.nan_to_num(dome) * enters["sky"] + ground * enters["ground"]
        lights.append(np.zeros(len(up)))
        lights[-1][up] = np.maximum((front + behind) * colour, 0.0)
    return lights


def _snow(sky: IndependentSky, rng: np.random.Generator) -> np.ndarray:
    """Return on which local days snow lies: it falls on cold dull days, and stays some days."""
    day = sky.calendar.index
    dull = dull_days(day, sky.clear_index, sky.true.ghi)
    cold = np.bincount(day, sky.true.temp_air) / np.bincount(day) < FREEZING
    lies = np.zeros(len(dull), dtype=bool)
    for one in np.flatnonzero(cold & dull & (rng.random(len(dull)) < 0.5)):
        lies[one : one + 1 + int(rng.exponential(SNOW_LIES))] = True
    return lies


def _kept(sky: IndependentSky, rng: np.random.Generator) -> Array:
    """Return the share of DC power that wear, wires and dirt leave at each instant."""
    day = sky.calendar.index
    fixed = np.prod([1.0 - rng.uniform(*each) for each in (MISMATCH, WIRING, LIGHT_INDUCED)])
    fixed *= 1.0 + rng.normal(*FLASH)
    yearly, age = rng.uniform(*DEGRADATION), rng.uniform(*AGE)
    worn = 1.0 - yearly * (age + np.linspace(0.0, 1.0, len(day)))
    dull = dull_days(day, sky.clear_index, sky.true.ghi)
    dirt = np.minimum(rng.uniform(*SOILING) * days_since(dull), SOILED_AT_MOST)
    return np.asarray(fixed * worn * (1.0 - dirt[day]))


@functools.cache
def _modules() -> pd.DataFrame:
    """Return the crystalline modules of the CEC's list that home and plant have had since 2010."""
    listed = pvlib.pvsystem.retrieve_sam("CECMod").T
    crystalline = listed["Technology"].isin(["Mono-c-Si", "Multi-c-Si"])
    usual = (listed["STC"].astype(float) > 150.0) & listed["gamma_r"].astype(float).between(
        -0.5, -0.3
    )
    return listed[crystalline & usual].iloc[::97]


@functools.cache
def _module(name: str) -> RegularGridInterpolator:
    """Return DC power per kW of nameplate against irradiance [W/m²] and cell temperature [°C]."""
    one = _modules().loc[name]
    light, cell = np.geomspace(1.0, 1600.0, 48), np.linspace(-40.0, 110.0, 16)
    mesh = [each.ravel() for each in np.meshgrid(light, cell, indexing="ij")]
    names = ("alpha_sc", "a_ref", "I_L_ref", "I_o_ref", "R_sh_ref", "R_s", "Adjust")
    point = pvlib.pvsystem.calcparams_cec(*mesh, *(float(one[each]) for each in names))
    power = np.asarray(pvlib.pvsystem.max_power_point(*point, method="newton")["p_mp"])
    table = np.vstack([np.zeros(len(cell)), power.reshape(len(light), -1) / float(one["STC"])])
    return RegularGridInterpolator(
        (np.append(0.0, light), cell), table, bounds_error=False, fill_value=None
    )


@functools.cache
def _inverters() -> pd.DataFrame:
    listed = pvlib.pvsystem.retrieve_sam("CECInverter").T
    return listed[listed["Paco"].astype(float) > 1000.0].iloc[::61]


def _inverter(pdc: Array, ac_limit: float, rng: np.random.Generator) -> Array:
    """Return AC power by one of the CEC's inverters, made as large as is needed [kW]."""
    one = _inverters().iloc[rng.integers(len(_inverters()))].copy()
    scale = float(one["Paco"]) / ac_limit
    volts = np.full(len(pdc), float(one["Vdco"]))
    return np.asarray(pvlib.inverter.sandia(volts, pdc * scale, one)) / scale


def _seed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])
