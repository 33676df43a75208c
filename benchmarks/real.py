"""Real, labelled PV series: what the benchmarks are measured on.

None of the data is part of the project. Three series come from a data folder, named by the
environment variable ``SUNVEIL_DATA`` or by ``--data``; the others come inside packages of the
package index and are read from where pip put them. A series that is not there raises
:class:`MissingDataError`, so that a run can say so and go on.

Stamps are kept as the source declares them, right or wrong; :func:`reclock` puts a case on
another clock. Each stamp names the start of its interval.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pvlib

from sunveil.site import Site

WEATHER_COLUMNS = ("ghi", "dni", "dhi", "temp_air", "wind_speed")
CLEAR_COLUMNS = ("ghi_clear", "dni_clear", "dhi_clear")
SERF = Site(39.742, -105.1727, 1795.0)


class MissingDataError(Exception):
    """A series whose folder or package is not on this machine."""


@dataclass(frozen=True, slots=True, eq=False)
class RealCase:
    """One real series with its label.

    Parameters
    ----------
    name
        What the benchmark calls it.
    power
        AC power on the declared clock, stamped at the start of each interval; gaps are left
        out. [kW]
    site
        Where it is.
    weather
        ``ghi``, ``dni``, ``dhi`` [W/m²], ``temp_air`` [°C] and ``wind_speed`` [m/s] at the
        instants of its UTC index, with ``*_clear`` where the source has them; or None.
    azimuth, tilt
        The label. [degrees]
    dc_kw
        Nameplate DC capacity where the source states it. [kW]
    note
        What to know before trusting a comparison.
    declared_timezone
        The clock that the source declares, as ``"UTC-07:00"``.
    """

    name: str
    power: pd.Series
    site: Site
    weather: pd.DataFrame | None
    azimuth: float
    tilt: float
    dc_kw: float | None
    note: str
    declared_timezone: str

    @property
    def interval_minutes(self) -> float:
        """The usual length of one interval, in minutes."""
        seconds = np.diff(self.power.index.as_unit("s").asi8)
        return float(np.median(seconds)) / 60.0


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


def fixed_offset(hours: float) -> tzinfo:
    """Return a clock that many hours ahead of UTC, without daylight saving."""
    return timezone(timedelta(hours=hours)) if hours else UTC


def offset_name(hours: float) -> str:
    """Return ``"UTC-07:00"`` for -7, ``"UTC"`` for 0."""
    sign, minutes = "-" if hours < 0 else "+", round(abs(hours) * 60)
    return f"UTC{sign}{minutes // 60:02d}:{minutes % 60:02d}" if minutes else "UTC"


def serf_east(data: str | Path | None = None) -> RealCase:
    """NREL SERF East, PVDAQ 50: two years of 15 minutes, with one NSRDB year."""
    folder = data_folder(data) / "serf_east"
    return RealCase(
        name="serf_east",
        power=_read_watts(folder / "ac_power_15min.csv", -7),
        site=SERF,
        weather=_read_nsrdb(folder / "nsrdb_2016_30min.csv"),
        azimuth=158.0,
        tilt=45.0,
        dc_kw=6.0,
        note="the NSRDB year is 2016, so it covers July to December of the readings",
        declared_timezone=offset_name(-7),
    )


def fsec(data: str | Path | None = None) -> RealCase:
    """FSEC Cocoa, PVDAQ 1403, inverter 2: three years of 15 minutes on a misdeclared clock."""
    folder = data_folder(data) / "fsec"
    return RealCase(
        name="fsec",
        power=_read_watts(folder / "ac_power_15min.csv", -4),
        site=Site(28.405, -80.7709),
        weather=None,
        azimuth=180.0,
        tilt=35.0,
        dc_kw=3.2,
        note="declared UTC-4, the sun says UTC-5; output declines; capacity is about 3.2 kW",
        declared_timezone=offset_name(-4),
    )


def garage(data: str | Path | None = None) -> RealCase:
    """NREL parking garage, PVDAQ 1332: 1.15 MW, 15 minutes, half of it missing, snow."""
    folder = data_folder(data)
    return RealCase(
        name="garage",
        power=_read_watts(folder / "garage" / "ac_power_15min.csv", -7),
        site=Site(39.7388, -105.1732, 1770.0),
        weather=_read_nsrdb(folder / "serf_east" / "nsrdb_2016_30min.csv"),
        azimuth=180.0,
        tilt=16.77,
        dc_kw=1153.5,
        note="a minor part is a 60° facade; the weather is of a site 0.4 km away, 2016 only",
        declared_timezone=offset_name(-7),
    )


def serf_2016(data: str | Path | None = None) -> RealCase:
    """SERF East inside pvanalytics: July to October 2016, 15 minutes, with PSM3 weather."""
    folder = package_folder("pvanalytics") / "data"
    weather = pd.read_csv(folder / "serf_east_psm3_data.csv", index_col=0)
    weather.index = pd.to_datetime(weather.index, utc=True)
    return RealCase(
        name="serf_2016",
        power=_read_watts(folder / "serf_east_15min_ac_power.csv", -7),
        site=SERF,
        weather=_tidy_weather(weather),
        azimuth=158.0,
        tilt=45.0,
        dc_kw=6.0,
        note="a summer and a piece of autumn only; hourly PSM3 interpolated to 15 minutes",
        declared_timezone=offset_name(-7),
    )


def serf_dst(data: str | Path | None = None) -> RealCase:
    """SERF East, one inverter, inside pvanalytics: 2011 to 2013 with daylight saving left in."""
    folder = package_folder("pvanalytics") / "data"
    frame = pd.read_parquet(folder / "system_50_ac_power_2_full_DST.parquet")
    weather = pd.read_parquet(folder / "system_50_ac_power_2_full_DST_psm3.parquet")
    weather = weather.set_index("index")
    power = pd.Series(frame["ac_power_2"].to_numpy(), index=pd.DatetimeIndex(frame["measured_on"]))
    return RealCase(
        name="serf_dst",
        power=_tidy_power(power / 1000.0, -7),
        site=SERF,
        weather=_tidy_weather(weather),
        azimuth=158.0,
        tilt=45.0,
        dc_kw=None,
        note="stamps say UTC-7 but carry daylight saving in summer; one of two inverters, ~3 kW",
        declared_timezone=offset_name(-7),
    )


def almeria(data: str | Path | None = None) -> RealCase:
    """Almería, 2023: hourly, a 4 MW free-standing bifacial plant behind a smaller inverter."""
    return _simeasren(
        "almeria",
        Site(36.931, -2.472),
        offset=0,
        label=(178.0, 22.0, 3992.0),
        note="bifacial; 3,992 kWp behind about 3.8 MW; filled days left out; outages",
    )


def turin(data: str | Path | None = None) -> RealCase:
    """Turin, 2019 and 2020, January to October: hourly, a 604 kW university roof."""
    case = turin_clock_step(data)
    # the stamps fall back an hour with the end of daylight saving, and stay there to New Year
    index = case.power.index
    end = [pd.Timestamp(f"{year}-10-25", tz=index.tz) for year in index.year.unique()]
    keep = np.logical_or.reduce([(index.year == e.year) & (index < e) for e in end])
    return replace(
        case,
        name="turin",
        power=case.power[keep],
        note="January to 24 October of each year, while the clock is truly UTC+1",
    )


def turin_clock_step(data: str | Path | None = None) -> RealCase:
    """Turin, whole years: from late October to New Year the stamps are an hour slow."""
    return _simeasren(
        "turin_clock_step",
        Site(45.065, 7.659),
        offset=1,
        label=(206.0, 26.0, 604.0),
        note="UTC+1 until late October, UTC from there to New Year, and so again each year",
    )


def utrecht(data: str | Path | None = None) -> RealCase:
    """Utrecht, 2014 to 2017: hourly, a 1.9 kW residential roof."""
    return _simeasren(
        "utrecht",
        Site(51.97, 5.329),
        offset=0,
        label=(170.0, 30.0, 1.9),
        note="coordinates are approximate; days filled by simulation left out; cloudy",
    )


LOADERS: dict[str, Callable[[str | Path | None], RealCase]] = {
    "serf_east": serf_east,
    "fsec": fsec,
    "garage": garage,
    "serf_2016": serf_2016,
    "serf_dst": serf_dst,
    "almeria": almeria,
    "turin": turin,
    "turin_clock_step": turin_clock_step,
    "utrecht": utrecht,
}


def load(name: str, data: str | Path | None = None) -> RealCase:
    """Return one case by name; ``MissingDataError`` if its folder or package is not here."""
    if name not in LOADERS:
        raise MissingDataError(f"no case is called {name}; there are {', '.join(LOADERS)}")
    try:
        return LOADERS[name](data)
    except FileNotFoundError as error:
        raise MissingDataError(f"{name} needs {error.filename}, which is not there") from error


def load_all(data: str | Path | None = None) -> tuple[list[RealCase], dict[str, str]]:
    """Return every case that is here, and for each that is not the reason."""
    cases, missing = [], {}
    for name in LOADERS:
        try:
            cases.append(load(name, data))
        except MissingDataError as error:
            missing[name] = str(error)
    return cases, missing


def reclock(case: RealCase, hours: float) -> RealCase:
    """Return the case with the same wall-clock stamps declared on another fixed offset."""
    index = case.power.index.tz_localize(None).tz_localize(fixed_offset(hours))
    power = pd.Series(case.power.to_numpy(), index=index, name=case.power.name)
    return replace(case, power=power, declared_timezone=offset_name(hours))


def year_slice(case: RealCase, year: int) -> RealCase:
    """Return one calendar year of the case, on its declared clock, weather cut alike."""
    power = case.power[case.power.index.year == year]
    if power.empty:
        raise MissingDataError(f"{case.name} has no readings in {year}")
    weather = case.weather
    if weather is not None:
        margin = pd.Timedelta(days=1)
        weather = weather.loc[power.index[0] - margin : power.index[-1] + margin]
        # a day of weather at the edge is no weather for the year
        weather = weather if len(weather) and weather.index[-1] > power.index[0] + margin else None
    return replace(case, name=f"{case.name}_{year}", power=power, weather=weather)


def with_weather_only(case: RealCase) -> RealCase:
    """Return the readings that the case's own weather covers."""
    if case.weather is None:
        raise MissingDataError(f"{case.name} has no weather")
    step = pd.Timedelta(minutes=case.interval_minutes)
    index = case.power.index
    covered = (index >= case.weather.index[0]) & (index + step <= case.weather.index[-1])
    return replace(case, name=f"{case.name}_weather", power=case.power[covered])


