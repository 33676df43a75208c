"""The promise and the kinds of question, in plain words."""

from __future__ import annotations

import math

from sunveil.ledger.promise import Promise
from sunveil.privacy.units import Days, System

ABOUT = {
    "fleet-table": "How many systems face where, at which tilt, and how large they are; totals and"
    " quantiles: you choose which tables to buy, and ε goes to these alone.",
    "totals": "Total and mean capacity of the fleet, or of each public group.",
    "quantiles": "Below which capacity and which tilt a quarter, half, … of the systems lie.",
    "synthetic": "A table of systems that do not exist, but together are like the fleet.",
    "systems": "One row per system under a random name, each with its error.",
}

# What can be bought of a fleet, in the order that it is offered in.
TABLE_WORDS = {
    "counts": "Sector, tilt and capacity together, with all their sums",
    "planes": "Sector and tilt",
    "sectors": "Sectors alone",
    "tilts": "Tilts alone",
    "capacities": "Capacities alone",
    "mounts": "One plane, two planes or a tracker",
    "totals": "Total and mean capacity",
    "quantiles": "Quantiles of capacity and tilt",
}


def promise_sentences(promise: Promise) -> list[str]:
    """Return a promise as sentences for an analyst."""
    unit = promise.unit
    if isinstance(unit, System):
        whom = "Whatever one household’s meter has recorded, all of it"
    elif isinstance(unit, Days):
        days = "any one day" if unit.k == 1 else f"any {unit.k} days"
        whom = f"Whatever one household’s meter has recorded on {days}"
    else:
        readings = "any one reading" if unit.k == 1 else f"any {unit.k} readings"
        whom = f"Whatever one household’s meter has recorded in {readings}"
    factor = float(f"{math.exp(promise.epsilon):.3g}")
    said = [
        f"{whom}: it changes how likely anything published here is by a factor of at most"
        f" {factor:,.7g} (ε = {promise.epsilon:g}), all answers ever given taken together.",
        "Once that much is spent, nothing further is answered: the promise is never made larger.",
    ]
    if promise.delta:
        said.append(f"This may fail with a probability of at most {promise.delta:g}.")
    if promise.conditional:
        said.append(f"It holds on condition for: {', '.join(promise.conditional)}.")
    return said
