"""Real series that are one file of kilowatts in the data folder, every value as it stands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.real_case import PLANE, QUANTITIES, RealCase, offset_name
from benchmarks.real_files import data_folder, read_kilowatts
from sunveil.site import Site

HOMES = ("01", "02", "03", "05", "06", "07", "08", "09", "12")


def sanyo(data: str | Path | None = None) -> RealCase:
    """Sanyo modules in Golden, PVDAQ 4: three years of 30 minutes."""
    return _plain(
        data,
        "sanyo/ac_power_30min.csv",
        Site(39.7406, -105.1774, 1795.0),
        offset=-7,
        label=(180.0, 40.0, 1.0),
        stamps="start",
        note="snow in winter",
    )


def vermont(data: str | Path | None = None) -> RealCase:
    """Vermont, PVDAQ 1422, inverter 1: three years of 30 minutes, hard winters."""
    return _plain(
        data,
        "vermont/ac_power_30min.csv",
        Site(44.4665, -73.1014, 109.0),
        offset=-5,
        label=(180.0, 35.0, None),
        stamps="start",
        note="thousands of readings down to -3.3 kW in one stretch, a fault; snow",
    )


def nist_ground(data: str | Path | None = None) -> RealCase:
    """NIST ground array, PVDAQ 4902: three years of 30 minutes."""
    return _plain(
        data,
        "nist_ground/ac_power_30min.csv",
        Site(39.1319, -77.2141, 138.0),
        offset=-5,
        label=(180.0, 20.0, 270.7),
        stamps="start",
        note="-999 stands for missing",
    )


def nist_canopy(data: str | Path | None = None) -> RealCase:
    """NIST canopy, PVDAQ 4901: two planes, 90 and 270 at 5°, so flat that they look like one."""
    return _plain(
        data,
        "nist_canopy/ac_power_30min.csv",
        Site(39.1385, -77.2155, 137.0),
        offset=-5,
        label=(None, None, None),
        stamps="start",
        note="two planes, 90 and 270, tilt 5; -999 stands for missing",
    )


def stanford(data: str | Path | None = None) -> RealCase:
    """Roof at Stanford: 370 days of 15 minutes, daylight windows only."""
    return _plain(
        data,
        "stanford/ac_power.csv",
        Site(37.4275, -122.174),
        offset=-8,
        label=(195.0, 22.5, 30.1),
        stamps="middle",
        note="daylight windows of days with sky images only; AC or DC is not stated",
    )


def heggelbach(data: str | Path | None = None) -> RealCase:
    """Heggelbach, agrivoltaic and bifacial: hourly, six years, per m² of module."""
    return _plain(
        data,
        "heggelbach/ac_power.csv",
        Site(47.853, 9.136, 653.0),
        offset=1,
        label=(232.5, 20.0, None),
        counts=frozenset({"tilt"}),
        note="kW per m² of module; its clock is good to 10 minutes, which are 8° of azimuth",
    )


def pvod(data: str | Path | None, station: str) -> RealCase:
    """Return a plant in Hebei: 15 minutes under winter smog."""
    latitude, longitude, tilt, dc_kw = {
        "01": (38.18306, 117.45722, 33.0, 20_000.0),
        "05": (38.2355, 114.1236, 33.0, 35_000.0),
        "07": (36.64403, 113.64187, 31.0, 20_000.0),
    }[station]
    return _plain(
        data,
        f"pvod_{station}/ac_power.csv",
        Site(latitude, longitude),
        offset=8,
        label=(180.0, tilt, dc_kw),
        counts=PLANE,
        note='smog in winter; the azimuth is given as "South" and the capacity in whole MW',
    )


def fontana(data: str | Path | None, home: str) -> RealCase:
    """Return a home in Fontana: an hourly year of generation, with the load beside it."""
    return _plain(
        data,
        f"fontana/home_{home}.csv",
        Site(34.10, -117.44, 380.0),
        offset=0,
        label=(None, None, 5.0 if home == "12" else 4.0),
        stamps="start",
        note="the plane is not known; capacity in whole kW"
        + ("; its load follows its PV" if home == "12" else ""),
        name=f"fontana_{home}",
    )


def _plain(
    data: str | Path | None,
    file: str,
    site: Site,
    *,
    offset: float,
    label: tuple[float | None, float | None, float | None],
    note: str,
    stamps: str = "auto",
    counts: frozenset[str] = frozenset(QUANTITIES),
    name: str = "",
) -> RealCase:
    """Return the case of a file of kilowatts in the data folder, every value as it stands."""
    frame = read_kilowatts(data_folder(data) / file, offset)
    azimuth, tilt, dc_kw = label
    return RealCase(
        name=name or file.split("/")[0],
        power=frame["pv_kw" if "pv_kw" in frame else "power_kw"],
        site=site,
        weather=None,
        azimuth=azimuth,
        tilt=tilt,
        dc_kw=dc_kw,
        note=note,
        declared_timezone=offset_name(offset),
        label=stamps,
        counts=counts,
        load_kw=frame.get("load_kw"),
    )


PLAIN: dict[str, Callable[[str | Path | None], RealCase]] = {
    "sanyo": sanyo,
    "vermont": vermont,
    "nist_ground": nist_ground,
    "nist_canopy": nist_canopy,
    "stanford": stanford,
    "heggelbach": heggelbach,
    **{f"pvod_{station}": partial(pvod, station=station) for station in ("01", "05", "07")},
    **{f"fontana_{home}": partial(fontana, home=home) for home in HOMES},
}
