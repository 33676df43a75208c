"""Tables of a fleet under central differential privacy: each system is one row.

Draws happen here. Whoever calls this charges the ledger before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sunveil.errors import ParameterError
from sunveil.fleet.results import FleetRows
from sunveil.privacy.counting import DiscreteLaplace
from sunveil.privacy.guarantee import Guarantee, check_release_epsilon
from sunveil.privacy.units import System, unit_name
from sunveil.publish.bins import Bins, check_keys, groups_of
from sunveil.publish.counts import (
    MARGINS,
    SENSITIVITY,
    count_deviation,
    count_tables,
    draw_counts,
)
from sunveil.publish.publication import Publication, PublishedTable
from sunveil.publish.quantiles import (
    check_quantiles,
    draw_quantiles,
    grids,
    part_of,
    rank_error,
)
from sunveil.publish.totals import check_clip, draw_totals, total_deviation, total_table

PARTS = ("counts", "totals", "quantiles")
SHARES = {"counts": 2.0, "totals": 1.0, "quantiles": 1.0}
CLIP_KW = (0.0, 25.0)
QUANTILES = (0.25, 0.5, 0.75)
PROOF = "docs/proofs/counts.md"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a table will cost and be worth, known before anything is drawn.

    Parameters
    ----------
    table
        Which table.
    value
        Which of its columns.
    epsilon
        What the draw behind it costs; tables of counts share one draw.
    error
        Standard deviation of every cell before it is made consistent, or for quantiles what the
        expected error in ranks is at most.
    unit
        What the error is in.
    """

    table: str
    value: str
    epsilon: float
    error: float
    unit: str


def split(
    epsilon: float, shares: Mapping[str, float] | None, *, quantiles: int
) -> dict[str, float]:
    """Return the ε of every part that is drawn; added up exactly they are within the whole.

    Parameters
    ----------
    epsilon
        The whole.
    shares
        Weight of each of ``counts``, ``totals`` and ``quantiles``; a part without weight is left
        out. Only their proportions matter.
    quantiles
        How many quantiles are asked for.
    """
    check_release_epsilon(epsilon)
    weights = dict(SHARES if shares is None else shares)
    if shares is None and not quantiles:
        del weights["quantiles"]
    if not set(weights) <= set(PARTS):
        raise ParameterError(f"shares are given to {', '.join(PARTS)}, and to nothing else")
    if any(not (math.isfinite(weight) and weight >= 0.0) for weight in weights.values()):
        raise ParameterError("shares are finite numbers of 0 or more")
    drawn = {part: Fraction(weights[part]) for part in PARTS if weights.get(part)}
    if not drawn:
        raise ParameterError("no table has a share of epsilon; give at least one a share above 0")
    if ("quantiles" in drawn) != bool(quantiles):
        raise ParameterError(
            "quantiles need both a share of epsilon and a list of probabilities, and one is missing"
        )
    whole = sum(drawn.values(), Fraction(0))
    return {part: _below(Fraction(epsilon) * weight / whole) for part, weight in drawn.items()}


