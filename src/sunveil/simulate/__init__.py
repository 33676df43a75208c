"""A seeded simulator of PV fleets, to measure an inference with.

What makes the power differs from what an inference is given and from the models it uses; the same
seed gives the same fleet.

- ``simulated_sky``: the true sky every 5 minutes (Ineichen, turbidity about the climatology, clouds
  by a Markov chain of days and two correlation times, Erbs-Driesse), and what a satellite sees of
  it every 30 minutes: smeared, misplaced, biased. Or any file of weather in place of both.
- ``fault_rates``: planes and capacities by the weights of two public lists (OEDI PVDAQ, Open
  Climate Fix) at 25 cities, and the rate of each fault: ``REAL_FLEET`` by default;
  ``PLAIN_FLEET`` has clocks, outages, obstacles and snow only, ``CLEAN_FLEET`` noise only.
- ``system_power``: PVWatts through pvlib for one system: Perez-Driesse, incidence losses on all
  light, Sandia's cell temperature, part-load curve and limit of the inverter.
- ``block_power``: the same for all systems of a cell in a compiled loop, to 1e-6 of the capacity.
- ``roster``: all systems of a cell with second planes, trackers, skylines, clocks, loggers, wear.
- ``household_loads``: loads, appliances, electric cars and batteries behind net meters.
- ``places``, ``write_fleet``: cells of 0.1 degrees about any sites, and the Parquet folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

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
    from sunveil.simulate.roster import clipped, daylight_saving_stamps, fast_clock, western_horizon
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
        "sunveil.simulate.system_power": ("Horizon", "simulate_fleet", "simulate_power"),
        "sunveil.simulate.write_fleet": ("write_fleet",),
    },
)