def hourly(case: RealCase) -> RealCase:
    """Return the case averaged to whole hours of which every interval was read."""
    count = round(60.0 / case.interval_minutes)
    groups = case.power.resample("1h")
    return replace(case, name=f"{case.name}_hourly", power=groups.mean()[groups.count() == count])


def _read_watts(path: Path, hours: float) -> pd.Series:
    """Read a two-column file of stamps and watts."""
    frame = pd.read_csv(path, index_col=0)
    stamps = pd.to_datetime(frame.index)
    return _tidy_power(pd.Series(frame.iloc[:, 0].to_numpy() / 1000.0, index=stamps), hours)


def _tidy_power(power: pd.Series, hours: float) -> pd.Series:
    """Put kilowatts on a fixed offset, in order, without gaps and doubles."""
    zone = fixed_offset(hours)
    index = pd.DatetimeIndex(power.index)
    index = index.tz_localize(zone) if index.tz is None else index.tz_convert(zone)
    tidy = pd.Series(power.to_numpy(dtype=float), index=index, name="power_kw").dropna()
    return tidy[~tidy.index.duplicated()].sort_index()


def _read_nsrdb(path: Path) -> pd.DataFrame:
    frame = pd.read_csv(path, index_col=0)
    frame.index = pd.to_datetime(frame.index, utc=True)
    return _tidy_weather(frame)


def _tidy_weather(frame: pd.DataFrame) -> pd.DataFrame:
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


def _simeasren(
    name: str, site: Site, *, offset: float, label: tuple[float, float, float], note: str
) -> RealCase:
    """Read the hourly sheets of one workbook of the package ``simeasren``."""
    place = name.split("_")[0].capitalize()
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
    azimuth, tilt, dc_kw = label
    return RealCase(
        name=name,
        power=_tidy_power(_without_filled_days(fraction) * dc_kw, offset),
        site=site,
        weather=None,
        azimuth=azimuth,
        tilt=tilt,
        dc_kw=dc_kw,
        note=note,
        declared_timezone=offset_name(offset),
    )


def _without_filled_days(fraction: pd.Series) -> pd.Series:
    """Drop the days that were filled by a simulation, which has three decimals and no more."""
    lit = fraction[fraction > 0.0]
    rounded = (lit - lit.round(3)).abs() < 1e-9
    share = rounded.groupby(lit.index.normalize()).mean()
    filled = share.index[share > 0.5]
    return fraction[~fraction.index.normalize().isin(filled)]
