"""What is switched on for a while: appliances, and the charging of electric cars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.households import BUSINESS, CHARGING, CarCharging, SimulatedHouseholds
from sunveil.site import Array

# Ovens, washers, dryers, heaters of water: evenly spread in the logarithm. [kW, minutes]
APPLIANCE_KW, APPLIANCE_MINUTES = (0.8, 4.0), (10.0, 90.0)
# Share of a home's load that is theirs.
APPLIANCE_SHARE = 0.15
# Cars are driven on most days.
DRIVEN = 0.7
MINUTES_A_DAY = 1440.0


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Times at which something runs, one entry for each.

    Parameters
    ----------
    row
        Whose household.
    day
        Local day, from 0.
    minute
        Minute of that day at which it begins; it may be of the day after.
    minutes
        How long it runs. [minutes]
    kw
        Its power. [kW]
    """

    row: NDArray[np.int64]
    day: NDArray[np.int64]
    minute: Array
    minutes: Array
    kw: Array


def draw_appliances(
    rng: np.random.Generator,
    households: SimulatedHouseholds,
    shapes: NDArray[np.float32],
    *,
    present: NDArray[np.bool_],
) -> Runs:
    """Return when appliances run: at hours that are busy in each home, on days it is lived in.

    Parameters
    ----------
    rng
        Source of randomness.
    households
        The households.
    shapes
        How much each uses at each half hour of a day, shape (systems, 48).
    present
        Whether each is at home on each day, shape (systems, days).
    """
    n, days = present.shape
    homes = households.kind != BUSINESS
    daily = APPLIANCE_SHARE * 24.0 * households.mean_kw / _mean_kwh()
    row = np.repeat(np.arange(n), rng.poisson(np.where(homes, daily, 0.0) * days))
    day = rng.integers(0, days, len(row))
    rising = np.cumsum(shapes, axis=1, dtype=np.float64)
    # one home's shares after another's, so that one search serves all
    ends = (np.arange(n)[:, None] + rising / rising[:, -1:]).ravel()
    half = np.searchsorted(ends, row + rng.random(len(row))) - shapes.shape[1] * row
    kw, minutes = (
        np.exp(rng.uniform(np.log(low), np.log(high), len(row)))
        for low, high in (APPLIANCE_KW, APPLIANCE_MINUTES)
    )
    kept = present[row, day]
    minute = 30.0 * (half + rng.random(len(row)))
    return Runs(row[kept], day[kept], minute[kept], minutes[kept], kw[kept])


def draw_charging(
    rng: np.random.Generator, households: SimulatedHouseholds, *, present: NDArray[np.bool_]
) -> Runs:
    """Return when cars are charged: a timer's night is the same each day, arrivals are not.

    Parameters
    ----------
    rng
        Source of randomness.
    households
        The households.
    present
        Whether each is at home on each day, shape (systems, days).
    """
    driven = (rng.random(present.shape) < DRIVEN) & present & (households.car >= 0)[:, None]
    row, day = np.nonzero(driven)
    timed = households.car[row] == CHARGING.index(CarCharging.NIGHT)
    late = np.where(timed, 0.0, 60.0 * rng.standard_normal(len(row)))
    energy = households.car_kwh[row] * np.exp(0.5 * rng.standard_normal(len(row)))
    kw = households.car_kw[row]
    minute = np.clip(60.0 * households.car_hour[row] + late, 0.0, MINUTES_A_DAY - 1.0)
    return Runs(row, day, minute, np.minimum(60.0 * energy / kw, 600.0), kw)


def _mean_kwh() -> float:
    """Return the mean energy of one run of an appliance. [kWh]"""
    means = [(high - low) / np.log(high / low) for low, high in (APPLIANCE_KW, APPLIANCE_MINUTES)]
    return float(means[0] * means[1] / 60.0)
