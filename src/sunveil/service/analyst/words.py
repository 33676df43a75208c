"""The promise and the kinds of question, in plain words."""

from __future__ import annotations

import math
from typing import Any

from sunveil.ledger.promise import Promise
from sunveil.privacy.units import Days, System

ABOUT = {
    "fleet-table": "How many systems face which way, how steep they are and how large. You choose"
    " the tables, and the whole ε goes to these.",
    "totals": "Total and mean capacity of the fleet, or of each public group.",
    "quantiles": "The capacity and the tilt that a quarter, half or any other share of the systems"
    " stay below.",
    "synthetic": "A table of invented systems that, taken together, resemble the fleet.",
    "systems": "One row for each system under a random name, with the error to expect.",
}

# How pages call the fields of a question.
FIELD_WORDS = {
    "group_by": "Divided by",
    "tables": "Tables",
    "shares": "Shares of ε",
    "sectors": "Sectors of the compass",
    "clip_kw": "Largest capacity counted in totals",
    "largest_kw": "No system larger than",
    "percents": "Percentiles",
}

# Median errors of estimates from net meters of real homes beside neighbours' loads, as docs/net.md
# has them by `python -m benchmarks.net`, rounded up. [degrees, degrees, %]
NET_AZIMUTH, NET_TILT, NET_CAPACITY = 5, 2, 4

# What can be bought of a fleet, in the order that it is offered in.
TABLE_WORDS = {
    "counts": "Sector, tilt and capacity together, and the tables below it added up",
    "planes": "Sector and tilt",
    "sectors": "Sectors alone",
    "tilts": "Tilts alone",
    "capacities": "Capacities alone",
    "mounts": "What modules stand on: one plane, two planes or a tracker",
    "totals": "Total and mean capacity",
    "quantiles": "Quantiles of capacity and tilt",
}


def net_sentence(net: int, systems: int | None) -> str:
    """Return what net meters mean for answers, as a sentence; nothing where there are none.

    Parameters
    ----------
    net, systems
        How many systems are declared to have net meters, and how many there are: public.
    """
    if not net:
        return ""
    which = "All systems" if net == systems else f"{net:,} of the systems"
    meters = f"{which} have net meters, which read"
    if net == 1:
        meters = "One of the systems has a net meter, which reads"
    errors = f"{NET_AZIMUTH}° of azimuth, {NET_TILT}° of tilt and {NET_CAPACITY}% of capacity"
    return (
        f"{meters} generation less a household’s load. What is inferred from a net meter is one"
        f" plane, and errs more than from a meter of the generation: typically by {errors}, beside"
        " the noise of an answer. What households use is never told."
    )


def promise_sentences(promise: Promise) -> list[str]:
    """Return a promise as sentences for an analyst."""
    unit = promise.unit
    if isinstance(unit, System):
        whom = "Everything that one household’s meter has ever recorded"
    elif isinstance(unit, Days):
        days = "any one day" if unit.k == 1 else f"any {unit.k} days"
        whom = f"What one household’s meter has recorded on {days}"
    else:
        readings = "any one reading" if unit.k == 1 else f"any {unit.k} readings"
        whom = f"What one household’s meter has recorded in {readings}"
    factor = float(f"{math.exp(promise.epsilon):.3g}")
    changes = (
        f"{whom} changes the probability of anything that is published here by a factor of at most"
        f" {factor:,.7g} (ε = {promise.epsilon:g}), over all answers together."
    )
    if promise.delta:
        changes = (
            f"{whom} changes the probability of any set of answers, all answers together, to at"
            f" most {factor:,.7g} times (ε = {promise.epsilon:g}) what it would be otherwise, plus"
            f" {promise.delta:g}."
        )
    said = [
        changes,
        "Once this much is spent, no further question is answered: the promise is never raised.",
    ]
    if promise.conditional:
        said.append(
            "For these methods it depends on an assumption about the data:"
            f" {', '.join(promise.conditional)}."
        )
    return said


def cut_sentences(tables: list[dict[str, Any]]) -> list[str]:
    """Return what holding capacities at a limit leaves out of totals, as sentences.

    Parameters
    ----------
    tables
        The tables of a release, as it holds them: published.
    """
    totals = next((table for table in tables if table["name"] == "totals"), None)
    if totals is None or not totals["rows"]:
        return []
    names = [column[0] for column in totals["columns"]]
    sums = {
        name: sum(row[names.index(name)] or 0.0 for row in totals["rows"])
        for name in ("cut_kw", "cut_at_most_kw")
        if name in names
    }
    held = f"{totals['rows'][0][names.index('held_at_kw')]:g} kW"
    said = f"In totals, each system counts with at most {held}; what it has above is left out."
    if "cut_kw" in sums:
        missing = f"about {sums['cut_kw']:,.0f} kW in all"
        return [
            said,
            f"In public mixes of systems this makes totals too low by {missing} on average; the"
            " stated errors include it.",
        ]
    if "cut_at_most_kw" in sums:
        most = f"{sums['cut_at_most_kw']:,.0f} kW"
        return [said, f"By the drawn classes of capacity this is at most {most} in all."]
    return [said, "How much that is, is not known: this limit was given, and not chosen."]
