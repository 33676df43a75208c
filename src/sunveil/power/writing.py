"""Power as files: a Parquet table, a CSV table, and what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sunveil.errors import ParameterError, SunveilError
from sunveil.files import write_whole
from sunveil.power import priors, uncertainty
from sunveil.power.result import BAND, FleetPower

PARQUET, CSV, SUMMARY, PAGE = "power.parquet", "power.csv", "power.json", "report.html"


def write_power(power: FleetPower, folder: Path) -> list[Path]:
    """Write a fleet's power into a folder: Parquet, CSV, and a summary as JSON.

    Parameters
    ----------
    power
        The fleet's power.
    folder
        A folder that does not exist, or an empty one.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"{folder} exists and is not an empty folder; name a new one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        frame = power.frame()
        frame.to_parquet(folder / PARQUET, index=False)
        _write_csv(power, folder / CSV)
        text = json.dumps(summary(power), indent=2, ensure_ascii=False, allow_nan=False)
        write_whole(folder / SUMMARY, text + "\n")
    except OSError as error:
        raise SunveilError(
            f"the power cannot be written to {folder} ({error.strerror or type(error).__name__});"
            " give a folder on a disk with room that can be written"
        ) from error
    return [folder / name for name in (PARQUET, CSV, SUMMARY)]


def _write_csv(power: FleetPower, path: Path) -> None:
    """Write group after group, so that a large fleet needs no large text in memory."""
    stamps = np.datetime_as_string(power.grid.times, unit="s")
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("time,group,power_kw,low,high\n")
        for place, group in enumerate(power.groups):
            name = '"' + group.replace('"', '""') + '"' if set(group) & set(',"\n') else group
            rows = zip(stamps, power.power_kw[place], power.low_kw[place], power.high_kw[place],
                       strict=True)  # fmt: skip
            file.writelines(f"{t}Z,{name},{p:.4g},{a:.4g},{b:.4g}\n" for t, p, a, b in rows)


def summary(power: FleetPower) -> dict[str, Any]:
    """Return what was made, of what, and what the band holds, as plain JSON types."""
    light = power.skies[0].light
    hours = power.grid.step / 3600.0
    return {
        "band": BAND,
        "draws": power.mixture.draws,
        "groups": len(power.groups),
        "key": power.mixture.key,
        "systems": float(power.mixture.systems.sum()),
        "step_minutes": power.grid.step // 60,
        "start": str(power.times[0]),
        "intervals": power.grid.count,
        "energy_kwh": float(power.power_kw.sum(dtype=np.float64) * hours),
        "weather": {
            "source": light.weather.source,
            "clear": light.weather.clear,
            "typical": light.weather.typical,
        },
        "made": list(power.mixture.about),
        "assumed": {
            "losses": power.chain.losses.system,
            "inverter_efficiency": power.chain.losses.inverter_efficiency,
            "gamma_pdc": power.chain.losses.gamma_pdc,
            "mount": power.chain.mount.value,
            "albedo": power.chain.albedo,
            "dc_ac_ratios": None if power.chain.ratios is None else list(power.chain.ratios),
            "model_error": {
                "of_all": uncertainty.COMMON_ERROR,
                "of_a_system": uncertainty.SYSTEM_ERROR,
            },
            "weather_error": {
                "over_the_span": uncertainty.WEATHER_BIAS,
                "of_an_interval": [uncertainty.CLEAR_ERROR, uncertainty.CLOUD_ERROR],
            },
            "prior_spreads": {
                "sectors": priors.SECTOR_SPREAD,
                "bands": priors.BAND_SPREAD,
                "classes": priors.CLASS_SPREAD,
                "cells": priors.CELL_SPREAD,
            },
        },
        "notes": notes(power),
    }


def notes(power: FleetPower) -> list[str]:
    """Return what to bear in mind, in sentences."""
    weather = power.skies[0].light.weather
    said = []
    if weather.clear:
        said.append(
            "Under a clear sky: power and band are of days without clouds. Give measured weather"
            " for energy, and for what clouds do."
        )
    elif weather.typical:
        said.append(
            "Under a typical year: no real day looked like this; the band has a year's own."
        )
    if not weather.clear:
        said.append(
            "All systems of a place share one sky: clouds pass over a real fleet one by one."
        )
    return said
