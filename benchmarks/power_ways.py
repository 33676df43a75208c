"""Every way of publishing a fleet, as what an analyst makes of it: for :mod:`benchmarks.power`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import numpy as np

from benchmarks.power_fleets import Home
from sunveil.errors import ParameterError
from sunveil.estimates.read_write import FleetRows
from sunveil.power.from_system_rows import (
    FEW_LOST,
    RowErrors,
    cell_edges,
    channel,
    lossy_mixture,
    moved_rows,
    unmixed,
    window_of,
)
from sunveil.power.from_tables import mixture_of, synthetic_mixture
from sunveil.power.posterior import (
    CellGrid,
    FleetMixture,
    Observation,
    ObservedTotal,
    cell_prior,
    cell_weights,
    draw_cells,
)
from sunveil.privacy.discrete_noise import Spending
from sunveil.privacy.guarantees import Days, Readings, Unit
from sunveil.publication.publication_folder import frame_of_table, published_fleet
from sunveil.publication.published_tables import BINS, LARGEST_KW, Bins
from sunveil.publish.fit_synthetic import noisy_counts
from sunveil.publish.fleet_tables import TableChoices, fleet_tables
from sunveil.publish.rule_15_15 import rule_15_15
from sunveil.publish.synthetic_table import bins_of_rows, draw_counts
from sunveil.releases.expected_errors import typical_errors
from sunveil.releases.release_choices import Choices
from sunveil.releases.score_kernels import Capacities
from sunveil.site import TimeGrid

Way = Callable[[Home, float, int, np.random.Generator], FleetMixture]
SMALLEST_KW = 0.5
YEAR_OF_HOURS = TimeGrid(1546300800, 3600, 365 * 24)


def by_tables(*tables: str, delta: bool = False, said: bool = True) -> Way:
    """Return the way of a fleet's tables.

    Parameters
    ----------
    tables
        Which are bought.
    delta
        Whether the promise has a δ.
    said
        Whether it is said how large a home may be; otherwise up to 2000 kW are provided for.
    """

    def way(home: Home, epsilon: float, draws: int, rng: np.random.Generator) -> FleetMixture:
        largest = home.largest_kw if said else LARGEST_KW
        choices = TableChoices(epsilon=epsilon, tables=tables or None, largest_kw=largest)
        drawn = fleet_tables(home.rows, choices, concentrated=delta)
        return mixture_of(published_fleet(drawn), draws=draws, rng=rng)

    return way


def by_window(home: Home, epsilon: float, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return what is estimated from one release of every whole record."""
    rows = home.rows
    choices = Choices(capacities=Capacities(SMALLEST_KW, home.largest_kw))
    window = choices.window(epsilon)
    public = {
        "choices": choices.to_dict(), "epsilon": epsilon, "window_candidates": window.inside,
    }  # fmt: skip
    azimuth, tilt, capacity = cell_edges(public)
    grid = CellGrid(len(azimuth) - 1, float(azimuth[:2].mean()), tuple(tilt), tuple(capacity))
    prior = cell_prior(grid, largest_kw=home.largest_kw)
    law = channel(window_of(public))
    place = np.ravel_multi_index(
        grid.places(rows.surface_azimuth, rows.surface_tilt, rows.dc_capacity_kw), grid.shape
    )
    seen = np.zeros(len(law))
    for cell, many in zip(*np.unique(place, return_counts=True), strict=True):
        chances = law[:, cell] / law[:, cell].sum()
        seen += rng.multinomial(int(many), chances)
    return unmixed(prior, law, seen, draws=draws, rng=rng)


def by_rows(unit: Unit) -> Way:
    """Return the way of rows of systems for readings or days, by the errors stated for them."""

    def way(home: Home, epsilon: float, draws: int, rng: np.random.Generator) -> FleetMixture:
        expected = typical_errors(
            YEAR_OF_HOURS, Choices(), clear=False, protect=unit, epsilon=epsilon
        )
        assert expected.capacity is not None
        law = RowErrors.stated(
            {
                "surface_azimuth": (expected.azimuth.mean, expected.azimuth.within),
                "surface_tilt": (expected.tilt.mean, expected.tilt.within),
                "dc_capacity_kw": (expected.capacity.mean, expected.capacity.within),
            }
        )
        span = SMALLEST_KW, home.largest_kw
        # the errors of a fleet are about the stated ones, not these themselves
        planes = released_rows(home.rows, law.moved(rng.standard_normal(4).tolist()), span, rng)
        if law.lost <= FEW_LOST:
            return moved_rows(*planes, law, draws=draws, rng=rng)
        return lossy_mixture(*planes, law, capacities_kw=span, draws=draws, rng=rng)

    return way


