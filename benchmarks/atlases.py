"""The atlas of a cell against pvlib, plane by plane."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

import numpy as np
import pvlib
from numpy.typing import NDArray

from sunveil.engine.bright_envelope import points_of, profiles_of
from sunveil.engine.constants import numbers_of
from sunveil.engine.sky_tables import in_blocks, make_rows
from sunveil.estimates.inference_options import InferOptions
from sunveil.grids import plane_grid
from sunveil.pv_model import Sky, sky_at
from sunveil.site import SHELTER, Losses, Site
from sunveil.weather import clearsky
from sunveil.weather.weather_data import utc_seconds

SITE = Site(39.74, -105.0, 1609.0)
# Planes of the atlas at a time: the whole would be half a gigabyte.
BLOCK = 900
# Planes through pvlib: enough to time, too slow to do them all.
SAMPLE = 120


@dataclass(frozen=True, slots=True)
class Compared:
    """Planes and instants, time of each way [s], and their largest difference [kW/kW]."""

    planes: int
    instants: int
    mine: float
    pvlib: float
    difference: float


def daylight() -> Sky:
    """Return a clear year's daylight hours."""
    weather = clearsky(SITE, "2019-01-01", "2020-01-01", step_minutes=60)
    sky = sky_at(weather, utc_seconds(weather.times).astype("M8[s]"))
    return sky.take(sky.sun[:, 2] > np.sin(np.radians(3.0)))


@functools.cache
def _diffuse(tilt: float) -> tuple[float, float]:
    parts = pvlib.iam.marion_diffuse("physical", tilt)
    return float(parts["sky"]), float(np.nan_to_num(parts["ground"]))


def through_pvlib(
    azimuth: float, tilt: float, sky: Sky, zenith: NDArray[np.float64], sun: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the power of one plane per kW, each step by pvlib. [kW/kW]"""
    losses = Losses()
    parts = pvlib.irradiance.perez_driesse(
        tilt, azimuth, sky.dhi, sky.dni, sky.dni_extra, zenith, sun, return_components=True
    )
    cosine = pvlib.irradiance.aoi_projection(tilt, azimuth, zenith, sun)
    beam = pvlib.iam.physical(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
    dome, ground = _diffuse(tilt)
    around = parts["poa_circumsolar"]
    light = (sky.dni * np.maximum(cosine, 0.0) + around) * beam
    light += (parts["poa_sky_diffuse"] - around) * dome
    light += pvlib.irradiance.get_ground_diffuse(tilt, sky.ghi, albedo=0.2) * ground
    warm = pvlib.temperature.faiman(light, sky.temp_air, SHELTER * sky.wind_speed)
    dc = pvlib.pvsystem.pvwatts_dc(light, warm, 1.0, losses.gamma_pdc) * (1.0 - losses.system)
    power = pvlib.inverter.pvwatts(dc, 1.0, eta_inv_nom=losses.inverter_efficiency)
    return np.asarray(power)


def compare() -> Compared:
    """Make the atlas of 360 x 90 planes, and a sample of it through pvlib."""
    sky, grid = daylight(), plane_grid(1.0, 1.0, highest_tilt=89.0)
    constants = numbers_of(InferOptions(), clear=True)
    points = points_of(grid)
    points[:, 3], points[:, 4] = 0.0, 1.0
    sheet = in_blocks(make_rows((sky, sky), np.zeros(len(sky))))
    profiles_of(sheet, points[:1], constants)  # compiled
    began = time.perf_counter()
    sheet = in_blocks(make_rows((sky, sky), np.zeros(len(sky))))
    for first in range(0, len(points), BLOCK):
        profiles_of(sheet, points[first : first + BLOCK], constants)
    mine = time.perf_counter() - began
    zenith = np.degrees(np.arccos(sky.sun[:, 2]))
    sun = np.degrees(np.arctan2(sky.sun[:, 0], sky.sun[:, 1])) % 360.0
    chosen = np.random.default_rng(1).choice(len(grid), SAMPLE, replace=False)
    for tilt in range(90):
        _diffuse(float(tilt))
    began = time.perf_counter()
    theirs = [
        through_pvlib(grid.surface_azimuth[i], grid.surface_tilt[i], sky, zenith, sun)
        for i in chosen
    ]
    seconds = (time.perf_counter() - began) * len(grid) / SAMPLE
    ours = profiles_of(sheet, points[chosen], constants)[:, : len(sky)]
    return Compared(
        len(grid), len(sky), mine, seconds, float(np.abs(ours - np.stack(theirs)).max())
    )


if __name__ == "__main__":
    print(compare())
