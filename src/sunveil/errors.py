"""The exception tree.

::

    SunveilError
    ├── SourceError            data that cannot be read: a file, a column, an answer from a server
    │   ├── MeterError         ... of the private generation data
    │   └── WeatherError       ... of the public weather
    ├── ParameterError         an argument out of its range (also a ValueError)
    ├── TooLittleData          readable data that cannot carry an inference
    ├── MissingExtra           a part of Sunveil whose packages are not installed
    └── LedgerError            a ledger that cannot be used
        ├── BudgetExceeded     ... for this charge: the promise does not hold it
        ├── LedgerConflict     ... at all: it was changed, or an old copy of it was put back
        ├── LedgerUnavailable  ... now: its database or its disk refused
        └── ReleaseNotFound    ... for this: it has no such dataset, analyst or release

Every message is one sentence or two: what is wrong, where, and what to do. Messages about meters
name files, columns, row ranges and times, never the value of a reading. What to do is said in the
words of the interface in use: :func:`ask` marks a parameter, and the message shows it as
``timezone=`` in Python and as ``--timezone`` on the command line.
"""

from __future__ import annotations

import os
import re
import traceback
from enum import StrEnum
from logging import Logger

_ASKED = re.compile("⟦([a-z_]+)(?:=([^⟧]*))?⟧")


_FLAGS = frozenset({"negate", "net", "force", "restart"})


# The environment's name for the interface that a command is started from.
INTERFACE = "SUNVEIL_INTERFACE"


# What the curator's form of the service calls them.
FORM_LABELS = {
    "timezone": "Time zone of the readings",
    "power_unit": "Unit",
    "label": "Each time is",
    "register": "Cumulative readings",
    "decimal": "Decimal mark",
    "time_column": "Column of times",
    "date_column": "Column of dates",
    "power_column": "Column of readings",
    "export_column": "Column of export to the grid",
    "import_column": "Column of import from the grid",
    "system_column": "Column of systems",
    "time_format": "Format of times",
    "skip_rows": "Lines above the header",
    "separator": "Separator between cells",
    "duplicates": "Several readings for the same time",
    "unit_switch": "If the unit changes within a record",
    "negate": "Generation has negative values",
    "net": "What the meters measure",
    "force": "Systems that do not look like solar generation",
}


class Interface(StrEnum):
    """Where a person reads the messages of this process."""

    PYTHON = "python"
    COMMAND = "command"
    SERVICE = "service"


class _Speaking:
    interface = Interface.PYTHON


def speak(interface: Interface | str) -> None:
    """Say from now on what to do in the words of an interface."""
    _Speaking.interface = Interface(interface)


def spoken() -> Interface:
    """Return the interface whose words are used."""
    return _Speaking.interface


def ask(parameter: str, value: str | None = None) -> str:
    """Return a mark for a parameter that a message tells the reader to give.

    >>> speak("command")
    >>> str(SunveilError(f"choose with {ask('duplicates', 'mean')} or {ask('negate')}"))
    'choose with --duplicates mean or --negate'
    >>> speak("python")
    >>> str(SunveilError(f"choose with {ask('duplicates', 'mean')} or {ask('negate')}"))
    "choose with duplicates='mean' or negate=True"
    """
    return f"⟦{parameter}⟧" if value is None else f"⟦{parameter}={value}⟧"


def in_words(text: str) -> str:
    """Return a message with its marked parameters in the words of the interface in use."""
    return _ASKED.sub(lambda found: _worded(found[1], found[2]), text)


def _worded(parameter: str, value: str | None) -> str:
    match _Speaking.interface:
        case Interface.COMMAND:
            option = f"--{parameter.replace('_', '-')}"
            return option if value is None else f"{option} {value}"
        case Interface.SERVICE:
            if parameter == "restart":
                return "Start again from the beginning"
            field = f"the field {FORM_LABELS.get(parameter, parameter.replace('_', ' '))!r}"
            return field if value is None else f"{value} in {field}"
        case _:
            if value is None:
                return f"{parameter}=True" if parameter in _FLAGS else f"{parameter}="
            return f"{parameter}={value!r}"


def debugging() -> bool:
    """Return whether tracebacks are to be shown: SUNVEIL_DEBUG is 1."""
    return os.environ.get("SUNVEIL_DEBUG") == "1"


def log_unforeseen(log: Logger, what: str, error: Exception, *, private: bool = False) -> None:
    """Log an unforeseen error: its kind and place, and with SUNVEIL_DEBUG=1 its traceback."""
    if private and not debugging():
        return
    log.error("%s: %s", what, place_of(error), exc_info=error if debugging() else None)


def place_of(error: Exception) -> str:
    """Return the kind of an error and where it happened: functions and lines, innermost first."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(error).__name__} at {places}"


class SunveilError(Exception):
    """Base of every error that Sunveil raises on purpose."""

    def __str__(self) -> str:
        return in_words(super().__str__())


class SourceError(SunveilError):
    """Data that cannot be read or understood."""


class MeterError(SourceError):
    """Generation data that cannot be read or understood."""


class WeatherError(SourceError):
    """Weather data that cannot be had, read or understood."""


class ParameterError(SunveilError, ValueError):
    """An argument outside its range."""


class TooLittleData(SunveilError):
    """Readings that were read but cannot carry an inference."""


class MissingExtra(SunveilError):
    """A part of Sunveil whose packages are not installed; the message has the command that does."""


class LedgerError(SunveilError):
    """A ledger that cannot be used for what was asked."""


class BudgetExceeded(LedgerError):
    """A charge that the promise does not hold."""

    def __init__(self, message: str, *, requested: float, remaining: float) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class LedgerConflict(LedgerError):
    """A ledger that was changed by hand, or of which an old copy was put back."""


class LedgerUnavailable(LedgerError):
    """A ledger whose database or disk refused: full, not to be written, or out of reach."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ReleaseNotFound(LedgerError):
    """Something that the ledger does not have."""