def released_rows(
    rows: FleetRows, law: RowErrors, capacities_kw: tuple[float, float], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with errors of a law: azimuths, tilts [degrees] and capacities [kW]."""
    many = len(rows)
    azimuth = rows.surface_azimuth + rng.laplace(0.0, law.azimuth, many)
    tilt = np.clip(np.abs(rows.surface_tilt + rng.laplace(0.0, law.tilt, many)), 0.0, 90.0)
    capacity = rows.dc_capacity_kw * np.exp(rng.laplace(0.0, law.capacity, many))
    lost = rng.random(many) < law.lost
    prior = cell_prior(CellGrid(36, 0.0, tuple(map(float, range(0, 91, 5))), capacities_kw))
    planes = prior.shares.sum(axis=2)
    chosen = rng.choice(planes.size, size=many, p=planes.ravel())
    sector, band = np.unravel_index(chosen, planes.shape)
    azimuth = np.where(lost, 10.0 * sector + rng.uniform(-5.0, 5.0, many), azimuth)
    tilt = np.where(lost, 5.0 * band + rng.uniform(0.0, 5.0, many), tilt)
    random = np.exp(rng.uniform(*np.log(capacities_kw), many))
    return azimuth % 360.0, tilt, np.where(lost, random, capacity)


def by_synthetic(home: Home, epsilon: float, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return what is made of a synthetic publication: of its noisy counts, not of its rows."""
    bins = Bins(16, (0, 5, 10, 15, 20, 25, 30, 40, 60, 90),
                tuple(np.geomspace(SMALLEST_KW, home.largest_kw, 10).round(2)))  # fmt: skip
    return _of_synthetic(home, bins, epsilon, draws, rng)


def by_usual_synthetic(
    home: Home, epsilon: float, draws: int, rng: np.random.Generator
) -> FleetMixture:
    """Return the same with the usual bins, which hold systems of up to 100 kW."""
    return _of_synthetic(home, BINS, epsilon, draws, rng)


def _of_synthetic(
    home: Home, bins: Bins, epsilon: float, draws: int, rng: np.random.Generator
) -> FleetMixture:
    drawn = draw_counts(bins_of_rows(home.rows, bins), Spending(epsilon), bins)
    counts = frame_of_table(noisy_counts(drawn, bins))
    public = {"systems": len(home.rows), "bins": asdict(bins)}
    return synthetic_mixture(counts, public, draws=draws, rng=rng)


def by_rule(home: Home, epsilon: float, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return what is made of the 15/15 rule's totals: of the fleet, and of sectors that pass.

    It has no ε. Where the fleet's own total is kept back nothing can be said.
    """
    names, rows = Bins().labels[0], home.rows
    sector = np.floor((rows.surface_azimuth / 45.0 + 0.5) % 8).astype(int)
    whole = rule_15_15(rows)[0]
    if whole.total_kw is None:
        raise ParameterError("the rule keeps the fleet back")
    keyed = FleetRows(rows.system_ids, rows.surface_azimuth, rows.surface_tilt,
                      rows.dc_capacity_kw, {"sector": np.array(names)[sector]})  # fmt: skip
    parts = rule_15_15(keyed, key="sector", keys=names)
    prior = cell_prior(CellGrid.of(Bins()), largest_kw=home.largest_kw)
    where = np.indices(prior.grid.shape).reshape(3, -1)[0]
    observed = [
        Observation(np.append((where == place).astype(float), 0.0)[None, :],
                    np.array([float(each.customers)]), np.array([0.3]))
        for place, each in enumerate(parts) if each.customers is not None
    ]  # fmt: skip
    total = ObservedTotal(whole.total_kw, 0.0005)
    found = draw_cells(prior, len(rows), observed, total=total, draws=draws, rng=rng, unknown=False)
    weights = cell_weights(prior, found, rng)[:, None, :]
    return FleetMixture(None, ("all",), np.array([float(len(rows))]),
                        prior.surface_azimuth.ravel(), prior.surface_tilt.ravel(),
                        weights)  # fmt: skip


def by_paper(home: Home, epsilon: float, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return what is made of the paper's rows, taken as they are: planes by chance.

    Its mechanism releases no capacity: the true total is given to it for nothing.
    """
    rows = home.rows
    many = len(rows)
    planes = rng.uniform(0.0, 360.0, many), rng.uniform(0.0, 90.0, many)
    law = RowErrors(0.0, 1e-6, 1e-6, 1e-6)
    mean = np.full(many, float(rows.dc_capacity_kw.mean()))
    return moved_rows(*planes, mean, law, draws=draws, rng=rng)


WAYS: dict[str, Way] = {
    "tables for power": by_tables("planes", "totals"),
    "tables for power, promise with δ": by_tables("planes", "totals", delta=True),
    "usual tables": by_tables("counts", "totals", "quantiles"),
    "local releases, unmixed": by_window,
    "rows, one day": by_rows(Days(1)),
    "rows, one reading": by_rows(Readings(1)),
    "15/15 rule": by_rule,
    "paper": by_paper,
    "synthetic": by_synthetic,
    "tables for power, largest not said": by_tables("planes", "totals", said=False),
    "usual tables, largest not said": by_tables("counts", "totals", "quantiles", said=False),
    "synthetic, largest not said": by_usual_synthetic,
}
NO_EPSILON = ("15/15 rule", "paper")
