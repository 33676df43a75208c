"""PSM, PVGIS, TMY3, EPW and plain tables, detected by content."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pvlib

from sunveil._extras import optional_package
from sunveil._options import instance, text
from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Array, Site
from sunveil.weather.decomposition import horizontal_weather, to_weather
from sunveil.weather.nsrdb_and_pvgis import PARSER_ERRORS
from sunveil.weather.weather_data import STAND_IN_YEAR, Weather, is_typical, to_stand_in_year

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = optional_package("duckdb", purpose="a weather file")

_HALF_HOUR = pd.Timedelta(minutes=30)
_TYPICAL_KINDS = re.compile(r"TMY|IWEC|CWEC|TRY|typical", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedWeather:
    """A file's columns at their UTC instants, its site where it names one, and its kind."""

    frame: pd.DataFrame
    site: Site | None = None
    typical: bool = False


def make_site(latitude: object, longitude: object, altitude: object = None) -> Site:
    """Return a site from a file's metadata."""
    try:
        height = float(str(altitude))
    except ValueError:
        height = float("nan")
    return Site(
        float(str(latitude)), float(str(longitude)), height if -500.0 <= height <= 9000.0 else None
    )


def at_times(
    frame: pd.DataFrame, times: pd.DatetimeIndex, local: pd.DatetimeIndex, *, typical: bool = False
) -> ParsedWeather:
    """Return a file's columns at their instants, as a typical year where it is one."""
    known = times.notna()
    if typical or is_typical(local[known]):
        return ParsedWeather(frame[known].set_axis(to_stand_in_year(times[known])), typical=True)
    return ParsedWeather(frame.set_axis(times))


def read_psm(text: str) -> ParsedWeather:
    """Return an NSRDB download (PSM3 and PSM4, real and typical years; also SAM's CSV)."""
    # Two rows of metadata, then the table. Stamps are the instants the values belong to.
    names, values = list(csv.reader(io.StringIO("".join(text.splitlines(keepends=True)[:2]))))
    about = {name.strip(): value.strip() for name, value in zip(names, values, strict=False)}
    frame = pd.read_csv(io.StringIO(text), skiprows=2, low_memory=False)
    parts = ["Year", "Month", "Day", "Hour", *(["Minute"] if "Minute" in frame else [])]
    numbers = frame[parts].apply(pd.to_numeric, errors="coerce")
    local = pd.DatetimeIndex(pd.to_datetime(numbers, errors="coerce"))
    offset = pd.Timedelta(hours=float(about["Time Zone"]))
    parsed = at_times(frame, (local - offset).tz_localize("UTC"), local)
    site = make_site(about["Latitude"], about["Longitude"], about.get("Elevation"))
    return ParsedWeather(parsed.frame, site=site, typical=parsed.typical)


def read_tmy3(text: str) -> ParsedWeather:
    """Return a TMY3 file; its stamps are the ends of hours in local standard time."""
    frame, about = pvlib.iotools.read_tmy3(io.StringIO(text))
    date = frame["Date (MM/DD/YYYY)"].str.split("/", expand=True).astype(int)
    clock = frame["Time (HH:MM)"].str.split(":", expand=True).astype(int)
    days = {"year": STAND_IN_YEAR, "month": date[0], "day": date[1]}
    # 29 February does not exist in the stand-in year and becomes NaT, which is dropped later.
    ends = pd.to_datetime(pd.DataFrame(days), errors="coerce")
    hours = pd.to_timedelta(clock[0] * 60 + clock[1], unit="min")
    middles = pd.DatetimeIndex(ends + hours) - _HALF_HOUR - pd.Timedelta(hours=about["TZ"])
    known = middles.notna()
    times = to_stand_in_year(middles[known].tz_localize("UTC"))
    site = make_site(about["latitude"], about["longitude"], about["altitude"])
    return ParsedWeather(frame[known].set_axis(times), site=site, typical=True)


