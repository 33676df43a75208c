"""Tables of a fleet under central differential privacy: each system is one row.

Draws happen here. Whoever calls this charges the ledger before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sunveil.arguments import whole
from sunveil.checked import checked
from sunveil.fleet.results import FleetRows
from sunveil.privacy.units import System, unit_name
from sunveil.publish.bins import Bins, FleetGroups, check_keys, groups_of
from sunveil.publish.buying import Bought, buy
from sunveil.publish.clip import LARGEST_KW, ClipRule, check_largest, ladder
from sunveil.publish.clip_errors import expected_error
from sunveil.publish.counts import (
    MARGINS,
    count_deviation,
    count_tables,
    draw_counts,
    drawn_deviation,
    sources,
)
from sunveil.publish.mounts import draw_mounts, mount_deviation
from sunveil.publish.publication import Publication, PublishedTable
from sunveil.publish.quantiles import draw_quantiles, grids, part_of, rank_error
from sunveil.publish.totals import (
    check_clip,
    draw_clipped_totals,
    draw_totals,
    total_deviation,
    total_table,
)

QUANTILES = (0.25, 0.5, 0.75)
PROOF = "docs/proofs/counts.md"
NOISE = "standard deviation of the noise in every cell"
CUT = "standard deviation of the noise; what is above the clip is cut off, and not known"
MIXES = "mean error, noise and what is cut off together, over public mixes of {} systems{}"
RANKS = "expected error, at most, in places of the sorted list"
# What the errors of totals are said for where nobody says how many systems there are.
SYSTEMS = 300


@dataclass(frozen=True, slots=True)
class Expected:
    """What a table will cost and be worth, known before anything is drawn.

    Parameters
    ----------
    table
        Which table.
    value
        Which of its columns.
    cost
        What the draw behind it costs, in the promise's measure: ε or ρ. Zero for tables that are
        added up from a bought one.
    error
        How far off it is. [unit]
    unit
        What the error is in.
    meaning
        What kind of error it is.
    """

    table: str
    value: str
    cost: float
    error: float
    unit: str
    meaning: str


@checked
def fleet_tables(
    rows: FleetRows,
    *,
    bins: Bins,
    epsilon: float,
    tables: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    key: str | None = None,
    keys: Sequence[str] | None = None,
    clip_kw: tuple[float, float] | None = None,
    largest_kw: float = LARGEST_KW,
    quantiles: Sequence[float] = QUANTILES,
    concentrated: bool = False,
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
    tables
        What is bought: any of ``counts`` (sector, band and class together), ``planes``,
        ``sectors``, ``tilts``, ``capacities``, ``mounts``, ``totals`` and ``quantiles``. ε goes to
        these alone. ``counts``, ``totals`` and ``quantiles`` by default.
    shares
        How ε is divided among them; 2 for ``counts`` and 1 for each other by default.
    key, keys
        A public column that divides the fleet, and every group there may be, in advance.
    clip_kw
        Public bounds that every capacity is held between in totals; None to have the upper one
        chosen privately from a public ladder, which takes a third of what totals cost. [kW]
    largest_kw
        The largest capacity that a system may have: public, such as the largest connection
        allowed. [kW]
    quantiles
        Which quantiles of capacity and tilt.
    concentrated
        Whether the promise has a δ: then ε means ρ = ε²/2, and noise is Gaussian.

    Privacy
    -------
    Neighbours replace the inferred values of one system; how many systems each group has is public.
    Pure ε-DP for ``System()``, or ρ-zCDP: ``docs/proofs/counts.md``.
    """
    # whatever public can be refused is refused before the first draw
    dry_fleet_tables(
        bins=bins, epsilon=epsilon, tables=tables, shares=shares, key=key, keys=keys,
        clip_kw=clip_kw, largest_kw=largest_kw, quantiles=quantiles, concentrated=concentrated,
    )  # fmt: skip
    bought = buy(
        epsilon, tables=tables, shares=shares, quantiles=quantiles, concentrated=concentrated
    )
    groups = groups_of(rows, key=key, keys=keys)
    return Publication(
        title="Tables of a fleet of PV systems",
        tables=tuple(_drawn(rows, bought, bins, groups, clip_kw, largest_kw)),
        guarantee=bought.whole.guarantee(PROOF),
        mechanism=_words(bought, drawn_clip=clip_kw is None and len(ladder(largest_kw)) > 1),
        public={
            "unit": unit_name(System()),
            "epsilon": float(epsilon),
            "measure": "rho" if concentrated else "epsilon",
            "parts": {name: part.amount for name, part in bought.parts.items()},
            "systems": len(rows),
            "sectors": bins.sectors,
            "tilt_edges": list(bins.tilt_edges),
            "capacity_edges_kw": list(bins.capacity_edges_kw),
            "key": key,
            "keys": None if key is None else list(groups.names),
            "clip_kw": None if clip_kw is None else list(clip_kw),
            "largest_kw": float(largest_kw),
            "quantiles": list(bought.quantiles),
        },
    )


