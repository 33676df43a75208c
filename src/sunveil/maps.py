"""Maps of the globe that pvlib brings along: altitude, and how hazy the air usually is.

They are read as files, without pvlib itself, whose import takes longer than a small inference. What
was looked up is kept in the user's cache folder, in a file as large as the map but empty elsewhere:
loading what reads the map takes as long as a hundred systems.
"""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

ROWS, COLUMNS = 2160, 4320
# What the map of altitudes has where nothing is known.
_UNKNOWN = 255


# Neighbouring places lie in the same pieces of a file, which are kept unpacked. [bytes]
_KEPT = 8 << 20


def altitude(latitude: float, longitude: float) -> float:
    """Return the coarse height of a place above the sea, as pvlib looks it up. [m]"""
    found = int(_value("Altitude", "Altitude", 1, latitude, longitude)[0])
    return 0.0 if found == _UNKNOWN else 28.0 * found - 450.0


def monthly_turbidity(latitude: float, longitude: float) -> NDArray[np.float64]:
    """Return Linke's turbidity of a place in each month, as pvlib looks it up."""
    return _value("LinkeTurbidities", "LinkeTurbidity", 12, latitude, longitude) / 20.0


def _value(file: str, name: str, size: int, latitude: float, longitude: float) -> NDArray[np.uint8]:
    """Return the numbers of a map at a place, so many as it has there."""
    row = _index(latitude, first=90.0, per_degree=ROWS / -180.0, count=ROWS)
    column = _index(longitude, first=-180.0, per_degree=COLUMNS / 360.0, count=COLUMNS)
    at, seen = size * (row * COLUMNS + column), _seen(file)
    found = b"" if seen is None else os.pread(seen, size, at)
    # nothing is zero but what was not looked up, or is looked up each time
    if len(found) < size or 0 in found:
        found = np.asarray(_opened(file, name)[row, column], dtype=np.uint8).tobytes()
        if seen is not None:
            with suppress(OSError):  # a full disk costs time, and no more
                os.pwrite(seen, found, at)
    return np.frombuffer(found, dtype=np.uint8)


def _index(degrees: float, *, first: float, per_degree: float, count: int) -> int:
    # whole degrees lie between two rows: only the same steps as pvlib's choose the same one
    middle = first + 1.0 / per_degree / 2.0
    return min(max(round((degrees - middle) * per_degree), 0), count - 1)


@functools.lru_cache(maxsize=2)
def _seen(file: str) -> int | None:
    """Return the open file of what was looked up in a map; None where there can be none."""
    folder = Path(platformdirs.user_cache_dir("sunveil")) / "maps"
    try:
        told = os.stat(_folder() / f"{file}.h5")
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{file}-{told.st_size}-{told.st_mtime_ns}.seen"
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600) if hasattr(os, "pread") else None
    except OSError:
        return None


@functools.lru_cache(maxsize=2)
def _opened(file: str, name: str) -> Any:
    import h5py

    # what is unpacked is forgotten when the map, not only the file, is closed
    return h5py.File(_folder() / f"{file}.h5", "r", rdcc_nbytes=_KEPT)[name]


def _folder() -> Path:
    """Return where pvlib keeps its maps, without importing it."""
    spec = find_spec("pvlib")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data"
