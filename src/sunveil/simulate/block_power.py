"""PV power of many simulated systems; outages."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pvlib
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import SAPM_MOUNTS, FaultRates
from sunveil.simulate.roster import (
    FIXED,
    MOUNTS,
    Index,
    SimulatedRoster,
    add_logger_faults,
    sectors_of,
)
from sunveil.simulate.simulated_sky import SolarCalendar
from sunveil.simulate.system_power import (
    Light,
    diffuse_modifiers,
    effective_irradiance,
    tracker_angles,
)
from sunveil.site import Array, Losses, normals
from sunveil.weather.weather_data import Weather

# Fine enough that straight lines between its entries are within 1e-6 of the incidence losses.
TABLE = 4096
Single = NDArray[np.float32]

# Sums and products of the compiled loops may be regrouped, within a rounding. NaN and infinity keep
# their meaning: a clock that skips an instant reads NaN there.
FAST_MATH = {"contract", "reassoc", "nsz", "arcp"}


@dataclass(frozen=True, slots=True, eq=False)
class CellDaylight:
    """A cell's sky as the compiled loops take it."""

    light: Light  # the daylight instants as pvlib takes them
    index: Index  # place of each daylight instant in the sky
    days: Index  # local day of each, from 0
    sectors: Index  # sector of the skyline below the sun
    whiteness: Single  # factor on the albedo, for snow on the ground
    instants: int  # number of instants of the sky, night included
    rays: Single  # sun vector, beam, dome, horizon, ground and air of each
    heat: Single  # [K m²/W] rise of each mount's cells

    @classmethod
    def of(cls, weather: Weather, *, whiteness: NDArray[np.float64] | None = None) -> CellDaylight:
        """Return the daylight of a sky."""
        up = weather.sun()[0] < 90.0
        light = Light.of(weather, up)
        dome, horizon = _dome_and_horizon(light)
        cosine = np.cos(np.radians(light.zenith))
        around = (light.dhi - dome) / np.maximum(cosine, np.cos(np.radians(85.0)))
        site = weather.site
        calendar = SolarCalendar.of(weather.times, latitude=site.latitude, longitude=site.longitude)
        days = calendar.index[up].astype(np.int32)
        white = np.ones(len(days)) if whiteness is None else whiteness[days]
        rays = [
            *normals(light.azimuth, light.zenith).T,
            light.dni + around,
            dome / 2.0,
            horizon,
            white * light.ghi / 2.0,
            light.temp_air - 25.0,
        ]
        heat = [_rise(light, SAPM_MOUNTS[mount]) for mount in MOUNTS]
        return cls(
            light=light,
            index=np.flatnonzero(up).astype(np.int32),
            days=days,
            sectors=sectors_of(light.azimuth),
            whiteness=_single(white),
            instants=len(up),
            rays=_single(rays),
            heat=_single(heat),
        )


