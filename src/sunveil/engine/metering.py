"""What makes a meter doubtful whatever its plane: a unit nobody would use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.outcomes import BlockEstimates, flag_bits
from sunveil.estimate import Flag
from sunveil.site import Array

# Nobody meters less than a single module, and no plant behind one meter is larger. [kW]
SMALLEST, LARGEST = 0.05, 500_000.0
# Where nobody said the unit: what is above the first and a thousand times one of these is likelier
# a home in W than a plant in kW. [kW]
UNSAID, HOMES = 1000.0, (0.5, 30.0)
_UNITS = ("W", "kW", "MW")
Mask = NDArray[np.bool_]


def flag_units(found: BlockEstimates, *, unit_known: Mask | bool) -> None:
    """Flag estimates whose capacity asks for another unit.

    Parameters
    ----------
    found
        Estimates of a block; flags are added.
    unit_known
        Whether somebody said the unit.
    """
    strange = has_unlikely_unit(found.dc_capacity_kw, unit_known=unit_known)
    found.flags[:] |= flag_bits(Flag.UNLIKELY_UNIT, (found.outcome == 0) & strange)


def has_unlikely_unit(capacity: Array, *, unit_known: Mask | bool) -> Mask:
    """Return which capacities make no sense in the unit that the readings were taken to be in. [kW]

    >>> has_unlikely_unit(np.array([0.006, 6439.0, 6.4]), unit_known=False)
    array([ True,  True, False])
    >>> has_unlikely_unit(np.array([0.006, 6439.0, 6.4]), unit_known=True)
    array([ True, False, False])
    """
    least, most = (1000.0 * each for each in HOMES)
    home = (capacity > max(UNSAID, least)) & (capacity < most)
    outside = (capacity < SMALLEST) | (capacity > LARGEST)
    return np.asarray(outside | (home & ~np.asarray(unit_known)))


def name_likelier_unit(capacity: float, unit: str) -> str:
    """Return a note on the unit in which an unlikely capacity would make sense.

    Parameters
    ----------
    capacity
        What was inferred. [kW]
    unit
        The unit that the readings were taken to be in.

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
