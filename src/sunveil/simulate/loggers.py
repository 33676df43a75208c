"""What loggers write that no system gave: sentinels, wrong signs, wrong scales, stuck readings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import FaultRates
from sunveil.simulate.spells import draw_spells
from sunveil.site import Array

if TYPE_CHECKING:
    from sunveil.simulate.roster import SimulatedRoster

SENTINELS = (-999.0, -9999.0)
# Watts for kilowatts and back, decimals slipped, and a phase or a transformer miscounted.
SCALES = (0.001, 1000.0, 0.1, 10.0, 0.5, 2.0)
NEGATIVE_DAYS, STUCK_DAYS, SCALE_DAYS = (3.0, 40.0), (0.5, 10.0), (28.0, 31.0)


def draw_logger_faults(rng: np.random.Generator, rates: FaultRates, n: int) -> dict[str, Any]:
    """Return what goes wrong with the loggers of systems, as fields of a roster.

    Parameters
    ----------
    rng
        Source of randomness.
    rates
        How many systems have which fault.
    n
        How many systems.
    """
    fields: dict[str, Any] = {}
    for name, share, days in (
        ("negative", rates.negative, NEGATIVE_DAYS),
        ("stuck", rates.stuck, STUCK_DAYS),
        ("scale", rates.wrong_scale, SCALE_DAYS),
    ):
        fields[f"{name}_begin"], fields[f"{name}_end"] = draw_spells(rng, share, n, days=days)
    factors = rng.choice(SCALES, n)
    fields["scale_factor"] = np.where(np.isnan(fields["scale_begin"]), 1.0, factors)
    fields["negative_depth"] = rng.uniform(0.02, 1.0, n)
    marks = rng.choice(SENTINELS, n)
    fields["sentinel"] = np.where(rng.random(n) < rates.sentinels, marks, np.nan)
    return fields


def add_logger_faults(power: NDArray[np.float32], roster: SimulatedRoster) -> None:
    """Turn what meters say into what loggers write, in place.

    Parameters
    ----------
    power
        What meters say, one row per system, NaN where there is no reading. [kW]
    roster
        The systems.
    """
    for row, spell in _spells(power, roster.negative_begin, roster.negative_end):
        spell *= np.float32(-roster.negative_depth[row])
    for _, spell in _spells(power, roster.stuck_begin, roster.stuck_end):
        # stuck by day: at night it would be a system that is down
        lit = np.flatnonzero(spell > 0.0)
        if len(lit):
            spell[lit[0] :] = spell[lit[0]]
    for row, spell in _spells(power, roster.scale_begin, roster.scale_end):
        spell *= np.float32(roster.scale_factor[row])
    for marked in np.flatnonzero(~np.isnan(roster.sentinel)):
        power[marked, np.isnan(power[marked])] = roster.sentinel[marked]


def _spells(
    power: NDArray[np.float32], begin: Array, end: Array
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the systems that have a spell, and a view of their readings in it."""
    readings = power.shape[1]
    for row in np.flatnonzero(~np.isnan(begin)):
        yield int(row), power[row, round(begin[row] * readings) : round(end[row] * readings)]