def block_power(
    roster: SimulatedRoster,
    daylight: CellDaylight,
    *,
    clocks: tuple[Index, Index],
    per_reading: int,
    kept: Single | None = None,
    dc: Single | None = None,
) -> Single:
    """Return the mean AC power of systems in each interval, without noise [kW]."""
    dc = dc_power(roster, daylight) if dc is None else dc
    out = np.empty((len(roster), daylight.instants // per_reading), dtype=np.float32)
    nominal = Losses().inverter_efficiency
    limit = _single(roster.dc_capacity_kw / roster.dc_ac_ratio)
    fine = np.zeros(daylight.instants, dtype=np.float32)
    if kept is None:
        kept = np.ones((len(roster), int(daylight.days[-1]) + 1), dtype=np.float32)
    by = read_clocks(roster, out.shape[1])
    where = (daylight.index, daylight.days)
    meter(out, dc, fine, *where, kept, limit, nominal, *clocks, by, per_reading)
    return out


def dc_power(roster: SimulatedRoster, daylight: CellDaylight) -> Single:
    """Return the DC power of new and clean systems at each daylight instant. [kW]"""
    dc = np.zeros((len(roster), len(daylight.index)), dtype=np.float32)
    systems, planes, mounts = _planes(roster)
    tops = _single(np.where(roster.skyline > 0.0, np.sin(np.radians(roster.skyline)), -2.0))
    sky = (daylight.rays, daylight.heat, daylight.sectors)
    add_planes(dc, *sky, systems, planes, mounts, tops, _incidence())
    for row in np.flatnonzero(roster.tracker != FIXED).tolist():
        dc[row] += _tracker_power(daylight, roster, row)
    return dc


def read_clocks(roster: SimulatedRoster, readings: int) -> Index:
    """Return the clock of each system, the one after its step, and the reading of that step."""
    steps = np.where(np.isnan(roster.clock_step), readings, roster.clock_step * readings)
    return np.stack([roster.clock, roster.later_clock, steps], axis=1).astype(np.int32)


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
    first = np.flatnonzero(roster.tracker == FIXED)
    second = np.flatnonzero(roster.first_share < 1.0)
    rows = np.concatenate([first, second])
    azimuth = np.concatenate([roster.surface_azimuth[first], roster.second_azimuth[second]])
    tilt = np.concatenate([roster.surface_tilt[first], roster.second_tilt[second]])
    share = np.concatenate([roster.first_share[first], 1.0 - roster.first_share[second]])
    enters = diffuse_modifiers(tilt)
    cosine, sine = np.cos(np.radians(tilt)), np.sin(np.radians(tilt))
    planes = [
        *normals(azimuth, tilt).T,
        (1.0 + cosine) * enters["sky"],
        sine * enters["horizon"],
        (1.0 - cosine) * enters["ground"] * roster.albedo[rows],
        share * roster.dc_capacity_kw[rows] * (1.0 - roster.losses[rows]) / 1000.0,
        roster.gamma_pdc[rows],
    ]
    mounts = roster.mount[rows].astype(np.int32)
    return rows.astype(np.int32), np.ascontiguousarray(_single(planes).T), mounts


def _tracker_power(
    daylight: CellDaylight, roster: SimulatedRoster, row: int
) -> NDArray[np.float64]:
    """Return the DC power of a system that follows the sun. [kW]"""
    light, tracker, horizon = daylight.light, roster.tracker_of(row), roster.horizon(row)
    assert tracker is not None
    hidden = np.zeros(len(light.zenith), dtype=bool)
    if horizon is not None:
        hidden = 90.0 - light.zenith < horizon(light.azimuth)
    poa = effective_irradiance(
        *tracker_angles(tracker, light.zenith, light.azimuth),
        light=light,
        albedo=roster.albedo[row] * daylight.whiteness,
        hidden=hidden,
    )
    warmth = light.temp_air - 25.0 + poa * daylight.heat[roster.mount[row]]
    scale = roster.dc_capacity_kw[row] * (1.0 - roster.losses[row]) / 1000.0
    return np.asarray(scale * poa * (1.0 + roster.gamma_pdc[row] * warmth))


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
    sectors: Index,
    systems: Index,
    planes: Single,
    mounts: Index,
    tops: Single,
    table: Single,
) -> None:
    """Add the DC power of fixed planes to that of their systems."""
    east, north, up, direct = rays[0], rays[1], rays[2], rays[3]
    dome, horizon, ground, air = rays[4], rays[5], rays[6], rays[7]
    steps = np.float32(len(table) - 2)
    nothing, one = np.float32(0.0), np.float32(1.0)
    for p in range(len(systems)):
        row = dc[systems[p]]
        rise = heat[mounts[p]]
        x, y, z = planes[p, 0], planes[p, 1], planes[p, 2]
        sky, edge, earth = planes[p, 3], planes[p, 4], planes[p, 5]
        scale, gamma = planes[p, 6], planes[p, 7]
        top = tops[systems[p]]
        for k in range(dc.shape[1]):
            cosine = max(x * east[k] + y * north[k] + z * up[k], nothing)
            place = min(cosine, one) * steps
            below = np.int32(place)
            enters = table[below]
            enters += (place - np.float32(below)) * (table[below + 1] - enters)
            beam = nothing if up[k] < top[sectors[k]] else direct[k] * enters
            poa = beam + max(dome[k] * sky + horizon[k] * edge, nothing) + ground[k] * earth
            row[k] += scale * poa * (one + gamma * (air[k] + poa * rise[k]))


@numba.njit(cache=True, nogil=True, fastmath=FAST_MATH)
def ac_power(
    fine: Single,
    dc: Single,
    index: Index,
    days: Index,
    kept: Single,
    limit: float,
    nominal: float,
) -> None:
    """Fill in what PVWatts' inverter gives of one system's DC power at its daylight instants."""
    nothing = np.float32(0.0)
    ratio = np.float32(nominal / 0.9637)
    taken = np.float32(limit / nominal)
    square = np.float32(-0.0162) / taken
    idle = np.float32(-0.0059) * taken
    for k in range(len(index)):
        power = max(dc[k] * kept[days[k]], nothing)
        power = ratio * ((square * power + np.float32(0.9858)) * power + idle)
        fine[index[k]] = max(min(power, limit), nothing)


@numba.njit(cache=True, nogil=True, fastmath=FAST_MATH)
def meter(
    out: Single,
    dc: Single,
    fine: Single,
    index: Index,
    days: Index,
    kept: Single,
    limits: Single,
    nominal: float,
    sources: Index,
    before: Index,
    clocks: Index,
    per_reading: int,
) -> None:
    """Fill in what meters read behind PVWatts' inverters, without noise."""
    nothing, half, missing = np.float32(0.0), np.float32(0.5), np.float32(np.nan)
    for s in range(out.shape[0]):
        ac_power(fine, dc[s], index, days, kept[s], limits[s], nominal)
        for r in range(out.shape[1]):
            clock = clocks[s, 0] if r < clocks[s, 2] else clocks[s, 1]
            total = nothing
            for j in range(r * per_reading, (r + 1) * per_reading):
                one = sources[clock, j]
                other = max(one - before[clock], 0)
                total += half * (fine[one] + fine[other]) if one >= 0 else missing
            out[s, r] = total / np.float32(per_reading)


# How long each kind lasts, evenly spread in the logarithm. [hours]
HOURS, DAYS, WEEKS = (1.0, 12.0), (24.0, 168.0), (168.0, 1344.0)
DOWN_DAYS, DOWN_WEEKS = (24.0, 120.0), (168.0, 1008.0)
WATT = np.float32(1000.0)


def add_meter_faults(
    power: NDArray[np.float32],
    roster: SimulatedRoster,
    rates: FaultRates,
    *,
    interval_minutes: int,
    rng: np.random.Generator,
    alive: NDArray[np.float32] | None = None,
) -> None:
    """Turn exact power into what meters say, in place."""
    # Noise on each reading, rounded to whole watts; zero where a system is down; NaN where there is
    # no reading; and what the logger makes of these.
    both = [power] if alive is None else [power, alive]
    _blur(power, roster.noise, rng)
    per_hour = 60.0 / interval_minutes
    prone = rng.gamma(rates.uneven, 1.0 / rates.uneven, len(power))
    for rate, hours, value in (
        (rates.down_days, DOWN_DAYS, 0.0),
        (rates.down_weeks, DOWN_WEEKS, 0.0),
        (rates.hour_gaps, HOURS, np.nan),
        (rates.day_gaps, DAYS, np.nan),
        (rates.week_gaps, WEEKS, np.nan),
    ):
        _interrupt(both, rate * prone, hours, per_hour=per_hour, value=value, rng=rng)
    add_logger_faults(power, roster)
    cut_records(power, roster)


def cut_records(power: NDArray[np.float32], roster: SimulatedRoster) -> None:
    """Take out readings before each record begins and after it ends, in place."""
    readings = power.shape[1]
    for row in np.flatnonzero((roster.begin > 0.0) | (roster.end < 1.0)):
        power[row, : round(roster.begin[row] * readings)] = np.nan
        power[row, round(roster.end[row] * readings) :] = np.nan


def _blur(power: NDArray[np.float32], noise: Array, rng: np.random.Generator) -> None:
    draws = rng.standard_normal(power.shape, dtype=np.float32)
    draws *= noise.astype(np.float32)[:, None]
    draws += np.float32(1.0)
    power *= draws
    power *= WATT
    np.rint(power, out=power)
    power /= WATT
    np.maximum(power, np.float32(0.0), out=power)


def _interrupt(
    both: list[NDArray[np.float32]],
    rates: Array,
    hours: tuple[float, float],
    *,
    per_hour: float,
    value: float,
    rng: np.random.Generator,
) -> None:
    n, readings = both[0].shape
    rows = np.repeat(np.arange(n), rng.poisson(rates))
    starts = rng.integers(0, readings, len(rows))
    low, high = np.log(hours[0]), np.log(hours[1])
    lengths = np.exp(rng.uniform(low, high, len(rows))) * per_hour
    ends = starts + np.maximum(np.rint(lengths), 1.0).astype(np.int64)
    for row, start, end in zip(rows, starts, ends, strict=True):
        # a product, so that a gap stays a gap
        for each in both:
            each[row, start:end] *= np.float32(value)
