"""The inference itself: one method for one system and for a million."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.engine.infer import infer_block, infer_generation
    from sunveil.engine.net_meters import infer_net_block
    from sunveil.engine.sky_tables import SkyTable, make_sky_table
    from sunveil.estimates.estimates_table import Estimates
    from sunveil.estimates.flags_and_quality import SAVINGS, reason
    from sunveil.estimates.inference_options import Clock, InferOptions

__all__ = [
    "SAVINGS",
    "Clock",
    "Estimates",
    "InferOptions",
    "SkyTable",
    "infer_block",
    "infer_generation",
    "infer_net_block",
    "make_sky_table",
    "reason",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.engine.infer": ("infer_block", "infer_generation"),
        "sunveil.engine.net_meters": ("infer_net_block",),
        "sunveil.engine.sky_tables": ("SkyTable", "make_sky_table"),
        "sunveil.estimates.estimates_table": ("Estimates",),
        "sunveil.estimates.flags_and_quality": ("SAVINGS", "reason"),
        "sunveil.estimates.inference_options": ("Clock", "InferOptions"),
    },
)
