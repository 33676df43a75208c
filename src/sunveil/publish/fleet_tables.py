"""Tables of a fleet: planned, charged, drawn and kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, whole
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import MOUNTS, FleetRows
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Question, SystemHome
from sunveil.privacy.discrete_noise import Counts, Sensitivity, Spending
from sunveil.privacy.guarantees import System, unit_name
from sunveil.publication.published_tables import (
    LARGEST_KW,
    MARGINS,
    UNKNOWN,
    Bins,
    Column,
    FleetGroups,
    Publication,
    PublishedTable,
    check_keys,
    groups_of,
)
from sunveil.publish.capacity_cap import ClipRule, check_largest, expected_error, ladder
from sunveil.publish.consistent_tables import consistent
from sunveil.publish.noisy_counts import (
    count_deviation,
    count_tables,
    draw_counts,
    drawn_deviation,
    key_columns,
    sources,
)
from sunveil.publish.publisher import published_homes
from sunveil.publish.totals_and_quantiles import (
    check_clip,
    check_quantiles,
    draw_clipped_totals,
    draw_quantiles,
    draw_totals,
    grids,
    part_of,
    rank_error,
    total_deviation,
    total_table,
)

TABLES = (*MARGINS, "mounts", "totals", "quantiles")


# What is bought where nothing else is said: the joint table, which all others of counts come from.
USUAL = ("counts", "totals", "quantiles")


@dataclass(frozen=True, slots=True)
class Bought:
    """What is bought, and what each part of it may spend."""

    whole: Spending  # what all of it costs
    parts: Mapping[str, Spending]
    quantiles: tuple[float, ...]  # which quantiles, in order; none where they are not bought

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
    """Return what is bought with an ε."""
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


# A replaced row leaves one cell and enters another.
SENSITIVITY = Sensitivity(absolute=2, squared=2)


LABELS = (*MOUNTS, UNKNOWN)


ABOUT = (
    "Systems by what they stand on. A system is in one row. Unknown are those that could not be"
    " inferred, and those on more than one plane of which nothing tells which. `noisy` was drawn by"
    " itself; `systems` was made from it alone, whole and non-negative with the public number of"
    " systems."
)


def mount_counts(rows: FleetRows, groups: FleetGroups) -> Counts:
    """Return how many systems stand on each of the mounts, in every group: private."""
    # Neighbours replace what one row holds, its planes and its tracker among it, and leave its key.
    # Sensitivity two, over all cells of all groups together: `docs/proofs/counts.md`.
    cells = groups.place * len(LABELS) + rows.mounts
    values = np.bincount(cells, minlength=len(LABELS) * len(groups.names))
    return Counts(values.astype(np.int64), SENSITIVITY, System(), PROOF)


def mount_deviation(spending: Spending) -> float:
    """Return the standard deviation of the noise of a cell. [systems]"""
    return spending.noise.deviation(SENSITIVITY)


def draw_mounts(rows: FleetRows, groups: FleetGroups, *, spending: Spending) -> PublishedTable:
    """Draw the table once."""
    drawn = spending.noise.draw(mount_counts(rows, groups))
    columns = (
        *key_columns(groups),
        Column("mount", "string", "What the modules stand on; a tracker has a single axis."),
        Column("systems", "integer", "Systems, whole and consistent with their public number."),
        Column("noisy", "integer", "Systems as drawn: unbiased, possibly below zero."),
        Column("sd", "number", "Standard deviation of the noise in `noisy`."),
    )
    made = tuple(_rows(drawn.reshape(-1, len(LABELS)), groups, mount_deviation(spending)))
    return PublishedTable("mounts", ABOUT, columns, made)


def _rows(
    drawn: NDArray[np.int64], groups: FleetGroups, deviation: float
) -> Iterator[tuple[Any, ...]]:
    systems = consistent(drawn, groups.sizes)
    for group, title in enumerate(groups.names):
        head = () if groups.key is None else (title,)
        for place, label in enumerate(LABELS):
            at = (group, place)
            yield (*head, label, int(systems[at]), int(drawn[at]), round(deviation, 4))


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
    """What a table will cost and be worth, known before anything is drawn."""

    table: str  # which table
    value: str  # which of its columns
    cost: float
    error: float  # [unit] how far off it is
    unit: str  # what the error is in
    meaning: str  # what kind of error it is


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


@dataclass(frozen=True, slots=True)
class TableChoices:
    """What is chosen in public for a fleet's tables.

    Parameters
    ----------
    bins
        Sectors, bands and classes.
    epsilon
        What all tables cost together. Under a promise with δ it means ρ = ε²/2, what an ε-DP
        release costs there.
    tables
        What is bought, by name; None for the usual ones (:mod:`sunveil.publish.fleet_tables`).
    shares
        How ε is divided among them; None for the usual shares.
    key, keys
        A public column that divides the fleet, and every group there may be, in advance.
    clip_kw
        Public bounds of capacity in totals; None to have the upper one chosen privately. [kW]
    largest_kw
        The largest capacity that a system may have: public. [kW]
    quantiles
        Which quantiles.
    edition
        A public name of the data that the tables are made from: another edition is another
        question.
    """

    bins: Bins
    epsilon: float
    tables: tuple[str, ...] | None = None
    shares: Mapping[str, float] | None = None
    key: str | None = None
    keys: tuple[str, ...] | None = None
    clip_kw: tuple[float, float] | None = None
    largest_kw: float = LARGEST_KW
    quantiles: tuple[float, ...] = tuple(QUANTILES)
    edition: str = "1"

    def __post_init__(self) -> None:
        check_fields(self)

    def options(self) -> dict[str, Any]:
        """Return them as :func:`~sunveil.publish.fleet_tables.fleet_tables` takes them."""
        return {
            "bins": self.bins,
            "epsilon": self.epsilon,
            "tables": self.tables,
            "shares": self.shares,
            "key": self.key,
            "keys": self.keys,
            "clip_kw": self.clip_kw,
            "largest_kw": self.largest_kw,
            "quantiles": self.quantiles,
        }


@dataclass(frozen=True, slots=True)
class TablesPlan:
    """What tables would cost, and the errors of their cells."""

    cost: float  # what they would spend now, and what is left before, in the promise's measure
    remaining: float  # what they would spend now, and what is left before, in the promise's measure
    kept: bool  # whether they were drawn before, and cost nothing
    expected: Sequence[Expected]  # the error of every table's cells


def fleet_question(
    choices: TableChoices, *, concentrated: bool = False, analyst: str | None = None
) -> Question:
    """Return the question that a fleet's tables answer."""
    bins, clip = choices.bins, choices.clip_kw
    return Question(
        kind="fleet-tables",
        parameters={
            "sectors": bins.sectors,
            "tilt_edges": list(bins.tilt_edges),
            "capacity_edges_kw": list(bins.capacity_edges_kw),
            "epsilon": choices.epsilon,
            "tables": None if choices.tables is None else sorted(choices.tables),
            "shares": None if choices.shares is None else dict(choices.shares),
            "key": choices.key,
            "keys": None if choices.keys is None else list(choices.keys),
            "clip_kw": None if clip is None else list(clip),
            "largest_kw": choices.largest_kw,
            "quantiles": list(choices.quantiles),
            "edition": choices.edition,
        },
        mechanism="fleet-tables",
        guarantee=Spending.asked(choices.epsilon, concentrated=concentrated).guarantee(PROOF),
        analyst=analyst,
    )


