"""Which way of publishing is worth what in power: looked up in what was measured.

The numbers are those of ``python -m benchmarks.power``, on simulated fleets of homes: public.
"""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from sunveil.arguments import whole
from sunveil.checked import checked
from sunveil.errors import ParameterError

# Ways that protect whole records, and how each is asked for.
COMMANDS = {
    "tables for power": "publish fleet --tables planes,totals --largest 20",
    "tables for power, promise with δ": "publish fleet --tables planes,totals --largest 20, promise"
    " with δ",
    "usual tables": "publish fleet --largest 20",
    "usual tables, largest not said": "publish fleet",
    "synthetic, largest not said": "publish synthetic",
    "local releases, unmixed": "publish system --protect system",
}


@dataclass(frozen=True, slots=True)
class PowerWorth:
    """What power is off by that is made of one way of publishing, as a median over draws.

    Parameters
    ----------
    way
        Which way.
    systems, epsilon
        Of how many systems, at which ε.
    energy, evening, ramp
        Of yearly energy, of summer evenings, and of the steepest ramps. [%]
    """

    way: str
    systems: int
    epsilon: float
    energy: float
    evening: float
    ramp: float


@lru_cache(maxsize=1)
def power_worths() -> tuple[PowerWorth, ...]:
    """Return all that was measured."""
    text = files("sunveil.power").joinpath("guidance.json").read_text(encoding="utf-8")
    names = PowerWorth.__dataclass_fields__
    return tuple(PowerWorth(**{name: row[name] for name in names}) for row in json.loads(text))


@checked
def advise(systems: int, *, most_percent: float = 5.0) -> list[PowerWorth]:
    """Return, for every way that protects whole records, the least ε that is good enough.

    Parameters
    ----------
    systems
        How many systems a group has; the nearest size that was measured is looked up.
    most_percent
        What yearly energy may be off by. [%]

    Returns
    -------
    list
        The least ε first; ways that are never good enough are left out.
    """
    if systems < 1 or not most_percent > 0.0:
        raise ParameterError("a group has one system or more, and an error above 0%")
    whole("systems", systems, low=1, high=10**12)
    measured = [each for each in power_worths() if each.way in COMMANDS]
    sizes = {each.systems for each in measured}
    nearest = min(sizes, key=lambda size: abs(math.log(size / systems)))
    found: dict[str, PowerWorth] = {}
    for each in sorted(measured, key=lambda one: -one.epsilon):
        if each.systems == nearest and each.energy <= most_percent:
            found[each.way] = each
    return sorted(found.values(), key=lambda one: (one.epsilon, one.energy))


def expected_energy(way: str, systems: float, *, epsilon: float) -> float | None:
    """Return what yearly energy would be off by, as a median; None where that was not measured.

    Between measured ε, and between measured sizes, it is read off a line in logarithms.

    Parameters
    ----------
    way
        One of those that were measured.
    systems
        How many systems a group has. Groups smaller than any that was measured are worse than
        these, and nothing is said of them; larger ones, up to four times, count as the largest.
    epsilon
        At which ε.

    Returns
    -------
    float or None
        In percent.
    """
    sizes = sorted({each.systems for each in power_worths() if each.way == way})
    if not sizes or not sizes[0] <= systems <= 4 * sizes[-1]:
        return None
    above = min(bisect.bisect_left(sizes, systems), len(sizes) - 1)
    around = sizes[max(above - 1, 0) : above + 1]
    found = [_error_at(way, size, epsilon) for size in around]
    errors = [each for each in found if each is not None]
    return _between(around, errors, systems) if len(errors) == len(around) else None


def _error_at(way: str, size: int, epsilon: float) -> float | None:
    """Return the error of energy at a measured size; None beyond the measured ε. [%]"""
    measured = [each for each in power_worths() if (each.way, each.systems) == (way, size)]
    measured.sort(key=lambda each: each.epsilon)
    epsilons = [each.epsilon for each in measured]
    if not epsilons[0] <= epsilon <= epsilons[-1]:
        return None
    return _between(epsilons, [each.energy for each in measured], epsilon)


def _between(places: Sequence[float], errors: Sequence[float], place: float) -> float:
    """Return the error at a place on lines between others, all in logarithms."""
    found = np.interp(np.log(place), np.log(places), np.log(errors))
    return math.exp(float(found))