def _drawn(
    rows: FleetRows,
    bought: Bought,
    bins: Bins,
    groups: FleetGroups,
    clip_kw: tuple[float, float] | None,
    largest_kw: float,
) -> list[PublishedTable]:
    drawn = {
        name: draw_counts(rows, bins, groups, spending=part, table=name)
        for name, part in bought.counts.items()
    }
    tables = list(count_tables(drawn, bins, groups)) if drawn else []
    if (part := bought.parts.get("mounts")) is not None:
        tables.append(draw_mounts(rows, groups, spending=part))
    if (part := bought.parts.get("totals")) is not None:
        if clip_kw is None:
            rule = ClipRule(ladder(largest_kw), part, len(rows))
            tables.append(total_table(draw_clipped_totals(rows, groups, rule), groups))
        else:
            found = draw_totals(rows, groups, clip_kw=clip_kw, spending=part)
            cut = _cut(tables, bins, clip_kw[1], largest_kw, len(groups.names))
            tables.append(total_table(found, groups, cut_kw=cut))
    if (part := bought.parts.get("quantiles")) is not None:
        tables.append(
            draw_quantiles(
                rows, groups, largest_kw=largest_kw, probabilities=bought.quantiles, spending=part
            )
        )
    return tables


def _cut(
    tables: Sequence[PublishedTable], bins: Bins, clip_kw: float, largest_kw: float, groups: int
) -> list[float] | None:
    """Return what a given clip cuts off at most by the published classes, by group. [kW]"""
    classes = next((table for table in tables if table.name == "capacities"), None)
    if classes is None:
        return None
    counts = np.array(classes.column("systems")).reshape(groups, -1)[:, :-1]
    reach = np.array([*bins.capacity_edges_kw[1:-1], largest_kw])
    above = counts[:, reach > clip_kw].sum(axis=1)
    return [float(systems * max(largest_kw - clip_kw, 0.0)) for systems in above]


@checked
def dry_fleet_tables(
    *,
    bins: Bins,
    epsilon: float,
    tables: Sequence[str] | None = None,
    shares: Mapping[str, float] | None = None,
    key: str | None = None,
    keys: Sequence[str] | None = None,
    clip_kw: tuple[float, float] | None = None,
    largest_kw: float = LARGEST_KW,
    quantiles: Sequence[float] = QUANTILES,
    concentrated: bool = False,
    systems: int | None = None,
) -> tuple[Expected, ...]:
    """Return what every table would cost and the error of its cells, without looking at a row.

    All cells of a table of counts have the same error, in every group: groups are disjoint, and
    each has the whole ε.

    Parameters
    ----------
    bins, epsilon, tables, shares, key, keys, clip_kw, largest_kw, quantiles, concentrated
        As for :func:`fleet_tables`.
    systems
        How many systems the fleet has, for the errors of totals; 300 where it is not said.
    """
    groups = len(check_keys(key, keys))
    check_largest(largest_kw)
    if clip_kw is not None:
        check_clip(clip_kw)
    bought = buy(
        epsilon, tables=tables, shares=shares, quantiles=quantiles, concentrated=concentrated
    )
    found = _expected_counts(bought, bins)
    if (part := bought.parts.get("totals")) is not None:
        if clip_kw is None:
            many = SYSTEMS if systems is None else whole("systems", systems, low=0, high=10**12)
            many = max(many, 1)
            rule = ClipRule(ladder(largest_kw), part, many)
            found.append(_expected_totals(rule, groups))
        else:
            noise = total_deviation(clip_kw=clip_kw, spending=part)
            found.append(Expected("totals", "total_kw", part.amount, noise, "kW", CUT))
    if (part := bought.parts.get("quantiles")) is not None:
        each = part_of(part, len(bought.quantiles))
        for quantity, grid in grids(largest_kw).items():
            error = rank_error(grid, spending=each)
            cost = each.amount * len(bought.quantiles)
            found.append(Expected("quantiles", quantity, cost, error, "ranks", RANKS))
    return tuple(found)


def _expected_counts(bought: Bought, bins: Bins) -> list[Expected]:
    noise = {name: drawn_deviation(part) for name, part in bought.counts.items()}
    found = []
    for name, source in sources(noise, bins).items():
        error = count_deviation(name, bins, noise[source], source=source)
        cost = bought.parts[name].amount if name in bought.parts else 0.0
        found.append(Expected(name, "systems", cost, error, "systems", NOISE))
    if (part := bought.parts.get("mounts")) is not None:
        error = mount_deviation(part)
        found.append(Expected("mounts", "systems", part.amount, error, "systems", NOISE))
    return found


def _expected_totals(rule: ClipRule, groups: int) -> Expected:
    error = 100.0 * expected_error(rule, groups=groups)
    meaning = MIXES.format(rule.systems, f" in {groups} groups" if groups > 1 else "")
    return Expected("totals", "total_kw", rule.spending.amount, error, "%", meaning)


def _words(bought: Bought, *, drawn_clip: bool) -> str:
    noisy = [name for name in (*MARGINS, "mounts", "totals") if name in bought.parts]
    kind = "Gaussian" if bought.whole.concentrated else "Laplace"
    said = [f"discrete {kind} noise ({', '.join(noisy)})"] if noisy else []
    chosen = ["quantiles by their ranks"] if "quantiles" in bought.parts else []
    if "totals" in bought.parts and drawn_clip:
        chosen.append("the clip of totals by what is above it")
    if chosen:
        kind = "the exponential mechanism" if bought.whole.concentrated else "permute-and-flip"
        said.append(f"{kind} ({', '.join(chosen)})")
    return ", ".join(said)
