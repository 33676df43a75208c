"""Options of reading meter data: columns, units, clocks and rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar

from sunveil.errors import ParameterError
from sunveil.meters.clock import parse_timezone
from sunveil.meters.record import Cleaning, Label

AUTO = "auto"


class Unit(StrEnum):
    """What one reading counts: mean power, or energy over its interval."""

    W = "W"
    KW = "kW"
    WH = "Wh"
    KWH = "kWh"

    @property
    def is_energy(self) -> bool:
        """Whether readings are energy, to be divided by the interval."""
        return self in (Unit.WH, Unit.KWH)

    @property
    def kilo(self) -> float:
        """How many kW (or kWh) one of this unit is."""
        return 1.0 if self in (Unit.KW, Unit.KWH) else 1e-3


class Duplicates(StrEnum):
    """What to do with several different readings for one time."""

    REFUSE = "refuse"
    MEAN = "mean"
    FIRST = "first"
    LAST = "last"


class UnitSwitch(StrEnum):
    """What to do with a record whose unit changes on the way."""

    REFUSE = "refuse"
    REPAIR = "repair"
    IGNORE = "ignore"


Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class MeterOptions:
    """How to read meter data; the defaults fit ``system_id, time, power_kw``.

    Parameters
    ----------
    time_column, power_column, system_column
        Names of the columns; found by their usual names when left out.
    time_format
        How the stamps are written, in strptime's letters (``"%d/%m/%Y %H:%M"``); found when left
        out.
    unit
        ``"W"``, ``"kW"``, ``"Wh"`` or ``"kWh"``; ``"auto"`` takes it from the column's name.
    timezone
        The clock of stamps without an offset: ``"UTC"``, ``"UTC-07:00"``, ``"Etc/GMT+7"``, or an
        IANA name such as ``"America/Denver"`` for stamps that follow daylight saving.
    label
        Which instant of its interval a stamp names: ``"start"``, ``"middle"`` or ``"end"``. With
        ``"auto"``, nobody knows: stamps of intervals below 30 minutes are taken as their middle,
        which halves the worst error, and those of longer ones as their start.
    duplicates
        What to do with different readings for one time: ``"refuse"``, ``"mean"``, ``"first"`` or
        ``"last"``.
    unit_switch
        What to do when the unit changes mid-file: ``"refuse"``, ``"repair"`` or ``"ignore"``.
    negate
        Turn the sign of every reading, for meters that count generation as negative.
    allow_net
        Read a net or consumption meter as if it were a generation meter.
    cleaning
        ``"record"``: all rules, which look at the record as a whole. ``"each"``: only what can be
        said of one reading alone, as private releases need it: readings below zero become zero,
        infinities and loggers' stand-ins are left out, and nothing is refused or dropped because
        of other readings. Duplicates are then told by their times alone.
    """

    time_column: str | None = None
    power_column: str | None = None
    system_column: str | None = None
    time_format: str | None = None
    unit: str = "auto"
    timezone: str | None = None
    label: Label | str = AUTO
    duplicates: Duplicates | str = Duplicates.REFUSE
    unit_switch: UnitSwitch | str = UnitSwitch.REFUSE
    negate: bool = False
    allow_net: bool = False
    cleaning: Cleaning | str = Cleaning.RECORD

    def __post_init__(self) -> None:
        if self.unit != AUTO:
            object.__setattr__(self, "unit", parse_unit(self.unit))
        kinds: tuple[tuple[str, type[StrEnum]], ...] = (
            ("duplicates", Duplicates),
            ("unit_switch", UnitSwitch),
            ("cleaning", Cleaning),
        )
        for name, kind in kinds:
            object.__setattr__(self, name, _choice(kind, name, getattr(self, name)))
        if self.label != AUTO:
            object.__setattr__(self, "label", _label(self.label))
        if self.timezone is not None:
            parse_timezone(self.timezone)

    def changed(self, changes: dict[str, Any]) -> MeterOptions:
        """Return these options with some of them changed."""
        return replace(self, **changes) if changes else self

    @property
    def known_unit(self) -> Unit | None:
        """The unit, unless it is to be found."""
        return None if self.unit == AUTO else Unit(self.unit)

    @property
    def known_label(self) -> Label | None:
        """The label, unless nobody knows it."""
        return None if self.label == AUTO else Label(self.label)


def parse_unit(text: str) -> Unit:
    """Return the unit that a text names, whatever its case."""
    for unit in Unit:
        if unit.value.lower() == str(text).strip().lower():
            return unit
    raise ParameterError(f"unit must be one of W, kW, Wh, kWh or auto, and {text!r} is not")


def _choice(kind: type[Choice], name: str, value: str) -> Choice:
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(member.value for member in kind)
        raise ParameterError(f"{name} must be one of {allowed}, and {value!r} is not") from None


def _label(value: str) -> Label:
    try:
        return Label(value)
    except ValueError:
        raise ParameterError(
            f"label must be one of auto, start, middle, end, and {value!r} is not"
        ) from None
