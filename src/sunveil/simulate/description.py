"""What is written beside a simulated fleet: its systems, its truth, and how it was made."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.simulate.fault_rates import CLEAN_FLEET, MIX, REALISM, FaultRates
from sunveil.simulate.fleet_spec import FleetSpec, ReadingsLayout
from sunveil.simulate.roster import FIXED, MOUNTS, TWO_AXES, SimulatedRoster
from sunveil.simulate.skyline import Skyline
from sunveil.simulate.spells import YEAR_DAYS
from sunveil.simulate.stamps import CLOCKS
from sunveil.site import Array, normals
from sunveil.weather.base import utc_index

KIND = "simulated fleet of sunveil"
# Fields of the roster that the lists of planes and the trackers of the truth are made of.
_MOUNTED = (
    "first_azimuth",
    "first_tilt",
    "second_azimuth",
    "second_tilt",
    "first_share",
    "turning",
    "dual_axis",
    "axis_azimuth",
    "backtrack",
    "gcr",
    "max_angle",
)
_PLANE = (
    "{{surface_azimuth: {0}_azimuth, surface_tilt: {0}_tilt, share: {1},"
    " dc_capacity_kw: {1} * dc_capacity_kw}}"
)
_FIRST, _SECOND = (
    _PLANE.format(*each) for each in (("first", "first_share"), ("second", "(1 - first_share)"))
)
# The truth as it is written, of its columns: planes and tracker named as those of estimates.
TRUTH_SELECT = f"""
    * EXCLUDE ({", ".join(_MOUNTED)}),
    CASE WHEN turning THEN [] WHEN first_share < 1 THEN [{_FIRST}, {_SECOND}] ELSE [{_FIRST}] END
        AS planes,
    CASE WHEN turning THEN {{axis_azimuth: axis_azimuth, backtrack: backtrack, gcr: gcr,
        max_angle: max_angle, dual_axis: dual_axis}} END AS tracker
"""
# Fields of the roster that are columns of the truth as they are.
_PLAIN = (
    "dc_capacity_kw",
    "dc_ac_ratio",
    "losses",
    "gamma_pdc",
    "albedo",
    "noise",
    "shade_azimuth",
    "shade_width",
    "shade_elevation",
    "age_years",
    "degradation",
    "soiling",
    "dead_share",
    "scale_factor",
    "sentinel",
)
# Spells of the roster that are columns as their length, by the name of the column.
_SPELLS = {
    "dead_days": "dead",
    "negative_days": "negative",
    "stuck_days": "stuck",
    "scale_days": "scale",
}

_README = """\
# A simulated fleet

{systems:,} PV systems that do not exist, in {cells:,} weather cells of 0.1 by 0.1 degrees, over
{year}. Made by Sunveil {version} with seed {seed}: the same command writes the same bytes.

| file | what |
|---|---|
| `readings/part-*.parquet` | {layout} |
| `systems.parquet` | what a utility knows: `system_id`, `latitude`, `longitude`, `altitude` [m], \
`timezone`, and the public key `feeder` |
| `truth.parquet` | what is true of each system: to measure an inference with, never its input |
| `fleet.json` | how the fleet was made, for machines |

Readings are mean AC power over {interval} minutes in kW, in whole watts. Stamps name the start of
the interval in UTC, as declared; a wrong clock shows in what stands at which stamp. Missing
readings {missing}. Systems of a cell share one sky, that over its centre, every {sky} minutes:
{weather}. Power is PVWatts with Perez-Driesse's sky, incidence losses and cell temperature.

## How it is spread

