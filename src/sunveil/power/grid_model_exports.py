"""OpenDSS, pandapower, pvlib, Parquet, CSV."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pvlib

from sunveil._files import write_whole
from sunveil._options import checked
from sunveil.errors import ParameterError, SunveilError
from sunveil.power import plane_power, posterior
from sunveil.power.power_result import BAND, FleetPower
from sunveil.site import Site

# Planes with less of a group's capacity are omitted from model chains.
LEAST_SHARE = 0.005


@checked
def write_opendss(power: FleetPower, folder: Path, *, which: str = "power_kw") -> list[Path]:
    """Write one load shape for each group, and the script that defines them all.

    A shape is the group's power over its highest, as OpenDSS multiplies a generator's ``kw`` by it.

    Parameters
    ----------
    folder
        Where; it is made if it is not there.
    which
        ``power_kw`` for the middle of the draws, ``low_kw`` or ``high_kw`` for an end of the band.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.grid_model_exports import write_opendss
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_opendss(example_power(), Path(folder))]
    ['all.csv', 'loadshapes.dss']
    """
    if which not in ("power_kw", "low_kw", "high_kw"):
        raise ParameterError("a load shape is of power_kw, low_kw or high_kw")
    folder.mkdir(parents=True, exist_ok=True)
    names = _file_names(power.groups)
    hours = power.grid.step / 3600.0
    lines, files = [], []
    for name, values in zip(names, getattr(power, which), strict=True):
        top = max(float(values.max()), 1e-6)
        path = folder / f"{name}.csv"
        write_whole(path, "".join(f"{value:.5f}\n" for value in values / top))
        files.append(path)
        lines.append(
            f"New LoadShape.{name} npts={power.grid.count} interval={hours:g}"
            f" mult=(file={name}.csv) ! highest {top:.3f} kW\n"
        )
    script = folder / "loadshapes.dss"
    write_whole(script, "".join(lines))
    return [*files, script]


@checked
def bus_frame(
    power: FleetPower, buses: Mapping[str, int], *, which: str = "power_kw"
) -> pd.DataFrame:
    """Return generation by bus in MW, one column for each, as pandapower's controllers take it.

    Parameters
    ----------
    buses
        The bus of every group; groups of one bus are added up.
    which
        As for :func:`write_opendss`.

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.grid_model_exports import bus_frame
    >>> frame = bus_frame(example_power(), {"all": 3})
    >>> list(frame.columns), len(frame)
    ([3], 192)
    """
    lacking = [group for group in power.groups if group not in buses]
    if lacking:
        raise ParameterError(f"no bus is given for the group {lacking[0]}")
    if which not in ("power_kw", "low_kw", "high_kw"):
        raise ParameterError("generation is of power_kw, low_kw or high_kw")
    values = getattr(power, which).astype(np.float64) / 1e3
    columns: dict[int, Any] = {}
    for group, row in zip(power.groups, values, strict=True):
        bus = buses[group]
        columns[bus] = columns.get(bus, 0.0) + row
    return pd.DataFrame(columns, index=power.times)


@checked
def model_chains(power: FleetPower, site: Site | None = None) -> dict[str, Any]:
    """Return a pvlib ``ModelChain`` for every group: its planes as arrays of one system.

    Capacities are the means of the draws. The chain is PVWatts with the losses that the power was
    made with; planes with little capacity are omitted and their capacity is shared out.

    Parameters
    ----------
    site
        The site; the place of each group if None.

    Examples
    --------
    >>> from sunveil.example_publication import example_power
    >>> from sunveil.power.grid_model_exports import model_chains
    >>> chains = model_chains(example_power())
    >>> type(chains["all"]).__name__
    'ModelChain'
    """
    losses = power.chain.losses
    found = {}
    for place, group in enumerate(power.groups):
        where = site or power.skies[place].light.site
        mean = power.mixture.weights[:, place].mean(axis=0).astype(np.float64)
        total = float(mean.sum())
        kept = np.flatnonzero(mean >= LEAST_SHARE * total)
        scale = total / mean[kept].sum()
        arrays = [
            pvlib.pvsystem.Array(
                pvlib.pvsystem.FixedMount(
                    float(power.mixture.surface_tilt[i]), float(power.mixture.surface_azimuth[i])
                ),
                module_parameters={
                    "pdc0": 1e3 * scale * mean[i] * (1.0 - losses.system),
                    "gamma_pdc": losses.gamma_pdc,
                },
                temperature_model_parameters={"u0": 25.0 / power.chain.mount.heat,
                                              "u1": 6.84 / power.chain.mount.heat},
                albedo=power.chain.albedo,
            )
            for i in kept
        ]  # fmt: skip
        inverter = {"pdc0": 1e3 * total / losses.inverter_efficiency,
                    "eta_inv_nom": losses.inverter_efficiency}  # fmt: skip
        system = pvlib.pvsystem.PVSystem(arrays=arrays, inverter_parameters=inverter)
        location = pvlib.location.Location(where.latitude, where.longitude, altitude=where.height)
        found[group] = pvlib.modelchain.ModelChain(
            system, location, dc_model="pvwatts", ac_model="pvwatts", aoi_model="physical",
            spectral_model="no_loss", temperature_model="faiman",
            transposition_model="perez-driesse",
            losses_model="no_loss", name=group,
        )  # fmt: skip
    return found


def _file_names(groups: tuple[str, ...]) -> list[str]:
    """Return names that can be files and OpenDSS elements, one for each group."""
    names = [re.sub(r"[^A-Za-z0-9_-]+", "_", group) or "group" for group in groups]
    if len({name.lower() for name in names}) != len(names):
        names = [f"{name}_{place}" for place, name in enumerate(names)]
    return names


PARQUET, CSV, SUMMARY, PAGE = "power.parquet", "power.csv", "power.json", "report.html"


def write_power(power: FleetPower, folder: Path) -> list[Path]:
    """Write a fleet's power into a folder: Parquet, CSV, and a summary as JSON."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError(f"{folder} exists and is not an empty folder; name a new one")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        frame = power.frame()
        frame.to_parquet(folder / PARQUET, index=False)
        _write_csv(power, folder / CSV)
        text = json.dumps(power_summary(power), indent=2, ensure_ascii=False, allow_nan=False)
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


def power_summary(power: FleetPower) -> dict[str, Any]:
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
                "of_all": plane_power.COMMON_ERROR,
                "of_a_system": plane_power.SYSTEM_ERROR,
            },
            "weather_error": {
                "over_the_span": plane_power.WEATHER_BIAS,
                "of_an_interval": [plane_power.CLEAR_ERROR, plane_power.CLOUD_ERROR],
            },
            "prior_spreads": {
                "sectors": posterior.SECTOR_SPREAD,
                "bands": posterior.BAND_SPREAD,
                "classes": posterior.CLASS_SPREAD,
                "cells": posterior.CELL_SPREAD,
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
