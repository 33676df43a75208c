"""Maps of the globe that pvlib brings along: altitude, and how hazy the air usually is.

They are looked up as pvlib does, but each file is opened once: a fleet has thousands of places.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS, COLUMNS = 2160, 4320
# What the map of altitudes has where nothing is known.
_UNKNOWN = 255
# Neighbouring places lie in the same pieces of a file, which are kept unpacked. [bytes]
_KEPT = 8 << 20


def altitude(latitude: float, longitude: float) -> float:
    """Return the coarse height of a place above the sea, as pvlib looks it up. [m]"""
    found = int(_value("Altitude", "Altitude", latitude, longitude))
    return 0.0 if found == _UNKNOWN else 28.0 * found - 450.0


def monthly_turbidity(latitude: float, longitude: float) -> NDArray[np.float64]:
    """Return Linke's turbidity of a place in each month, as pvlib looks it up."""
    return np.asarray(_value("LinkeTurbidities", "LinkeTurbidity", latitude, longitude) / 20.0)


def _value(file: str, name: str, latitude: float, longitude: float) -> NDArray[np.uint8]:
    """Return what a map has at a place: a number, or one for each month."""
    row = _index(latitude, first=90.0, per_degree=ROWS / -180.0, count=ROWS)
    column = _index(longitude, first=-180.0, per_degree=COLUMNS / 360.0, count=COLUMNS)
    return np.asarray(_opened(file, name)[row, column])


def _index(degrees: float, *, first: float, per_degree: float, count: int) -> int:
    # whole degrees lie between two rows: only the same steps as pvlib's choose the same one
    middle = first + 1.0 / per_degree / 2.0
    return min(max(round((degrees - middle) * per_degree), 0), count - 1)


@lru_cache(maxsize=2)
def _opened(file: str, name: str) -> Any:
    """Return a map of pvlib's, opened."""
    import h5py

    path = str(files("pvlib") / "data" / f"{file}.h5")
    # what is unpacked is forgotten when the map, not only the file, is closed
    return h5py.File(path, "r", rdcc_nbytes=_KEPT)[name]