Planes and capacities have the weights of two public lists of systems (OEDI's PVDAQ in the
Americas, Open Climate Fix's elsewhere). {faults}
"""

_FAULTS = """\
`truth.parquet` tells which system has what.

| what | how much |
|---|---|
{rows}"""

# What the README says of each field of the fault rates.
_WORDS = {
    "noise": "median relative error of a reading",
    "noise_spread": "lognormal spread of that error between systems",
    "loss_spread": "standard deviation of system losses about the nominal ones",
    "hour_fast": "share of clocks an hour fast",
    "hour_slow": "share of clocks an hour slow",
    "half_hour_fast": "share of clocks half an hour fast",
    "half_hour_slow": "share of clocks half an hour slow",
    "daylight_saving": "share of clocks with daylight saving left in, where the place saves it",
    "label_end": "share of systems stamped at the end of the interval",
    "label_middle": "share of systems stamped at the middle of the interval",
    "clock_steps": "share of clocks that step by an hour on one day",
    "oversized": "share of systems with 1.4 to 1.8 times the inverter's capacity",
    "shaded": "share of systems with an obstacle on the sun's side",
    "east_west": "share of systems on both sides of a ridge",
    "hipped": "share of systems on two sides around a corner",
    "trackers": "share of systems that follow the sun",
    "late": "share of records that begin within the year",
    "short": "share of records of 4 to 40 days",
    "hour_gaps": "gaps of 1 to 12 hours, a year",
    "day_gaps": "gaps of 1 to 7 days, a year",
    "week_gaps": "gaps of 1 to 8 weeks, a year",
    "down_days": "times at zero for 1 to 5 days, a year",
    "down_weeks": "times at zero for 1 to 6 weeks, a year",
    "snowfall": "chance that a dull day below freezing covers the modules with snow",
    "uneven": "shape of the gamma distribution of gaps between systems",
    "soiling": "median loss by each day without rain",
    "soiling_spread": "lognormal spread of that loss between systems",
    "dry_seasons": "share of cells without rain for four to six months",
    "degradation": "median loss by each year of age",
    "degradation_spread": "standard deviation of that loss between systems",
    "oldest_years": "age of the oldest systems, in years",
    "skylines": "share of systems with hills, trees and houses around them",
    "turbidity_season": "lognormal spread of the season of turbidity about the maps'",
    "climate": "standard deviation of the swing of temperature about its latitude's, in K",
    "smog": "share of cells where haze takes half of the light in winter",
    "dead_strings": "share of systems that lose a string for 2 to 10 months",
    "negative": "share of systems that read below zero by day for 3 to 40 days",
    "stuck": "share of systems that repeat one reading for up to 10 days",
    "wrong_scale": "share of systems that have a month in a wrong scale",
    "sentinels": "share of systems whose missing readings are -999 or -9999",
}


def truth_columns(
    spec: FleetSpec,
    rosters: Sequence[SimulatedRoster],
    ids: Sequence[str],
    *,
    smog: Sequence[float],
    measured: dict[str, NDArray[Any]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of the table of systems, and of the table of what is true of them.

    Parameters
    ----------
    spec
        What the fleet was to be.
    rosters
        The systems of each of its cells.
    ids
        The names of all systems, cell after cell.
    smog
        What smog takes in each cell.
    measured
        Columns that were known when the power was made, among them the number of readings.
    """
    cells = spec.cells
    counts = [len(roster) for roster in rosters]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(roster, name) for roster in rosters])

    def spread(values: list[Any]) -> NDArray[Any]:
        return np.repeat(np.array(values), counts)

    altitude = spread([cell.site.height for cell in cells])
    number = spread([cell.number for cell in cells])
    feeders = zip(number, joined("feeder"), strict=True)
    systems = {
        "system_id": list(ids),
        "latitude": joined("latitude"),
        "longitude": joined("longitude"),
        "altitude": altitude,
        "timezone": spread([cell.timezone for cell in cells]).tolist(),
        "feeder": [f"feeder-{cell:05d}-{feeder:03d}" for cell, feeder in feeders],
    }
    values = {name: joined(name) for name in _PLAIN}
    mounted = _mounted(joined)
    truth = {
        "system_id": list(ids),
        "cell_latitude": spread([cell.site.latitude for cell in cells]),
        "cell_longitude": spread([cell.site.longitude for cell in cells]),
        **_effective(mounted),
        **values,
        "ac_limit_kw": values["dc_capacity_kw"] / values["dc_ac_ratio"],
        "mount": _named(joined("mount"), [mount.value for mount in MOUNTS]),
        "clock": _named(joined("clock"), [clock.value for clock in CLOCKS]),
        "later_clock": _named(joined("later_clock"), [clock.value for clock in CLOCKS]),
        "clock_step": _instants(joined("clock_step"), spec.year),
        "skyline": _skylines(joined("skyline")),
        "skyline_highest": joined("skyline").max(axis=1),
        "smog": spread(list(smog)),
        **{name: _days(joined(f"{of}_begin"), joined(f"{of}_end")) for name, of in _SPELLS.items()},
        **measured,
        **mounted,
    }
    return systems, truth


