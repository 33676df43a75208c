"""The exception tree.

::

    SunveilError
    ├── SourceError            data that cannot be read: a file, a column, an answer from a server
    │   ├── MeterError         ... of the private generation data
    │   └── WeatherError       ... of the public weather
    ├── ParameterError         an argument out of its range (also a ValueError)
    └── TooLittleData          readable data that cannot carry an inference

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
