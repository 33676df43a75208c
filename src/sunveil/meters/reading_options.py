"""MeterOptions: how meters are read."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo
from enum import StrEnum
from typing import Any, Self
from zoneinfo import ZoneInfo

import numpy as np

from sunveil._options import (
    check_fields,
    checked,
    flag,
    number,
    one_of,
    refuse_unit,
    shown,
    text,
    whole,
)
from sunveil.errors import ParameterError
from sunveil.meters.record import Cleaning, Label

_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)


AUTO = "auto"


# Between the names of columns that are added up.
ADDED = " + "


ADDED_FIELDS = ("power_column", "import_column", "export_column")


COLUMN_FIELDS = (
    "time_column",
    "power_column",
    "system_column",
    "import_column",
    "export_column",
    "date_column",
)


class Unit(StrEnum):
    """What one reading counts: mean power, or energy over its interval."""

    W = "W"
    KW = "kW"
    MW = "MW"
    WH = "Wh"
    KWH = "kWh"
    MWH = "MWh"

    @property
    def is_energy(self) -> bool:
        """Whether readings are energy, to be divided by the interval."""
        return self.value.endswith("h")

    @property
    def kilo(self) -> float:
        """How many kW (or kWh) one of this unit is."""
        return {"W": 1e-3, "k": 1.0, "M": 1e3}[self.value[0]]


class Duplicates(StrEnum):
    """What to do with several different readings for one time."""

    REFUSE = "refuse"
    MEAN = "mean"
    FIRST = "first"
    LAST = "last"


class Register(StrEnum):
    """Whether readings are counts of a register, of which the differences are energy.

    ``no``: each reading is of its own interval. ``cumulative``: it counts without end. ``daily``:
    it starts again at zero every day.
    """

    NO = "no"
    CUMULATIVE = "cumulative"
    DAILY = "daily"


class UnitSwitch(StrEnum):
    """What to do with a record whose unit changes on the way."""

    REFUSE = "refuse"
    REPAIR = "repair"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class MeterOptions:
    """How to read meter data; the defaults fit ``system_id, time, power_kw``.

    What is left out is found: for inference from the whole content of a file, for private releases
    (``cleaning="each"``) from its header, its format's own definition and its stamps alone.

    Parameters
    ----------
    time_column, power_column, system_column
        Names of the columns, or their places counted from 1; found by their usual names when left
        out. Several columns of readings are added up: a list, or ``"Export T1 + Export T2"``.
    import_column, export_column
        For a net meter that counts both ways apart: the columns of what was taken from the grid and
        of what was given to it; several of either are added up, and those of tariffs by themselves.
        Naming either says that it is a net meter; naming the second alone, that it counts nothing
        else.
    date_column
        The column of dates, where ``time_column`` holds the time of day alone.
    skip_rows
        How many lines stand above the header; found when left out.
    separator
        What stands between cells; found in the header when left out.
    decimal
        The decimal mark, ``"."`` or ``","``. With ``"auto"``, each system's own cells tell it; for
        releases it is then the point, and a table whose separator leaves it open is refused.
    time_format
        How the stamps are written, in strptime's letters (``"%d/%m/%Y %H:%M"``); found when left
        out.
    power_unit
        ``"W"``, ``"kW"``, ``"MW"``, ``"Wh"``, ``"kWh"`` or ``"MWh"``; ``"auto"`` takes it from the
        header.
    register
        ``"cumulative"`` or ``"daily"`` for readings that count up, of which the differences are
        taken; ``"no"`` for none. With ``"auto"``, a record that counts up is taken for what it is,
        with a note; for releases it then is none.
    interval_minutes, first, last
        Length of the intervals, and the first and last stamps (on the clock of the stamps, ISO
        8601), where they are declared; told by the stamps when left out.
    timezone
        The clock of stamps without an offset: ``"UTC"``, ``"UTC-07:00"``, ``"Etc/GMT+7"``, or an
        IANA name such as ``"America/Denver"`` for stamps that follow daylight saving; or a zone of
        zoneinfo or pytz, which is kept by its name.
    label
        Which instant of its interval a stamp names: ``"start"``, ``"middle"`` or ``"end"``, or
        ``"left"`` and ``"right"`` for start and end, as pandas says. With
        ``"auto"``, nobody knows: stamps of intervals below 30 minutes are taken as their middle,
        which halves the worst error, and those of longer ones as their start.
    duplicates
        What to do with different readings for one time: ``"refuse"``, ``"mean"``, ``"first"`` or
        ``"last"``.
    unit_switch
        What to do when the unit changes mid-file: ``"refuse"``, ``"repair"`` or ``"ignore"``.
    negate
        Turn the sign of every reading, for meters that count generation as negative.
    net
        Whether the readings are generation less a household's load, as of a meter at the grid: in
        one column, above zero where there is more generation, or in two, of what was taken from the
        grid and what was given to it. Without it, inference takes for a net meter what looks like
        one; releases take what two columns or the format say, and never look at readings.
    cleaning
        ``"record"``: all rules, which look at the record as a whole. ``"each"``: only what can be
        said of one reading alone, as private releases need it: readings below zero become zero,
        infinities and loggers' stand-ins are left out, and nothing is refused or dropped because
        of other readings. Duplicates are then told by their times alone.
    """

    time_column: str | None = None
    power_column: str | None = None
    system_column: str | None = None
    import_column: str | None = None
    export_column: str | None = None
    date_column: str | None = None
    skip_rows: int | None = None
    separator: str | None = None
    decimal: str = AUTO
    time_format: str | None = None
    power_unit: str = AUTO
    register: Register | str = AUTO
    interval_minutes: float | None = None
    first: str | None = None
    last: str | None = None
    timezone: str | None = None
    label: Label | str = AUTO
    duplicates: Duplicates | str = Duplicates.REFUSE
    unit_switch: UnitSwitch | str = UnitSwitch.REFUSE
    negate: bool = False
    net: bool = False
    cleaning: Cleaning | str = Cleaning.RECORD

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse ``unit``, which has another name now."""
        refuse_unit(given)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        if self.timezone is not None:
            given: Any = self.timezone
            _, name = parse_timezone(given)
            # a zone of zoneinfo or pytz is kept by its name, a text as it was written
            object.__setattr__(self, "timezone", given if isinstance(given, str) else name)
        for name in ADDED_FIELDS:
            given = getattr(self, name)
            if isinstance(given, list | tuple):
                whole_names = [text(name, each, give="columns' names") for each in given]
                object.__setattr__(self, name, ADDED.join(whole_names) or None)
        self._check_types()
        if self.power_unit != AUTO:
            object.__setattr__(self, "power_unit", parse_unit(self.power_unit))
        kinds: tuple[tuple[str, type[StrEnum]], ...] = (
            ("duplicates", Duplicates),
            ("unit_switch", UnitSwitch),
            ("cleaning", Cleaning),
        )
        for name, kind in kinds:
            object.__setattr__(self, name, one_of(kind, name, getattr(self, name)))
        if self.label != AUTO:
            object.__setattr__(self, "label", one_of(Label, "label", self.label, AUTO))
        if self.register != AUTO:
            object.__setattr__(self, "register", one_of(Register, "register", self.register, AUTO))
        if self.import_column is not None or self.export_column is not None:
            object.__setattr__(self, "net", True)
        self._check_shape()
        check_fields(self)

    def _check_shape(self) -> None:
        if self.export_column is not None and self.power_column is not None:
            raise ParameterError("power_column and export_column name the same thing: give one")
        if not isinstance(self.decimal, str) or self.decimal not in (AUTO, ".", ","):
            raise ParameterError("decimal must be one of auto, a point or a comma")
        if self.separator is not None and len(self.separator) != 1:
            raise ParameterError("separator must be one character, such as ; or a tab")
        if self.skip_rows is not None:
            whole("skip_rows", self.skip_rows, low=0, high=1000)
        if self.interval_minutes is not None:
            number("interval_minutes", self.interval_minutes, low=1, high=60, unit="minutes")
        ends = [parse_instant(name, getattr(self, name)) for name in ("first", "last")]
        if None not in ends and ends[0] > ends[1]:  # type: ignore[operator]
            raise ParameterError("first must not be after last")

    def _check_types(self) -> None:
        columns = dict.fromkeys(COLUMN_FIELDS, "a column's name or its place from 1")
        others = {"time_format": "as strptime writes it", "separator": "one character"}
        for name, give in (columns | others).items():
            if getattr(self, name) is not None:
                text(name, getattr(self, name), give=give)
        known = ", ".join(unit.value for unit in Unit)
        text("power_unit", self.power_unit, give=f"one of {known} or auto")
        text("label", self.label, give="one of start, middle, end or auto")
        text("register", self.register, give="one of no, cumulative, daily or auto")
        for name in ("negate", "net"):
            flag(name, getattr(self, name))

    @checked
    def changed(self, changes: dict[str, Any]) -> MeterOptions:
        """Return these options with some of them changed."""
        refuse_unit(changes)
        unknown = [name for name in changes if name not in MeterOptions.__dataclass_fields__]
        if unknown:
            raise ParameterError(
                f"there is no option {unknown[0]!r} of reading meters; see sunveil.meters."
                "MeterOptions for those there are"
            )
        return replace(self, **changes) if changes else self

    @property
    def known_unit(self) -> Unit | None:
        """The unit, unless it is to be found."""
        return None if self.power_unit == AUTO else Unit(self.power_unit)

    @property
    def declared_only(self) -> bool:
        """Whether readings may not be looked at to find out how they are written."""
        return self.cleaning is Cleaning.EACH

    @property
    def known_label(self) -> Label | None:
        """The label, unless nobody knows it."""
        return None if self.label == AUTO else Label(self.label)


