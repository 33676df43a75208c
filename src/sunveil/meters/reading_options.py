"""MeterOptions: how meters are read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo
from enum import StrEnum
from typing import Annotated, Any, TypedDict
from zoneinfo import ZoneInfo

import numpy as np

from sunveil._options import (
    Option,
    check_options,
    checked,
    declared_options,
    documented,
    refuse_unknown,
    shown,
    text,
)
from sunveil.errors import ParameterError
from sunveil.meters.record import Cleaning, Label

_OFFSET = re.compile(r"(?:UTC|GMT)?\s*([+-])(\d{1,2})(?::?(\d{2}))?", re.IGNORECASE)

AUTO = "auto"

# Between the names of columns that are added up.
ADDED = " + "

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
    """What to do where the unit of a record changes on the way."""

    REFUSE = "refuse"
    REPAIR = "repair"
    IGNORE = "ignore"


_COLUMN = "Its name, or its place counted from 1; found by its usual names if not given."


@documented
@dataclass(frozen=True, slots=True)
class MeterOptions:
    """How to read meter data; the defaults fit ``system_id, time, power_kw``.

    What is not given is detected: for inference from the whole content of a file, for private
    releases (``cleaning="each"``) from its header, the definition of its format and its timestamps
    alone.
    """

    skip_rows: Annotated[
        int | None, Option("Number of lines above the header.", low=0, high=1000, metavar="N")
    ] = None
    separator: Annotated[
        str | None, Option("Separator between fields, one character such as ;.", metavar="SIGN")
    ] = None
    decimal: Annotated[
        str,
        Option(
            "Decimal mark.",
            "``auto`` detects it for each system; for releases it is then the point, and a table"
            " with a separator that leaves it open is refused.",
            choices=(AUTO, ".", ","),
        ),
    ] = AUTO
    time_column: Annotated[str | None, Option("Column of times.", _COLUMN)] = None
    date_column: Annotated[
        str | None, Option("Column of dates, if the column of times has only the time of day.")
    ] = None
    time_format: Annotated[
        str | None, Option("Format of times in strptime codes, such as %d/%m/%Y %H:%M.")
    ] = None
    timezone: Annotated[
        str | None,
        Option(
            "Time zone of timestamps without an offset: UTC, an offset such as UTC-07:00, or an"
            " IANA name such as America/Denver if they follow daylight saving.",
            "Overrides the ``timezone`` column of a systems table. A zone of zoneinfo or pytz is"
            " kept by its name.",
        ),
    ] = None
    label: Annotated[
        Label | str,
        Option(
            "Instant of its interval that a timestamp marks: start (or left), middle, end (or"
            " right); auto: the middle below 30 minutes, the start of longer intervals.",
            "The middle of a short interval halves the worst error where the label is unknown.",
            choices=(AUTO, *Label, "left", "right"),
        ),
    ] = AUTO
    interval_minutes: Annotated[
        float | None,
        Option("Length of the intervals; detected if not given. [minutes]", low=1, high=60),
    ] = None
    first: Annotated[
        str | None, Option("First timestamp, such as 2024-01-01T00:00; earlier rows are dropped.")
    ] = None
    last: Annotated[
        str | None, Option("Last timestamp, such as 2024-12-31T23:00; later rows are dropped.")
    ] = None
    system_column: Annotated[str | None, Option("Column of systems.", _COLUMN)] = None
    power_column: Annotated[
        str | None,
        Option(
            "Column of readings; several are added up.",
            f'{_COLUMN} Several: a list, or ``"Export T1 + Export T2"``.',
            several=True,
        ),
    ] = None
    export_column: Annotated[
        str | None,
        Option(
            "Column of export to the grid, of a net meter; several are added up.",
            "Naming it alone declares a meter that measures only exports.",
            several=True,
        ),
    ] = None
    import_column: Annotated[
        str | None,
        Option(
            "Column of import from the grid, of a net meter; several are added up.",
            "Naming it declares a net meter.",
            several=True,
        ),
    ] = None
    power_unit: Annotated[
        Unit | str, Option("Unit of the readings; auto: from the header.", choices=(AUTO, *Unit))
    ] = AUTO
    register: Annotated[
        Register | str,
        Option(
            "Cumulative readings, of which differences are taken: cumulative (never resets), daily"
            " (resets every day) or no; auto: from the header and, for inference, the readings.",
            choices=(AUTO, *Register),
        ),
    ] = AUTO
    negate: Annotated[bool, Option("Generation has negative values.")] = False
    net: Annotated[
        bool,
        Option(
            "Net meter: readings are generation minus the home's consumption.",
            "In one column, positive where there is more generation, or in two, import and export."
            " Inference also detects net meters; releases rely on what columns, format or this"
            " option declare, and never look at readings.",
        ),
    ] = False
    duplicates: Annotated[
        Duplicates | str,
        Option("What to do with different readings for one time.", choices=tuple(Duplicates)),
    ] = Duplicates.REFUSE
    unit_switch: Annotated[
        UnitSwitch | str,
        Option("What to do if the unit changes within a record.", choices=tuple(UnitSwitch)),
    ] = UnitSwitch.REFUSE
    cleaning: Annotated[
        Cleaning | str,
        Option(
            "Cleaning: record (rules for the whole record) or each (rules for single readings, as"
            " private releases need them).",
            "With ``each``, negative readings become zero, infinities and placeholder values are"
            " dropped, duplicates are recognised by their times alone, and nothing is refused or"
            " dropped because of other readings.",
            choices=tuple(Cleaning),
        ),
    ] = Cleaning.RECORD

    def __post_init__(self) -> None:
        if self.timezone is not None:
            given: Any = self.timezone
            _, name = parse_timezone(given)
            # a zone of zoneinfo or pytz is kept by its name, a text as it was written
            object.__setattr__(self, "timezone", given if isinstance(given, str) else name)
        for name, (_, option) in declared_options(MeterOptions).items():
            given = getattr(self, name)
            if option.several and isinstance(given, list | tuple):
                columns = [text(f"option `{name}`", each, give="column names") for each in given]
                object.__setattr__(self, name, ADDED.join(columns) or None)
        check_options(self)
        if self.import_column is not None or self.export_column is not None:
            object.__setattr__(self, "net", True)
        if self.export_column is not None and self.power_column is not None:
            raise ParameterError(
                "options `power_column` and `export_column` name the same readings: give one"
            )
        if self.separator is not None and len(self.separator) != 1:
            raise ParameterError("option `separator` must be one character, such as ; or a tab")
        ends = [parse_instant(name, getattr(self, name)) for name in ("first", "last")]
        if None not in ends and ends[0] > ends[1]:  # type: ignore[operator]
            raise ParameterError("option `first` must not be after option `last`")

    @checked
    def changed(self, changes: dict[str, Any]) -> MeterOptions:
        """Return these options with some of them changed."""
        refuse_unknown(changes, MeterOptions)
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


class MeterKeywords(TypedDict, total=False):
    """The options of :class:`MeterOptions` as keywords."""

    skip_rows: int | None
    separator: str | None
    decimal: str
    time_column: str | None
    date_column: str | None
    time_format: str | None
    timezone: str | tzinfo | None
    label: str
    interval_minutes: float | None
    first: str | None
    last: str | None
    system_column: str | None
    power_column: str | Sequence[str] | None
    export_column: str | Sequence[str] | None
    import_column: str | Sequence[str] | None
    power_unit: str
    register: str
    negate: bool
    net: bool
    duplicates: str
    unit_switch: str
    cleaning: str


def parse_instant(name: str, given: str | None) -> np.datetime64 | None:
    """Return an instant that a parameter of some name gives, None where it is not given."""
    if given is None:
        return None
    try:
        found = np.datetime64(str(given), "us")
        if not np.isnat(found):
            return found
    except ValueError:
        pass
    raise ParameterError(f"option `{name}` must be a time such as 2024-01-01T00:00")


def parse_timezone(given: str | tzinfo) -> tuple[tzinfo, str]:
    """Return the zone that a text or a zone of zoneinfo or pytz names, and its canonical name."""
    if isinstance(given, tzinfo):
        given = zone_name(given)
    name = text(
        "option `timezone`",
        given,
        give="UTC, an offset such as UTC-07:00 or a name such as America/Denver",
    ).strip()
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC, "UTC"
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        offset = (1 if sign == "+" else -1) * (60 * int(hours) + int(minutes or 0))
        if abs(offset) > 14 * 60 or int(minutes or 0) > 59:
            raise ParameterError(
                f"option `timezone` {name!r} is further from UTC than any clock on Earth"
            )
        return timezone(timedelta(minutes=offset)), name_offset(offset)
    try:
        return ZoneInfo(name), name
    except (KeyError, ValueError, OSError):
        raise ParameterError(
            f"option `timezone` {shown(name)} is not known: give UTC, an offset such as UTC-07:00,"
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
