"""What goes wrong with real systems and real records, one function each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from sunveil.arguments import HIGHEST_SEED, number, whole
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.simulate.power import Horizon
from sunveil.simulate.systems import SystemTruth
from sunveil.site import Array


@checked
def clipped(truth: SystemTruth, dc_ac_ratio: float = 1.7) -> SystemTruth:
    """Return a system whose inverter is too small for its modules."""
    return replace(truth, dc_ac_ratio=dc_ac_ratio)


@checked
def western_horizon(elevation: float = 35.0) -> Horizon:
    """Return a horizon that hides the sun west of south below ``elevation`` [degrees]."""

    def horizon(azimuth: Array) -> Array:
        return np.where(np.mod(azimuth, 360.0) > 180.0, elevation, 0.0)

    return horizon


# Ten years: no clock is further off. [minutes]
MOST_MINUTES = 5_256_000.0


@checked
def daylight_saving_stamps(series: pd.Series, timezone: str) -> pd.Series:
    """Return readings whose stamps run an hour ahead while the wall clock saves daylight.

    The index still claims standard time. Of the hour that comes twice in autumn the first is kept,
    as meters that overwrite do.
    """
    index = _index(series)
    ahead = [stamp.dst() or timedelta(0) for stamp in index.tz_convert(_zone(timezone))]
    moved = series.set_axis(index + pd.TimedeltaIndex(ahead).as_unit(index.unit))
    return moved[~moved.index.duplicated(keep="first")]


@checked
def fast_clock(series: pd.Series, minutes: float) -> pd.Series:
    """Return readings stamped ``minutes`` late: by a clock that runs ahead [minutes]."""
    number("minutes", minutes, low=-MOST_MINUTES, high=MOST_MINUTES)
    return series.set_axis(_index(series) + pd.Timedelta(minutes=minutes))


@checked
def summer_only(series: pd.Series) -> pd.Series:
    """Return the readings of June to August."""
    return series[_index(series).month.isin([6, 7, 8])]


@checked
def missing_and_snow(
    series: pd.Series,
    *,
    seed: int,
    timezone: str = "UTC",
    missing: float = 0.05,
    spells: int = 5,
    winter: tuple[int, ...] = (12, 1, 2),
) -> pd.Series:
    """Return a record with whole days missing and spells of snow in winter.

    Parameters
    ----------
    series
        The readings.
    seed
        Of what is missing and when it snows.
    timezone
        The clock whose days these are.
    missing
        Fraction of days without any reading.
    spells
        Spells of 2 to 6 days in winter with readings of zero.
    winter
        Months when it snows; others for the southern hemisphere.
    """
    whole("seed", seed, low=0, high=HIGHEST_SEED)
    number("missing", missing, low=0.0, high=1.0)
    whole("spells", spells, low=0, high=1000)
    rng = np.random.default_rng(seed)
    days = _index(series).tz_convert(_zone(timezone)).normalize()
    every = days.unique()
    starts = np.flatnonzero(every.month.isin(winter))
    snowy = np.zeros(len(every), dtype=bool)
    for start in rng.choice(starts, size=min(spells, len(starts)), replace=False):
        snowy[start : start + rng.integers(2, 7)] = True
    gone = rng.choice(len(every), size=round(missing * len(every)), replace=False)
    out = series.where(~days.isin(every[snowy]), 0.0)
    return out[~days.isin(every[gone])]


def _index(series: pd.Series) -> pd.DatetimeIndex:
    if not isinstance(series.index, pd.DatetimeIndex) or series.index.tz is None:
        raise ParameterError("series must be indexed by times with a time zone")
    return series.index


def _zone(timezone: str) -> ZoneInfo:
    try:
        return ZoneInfo(timezone)
    except (ValueError, OSError, KeyError, IndexError):
        raise ParameterError("timezone must be an IANA name, such as America/Denver") from None
