"""Weather of one place, and typical years of it laid over the dates of a record."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, instance, is_number, shown
from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Array, Site
from sunveil.weather.climate_normals import climate_temperature

COLUMNS = ("ghi", "dni", "dhi", "temp_air", "wind_speed")
SUN = ("zenith", "azimuth")

# Years that weather is asked for; others are what a misread date looks like.
EARLIEST, LATEST = 1900, 2200
TimeLike: TypeAlias = str | dt.date | dt.datetime | np.datetime64 | pd.Timestamp


def instant(when: TimeLike) -> pd.Timestamp:
    """Return a time as a UTC instant; a naive one is taken to be in UTC already."""
    given: Any = when
    try:
        if isinstance(given, (bool, complex)) or is_number(given):
            raise TypeError("a number is no time")  # noqa: TRY301 - one message for all
        stamp = pd.Timestamp(given)
    except (ValueError, TypeError, OverflowError) as error:
        raise ParameterError(
            f"{shown(given)} is not a time; write it like 2016-07-01T00:00Z"
        ) from error
    if pd.isna(stamp):
        raise ParameterError("a time is missing where the span of the weather is given")
    if not EARLIEST <= stamp.year <= LATEST:
        raise ParameterError(
            f"a time in the year {stamp.year} has no weather; give one from {EARLIEST} to {LATEST}"
        )
    return stamp.tz_localize("UTC") if stamp.tz is None else stamp.tz_convert("UTC")


def utc_seconds(times: pd.DatetimeIndex) -> NDArray[np.datetime64]:
    """Return UTC times as plain ``datetime64[s]``."""
    # With its time zone on, the index would give an array of Python objects, which is slow.
    return np.asarray(times.tz_localize(None).to_numpy(), dtype="datetime64[s]")


def utc_index(stamps: NDArray[np.datetime64]) -> pd.DatetimeIndex:
    """Return plain UTC stamps as an index that knows its time zone."""
    return pd.DatetimeIndex(stamps).tz_localize("UTC")


def span(start: TimeLike, end: TimeLike) -> tuple[pd.Timestamp, pd.Timestamp]:
    """Return both ends of a half-open span in UTC, which must not be empty."""
    first, last = instant(start), instant(end)
    if last <= first:
        raise ParameterError(f"the span from {first} to {last} is empty: its end must be later")
    return first, last


def years_of(start: TimeLike, end: TimeLike) -> range:
    """Return the UTC calendar years that the half-open span touches."""
    first, last = span(start, end)
    return range(first.year, (last - pd.Timedelta(1, "ns")).year + 1)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Weather:
    """Public irradiance and temperature at a site, at evenly spaced times.

    Parameters
    ----------
    site
        Where the weather is.
    times
        UTC instants that the values stand for, increasing: the middle of each interval when the
        values are averages, the instant itself when they are instantaneous.
    ghi, dni, dhi
        Global horizontal, direct normal and diffuse horizontal irradiance. [W/m²]
    temp_air
        Air temperature. [°C]
    wind_speed
        Wind speed. [m/s]
    source
        Source of the values: ``"clearsky"``, ``"nsrdb"``, a file name.
    clear
        True for a clear-sky model, whatever the real sky did.
    typical
        True for a typical year, made of months of different real years: its times carry
        one stand-in year, and :func:`sunveil.weather.covering` lays it over real years.
    zenith, azimuth
        Apparent zenith and azimuth of the sun at ``times`` where already known; ask
        :meth:`sun` rather than these. [degrees]
    """

    site: Site
    times: pd.DatetimeIndex
    ghi: NDArray[np.float64]
    dni: NDArray[np.float64]
    dhi: NDArray[np.float64]
    temp_air: NDArray[np.float64]
    wind_speed: NDArray[np.float64]
    source: str
    clear: bool = False
    typical: bool = False
    zenith: NDArray[np.float64] | None = None
    azimuth: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.times.tz is None or str(self.times.tz) != "UTC":
            raise WeatherError(f"the weather from {self.source} must have its times in UTC")
        if not self.times.is_monotonic_increasing or self.times.has_duplicates:
            raise WeatherError(
                f"the weather from {self.source} must have increasing, distinct times"
            )
        if len(self.times) < 2:
            raise WeatherError(
                f"the weather from {self.source} is empty: at least two times are needed"
            )
        for name in (*COLUMNS, *SUN):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.times):
                raise WeatherError(f"{name} of {self.source} does not have one value per time")

    @property
    def step_minutes(self) -> float:
        """Usual spacing of the times [minutes]."""
        seconds = np.diff(utc_seconds(self.times)).astype(np.int64)
        return float(np.median(seconds)) / 60.0

    def sun(self) -> tuple[Array, Array]:
        """Return the sun's apparent zenith and azimuth at ``times``, computed at most once.

        Returns
        -------
        zenith, azimuth
            Azimuth is clockwise from north. [degrees]
        """
        if self.zenith is None or self.azimuth is None:
            position = self.site.sun(self.times)
            # The type is frozen to its readers; this only fills in what its fields already imply.
            object.__setattr__(self, "zenith", position["apparent_zenith"].to_numpy(np.float64))
            object.__setattr__(self, "azimuth", position["azimuth"].to_numpy(np.float64))
        assert self.zenith is not None
        assert self.azimuth is not None
        return self.zenith, self.azimuth

    @checked
    def between(self, start: TimeLike, end: TimeLike) -> Weather:
        """Return the part with ``start <= times < end``."""
        first, last = span(start, end)
        low, high = self.times.searchsorted(pd.DatetimeIndex([first, last]))
        if high - low < 2:
            raise WeatherError(
                f"the weather from {self.source} covers {self.times[0]:%Y-%m-%d} to"
                f" {self.times[-1]:%Y-%m-%d}, with fewer than two times from {first:%Y-%m-%d %H:%M}"
                f" to {last:%Y-%m-%d %H:%M} UTC; give weather of the span asked for"
            )
        if low == 0 and high == len(self.times):
            return self
        return self._rows(slice(int(low), int(high)))

    def _rows(self, rows: slice) -> Weather:
        cut: dict[str, Any] = {
            name: values[rows]
            for name in (*COLUMNS, *SUN)
            if (values := getattr(self, name)) is not None
        }
        return replace(self, times=self.times[rows], **cut)

    def to_frame(self) -> pd.DataFrame:
        """Return the values as a frame in pvlib's names, indexed by UTC time."""
        return pd.DataFrame({name: getattr(self, name) for name in COLUMNS}, index=self.times)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        site: Site,
        source: str,
        clear: bool = False,
        typical: bool = False,
    ) -> Weather:
        """Make weather of a frame with pvlib's column names and a time-zone-aware index.

        Missing temperature is what is usual at the site then, missing wind 1 m/s.

        Parameters
        ----------
        frame
            ``ghi``, ``dni``, ``dhi`` [W/m²]; ``temp_air`` [°C] and ``wind_speed`` [m/s] if known.
        site
            Where the weather is.
        source, clear, typical
            As for :class:`Weather`.
        """
        instance("frame", frame, pd.DataFrame, give="a pandas DataFrame of weather")
        index = frame.index
        if not isinstance(index, pd.DatetimeIndex) or index.tz is None:
            raise WeatherError(
                f"the weather from {source} has no times with a time zone in its index: localise"
                " it first"
            )
        missing = [name for name in ("ghi", "dni", "dhi") if name not in frame]
        if missing:
            raise WeatherError(
                f"the weather from {source} lacks the column(s) {', '.join(missing)};"
                " name them as pvlib does"
            )
        usual = {name: usual_air(name, site, index) for name in COLUMNS if name not in frame}
        values: dict[str, Any] = {
            name: usual[name] if name in usual else frame[name].to_numpy(dtype=np.float64)
            for name in COLUMNS
        }
        return cls(
            site=site,
            times=index.tz_convert("UTC"),
            source=source,
            clear=clear,
            typical=typical,
            **values,
        )


def usual_air(name: str, site: Site, times: pd.DatetimeIndex) -> Array:
    """Return substitutes for missing ``temp_air`` [°C] or ``wind_speed`` [m/s]."""
    return climate_temperature(site, times) if name == "temp_air" else np.full(len(times), 1.0)


def join_weather(parts: list[Weather]) -> Weather:
    """Return consecutive spans of one source as one weather."""
    if len(parts) == 1:
        return parts[0]
    known = all(part.zenith is not None and part.azimuth is not None for part in parts)
    names = (*COLUMNS, *SUN) if known else COLUMNS
    values: dict[str, Any] = dict.fromkeys(SUN)
    values |= {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    times = utc_index(np.concatenate([utc_seconds(part.times) for part in parts]))
    return replace(parts[0], times=times, **values)


# Typical years, laid over the dates of a record.

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
