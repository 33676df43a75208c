"""360 simulated systems, each with one thing that makes it hard, and their readings on disk.

The same numbers give the same systems for as long as the simulator stays as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from sunveil.simulate import (
    Horizon,
    SimulatedSky,
    SystemTruth,
    Tracker,
    clipped,
    daylight_saving_stamps,
    draw_systems,
    east_west,
    fast_clock,
    simulate_power,
    simulate_sky,
    tracking,
    western_horizon,
)
from sunveil.site import Plane, Site

SEED, YEAR = 15_360, 2019
TRUTH = ("system_id", "group", "stress", "latitude", "longitude", "altitude", "interval_minutes")
TRUTH += ("azimuth", "tilt", "dc_kw", "clock_minutes", "clock_saving")
COUNTS = {"fixed": 160, "clocks": 60, "horizon": 50, "east-west": 50, "trackers": 40}
# No cycle below is a multiple of 7 long, so every stress meets every interval.
INTERVALS = (60, 60, 30, 60, 60, 15, 60)
# The simulator's own cities are all north of the equator.
SOUTHERN = (
    (Site(-33.87, 151.21, 40.0), "Australia/Sydney"),
    (Site(-33.93, 18.42, 60.0), "Africa/Johannesburg"),
)
STRESSES = (
    *("none",) * 5,
    *("gaps and snow",) * 3,
    *("clipping",) * 2,
    "40% missing",
    "summer only",
    "45 days",
    "half a year",
    "soiling and wear",
    "6% noise",
)
CLOCKS = (
    "60 min fast",
    "60 min slow",
    "30 min fast",
    "30 min slow",
    "120 min fast",
    "standard time said to be UTC",
    "daylight saving left in",
    "daylight saving left in, 60 min fast",
    "daylight saving taken out twice",
    "stamps at the end",
    "stamps in the middle",
    "none",
)


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Systems with their truth and their readings on disk.

    Parameters
    ----------
    truth
        One row per system, with the columns of ``TRUTH``.
    folder
        Holds ``readings``, long Parquet files of one interval each.
    label
        How the stamps are declared.
    """

    truth: pd.DataFrame
    folder: Path
    label: str

    def readings(self) -> pd.DataFrame:
        """Return the readings of these systems as one long frame."""
        paths = sorted((self.folder / "readings").glob("*.parquet"))
        every = pd.concat(pd.read_parquet(path) for path in paths)
        return every[every["system_id"].isin(self.truth["system_id"])]


def simulated_cases(cache: Path) -> Cases:
    """Return the simulated systems, made on first use and kept from there on."""
    folder = cache / "simulated"
    if not (folder / "truth.csv").exists():
        print("simulating 360 systems", file=sys.stderr, flush=True)
        rows, series = [], {}
        for one in stressed_systems():
            name, site, plane = one.truth.system_id, one.truth.site, one.plane
            series[name] = (one.power, one.interval_minutes)
            facing = (plane.surface_azimuth, plane.surface_tilt) if plane else (np.nan, np.nan)
            row = (name, one.group, one.stress, site.latitude, site.longitude, site.altitude)
            row += (one.interval_minutes, *facing, one.truth.dc_capacity_kw)
            rows.append((*row, one.clock_minutes, one.clock_saving))
        _write(folder, rows, series)
    return Cases(_read_truth(folder / "truth.csv"), folder, "start")


def _write(folder: Path, rows: list[tuple], series: dict[str, tuple[pd.Series, int]]) -> None:
    (folder / "readings").mkdir(parents=True, exist_ok=True)
    for minutes in sorted({minutes for _, minutes in series.values()}):
        parts = [
            pd.DataFrame({"system_id": name, "time": power.index, "power_kw": power.to_numpy()})
            for name, (power, each) in series.items()
            if each == minutes
        ]
        pd.concat(parts).to_parquet(folder / "readings" / f"{minutes}-minutes.parquet", index=False)
    truth = pd.DataFrame(rows, columns=list(TRUTH))
    # last, so that a folder with it is whole
    truth.round({"azimuth": 3, "tilt": 3, "dc_kw": 4}).to_csv(folder / "truth.csv", index=False)


def _read_truth(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"stress": "str"}).fillna({"stress": ""})


