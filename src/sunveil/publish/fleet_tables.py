"""FleetTables: counts, totals and quantiles of a fleet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked, whole
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import MOUNTS, FleetRows
from sunveil.ledger.promises import Answer, Dataset, Question
from sunveil.privacy.discrete_noise import Counts, Sensitivity, Spending
from sunveil.privacy.guarantees import ConcentratedGuarantee, System, unit_name
from sunveil.publication.published_tables import (
    CHOOSER,
    LARGEST_KW,
    MARGINS,
    UNKNOWN,
    Bins,
    Column,
    HowMade,
    Publication,
    PublishedTable,
)
from sunveil.publish.capacity_cap import ClipRule, check_largest, expected_error, ladder
from sunveil.publish.consistent_tables import consistent
from sunveil.publish.noisy_counts import (
    FleetGroups,
    check_keys,
    count_deviation,
    count_tables,
    draw_counts,
    drawn_deviation,
    groups_of,
    key_columns,
    sources,
)
from sunveil.publish.publisher import Product
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


@dataclass(frozen=True, slots=True)
class TableChoices:
    """The public choices of a fleet's tables.

    Parameters
    ----------
    bins
        Sectors, bands and classes.
    epsilon
        The cost of all tables together. Under a promise with δ it means ρ = ε²/2, the cost of an
        ε-DP release there.
    tables
        Any of ``counts`` (sector, band and class together), ``planes``, ``sectors``, ``tilts``,
        ``capacities``, ``mounts``, ``totals`` and ``quantiles``: ε is divided among these. None for
        ``counts``, ``totals`` and ``quantiles``.
    shares
        How ε is divided among them; by default 2 for ``counts`` and 1 for each other.
    key, keys
        A public column that divides the fleet, and all its groups, in advance.
    clip_kw
        Public bounds that capacities in totals are clipped to; None to choose the upper one
        privately from a public ladder, for a third of what totals cost. [kW]
    largest_kw
        The largest capacity of a system: public, such as the largest connection allowed. [kW]
    quantiles
        Which quantiles of capacity and tilt.
    edition
        A public name of the data: another edition is another question.
    """

    bins: Bins = field(default_factory=Bins)
    epsilon: float = 1.0
    tables: tuple[str, ...] | None = None
    shares: Mapping[str, float] | None = None
    key: str | None = None
    keys: tuple[str, ...] | None = None
    clip_kw: tuple[float, float] | None = None
    largest_kw: float = LARGEST_KW
    quantiles: tuple[float, ...] = QUANTILES
    edition: str = "1"

    def __post_init__(self) -> None:
        check_fields(self)

    def buy(self, *, concentrated: bool) -> Bought:
        """Return what each table may spend."""
        return buy(
            self.epsilon,
            tables=self.tables,
            shares=self.shares,
            quantiles=self.quantiles,
            concentrated=concentrated,
        )


@checked
def fleet_tables(
    rows: FleetRows, choices: TableChoices, *, concentrated: bool = False
) -> Publication:
    """Draw the tables of a fleet; nothing is recorded.

    Privacy
    -------
    Neighbours replace the inferred values of one system; the size of each group is public.
    Pure ε-DP for ``System()``, or ρ-zCDP: ``docs/proofs/counts.md``.
    """
    # everything public that can be refused is refused before the first draw
    expected_tables(choices, concentrated=concentrated)
    bought = choices.buy(concentrated=concentrated)
    bins, clip = choices.bins, choices.clip_kw
    groups = groups_of(rows, key=choices.key, keys=choices.keys)
    tables = tuple(_drawn(rows, bought, choices, groups))
    public = {
        "unit": unit_name(System()),
        "epsilon": float(choices.epsilon),
        "measure": "rho" if concentrated else "epsilon",
        "parts": {name: part.amount for name, part in bought.parts.items()},
        "systems": len(rows),
        "sectors": bins.sectors,
        "tilt_edges": list(bins.tilt_edges),
        "capacity_edges_kw": list(bins.capacity_edges_kw),
        "key": choices.key,
        "keys": None if choices.key is None else list(groups.names),
        "clip_kw": None if clip is None else list(clip),
        "largest_kw": float(choices.largest_kw),
        "quantiles": list(bought.quantiles),
    }
    return Publication(
        title="Tables of a fleet of PV systems",
        tables=tables,
        guarantee=bought.whole.guarantee(PROOF),
        mechanism=_words(bought, private_clip=clip is None and len(ladder(choices.largest_kw)) > 1),
        public=public,
        how=_how(public, tables),
    )


def _drawn(
    rows: FleetRows, bought: Bought, choices: TableChoices, groups: FleetGroups
) -> list[PublishedTable]:
    bins, clip_kw, largest_kw = choices.bins, choices.clip_kw, choices.largest_kw
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
            totals = draw_totals(rows, groups, clip_kw=clip_kw, spending=part)
            cut = _cut(tables, bins, clip_kw[1], largest_kw, len(groups.names))
            tables.append(total_table(totals, groups, cut_kw=cut))
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
def expected_tables(
    choices: TableChoices, *, concentrated: bool = False, systems: int | None = None
) -> tuple[Expected, ...]:
    """Return the cost of each table and the error of its values; looks at no row.

    All bins of a table of counts have the same error, in every group: groups are disjoint, and
    each has the whole ε. Where the number of systems is not known, it is taken to be 300.
    """
    clip_kw, largest_kw = choices.clip_kw, choices.largest_kw
    groups = len(check_keys(choices.key, choices.keys))
    check_largest(largest_kw)
    if clip_kw is not None:
        check_clip(clip_kw)
    bought = choices.buy(concentrated=concentrated)
    expected = _expected_counts(bought, choices.bins)
    if (part := bought.parts.get("totals")) is not None:
        if clip_kw is None:
            many = SYSTEMS if systems is None else whole("systems", systems, low=0, high=10**12)
            rule = ClipRule(ladder(largest_kw), part, max(many, 1))
            expected.append(_expected_totals(rule, groups))
        else:
            noise = total_deviation(clip_kw=clip_kw, spending=part)
            expected.append(Expected("totals", "total_kw", part.amount, noise, "kW", CUT))
    if (part := bought.parts.get("quantiles")) is not None:
        each = part_of(part, len(bought.quantiles))
        for quantity, grid in grids(largest_kw).items():
            error = rank_error(grid, spending=each)
            cost = each.amount * len(bought.quantiles)
            expected.append(Expected("quantiles", quantity, cost, error, "ranks", RANKS))
    return tuple(expected)


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


def _words(bought: Bought, *, private_clip: bool) -> str:
    noisy = [name for name in (*MARGINS, "mounts", "totals") if name in bought.parts]
    kind = "Gaussian" if bought.whole.concentrated else "Laplace"
    said = [f"discrete {kind} noise ({', '.join(noisy)})"] if noisy else []
    chosen = ["quantiles by their ranks"] if "quantiles" in bought.parts else []
    if "totals" in bought.parts and private_clip:
        chosen.append("the clip of totals by what is above it")
    if chosen:
        kind = "the exponential mechanism" if bought.whole.concentrated else "permute-and-flip"
        said.append(f"{kind} ({', '.join(chosen)})")
    return ", ".join(said)


_CONSTANTS = "Sunveil's own, constants of the program that are the same for all data"
# Said of every product that is made of inferred rows.
ROWS = (
    "Rows of inferred values are used as they are given: the curator states that each was inferred"
    " from the readings of its own system alone."
)


def rows_made(
    *,
    unprotected: str,
    preprocessing: str,
    post_processing: str,
    product_type: str = "Summary statistics",
) -> HowMade:
    """Return how a product of inferred rows is made."""
    return HowMade(
        covers="All tables together",
        data="Azimuth, tilt and DC capacity inferred of solar PV systems, and whether they stand on"
        " one plane, on two or on a tracker; one row per system.",
        unprotected=unprotected,
        preprocessing=preprocessing,
        post_processing=post_processing,
        composition="The parts of a publication add up to what it costs.",
        product_type=product_type,
    )


def _how(public: Mapping[str, Any], tables: Sequence[PublishedTable]) -> HowMade | None:
    if "tilt_edges" not in public:  # not known of tables that an earlier version drew
        return None
    key = public["key"]
    in_groups = "" if key is None else f", and which of them are in each {key}"
    return rows_made(
        unprotected=f"Public: which systems are in the data, how many ({public['systems']})"
        f"{in_groups}.",
        preprocessing=_preprocessing(public),
        post_processing=_post_processing(tables),
    )


def _preprocessing(public: Mapping[str, Any]) -> str:
    usual = Bins()
    edges = tuple(map(tuple, (public["tilt_edges"], public["capacity_edges_kw"])))
    defaults = (usual.sectors, usual.tilt_edges, usual.capacity_edges_kw)
    chosen = (public["sectors"], *edges) != defaults
    said = [ROWS, f"Bins were chosen for it; {CHOOSER}." if chosen else f"Bins are {_CONSTANTS}."]
    if "totals" in public["parts"]:
        given = public["clip_kw"] is not None
        said.append(
            f"Bounds of capacity in totals were given; {CHOOSER}."
            if given
            else "The cap on capacities in totals was drawn privately from a public ladder, and"
            " paid for out of what totals cost."
        )
    if public["largest_kw"] != LARGEST_KW:
        said.append(f"The largest capacity of a system was given; {CHOOSER}.")
    return " ".join(said)


def _post_processing(tables: Sequence[PublishedTable]) -> str:
    names = {table.name for table in tables}
    done = []
    if names & set(MARGINS):
        done.append(
            "Counts were made to agree with each other and with the public number of systems, whole"
            " and not negative; the column noisy has them as they were drawn."
        )
    if "mounts" in names:
        done.append(
            "Counts by mount were made to agree with the public number of systems alone, whole and"
            " not negative; the column noisy has them as they were drawn."
        )
    if "totals" in names:
        done.append("Means are totals divided by public numbers of systems.")
    if "quantiles" in names:
        done.append("Quantiles of one quantity were put in order.")
    return " ".join(done)


@dataclass(frozen=True, slots=True, eq=False)
class FleetTables(Product[tuple[Expected, ...]]):
    """Tables of a fleet: counts, totals and quantiles.

    Parameters
    ----------
    choices
        The public choices.
    rows
        The fleet: private; None to plan before it is read.
    size
        Number of systems, for plans without rows.

    Privacy
    -------
    ε-DP for ``System()``, or ρ-zCDP where the promise has a δ. Proof: ``docs/proofs/counts.md``.
    """

    choices: TableChoices
    rows: FleetRows | None = field(default=None, repr=False)
    size: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def question(
        self, dataset: Dataset, kept: Sequence[Answer] = (), *, analyst: str | None = None
    ) -> Question:
        """Return the question that the tables answer."""
        choices = self.choices
        bins, clip = choices.bins, choices.clip_kw
        concentrated = dataset.promise.delta > 0.0
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

    def expected(self, dataset: Dataset, question: Question | None = None) -> tuple[Expected, ...]:
        """Return the cost of each table and the error of its values."""
        size = len(self.rows) if self.rows is not None else self.size
        return expected_tables(self.choices, concentrated=dataset.promise.delta > 0.0, systems=size)

    def check(self, question: Question) -> None:
        """Refuse choices that the fleet does not fit."""
        concentrated = isinstance(question.guarantee, ConcentratedGuarantee)
        expected_tables(self.choices, concentrated=concentrated)
        groups_of(self._rows(), key=self.choices.key, keys=self.choices.keys)

    def systems_charged(self, question: Question) -> Iterable[str]:
        """Return the systems of the fleet."""
        return self._rows().system_ids

    def draw(self, dataset: Dataset, question: Question, *, digest: str) -> dict[str, Any]:
        """Draw the tables: private."""
        concentrated = isinstance(question.guarantee, ConcentratedGuarantee)
        drawn = fleet_tables(self._rows(), self.choices, concentrated=concentrated)
        return {
            "title": drawn.title,
            "tables": [table.to_dict() for table in drawn.tables],
            "mechanism": drawn.mechanism,
            "public": drawn.public,
        }

    def publication(
        self, dataset: Dataset, answers: Sequence[Answer], question: Question | None
    ) -> Publication:
        """Return the tables that were drawn."""
        assert question is not None
        kept = answers[0].value
        tables = tuple(map(PublishedTable.from_dict, kept["tables"]))
        return Publication(
            title=kept["title"],
            tables=tables,
            guarantee=question.guarantee,
            mechanism=kept["mechanism"],
            public=kept["public"],
            how=_how(kept["public"], tables),
            question=question,
        )

    def _rows(self) -> FleetRows:
        if self.rows is None:
            raise ParameterError("tables are drawn from rows; give the fleet's rows")
        return self.rows
