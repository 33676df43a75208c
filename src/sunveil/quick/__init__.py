"""The inference of many systems at once, compiled: the same method as :mod:`sunveil.fit`.

A block is all systems of one weather cell on one axis of time. What depends on the sky alone is
made once per cell; what depends on a system runs in compiled loops that let other threads run.
"""

from __future__ import annotations

from sunveil.quick.block import SAVINGS, BlockFit, fit_block, reason
from sunveil.quick.constants import QuickOptions

__all__ = ["SAVINGS", "BlockFit", "QuickOptions", "fit_block", "reason"]
