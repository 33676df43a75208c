"""A simulated publication and its power, for examples in the documentation."""

from __future__ import annotations

import functools

import numpy as np

from sunveil.estimates.read_write import FleetRows
from sunveil.power.compute_power import fleet_power
from sunveil.power.power_result import FleetPower
from sunveil.publication.published_tables import Publication
from sunveil.publish.fleet_tables import TableChoices, fleet_tables
from sunveil.simulate.fault_rates import draw_systems
from sunveil.site import Site

PLACE = Site(39.74, -105.17)

# Homes have at most this much capacity: public, as a limit of connections is. [kW]
LARGEST_KW = 20.0


def example_homes(homes: int = 300, *, feeders: tuple[str, ...] = ()) -> FleetRows:
    """Return simulated homes as a utility would have inferred them: private in real life."""
    # some of those that are drawn are no homes
    drawn = draw_systems(homes + homes // 8 + 8, seed=1)
    chosen = [each for each in drawn if each.dc_capacity_kw <= LARGEST_KW][:homes]
    on = np.array([feeders[place % len(feeders)] for place in range(len(chosen)) if feeders])
    return FleetRows(
        tuple(each.system_id for each in chosen),
        np.array([each.plane.surface_azimuth for each in chosen]),
        np.array([each.plane.surface_tilt for each in chosen]),
        np.array([each.dc_capacity_kw for each in chosen]),
        keys={"feeder": on} if feeders else {},
    )


def example_tables(
    homes: int = 300, *, epsilon: float = 1.0, feeders: tuple[str, ...] = ()
) -> Publication:
    """Return the private tables of planes and totals of :func:`example_homes`."""
    # ε-DP for `System()`. No ledger is charged, since the homes are simulated.
    choices = TableChoices(
        epsilon=epsilon,
        tables=("planes", "totals"),
        largest_kw=LARGEST_KW,
        key="feeder" if feeders else None,
        keys=feeders or None,
    )
    return fleet_tables(example_homes(homes, feeders=feeders), choices)


@functools.lru_cache(maxsize=1)
def example_power() -> FleetPower:
    """Return the power of 300 homes near Denver on two days of June, from private tables."""
    return fleet_power(
        example_tables(), PLACE, start="2023-06-20T06:00", end="2023-06-22T06:00", draws=60
    )
