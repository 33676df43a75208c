"""Capacities that ask for another unit of the readings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.outcomes import BlockEstimates, flag_bits
from sunveil.estimate import Flag
from sunveil.meters.units import LARGEST, SMALLEST
from sunveil.site import Array

# Where nothing gives the unit or every reading is a whole number: a thousand times the size of a
# home, which may be a home in W. [kW]
HOMES = (1000.0, 30_000.0)
_UNITS = ("W", "kW", "MW")
Mask = NDArray[np.bool_]


def flag_units(found: BlockEstimates) -> None:
    """Flag the estimates of a block that have a capacity no system behind one meter has."""
    unlikely = has_unlikely_unit(found.dc_capacity_kw)
    found.flags[:] |= flag_bits(Flag.UNLIKELY_UNIT, (found.outcome == 0) & unlikely)


def has_unlikely_unit(capacity: Array) -> Mask:
    """Return which capacities no system behind one meter has. [kW]

    >>> has_unlikely_unit(np.array([0.006, 6439.0, 6.4]))
    array([ True, False, False])
    """
    return np.asarray((capacity < SMALLEST) | (capacity > LARGEST))


def note_on_unit(capacity: float, unit: str, *, unit_known: bool) -> str:
    """Return a note where another unit is likelier or as likely, empty where none is.

    >>> note_on_unit(6439.0, "kW", unit_known=True)
    ''
    >>> note_on_unit(6439.0, "kW", unit_known=False)
    'The capacity would be 6.44 kW if the readings were in W rather than kW.'
    """
    doubtful = HOMES[0] < capacity < HOMES[1] and not unit_known
    unlikely = bool(has_unlikely_unit(np.array(capacity)))
    return name_likelier_unit(capacity, unit) if doubtful or unlikely else ""


def name_likelier_unit(capacity: float, unit: str) -> str:
    """Return a note on the unit in which a capacity in kW would make sense.

    >>> name_likelier_unit(6439.0, "kW")
    'The capacity would be 6.44 kW if the readings were in W rather than kW.'
    >>> name_likelier_unit(0.006, "Wh")
    'The capacity would be 6 kW if the readings were in kWh rather than Wh.'
    """
    up = capacity < SMALLEST
    power = unit.removesuffix("h")
    place = _UNITS.index(power) + (1 if up else -1)
    if not 0 <= place < len(_UNITS):
        return f"The capacity makes no sense: check that the readings are in {unit}."
    other = _UNITS[place] + unit[len(power) :]
    likelier = capacity * (1000.0 if up else 0.001)
    return (
        f"The capacity would be {likelier:.3g} kW if the readings were in {other} rather than"
        f" {unit}."
    )
