"""SyntheticTable: synthetic systems, made with mbi in a process of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import FleetRows
from sunveil.ledger.promises import Answer, Dataset, Question
from sunveil.privacy.discrete_noise import CountNoise, Counts, Sensitivity, Spending
from sunveil.privacy.guarantees import System
from sunveil.publication.published_tables import BINS, Bins, Column, Publication, PublishedTable
from sunveil.publish.fit_synthetic import NAMES, Marginal, check_mbi, noisy_counts, sample_model
from sunveil.publish.fleet_tables import ROWS, rows_made
from sunveil.publish.noisy_counts import bins_of_systems
from sunveil.publish.publisher import Product

Array = NDArray[np.float64]

Whole = NDArray[np.int64]

SINGLES = tuple(combinations(range(3), 1))

PAIRS = tuple(combinations(range(3), 2))


def survival(table: PublishedTable, marginals: list[Marginal], bins: Bins) -> PublishedTable:
    """Return how far a synthetic table is from the noisy counts that it was made of: public."""
    places = places_of_table(table, bins)
    rows: list[tuple[Any, ...]] = []
    for marginal in marginals:
        made = tally(places, marginal.axes, bins)
        away = _distance(made, marginal.counts)
        # nobody can be further away than all systems together
        noise = min(noise_distance(marginal, len(table.rows)), 1.0)
        rows.append(("distance", marginal.name, None, None, round(away, 6), round(noise, 6)))
    for marginal in marginals[len(SINGLES) :]:
        made = tally(places, marginal.axes, bins)
        for name, scores in _scores(marginal.axes, bins):
            ours = _correlation(made, *scores)
            noisy = _correlation(marginal.counts, *scores)
            noise = _correlation_noise(marginal, noisy, *scores)
            numbers = (round(each, 6) for each in (noisy, ours, ours - noisy, noise))
            rows.append(("correlation", name, *numbers))
    return PublishedTable(
        "survival",
        "How well counts and correlations survive. An error of 1 says that only noise was"
        " measured.",
        _REPORT,
        tuple(rows),
    )


_REPORT = (
    Column("kind", "string", "distance, or correlation."),
    Column("of", "string", "Which columns."),
    Column("measured", "number", "Correlation in the noisy counts."),
    Column("synthetic", "number", "Correlation in the synthetic table."),
    Column("difference", "number", "Share of systems that would have to move, or the difference."),
    Column(
        "noise_error",
        "number",
        "What the noise of the counts alone would make of it; 1 at most: only noise.",
    ),
)


def bins_of_rows(rows: FleetRows, bins: Bins) -> Whole:
    """Return the bin of every row along each axis: private."""
    # A row that lacks a value is in the first bin of every axis: that it could not be inferred is
    # as private as its readings, so that it is neither refused nor omitted.
    if len(rows) == 0:
        raise ParameterError("a synthetic table needs at least one system")
    numbers = bins_of_systems(rows, bins)
    flat = np.where(numbers < bins.size, numbers, 0)
    return np.stack(np.unravel_index(flat, bins.shape)).astype(np.int64)


def places_of_table(table: PublishedTable, bins: Bins) -> Whole:
    """Return the bin of every published row along each axis."""
    azimuth, tilt, capacity = (np.array(table.column(name), float) for name in NAMES)
    names = tuple(str(number) for number in range(len(azimuth)))
    return bins_of_rows(FleetRows(names, azimuth, tilt, capacity), bins)


def tally(places: Whole, axes: tuple[int, ...], bins: Bins) -> Array:
    """Return how many rows are in each bin along some axes; as private as the rows."""
    shape = tuple(bins.shape[axis] for axis in axes)
    flat = np.ravel_multi_index(tuple(places[axis] for axis in axes), shape)
    return np.bincount(flat, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def _distance(one: Array, other: Array) -> float:
    """Return the share of systems that would have to move to make one table the other."""
    return float(np.abs(one - other).sum() / 2.0 / one.sum())


def noise_distance(marginal: Marginal, systems: int) -> float:
    """Return the distance that the noise alone makes on average: mean |k| per cell, near σ/√2."""
    # σ = 1 / (√2 sinh(1/2b)), and the mean of |k| is 1 / sinh(1/b)
    half = math.asinh(1.0 / (math.sqrt(2.0) * marginal.deviation))
    return marginal.counts.size / (2.0 * systems * math.sinh(2.0 * half))


def _scores(axes: tuple[int, ...], bins: Bins) -> list[tuple[str, tuple[Array, Array]]]:
    """Return what correlations are computed of, for a pair of axes: numbers for their bins."""
    turns = 2.0 * np.pi * np.arange(bins.sectors) / bins.sectors
    tilts, classes = np.array(bins.tilt_edges), np.array(bins.capacity_edges_kw)
    tilt = ("surface_tilt", (tilts[1:] + tilts[:-1]) / 2.0)
    # the middle of a class in logarithm, also of one that begins at zero
    capacity = ("log dc_capacity_kw", np.log((classes[1:] + classes[:-1]) / 2.0))
    kinds: list[list[tuple[str, Array]]] = [
        [("north of surface_azimuth", np.cos(turns)), ("east of surface_azimuth", np.sin(turns))],
        [tilt],
        [capacity],
    ]
    one, other = (kinds[axis] for axis in axes)
    return [(f"{a} and {b}", (x, y)) for a, x in one for b, y in other]


def _standard(table: Array, rows: Array, columns: Array) -> tuple[Array, Array, Array]:
    # noise may leave nobody, or fewer than nobody: then nothing is known of how axes go together
    shares = table / table.sum() if table.sum() > 0.0 else np.zeros_like(table, dtype=np.float64)
    x = rows - (shares.sum(axis=1) @ rows)
    y = columns - (shares.sum(axis=0) @ columns)
    # noisy counts may leave no spread, or less than none
    x = x / math.sqrt(max(float(shares.sum(axis=1) @ x**2), 1e-9))
    y = y / math.sqrt(max(float(shares.sum(axis=0) @ y**2), 1e-9))
    return shares, x, y


def _correlation(table: Array, rows: Array, columns: Array) -> float:
    shares, x, y = _standard(table, rows, columns)
    return float(np.clip(x @ shares @ y, -1.0, 1.0))


def _correlation_noise(marginal: Marginal, found: float, rows: Array, columns: Array) -> float:
    """Return the standard error of a correlation, to first order in the noise of the counts."""
    # What lies between -1 and 1 has a standard error of at most 1. First order knows nothing of
    # that where the noise leaves hardly any spread along an axis: then only noise was measured.
    _, x, y = _standard(marginal.counts, rows, columns)
    moves = np.outer(x, y) - found * (x[:, None] ** 2 + y[None, :] ** 2) / 2.0
    people = max(abs(float(marginal.counts.sum())), 1.0)
    return min(float(marginal.deviation * np.sqrt((moves**2).sum()) / people), 1.0)


# By whether ρ is spent, rather than ε.
PROOFS = ("docs/proofs/discrete-laplace.md", "docs/proofs/discrete-gaussian.md")

# Of ε, for the counts along single axes; the rest is for the pairs.
SINGLES_SHARE = Fraction(1, 4)

# Replacing a row moves one count down and another up, in each of three tables.
SENSITIVITY = Sensitivity(absolute=6, squared=6)

COLUMNS = (
    Column("surface_azimuth", "number", "Azimuth of the plane, clockwise from north. [degrees]"),
    Column("surface_tilt", "number", "Tilt of the plane from the horizontal. [degrees]"),
    Column("dc_capacity_kw", "number", "DC nameplate capacity of the system. [kW]"),
)


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticTable(Product[dict[str, float]]):
    """A synthetic table as long as the fleet's, with a report of how close it is to the fleet.

    The noisy counts that it was made of are published with it, at no further cost: its errors
    follow from them alone.

    Parameters
    ----------
    epsilon
        The cost to every system.
    rows
        The fleet: private; None to plan before it is read.
    size
        Number of systems, for plans without rows.
    bins
        The public bins. Within a bin, values are spread evenly (capacities: evenly in logarithm).
    edition
        A public name of the data: another edition is another question.

    Privacy
    -------
    ε-DP for the whole record of a system: neighbours replace one row, which moves the counts of
    each of six marginals by two in all; ρ-zCDP with ρ = ε²/2 where the promise has a δ. Proof:
    ``docs/proofs/discrete-laplace.md``, ``docs/proofs/discrete-gaussian.md``.
    """

    epsilon: float
    rows: FleetRows | None = field(default=None, repr=False)
    size: int | None = None
    bins: Bins = BINS
    edition: str = "1"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.rows is None and self.size is None:
            raise ParameterError("a synthetic table is as long as its fleet: give rows or size")

    def question(
        self, dataset: Dataset, kept: Sequence[Answer] = (), *, analyst: str | None = None
    ) -> Question:
        """Return the question that the table answers."""
        spending = self._spending(dataset)
        _mechanisms(spending)  # refused if a part is too little
        parameters = {"systems": self._size, "bins": _as_lists(self.bins), "edition": self.edition}
        mechanism = f"discrete-{_kind(spending).lower()}"
        guarantee = spending.guarantee(PROOFS[spending.concentrated])
        return Question("synthetic", parameters, mechanism, guarantee, analyst=analyst)

    def expected(self, dataset: Dataset, question: Question | None = None) -> dict[str, float]:
        """Return the noise of the counts, as a share of the systems, by their columns."""
        bins = self.bins
        empty = [np.zeros([bins.shape[a] for a in axes]) for axes in (*SINGLES, *PAIRS)]
        marginals = _marginals(empty, self._spending(dataset), bins)
        return {m.name: noise_distance(m, self._size) for m in marginals}

    def check(self, question: Question) -> None:
        """Refuse to draw without mbi, or without systems."""
        check_mbi()
        bins_of_rows(self._rows(), self.bins)

    def systems_charged(self, question: Question) -> Iterable[str]:
        """Return the systems of the fleet."""
        return self._rows().system_ids

    def draw(self, dataset: Dataset, question: Question, *, digest: str) -> dict[str, Any]:
        """Draw noisy counts, and sample rows from a model of them: private."""
        places = bins_of_rows(self._rows(), self.bins)
        measured = draw_counts(places, self._spending(dataset), self.bins)
        sampled = sample_model(measured, places.shape[1], shape=self.bins.shape)
        counts = [each.counts.astype(np.int64).tolist() for each in measured]
        return {"counts": counts, "rows": _spread(sampled, self.bins)}

    def publication(
        self, dataset: Dataset, answers: Sequence[Answer], question: Question | None
    ) -> Publication:
        """Return the table with its noisy counts and the report."""
        assert question is not None
        kept, bins, spending = answers[0].value, self.bins, self._spending(dataset)
        marginals = _marginals([np.array(each) for each in kept["counts"]], spending, bins)
        table = PublishedTable(
            "synthetic-systems",
            "Synthetic systems: none of them exists, and together they are like the fleet. Each has"
            " one plane and the whole capacity: systems on two planes were counted by the larger"
            " one.",
            COLUMNS,
            tuple(tuple(row) for row in kept["rows"]),
        )
        deviations = (noise.deviation(SENSITIVITY) for noise, _ in _mechanisms(spending))
        return Publication(
            title="Synthetic solar PV systems",
            tables=(table, survival(table, marginals, bins), noisy_counts(marginals, bins)),
            guarantee=question.guarantee,
            mechanism=f"Discrete {_kind(spending)} noise on the counts of all single axes and pairs"
            " of axes; a graphical model fitted to them by mbi, and sampled",
            public={
                "systems": len(table.rows),
                "epsilon": self.epsilon,
                "data_product_type": "Synthetic data",
                "bins": _as_lists(bins),
                "noise_sd": {
                    name: round(sd, 4)
                    for name, sd in zip(("singles", "pairs"), deviations, strict=True)
                },
                "cautions": ["No row is a customer: do not look for one."],
            },
            how=rows_made(
                unprotected=f"Public: which systems are in the data, how many ({len(table.rows)}).",
                preprocessing=f"{ROWS} Bins are public.",
                post_processing="A graphical model was fitted to the noisy counts, and the rows"
                " sampled from it.",
                product_type="Synthetic data",
            ),
            question=question,
        )

    @property
    def _size(self) -> int:
        return len(self.rows) if self.rows is not None else int(self.size or 0)

    def _spending(self, dataset: Dataset) -> Spending:
        """Return the meaning of ε under the dataset's promise: public."""
        return Spending.asked(self.epsilon, concentrated=dataset.promise.delta > 0.0)

    def _rows(self) -> FleetRows:
        if self.rows is None:
            raise ParameterError("a synthetic table is drawn from rows; give the fleet's rows")
        return self.rows


