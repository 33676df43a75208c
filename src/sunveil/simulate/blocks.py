"""The power of many systems under one sky, at once.

What depends on the sky alone is done once for a cell, through pvlib: the sun's direction, the
three parts of Perez-Driesse's sky, and how warm a mount gets. What is left for each plane and
instant are a dozen multiplications and a look into a table of incidence losses, in a compiled
loop of single precision. :func:`~sunveil.simulate.simulate_power` does the same for one system
through pvlib alone, and is what this is tested against: readings agree within
``TOLERANCE`` of the DC capacity, but where the sun stands on the very edge of an obstacle.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pvlib
from numpy.typing import NDArray

from sunveil.simulate.power import (
    Light,
    diffuse_modifiers,
    effective_irradiance,
    tracker_angles,
)
from sunveil.simulate.roster import MOUNTS, TRACKERS, SimulatedRoster
from sunveil.simulate.stamps import Index
from sunveil.simulate.systems import SAPM_MOUNTS, Tracker
from sunveil.site import Losses, normals
from sunveil.weather.base import Weather

TOLERANCE = 1e-6
# Fine enough that straight lines between its entries are within 1e-6 of the incidence losses.
TABLE = 4096
Single = NDArray[np.float32]
# Sums and products of the compiled loops may be regrouped, within a rounding. NaN and infinity keep
# their meaning: a clock that skips an instant reads NaN there.
FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}


@dataclass(frozen=True, slots=True, eq=False)
class CellDaylight:
    """A cell's sky as the compiled loops take it.

    Parameters
    ----------
    light
        The daylight instants as pvlib takes them.
    lit
        Which instants of the sky these are.
    instants
        How many instants the sky has.
    rays
        Rows by daylight instant: the sun's direction (east, north, up), its horizontal direction
        (east, north), light from the sun and around it, from the dome, from the
        horizon, on the ground [W/m²], and the air's temperature less 25 °C.
    heat
        Rise of each mount's cells. [K m²/W]
    """

    light: Light
    lit: Index
    instants: int
    rays: Single
    heat: Single

    @classmethod
    def of(cls, weather: Weather) -> CellDaylight:
        """Return the daylight of a sky."""
        up = weather.sun()[0] < 90.0
        light = Light.of(weather, up)
        dome, horizon = _dome_and_horizon(light)
        cosine = np.cos(np.radians(light.zenith))
        around = (light.dhi - dome) / np.maximum(cosine, np.cos(np.radians(85.0)))
        level = normals(light.azimuth, np.full(len(light.azimuth), 90.0)).T
        rays = [
            *normals(light.azimuth, light.zenith).T,
            *level[:2],
            light.dni + around,
            dome / 2.0,
            horizon,
            light.ghi / 2.0,
            light.temp_air - 25.0,
        ]
        heat = [_rise(light, SAPM_MOUNTS[mount]) for mount in MOUNTS]
        lit = np.flatnonzero(up).astype(np.int32)
        return cls(light, lit, len(up), _single(rays), _single(heat))


def block_power(
    roster: SimulatedRoster, daylight: CellDaylight, *, sources: Index, per_reading: int
) -> Single:
    """Return the mean AC power of systems in each interval, without noise [kW].

    Parameters
    ----------
    roster
        The systems.
    daylight
        Their sky.
    sources
        For each clock, which instant of the sky stands at each instant of the stamps, or -1.
    per_reading
        Instants of the sky in an interval.

    Returns
    -------
    numpy.ndarray
        One row per system; NaN where its clock has no such time.
    """
    dc = np.zeros((len(roster), len(daylight.lit)), dtype=np.float32)
    systems, planes, mounts = _planes(roster)
    add_planes(dc, daylight.rays, daylight.heat, systems, planes, mounts, _incidence())
    for kind, tracker in enumerate(TRACKERS):
        rows = np.flatnonzero(roster.tracker == kind)
        if tracker is not None and len(rows):
            _add_tracker(dc, daylight, tracker, roster, rows)
    out = np.empty((len(roster), daylight.instants // per_reading), dtype=np.float32)
    nominal = Losses().inverter_efficiency
    limit = _single(roster.dc_capacity_kw / roster.dc_ac_ratio)
    fine = np.zeros(daylight.instants, dtype=np.float32)
    clocks = roster.clock.astype(np.int32)
    meter(out, dc, fine, daylight.lit, limit, nominal, sources, clocks, per_reading)
    return out


def _dome_and_horizon(light: Light) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the even part of the sky on flat ground, and the horizon's on a wall [W/m²]."""
    parts = pvlib.irradiance.perez_driesse(
        90.0,
        180.0,
        light.dhi,
        light.dni,
        light.dni_extra,
        light.zenith,
        light.azimuth,
        airmass=pvlib.atmosphere.get_relative_airmass(light.zenith),
        return_components=True,
    )
    # a wall sees half of the dome
    return 2.0 * parts["poa_isotropic"], np.asarray(parts["poa_horizon"])


