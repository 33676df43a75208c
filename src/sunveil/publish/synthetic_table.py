"""Synthetic tables of systems, made with mbi in a process of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import checked
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import FleetRows
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Question, SystemHome
from sunveil.privacy.discrete_noise import CountNoise, Counts, Sensitivity, Spending
from sunveil.privacy.guarantees import System
from sunveil.publication.published_tables import BINS, Bins, Column, Publication, PublishedTable
from sunveil.publish.fit_synthetic import NAMES, Marginal, check_mbi, noisy_counts, sample_model
from sunveil.publish.publisher import published_homes

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


def cells_of(rows: FleetRows, bins: Bins) -> Whole:
    """Return the bin of every row along each axis: private."""
    # A row that lacks a value is in the first bin of every axis: that it could not be inferred is
    # as private as its readings, so that it is neither refused nor left out.
    if len(rows) == 0:
        raise ParameterError("a synthetic table needs at least one system")
    cells = bins.cells(rows)
    flat = np.where(cells < bins.size, cells, 0)
    return np.stack(np.unravel_index(flat, bins.shape)).astype(np.int64)


def places_of_table(table: PublishedTable, bins: Bins) -> Whole:
    """Return the bin of every published row along each axis."""
    azimuth, tilt, capacity = (np.array(table.column(name), float) for name in NAMES)
    names = tuple(str(number) for number in range(len(azimuth)))
    return cells_of(FleetRows(names, azimuth, tilt, capacity), bins)


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


@dataclass(frozen=True, slots=True)
class SyntheticPlan:
    """What a synthetic table would cost and how noisy its counts would be."""

    cost: float  # what every system would be charged, and what is left, in the promise's measure
    remaining: float
    kept: bool  # whether the same was asked before, and so costs nothing
    noise: dict[str, float]


@checked
def publish_synthetic(
    ledger: Ledger,
    dataset: str,
    rows: FleetRows,
    *,
    epsilon: float,
    bins: Bins = BINS,
    analyst: str | None = None,
    edition: str = "1",
    homes: Sequence[SystemHome] = (),
) -> Publication:
    """Return a synthetic table as long as the fleet's, and a report of how well it keeps to it.

    The noisy counts that it was made of stand beside it, at no further cost: they alone tell what
    is made of the table how far off it is.

    A call that was stopped is taken up by the same call, on the charge that it has paid.

    Parameters
    ----------
    ledger, dataset
        What is charged, and the name of the dataset in it.
    rows
        The fleet; every value must be known.
    epsilon
        What every system is charged.
    bins
        The public bins. Within a bin, values are spread evenly (capacities: evenly in logarithm).
    analyst
        Whose share is charged too; None for the curator.
    edition
        A public name of the data: another edition is another question.
    homes
        What is known of the systems' households; without, each system is one by its name.

    Privacy
    -------
    ``ε``-DP for the whole record of a system: neighbours replace one row, which moves the counts of
    each of six marginals by two in all; ρ-zCDP with ρ = ε²/2 where the promise has a δ. Proof:
    ``docs/proofs/discrete-laplace.md``, ``docs/proofs/discrete-gaussian.md``.
    """
    spending = _spending(ledger, dataset, epsilon)
    question = _question(len(rows), spending, bins, analyst, edition)
    if ledger.kept(dataset, question) is None:
        check_mbi()  # what is missing is told before anything is charged
        cells = cells_of(rows, bins)
        question = replace(question, homes=published_homes(rows.system_ids, homes))
        answer = ledger.ask(dataset, question, lambda: _draw(cells, spending, bins))
    else:
        answer = ledger.ask(dataset, question, _never)
    marginals = _marginals([np.array(each) for each in answer.value["counts"]], spending, bins)
    table = PublishedTable(
        "synthetic-systems",
        "Synthetic systems: none of them exists, and together they are like the fleet. Each has one"
        " plane and the whole capacity: systems on two planes were counted by the larger one.",
        COLUMNS,
        tuple(tuple(row) for row in answer.value["rows"]),
    )
    return Publication(
        title="Synthetic solar PV systems",
        tables=(table, survival(table, marginals, bins), noisy_counts(marginals, bins)),
        guarantee=question.guarantee,
        mechanism=f"Discrete {_kind(spending)} noise on the counts of all single axes and pairs of"
        " axes; a graphical model fitted to them by mbi, and sampled",
        public={
            "systems": len(table.rows),
            "epsilon": epsilon,
            "data_product_type": "Synthetic data",
            "bins": _told(bins),
            "noise_sd": {
                name: round(mechanism.deviation(SENSITIVITY), 4)
                for name, (mechanism, _) in zip(
                    ("singles", "pairs"), _mechanisms(spending), strict=True
                )
            },
            "cautions": ["No row is a customer: do not look for one."],
        },
        question=question,
    )


def plan_synthetic(
    ledger: Ledger,
    dataset: str,
    systems: int,
    *,
    epsilon: float,
    bins: Bins = BINS,
    analyst: str | None = None,
    edition: str = "1",
) -> SyntheticPlan:
    """Return what :func:`publish_synthetic` would cost, and its noise; spend nothing."""
    spending = _spending(ledger, dataset, epsilon)
    question = _question(systems, spending, bins, analyst, edition)
    kept = ledger.kept(dataset, question) is not None
    cost = ledger.due(dataset, question)
    empty = [np.zeros([bins.shape[a] for a in axes]) for axes in (*SINGLES, *PAIRS)]
    noise = {m.name: noise_distance(m, systems) for m in _marginals(empty, spending, bins)}
    return SyntheticPlan(cost, ledger.dataset(dataset).remaining, kept, noise)


def synthetic_question(
    systems: int,
    *,
    epsilon: float,
    concentrated: bool = False,
    bins: Bins = BINS,
    analyst: str | None = None,
    edition: str = "1",
) -> Question:
    """Return the question that a synthetic table answers."""
    spending = Spending.asked(epsilon, concentrated=concentrated)
    return _question(systems, spending, bins, analyst, edition)


def _question(
    systems: int, spending: Spending, bins: Bins, analyst: str | None, edition: str
) -> Question:
    _mechanisms(spending)  # refused if a part is too little
    parameters = {"systems": systems, "bins": _told(bins), "edition": edition}
    mechanism = f"discrete-{_kind(spending).lower()}"
    guarantee = spending.guarantee(PROOFS[spending.concentrated])
    return Question("synthetic", parameters, mechanism, guarantee, analyst=analyst)


def _spending(ledger: Ledger, dataset: str, epsilon: float) -> Spending:
    """Return what an ε means under the dataset's promise: public."""
    concentrated = ledger.dataset(dataset).promise.delta > 0.0
    return Spending.asked(epsilon, concentrated=concentrated)


