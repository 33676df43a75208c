"""How often Python looks for garbage in processes that do nothing else than Sunveil's work."""

from __future__ import annotations

import gc

# What a fleet loads is eighty thousand objects that stay; by Python's own thresholds, these are
# looked through two hundred times while they are made. A service that runs for months collects.
_THRESHOLDS = (50_000, 20, 20)


def collect_seldom() -> None:
    """Let the collector run more seldom."""
    gc.set_threshold(*_THRESHOLDS)
