"""Typical years of weather laid over the dates of a record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil._options import checked, instance
from sunveil.weather.weather_data import (
    COLUMNS,
    SUN,
    TimeLike,
    Weather,
    span,
    utc_index,
    utc_seconds,
    years_of,
)

STAND_IN_YEAR = 1990  # any year of 365 days


_DAY = np.timedelta64(1, "D")


_FEBRUARY_28, _FEBRUARY_29 = 58, 59  # days since 1 January


def is_typical(local: pd.DatetimeIndex) -> bool:
    """Tell whether times in file order run once from January to December through several years."""
    months = local.month.to_numpy()
    several, whole = len(np.unique(local.year.to_numpy())) > 1, len(np.unique(months)) == 12
    return several and whole and bool((np.diff(months) >= 0).all())


def to_stand_in_year(times: pd.DatetimeIndex) -> pd.DatetimeIndex:
    """Return UTC times with the stand-in year for theirs, and NaT on 29 February."""
    stamps = utc_seconds(times)
    since = stamps - stamps.astype("datetime64[Y]").astype("datetime64[s]")
    leap = times.is_leap_year
    day = since.astype("timedelta64[D]").astype(np.int64)
    moved = np.where(leap & (day > _FEBRUARY_29), since - _DAY, since)
    result = np.datetime64(str(STAND_IN_YEAR), "s") + moved
    result[leap & (day == _FEBRUARY_29)] = np.datetime64("NaT")
    return utc_index(result)


@checked
def covering(weather: Weather, start: TimeLike, end: TimeLike) -> Weather:
    """Return weather over ``start <= times < end``, laying a typical year over each real one.

    A leap year's 29 February repeats the 28th. Weather of real years is only sliced.

    Parameters
    ----------
    weather
        Weather of real years, or of a typical one.
    start, end
        Half-open span of instants; naive ones are in UTC.
    """
    first, last = span(start, end)
    instance("weather", weather, Weather, give="Weather, as sunveil.get_weather returns it")
    if not weather.typical:
        return weather.between(first, last)
    since = utc_seconds(weather.times) - np.datetime64(str(STAND_IN_YEAR), "s")
    parts = [_laid(since, year) for year in years_of(first, last)]
    rows = np.concatenate([part[1] for part in parts])
    values: dict[str, Any] = {name: getattr(weather, name)[rows] for name in COLUMNS}
    # The sun of the stand-in year is up to half a degree off in another.
    values |= dict.fromkeys(SUN)
    times = utc_index(np.concatenate([part[0] for part in parts]))
    return replace(weather, times=times, typical=False, **values).between(first, last)


def _laid(
    since: NDArray[np.timedelta64], year: int
) -> tuple[NDArray[np.datetime64], NDArray[np.intp]]:
    """Return the times of a real year, and the row of the typical year for each."""
    rows = np.arange(len(since))
    if pd.Timestamp(year, 12, 31).day_of_year == 366:
        day = since.astype("timedelta64[D]").astype(np.int64)
        later = np.where(day > _FEBRUARY_28, since + _DAY, since)
        twice = np.flatnonzero(day == _FEBRUARY_28)
        since, rows = np.concatenate([later, since[twice] + _DAY]), np.append(rows, twice)
        order = np.argsort(since, kind="stable")
        since, rows = since[order], rows[order]
    return np.datetime64(f"{year:04d}", "s") + since, rows
