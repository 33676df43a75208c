"""II-C: daily normalisation, day groups, prototypical days."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil._options import checked
from sunveil.errors import TooLittleData
from sunveil.estimates.inference_options import DayGroup
from sunveil.meters.record import Record
from sunveil.pv_model import Sky, covered, plane_irradiance, sky_at
from sunveil.site import Array, SkyModel
from sunveil.weather.weather_data import Weather

DAY = 86400


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A prototypical day of one group: private data."""

    group: int  # number of the group
    day: int  # number of the solar day
    times: NDArray[np.datetime64]  # UTC middles of its N intervals
    power: Array  # power over the day, normalised to [0, 1]
    scale: float  # [kW] what the power was divided by

    def __repr__(self) -> str:
        return f"Profile(group {self.group}, {len(self.times)} intervals, private)"


def normalise(values: Array) -> Array:
    """Bring each row to [0, 1]; a row without variation becomes zero."""
    low = values.min(axis=-1, keepdims=True)
    span = values.max(axis=-1, keepdims=True) - low
    scaled = np.divide(values - low, span, out=np.zeros_like(values), where=span > 0.0)
    return np.asarray(scaled)


def group_of(days: NDArray[np.int64], group: DayGroup) -> NDArray[np.int64]:
    """Return the number of the group that each day (since 1970) belongs to."""
    if group is DayGroup.DAY:
        return days
    if group is DayGroup.WEEK:
        return np.asarray((days + 3) // 7)  # day 0 was a Thursday
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return np.asarray(months if group is DayGroup.MONTH else months // 3)


def correlation(first: Array, second: Array) -> Array:
    """Return the correlation of each row of two matrices; without variation, -1."""
    a = first - first.mean(axis=1, keepdims=True)
    b = second - second.mean(axis=1, keepdims=True)
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    out = np.full(len(a), -1.0)
    return np.asarray(np.divide((a * b).sum(axis=1), scale, out=out, where=scale > 0.0))


def whole_days(
    record: Record, weather: Weather
) -> tuple[NDArray[np.int64], NDArray[np.datetime64], Array]:
    """Return the solar days that have weather and every daylight reading."""
    # Meters that sleep at night leave no readings there: they count as no power.
    step = round(record.interval_minutes * 60.0)
    per_day = DAY // step
    turn = round(weather.site.longitude * 240.0 / step) * step
    local = record.times.astype("datetime64[s]").astype(np.int64) + turn
    origin = int(local[0] % step)
    first = int((local[0] - origin) // DAY)
    days = np.arange(first, int((local[-1] - origin) // DAY) + 1)
    power = np.full(len(days) * per_day, np.nan)
    power[(local - origin - first * DAY) // step] = record.power_kw
    starts = first * DAY + origin - turn + step * np.arange(len(power))
    middles = (starts + step // 2).astype("datetime64[s]")
    dark = sky_at(weather, middles, sky_model=SkyModel.ISOTROPIC).sun[:, 2] <= 0.0
    power[dark & np.isnan(power)] = 0.0
    power[~covered(weather, middles)] = np.nan
    table = power.reshape(-1, per_day)
    full = np.isfinite(table).all(axis=1)
    if not full.any():
        raise TooLittleData(
            f"system {record.system_id} has no day with weather and all its daylight readings; the"
            " paper's method needs whole days, so use the default method"
        )
    return days[full], middles.reshape(-1, per_day)[full], table[full]


@checked
def prototypical_days(record: Record, weather: Weather, *, group: DayGroup) -> list[Profile]:
    """Return the clearest day of each group: that of the highest correlation of DNI and GHI."""
    days, times, power = whole_days(record, weather)
    # only DNI and GHI are used here: no need to spread the diffuse light
    sky = sky_at(weather, times.ravel(), sky_model=SkyModel.ISOTROPIC)
    up = sky.sun[:, 2] > 0.0
    dni = np.where(up, sky.dni, 0.0).reshape(times.shape)
    ghi = np.where(up, sky.ghi, 0.0).reshape(times.shape)
    clearness = np.where(power.max(axis=1) > 0.0, correlation(dni, ghi), -2.0)
    groups = group_of(days, group)
    out = []
    for number in np.unique(groups):
        members = np.flatnonzero(groups == number)
        best = int(members[clearness[members].argmax()])
        if clearness[best] > -1.0:
            out.append(
                Profile(
                    group=int(number),
                    day=int(days[best]),
                    times=times[best],
                    power=normalise(power[best]),
                    scale=float(np.ptp(power[best])),
                )
            )
    if not out:
        raise TooLittleData(f"system {record.system_id} has no day with any power")
    return out


def candidate_profiles(
    sky: Sky, normals: Array, *, albedo: float, to_the_letter: bool = False
) -> Array:
    """Return the normalised irradiance of candidates over one day: the paper's p̂, its eq. 2."""
    light = plane_irradiance(
        sky, normals, albedo=albedo, diffuse_modifier=False, circumsolar_modifier=not to_the_letter
    )
    return normalise(np.where(sky.sun[:, 2] > 0.0, light, 0.0))
