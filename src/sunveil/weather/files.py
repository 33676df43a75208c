"""Weather files, recognised by what is in them rather than by their names."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import pandas as pd

from sunveil.arguments import instance, text
from sunveil.errors import ParameterError, WeatherError
from sunveil.site import Site
from sunveil.weather import formats
from sunveil.weather.base import Weather
from sunveil.weather.formats import ParsedWeather, at_times
from sunveil.weather.light import to_weather
from sunveil.weather.remote import PARSER_ERRORS
from sunveil.weather.tables import read_parquet, with_times


def is_there(path: Path) -> bool:
    """Whether there is a file of that name; there is none whose name no file can have."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_weather(
    path: str | os.PathLike[str], *, site: Site | None = None, timezone: str | None = None
) -> Weather:
    """Return the weather in a file.

    NSRDB downloads (PSM3 and PSM4), PVGIS hourly and typical years (CSV and JSON), TMY3, EPW, and
    any CSV or Parquet table with times and columns by their usual names are recognised by content.

    Parameters
    ----------
    path
        The file.
    site
        Where the weather is; needed for plain tables, which do not say. A file that does say keeps
        its own place, whatever is given.
    timezone
        The clock of a plain table whose times state none: ``"UTC-07:00"`` or an IANA name.

    Returns
    -------
    Weather
        With ``typical`` set for typical years, which :func:`sunveil.weather.covering` lays over
        real ones, and the times where each format's values belong: PSM and PVGIS values to
        their stamps, TMY3 and EPW values to the middles of their hours.
    """
    kinds: tuple[type[object], ...] = (str, os.PathLike)
    instance("path", path, kinds, give="the path of a weather file")
    if site is not None:
        instance("site", site, Site, give="a Site, or None where the file names its place")
    if timezone is not None:
        text("timezone", timezone, give="UTC-07:00 or an IANA name")
    file = Path(path)
    if not is_there(file):
        raise WeatherError(f"there is no weather file {file.name[:200]!r}; check its path")
    try:
        parsed = _parsed(file, site, timezone)
    except (WeatherError, ParameterError) as error:
        raise _named(error, file) from error
    except (*PARSER_ERRORS, duckdb.Error) as error:
        raise WeatherError(
            f"{file.name} cannot be read as weather ({type(error).__name__}): it is damaged, cut"
            " short or of another format; give an NSRDB, PVGIS, TMY3 or EPW file, or a table"
        ) from error
    where = parsed.site or site
    if where is None:
        raise WeatherError(f"{file.name} does not say where its weather is; give the site")
    return to_weather(parsed.frame, site=where, source=file.name, typical=parsed.typical)


def _named(error: Exception, file: Path) -> WeatherError:
    """Return the error with the file's name in its sentence."""
    said = str(error)
    return WeatherError(said if file.name in said else f"{file.name} cannot be used: {said}")


def _parsed(file: Path, site: Site | None, timezone: str | None) -> ParsedWeather:
    try:
        with file.open("rb") as handle:
            start = handle.read(4)
        if start == b"PAR1":
            return _table(read_parquet(file), file.name, site, timezone)
        text = _decoded(file.read_bytes())
    except OSError as error:
        raise WeatherError(
            f"{file.name} cannot be opened ({error.strerror}); check the path of the weather file"
        ) from error
    if not text.strip():
        raise WeatherError(f"{file.name} is empty; give a file with weather in it")
    reader = _recognised(text)
    if reader is not None:
        return reader(text)
    return _table(pd.read_csv(io.StringIO(text), low_memory=False), file.name, site, timezone)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # station names in older files


def _recognised(text: str) -> Callable[[str], ParsedWeather] | None:
    """Return the reader of the format that ``text`` begins like, or None for a plain table."""
    first, _, rest = text.partition("\n")
    second = rest.partition("\n")[0]
    if text.lstrip().startswith("{"):
        return _json_reader(text)
    if first.startswith("LOCATION,"):
        return formats.read_epw
    if first.startswith("Latitude (decimal degrees)"):
        typical = re.search(r"^time\(UTC\),", text, re.MULTILINE) is not None
        reader = formats.read_pvgis_tmy if typical else formats.read_pvgis_hourly
        return partial(reader, kind="csv")
    if second.startswith("Date (MM/DD/YYYY)"):
        return formats.read_tmy3
    if {"Latitude", "Longitude", "Time Zone"} <= {name.strip() for name in first.split(",")}:
        return formats.read_psm
    return None


def _json_reader(text: str) -> Callable[[str], ParsedWeather]:
    try:
        outputs = json.loads(text)["outputs"]
        typical = "tmy_hourly" in outputs
        known = typical or "hourly" in outputs
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise WeatherError("it is JSON, but not a whole answer of PVGIS; download it again")
    return partial(formats.read_pvgis_tmy if typical else formats.read_pvgis_hourly, kind="json")


def _table(
    frame: pd.DataFrame, source: str, site: Site | None, timezone: str | None
) -> ParsedWeather:
    indexed, local = with_times(frame, source=source, site=site, timezone=timezone)
    return at_times(frame, pd.DatetimeIndex(indexed.index), local)
