"""Disk cache of whole years."""

from __future__ import annotations

import json
import os
import re
import tempfile
import zlib
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from sunveil._options import checked, instance
from sunveil.site import Site
from sunveil.weather.weather_data import COLUMNS, SUN, Weather, utc_index, utc_seconds

# Raise it whenever the layout of a file, or the meaning of a source's values, changes.
FORMAT = 1
_STORED = (*COLUMNS, *SUN)


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The key of one cached year: equal keys hold equal weather."""

    source: str  # who made the values
    dataset: str  # which product of the source
    latitude: float  # [degrees] rounded to 4 decimals, about 10 m
    longitude: float  # [degrees] rounded to 4 decimals, about 10 m
    altitude: int | None  # [m] rounded to the metre, where the values depend on it
    year: int  # UTC calendar year, or the source's own year
    step_minutes: int  # [minutes] spacing of the times

    @classmethod
    def of(
        cls,
        site: Site,
        year: int,
        *,
        source: str,
        dataset: str,
        step_minutes: int,
        by_altitude: bool,
    ) -> CacheKey:
        """Return the key of a site's year."""
        return cls(
            source=source,
            dataset=dataset,
            # Adding zero turns -0.0 into 0.0, which would otherwise be another name.
            latitude=round(site.latitude, 4) + 0.0,
            longitude=round(site.longitude, 4) + 0.0,
            altitude=round(site.height) if by_altitude else None,
            year=year,
            step_minutes=step_minutes,
        )

    @property
    def name(self) -> str:
        """The file name of the entry."""
        height = "" if self.altitude is None else f"_{self.altitude}m"
        where = f"{self.latitude:.4f}_{self.longitude:.4f}{height}"
        label = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{self.source}-{self.dataset}")
        return f"{label}_{where}_{self.year}_{self.step_minutes}min.v{FORMAT}.weather"


def default_folder() -> Path:
    """Return ``$SUNVEIL_CACHE``, or the platform's cache folder for Sunveil."""
    return Path(os.environ.get("SUNVEIL_CACHE") or platformdirs.user_cache_dir("sunveil"))


class WeatherCache:
    """A folder of cached weather that several processes may share."""

    __slots__ = ("folder",)

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        kinds: tuple[type[object], ...] = (str, os.PathLike)
        if folder is not None:
            instance(
                "folder", folder, kinds, give="the path of a folder, or None for the usual one"
            )
        self.folder = default_folder() if folder is None else Path(folder)

    def __repr__(self) -> str:
        return f"WeatherCache({str(self.folder)!r})"

    @checked
    def path(self, key: CacheKey) -> Path:
        """Return where the entry of ``key`` is kept."""
        return self.folder / key.name

    @checked
    def load(
        self, key: CacheKey, site: Site, *, source: str, clear: bool = False
    ) -> Weather | None:
        """Return the entry of ``key``, or None; a damaged entry is removed."""
        path = self.path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        try:
            return _decode(content, key, site, source=source, clear=clear)
        except (ValueError, KeyError, TypeError):
            with suppress(OSError):
                path.unlink()
            return None

    @checked
    def store(self, key: CacheKey, weather: Weather) -> bool:
        """Keep ``weather`` under ``key``; return False when the folder cannot be written."""
        content = _encode(key, weather)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _replace(self.path(key), content)
        except OSError:
            return False
        return True


def stored_precision(weather: Weather) -> Weather:
    """Return ``weather`` as it will come back from a cache, its sun included."""
    # A first answer and a cached one are then equal to the last bit, and so is all that follows.
    weather.sun()
    values: dict[str, Any] = {
        name: getattr(weather, name).astype(np.float32).astype(np.float64) for name in _STORED
    }
    return replace(weather, **values)


def _encode(key: CacheKey, weather: Weather) -> bytes:
    weather.sun()
    seconds = utc_seconds(weather.times).astype("<i8")
    columns = np.stack([getattr(weather, name) for name in _STORED]).astype("<f4")
    body = seconds.tobytes() + columns.tobytes()
    head = {"key": key.name, "rows": len(seconds), "crc32": zlib.crc32(body)}
    return json.dumps(head).encode() + b"\n" + body


def _decode(content: bytes, key: CacheKey, site: Site, *, source: str, clear: bool) -> Weather:
    """Return the weather in ``content``, or raise ValueError, KeyError or TypeError."""
    line, _, body = content.partition(b"\n")
    head = json.loads(line)
    rows = head["rows"]
    if head["key"] != key.name or len(body) != rows * (8 + 4 * len(_STORED)):
        raise ValueError("another entry, or a cut one")
    if zlib.crc32(body) != head["crc32"]:
        raise ValueError("damaged")
    seconds = np.frombuffer(body, "<i8", count=rows)
    table = np.frombuffer(body, "<f4", offset=8 * rows).reshape(len(_STORED), rows)
    columns: dict[str, Any] = dict(zip(_STORED, table.astype(np.float64), strict=True))
    times = utc_index(seconds.astype("datetime64[s]"))
    return Weather(site=site, times=times, source=source, clear=clear, **columns)


def _replace(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` in one step."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
