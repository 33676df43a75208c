"""Plain tables of weather: a time column, or year to minute, and columns by their usual names."""

from __future__ import annotations

import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from sunveil.errors import WeatherError
from sunveil.site import Array, Site

_TIME_NAMES = (
    "datetime", "timestamp", "time", "time(utc)", "date", "date time", "date_time", "measured_on",
    "index", "__index_level_0__", "utc", "valid_time",
)  # fmt: skip
_PARTS = ("year", "month", "day", "hour", "minute")
_WORST_FIT = 1.0  # degrees of zenith between a file's own sun and ours


def read_parquet(path: Path) -> pd.DataFrame:
    """Return a Parquet file's columns; times with a zone come back in UTC."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        result = connection.execute("SELECT * FROM read_parquet(?)", [str(path)])
        zoned = [str(kind) == "TIMESTAMP WITH TIME ZONE" for _, kind, *_ in result.description]
        columns = {
            name: pd.Series(
                np.ma.filled(values, np.nan) if values.dtype.kind == "f" else np.ma.getdata(values)
            )
            for name, values in result.fetchnumpy().items()
        }
    for (name, values), utc in zip(columns.items(), zoned, strict=True):
        if utc:
            columns[name] = values.dt.tz_localize("UTC")
    return pd.DataFrame(columns)


def with_times(
    frame: pd.DataFrame, *, source: str, site: Site | None, timezone: str | None
) -> tuple[pd.DataFrame, pd.DatetimeIndex]:
    """Return the frame indexed in UTC, and its times on the file's own clock.

    A clock without a stated zone is taken from ``timezone``, else found from the file's column
    of solar zenith angles where it has one.

    Parameters
    ----------
    frame
        The file's columns.
    source
        The name of the file, for messages.
    site
        Where the weather is; needed to find the clock from zenith angles.
    timezone
        The clock of stamps that state none.
    """
    times = _time_column(frame)
    if times is None:
        times = _time_parts(frame)
    if times is None:
        raise WeatherError(
            f"{source} has no column of times among {', '.join(map(str, frame.columns[:12]))};"
            " name one 'time', with stamps like 2016-07-01T12:00Z"
        )
    if times.tz is not None:
        return frame.set_axis(times.tz_convert("UTC")), times.tz_localize(None)
    utc = localise(times, timezone, source) if timezone else _by_the_sun(frame, times, source, site)
    return frame.set_axis(utc), times


def localise(times: pd.DatetimeIndex, timezone: str, source: str) -> pd.DatetimeIndex:
    """Return naive times in UTC; NaT where daylight saving makes them unclear.

    Parameters
    ----------
    times
        What the clock showed.
    timezone
        The name of the clock.
    source
        The name of the file, for messages.
    """
    try:
        local = times.tz_localize(timezone, ambiguous="NaT", nonexistent="NaT")
    except (ValueError, KeyError, TypeError) as error:
        raise WeatherError(
            f"{timezone!r} is not a time zone for {source}; use one like UTC, UTC-07:00 or"
            " America/Denver"
        ) from error
    return local.tz_convert("UTC")


def _time_column(frame: pd.DataFrame) -> pd.DatetimeIndex | None:
    """Return the times of the first column that holds them, or of the frame's index."""
    if isinstance(frame.index, pd.DatetimeIndex):
        return frame.index
    named = [c for c in frame.columns if str(c).strip().lower() in _TIME_NAMES]
    for column in dict.fromkeys([*named, *frame.columns[:1]]):
        values = frame[column]
        if pd.api.types.is_datetime64_any_dtype(values.dtype):
            return pd.DatetimeIndex(values)
        if pd.api.types.is_numeric_dtype(values.dtype):
            continue
        times = _parsed(values)
        if times is not None and 2 * int(np.sum(times.notna())) > len(times):
            return times
    return None


def _parsed(values: pd.Series[str]) -> pd.DatetimeIndex | None:
    """Return texts as times: in UTC where they state an offset, naive where they do not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns when it has to guess the format
        try:
            first = pd.to_datetime(values.dropna().iloc[:1]).dt.tz
            return pd.DatetimeIndex(pd.to_datetime(values, errors="coerce", utc=first is not None))
        except (ValueError, TypeError, IndexError):
            return None


def _time_parts(frame: pd.DataFrame) -> pd.DatetimeIndex | None:
    """Return the times made of columns from year to minute."""
    columns = {str(c).strip().lower(): c for c in frame.columns}
    if not set(_PARTS[:4]) <= set(columns):
        return None
    parts = {name: pd.to_numeric(frame[columns[name]], errors="coerce")
             for name in _PARTS if name in columns}  # fmt: skip
    return pd.DatetimeIndex(pd.to_datetime(pd.DataFrame(parts), errors="coerce"))


def _by_the_sun(
    frame: pd.DataFrame, times: pd.DatetimeIndex, source: str, site: Site | None
) -> pd.DatetimeIndex:
    """Return naive times in UTC by the offset at which the file's zenith column fits the sun."""
    columns = {str(c).strip().lower().replace("_", " "): c for c in frame.columns}
    column = columns.get("solar zenith angle", columns.get("solar zenith"))
    if column is None or site is None:
        raise WeatherError(
            f"{source} has times without a time zone; write their offset into the file, or give"
            " its time zone"
        )
    zenith = pd.to_numeric(frame[column], errors="coerce").to_numpy(np.float64)
    some = np.flatnonzero(np.isfinite(zenith) & (zenith < 80.0) & times.notna())
    some = some[:: max(1, len(some) // 200)]
    offsets = np.arange(-12.0, 14.5, 0.5)
    errors = [_misfit(site, times[some] - pd.Timedelta(hours=h), zenith[some]) for h in offsets]
    best = int(np.argmin(errors)) if len(some) else 0
    if not len(some) or errors[best] > _WORST_FIT:
        raise WeatherError(
            f"{source} has times without a time zone, and its solar zenith angles fit none at"
            f" {site.latitude:g}, {site.longitude:g}; check the place, or give the file's time zone"
        )
    return (times - pd.Timedelta(hours=float(offsets[best]))).tz_localize("UTC")


def _misfit(site: Site, times: pd.DatetimeIndex, zenith: Array) -> float:
    ours = site.sun(times.tz_localize("UTC"))["apparent_zenith"].to_numpy(np.float64)
    return float(np.sqrt(np.mean((ours - zenith) ** 2)))
