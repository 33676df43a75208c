"""What the counts beside a synthetic table say of the fleet that it is like.

The rows themselves are not looked at: they were sampled from a model of these counts, and know no
more of the fleet. What noise and the model's own bounds did to them cannot be told from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sunveil.arguments import all_named
from sunveil.errors import ParameterError
from sunveil.power.mixture import FleetMixture, cell_weights
from sunveil.power.posterior import Observation, draw_cells
from sunveil.power.priors import CellGrid, cell_prior
from sunveil.publish.bins import Bins
from sunveil.publish.measured import AXES
from sunveil.site import Array


def synthetic_mixture(
    counts: pd.DataFrame,
    public: Mapping[str, Any],
    *,
    draws: int,
    rng: np.random.Generator,
) -> FleetMixture:
    """Return draws of the fleet behind a synthetic table.

    Parameters
    ----------
    counts
        The noisy counts that the synthetic systems were made of: ``noisy-counts``.
    public
        The public choices: bins, and how many systems there are.
    draws
        How many draws.
    rng
        Source of randomness.
    """
    with all_named("the publication", "its folder as it was published"):
        told, many = public["bins"], float(public["systems"])
        edges = tuple(told["tilt_edges"]), tuple(told["capacity_edges_kw"])
        bins = Bins(told["sectors"], *edges)
    prior = cell_prior(CellGrid.of(bins), largest_kw=bins.capacity_edges_kw[-1])
    observed = Observation(
        _matrix(counts, bins),
        counts["noisy"].to_numpy(np.float64),
        counts["sd"].to_numpy(np.float64),
    )
    found = draw_cells(prior, many, [observed], total=None, draws=draws, rng=rng, unknown=False)
    return FleetMixture(
        key=None,
        groups=("all",),
        systems=np.array([many]),
        surface_azimuth=prior.surface_azimuth.ravel(),
        surface_tilt=prior.surface_tilt.ravel(),
        weights=cell_weights(prior, found, rng)[:, None, :],
        about=(
            "Made from the noisy counts beside a synthetic table, and their stated noise: its rows"
            " were sampled from a model of these and say no more.",
        ),
    )


def _matrix(counts: pd.DataFrame, bins: Bins) -> Array:
    """Return what a system of every joint cell adds to each count, the unknown cell last."""
    matrix = np.ones((len(counts), bins.size))
    where = np.indices(bins.shape).reshape(3, -1)
    for axis, name in enumerate(AXES):
        index = {label: place for place, label in enumerate(bins.labels[axis])}
        # -1 where all of an axis are counted together, -2 where its bin is not one of these
        place = [-1 if pd.isna(each) else index.get(str(each), -2) for each in counts[name]]
        if -2 in place:
            raise ParameterError(
                f"the noisy counts name a {name} that is none of the publication's bins; give the"
                " folder as it was published"
            )
        chosen = np.array(place)[:, None]
        matrix *= (chosen < 0) | (chosen == where[axis])
    return np.hstack([matrix, np.zeros((len(matrix), 1))])
