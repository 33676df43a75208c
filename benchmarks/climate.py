"""Usual and true air temperatures beside each other: ``python -m benchmarks.climate --data DIR``.

Compares ``climate_temperature``, and the climate by latitude that it
replaced, with the weather files inside pvlib and, with ``--data``, with those of the shared data.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pvlib
from numpy.typing import NDArray

from sunveil.site import Site
from sunveil.weather import read_weather
from sunveil.weather.clear_sky import clear_light
from sunveil.weather.climate_normals import climate_temperature

Array = NDArray[np.float64]
GOLDEN = Site(39.742, -105.1727, 1795.0)
# Sunny: the sun well up, and at least this share of a clear sky's global light.
CLEAR_GHI, CLEAR_SHARE = 200.0, 0.9
# The climate by latitude: |latitude|, mean at the sea [°C], half the seasonal swing [K].
ZONES = np.array([0.0, 15.0, 28.0, 40.0, 52.0, 65.0, 90.0])
MEANS = np.array([26.5, 26.0, 22.5, 17.5, 10.5, 0.0, -18.0])
SWINGS = np.array([0.0, 2.5, 5.5, 8.0, 8.0, 13.0, 18.0])
HEADER = (
    "| place | months, by latitude [K] | months, normals [K]"
    " | sunny hours, by latitude [K] | sunny hours, normals [K]"
    " | their summer less winter, by latitude [K] | normals [K] |\n|---|---|---|---|---|---|---|"
)


def by_latitude(site: Site, times: pd.DatetimeIndex) -> Array:
    """Return the temperature that the climate by latitude had. [°C]"""
    zone, kilometres = abs(site.latitude), site.height / 1000.0
    inland = float(np.clip(kilometres, 0.0, 2.0))
    days = (times.day_of_year.to_numpy() - 1.0) + times.hour / 24.0 + times.minute / 1440.0
    warmest = 202.0 if site.latitude >= 0.0 else 19.4
    season = np.interp(zone, ZONES, SWINGS) * (1.0 + 0.25 * inland)
    hours = 24.0 * days + site.longitude / 15.0
    return np.asarray(
        np.interp(zone, ZONES, MEANS)
        - 4.5 * kilometres
        + season * np.cos(2.0 * np.pi * (days - warmest) / 365.25)
        + (4.5 + 2.0 * inland) * np.cos(2.0 * np.pi * (hours - 15.0) / 24.0)
    )


def weather_files(data: Path | None) -> Iterator[tuple[str, Site, pd.DataFrame]]:
    """Yield the name, the site and ``temp_air`` and ``ghi`` by UTC time of each file."""
    inside = Path(str(files("pvlib") / "data"))
    table, about = pvlib.iotools.read_tmy2(inside / "12839.tm2")
    site = Site(about["latitude"], about["longitude"], float(about["altitude"]))
    middles = pd.DatetimeIndex(table.index).tz_convert("UTC") - pd.Timedelta(minutes=30)
    miami = {"temp_air": table["DryBulb"].to_numpy() / 10.0, "ghi": table["GHI"].to_numpy()}
    yield "Miami, TMY2", site, pd.DataFrame(miami, index=middles)
    named = {
        "Sand Point, Alaska, TMY3": inside / "703165TY.csv",
        "Greensboro, North Carolina, TMY3": inside / "723170TYA.CSV",
    }
    if data is not None:
        named |= {
            "Golden, Colorado, NSRDB 2016": data / "serf_east" / "nsrdb_2016_30min.csv",
            "Lake County, California, NSRDB 2012": data / "weather/psm3_38.93_-122.30_2012.csv",
            "Asti, Piedmont, PVGIS TMY": data / "weather" / "pvgis_tmy_45_8.csv",
        }
    for name, path in named.items():
        weather = read_weather(path, site=GOLDEN if "Golden" in name else None)
        yield name, weather.site, weather.to_frame()[["temp_air", "ghi"]]


def errors(site: Site, table: pd.DataFrame) -> pd.DataFrame:
    """Return by how much the usual temperatures are too high, month, and whether it is sunny.

    Parameters
    ----------
    site
        Where.
    table
        ``temp_air`` [°C] and ``ghi`` [W/m²] by UTC time.
    """
    times = pd.DatetimeIndex(table.index)
    zenith = site.sun(times)["apparent_zenith"].to_numpy(np.float64)
    clear = clear_light(site, zenith, times.day_of_year.to_numpy(), year=2001)["ghi"]
    sunny = (clear > CLEAR_GHI) & (table["ghi"].to_numpy() > CLEAR_SHARE * clear)
    local = times + pd.Timedelta(hours=site.longitude / 15.0)
    return pd.DataFrame(
        {
            "latitude": by_latitude(site, times) - table["temp_air"].to_numpy(),
            "normals": climate_temperature(site, times) - table["temp_air"].to_numpy(),
            "month": local.month,
            "sunny": sunny,
        }
    )


def figures(error: pd.DataFrame, kind: str) -> tuple[float, float, float]:
    """Return three errors of a kind of climate. [K]

    Root mean square over the months' means; mean over the months' sunny hours; and how much
    larger that is from May to August than from November to February.
    """
    months = error.groupby("month")[kind].mean()
    sunny = error[error["sunny"]].groupby("month")[kind].mean()
    summer, winter = sunny.reindex([5, 6, 7, 8]), sunny.reindex([11, 12, 1, 2])
    return float(np.sqrt((months**2).mean())), sunny.mean(), summer.mean() - winter.mean()


def main() -> None:
    """Print how far the normals are from weather files."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = os.environ.get("SUNVEIL_DATA")
    parser.add_argument("--data", type=Path, default=Path(known) if known else None)
    print(HEADER)
    rows = []
    for name, site, table in weather_files(parser.parse_args().data):
        error = errors(site, table.dropna())
        pairs = zip(figures(error, "latitude"), figures(error, "normals"), strict=True)
        rows.append([value for pair in pairs for value in pair])
        months = " | ".join(f"{value:.1f}" for value in rows[-1][:2])
        print(f"| {name} | {months} | " + " | ".join(f"{v:+.1f}" for v in rows[-1][2:]) + " |")
    together = np.sqrt((np.array(rows) ** 2).mean(axis=0))
    print("| root mean square | " + " | ".join(f"{value:.1f}" for value in together) + " |")


if __name__ == "__main__":
    main()