def fleet_tables(
    rows: FleetRows,
    *,
    bins: Bins,
    epsilon: float,
    shares: Mapping[str, float] | None = None,
    key: str | None = None,
    keys: Sequence[str] | None = None,
    clip_kw: tuple[float, float] = CLIP_KW,
    quantiles: Sequence[float] = QUANTILES,
) -> Publication:
    """Draw the tables of a fleet.

    Parameters
    ----------
    rows
        The fleet: private.
    bins
        Public sectors, bands and classes.
    epsilon
        What all tables cost together.
    shares
        How ε is divided among ``counts``, ``totals`` and ``quantiles``; 2 : 1 : 1 by default.
    key, keys
        A public column that divides the fleet, and every group there may be, in advance.
    clip_kw
        Public bounds that every capacity is held between in totals and quantiles. [kW]
    quantiles
        Which quantiles of capacity and tilt.

    Privacy
    -------
    Neighbours replace the inferred values of one system; how many systems each group has is public.
    Pure ε-DP for ``System()``: ``docs/proofs/counts.md``.
    """
    probabilities = check_quantiles(quantiles)
    check_clip(clip_kw)
    parts = split(epsilon, shares, quantiles=len(probabilities))
    # whatever public can be refused is refused before the first draw
    dry_fleet_tables(
        bins=bins, epsilon=epsilon, shares=shares, key=key, keys=keys, clip_kw=clip_kw,
        quantiles=quantiles,
    )  # fmt: skip
    groups = groups_of(rows, key=key, keys=keys)
    tables: list[PublishedTable] = []
    if "counts" in parts:
        found = draw_counts(rows, bins, groups, epsilon=parts["counts"])
        tables.extend(count_tables(found, bins, groups))
    if "totals" in parts:
        part = parts["totals"]
        drawn = draw_totals(rows, groups, clip_kw=clip_kw, epsilon=part)
        tables.append(total_table(drawn, groups, clip_kw=clip_kw, epsilon=part))
    if "quantiles" in parts:
        tables.append(
            draw_quantiles(
                rows,
                groups,
                clip_kw=clip_kw,
                probabilities=probabilities,
                epsilon=parts["quantiles"],
            )
        )
    return Publication(
        title="Tables of a fleet of PV systems",
        tables=tuple(tables),
        guarantee=Guarantee(System(), float(epsilon), 0.0, PROOF),
        mechanism=_words(parts),
        public={
            "unit": unit_name(System()),
            "epsilon": float(epsilon),
            "parts": parts,
            "systems": len(rows),
            "sectors": bins.sectors,
            "tilt_edges": list(bins.tilt_edges),
            "capacity_edges_kw": list(bins.capacity_edges_kw),
            "key": key,
            "keys": None if key is None else list(groups.names),
            "clip_kw": list(clip_kw),
            "quantiles": list(probabilities),
        },
    )


def dry_fleet_tables(
    *,
    bins: Bins,
    epsilon: float,
    shares: Mapping[str, float] | None = None,
    key: str | None = None,
    keys: Sequence[str] | None = None,
    clip_kw: tuple[float, float] = CLIP_KW,
    quantiles: Sequence[float] = QUANTILES,
) -> tuple[Expected, ...]:
    """Return what every table would cost and the error of its cells, without looking at a row.

    All cells of a table have the same error, in every group: groups are disjoint, and each has the
    whole ε. That of a mean is the total's divided by the size of its group.

    Parameters
    ----------
    bins, epsilon, shares, key, keys, clip_kw, quantiles
        As for :func:`fleet_tables`.
    """
    probabilities = check_quantiles(quantiles)
    check_clip(clip_kw)
    check_keys(key, keys)
    parts = split(epsilon, shares, quantiles=len(probabilities))
    found: list[Expected] = []
    if "counts" in parts:
        part = parts["counts"]
        cell = DiscreteLaplace(part).deviation(SENSITIVITY)
        for name in MARGINS:
            error = count_deviation(name, bins, cell)
            found.append(Expected(name, "systems", part, error, "systems"))
    if "totals" in parts:
        part = parts["totals"]
        error = total_deviation(clip_kw=clip_kw, epsilon=part)
        found.append(Expected("totals", "total_kw", part, error, "kW"))
    if "quantiles" in parts:
        each = part_of(parts["quantiles"], len(probabilities))
        check_release_epsilon(each)
        for quantity, grid in grids(clip_kw).items():
            error = rank_error(grid, epsilon=each)
            found.append(Expected("quantiles", quantity, each, error, "ranks"))
    return tuple(found)


def _below(exact: Fraction) -> float:
    """Return the nearest float that is not above."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0.0)


def _words(parts: Mapping[str, float]) -> str:
    laplace = [part for part in ("counts", "totals") if part in parts]
    said = [f"discrete Laplace noise ({' and '.join(laplace)})"] if laplace else []
    if "quantiles" in parts:
        said.append("permute-and-flip on ranks (quantiles)")
    return ", ".join(said)
