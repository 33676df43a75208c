"""Run solar-data-tools on one series, in a process of its own, and print one line of JSON.

Usage: ``python peers_worker.py series.npz``, where the archive holds ``stamps`` (wall clock of a
fixed offset, seconds since 1970), ``watts``, and the scalars ``latitude``, ``longitude``,
``offset_hours`` and ``shift_minutes``. It imports nothing of Sunveil, so that it may run in an
environment that has solar-data-tools alone. CPU time is counted from after the imports.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pvsystemprofiler.algorithms.performance_model_estimation as model
from numpy.typing import NDArray
from solardatatools import DataHandler

Groups = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def pair_single_days(group: Groups) -> Groups:
    """Make solar-data-tools run on one year, where a day stands alone in its season's group.

    It ties days equally far from the solstice to each other and asks the differences within each
    group to vanish; a group of one has none, and its solver refuses it. Such a day joins the
    nearest group instead.
    """

    def paired(day_of_year: NDArray[np.int64]) -> NDArray[np.int64]:
        keys = np.atleast_1d(group(day_of_year))
        values, counts = np.unique(keys, return_counts=True)
        full = values[counts > 1]
        if len(full) == 0:
            return keys
        for lonely in values[counts == 1]:
            keys = np.where(keys == lonely, full[np.argmin(np.abs(full - lonely))], keys)
        return keys

    return paired


def estimate(path: str) -> dict[str, float]:
    """Return azimuth and tilt [degrees], capacity [kW] and CPU time [s] for the archive."""
    with np.load(path) as archive:
        given = {name: archive[name] for name in archive.files}
    began = time.process_time()
    index = pd.to_datetime(given["stamps"], unit="s")
    handler = DataHandler(pd.DataFrame({"power": given["watts"]}, index=index))
    handler.run_pipeline(power_col="power", verbose=False)
    # it takes a stamp for the instant of its reading, so a smaller offset puts its sun later;
    # the whole hours that it moved the stamps by itself come on top
    offset = float(given["offset_hours"]) - float(given["shift_minutes"]) / 60.0
    handler.setup_location_and_orientation_estimation(offset + handler.tz_correction)
    np.random.seed(0)  # noqa: NPY002 - its fit starts from the global generator
    tilt, azimuth = handler.estimate_orientation(
        latitude=float(given["latitude"]), longitude=float(given["longitude"])
    )
    return {
        "azimuth": (180.0 + float(azimuth)) % 360.0,
        "tilt": float(tilt),
        "capacity_kw": float(handler.capacity_estimate) / 1000.0,
        "cpu_seconds": time.process_time() - began,
    }


def main() -> None:
    """Print the estimate, or the reason why there is none."""
    warnings.simplefilter("ignore")
    model.solstice_centered_index = pair_single_days(model.solstice_centered_index)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            answer: dict[str, float | str] = {**estimate(sys.argv[1])}
    except Exception as error:  # whatever the peer raises is its answer
        answer = {"reason": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
