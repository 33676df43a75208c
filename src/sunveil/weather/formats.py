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
from sunveil.weather.pvgis import horizontal
from sunveil.weather.typical import STAND_IN_YEAR, is_typical, stand_in

_HALF_HOUR = pd.Timedelta(minutes=30)
_TYPICAL_KINDS = re.compile(r"TMY|IWEC|CWEC|TRY|typical", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Parsed:
    """A file's columns at their UTC instants, its site where it names one, and its kind."""

    frame: pd.DataFrame
    site: Site | None = None
    typical: bool = False


def place(latitude: object, longitude: object, altitude: object = None) -> Site:
    """Return a site from a file's metadata; an altitude that is no number is looked up."""
    try:
        height = float(str(altitude))
    except ValueError:
        height = float("nan")
    return Site(
        float(str(latitude)), float(str(longitude)), height if -500.0 <= height <= 9000.0 else None
    )


def dated(
    frame: pd.DataFrame,
    times: pd.DatetimeIndex,
    local: pd.DatetimeIndex,
    *,
    typical: bool = False,
) -> Parsed:
    """Return the frame at ``times``, as a typical year when its clock or ``typical`` says so."""
    known = times.notna()
    if typical or is_typical(local[known]):
        return Parsed(frame[known].set_axis(stand_in(times[known])), typical=True)
    return Parsed(frame.set_axis(times))


def read_psm(text: str) -> Parsed:
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
    parsed = dated(frame, (local - offset).tz_localize("UTC"), local)
    site = place(about["Latitude"], about["Longitude"], about.get("Elevation"))
    return Parsed(parsed.frame, site=site, typical=parsed.typical)


def read_tmy3(text: str) -> Parsed:
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
    times = stand_in(middles[known].tz_localize("UTC"))
    site = place(about["latitude"], about["longitude"], about["altitude"])
    return Parsed(frame[known].set_axis(times), site=site, typical=True)


def read_epw(text: str) -> Parsed:
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
    parsed = dated(frame, middles, starts.tz_localize(None), typical=typical)
    site = place(about["latitude"], about["longitude"], about["altitude"])
    return Parsed(parsed.frame, site=site, typical=parsed.typical)


def read_pvgis_tmy(text: str, kind: str) -> Parsed:
    """Return PVGIS's typical year; the light belongs to the stamps plus the stated offset."""
    source: Any = io.BytesIO(text.encode()) if kind == "csv" else io.StringIO(text)
    frame, about = pvlib.iotools.read_pvgis_tmy(source, pvgis_format=kind)
    inputs = _flat(about["inputs"])
    hours = float(inputs.get("irradiance time offset", inputs.get("irradiance_time_offset", 0.0)))
    times = stand_in(pd.DatetimeIndex(frame.index)) + pd.Timedelta(seconds=round(hours * 3600))
    known = times.notna()
    return Parsed(frame[known].set_axis(times[known]), site=_pvgis_site(inputs), typical=True)


def read_pvgis_hourly(text: str, kind: str) -> Parsed:
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
        light = horizontal(frame)
    else:
        light = frame.rename(columns={"poa_global": "ghi"})
    return Parsed(light, site=_pvgis_site(inputs))


def _pvgis_site(inputs: Mapping[str, Any]) -> Site:
    return place(inputs["latitude"], inputs["longitude"], inputs.get("elevation"))


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
