"""The columns that a run over a fleet writes: no public key may be called like one of them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

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
    # not household, which is the curator's key of one in tables of systems
    "household_load",
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
# What is inferred from readings, which divides no fleet in public.
PRIVATE = frozenset(ESTIMATES) - {"system_id", "latitude", "longitude"}


def key_texts(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Return the cells of a public key as texts, ``""`` where blank: what groups are named by.

    Booleans become ``true`` and ``false``, dates ``2024-01-31``, decimals keep their digits. Where
    groups are offered and where rows are grouped, it is this text, so that one value has one name.

    Raises
    ------
    pyarrow.ArrowException
        Where the column's type has no text, such as lists.
    """
    return pc.fill_null(column.cast(pa.string()), "")
