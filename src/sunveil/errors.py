"""The exception tree.

::

    SunveilError
    ├── SourceError            data that cannot be read: a file, a column, an answer from a server
    │   ├── MeterError         ... of the private generation data
    │   └── WeatherError       ... of the public weather
    ├── ParameterError         an argument out of its range (also a ValueError)
    ├── TooLittleData          readable data that cannot carry an inference
    ├── MissingExtra           a part of Sunveil without its packages
    └── LedgerError            a ledger that cannot be used
        ├── BudgetExceeded     ... for this charge: the promise does not hold it
        ├── LedgerConflict     ... at all: it was changed, or an old copy of it was put back
        ├── LedgerUnavailable  ... now: its database or its disk refused
        └── ReleaseNotFound    ... for this: it has no such dataset, analyst or release

Every message is one sentence or two: what is wrong, where, and what to do. Messages about meters
name files, columns, row ranges and times, never the value of a reading. An option that helps is
named as ``option `timezone```, whether it is given in Python, on the command line or in a form, and
is the error's attribute ``option``.
"""

from __future__ import annotations

import os
import re
import traceback
from logging import Logger

# How a message names an option that is wrong or would help.
_OPTION = re.compile("options? `([a-z_]+)`")


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

    @property
    def option(self) -> str | None:
        """Name of the first option that the message names, None where it names none."""
        named = _OPTION.search(str(self))
        return named[1] if named else None


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
    """A part of Sunveil without its packages; the message has the command that does."""


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
    """A database or disk of a ledger that refused: full, not to be written, or out of reach."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ReleaseNotFound(LedgerError):
    """Something that the ledger does not have."""