def _kind(spending: Spending) -> str:
    return "Gaussian" if spending.concentrated else "Laplace"


def _as_lists(bins: Bins) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(bins).items()
    }


def _mechanisms(spending: Spending) -> list[tuple[CountNoise, tuple[tuple[int, ...], ...]]]:
    """Return the noise of single axes and of pairs, which together cost no more than the whole."""
    first, rest = spending.part(SINGLES_SHARE), spending.part(1 - SINGLES_SHARE)
    return [(first.noise, SINGLES), (rest.noise, PAIRS)]


def draw_counts(places: Whole, spending: Spending, bins: Bins) -> list[Marginal]:
    """Draw the noisy counts that a synthetic table is made of: private, after the charge."""
    counts: list[Whole] = []
    for mechanism, many in _mechanisms(spending):
        tables = [tally(places, axes, bins) for axes in many]
        flat = np.concatenate([table.ravel() for table in tables]).astype(np.int64)
        drawn = mechanism.draw(Counts(flat, SENSITIVITY, System(), PROOFS[spending.concentrated]))
        ends = np.cumsum([table.size for table in tables])[:-1]
        parts = zip(np.split(drawn, ends), tables, strict=True)
        counts += [np.asarray(part.reshape(table.shape)) for part, table in parts]
    return _marginals(counts, spending, bins)