def parse_unit(given: str) -> Unit:
    """Return the unit that a text names, whatever its case."""
    for unit in Unit:
        if unit.value.lower() == str(given).strip().lower():
            return unit
    known = ", ".join(unit.value for unit in Unit)
    raise ParameterError(f"power_unit must be one of {known} or auto, and {shown(given)} is not")


def parse_instant(name: str, given: str | None) -> np.datetime64 | None:
    """Return an instant that a parameter of some name gives, None where it is left out."""
    if given is None:
        return None
    try:
        found = np.datetime64(str(given), "us")
        if not np.isnat(found):
            return found
    except ValueError:
        pass
    raise ParameterError(f"{name} must be a time such as 2024-01-01T00:00")


def parse_timezone(given: str | tzinfo) -> tuple[tzinfo, str]:
    """Return the zone that a text or a zone of zoneinfo or pytz names, and its canonical name."""
    if isinstance(given, tzinfo):
        given = zone_name(given)
    name = text(
        "timezone", given, give="UTC, an offset such as UTC-07:00 or a name such as America/Denver"
    ).strip()
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC, "UTC"
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        offset = (1 if sign == "+" else -1) * (60 * int(hours) + int(minutes or 0))
        if abs(offset) > 14 * 60 or int(minutes or 0) > 59:
            raise ParameterError(f"timezone {name!r} is further from UTC than any clock on Earth")
        return timezone(timedelta(minutes=offset)), name_offset(offset)
    try:
        return ZoneInfo(name), name
    except (KeyError, ValueError, OSError):
        raise ParameterError(
            f"timezone {shown(name)} is not known: give UTC, an offset such as UTC-07:00,"
            " or an IANA name such as America/Denver"
        ) from None


def zone_name(zone: tzinfo) -> str:
    """Return the name of a zone of zoneinfo, pytz or dateutil: an IANA name, or an offset."""
    named = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if named is not None:
        return str(named)
    fixed = zone.utcoffset(None)
    return str(zone) if fixed is None else name_offset(fixed.total_seconds() / 60)


def name_offset(minutes: float) -> str:
    """Return ``"UTC-07:00"`` for -420 minutes, and ``"UTC"`` for none."""
    if minutes == 0:
        return "UTC"
    hours, rest = divmod(abs(round(minutes)), 60)
    return f"UTC{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}"
