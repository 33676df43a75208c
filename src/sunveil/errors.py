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
        └── ReleaseNotFound    ... for this: it has no such dataset, analyst or release

Every message is one sentence or two: what is wrong, where, and what to do. Messages about meters
name files, columns, row ranges and times, never the value of a reading.
"""

from __future__ import annotations


class SunveilError(Exception):
    """Base of every error that Sunveil raises on purpose."""


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
    """A charge that the promise does not hold.

    Parameters
    ----------
    message
        What is wrong, in one sentence.
    requested, remaining
        What was asked for and what is left, in the promise's own measure.
    """

    def __init__(self, message: str, *, requested: float, remaining: float) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class LedgerConflict(LedgerError):
    """A ledger that was changed by hand, or of which an old copy was put back."""


class ReleaseNotFound(LedgerError):
    """Something that the ledger does not have."""
