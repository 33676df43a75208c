"""Direct and diffuse from global irradiance."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pvlib
from numpy.typing import NDArray

from sunveil.errors import WeatherError
from sunveil.site import Array, Site
from sunveil.weather.weather_data import Weather, usual_air

BRIGHTEST = 2000.0  # W/m²; more than any cloud's edge has been seen to give
_LOW_SUN = float(np.cos(np.radians(87.0)))

# Names in use, lower case, without units, words parted by one space.
_NAMES = {
    "ghi": ("ghi", "g(h)", "global horizontal irradiance", "global horizontal radiation",
            "global irradiance", "shortwave radiation", "glo horiz rad"),
    "dni": ("dni", "gb(n)", "direct normal irradiance", "direct normal radiation",
            "beam normal irradiance", "dir norm rad"),
    "dhi": ("dhi", "gd(h)", "diffuse horizontal irradiance", "diffuse horizontal radiation",
            "diffuse radiation", "dif horiz rad"),
    "temp_air": ("temp air", "temperature", "air temperature", "temperature 2m", "t2m", "tdry",
                 "dry bulb", "dry bulb temperature", "ambient temperature", "tamb", "temp"),
    "wind_speed": ("wind speed", "ws10m", "wspd", "windspeed", "wind speed 10m"),
}  # fmt: skip

_MEANINGS = {name: ours for ours, names in _NAMES.items() for name in names}


def pvlib_name(column: object) -> str | None:
    """Return pvlib's name for a column's heading, or None when it is something else."""
    plain = str(column).strip().lower()
    if plain in _MEANINGS:
        return _MEANINGS[plain]
    bare = re.sub(r"\s*[\(\[][^)\]]*[\)\]]\s*$", "", plain)
    return _MEANINGS.get(re.sub(r"[\s_-]+", " ", bare))


def weather_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that mean weather, as numbers, in pvlib's names; the first of each."""
    found: dict[str, pd.Series[float]] = {}
    for column in frame.columns:
        name = pvlib_name(column)
        if name is not None and name not in found:
            found[name] = pd.to_numeric(frame[column], errors="coerce")
    return pd.DataFrame(found, index=frame.index)


def normal_beam(beam: Array, cosine: Array, days: NDArray[np.integer]) -> Array:
    """Return the direct normal irradiance that gives ``beam`` on a horizontal plane [W/m²]."""
    extra = pvlib.irradiance.get_extra_radiation(days)
    normal: Array = np.clip(beam / np.maximum(cosine, _LOW_SUN), 0.0, extra)
    return np.where(cosine > 0.0, normal, 0.0)


def to_weather(frame: pd.DataFrame, *, site: Site, source: str, typical: bool = False) -> Weather:
    """Return weather from a frame of file columns, indexed by UTC instants."""
    # Rows without light are dropped. Gaps of temperature and wind take what is usual, shifted to
    # meet what is known on both sides. Of the three irradiances those that are missing are made
    # from the others: by the sun's zenith where two are known, by the Erbs-Driesse model where only
    # the global one is.
    table = weather_columns(frame).replace([np.inf, -np.inf], np.nan)
    table = table[table.index.notna()].sort_index()
    table = table[~table.index.duplicated()]
    light = [name for name in ("ghi", "dni", "dhi") if name in table]
    if "ghi" not in light and len(light) < 2:
        raise WeatherError(
            f"{source} has no column of global horizontal irradiance among"
            f" {', '.join(map(str, frame.columns[:12]))}; name it GHI"
        )
    table = table.dropna(subset=light)
    if len(table) < 2:
        raise WeatherError(f"{source} has fewer than two rows with a time and irradiance")
    if float(table[light].to_numpy().max()) > BRIGHTEST:
        raise WeatherError(
            f"{source} has irradiance above {BRIGHTEST:g}, which the sun never gives;"
            " bring it to W/m²"
        )
    for name in light:
        table[name] = table[name].clip(lower=0.0)
    for name in ("temp_air", "wind_speed"):
        if name in table and table[name].isna().any():
            usual = usual_air(name, site, pd.DatetimeIndex(table.index))
            unusual = (table[name] - usual).interpolate(limit_direction="both").fillna(0.0)
            table[name] = usual + unusual
    if len(light) < 3:
        _complete(table, site)
    return Weather.from_frame(table, site=site, source=source, typical=typical)


def _complete(table: pd.DataFrame, site: Site) -> None:
    """Add the missing irradiances to ``table``."""
    times = pd.DatetimeIndex(table.index)
    zenith = site.sun(times)["apparent_zenith"].to_numpy(np.float64)
    cosine = np.maximum(np.cos(np.radians(zenith)), 0.0)
    days = times.day_of_year.to_numpy()
    if "ghi" not in table:
        table["ghi"] = table["dhi"] + table["dni"] * cosine
    elif "dni" in table:
        table["dhi"] = (table["ghi"] - table["dni"] * cosine).clip(lower=0.0)
    elif "dhi" in table:
        beam = (table["ghi"] - table["dhi"]).to_numpy(np.float64)
        table["dni"] = normal_beam(beam, cosine, days)
    else:
        parts = pvlib.irradiance.erbs_driesse(
            table["ghi"].to_numpy(np.float64), zenith, datetime_or_doy=days
        )
        table["dni"], table["dhi"] = parts["dni"], parts["dhi"]


def horizontal_weather(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the light of a horizontal plane, in pvlib's PVGIS names, as weather."""
    # PVGIS gives the beam on the plane; dividing by the sine of its own solar elevation undoes what
    # it multiplied by.
    beam = frame["poa_direct"].to_numpy(np.float64)
    diffuse = frame["poa_sky_diffuse"].to_numpy(np.float64)
    sine = np.sin(np.radians(frame["solar_elevation"].to_numpy(np.float64)))
    days = pd.DatetimeIndex(frame.index).day_of_year.to_numpy()
    columns = {
        "ghi": beam + diffuse,
        "dni": normal_beam(beam, sine, days),
        "dhi": diffuse,
        "temp_air": frame["temp_air"].to_numpy(np.float64),
        "wind_speed": frame["wind_speed"].to_numpy(np.float64),
    }
    return pd.DataFrame(columns, index=frame.index)
