"""The one type that every weather source returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.errors import WeatherError
from sunveil.site import Site

COLUMNS = ("ghi", "dni", "dhi", "temp_air", "wind_speed")


@dataclass(frozen=True, slots=True, eq=False)
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
        Where the values come from, for the record: ``"clearsky"``, ``"nsrdb"``, a file name.
    clear
        True when the values are what a cloudless sky would give, whatever the real sky did.
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

    def __post_init__(self) -> None:
        if self.times.tz is None or str(self.times.tz) != "UTC":
            raise WeatherError(f"the weather from {self.source} must have its times in UTC")
        if not self.times.is_monotonic_increasing or self.times.has_duplicates:
            raise WeatherError(f"the weather from {self.source} must have increasing, distinct times")
        if len(self.times) < 2:
            raise WeatherError(f"the weather from {self.source} is empty: at least two times are needed")
        for name in COLUMNS:
            values = getattr(self, name)
            if len(values) != len(self.times):
                raise WeatherError(f"{name} of {self.source} does not have one value per time")

    @property
    def step_minutes(self) -> float:
        """The usual spacing of the times. [minutes]"""
        seconds = np.diff(self.times.to_numpy().astype("datetime64[s]").astype(np.int64))
        return float(np.median(seconds)) / 60.0

    def to_frame(self) -> pd.DataFrame:
        """Return the values as a frame in pvlib's names, indexed by UTC time."""
        return pd.DataFrame({name: getattr(self, name) for name in COLUMNS}, index=self.times)

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, site: Site, source: str, clear: bool = False
    ) -> Weather:
        """Make weather of a frame with pvlib's column names and a time-zone-aware index.

        Missing temperature and wind are filled with 20 °C and 1 m/s, as pvlib does.
        """
        index = pd.DatetimeIndex(frame.index)
        if index.tz is None:
            raise WeatherError(
                f"the weather from {source} has times without a time zone; localise its index first"
            )
        missing = [name for name in ("ghi", "dni", "dhi") if name not in frame]
        if missing:
            raise WeatherError(f"the weather from {source} lacks the column(s) {', '.join(missing)}")
        defaults = {"temp_air": 20.0, "wind_speed": 1.0}
        values = {
            name: frame[name].to_numpy(dtype=np.float64)
            if name in frame
            else np.full(len(frame), defaults[name])
            for name in COLUMNS
        }
        return cls(site=site, times=index.tz_convert("UTC"), source=source, clear=clear, **values)
