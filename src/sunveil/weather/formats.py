"""The weather file formats, each by its own conventions of place, clock and interval."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pvlib

from sunveil.errors import WeatherError
from sunveil.site import Site
from sunveil.weather.pvgis import horizontal_weather
from sunveil.weather.typical import STAND_IN_YEAR, is_typical, to_stand_in_year

_HALF_HOUR = pd.Timedelta(minutes=30)
_TYPICAL_KINDS = re.compile(r"TMY|IWEC|CWEC|TRY|typical", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedWeather:
    """A file's columns at their UTC instants, its site where it names one, and its kind."""

    frame: pd.DataFrame
    site: Site | None = None
    typical: bool = False


def make_site(latitude: object, longitude: object, altitude: object = None) -> Site:
    """Return a site from a file's metadata.

    Parameters
    ----------
    latitude, longitude
        As the file writes them. [degrees]
    altitude
        The same; looked up where it is no number, or none that Earth has. [m]
    """
    try:
        height = float(str(altitude))
    except ValueError:
        height = float("nan")
    return Site(
        float(str(latitude)), float(str(longitude)), height if -500.0 <= height <= 9000.0 else None
    )


def at_times(
    frame: pd.DataFrame,
    times: pd.DatetimeIndex,
    local: pd.DatetimeIndex,
    *,
    typical: bool = False,
) -> ParsedWeather:
    """Return a file's columns at their instants, as a typical year where it is one.

    Parameters
    ----------
    frame
        The columns.
    times
        The UTC instant of each row.
    local
        The same on the file's own clock, by which typical years are known.
    typical
        Whether the file says that it is a typical year.
    """
    known = times.notna()
    if typical or is_typical(local[known]):
        return ParsedWeather(frame[known].set_axis(to_stand_in_year(times[known])), typical=True)
    return ParsedWeather(frame.set_axis(times))


def read_psm(text: str) -> ParsedWeather:
    """Return an NSRDB download (PSM3 and PSM4, real and typical years; also SAM's CSV).

    Two rows of metadata, then the table. Stamps are the instants the values belong to.
    """
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
    """Return a TMY3 file, whose stamps are the ends of hours in local standard time."""
    frame, about = pvlib.iotools.read_tmy3(io.StringIO(text))
    date = frame["Date (MM/DD/YYYY)"].str.split("/", expand=True).astype(int)
    clock = frame["Time (HH:MM)"].str.split(":", expand=True).astype(int)
    days = {"year": STAND_IN_YEAR, "month": date[0], "day": date[1]}
    # 29 February does not exist in the stand-in year and becomes NaT, which is left out later.
    ends = pd.to_datetime(pd.DataFrame(days), errors="coerce")
    hours = pd.to_timedelta(clock[0] * 60 + clock[1], unit="min")
    middles = pd.DatetimeIndex(ends + hours) - _HALF_HOUR - pd.Timedelta(hours=about["TZ"])
    known = middles.notna()
    times = to_stand_in_year(middles[known].tz_localize("UTC"))
    site = make_site(about["latitude"], about["longitude"], about["altitude"])
    return ParsedWeather(frame[known].set_axis(times), site=site, typical=True)


def read_epw(text: str) -> ParsedWeather:
    """Return an EnergyPlus file: hours numbered 1 to 24 in local standard time.

    pvlib stamps their starts. 9999, 99.9 and 999 stand for what is missing.
    """
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
    # Some typical years are stamped with one year only; then the header tells.
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