def _kind(spending: Spending) -> str:
    return "Gaussian" if spending.concentrated else "Laplace"


def _told(bins: Bins) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(bins).items()
    }


def _mechanisms(spending: Spending) -> list[tuple[CountNoise, tuple[tuple[int, ...], ...]]]:
    """Return the noise of single axes and of pairs, which together cost no more than the whole."""
    first, rest = spending.part(SINGLES_SHARE), spending.part(1 - SINGLES_SHARE)
    return [(first.noise, SINGLES), (rest.noise, PAIRS)]


def draw_counts(cells: Whole, spending: Spending, bins: Bins) -> list[Marginal]:
    """Draw the noisy counts that a synthetic table is made of; whoever calls has been charged."""
    # As publish_synthetic, of which this is all that looks at rows.
    counts: list[Whole] = []
    for mechanism, many in _mechanisms(spending):
        tables = [tally(cells, axes, bins) for axes in many]
        flat = np.concatenate([table.ravel() for table in tables]).astype(np.int64)
        drawn = mechanism.draw(Counts(flat, SENSITIVITY, System(), PROOFS[spending.concentrated]))
        ends = np.cumsum([table.size for table in tables])[:-1]
        parts = zip(np.split(drawn, ends), tables, strict=True)
        counts += [np.asarray(part.reshape(table.shape)) for part, table in parts]
    return _marginals(counts, spending, bins)


def _draw(cells: Whole, spending: Spending, bins: Bins) -> dict[str, Any]:
    measured = draw_counts(cells, spending, bins)
    places = sample_model(measured, cells.shape[1], shape=bins.shape)
    counts = [each.counts.astype(np.int64).tolist() for each in measured]
    return {"counts": counts, "rows": _spread(places, bins)}


def _never() -> Any:
    raise AssertionError("a kept answer is never drawn again")


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
