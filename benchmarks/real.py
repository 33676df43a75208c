"""Real, labelled PV series: what the benchmarks are measured on.

None of the data is part of the project. Most series come from a data folder, named by the
environment variable ``SUNVEIL_DATA`` or by ``--data``; the others come inside packages of the
package index and are read from where pip put them. A series that is not there raises
:class:`MissingDataError`, so that a run can say so and go on.

Stamps are kept as the source declares them, right or wrong; :func:`reclock` puts a case on
another clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.real_case import (
    PLANE,
    QUANTITIES,
    MissingDataError,
    RealCase,
    fixed_offset,
    hourly,
    interval_minutes,
    net,
    offset_name,
    reclock,
    single_years,
    with_weather_only,
    year_slice,
)
from benchmarks.real_files import (
    SERF,
    data_folder,
    package_folder,
    read_nsrdb,
    read_simeasren,
    read_watts,
    tidy_power,
    tidy_weather,
)
from benchmarks.real_plain import PLAIN
from sunveil.site import Site

__all__ = [
    "LOADERS",
    "MissingDataError",
    "RealCase",
    "fixed_offset",
    "hourly",
    "interval_minutes",
    "load",
    "load_all",
    "net",
    "reclock",
    "single_years",
    "with_weather_only",
    "year_slice",
]


def serf_east(data: str | Path | None = None) -> RealCase:
    """NREL SERF East, PVDAQ 50: two years of 15 minutes, with one NSRDB year."""
    folder = data_folder(data) / "serf_east"
    return RealCase(
        name="serf_east",
        power=read_watts(folder / "ac_power_15min.csv", -7),
        site=SERF,
        weather=read_nsrdb(folder / "nsrdb_2016_30min.csv"),
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
        power=read_watts(folder / "ac_power_15min.csv", -4),
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
        power=read_watts(folder / "garage" / "ac_power_15min.csv", -7),
        site=Site(39.7388, -105.1732, 1770.0),
        weather=read_nsrdb(folder / "serf_east" / "nsrdb_2016_30min.csv"),
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
        power=read_watts(folder / "serf_east_15min_ac_power.csv", -7),
        site=SERF,
        weather=tidy_weather(weather),
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
        power=tidy_power(power / 1000.0, -7),
        site=SERF,
        weather=tidy_weather(weather),
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
        counts=PLANE,
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


def _simeasren(
    name: str,
    site: Site,
    *,
    offset: float,
    label: tuple[float, float, float],
    note: str,
    counts: frozenset[str] = frozenset(QUANTITIES),
) -> RealCase:
    azimuth, tilt, dc_kw = label
    return RealCase(
        name=name,
        power=tidy_power(read_simeasren(name.split("_")[0].capitalize()) * dc_kw, offset),
        site=site,
        weather=None,
        azimuth=azimuth,
        tilt=tilt,
        dc_kw=dc_kw,
        note=note,
        declared_timezone=offset_name(offset),
        counts=counts,
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
    **PLAIN,
}


def load(name: str, data: str | Path | None = None) -> RealCase:
    """Return one case by name; ``MissingDataError`` if its folder or package is not here."""
    if name not in LOADERS:
        raise MissingDataError(f"no case is called {name}; there are {', '.join(LOADERS)}")
    try:
        return LOADERS[name](data)
    except FileNotFoundError as error:
        raise MissingDataError(f"{name} needs {error.filename}, which is not there") from error


def load_all(
    data: str | Path | None = None, names: Iterable[str] = tuple(LOADERS)
) -> tuple[list[RealCase], dict[str, str]]:
    """Return every case that is here, or those of some names, and for each missing one why."""
    cases, missing = [], {}
    for name in names:
        try:
            cases.append(load(name, data))
        except MissingDataError as error:
            missing[name] = str(error)
    return cases, missing


if __name__ == "__main__":
    from benchmarks.real_systems import main

    main()