def _mounted(joined: Callable[[str], NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns of ``_MOUNTED``."""
    names = {"first_azimuth": "surface_azimuth", "first_tilt": "surface_tilt"}
    kind = joined("tracker")
    found = {"turning": kind != FIXED, "dual_axis": kind == TWO_AXES}
    found |= {name: joined(names.get(name, name)) for name in _MOUNTED if name not in found}
    for name in ("axis_azimuth", "gcr", "max_angle"):
        found[name] = np.where(found["dual_axis"], np.nan, found[name])
    found["backtrack"] &= ~found["dual_axis"]
    return found


def _effective(mounted: dict[str, NDArray[Any]]) -> dict[str, Array]:
    """Return azimuth and tilt of systems: of two planes those of their summed normal."""
    share, second = mounted["first_share"][:, None], mounted["first_share"] < 1.0
    parts = [normals(mounted[f"{of}_azimuth"], mounted[f"{of}_tilt"]) for of in ("first", "second")]
    east, north, up = (share * parts[0] + (1.0 - share) * parts[1])[second].T
    azimuth, tilt = mounted["first_azimuth"].copy(), mounted["first_tilt"].copy()
    azimuth[second] = np.degrees(np.arctan2(east, north)) % 360.0
    tilt[second] = np.degrees(np.arctan2(np.hypot(east, north), up))
    fixed = ~mounted["turning"]
    return {
        "surface_azimuth": np.where(fixed, azimuth, np.nan),
        "surface_tilt": np.where(fixed, tilt, np.nan),
    }


def make_description(spec: FleetSpec, truth: dict[str, Any], *, sky_minutes: int) -> str:
    """Return how a fleet was made, as JSON; no time and no machine is in it.

    Parameters
    ----------
    spec
        What the fleet was to be.
    truth
        The columns of the table of what is true of them.
    sky_minutes
        Spacing of the true sky. [minutes]
    """
    clocks = truth["clock"]
    description = {
        "kind": KIND,
        "sunveil": version("sunveil"),
        "systems": spec.systems,
        "seed": spec.seed,
        "year": spec.year,
        "interval_minutes": spec.interval_minutes,
        "label": "start",
        "timezone": "UTC",
        "layout": spec.layout.value,
        "realism": _realism(spec.rates),
        "weather": None if spec.weather is None else spec.weather.source,
        "sky_minutes": sky_minutes,
        "readings": int(np.sum(truth["readings"])),
        "habits": asdict(spec.rates),
        "found": {
            "clocks": {clock.value: clocks.count(clock.value) for clock in CLOCKS},
            "trackers": int(np.sum(truth["turning"])),
            "two_planes": int(np.sum(truth["first_share"] < 1.0)),
            "shaded": int(np.sum(~np.isnan(truth["shade_azimuth"]))),
            "skylines": int(np.sum(truth["skyline_highest"] > 0.0)),
            "snow": int(np.sum(truth["snow_days"] > 0)),
            "smog": int(np.sum(truth["smog"] > 0.0)),
            "clock_steps": int(np.sum(truth["clock_step"].notna())),
        },
        "cells": [
            {
                "name": cell.name,
                "latitude": cell.site.latitude,
                "longitude": cell.site.longitude,
                "altitude": cell.site.height,
                "timezone": cell.timezone,
                "systems": cell.systems,
            }
            for cell in spec.cells
        ],
    }
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def make_readme(spec: FleetSpec, *, sky_minutes: int) -> str:
    """Return the README of a fleet's folder; its sky is made every ``sky_minutes``."""
    rates = spec.rates
    long = spec.layout is ReadingsLayout.LONG
    rows = "\n".join(f"| {_WORDS[name]} | {value:g} |" for name, value in asdict(rates).items())
    return _README.format(
        systems=spec.systems,
        cells=len(spec.cells),
        year=spec.year,
        version=version("sunveil"),
        seed=spec.seed,
        interval=spec.interval_minutes,
        sky=sky_minutes,
        weather="simulated, with clouds"
        if spec.weather is None
        else f"the weather of {spec.weather.source}",
        layout="one row per reading: `system_id`, `time`, `power_kw`; sorted, systems whole"
        if long
        else "one row per system: `system_id`, `start`, `interval_minutes`, `power_kw` as a list",
        missing="have no row" if long else "are null",
        faults=_FAULTS.format(rows=rows)
        if rates != CLEAN_FLEET
        else f"It is a clean fleet: noise of {rates.noise:.0%} and nothing else befalls it.",
    )


def _realism(rates: FaultRates) -> str:
    """Return how like a real fleet one is, whatever its mix of planes and trackers."""
    mix = {name: getattr(rates, name) for name in MIX}
    return next((name for name, each in REALISM.items() if replace(each, **mix) == rates), "custom")


def _named(codes: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    return [names[code] for code in codes]


def _instants(fractions: Array, year: int) -> pd.DatetimeIndex:
    """Return fractions of a year as UTC stamps; none where they are NaN."""
    start, end = np.datetime64(f"{year}", "s"), np.datetime64(f"{year + 1}", "s")
    seconds = np.nan_to_num(fractions) * (end - start).astype(np.float64)
    stamps = start + seconds.astype(np.int64).astype("timedelta64[s]")
    return utc_index(np.where(np.isnan(fractions), np.datetime64("NaT"), stamps))


def _skylines(skylines: Skyline) -> list[list[float] | None]:
    return [each.round(1).tolist() if each.any() else None for each in skylines]


def _days(begin: Array, end: Array) -> Array:
    return np.round(YEAR_DAYS * np.nan_to_num(end - begin), 1)
