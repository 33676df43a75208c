"""Made-up weather, and the files and answers that would hold it."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sunveil.site import Site

GOLDEN = Site(39.742, -105.1727, 1795.0)


@dataclass(frozen=True)
class Answer:
    """What the server says next: ``cut`` bytes of the body are promised and never sent."""

    body: str = ""
    status: int = 200
    kind: str = "text/csv"
    silent: bool = False
    cut: int = 0


def sky_frame(year: int, step_minutes: int, *, minute: int = 0) -> pd.DataFrame:
    """A year of made-up light, brightest at 19 h UTC, with two decimals."""
    index = pd.date_range(
        f"{year}-01-01T00:{minute:02d}", f"{year}-12-31T23:59", freq=f"{step_minutes}min", tz="UTC"
    )
    hours = index.hour + index.minute / 60.0
    shape = np.maximum(np.cos((hours - 19.0) / 12.0 * np.pi), 0.0) * (1 + index.day / 31.0)
    columns = {
        "ghi": 400 * shape,
        "dni": 350 * shape,
        "dhi": 100 * shape,
        "temp_air": 10 + 10 * shape,
        "wind_speed": 1 + shape,
    }
    return pd.DataFrame(columns, index=index).round(2)


def psm_text(
    frame: pd.DataFrame, *, site: Site = GOLDEN, zone: float = 0, elevation: object = 1795
) -> str:
    """The frame as the NSRDB would send it, stamped on the clock of ``zone``."""
    about = {
        "Source": "NSRDB", "Location ID": 1, "City": "-", "State": "-", "Country": "-",
        "Latitude": site.latitude, "Longitude": site.longitude, "Time Zone": f"{zone:g}",
        "Elevation": elevation, "Local Time Zone": -7, "Version": "v4.0.0",
    }  # fmt: skip
    local = frame.index.tz_localize(None) + pd.Timedelta(hours=zone)
    table = pd.DataFrame(
        {name.title(): getattr(local, name) for name in ("year", "month", "day", "hour", "minute")}
    )
    names = {"temp_air": "Temperature", "wind_speed": "Wind Speed"}
    for name in ("temp_air", "dhi", "dni", "ghi", "wind_speed"):
        table[names.get(name, name.upper())] = frame[name].to_numpy()
    head = ",".join(about) + "\n" + ",".join(map(str, about.values())) + "\n"
    return head + table.to_csv(index=False, lineterminator="\n")


def pvgis_json(frame: pd.DataFrame, *, slope: float = 0, site: Site = GOLDEN) -> str:
    """The frame as PVGIS would send it for a plane: beam on the horizontal, not normal."""
    elevation = 90.0 - site.sun(frame.index)["zenith"].to_numpy()
    beam = frame["dni"] * np.maximum(np.sin(np.radians(elevation)), 0.0)
    hourly = [
        {"time": f"{when:%Y%m%d:%H%M}", "Gb(i)": b, "Gd(i)": d, "Gr(i)": 0.0, "H_sun": h,
         "T2m": t, "WS10m": w, "Int": 0.0}
        for when, b, d, h, t, w in zip(frame.index, beam, frame["dhi"], np.maximum(elevation, 0.0),
                                       frame["temp_air"], frame["wind_speed"], strict=True)
    ]  # fmt: skip
    inputs = {
        "location": {"latitude": site.latitude, "longitude": site.longitude, "elevation": 1795.0},
        "mounting_system": {"fixed": {"slope": {"value": slope}, "azimuth": {"value": 0}}},
    }
    answer = {"inputs": inputs, "outputs": {"hourly": hourly}, "meta": {"inputs": {}}}
    return json.dumps(answer)