def read_epw(text: str) -> ParsedWeather:
    """Return an EnergyPlus file: hours numbered 1 to 24 in local standard time."""
    # pvlib stamps their starts. 9999, 99.9 and 999 mean missing.
    frame, about = pvlib.iotools.read_epw(io.StringIO(text))
    starts = pd.DatetimeIndex(frame.index)
    frame = frame[["ghi", "dni", "dhi", "temp_air", "wind_speed"]].astype(np.float64)
    for names, none in (
        ((["ghi", "dni", "dhi"]), 9999.0),
        (["temp_air"], 99.9),
        (["wind_speed"], 999.0),
    ):
        frame[names] = frame[names].where(frame[names] < none)
    middles = starts.tz_convert("UTC") + _HALF_HOUR
    # Some typical years are stamped with one year only; then the header says so.
    typical = _TYPICAL_KINDS.search(str(about["data_type"])) is not None
    parsed = at_times(frame, middles, starts.tz_localize(None), typical=typical)
    site = make_site(about["latitude"], about["longitude"], about["altitude"])
    return ParsedWeather(parsed.frame, site=site, typical=parsed.typical)


def read_pvgis_tmy(text: str, kind: str) -> ParsedWeather:
    """Return PVGIS's typical year; the light belongs to the stamps plus the stated offset."""
    source: Any = io.BytesIO(text.encode()) if kind == "csv" else io.StringIO(text)
    frame, about = pvlib.iotools.read_pvgis_tmy(source, pvgis_format=kind)
    inputs = _flat(about["inputs"])
    hours = float(inputs.get("irradiance time offset", inputs.get("irradiance_time_offset", 0.0)))
    times = to_stand_in_year(pd.DatetimeIndex(frame.index)) + pd.Timedelta(
        seconds=round(hours * 3600)
    )
    known = times.notna()
    return ParsedWeather(
        frame[known].set_axis(times[known]), site=_pvgis_site(inputs), typical=True
    )


def read_pvgis_hourly(text: str, kind: str) -> ParsedWeather:
    """Return a PVGIS hourly series, which must be that of a horizontal plane."""
    frame, about = pvlib.iotools.read_pvgis_hourly(io.StringIO(text), pvgis_format=kind)
    inputs = _flat(about["inputs"])
    slope = re.match(r"\s*(-?\d+(\.\d+)?)", str(inputs.get("Slope", inputs.get("slope", ""))))
    if slope is None or float(slope[1]) != 0.0:
        raise WeatherError(
            "it holds the light on a tilted or tracking plane, and Sunveil needs that on a"
            " horizontal one; download it with slope 0 and radiation components"
        )
    if "poa_direct" in frame:
        light = horizontal_weather(frame)
    else:
        light = frame.rename(columns={"poa_global": "ghi"})
    return ParsedWeather(light, site=_pvgis_site(inputs))


def _pvgis_site(inputs: Mapping[str, Any]) -> Site:
    return make_site(inputs["latitude"], inputs["longitude"], inputs.get("elevation"))


