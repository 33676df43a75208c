"""The errors to expect of a release at once: by a table of simulated fleets, or the window's law.

The table holds, for clear-sky and for measured weather, the errors of releases for one reading and
for one day of a year of hours, over systems at 25 cities, with each mechanism's distribution exact.
``python -m benchmarks.expected`` makes it. A longer record, shorter intervals or fewer protected
readings do to a score what a larger ε does: that is how other releases are looked up.
"""

from __future__ import annotations

import functools
import json
import math
from importlib.resources import files
from typing import Any

import numpy as np

from sunveil.privacy.score import Placement
from sunveil.privacy.units import Days, Readings, Unit
from sunveil.releases.answer import ExpectedErrors, Spread
from sunveil.releases.choices import Choices
from sunveil.releases.errors import window_laws
from sunveil.releases.worth import reach
from sunveil.site import Plane
from sunveil.timegrid import TimeGrid

YEAR, HOUR = 365.0, 3600.0
# What the window's errors are told for.
TYPICAL_PLANE, TYPICAL_KW = Plane(180.0, 25.0), 6.0
QUANTITIES = ("azimuth", "tilt", "capacity")


def typical_errors(
    time_grid: TimeGrid,
    choices: Choices,
    *,
    clear: bool,
    unit: Unit,
    epsilon: float,
    differenced: bool = False,
) -> ExpectedErrors:
    """Return the errors to expect of a release, without looking at any record.

    Parameters
    ----------
    time_grid
        The intervals of the record: how many days there are, and how long an interval is.
    choices
        The public choices, which decide the window's law.
    clear
        Whether candidates are modelled under a clear sky, or under measured weather.
    unit, epsilon
        Of the release.
    differenced
        Whether the record holds differences of a register.
    """
    epsilon /= reach(unit, differenced=differenced)
    if isinstance(unit, Readings | Days):
        return _from_table(time_grid, clear=clear, unit=unit, epsilon=epsilon)
    window = choices.window(epsilon)
    laws = window_laws(
        window.axes,
        window.probabilities(_typical_place(choices)),
        TYPICAL_PLANE,
        TYPICAL_KW,
        lowest_kw=choices.capacities.low,
    )
    return ExpectedErrors(
        azimuth=laws.azimuth.spread,
        tilt=laws.tilt.spread,
        capacity=laws.capacity.spread,
        basis=f"the window's exact law for a system of {TYPICAL_KW:g} kW at tilt 25°",
    )


def _typical_place(choices: Choices) -> Placement:
    azimuth, tilt, capacity = axes = choices.axes()
    far = math.log(TYPICAL_KW / choices.capacities.low) / capacity.step
    return Placement(
        (
            round(TYPICAL_PLANE.surface_azimuth / azimuth.step) % azimuth.size,
            min(round(TYPICAL_PLANE.surface_tilt / tilt.step), tilt.size - 1),
            min(max(round(far), 0), capacity.size - 1),
        ),
        axes,
    )


def _from_table(
    time_grid: TimeGrid, *, clear: bool, unit: Readings | Days, epsilon: float
) -> ExpectedErrors:
    weight = epsilon * time_grid.days / YEAR / unit.k
    if isinstance(unit, Readings):
        weight *= HOUR / time_grid.step
    kind = "clear" if clear else "measured"
    table = typical_table()
    rows = table[kind]["readings" if isinstance(unit, Readings) else "days"]
    places = np.log(table["epsilon"])
    where = math.log(weight)

    def look_up(quantity: str) -> Spread:
        mean, within = (np.interp(where, places, rows[quantity][p]) for p in ("mean", "within"))
        return Spread(float(mean), float(within))

    azimuth, tilt, capacity = map(look_up, QUANTITIES)
    return ExpectedErrors(azimuth, tilt, capacity, basis=table["basis"])


@functools.cache
def typical_table() -> dict[str, Any]:
    """Return the table of simulated fleets' errors."""
    text = files("sunveil.releases").joinpath("typical.json").read_text(encoding="utf-8")
    table: dict[str, Any] = json.loads(text)
    return table