def _rise(light: Light, mount: str) -> NDArray[np.float64]:
    heat = pvlib.temperature.TEMPERATURE_MODEL_PARAMETERS["sapm"][mount]
    return np.asarray(np.exp(heat["a"] + heat["b"] * light.wind_speed) + heat["deltaT"] / 1000.0)


def _planes(roster: SimulatedRoster) -> tuple[Index, Single, Index]:
    """Return each fixed plane's system, its numbers as the loop takes them, and its mount."""
    first = np.flatnonzero(roster.tracker == 0)
    second = np.flatnonzero(roster.first_share < 1.0)
    rows = np.concatenate([first, second])
    azimuth = np.concatenate([roster.surface_azimuth[first], roster.second_azimuth[second]])
    tilt = np.concatenate([roster.surface_tilt[first], roster.second_tilt[second]])
    share = np.concatenate([roster.first_share[first], 1.0 - roster.first_share[second]])
    enters = diffuse_modifiers(tilt)
    cosine, sine = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
    middle = np.radians(np.nan_to_num(roster.shade_azimuth[rows]))
    # nothing is lower than -2, so that nothing is hidden
    height = np.where(
        np.isnan(roster.shade_elevation[rows]),
        -2.0,
        np.sin(np.radians(roster.shade_elevation[rows])),
    )
    planes = [
        *normals(azimuth, tilt).T,
        (1.0 + cosine) * enters["sky"],
        sine * enters["horizon"],
        (1.0 - cosine) * enters["ground"] * roster.albedo[rows],
        share * roster.dc_capacity_kw[rows] * (1.0 - roster.losses[rows]) / 1000.0,
        roster.gamma_pdc[rows],
        np.sin(middle),
        np.cos(middle),
        np.cos(np.radians(np.nan_to_num(roster.shade_width[rows]) / 2.0)),
        height,
    ]
    mounts = roster.mount[rows].astype(np.int32)
    return rows.astype(np.int32), np.ascontiguousarray(_single(planes).T), mounts


def _add_tracker(
    dc: Single,
    daylight: CellDaylight,
    tracker: Tracker,
    roster: SimulatedRoster,
    rows: NDArray[np.int64],
) -> None:
    """Add the DC power of systems that follow the sun alike."""
    light = daylight.light
    tilt, azimuth = tracker_angles(tracker, light)
    seen = np.zeros(len(light.zenith), dtype=bool)

    def enters(albedo: float, hidden: NDArray[np.bool_]) -> NDArray[np.float64]:
        return effective_irradiance(tilt, azimuth, light=light, albedo=albedo, hidden=hidden)

    dome = enters(0.0, ~seen)
    beam, ground = enters(0.0, seen) - dome, enters(1.0, ~seen) - dome
    for row in rows:
        horizon = roster.horizon(row)
        shown = beam if horizon is None else beam * (90.0 - light.zenith >= horizon(light.azimuth))
        poa = shown + dome + roster.albedo[row] * ground
        warmth = light.temp_air - 25.0 + poa * daylight.heat[roster.mount[row]]
        scale = roster.dc_capacity_kw[row] * (1.0 - roster.losses[row]) / 1000.0
        dc[row] += scale * poa * (1.0 + roster.gamma_pdc[row] * warmth)


@functools.cache
def _incidence() -> Single:
    """Return cosine times incidence modifier, by the cosine in steps of 1 / TABLE."""
    cosine = np.linspace(0.0, 1.0, TABLE + 1)
    table = cosine * pvlib.iam.physical(np.degrees(np.arccos(cosine)))
    # one entry more, so that a cosine of just 1 finds its neighbour
    return _single(np.append(np.nan_to_num(table), table[-1]))


def _single(values: Any) -> Single:
    return np.ascontiguousarray(values, dtype=np.float32)


