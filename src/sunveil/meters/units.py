"""Units: from a column's name to kW."""

from __future__ import annotations

import re

from sunveil.errors import MeterError
from sunveil.meters.options import Unit

_WORDS = {
    "kwh": Unit.KWH,
    "wh": Unit.WH,
    "kw": Unit.KW,
    "w": Unit.W,
    "watt": Unit.W,
    "watts": Unit.W,
    "kilowatt": Unit.KW,
    "kilowatts": Unit.KW,
}
# PVDAQ names its channels like inv2_ac_power__4213, and counts them in W.
_PVDAQ = re.compile(r"(^|_)ac_power(_|$)", re.IGNORECASE)

# Where generationKWh or PowerW should be cut, and kW should not.
_CAMEL = re.compile(r"(?<=[a-z])(?=[kK]W[hH]?(?![A-Za-z]))|(?<=[a-jl-z])(?=Wh?(?![A-Za-z]))")
# Irradiance is not power, whatever letters it ends in.
_PER_AREA = re.compile(r"/\s*m|m\^?-2|irradiance", re.IGNORECASE)


def unit_in_name(name: str) -> Unit | None:
    """Return the unit that a column's name says, or None.

    >>> unit_in_name("inv2_ac_power_w__1047")
    <Unit.W: 'W'>
    """
    if _PER_AREA.search(name):
        return None
    spaced = _CAMEL.sub(" ", name)
    found = {_WORDS[word] for word in re.split(r"[^a-z]+", spaced.lower()) if word in _WORDS}
    return found.pop() if len(found) == 1 else None


def find_unit(column: str, declared: Unit | None, *, where: str) -> tuple[Unit, tuple[str, ...]]:
    """Return the unit of a column and what was assumed to find it.

    Parameters
    ----------
    column
        The column's name.
    declared
        The unit that the curator states; None to take it from the name.
    where
        The name of the source, for messages.
    """
    if declared is not None:
        return declared, ()
    if (named := unit_in_name(column)) is not None:
        return named, ()
    if _PVDAQ.search(column):
        return Unit.W, (f"The unit of {column} was taken to be W, as in PVDAQ.",)
    raise MeterError(
        f"{where} does not say the unit of its column {column!r}: give --unit W, kW, Wh or kWh"
    )
