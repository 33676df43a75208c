"""The peers in processes of their own, with one thread, and their answers kept in a folder.

They run in ``.venv-peers`` if the project has one (or in the environment that
``SUNVEIL_PEERS_PYTHON`` names), else in the environment of the caller: pvanalytics' rule for clear
days needs pandas below 3. A peer that fails gives NaN and the reason; a benchmark never stops for
it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pvlib

from benchmarks import real
from sunveil.meters.record import Label
from sunveil.site import Site
from sunveil.weather.climate_normals import climate_temperature

HERE = Path(__file__).parent
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
TIME_LIMIT_SECONDS = 900.0
# A reading this far below nothing, as a share of the highest ones, is a fault or a mark for none.
FAULT = -0.1


@dataclass(frozen=True, slots=True)
class PeerResult:
    """What a peer says of one system; NaN with a reason where it says nothing.

    Parameters
    ----------
    azimuth, tilt
        The inferred plane. [degrees]
    cpu_seconds
        CPU time without imports, clear-sky filter included. [s]
    capacity_kw
        Its estimate of capacity, NaN if it gives none. [kW]
    clear_days
        How many days it took for clear, NaN if it does not say.
    reason
        Why there is no plane, empty if there is one.
    """

    azimuth: float = math.nan
    tilt: float = math.nan
    cpu_seconds: float = math.nan
    capacity_kw: float = math.nan
    clear_days: float = math.nan
    reason: str = ""


def clear_days(
    power: pd.Series, site: Site, *, label: Label = Label.START, cache: Path | None = None
) -> PeerResult:
    """Run pvanalytics on the days that its own ``fixed_nrel`` finds clear.

    It is given Sunveil's climate temperatures, the sun in the middle of each interval, and
    readings without faults.

    Parameters
    ----------
    power
        AC power with a time zone. [kW]
    site
        Where the system is.
    label
        Which instant of its interval a stamp names.
    cache
        A folder to keep answers in.
    """
    even = without_faults(power)
    step = pd.Timedelta(minutes=real.interval_minutes(even))
    even = even.reindex(pd.date_range(even.index[0], even.index[-1], freq=step))
    middles = even.index + to_middle(even, label)
    sun = site.sun(middles.tz_convert("UTC"))
    sky = clear_sky(site, sun)
    columns = {name: sky[name].to_numpy() for name in ("ghi", "dni", "dhi", "wind_speed")}
    arrays = {
        "stamps": middles.tz_localize(None).as_unit("s").asi8,
        "watts": even.clip(lower=0.0).to_numpy(dtype=float) * 1000.0,
        "zenith": sun["apparent_zenith"].to_numpy(),
        "azimuth": sun["azimuth"].to_numpy(),
        "temperature": sky["temp_air"].to_numpy(),
    }
    return _answer(HERE / "peers_clear_days.py", arrays | columns, cache)


def solar_data_tools(
    power: pd.Series, site: Site, *, label: Label = Label.START, cache: Path | None = None
) -> PeerResult:
    """Run solar-data-tools, with location and clock given.

    Parameters
    ----------
    power
        AC power with a time zone. [kW]
    site
        Where the system is.
    label
        Which instant of its interval a stamp names; it takes them for ``MIDDLE`` by itself.
    cache
        A folder to keep answers in.
    """
    power = without_faults(power)
    # the standard clock of the first reading's January
    january = pd.Timestamp(power.index[0].year, 1, 1, tz=power.index.tz)
    hours = january.utcoffset().total_seconds() / 3600.0
    wall = power.index.tz_convert(real.fixed_offset(hours)).tz_localize(None)
    arrays = {
        "stamps": wall.as_unit("s").asi8,
        # it drops readings below -5 W: a negative night tare would become gaps
        "watts": power.clip(lower=0.0).to_numpy(dtype=float) * 1000.0,
        "latitude": np.float64(site.latitude),
        "longitude": np.float64(site.longitude),
        "offset_hours": np.float64(hours),
        "shift_minutes": np.float64(to_middle(power, label).total_seconds() / 60.0),
    }
    return _answer(HERE / "peers_worker.py", arrays, cache)


def without_faults(power: pd.Series) -> pd.Series:
    """Return a series without gaps and without what is far below nothing."""
    power = power.dropna()
    return power[power > FAULT * power.quantile(0.99)]


def clear_sky(site: Site, sun: pd.DataFrame) -> pd.DataFrame:
    """Return pvlib's clear sky at the instants of the sun, with Sunveil's climate temperatures."""
    place = pvlib.location.Location(site.latitude, site.longitude, altitude=site.height)
    sky = place.get_clearsky(sun.index, solar_position=sun)
    return sky.assign(temp_air=climate_temperature(site, sun.index), wind_speed=1.0)


def to_middle(power: pd.Series, label: Label) -> pd.Timedelta:
    """Return what to add to a stamp to get to the middle of its interval."""
    return pd.Timedelta(minutes=real.interval_minutes(power) * (0.5 - label.fraction))


def reason_of(error: Exception) -> str:
    """Return the kind of an error and its message."""
    return f"{type(error).__name__}: {error}"


def _answer(worker: Path, arrays: Mapping[str, Any], cache: Path | None) -> PeerResult:
    """Run a worker on arrays, or return what it said of the same ones before."""
    if cache is None:
        return _run(worker, arrays)
    digest = hashlib.sha256(worker.read_bytes())
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    kept = cache / f"{worker.stem}-{digest.hexdigest()[:24]}.json"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        found = _run(worker, arrays)
        kept.write_text(json.dumps({name: getattr(found, name) for name in found.__slots__}))
    return PeerResult(**json.loads(kept.read_text()))


def _run(worker: Path, arrays: Mapping[str, Any]) -> PeerResult:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "series.npz"
        np.savez(path, **arrays)
        try:
            done = subprocess.run(
                [_peers_python(), str(worker), str(path)],
                env={**os.environ, **ONE_THREAD},
                capture_output=True,
                text=True,
                check=False,
                timeout=TIME_LIMIT_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return PeerResult(reason=reason_of(error))
    lines = done.stdout.strip().splitlines()
    if not lines:
        said = done.stderr.strip().splitlines()
        return PeerResult(reason=said[-1] if said else f"exit code {done.returncode}")
    return PeerResult(**json.loads(lines[-1]))


def _peers_python() -> str:
    """Return the interpreter that has the peers."""
    own = HERE.parent / ".venv-peers" / "bin" / "python"
    return os.environ.get("SUNVEIL_PEERS_PYTHON") or (str(own) if own.exists() else sys.executable)
