"""A real series with its label, and what can be made of it: years, hours, other clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo

import numpy as np
import pandas as pd

from sunveil.site import Site

QUANTITIES = ("azimuth", "tilt", "capacity")
PLANE = frozenset({"azimuth", "tilt"})


class MissingDataError(Exception):
    """A series whose folder or package is not on this machine."""


def fixed_offset(hours: float) -> tzinfo:
    """Return a clock that many hours ahead of UTC, without daylight saving."""
    return timezone(timedelta(hours=hours)) if hours else UTC


def offset_name(hours: float) -> str:
    """Return ``"UTC-07:00"`` for -7, ``"UTC"`` for 0."""
    sign, minutes = "-" if hours < 0 else "+", round(abs(hours) * 60)
    return f"UTC{sign}{minutes // 60:02d}:{minutes % 60:02d}" if minutes else "UTC"


def interval_minutes(power: pd.Series) -> float:
    """Return the usual length of one interval, in minutes."""
    seconds = np.diff(power.index.as_unit("s").asi8)
    return float(np.median(seconds)) / 60.0


@dataclass(frozen=True, slots=True, eq=False)
class RealCase:
    """One real series with its label.

    Parameters
    ----------
    name
        What the benchmark calls it.
    power
        AC power on the declared clock, as it stands in the source, faults included; gaps may be
        left out. [kW]
    site
        Where it is.
    weather
        ``ghi``, ``dni``, ``dhi`` [W/m²], ``temp_air`` [°C] and ``wind_speed`` [m/s] at the
        instants of its UTC index, with ``*_clear`` where the source has them; or None.
    azimuth, tilt
        The label; None where there is none. [degrees]
    dc_kw
        Nameplate DC capacity where the source states it. [kW]
    note
        What to know before trusting a comparison.
    declared_timezone
        The clock that the source declares, as ``"UTC-07:00"``.
    label
        The instant of its interval that the source says a stamp names: ``"start"``,
        ``"middle"``, ``"end"``, or ``"auto"`` where no source says.
    counts
        Which of ``QUANTITIES`` an inference is judged by. A label that is known not to be what a
        perfect method would find is not among them.
    load_kw
        What the household used meanwhile, where the source has it. [kW]
    """

    name: str
    power: pd.Series
    site: Site
    weather: pd.DataFrame | None
    azimuth: float | None
    tilt: float | None
    dc_kw: float | None
    note: str
    declared_timezone: str
    label: str = "auto"
    counts: frozenset[str] = frozenset(QUANTITIES)
    load_kw: pd.Series | None = None

    def __post_init__(self) -> None:
        labels = zip(QUANTITIES, (self.azimuth, self.tilt, self.dc_kw), strict=True)
        known = {name for name, value in labels if value is not None}
        object.__setattr__(self, "counts", self.counts & known)

    @property
    def interval_minutes(self) -> float:
        """The usual length of one interval, in minutes."""
        return interval_minutes(self.power)


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
    load = None if case.load_kw is None else case.load_kw[case.load_kw.index.year == year]
    name = f"{case.name}_{year}"
    return replace(case, name=name, power=power, weather=weather, load_kw=load)


def single_years(case: RealCase, *, days: int = 180) -> list[RealCase]:
    """Return each calendar year of the case that has readings on so many days.

    Parameters
    ----------
    case
        A case of more than one year; of any other there is nothing to return.
    days
        How many days of a year must have readings.
    """
    read = case.power.dropna()
    read_days = read.index.normalize().unique()
    counts = read_days.year.value_counts().sort_index()
    years = counts.index[counts >= days]
    return [year_slice(case, int(year)) for year in years] if len(years) > 1 else []


def net(case: RealCase) -> RealCase:
    """Return what a meter of the household would read: generation less load."""
    if case.load_kw is None:
        raise MissingDataError(f"{case.name} has no load")
    return replace(case, name=f"{case.name}_net", power=case.power - case.load_kw)


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