@numba.njit(cache=True, nogil=True, fastmath=FAST_MATH)
def add_planes(
    dc: Single,
    rays: Single,
    heat: Single,
    systems: Index,
    planes: Single,
    mounts: Index,
    table: Single,
) -> None:
    """Add the DC power of fixed planes to that of their systems.

    Parameters
    ----------
    dc
        DC power so far, shape (systems, daylight instants); added to in place. [kW]
    rays
        As in :class:`CellDaylight`, shape (10, daylight instants).
    heat
        Rise of each mount's cells, shape (mounts, daylight instants). [K m²/W]
    systems
        The system of each plane, shape (planes,).
    planes
        Twelve numbers for each plane, shape (planes, 12): its normal (east, north, up); the shares
        that it sees of sky, horizon and ground; its DC power per irradiance [kW m²/W] and that
        power's temperature coefficient [1/K]; the direction of its obstacle (east, north), the
        cosine of half the obstacle's width, and the sine of its height.
    mounts
        The mount of each plane, shape (planes,).
    table
        Cosine of incidence times its modifier, by the cosine in even steps; one entry more than
        steps plus one.
    """
    east, north, up, level_east, level_north = rays[0], rays[1], rays[2], rays[3], rays[4]
    direct, dome, horizon, ground, air = rays[5], rays[6], rays[7], rays[8], rays[9]
    steps = np.float32(len(table) - 2)
    nothing, one = np.float32(0.0), np.float32(1.0)
    for p in range(len(systems)):
        row = dc[systems[p]]
        rise = heat[mounts[p]]
        x, y, z = planes[p, 0], planes[p, 1], planes[p, 2]
        sky, edge, earth = planes[p, 3], planes[p, 4], planes[p, 5]
        scale, gamma = planes[p, 6], planes[p, 7]
        shade_east, shade_north = planes[p, 8], planes[p, 9]
        reach, height = planes[p, 10], planes[p, 11]
        for k in range(dc.shape[1]):
            cosine = max(x * east[k] + y * north[k] + z * up[k], nothing)
            place = min(cosine, one) * steps
            below = np.int32(place)
            enters = table[below]
            enters += (place - np.float32(below)) * (table[below + 1] - enters)
            behind = shade_east * level_east[k] + shade_north * level_north[k] >= reach
            beam = nothing if behind and up[k] < height else direct[k] * enters
            poa = beam + max(dome[k] * sky + horizon[k] * edge, nothing) + ground[k] * earth
            row[k] += scale * poa * (one + gamma * (air[k] + poa * rise[k]))


@numba.njit(cache=True, nogil=True, fastmath=FAST_MATH)
def meter(
    out: Single,
    dc: Single,
    fine: Single,
    lit: Index,
    limits: Single,
    nominal: float,
    sources: Index,
    clocks: Index,
    per_reading: int,
) -> None:
    """Fill in what meters read behind PVWatts' inverters, without noise.

    Parameters
    ----------
    out
        Mean AC power, shape (systems, readings); filled in place. [kW]
    dc
        DC power, shape (systems, daylight instants). [kW]
    fine
        Scratch of zeros for one system, shape (instants,).
    lit
        Which instants are daylight, shape (daylight instants,).
    limits
        Each inverter's AC limit, shape (systems,). [kW]
    nominal
        Nominal efficiency of the inverters.
    sources
        For each clock, which instant stands at each instant of its stamps, or -1, shape
        (clocks, instants).
    clocks
        The clock of each system, shape (systems,).
    per_reading
        Instants in one reading.
    """
    ratio = np.float32(nominal / 0.9637)
    nothing = np.float32(0.0)
    for s in range(out.shape[0]):
        limit = limits[s]
        taken = np.float32(limit / nominal)
        square = np.float32(-0.0162) / taken
        idle = np.float32(-0.0059) * taken
        for k in range(len(lit)):
            power = max(dc[s, k], nothing)
            power = ratio * ((square * power + np.float32(0.9858)) * power + idle)
            fine[lit[k]] = max(min(power, limit), nothing)
        source = sources[clocks[s]]
        for r in range(out.shape[1]):
            total = nothing
            for j in range(r * per_reading, (r + 1) * per_reading):
                total += fine[source[j]] if source[j] >= 0 else np.float32(np.nan)
            out[s, r] = total / np.float32(per_reading)
