"""Make the normals inside the package: ``python -m benchmarks.make_climate TABLE.csv``.

The table has ``latitude``, ``longitude`` and the monthly means ``jan`` to ``dec`` [°C] of the
NCEP-NCAR Reanalysis 1 (NOAA PSL, public domain) every 2.5°.
"""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sunveil.weather
from sunveil.site import COLUMNS, ROWS
from sunveil.weather.climate_normals import DATA, SPACING, STEP, YEAR_DAYS

Array = NDArray[np.float64]
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
LENGTHS = np.array([31, 28.25, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
SHAPE = (73, 144)


def harmonics(monthly: Array, count: int = 2) -> Array:
    """Return mean, cosines and sines whose means over the months are nearest to ``monthly``.

    Parameters
    ----------
    monthly
        A column of twelve for each place. [°C]
    count
        How many harmonics of the year.
    """
    return np.linalg.lstsq(month_means(count), monthly, rcond=None)[0]


def month_means(count: int) -> Array:
    """Return the means over each month of one and of ``count`` pairs of cosine and sine."""
    middles = np.cumsum(LENGTHS) - LENGTHS / 2.0
    columns = [np.ones(12)]
    for harmonic in range(1, count + 1):
        angle = 2.0 * np.pi * harmonic * middles / YEAR_DAYS
        flattened = np.sinc(harmonic * LENGTHS / YEAR_DAYS)
        columns += [flattened * np.cos(angle), flattened * np.sin(angle)]
    return np.stack(columns, axis=1)


def terrain() -> Array:
    """Return the mean height of the 2.5° around each normal, by pvlib's map; the sea is 0. [m]"""
    with h5py.File(str(files("pvlib") / "data" / "Altitude.h5"), "r") as file:
        coded = file["Altitude"][:].astype(np.float64)
    heights = np.where(coded == 255, 0.0, np.maximum(28.0 * coded - 450.0, 0.0))
    size = round(SPACING * ROWS / 180.0)
    half = size // 2
    # the map runs southwards and from 180° west; a normal stands in the middle of its square
    padded = np.pad(heights, ((half, half), (0, 0)), mode="edge")
    turned = np.roll(padded, -half, axis=1)
    boxes = turned.reshape(SHAPE[0], size, COLUMNS // size, size)
    return boxes.mean(axis=(1, 3))[::-1]


def main() -> None:
    """Write the data file of :mod:`sunveil.weather.climate_normals`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    table = pd.read_csv(parser.parse_args().table).sort_values(["latitude", "longitude"])
    monthly = table[MONTHS].to_numpy(np.float64)
    for count in (1, 2, 3):
        left = month_means(count) @ harmonics(monthly.T, count) - monthly.T
        inhabited = left[:, np.abs(table["latitude"]) < 65.0]
        worst = np.percentile(np.abs(inhabited).max(axis=0), [50, 95])
        print(f"{count} harmonics: worst month {worst[0]:.2f} K at half, {worst[1]:.2f} K at 95%")
    air = np.round(harmonics(monthly.T).reshape(-1, *SHAPE) / STEP).astype(np.int16)
    path = Path(str(files(sunveil.weather) / DATA))
    np.savez_compressed(path, air=air, terrain=np.round(terrain()).astype(np.int16))
    print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
