"""An estimate read back from a row of a fleet's table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sunveil.arguments import all_named
from sunveil.estimate_flags import Flag
from sunveil.estimate_parts import ClockFinding, YearEstimate
from sunveil.household import HouseholdEstimate
from sunveil.planes import PlaneEstimate, TrackerEstimate
from sunveil.quantities import interval_of, listed, number_or_nan
from sunveil.site import Plane


@all_named("the row", "what to_row gave")
def fields_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an estimate that a row holds: all but its assumptions and notes.

    Parameters
    ----------
    row
        The columns of :meth:`sunveil.Estimate.to_row`; see :meth:`sunveil.Estimate.from_row`.
    """
    turned, lives = row["tracker"], row["household_load"]
    return {
        "system_id": str(row["system_id"]),
        "plane": Plane(row["surface_azimuth"], row["surface_tilt"]),
        "dc_capacity_kw": row["dc_capacity_kw"],
        "azimuth_interval": interval_of(row, "surface_azimuth"),
        "tilt_interval": interval_of(row, "surface_tilt"),
        "capacity_interval": interval_of(row, "dc_capacity_kw"),
        "plane_error_degrees": number_or_nan(row["plane_error_degrees"]),
        "ac_limit_kw": row["ac_limit_kw"],
        "clock": ClockFinding.from_row(row),
        "agreement": row["agreement"],
        "flags": tuple(Flag(each) for each in listed(row["flags"])),
        "haze_summer": row["haze_summer"],
        "haze_winter": row["haze_winter"],
        "heat": row["heat"],
        "clear_hours": row["clear_hours"],
        "skyline": tuple(listed(row["skyline"])),
        "years": tuple(YearEstimate.from_row(year) for year in listed(row["years"])),
        "trend_percent_per_year": row["trend_percent_per_year"],
        "planes": tuple(PlaneEstimate.from_row(each) for each in listed(row["planes"])),
        "tracker": TrackerEstimate.from_row(turned) if isinstance(turned, Mapping) else None,
        "household": HouseholdEstimate.from_row(lives) if isinstance(lives, Mapping) else None,
    }
