"""Real PV systems in other climates, each behind the meter of a real home of Fontana."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache

import pandas as pd

from benchmarks import real
from benchmarks.net_simulated import behind_meter
from benchmarks.net_systems import KnownNet, Truths
from benchmarks.real_case import RealCase

# One plane each, and a year or more of readings.
NAMES = (
    *("serf_east", "sanyo", "vermont", "nist_ground", "stanford", "almeria"),
    *("turin", "utrecht", "garage", "pvod_01", "heggelbach", "fsec"),
)
# How far the clock of a source is from the sun's, where it is known to be wrong. [h]
AHEAD = {"fsec": 1}
# Homes beside each, and how much of a record is taken.
EACH, DAYS = 4, 366


@cache
def systems_elsewhere() -> dict[str, tuple[RealCase, pd.Series]]:
    """Return the systems that are here, each with an hourly year stamped at its start."""
    cases, missing = real.load_all(names=NAMES)
    for name, reason in missing.items():
        print(f"{name} is left out: {reason}", flush=True)
    return {case.name: (case, hourly_year(case)) for case in cases}


def hourly_year(case: RealCase) -> pd.Series:
    """Return a case's first year in hours that were mostly read, on standard time. [kW]"""
    step = case.interval_minutes
    label = case.label if case.label != "auto" else "middle" if step < 30 else "start"
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[label] * step
    power = case.power.clip(lower=0.0).tz_convert("UTC")
    power.index = power.index - pd.Timedelta(minutes=before)
    power.index = power.index + pd.Timedelta(hours=AHEAD.get(case.name, 0))
    hours = power.resample("1h")
    power = hours.mean().where(hours.count() >= 0.75 * 60.0 / step)
    zone = f"Etc/GMT{-round(case.site.longitude / 15.0):+d}"
    return power.iloc[: 24 * DAYS].tz_convert(zone)


def alone() -> Iterator[KnownNet]:
    """Yield the systems as if nobody lived there: what they give alone is taken for the truth."""
    for name, (case, power) in systems_elsewhere().items():
        power = power.dropna()
        yield KnownNet(name, power, 0.0 * power, case.site, None, math.nan)


def behind_homes(truths: Truths) -> Iterator[KnownNet]:
    """Yield each system less the loads of some homes, by the clock of its place."""
    for number, (name, (plane, capacity)) in enumerate(truths.items()):
        case, power = systems_elsewhere()[name]
        for place in range(EACH * number, EACH * (number + 1)):
            generation, load = behind_meter(power, place)
            kw = capacity * float(generation.sum() / power.sum())
            yield KnownNet(f"{name} {place}", generation, load, case.site, plane, kw)
