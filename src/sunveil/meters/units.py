"""Units: how headers write them, and which one a header says."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError, ask
from sunveil.meters.options import Unit

# What units are made of, in small letters without accents. A prefix of one letter stands right
# before its watt; elsewhere a space, a dash, a dot or a cross may stand between. Case says nothing:
# mW is a megawatt too, since nobody meters PV in milliwatts.
KILO, MEGA = ("kilo", "quilo", "chilo"), ("mega",)
WATT = ("w", "watt", "watts", "vatio", "vatios")
HOUR = (
    *("h", "hs", "hr", "hrs", "hour", "hours"),
    *("std", "stunde", "stunden", "uur", "uren"),
    *("heure", "heures", "hora", "horas", "ora", "ore"),
)
PER = ("per", "pro", "je", "par", "por")
# Energy by the interval is what every reading of energy is.
INTERVAL = ("interval", "intervall", "intervalle", "intervalo", "intervallo")
# So many kW of these are the size of a plant.
SIZES = ("p", "peak", "spitze", "crete", "pico", "picco", "piek", "nominal", "rated", "installed")
# Apparent and reactive power, and multiples that are not read.
OTHERS = ("va", "kva", "mva", "var", "kvar", "mvar", "gw", "tw", "gigawatt", "gigawatts")
# Money and mass by the kWh.
PRICES = (
    *("€", "$", "£", "ct", "cts", "cent", "cents", "eur", "euro", "usd", "gbp", "chf", "aud"),
    *("g", "kg", "t", "lb", "lbs", "co2"),
)
# A lone W may be west: it is a watt behind these words or an underscore, in brackets and by itself.
BEFORE_W = (
    *("power", "leistung", "potencia", "potenza", "puissance", "vermogen", "moc", "p", "pac"),
    *("ac", "active", "output", "total", "generation", "production", "solar", "pv", "in", "net"),
    *("grid", "load", "export", "exported", "import", "imported", "consumption"),
)
# After these words a small k or m belongs to the unit: PowerkW.
BEFORE_KW = ("power", "energy", "generation", "production", "yield", "output", "total")
NAMED = ", ".join(unit.value for unit in Unit)
# Nobody meters less than a single module, and no plant behind one meter is larger. [kW]
SMALLEST, LARGEST = 0.05, 500_000.0
# Of the readings that are not zero, this share is below the usual peak; stand-ins may be above it.
_PEAK_SHARE = 0.95


def _any(words: tuple[str, ...]) -> str:
    return rf"(?:{'|'.join(re.escape(word) for word in words)})"


_JOINT = r"[\s\-_.*'·×]*"
_JOINTS = str.maketrans(dict.fromkeys("⋅•∙", "·") | dict.fromkeys("‐‑‒–—−", "-") | {"’": "'"})
_UNIT = re.compile(
    rf"(?<![a-z])(?:(?P<letter>[km])|(?P<kilo>{_any(KILO)}){_JOINT}|(?P<mega>{_any(MEGA)}){_JOINT})?"
    rf"{_any(WATT)}(?:{_JOINT}(?P<hour>{_any(HOUR)}))?(?![a-z])"
)
_OTHER = re.compile(
    rf"(?<![a-z])(?:{_any(OTHERS)}{_JOINT}{_any(HOUR)}?(?![a-z])|irradiance|m\^?2(?!\d))"
)
_SIZE_BEFORE = re.compile(r"(?<![a-z\d.,])(?:\d+|\d+[.,]\d+\s?)$")
_SIZE_AFTER = re.compile(rf"{_JOINT}{_any(SIZES)}(?![a-z])")
_BEHIND_W = re.compile(rf"_$|[(\[/]\s*$|(?<![a-z]){_any(BEFORE_W)}[\s_\-,:]+$")
_PER = re.compile(rf"[\s)\]]*(?:/|{_any(PER)}\b)\s*(?P<word>[a-z]*)")
# Prices, a prefix apart from its watt, "W m-2" and "kW (h)".
_ODD_BEFORE = re.compile(rf"(?<![a-z])(?:{_any(PRICES)}\s*/|{_any(PER)}\b|[kmgt][\s\-_.])\s*$")
_ODD_AFTER = re.compile(r"[\s*.·]*[a-z]{1,3}\s?\^?-\s?\d")
_HOUR_APART = re.compile(rf"\s*[(\[,;]\s*{_any(HOUR)}(?![a-z])")
# Where words are written together: generationKWh, PVkWh, PowerkW. Other words that end in k or m
# before a W stay whole: SolarparkWh may be either unit.
_SEAM = re.compile(
    r"(?<=[a-z])(?=[A-VX-Z])|(?<=[a-jln-z])(?=W)|(?<=[A-Z])(?=kWh?(?![A-Za-z]))"
    rf"|(?i:{'|'.join(f'(?<={word})' for word in BEFORE_KW)})(?=[km]W)"
)
# PVDAQ names its channels like inv2_ac_power__4213, and counts them in W.
_PVDAQ = re.compile(r"(^|_)ac_power(_|$)", re.IGNORECASE)


def unit_in_name(name: str) -> Unit | None:
    """Return the unit that a header says, None where it says none or may mean another.

    >>> unit_in_name("inv2_ac_power_w__1047")
    <Unit.W: 'W'>
    >>> unit_in_name("Usage (Real energy in kilowatt-hours)")
    <Unit.KWH: 'kWh'>
    """
    found = units_in(name)
    return found.pop() if len(found) == 1 else None


def units_in(*labels: str) -> set[Unit | None]:
    """Return the units that labels name; None stands for one that is not a reading's."""
    found: set[Unit | None] = set()
    for text in map(_plain, labels):
        if _OTHER.search(text):
            found.add(None)
        for each in _UNIT.finditer(text):
            before, after = text[: each.start()], text[each.end() :]
            alone = each[0] == text.strip()
            west = each[0] == "w" and not alone and not _BEHIND_W.search(before)
            if not (west or _SIZE_BEFORE.search(before) or _SIZE_AFTER.match(after)):
                found.add(_unit_of(each, before, after))
    return found


