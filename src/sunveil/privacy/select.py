"""Private selection in exact arithmetic, through OpenDP."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


@cache
def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def draw_exponential(levels: NDArray[np.int64], *, sensitivity: int, epsilon: float) -> int:
    """Return one index with probability proportional to exp(ε level / 2Δ).

    Parameters
    ----------
    levels
        One whole number per candidate.
    sensitivity
        Δ: how far neighbours can move any level.
    epsilon
        The ε of one draw.
    """
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    select = dp.m.make_noisy_max(
        *space, dp.zero_concentrated_divergence(), scale=2.0 * sensitivity / epsilon
    )
    return int(select(levels))
