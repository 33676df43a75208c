"""Units: from a header to kW."""

from __future__ import annotations

import re

from sunveil.errors import MeterError, ask
from sunveil.meters.options import Unit

_WORDS = {
    "kwh": Unit.KWH,
    "wh": Unit.WH,
    "mwh": Unit.MWH,
    "kw": Unit.KW,
    "w": Unit.W,
    "mw": Unit.MW,
    "watt": Unit.W,
    "watts": Unit.W,
    "kilowatt": Unit.KW,
    "kilowatts": Unit.KW,
    "megawatt": Unit.MW,
    "megawatts": Unit.MW,
    "wattstunden": Unit.WH,
    "kilowattstunden": Unit.KWH,
}
# PVDAQ names its channels like inv2_ac_power__4213, and counts them in W.
_PVDAQ = re.compile(r"(^|_)ac_power(_|$)", re.IGNORECASE)
# Where generationKWh or PowerW should be cut, and kW should not.
_CAMEL = re.compile(r"(?<=[a-z])(?=[kKM]W[hH]?(?![A-Za-z]))|(?<=[a-jl-z])(?=Wh?(?![A-Za-z]))")
# Irradiance is not power, nor is a yield by the kWp, whatever letters they end in.
_PER = re.compile(
    r"/\s*m\^?[2²]|m\^?-2|m²|per m|irradiance|wh\s*/\s*kwp?\b|w\s*/\s*m\b", re.IGNORECASE
)
NAMED = ", ".join(unit.value for unit in Unit)


def unit_in_name(name: str) -> Unit | None:
    """Return the unit that a header says, or None.

    >>> unit_in_name("inv2_ac_power_w__1047")
    <Unit.W: 'W'>
    """
    if _PER.search(name):
        return None
    spaced = _CAMEL.sub(" ", name)
    found = {_WORDS[word] for word in re.split(r"[^a-z]+", spaced.lower()) if word in _WORDS}
    return found.pop() if len(found) == 1 else None


def find_unit(label: str) -> tuple[Unit | None, tuple[str, ...]]:
    """Return the unit that the header of a column says, None without any, and what was assumed."""
    if (named := unit_in_name(label)) is not None:
        return named, ()
    if _PVDAQ.search(label):
        return Unit.W, (f"The unit of {label} was taken to be W, as in PVDAQ.",)
    return None, ()


def missing_unit(where: str, column: str) -> MeterError:
    """Return the error for readings whose unit nobody says.

    Parameters
    ----------
    where
        The name of the source.
    column
        The name of the column of readings, empty where it has none.
    """
    named = f"column {column!r}" if column else "readings"
    return MeterError(
        f"{where} does not say the unit of its {named}: give {ask('power_unit')} as one of {NAMED}"
    )
