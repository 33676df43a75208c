from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from pvlib_chain import pvlib_ac_power, pvlib_dc_power, pvlib_irradiance
from sunveil.site import Losses, Plane, Site
from sunveil.weather import clearsky

# How long an example takes says something of the machine, and nothing of the code. For more
# examples: pytest --hypothesis-profile thorough.
settings.register_profile("sunveil", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=500)
settings.register_profile("fuzz", deadline=None, max_examples=6_000)
settings.load_profile("sunveil")


# Ledgers flush every change, and a disk that others use would slow the tests down.
MEMORY, ROOM = Path("/dev/shm"), 4_000_000_000


def pytest_configure(config: pytest.Config) -> None:
    """Keep files of tests in memory, and compile the kernels once, before each worker would."""
    if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        code = "from sunveil.inference.workers import compile_before_workers as work; work()"
        subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture(scope="session", autouse=True)
def apart_from_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep every test out of the user's cache folder and of the user's keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SUNVEIL_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.delenv("SUNVEIL_LEDGER", raising=False)
        patch.delenv("NSRDB_API_KEY", raising=False)
        patch.delenv("NSRDB_EMAIL", raising=False)
        yield


@pytest.fixture(scope="session")
def golden_site() -> Site:
    return Site(39.742, -105.1727, 1795.0)


@pytest.fixture(scope="session")
def clear_power(golden_site: Site) -> Callable[..., pd.Series]:
    """Return a maker of cloudless records with 2% noise: kW by the UTC start of the interval."""

    def make(
        surface_azimuth: float = 200.0,
        surface_tilt: float = 30.0,
        *,
        dc_capacity_kw: float = 5.0,
        start: str = "2019-03-01",
        days: int = 120,
        minutes: int = 60,
        limit: float = np.inf,
    ) -> pd.Series:
        begin = pd.Timestamp(start, tz="UTC")
        sky = clearsky(golden_site, begin, begin + pd.Timedelta(days=days), step_minutes=15)
        frame, losses = sky.to_frame(), Losses()
        # the sky model of the inference: Hay-Davies' reads about two degrees of tilt steeper
        plane = Plane(surface_azimuth, surface_tilt)
        light = pvlib_irradiance(plane, frame, golden_site.sun(sky.times))
        dc = dc_capacity_kw * pvlib_dc_power(light, sky.temp_air, sky.wind_speed, losses)
        out = pvlib_ac_power(dc, dc_capacity_kw, losses, limit=limit)
        power = pd.Series(out, index=sky.times)
        readings = power.resample(f"{minutes}min").mean().rename("power_kw")
        return readings * np.random.default_rng(1).normal(1.0, 0.02, len(readings))

    return make
