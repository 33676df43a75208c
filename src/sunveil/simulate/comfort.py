"""Cooling and heating of households, which follow the air and the sun."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.household_times import HALVES, KNOT_MINUTES, HouseholdTimes, Single
from sunveil.simulate.households import HEATED, LARGE_HOMES_MWH, SimulatedHouseholds
from sunveil.simulate.stamps import Index
from sunveil.simulate.systems import FleetStatistics
from sunveil.site import Array

# Where the air of a year is so far above 24 °C in the mean, two homes in three have air
# conditioning: sooner where homes use much. [K]
WARM, COOLED = 24.0, (0.25, 0.8)
# Those that cool and heat do it with half of their largest shares where the air is so far above
# 24 °C, or below 15 °C, in the mean. [K]
HOT, COOL, COLD = 0.8, 15.0, 6.0
# At most this much of a load is cooling and heating.
MOST_COMFORT = 0.8
# Where it is hardly ever too warm or too cold, machines are hardly used. [K]
LEAST_MEAN = 0.05
# Half hours of the day between which workers are out, and of the week from which it is weekend.
WORK_BEGINS, WORK_ENDS, WEEKEND = 17, 34, 5 * HALVES


@dataclass(frozen=True, slots=True, eq=False)
class Comfort:
    """Cooling and heating of households.

    Parameters
    ----------
    cooling, heating
        Power for each degree that it is too warm or too cold. [kW/K]
    most_kw
        Power of the machine. [kW]
    mean_kw
        What both come to in the mean of the year. [kW]
    """

    cooling: Array
    heating: Array
    most_kw: Array
    mean_kw: Array


def find_comfort(
    households: SimulatedHouseholds, times: HouseholdTimes, statistics: FleetStatistics
) -> Comfort:
    """Return how households cool and heat under their climate.

    Parameters
    ----------
    households
        The households.
    times
        Their year.
    statistics
        How much homes of the place use: where it is much, more of them heat with electricity.
    """
    warm = times.air + 1.5 * times.sun
    hot = float(np.mean(np.maximum(warm - WARM, 0.0)))
    cold = float(np.mean(np.maximum(COOL - times.air, 0.0)))
    small = int(statistics.median_mwh < LARGE_HOMES_MWH)
    cools = households.cools < -np.expm1(-hot / COOLED[small])
    heats = households.heats < HEATED[small]
    share = MOST_COMFORT / 2.0 * (0.4 + 0.6 * households.comfort)
    cooling = np.where(cools, share * hot / (hot + HOT), 0.0) * households.mean_kw
    heating = np.where(heats, share * cold / (cold + COLD), 0.0) * households.mean_kw
    excess = _mean_above(warm, households.cooling_above)
    deficit = _mean_above(-times.air, -households.heating_below)
    return Comfort(
        cooling=cooling / np.maximum(excess, LEAST_MEAN),
        heating=heating / np.maximum(deficit, LEAST_MEAN),
        most_kw=np.sqrt(households.mean_kw) * (1.5 + 2.0 * households.comfort),
        mean_kw=cooling + heating,
    )


def add_comfort(
    loads: Single,
    times: HouseholdTimes,
    households: SimulatedHouseholds,
    comfort: Comfort,
    *,
    used: Array,
) -> Array:
    """Add cooling and heating to loads, in place, and return the mean power of cooling. [kW]

    Parameters
    ----------
    loads
        One row per household. [kW]
    times
        Their year.
    households, comfort
        The households, and how they cool and heat.
    used
        What each day's use is multiplied by, shape (systems, days).
    """
    cooling = np.zeros(len(loads))
    half = times.slot % HALVES
    working = (times.slot < WEEKEND) & (half >= WORK_BEGINS) & (half < WORK_ENDS)
    knots = (working, times.day, KNOT_MINUTES // times.step_minutes)
    numbers = _comfort_numbers(households, comfort)
    run_machines(loads, cooling, knots, (times.air, times.sun), numbers, used.astype(np.float32))
    return np.asarray(cooling / loads.shape[1])


def _comfort_numbers(households: SimulatedHouseholds, comfort: Comfort) -> Single:
    columns = [
        comfort.cooling,
        households.cooling_above,
        households.sunny,
        comfort.heating,
        households.heating_below,
        households.setback,
        comfort.most_kw,
        households.cycles,
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _mean_above(values: Single | Array, levels: Array) -> Array:
    """Return how far values are above each level in the mean, 0 where they are below."""
    if not len(levels):
        return levels
    grid = np.linspace(levels.min(), levels.max() + 1e-6, 16)
    means = [np.mean(np.maximum(values - level, 0.0)) for level in grid]
    return np.asarray(np.interp(levels, grid, means))


@numba.njit(cache=True, nogil=True)
def run_machines(
    loads: Single,
    cooling: Array,
    times: tuple[NDArray[np.bool_], Index, int],
    weather: tuple[Single, Single],
    numbers: Single,
    used: Single,
) -> None:
    """Add cooling and heating to loads, in place.

    Machines that cycle run at full power at just as many instants as give the mean.

    Parameters
    ----------
    loads
        Shape (systems, instants). [kW]
    cooling
        Sum of the power of cooling so far, shape (systems,). [kW]
    times
        Of each half hour, whether people are at work and its day; and instants in a half hour.
    weather
        Air and sun as rooms see them, shape (instants,). [°C, kW/m²]
    numbers
        Eight for each system: gain and threshold of cooling, warmth of the sun, gain and threshold
        of heating, setback on workdays, most power, and whether it cycles.
    used
        What each day's use is multiplied by, shape (systems, days).
    """
    working, day, per_knot = times
    air, sun = weather
    nothing = np.float32(0.0)
    for s in range(loads.shape[0]):
        cool, above, sunny, heat, below, setback, most, cycles = numbers[s]
        if cool == 0.0 and heat == 0.0:
            continue
        owed = nothing
        for k in range(len(working)):
            off = setback if working[k] else nothing
            share = used[s, day[k]]
            for j in range(k * per_knot, (k + 1) * per_knot):
                colder = cool * max(air[j] + sunny * sun[j] - above - off, nothing)
                warmer = heat * max(below - off - air[j], nothing)
                power = min((colder + warmer) * share, most)
                if cycles > nothing:
                    owed += power
                    power = most if owed >= most else nothing
                    owed -= power
                loads[s, j] += power
                if colder > warmer:
                    cooling[s] += power
