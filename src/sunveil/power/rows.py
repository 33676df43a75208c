"""What rows of single systems say of their fleet, given the errors that stand beside them.

Rows for whole records are drawn by a window whose law is public, and a fleet is estimated through
it. Rows for readings or days come with the errors to expect. Where nearly all of them are right,
each draw moves every row by an error of that size. Where many are not, a share of them is taken to
tell nothing, and the fleet is estimated through that law too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.power.mixture import MOST_PLANES, FleetMixture, cell_weights, lay_planes
from sunveil.power.posterior import Observation, draw_cells
from sunveil.power.priors import CellGrid, CellPrior, cell_prior
from sunveil.power.row_laws import RowErrors, row_grid, row_laws
from sunveil.publish.publication import PublishedTable
from sunveil.publish.unmix import cell_edges, channel, seen_shares, window_of
from sunveil.site import Array


def moved_rows(
    azimuth: Array,
    tilt: Array,
    capacity: Array,
    errors: RowErrors,
    *,
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of a fleet in which every row is moved by an error of the stated size.

    Where many errors do not cancel out, such as on either side of south, they are corrected for to
    first order; so a plane's capacity may be below zero in a draw, and the sum over planes is not.

    Parameters
    ----------
    azimuth, tilt, capacity
        Of the published planes. [degrees, degrees, kW]
    errors
        Their law.
    draws
        How many draws.
    rng
        Source of randomness.
    """
    where = np.zeros(len(azimuth), dtype=np.int64)
    given = _on_grid(azimuth, tilt, capacity, where)[2][0]
    weights = []
    for _ in range(draws):
        turned = azimuth + rng.laplace(0.0, errors.azimuth, len(azimuth))
        leaning = np.abs(tilt + rng.laplace(0.0, errors.tilt, len(tilt)))
        sized = capacity * np.exp(rng.laplace(0.0, errors.capacity, len(capacity)))
        planes = _on_grid(turned, np.minimum(leaning, 90.0), sized, where)
        # rows have been blurred once already: what a second blur adds is taken away instead
        weights.append(2.0 * given - planes[2][0])
    return FleetMixture(
        key=None,
        groups=("all",),
        systems=np.array([float(len(azimuth))]),
        surface_azimuth=planes[0],
        surface_tilt=planes[1],
        weights=np.stack(weights)[:, None, :].astype(np.float32),
        about=(
            "Made from rows of single systems: in each draw every row is moved by an error of the"
            f" stated size (azimuth {errors.azimuth:.1f}°, tilt {errors.tilt:.1f}°, capacity"
            f" {100 * errors.capacity:.1f}% on average).",
        ),
    )


def _on_grid(
    azimuth: Array, tilt: Array, capacity: Array, where: NDArray[np.int64]
) -> tuple[Array, Array, Array]:
    """Return planes of the grid, whatever number of rows there is: draws share their planes."""
    many = max(MOST_PLANES + 1 - len(azimuth), 0)
    azimuth, tilt, capacity = (
        np.append(each, np.zeros(many)) for each in (azimuth, tilt, capacity)
    )
    where = np.append(where, np.zeros(many, dtype=np.int64))
    return lay_planes(azimuth, tilt, capacity, where, 1)


def window_mixture(
    table: PublishedTable,
    public: Mapping[str, Any],
    *,
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of a fleet that agree with its systems' releases by the window.

    Parameters
    ----------
    table, public
        The published systems, and the public choices they were released with.
    draws
        How many draws.
    rng
        Source of randomness.
    """
    azimuth, tilt, capacity = cell_edges(public)
    grid = CellGrid(len(azimuth) - 1, float(azimuth[:2].mean()), tuple(tilt), tuple(capacity))
    prior = cell_prior(grid, largest_kw=float(public["choices"]["capacities_kw"][1]))
    return unmixed(prior, channel(window_of(public)), len(table.rows) * seen_shares(table, public),
                   draws=draws, rng=rng)  # fmt: skip


def unmixed(
    prior: CellPrior,
    law: Array,
    seen: Array,
    *,
    draws: int,
    rng: np.random.Generator,
    drifts: Sequence[Array] = (),
) -> FleetMixture:
    """Return draws of a fleet whose systems were released by a known law over its own cells.

    Parameters
    ----------
    prior
        The cells.
    law
        How likely a release in each cell (rows) is for a system in each (columns).
    seen
        How many releases are in each cell.
    draws
        How many draws.
    rng
        Source of randomness.
    drifts
        How the law changes with what is not quite known of it, by one deviation each.
    """
    systems = float(seen.sum())
    unknown = np.zeros((len(law), 1))
    moves = tuple(np.hstack([each, unknown]) for each in drifts)
    observed = Observation(np.hstack([law, unknown]), seen, None, moves)
    found = draw_cells(prior, systems, [observed], total=None, draws=draws, rng=rng, unknown=False)
    return FleetMixture(
        key=None,
        groups=("all",),
        systems=np.array([systems]),
        surface_azimuth=prior.surface_azimuth.ravel(),
        surface_tilt=prior.surface_tilt.ravel(),
        weights=cell_weights(prior, found, rng)[:, None, :],
        about=(
            "Made from rows of single systems, each of which is noisy on purpose: the fleet was"
            " estimated through the law of their noise, beginning from public lists of systems.",
        ),
    )


def lossy_mixture(
    azimuth: Array,
    tilt: Array,
    capacity: Array,
    errors: RowErrors,
    *,
    capacities_kw: tuple[float, float],
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of a fleet of whose rows many tell nothing.

    Parameters
    ----------
    azimuth, tilt, capacity
        Of the published rows. [degrees, degrees, kW]
    errors
        The law of their errors.
    capacities_kw
        The public range of capacities that they were drawn from. [kW]
    draws
        How many draws.
    rng
        Source of randomness.
    """
    grid = row_grid(capacities_kw)
    prior = cell_prior(grid, largest_kw=capacities_kw[1])
    place = np.ravel_multi_index(grid.places(azimuth, tilt, capacity), grid.shape)
    seen = np.bincount(place, minlength=prior.shares.size).astype(np.float64)
    law, *drifts = row_laws(capacities_kw, errors)
    return unmixed(prior, law, seen, draws=draws, rng=rng, drifts=drifts)
