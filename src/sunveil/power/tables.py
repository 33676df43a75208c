"""What the tables of a fleet say of its groups, as observations with their stated noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sunveil.errors import ParameterError
from sunveil.power.mixture import FleetMixture, cell_weights
from sunveil.power.posterior import Observation, ObservedTotal, draw_cells
from sunveil.power.priors import CellGrid, CellPrior, cell_prior
from sunveil.publish.bins import UNKNOWN, Bins
from sunveil.publish.counts import MARGINS
from sunveil.site import Array

AXES = ("sector", "tilt_band", "capacity_class")
DRAWN = "drawn by itself"
# Of a normal law, how many deviations nine in ten are within.
NINE_IN_TEN = 1.6449


@dataclass(frozen=True, slots=True, eq=False)
class TableFleet:
    """The tables of a fleet, as published.

    Parameters
    ----------
    tables
        By name.
    about
        What each is, by name.
    key
        Public column that divides the fleet; None where it is one group.
    bins
        Their bins.
    largest_kw
        The largest capacity that a system may have: public. [kW]
    """

    tables: Mapping[str, pd.DataFrame]
    about: Mapping[str, str]
    key: str | None
    bins: Bins
    largest_kw: float

    @property
    def drawn(self) -> list[str]:
        """The tables of counts that were drawn, not added up from others."""
        counts = [name for name in MARGINS if name in self.tables]
        drawn = [name for name in counts if DRAWN in self.about.get(name, "")]
        return drawn or counts[:1]

    def groups(self) -> dict[str, dict[str, pd.DataFrame]]:
        """Return the rows of every table by group."""
        if self.key is None:
            return {"all": dict(self.tables)}
        first = self.tables[(self.drawn or ["totals"])[0]]
        parted = {
            name: dict(list(table.groupby(self.key, sort=False)))
            for name, table in self.tables.items()
            if self.key in table.columns
        }
        names = list(dict.fromkeys(first[self.key].astype(str)))
        return {
            group: {name: parts[group] for name, parts in parted.items() if group in parts}
            for group in names
        }


def table_mixture(fleet: TableFleet, *, draws: int, rng: np.random.Generator) -> FleetMixture:
    """Return draws of a fleet that agree with its tables.

    Parameters
    ----------
    fleet
        The tables.
    draws
        How many draws.
    rng
        Source of randomness.
    """
    if not fleet.drawn and "totals" not in fleet.tables:
        raise ParameterError(
            "the publication has neither counts nor totals; power is made from sectors, planes,"
            " counts or totals"
        )
    prior = cell_prior(CellGrid.of(fleet.bins), largest_kw=fleet.largest_kw)
    matrices = {name: margin_matrix(fleet.bins, name) for name in fleet.drawn}
    groups = fleet.groups()
    weights, sizes = [], []
    for parts in groups.values():
        size = _size(parts, fleet.drawn)
        observed = [_observed(parts[name], matrices[name]) for name in fleet.drawn]
        found = draw_cells(
            prior, size, observed, total=_total(parts.get("totals")), draws=draws, rng=rng
        )
        weights.append(cell_weights(prior, found, rng))
        sizes.append(size)
    return FleetMixture(
        key=fleet.key,
        groups=tuple(groups),
        systems=np.array(sizes),
        surface_azimuth=prior.surface_azimuth.ravel(),
        surface_tilt=prior.surface_tilt.ravel(),
        weights=np.stack(weights, axis=1),
        about=_about(fleet, prior),
    )


def margin_matrix(bins: Bins, name: str) -> Array:
    """Return what a system of every joint cell adds to a table's cells, the unknown one last."""
    shape, kept = bins.shape, MARGINS[name]
    where = np.indices(shape).reshape(3, -1)
    size = math.prod(shape[axis] for axis in kept)
    place = np.ravel_multi_index([where[axis] for axis in kept], [shape[axis] for axis in kept])
    matrix = np.zeros((size + 1, bins.size + 1))
    matrix[place, np.arange(bins.size)] = 1.0
    matrix[-1, -1] = 1.0
    return matrix


def _observed(table: pd.DataFrame, matrix: Array) -> Observation:
    values = table["noisy"].to_numpy(np.float64)
    deviation = np.maximum(table["sd"].to_numpy(np.float64), 0.05)
    if len(values) != len(matrix):
        raise ParameterError("a table of counts has other cells than its bins; it may be cut short")
    return Observation(matrix, values, deviation)


def _size(parts: Mapping[str, pd.DataFrame], drawn: list[str]) -> float:
    """Return the public number of a group's systems."""
    table = parts["totals"] if "totals" in parts else parts[drawn[0]]
    return float(table["systems"].sum())


def _total(table: pd.DataFrame | None) -> ObservedTotal | None:
    if table is None:
        return None
    row = table.iloc[0]
    deviation = float(row["total_sd_kw"])
    if "error_90_kw" in table.columns:  # with what larger systems have above the clip
        deviation = max(deviation, float(row["error_90_kw"]) / NINE_IN_TEN)
    return ObservedTotal(float(row["noisy_total_kw"]), deviation)


def bins_of(tables: Mapping[str, pd.DataFrame]) -> Bins:
    """Return the bins of published tables by the labels in them; usual ones where they say none."""
    usual = Bins()
    found: dict[str, list[str]] = {}
    for table in tables.values():
        for axis in AXES:
            if axis in table.columns:
                named = dict.fromkeys(str(each) for each in table[axis])
                found[axis] = [name for name in named if name != UNKNOWN]
    try:
        return Bins(
            sectors=len(found["sector"]) if "sector" in found else usual.sectors,
            tilt_edges=_edges(found.get("tilt_band")) or usual.tilt_edges,
            capacity_edges_kw=_edges(found.get("capacity_class")) or usual.capacity_edges_kw,
        )
    except ValueError:
        raise ParameterError("the bands or classes of the tables are not written as LOW to HIGH"
                             ) from None  # fmt: skip


def _edges(labels: list[str] | None) -> tuple[float, ...]:
    if not labels:
        return ()
    spans = [label.split(" to ") for label in labels]
    return (*(float(low) for low, _ in spans), float(spans[-1][1]))


def _about(fleet: TableFleet, prior: CellPrior) -> tuple[str, ...]:
    named = ", ".join(fleet.drawn) or "none"
    total = "with" if "totals" in fleet.tables else "without"
    cells = f"{len(prior.within)} cells of sector and tilt"
    return (
        f"Made from tables of a fleet: counts drawn: {named}, {total} totals of capacity.",
        f"Each draw has systems and capacities in {cells} that agree with the published numbers"
        " and their stated noise, none negative, adding up to the public number of systems.",
        "What the tables leave open is filled from public lists of systems (US and UK): tilts and"
        " sizes where they were not bought, planes within a cell, sizes within a class.",
        "Systems that could not be inferred are left out.",
    )
