"""How far apart two black boxes surely are, from counts of what came out of them.

A pair of neighbours is run ``runs`` times each. For an event fixed beforehand, a promise of ε says
that its probabilities p and q satisfy p <= e^ε q. Clopper-Pearson bounds hold p from below and q
from above, so ln(p_low / q_high) is a lower bound of ε that is too high with a small, chosen
probability only: a right system is accused no more often than that.
"""

from __future__ import annotations

import math

from scipy.stats import beta

from sunveil.errors import ParameterError

# An audit of a right system comes out right with this probability.
CONFIDENCE = 0.999
# A bound from below and one from above of either share; the complement's are one less these.
BOUNDS_PER_EVENT = 4


def low_share(count: int, runs: int, alpha: float) -> float:
    """Return the share that is too high with probability ``alpha`` at most, by Clopper-Pearson.

    Parameters
    ----------
    count, runs
        How often an event was seen, in how many runs.
    alpha
        How often the bound may be wrong.
    """
    _check(count, runs, alpha)
    return 0.0 if count == 0 else float(beta.ppf(alpha, count, runs - count + 1))


def high_share(count: int, runs: int, alpha: float) -> float:
    """Return the share that is too low with probability ``alpha`` at most, by Clopper-Pearson.

    Parameters
    ----------
    count, runs, alpha
        As for :func:`low_share`.
    """
    _check(count, runs, alpha)
    return 1.0 if count == runs else float(beta.isf(alpha, count + 1, runs - count))


def epsilon_bound(first: int, second: int, runs: int, *, alpha: float) -> float:
    """Return a lower bound of ε from one event of a pair, 0 where nothing can be said.

    Both directions are looked at, since neighbours are neighbours both ways, and the event's
    complement, which is an event as well.

    Parameters
    ----------
    first, second
        How often the event was seen for each of the pair.
    runs
        Of each of the pair.
    alpha
        How often the bound may be too high.
    """
    each = alpha / BOUNDS_PER_EVENT
    counts = ((first, second), (second, first), (runs - first, runs - second))
    ways = (*counts, (runs - second, runs - first))
    return max(0.0, *(_one_way(more, less, runs, each) for more, less in ways))


def runs_needed(claim: float, *, alpha: float) -> int:
    """Return how many runs of each make an event that always tells a pair apart exceed a claim.

    Parameters
    ----------
    claim
        The ε that is claimed.
    alpha
        How often a bound may be too high.
    """
    # seen always and never: the bounds are x and 1 - x for x = alpha^(1 / runs)
    share = 1.0 / (1.0 + math.exp(-claim))
    runs = math.ceil(math.log(alpha / BOUNDS_PER_EVENT) / math.log(share))
    while epsilon_bound(runs, 0, runs, alpha=alpha) <= claim:
        runs += 1
    return runs


def _one_way(more: int, less: int, runs: int, alpha: float) -> float:
    low = low_share(more, runs, alpha)
    return -math.inf if low == 0.0 else math.log(low / high_share(less, runs, alpha))


def _check(count: int, runs: int, alpha: float) -> None:
    if runs < 1 or not 0 <= count <= runs:
        raise ParameterError("an event is seen from 0 times to as often as there are runs")
    if not 0.0 < alpha < 1.0:
        raise ParameterError(f"the share of wrong bounds is between 0 and 1, and {alpha:g} is not")
