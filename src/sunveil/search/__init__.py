"""Searching a finite grid of candidates."""

from __future__ import annotations

from enum import StrEnum


class Search(StrEnum):
    """How the maximiser of a score is looked for."""

    EXHAUSTIVE = "exhaustive"
    BAYESOPT = "bayesopt"