def _marginals(counts: Sequence[Array | Whole], spending: Spending, bins: Bins) -> list[Marginal]:
    deviations = [m.deviation(SENSITIVITY) for m, many in _mechanisms(spending) for _ in many]
    found = zip((*SINGLES, *PAIRS), counts, deviations, strict=True)
    return [Marginal(axes, np.asarray(table, float), sigma) for axes, table, sigma in found]


def _spread(places: Whole, bins: Bins) -> list[list[float]]:
    """Return values within the bins of rows: public randomness, after the privacy was paid for."""
    rng = np.random.default_rng()
    azimuth = (places[0] - 0.5 + rng.random(places.shape[1])) * 360.0 / bins.sectors % 360.0
    tilt = _between(np.array(bins.tilt_edges), places[1], rng)
    edges = np.array(bins.capacity_edges_kw)
    logs = bool(edges[0] > 0.0)
    capacity = _between(np.log(edges) if logs else edges, places[2], rng)
    columns = (azimuth.round(2), tilt.round(2), (np.exp(capacity) if logs else capacity).round(4))
    rows: list[list[float]] = np.stack(columns, axis=1).tolist()
    return rows


def _between(edges: Array, places: Whole, rng: np.random.Generator) -> Array:
    return np.asarray(edges[places] + np.diff(edges)[places] * rng.random(len(places)))