@checked
def publish_fleet(
    ledger: Ledger,
    dataset: str,
    rows: FleetRows,
    *,
    choices: TableChoices,
    analyst: str | None = None,
    homes: Sequence[SystemHome] = (),
) -> Publication:
    """Return a fleet's tables: charged first and drawn, or those that were drawn before.

    A call that was stopped is taken up by the same call, on the charge that it has paid.

    Parameters
    ----------
    ledger, dataset
        What is charged.
    rows
        The fleet: private.
    choices
        The public choices.
    analyst
        Whose share is charged too; None for the curator.
    homes
        What is known of the systems' households; without, each system is one by its name.

    Privacy
    -------
    ε-DP for ``System()``, or ρ-zCDP where the promise has a δ, charged durably before the first
    draw. Proof: ``docs/proofs/counts.md``.
    """
    concentrated = _concentrated(ledger, dataset)
    question = fleet_question(choices, concentrated=concentrated, analyst=analyst)
    # what is public and can be refused is refused before anything is spent
    plan = plan_fleet(ledger, dataset, choices=choices, analyst=analyst)
    groups_of(rows, key=choices.key, keys=choices.keys)
    if not plan.kept:
        question = replace(question, homes=published_homes(rows.system_ids, homes))

    def draw() -> dict[str, Any]:
        drawn = fleet_tables(rows, **choices.options(), concentrated=concentrated)
        return {
            "title": drawn.title,
            "tables": [table.to_dict() for table in drawn.tables],
            "mechanism": drawn.mechanism,
            "public": drawn.public,
        }

    drawn_tables = ledger.ask(dataset, question, draw).value
    return Publication(
        title=drawn_tables["title"],
        tables=tuple(PublishedTable.from_dict(table) for table in drawn_tables["tables"]),
        guarantee=question.guarantee,
        mechanism=drawn_tables["mechanism"],
        public=drawn_tables["public"],
        question=question,
    )


def plan_fleet(
    ledger: Ledger,
    dataset: str,
    *,
    choices: TableChoices,
    systems: int | None = None,
    analyst: str | None = None,
) -> TablesPlan:
    """Return what the tables would cost and their errors; spend nothing, and look at no row."""
    concentrated = _concentrated(ledger, dataset)
    question = fleet_question(choices, concentrated=concentrated, analyst=analyst)
    expected = dry_fleet_tables(**choices.options(), concentrated=concentrated, systems=systems)
    return TablesPlan(
        cost=ledger.due(dataset, question),
        remaining=ledger.dataset(dataset).remaining,
        kept=ledger.kept(dataset, question) is not None,
        expected=expected,
    )


def _concentrated(ledger: Ledger, dataset: str) -> bool:
    """Whether releases are added up as ρ, which the promise decides: public."""
    return ledger.dataset(dataset).promise.delta > 0.0
