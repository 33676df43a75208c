"""A seeded simulator of PV fleets, to measure an inference with.

It is built to be honest rather than convenient: what makes the power differs from what an
inference is given and from the models an inference uses.

- **True sky** (:mod:`~sunveil.simulate.sky`), every 5 minutes: Ineichen clear sky under a
  turbidity of climatology x a site's factor (lognormal, 15%) x day-to-day AR(1) (12%, correlation
  0.8); days clear, partly cloudy or overcast by a Markov chain with seasons, 25 to 75% of a site's
  days clear; clouds passing with correlation times of 15 minutes and 2 hours; enhancement by cloud
  edges up to a clear-sky index of 1.2; beam and diffuse split by Erbs-Driesse relative to the clear
  sky, so that clear instants are Ineichen's own. Air temperature with latitude, height, season,
  hour and weather systems (AR(1), 4 K); wind lognormal.
- **Satellite's sky** (:mod:`~sunveil.simulate.satellite`), every 30 minutes: snapshots of clouds
  smeared over 30 to 60 minutes, misplaced by 12 minutes, 30% wrong in depth, the small ones lost;
  another turbidity (15% bias, 5% slow drift, 8% of each day); GHI and DNI biases (2% and 3%);
  temperature off by 1.5 K.
- **Systems** (:mod:`~sunveil.simulate.systems`): planes and capacities with the weights of two
  public lists (OEDI PVDAQ in the US, Open Climate Fix's in the UK), at 25 cities; second planes
  about ridges and corners, and trackers (:mod:`~sunveil.simulate.mounting`).
- **Power** (:mod:`~sunveil.simulate.power`): PVWatts through pvlib every 5 minutes, with
  Perez-Driesse transposition, incidence losses on every part of the light, Sandia's cell
  temperature, PVWatts' inverter with its part-load curve and limit; then averages over the meter's
  interval and 2% noise on each reading. Two-plane systems and trackers too.
- **Faults** (:mod:`~sunveil.simulate.faults`): clipping, horizons, clocks, short and
  broken records, for one system at a time; it has none that it is not given.
- **Real weather** (:mod:`~sunveil.simulate.filesky`): any file of weather in place of a simulated
  sky, typical years too.
- **Fleets on disk** (:mod:`~sunveil.simulate.writing`): thousands of systems in weather cells of
  0.1 degrees about any list of sites, as Parquet. The power of a cell's systems is one compiled
  loop (:mod:`~sunveil.simulate.blocks`) that gives what pvlib gives.
- **Net meters** (:mod:`~sunveil.simulate.net_meters`): a share of a fleet's meters may see only
  generation less load. Households (:mod:`~sunveil.simulate.households`) have loads with the shapes
  of real homes' and none of their values (:mod:`~sunveil.simulate.loads`), cooling and heating by
  the air and the sun (:mod:`~sunveil.simulate.comfort`), appliances and electric cars
  (:mod:`~sunveil.simulate.appliances`), and batteries.
- **As hard as real ones** (:mod:`~sunveil.simulate.fault_rates`): what befalls the systems of a
  fleet, each at a stated rate. ``REAL_FLEET``, which fleets have unless asked otherwise: skylines
  by azimuth (:mod:`~sunveil.simulate.skyline`); snow that slides and melts, dirt that rain washes
  off, age and dead strings (:mod:`~sunveil.simulate.wear`); turbidity and winters other than the
  maps', and smog (:mod:`~sunveil.simulate.haze`); sentinels, wrong signs and scales, stuck readings
  (:mod:`~sunveil.simulate.loggers`); wrong clocks, labels, and clocks that step
  (:mod:`~sunveil.simulate.stamps`); noise and outages (:mod:`~sunveil.simulate.outages`).
  ``PLAIN_FLEET`` has clocks, outages, obstacles and snow only, ``CLEAN_FLEET`` noise only. The
  truth says of each system which it has.

The same seed gives the same fleet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._lazy import lazy_names

if TYPE_CHECKING:
    from sunveil.simulate.fault_rates import (
        CITIES,
        CLEAN_FLEET,
        PLAIN_FLEET,
        REAL_FLEET,
        City,
        FaultRates,
        SystemTruth,
        Tracker,
        draw_systems,
        east_west,
        tracking,
    )
    from sunveil.simulate.household_loads import simulate_loads
    from sunveil.simulate.places import (
        FleetSpec,
        NetColumns,
        NetMix,
        Place,
        ReadingsLayout,
        read_places,
    )
    from sunveil.simulate.roster import (
        clipped,
        daylight_saving_stamps,
        fast_clock,
        western_horizon,
    )
    from sunveil.simulate.simulated_sky import SatelliteErrors, SimulatedSky, real_sky, simulate_sky
    from sunveil.simulate.system_power import Horizon, simulate_fleet, simulate_power
    from sunveil.simulate.write_fleet import write_fleet

__all__ = [
    "CITIES",
    "CLEAN_FLEET",
    "PLAIN_FLEET",
    "REAL_FLEET",
    "City",
    "FaultRates",
    "FleetSpec",
    "Horizon",
    "NetColumns",
    "NetMix",
    "Place",
    "ReadingsLayout",
    "SatelliteErrors",
    "SimulatedSky",
    "SystemTruth",
    "Tracker",
    "clipped",
    "daylight_saving_stamps",
    "draw_systems",
    "east_west",
    "fast_clock",
    "read_places",
    "real_sky",
    "simulate_fleet",
    "simulate_loads",
    "simulate_power",
    "simulate_sky",
    "tracking",
    "western_horizon",
    "write_fleet",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.simulate.fault_rates": (
            "CITIES",
            "CLEAN_FLEET",
            "City",
            "FaultRates",
            "PLAIN_FLEET",
            "REAL_FLEET",
            "SystemTruth",
            "Tracker",
            "draw_systems",
            "east_west",
            "tracking",
        ),
        "sunveil.simulate.household_loads": ("simulate_loads",),
        "sunveil.simulate.places": (
            "FleetSpec",
            "NetColumns",
            "NetMix",
            "Place",
            "ReadingsLayout",
            "read_places",
        ),
        "sunveil.simulate.roster": (
            "clipped",
            "daylight_saving_stamps",
            "fast_clock",
            "western_horizon",
        ),
        "sunveil.simulate.simulated_sky": (
            "SatelliteErrors",
            "SimulatedSky",
            "real_sky",
            "simulate_sky",
        ),
        "sunveil.simulate.system_power": (
            "Horizon",
            "simulate_fleet",
            "simulate_power",
        ),
        "sunveil.simulate.write_fleet": ("write_fleet",),
    },
)
