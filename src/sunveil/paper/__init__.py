"""The method of Ravi, Scaglione et al., as their paper states it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._lazy import lazy_names

if TYPE_CHECKING:
    from sunveil.paper.dpbo import DPBO
    from sunveil.paper.fit import fit_paper

__all__ = [
    "DPBO",
    "fit_paper",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.paper.dpbo": ("DPBO",),
        "sunveil.paper.fit": ("fit_paper",),
    },
)
