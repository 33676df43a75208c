"""How a simulated fleet was made, as it is written beside it: for people and for machines."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from sunveil.simulate.fault_rates import CLEAN_FLEET, MIX, REALISM, FaultRates
from sunveil.simulate.fleet_spec import FleetSpec, NetColumns, NetMix, ReadingsLayout
from sunveil.simulate.stamps import CLOCKS

KIND = "simulated fleet of sunveil"
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
{net}"""

_FAULTS = """\
`truth.parquet` tells which system has what.

| what | how much |
|---|---|
{rows}"""

_NET = """
## Net meters

`metering` in `systems.parquet` says of each system whether its meter sees its generation or only
the net of generation and the load of a household, above zero where power flows to the grid.
{share:.0%} of them see the net; of these {batteries:.0%} have a battery and {cars:.0%} of the homes
an electric car.

{columns}
Loads are simulated, with the shapes of real homes' and none of their values; `truth.parquet` has
their mean, what was used of the generation, batteries and cars.
"""
_COLUMNS = {
    NetColumns.SIGNED: "Readings are generation less load.",
    NetColumns.TWO: "Readings are import and export, both above zero where power flowed both ways"
    "\nwithin an interval; generation meters export all that they read.",
    NetColumns.EXPORT: "Readings are what flows to the grid alone; generation meters send all.",
}

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
    description: dict[str, Any] = {
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
    if spec.net.share:
        description["net"] = asdict(spec.net)
        description["found"] |= {
            "net_meters": int(np.sum(truth["metering"] == "net")),
            "batteries": int(np.sum(truth["battery_kwh"] > 0.0)),
            "cars": sum(each is not None for each in truth["car"]),
        }
    return json.dumps(description, indent=1, ensure_ascii=False) + "\n"


def make_readme(spec: FleetSpec, *, sky_minutes: int) -> str:
    """Return the README of a fleet's folder; its sky is made every ``sky_minutes``."""
    rates = spec.rates
    long = spec.layout is ReadingsLayout.LONG
    names = " and ".join(f"`{name}`" for name in spec.net.columns.names)
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
        layout=f"one row per reading: `system_id`, `time`, {names}; sorted, systems whole"
        if long
        else f"one row per system: `system_id`, `start`, `interval_minutes`, {names} as a list",
        net=_net_words(spec.net),
        missing="have no row" if long else "are null",
        faults=_FAULTS.format(rows=rows)
        if rates != CLEAN_FLEET
        else f"It is a clean fleet: noise of {rates.noise:.0%} and nothing else befalls it.",
    )


def _net_words(mix: NetMix) -> str:
    """Return what the README says of net meters, if there are any."""
    if not mix.share:
        return ""
    return _NET.format(
        share=mix.share,
        batteries=mix.batteries,
        cars=mix.cars,
        columns=_COLUMNS[mix.columns],
    )


def _realism(rates: FaultRates) -> str:
    """Return how like a real fleet one is, whatever its mix of planes and trackers."""
    mix = {name: getattr(rates, name) for name in MIX}
    return next((name for name, each in REALISM.items() if replace(each, **mix) == rates), "custom")
