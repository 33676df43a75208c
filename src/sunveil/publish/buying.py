"""Which of a fleet's tables are bought, and what each may spend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sunveil.errors import ParameterError
from sunveil.publish.counts import MARGINS
from sunveil.publish.quantiles import check_quantiles, part_of
from sunveil.publish.spending import Spending

TABLES = (*MARGINS, "mounts", "totals", "quantiles")
# What is bought where nothing else is said: the joint table, which all others of counts come from.
USUAL = ("counts", "totals", "quantiles")


@dataclass(frozen=True, slots=True)
class Bought:
    """What is bought, and what each part of it may spend.

    Parameters
    ----------
    whole
        What all of it costs.
    parts
        What each table costs; exactly added up they are within the whole.
    quantiles
        Which quantiles, in order; none where they are not bought.
    """

    whole: Spending
    parts: Mapping[str, Spending]
    quantiles: tuple[float, ...]

    @property
    def counts(self) -> dict[str, Spending]:
        """The parts that are tables of counts."""
        return {name: part for name, part in self.parts.items() if name in MARGINS}


def buy(
    epsilon: float,
    *,
    tables: Sequence[str] | None,
    shares: Mapping[str, float] | None,
    quantiles: Sequence[float],
    concentrated: bool = False,
) -> Bought:
    """Return what is bought with an ε.

    Parameters
    ----------
    epsilon
        The whole.
    tables
        Names of tables; None for those that have a share, or for the usual ones.
    shares
        Weight of each, of which only the proportions matter; None for the usual ones.
    quantiles
        Which quantiles, where they are bought.
    concentrated
        Whether ε means ρ = ε²/2.
    """
    probabilities = check_quantiles(quantiles)
    whole = Spending.asked(epsilon, concentrated=concentrated)
    weights = _weights(tables, shares, bool(probabilities))
    if ("quantiles" in weights) and not probabilities:
        raise ParameterError("quantiles are bought, and no probability says which")
    total = sum(weights.values(), Fraction(0))
    parts = {name: whole.part(weight / total) for name, weight in weights.items()}
    if "quantiles" in parts:
        part_of(parts["quantiles"], len(probabilities))  # refused if each is too little
    return Bought(whole, parts, probabilities if "quantiles" in parts else ())


def _weights(
    tables: Sequence[str] | None, shares: Mapping[str, float] | None, ranked: bool
) -> dict[str, Fraction]:
    """Return the weight of every table that is bought, in the tables' order."""
    given = dict(shares or {})
    if tables is None:
        usual = [name for name in USUAL if name != "quantiles" or ranked]
        tables = [name for name, share in given.items() if share] if given else usual
    if not set(tables) | set(given) <= set(TABLES) or len(set(tables)) != len(tables):
        raise ParameterError(f"tables are among {', '.join(TABLES)}, each once")
    if any(not (math.isfinite(share) and share >= 0.0) for share in given.values()):
        raise ParameterError("shares are finite numbers of 0 or more")
    if not tables:
        raise ParameterError("no table is bought; name at least one, with a share above 0")
    if given and {name for name, share in given.items() if share} != set(tables):
        raise ParameterError("each table that is bought has a share above 0, and no other has one")
    usual_share = {name: 2.0 if name == "counts" else 1.0 for name in TABLES}
    return {name: Fraction((given or usual_share)[name]) for name in TABLES if name in tables}
