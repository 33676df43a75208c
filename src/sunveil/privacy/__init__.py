"""Units of protection, guarantees, and the mechanisms that give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sunveil._extras import lazy_names

if TYPE_CHECKING:
    from sunveil.privacy.discrete_noise import DiscreteGaussian, DiscreteLaplace
    from sunveil.privacy.guarantees import (
        ConcentratedGuarantee,
        ConditionalGuarantee,
        Days,
        Guarantee,
        Readings,
        System,
    )
    from sunveil.privacy.mechanisms import PermuteAndFlip, Score

__all__ = [
    "ConcentratedGuarantee",
    "ConditionalGuarantee",
    "Days",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Guarantee",
    "PermuteAndFlip",
    "Readings",
    "Score",
    "System",
]

__getattr__ = lazy_names(
    __name__,
    {
        "sunveil.privacy.discrete_noise": ("DiscreteGaussian", "DiscreteLaplace"),
        "sunveil.privacy.guarantees": (
            "ConcentratedGuarantee",
            "ConditionalGuarantee",
            "Days",
            "Guarantee",
            "Readings",
            "System",
        ),
        "sunveil.privacy.mechanisms": ("PermuteAndFlip", "Score"),
    },
)