def is_unit(cell: str) -> bool:
    """Whether a cell holds a unit and nothing else."""
    return _UNIT.fullmatch(_plain(cell).strip(" ()[]")) is not None


def find_unit(label: str) -> tuple[Unit | None, tuple[str, ...]]:
    """Return the unit that the header of a column says, None without any, and what was assumed."""
    found = units_in(label)
    if not found and _PVDAQ.search(label):
        return Unit.W, (f"The unit of {label} was taken to be W, as in PVDAQ.",)
    return (found.pop() if len(found) == 1 else None), ()


def only_plausible_unit(values: NDArray[np.float64]) -> tuple[Unit | None, str]:
    """Return W or kW where readings of power are possible in one of them alone, and why.

    >>> only_plausible_unit(np.array([0.0, 3.2, 5.1]))[0]
    <Unit.KW: 'kW'>
    >>> only_plausible_unit(np.array([0.0, 3200.0, 5100.0]))[0] is None
    True
    """
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    if not len(sizes):
        return Unit.KW, "all readings are zero"
    peak = float(np.quantile(sizes, _PEAK_SHARE))
    if SMALLEST <= peak < 1000.0 * SMALLEST:
        return Unit.KW, "in W it would be less than a single module"
    if LARGEST < peak <= 1000.0 * LARGEST:
        return Unit.W, "in kW it would be larger than any plant behind one meter"
    return None, ""


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
        f"{where} does not clearly say the unit of its {named}:"
        f" give {ask('power_unit')} as one of {NAMED}"
    )


def _plain(label: str) -> str:
    """Return a label in small letters without accents, words that are written together parted."""
    text = unicodedata.normalize("NFKD", label).translate(_JOINTS)
    text = "".join(each for each in text if not unicodedata.combining(each))
    return _SEAM.sub(" ", text).lower()


def _unit_of(found: re.Match[str], before: str, after: str) -> Unit | None:
    """Return the unit that is written at a place of a label, None where it is no reading's."""
    prefix = "M" if found["mega"] or found["letter"] == "m" else "k"
    if not (found["mega"] or found["kilo"] or found["letter"]):
        prefix = ""
    energy = found["hour"] is not None
    odd = _ODD_BEFORE.search(before) or _ODD_AFTER.match(after)
    if odd or (not energy and _HOUR_APART.match(after)):
        return None
    if per := _PER.match(after):
        if not energy or per["word"] not in (*INTERVAL, *HOUR):
            return None
        energy = per["word"] in INTERVAL
    return Unit(f"{prefix}W{'h' * energy}")
