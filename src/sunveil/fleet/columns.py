"""The columns that a run over a fleet writes: no public key may be called like one of them."""

from __future__ import annotations

import pyarrow as pa

# In this order, and nothing else but the public keys behind them.
ESTIMATES = (
    "system_id",
    "surface_azimuth",
    "surface_azimuth_low",
    "surface_azimuth_high",
    "surface_tilt",
    "surface_tilt_low",
    "surface_tilt_high",
    "dc_capacity_kw",
    "dc_capacity_kw_low",
    "dc_capacity_kw_high",
    "plane_error_degrees",
    "ac_limit_kw",
    "haze_summer",
    "haze_winter",
    "heat",
    "clear_hours",
    "trend_percent_per_year",
    "skyline",
    "planes",
    "tracker",
    "years",
    "clock_offset_minutes",
    "clock_label",
    "clock_daylight_saving",
    "clock_steps",
    "agreement",
    "flags",
    "quality",
    "latitude",
    "longitude",
)
REFUSED = pa.schema(
    [
        ("system_id", pa.string()),
        ("kind", pa.string()),
        ("reason", pa.string()),
        ("partition", pa.int32()),
    ]
)
# Whether the table of systems names a refused one.
IN_SYSTEMS = "in_systems"
RESERVED = frozenset((*ESTIMATES, *REFUSED.names, IN_SYSTEMS))
