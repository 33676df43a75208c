"""Stretches of the year in which something is wrong with a system, one or none for each."""

from __future__ import annotations

import numpy as np

from sunveil.site import Array

YEAR_DAYS = 365.0


def draw_spells(
    rng: np.random.Generator, share: float, n: int, *, days: tuple[float, float]
) -> tuple[Array, Array]:
    """Return where spells begin and end, as fractions of the year; NaN for those without.

    Parameters
    ----------
    rng
        Source of randomness.
    share
        Share of systems that have one.
    n
        How many systems.
    days
        Shortest and longest spell, evenly spread in the logarithm. [days]
    """
    has = rng.random(n) < share
    length = np.exp(rng.uniform(np.log(days[0]), np.log(days[1]), n)) / YEAR_DAYS
    begin = rng.random(n) * (1.0 - length)
    return np.where(has, begin, np.nan), np.where(has, begin + length, np.nan)
