"""Run pvanalytics on the clear days of one series, in a process of its own; print a line of JSON.

Usage: ``python peers_clear_days.py series.npz``, where the archive holds, for every interval of
an even grid, ``stamps`` (its middle on the wall clock of a fixed offset, seconds since 1970),
``watts`` (NaN for none), the sun's ``zenith`` and ``azimuth``, the clear sky's ``ghi``, ``dni`` and
``dhi``, ``temperature`` and ``wind_speed``. Days are clear by pvanalytics' own rule. It imports
nothing of Sunveil, so that it may run in an environment with pandas below 3, which pvanalytics
0.2.2 needs.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
from pvanalytics.features.daytime import power_or_irradiance
from pvanalytics.features.orientation import fixed_nrel
from pvanalytics.system import infer_orientation_fit_pvwatts

# Early and late hours are left out, as fixed_nrel's documentation asks. [degrees of zenith]
LOWEST_SUN = 75.0
# A day is looked at only if its best reading passes this share of the 99th percentile, so that
# evenly grey days and days under snow are no clear ones.
PEAK = 0.5
# fewer readings on clear days than this are not fitted
ENOUGH = 50


def estimate(path: str) -> dict[str, float]:
    """Return azimuth and tilt [degrees], the number of clear days and CPU time [s]."""
    with np.load(path) as archive:
        given = pd.DataFrame({name: archive[name] for name in archive.files})
    given.index = pd.to_datetime(given.pop("stamps"), unit="s").dt.tz_localize("UTC")
    began = time.process_time()
    usable = power_or_irradiance(given["watts"]) & (given["zenith"] < LOWEST_SUN)
    usable &= given["watts"].notna()
    peak = PEAK * given["watts"].quantile(0.99)
    clear = given[usable & fixed_nrel(given["watts"], usable, peak_min=peak)]
    if len(clear) < ENOUGH:
        raise ValueError(f"{len(clear)} readings on clear days are too few for a fit")
    tilt, azimuth, _ = infer_orientation_fit_pvwatts(
        clear["watts"],
        clear["ghi"],
        clear["dhi"],
        clear["dni"],
        clear["zenith"],
        clear["azimuth"],
        temperature=clear["temperature"],
        wind_speed=clear["wind_speed"],
        # its search starts from 180 and stops at its bounds: these let it pass north
        azimuth_min=-180,
        azimuth_max=540,
    )
    return {
        "azimuth": float(azimuth) % 360.0,
        "tilt": float(tilt),
        "clear_days": int(clear.index.normalize().nunique()),
        "cpu_seconds": time.process_time() - began,
    }


def main() -> None:
    """Print the estimate, or the reason why there is none."""
    warnings.simplefilter("ignore")
    try:
        answer: dict[str, float | str] = {**estimate(sys.argv[1])}
    except Exception as error:  # whatever the peer raises is its answer
        answer = {"reason": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
