"""The engine: the same method for one system and for a million.

A block is all systems that share a sky and a grid of times. What depends on the sky alone is made
once; what depends on a system runs in a dozen small compiled kernels under a driver in Python.
"""

from __future__ import annotations

from sunveil.engine.any_block import infer_any_block
from sunveil.engine.assumed import Clock, EngineOptions
from sunveil.engine.block import infer_block
from sunveil.engine.net_block import infer_net_block
from sunveil.engine.outcomes import SAVINGS, BlockEstimates, reason
from sunveil.engine.skytable import SkyTable, make_sky_table

__all__ = [
    "SAVINGS",
    "BlockEstimates",
    "Clock",
    "EngineOptions",
    "SkyTable",
    "infer_any_block",
    "infer_block",
    "infer_net_block",
    "make_sky_table",
    "reason",
]