@dataclass(frozen=True, slots=True, eq=False)
class StressedSystem:
    """One system, with its readings.

    Parameters
    ----------
    truth
        What makes its power.
    group, stress
        What it is there for.
    interval_minutes
        Length of its intervals. [minutes]
    power
        Readings, each stamped with the start of its interval in UTC, or so the file declares. [kW]
    clock_minutes
        How far its stamps run ahead of that outside daylight saving. [minutes]
    clock_saving
        How its stamps treat daylight saving, in the words of ``DaylightSaving``.
    """

    truth: SystemTruth
    group: str
    stress: str
    interval_minutes: int
    power: pd.Series
    clock_minutes: float = 0.0
    clock_saving: str = "as_declared"

    @property
    def plane(self) -> Plane | None:
        """The plane, for a pair the mean of both normals, for a tracker None."""
        return None if self.truth.tracker else mean_plane(self.truth.planes)


def stressed_systems() -> Iterator[StressedSystem]:
    """Yield the systems, group by group."""
    makers: dict[str, Callable[[SystemTruth, int, int], StressedSystem]] = {
        "fixed": _fixed,
        "clocks": _clock,
        "horizon": _horizon,
        "east-west": _pair,
        "trackers": _tracker,
    }
    drawn = iter(draw_systems(sum(COUNTS.values()), seed=SEED))
    for group, count in COUNTS.items():
        for number in range(count):
            truth = replace(next(drawn), system_id=f"{group}-{number + 1:03d}")
            if number % 15 == 7:
                truth = _moved_south(truth, *SOUTHERN[number // 15 % 2])
            yield makers[group](truth, number, INTERVALS[number % len(INTERVALS)])


def mean_plane(planes: Sequence[tuple[Plane, float]]) -> Plane:
    """Return the plane whose normal is the mean of some, weighted by their shares."""
    east, north, up = sum(share * np.asarray(plane.normal) for plane, share in planes)
    azimuth = float(np.degrees(np.arctan2(east, north))) % 360.0
    return Plane(azimuth, float(np.degrees(np.arctan2(np.hypot(east, north), up))))


@cache
def _sky(site: Site) -> SimulatedSky:
    where = round((site.latitude + 90.0) * 100.0), round((site.longitude + 180.0) * 100.0)
    seed = int(np.random.SeedSequence([SEED, *where]).generate_state(1)[0])
    return simulate_sky(site, YEAR, seed=seed)


def _random(truth: SystemTruth) -> np.random.Generator:
    return np.random.default_rng([SEED, *truth.system_id.encode()])


def _power(
    truth: SystemTruth,
    minutes: int,
    *,
    noise: float = 0.02,
    horizon: Horizon | None = None,
    degradation: float = 0.0,
    soiling: float = 0.0,
) -> pd.Series:
    return simulate_power(
        truth,
        _sky(truth.site),
        seed=int(_random(truth).integers(2**32)),
        step_minutes=minutes,
        noise=noise,
        horizon=horizon,
        degradation=degradation,
        soiling=soiling,
    )


def _moved_south(truth: SystemTruth, site: Site, timezone: str) -> SystemTruth:
    """Put a system south of the equator, where roofs face the other way."""
    plane = Plane((180.0 - truth.plane.surface_azimuth) % 360.0, truth.plane.surface_tilt)
    return replace(truth, site=site, timezone=timezone, planes=((plane, 1.0),))


def _fixed(truth: SystemTruth, number: int, minutes: int) -> StressedSystem:
    stress = STRESSES[number % len(STRESSES)]
    rng = _random(truth)
    if stress == "clipping":
        truth = clipped(truth, float(rng.uniform(1.5, 1.8)))
    if stress == "soiling and wear":
        power = _power(truth, minutes, degradation=0.02, soiling=0.002)
    else:
        power = _power(truth, minutes, noise=0.06 if stress == "6% noise" else 0.02)
    if stress in ("gaps and snow", "40% missing"):
        missing = 0.05 if stress == "gaps and snow" else 0.4
        winter = (12, 1, 2) if truth.site.latitude > 0.0 else (6, 7, 8)
        power = missing_and_snow(
            power, seed=number, timezone=truth.timezone, missing=missing, winter=winter
        )
    if stress == "summer only":
        power = summer_only(power)
    if stress in ("45 days", "half a year"):
        days = 45 if stress == "45 days" else 182
        per_day = 24 * 60 // minutes
        start = int(rng.integers(365 - days)) * per_day
        power = power.iloc[start : start + days * per_day]
    return StressedSystem(truth, "fixed", stress, minutes, power)


def _clock(truth: SystemTruth, number: int, minutes: int) -> StressedSystem:
    stress = CLOCKS[number % len(CLOCKS)]
    # another instant of its interval can be told only where half an hour is half of it
    minutes = 60 if stress.startswith("stamps") else minutes
    power = _power(truth, minutes)
    saving = "as_declared"
    if "daylight saving" in stress:
        moved = (
            daylight_saving_stamps(power, truth.timezone)
            if "left in" in stress
            else _saving_taken_out_twice(power, truth.timezone)
        )
        if not moved.index.equals(power.index):  # some places save no daylight
            saving = "left_in" if "left in" in stress else "applied_twice"
        power = moved
    ahead = {
        "60 min fast": 60.0,
        "60 min slow": -60.0,
        "30 min fast": 30.0,
        "30 min slow": -30.0,
        "120 min fast": 120.0,
        "standard time said to be UTC": _standard_minutes(truth.timezone),
        "daylight saving left in, 60 min fast": 60.0,
        "stamps at the end": float(minutes),
        "stamps in the middle": minutes / 2.0,
    }.get(stress, 0.0)
    return StressedSystem(truth, "clocks", stress, minutes, fast_clock(power, ahead), ahead, saving)


def _saving_taken_out_twice(power: pd.Series, timezone: str) -> pd.Series:
    index = pd.DatetimeIndex(power.index)
    saved = [stamp.dst() or timedelta(0) for stamp in index.tz_convert(timezone)]
    moved = power.set_axis(index - pd.TimedeltaIndex(saved).as_unit(index.unit))
    return moved[~moved.index.duplicated(keep="first")].sort_index()


def _standard_minutes(timezone: str) -> float:
    moments = [pd.Timestamp(YEAR, month, 1, tz=timezone) for month in (1, 7)]
    return min(moment.utcoffset().total_seconds() for moment in moments) / 60.0


def _horizon(truth: SystemTruth, number: int, minutes: int) -> StressedSystem:
    elevation = 10.0 + 25.0 * number / (COUNTS["horizon"] - 1)
    west = western_horizon(elevation)
    side = "west" if number % 2 == 0 else "east"
    horizon: Horizon = west if side == "west" else lambda azimuth: west(360.0 - azimuth)
    power = _power(truth, minutes, horizon=horizon)
    return StressedSystem(truth, "horizon", f"{elevation:.0f}° in the {side}", minutes, power)


def _pair(truth: SystemTruth, number: int, minutes: int) -> StressedSystem:
    rng = _random(truth)
    azimuth = float(rng.choice([90.0, 270.0]) + rng.normal(0.0, 15.0))
    plane = Plane(azimuth, float(rng.uniform(12.0, 40.0)))
    share = float(rng.uniform(0.35, 0.65))
    pair = east_west(replace(truth, planes=((plane, 1.0),)), share=share)
    stress = f"tilt {plane.surface_tilt:.0f}°, {max(share, 1.0 - share):.0%} on one side"
    return StressedSystem(pair, "east-west", stress, minutes, _power(pair, minutes))


def _tracker(truth: SystemTruth, number: int, minutes: int) -> StressedSystem:
    backtrack = number % 2 == 0
    turning = tracking(truth, Tracker(dual_axis=False, backtrack=backtrack))
    stress = "one axis, backtracking" if backtrack else "one axis"
    return StressedSystem(turning, "trackers", stress, minutes, _power(turning, minutes))


def summer_only(series: pd.Series) -> pd.Series:
    """Return the readings of June to August."""
    return series[pd.DatetimeIndex(series.index).month.isin([6, 7, 8])]


def missing_and_snow(
    series: pd.Series,
    *,
    seed: int,
    timezone: str = "UTC",
    missing: float = 0.05,
    spells: int = 5,
    winter: tuple[int, ...] = (12, 1, 2),
) -> pd.Series:
    """Return a record with whole days missing and spells of snow in winter."""
    rng = np.random.default_rng(seed)
    days = pd.DatetimeIndex(series.index).tz_convert(timezone).normalize()
    every = days.unique()
    starts = np.flatnonzero(every.month.isin(winter))
    snowy = np.zeros(len(every), dtype=bool)
    for start in rng.choice(starts, size=min(spells, len(starts)), replace=False):
        snowy[start : start + rng.integers(2, 7)] = True
    gone = rng.choice(len(every), size=round(missing * len(every)), replace=False)
    out = series.where(~days.isin(every[snowy]), 0.0)
    return out[~days.isin(every[gone])]
