"""The tables of a simulated fleet: what is known of its systems, and what is true of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sunveil.simulate.fleet_spec import FleetSpec
from sunveil.simulate.roster import FIXED, MOUNTS, TWO_AXES, SimulatedRoster
from sunveil.simulate.skyline import Skyline
from sunveil.simulate.spells import YEAR_DAYS
from sunveil.simulate.stamps import CLOCKS
from sunveil.site import Array, normals
from sunveil.weather.base import utc_index

# Fields of the roster that the lists of planes and the trackers of the truth are made of.
_MOUNTED = (
    "first_azimuth",
    "first_tilt",
    "second_azimuth",
    "second_tilt",
    "first_share",
    "turning",
    "dual_axis",
    "axis_azimuth",
    "backtrack",
    "gcr",
    "max_angle",
)
_PLANE = (
    "{{surface_azimuth: {0}_azimuth, surface_tilt: {0}_tilt, share: {1},"
    " dc_capacity_kw: {1} * dc_capacity_kw}}"
)
_FIRST, _SECOND = (
    _PLANE.format(*each) for each in (("first", "first_share"), ("second", "(1 - first_share)"))
)
_WRITTEN = f"""
    CASE WHEN turning THEN [] WHEN first_share < 1 THEN [{_FIRST}, {_SECOND}] ELSE [{_FIRST}] END
        AS planes,
    CASE WHEN turning THEN {{axis_azimuth: axis_azimuth, backtrack: backtrack, gcr: gcr,
        max_angle: max_angle, dual_axis: dual_axis}} END AS tracker
"""
# The truth as it is written, of its columns: planes and tracker named as those of estimates.
TRUTH_SELECT = f"* EXCLUDE ({', '.join(_MOUNTED)}), {_WRITTEN}"
# The same of fleets with net meters, where words may all be missing and are words nevertheless.
NET_TRUTH_SELECT = TRUTH_SELECT.replace(
    "),",
    ") REPLACE (CAST(household AS VARCHAR) AS household, CAST(car AS VARCHAR) AS car),",
    1,
)
# Fields of the roster that are columns of the truth as they are.
_PLAIN = (
    "dc_capacity_kw",
    "dc_ac_ratio",
    "losses",
    "gamma_pdc",
    "albedo",
    "noise",
    "shade_azimuth",
    "shade_width",
    "shade_elevation",
    "age_years",
    "degradation",
    "soiling",
    "dead_share",
    "scale_factor",
    "sentinel",
)
# Spells of the roster that are columns as their length, by the name of the column.
_SPELLS = {
    "dead_days": "dead",
    "negative_days": "negative",
    "stuck_days": "stuck",
    "scale_days": "scale",
}


def truth_columns(
    spec: FleetSpec,
    rosters: Sequence[SimulatedRoster],
    ids: Sequence[str],
    *,
    smog: Sequence[float],
    measured: dict[str, NDArray[Any]],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of the table of systems, and of the table of what is true of them.

    Parameters
    ----------
    spec
        What the fleet was to be.
    rosters
        The systems of each of its cells.
    ids
        The names of all systems, cell after cell.
    smog
        What smog takes in each cell.
    measured
        Columns that were known when the power was made, among them the number of readings, and
        where meters see the net what they see and what stands behind them.
    """
    cells = spec.cells
    counts = [len(roster) for roster in rosters]

    def joined(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(roster, name) for roster in rosters])

    def spread(values: list[Any]) -> NDArray[Any]:
        return np.repeat(np.array(values), counts)

    altitude = spread([cell.site.height for cell in cells])
    number = spread([cell.number for cell in cells])
    feeders = zip(number, joined("feeder"), strict=True)
    systems = {
        "system_id": list(ids),
        "latitude": joined("latitude"),
        "longitude": joined("longitude"),
        "altitude": altitude,
        "timezone": spread([cell.timezone for cell in cells]).tolist(),
        "feeder": [f"feeder-{cell:05d}-{feeder:03d}" for cell, feeder in feeders],
    }
    if "metering" in measured:
        systems["metering"] = measured["metering"].tolist()
    values = {name: joined(name) for name in _PLAIN}
    mounted = _mounted(joined)
    truth = {
        "system_id": list(ids),
        "cell_latitude": spread([cell.site.latitude for cell in cells]),
        "cell_longitude": spread([cell.site.longitude for cell in cells]),
        **_effective(mounted),
        **values,
        "ac_limit_kw": values["dc_capacity_kw"] / values["dc_ac_ratio"],
        "mount": _named(joined("mount"), [mount.value for mount in MOUNTS]),
        "clock": _named(joined("clock"), [clock.value for clock in CLOCKS]),
        "later_clock": _named(joined("later_clock"), [clock.value for clock in CLOCKS]),
        "clock_step": _instants(joined("clock_step"), spec.year),
        "skyline": _skylines(joined("skyline")),
        "skyline_highest": joined("skyline").max(axis=1),
        "smog": spread(list(smog)),
        **{name: _days(joined(f"{of}_begin"), joined(f"{of}_end")) for name, of in _SPELLS.items()},
        **measured,
        **mounted,
    }
    return systems, truth


def _mounted(joined: Callable[[str], NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns of ``_MOUNTED``."""
    names = {"first_azimuth": "surface_azimuth", "first_tilt": "surface_tilt"}
    kind = joined("tracker")
    found = {"turning": kind != FIXED, "dual_axis": kind == TWO_AXES}
    found |= {name: joined(names.get(name, name)) for name in _MOUNTED if name not in found}
    for name in ("axis_azimuth", "gcr", "max_angle"):
        found[name] = np.where(found["dual_axis"], np.nan, found[name])
    found["backtrack"] &= ~found["dual_axis"]
    return found


def _effective(mounted: dict[str, NDArray[Any]]) -> dict[str, Array]:
    """Return azimuth and tilt of systems: of two planes those of their summed normal."""
    share, second = mounted["first_share"][:, None], mounted["first_share"] < 1.0
    parts = [normals(mounted[f"{of}_azimuth"], mounted[f"{of}_tilt"]) for of in ("first", "second")]
    east, north, up = (share * parts[0] + (1.0 - share) * parts[1])[second].T
    azimuth, tilt = mounted["first_azimuth"].copy(), mounted["first_tilt"].copy()
    azimuth[second] = np.degrees(np.arctan2(east, north)) % 360.0
    tilt[second] = np.degrees(np.arctan2(np.hypot(east, north), up))
    fixed = ~mounted["turning"]
    return {
        "surface_azimuth": np.where(fixed, azimuth, np.nan),
        "surface_tilt": np.where(fixed, tilt, np.nan),
    }


def _named(codes: NDArray[np.int64], names: Sequence[str]) -> list[str]:
    return [names[code] for code in codes]


def _instants(fractions: Array, year: int) -> pd.DatetimeIndex:
    """Return fractions of a year as UTC stamps; none where they are NaN."""
    start, end = np.datetime64(f"{year}", "s"), np.datetime64(f"{year + 1}", "s")
    seconds = np.nan_to_num(fractions) * (end - start).astype(np.float64)
    stamps = start + seconds.astype(np.int64).astype("timedelta64[s]")
    return utc_index(np.where(np.isnan(fractions), np.datetime64("NaT"), stamps))


def _skylines(skylines: Skyline) -> list[list[float] | None]:
    return [each.round(1).tolist() if each.any() else None for each in skylines]


def _days(begin: Array, end: Array) -> Array:
    return np.round(YEAR_DAYS * np.nan_to_num(end - begin), 1)
