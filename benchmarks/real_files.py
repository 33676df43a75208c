"""Where the files of real series lie, and how they are read."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pvlib

from benchmarks.real_case import MissingDataError, fixed_offset
from sunveil.site import Site

WEATHER_COLUMNS = ("ghi", "dni", "dhi", "temp_air", "wind_speed")
CLEAR_COLUMNS = ("ghi_clear", "dni_clear", "dhi_clear")
SERF = Site(39.742, -105.1727, 1795.0)


def data_folder(data: str | Path | None = None) -> Path:
    """Return the data folder: the one given, else that of ``SUNVEIL_DATA``."""
    chosen = data or os.environ.get("SUNVEIL_DATA")
    if not chosen:
        raise MissingDataError("no data folder: set SUNVEIL_DATA or give --data")
    return Path(chosen)


def package_folder(package: str) -> Path:
    """Return where a package lies, without importing it and what it needs."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingDataError(
            f"package {package} is not installed: pip install --no-deps {package}"
        )
    return Path(spec.submodule_search_locations[0])


def read_watts(path: Path, hours: float) -> pd.Series:
    """Read a two-column file of stamps and watts."""
    frame = pd.read_csv(path, index_col=0)
    stamps = pd.to_datetime(frame.index)
    return tidy_power(pd.Series(frame.iloc[:, 0].to_numpy() / 1000.0, index=stamps), hours)


def read_kilowatts(path: Path, hours: float) -> pd.DataFrame:
    """Read a file of stamps and kilowatts as it stands, on a fixed offset."""
    frame = pd.read_csv(path, index_col=0)
    stamps, zone = pd.DatetimeIndex(pd.to_datetime(frame.index)), fixed_offset(hours)
    frame.index = stamps.tz_localize(zone) if stamps.tz is None else stamps.tz_convert(zone)
    return frame.astype(float)


def tidy_power(power: pd.Series, hours: float) -> pd.Series:
    """Put kilowatts on a fixed offset, in order, without gaps and doubles."""
    zone = fixed_offset(hours)
    index = pd.DatetimeIndex(power.index)
    index = index.tz_localize(zone) if index.tz is None else index.tz_convert(zone)
    tidy = pd.Series(power.to_numpy(dtype=float), index=index, name="power_kw").dropna()
    return tidy[~tidy.index.duplicated()].sort_index()


def read_nsrdb(path: Path) -> pd.DataFrame:
    """Read one year of NSRDB weather."""
    frame = pd.read_csv(path, index_col=0)
    frame.index = pd.to_datetime(frame.index, utc=True)
    return tidy_weather(frame)


def tidy_weather(frame: pd.DataFrame) -> pd.DataFrame:
    """Give weather pvlib's names and a UTC index."""
    names = {"Temperature": "temp_air", "Wind Speed": "wind_speed"}
    names |= {upper.upper(): upper for upper in ("ghi", "dni", "dhi")}
    tidy = frame.rename(columns=names)
    tidy.index = pd.DatetimeIndex(tidy.index).tz_convert("UTC")
    if "dni" not in tidy:
        tidy = _split_global(tidy)
    kept = [name for name in WEATHER_COLUMNS + CLEAR_COLUMNS if name in tidy]
    tidy = tidy[kept].astype(float).dropna()
    return tidy[~tidy.index.duplicated()].sort_index()


def _split_global(frame: pd.DataFrame) -> pd.DataFrame:
    """Add ``dni`` and ``dhi``: the source's own under a clear sky, Erbs and Driesse's else."""
    zenith = SERF.sun(frame.index)["zenith"]
    days = frame.index.day_of_year.to_numpy()
    parts = pvlib.irradiance.erbs_driesse(frame["ghi"], zenith, datetime_or_doy=days)
    clear = (frame["ghi"] - frame["ghi_clear"]).abs() < 1e-6
    return frame.assign(
        dni=parts["dni"].where(~clear, frame["dni_clear"]),
        dhi=parts["dhi"].where(~clear, frame["dhi_clear"]),
    )


def read_simeasren(place: str) -> pd.Series:
    """Read the hourly sheets of one workbook of ``simeasren``, as a share of its capacity.

    Days that were filled by a simulation are left out.
    """
    path = package_folder("simeasren") / "data" / "measured_PV" / f"{place}.xlsx"
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    sheets = sorted(sheet for sheet in book.sheetnames if sheet.startswith(f"{place}20"))
    rows = [
        (row[0], row[4])
        for sheet in sheets
        for row in book[sheet].iter_rows(min_row=2, max_col=5, values_only=True)
        if row[0] is not None
    ]
    book.close()
    stamps, values = zip(*rows, strict=True)
    # stamps come out of the sheet's day numbers with microseconds of rounding
    index = pd.DatetimeIndex(stamps).round("s")
    fraction = pd.Series(np.array(values, dtype=float), index=index).dropna()
    return _without_filled_days(fraction)


def _without_filled_days(fraction: pd.Series) -> pd.Series:
    """Drop the days that were filled by a simulation, which has three decimals and no more."""
    lit = fraction[fraction > 0.0]
    rounded = (lit - lit.round(3)).abs() < 1e-9
    share = rounded.groupby(lit.index.normalize()).mean()
    filled = share.index[share > 0.5]
    return fraction[~fraction.index.normalize().isin(filled)]