def _flat(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return PVGIS's nested inputs as one level: a ``value`` goes by the name above it."""
    flat: dict[str, Any] = {}
    for name, value in inputs.items():
        if name == "descriptions":
            continue
        if isinstance(value, Mapping):
            flat |= {name: value["value"]} if "value" in value else _flat(value)
        else:
            flat[name] = value
    return flat


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
    """Return the frame indexed in UTC, and its times on the file's own clock."""
    # A clock without a stated zone is taken from `timezone`, else found from the file's column of
    # solar zenith angles where it has one.
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
    """Return naive times in UTC; NaT where daylight saving makes them unclear."""
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
        times = _parsed_times(values)
        if times is not None and 2 * int(np.sum(times.notna())) > len(times):
            return times
    return None


def _parsed_times(values: pd.Series[str]) -> pd.DatetimeIndex | None:
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


def is_there(path: Path) -> bool:
    """Whether there is a file of that name; False for names that no file can have."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_weather(
    path: str | os.PathLike[str], *, site: Site | None = None, timezone: str | None = None
) -> Weather:
    """Return the weather in a file.

    NSRDB downloads (PSM3 and PSM4), PVGIS hourly and typical years (CSV and JSON), TMY3, EPW, and
    any CSV or Parquet table with times and columns by their usual names are recognised by content.
    """
    kinds: tuple[type[object], ...] = (str, os.PathLike)
    instance("path", path, kinds, give="the path of a weather file")
    if site is not None:
        instance("site", site, Site, give="a Site, or None where the file names its place")
    if timezone is not None:
        text("timezone", timezone, give="UTC-07:00 or an IANA name")
    file = Path(path)
    if not is_there(file):
        raise WeatherError(f"there is no weather file {file.name[:200]!r}; check its path")
    try:
        parsed = _parsed(file, site, timezone)
    except (WeatherError, ParameterError) as error:
        raise _named(error, file) from error
    except (*PARSER_ERRORS, duckdb.Error) as error:
        raise WeatherError(
            f"{file.name} cannot be read as weather: it is damaged, truncated or of an unsupported"
            " format; give an NSRDB, PVGIS, TMY3 or EPW file, or a table of weather data"
        ) from error
    where = parsed.site or site
    if where is None:
        raise WeatherError(f"{file.name} does not say where its weather is; give the site")
    return to_weather(parsed.frame, site=where, source=file.name, typical=parsed.typical)


def _named(error: Exception, file: Path) -> WeatherError:
    """Return the error with the file's name in its sentence."""
    said = str(error)
    return WeatherError(said if file.name in said else f"{file.name} cannot be used: {said}")


def _parsed(file: Path, site: Site | None, timezone: str | None) -> ParsedWeather:
    try:
        with file.open("rb") as handle:
            start = handle.read(4)
        if start == b"PAR1":
            return _table(read_parquet(file), file.name, site, timezone)
        text = _decoded(file.read_bytes())
    except OSError as error:
        raise WeatherError(
            f"{file.name} cannot be opened ({error.strerror}); check the path of the weather file"
        ) from error
    if not text.strip():
        raise WeatherError(f"{file.name} is empty; give a file with weather in it")
    reader = _recognised(text)
    if reader is not None:
        return reader(text)
    return _table(pd.read_csv(io.StringIO(text), low_memory=False), file.name, site, timezone)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # station names in older files


def _recognised(text: str) -> Callable[[str], ParsedWeather] | None:
    """Return the reader of the format that ``text`` begins like, or None for a plain table."""
    first, _, rest = text.partition("\n")
    second = rest.partition("\n")[0]
    if text.lstrip().startswith("{"):
        return _json_reader(text)
    if first.startswith("LOCATION,"):
        return read_epw
    if first.startswith("Latitude (decimal degrees)"):
        typical = re.search(r"^time\(UTC\),", text, re.MULTILINE) is not None
        reader = read_pvgis_tmy if typical else read_pvgis_hourly
        return partial(reader, kind="csv")
    if second.startswith("Date (MM/DD/YYYY)"):
        return read_tmy3
    if {"Latitude", "Longitude", "Time Zone"} <= {name.strip() for name in first.split(",")}:
        return read_psm
    return None


def _json_reader(text: str) -> Callable[[str], ParsedWeather]:
    try:
        outputs = json.loads(text)["outputs"]
        typical = "tmy_hourly" in outputs
        known = typical or "hourly" in outputs
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise WeatherError("it is JSON, but not a whole answer of PVGIS; download it again")
    return partial(read_pvgis_tmy if typical else read_pvgis_hourly, kind="json")


def _table(
    frame: pd.DataFrame, source: str, site: Site | None, timezone: str | None
) -> ParsedWeather:
    indexed, local = with_times(frame, source=source, site=site, timezone=timezone)
    return at_times(frame, pd.DatetimeIndex(indexed.index), local)
