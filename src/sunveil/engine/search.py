"""The neighbourhood of a system's plane: from the bright envelope, refined on few readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.assumed import (
    FEWEST_READINGS,
    LONGEST_STEP,
    SMALL_STEPS,
    TRUSTED_STEP,
)
from sunveil.engine.envelope import STARTS, bright_envelope, find_starts, profiles_of
from sunveil.engine.model import CAPACITY, LIMIT, NO_LIMIT, PARAMETERS, Sheet, refine
from sunveil.engine.prepared import PreparedSky, correlated_in, shares_for
from sunveil.engine.readings import BlockReadings, find_limits, lay_out, padded
from sunveil.site import Array

Matrix = NDArray[np.float32]

# So many readings are enough to find the neighbourhood of a plane in.
ENOUGH = 500
# Starts that leave so much more unexplained than the best are not worth refining.
WORTH, SLACK = 4.0, 0.01
# Errors are widened by this much while the neighbourhood is looked for.
WIDE = 1.5
# What explains no more of the energy than this may be a wrong neighbourhood.
DOUBTFUL = 0.4
# Most steps of a search.
STEPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """What a search found of a block of systems, one entry each: private.

    Parameters
    ----------
    readings
        Their readings.
    envelope
        Their bright powers in each group, NaN where there is none, shape (systems, groups). [kW]
    points
        The neighbourhoods, shape (systems, PARAMETERS).
    explained
        Share of the energy of few readings that each explains.
    """

    readings: BlockReadings
    envelope: Matrix
    points: Array
    explained: Array

    def take(self, systems: NDArray[np.intp]) -> Searched:
        """Return some of the systems, in their order; all of them are not copied."""
        if len(systems) == len(self.points):
            return self
        return Searched(
            self.readings.take(systems),
            self.envelope[systems],
            self.points[systems],
            self.explained[systems],
        )

    @classmethod
    def joined(cls, parts: Sequence[Searched]) -> Searched:
        """Return the systems of several searches under one sky, one after the other."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            BlockReadings.joined([part.readings for part in parts]),
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("envelope", "points", "explained")
            ),
        )

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Which systems have readings enough to be inferred."""
        return np.asarray(self.readings.lit >= FEWEST_READINGS)


def search(rows: Matrix, prepared: PreparedSky) -> Searched:
    """Return the neighbourhoods of systems' planes.

    Parameters
    ----------
    rows
        Readings on the long grid, NaN where there is none, shape (systems, intervals). [kW]
    prepared
        The sky.
    """
    readings = lay_out(rows, prepared.slot, prepared.begins)
    limits = find_limits(readings, prepared.day, hours=prepared.minutes / 60.0)
    envelope = bright_envelope(rows, prepared.groups)
    starts, remains = find_starts(envelope, prepared.groups)
    starts[:, :, LIMIT] = limits[:, None]
    shares = shares_for(ENOUGH, readings.count)
    # on bright powers first, which clouds do not reach
    groups, probe = prepared.probe
    value = envelope[:, groups]
    there = np.isfinite(value)
    bright = padded(np.where(there, value, np.float32(0.0))), padded(there.astype(np.float32))
    points = np.empty((len(rows), PARAMETERS))
    best = np.full(len(rows), -1.0)
    for place in range(STARTS):
        chosen = np.flatnonzero(remains[:, place] <= WORTH * remains[:, 0] + SLACK)
        # each as it would be alone: the prior's say depends on a record's own length
        for share in np.unique(shares[chosen]):
            here = chosen[shares[chosen] == share]
            trial = starts[here, place]
            seen = run_refine(
                prepared,
                probe,
                (bright[0][here], bright[1][here]),
                readings.bright[here],
                trial,
                share=float(share),
                widen=WIDE,
                near=False,
            )
            _keep_better(here, trial, seen, points, best)
    explained = refine_systems(prepared, readings, points, shares, systems=np.arange(len(rows)))
    doubtful = np.flatnonzero(explained <= DOUBTFUL)
    if len(doubtful):
        # where it is always cloudy, bright powers are not those of a clear sky
        other = _from_readings(
            prepared, readings, starts[doubtful], remains[doubtful], doubtful, shares
        )
        seen = refine_systems(prepared, readings, other, shares[doubtful], systems=doubtful)
        _keep_better(doubtful, other, seen, points, explained)
    return Searched(readings, envelope, points, explained)


def _from_readings(
    prepared: PreparedSky,
    readings: BlockReadings,
    starts: Array,
    remains: Array,
    systems: NDArray[np.intp],
    shares: Array,
) -> Array:
    """Return the best of the starts by few readings themselves."""
    points, best = starts[:, 0].copy(), np.full(len(systems), -1.0)
    for place in range(STARTS):
        chosen = np.flatnonzero(remains[:, place] <= WORTH * remains[:, 0] + SLACK)
        trial = starts[chosen, place]
        seen = refine_systems(
            prepared,
            readings,
            trial,
            shares[systems[chosen]],
            systems=systems[chosen],
            widen=WIDE,
            near=False,
        )
        _keep_better(chosen, trial, seen, points, best)
    return points


def _keep_better(
    chosen: NDArray[np.intp], trial: Array, seen: Array, points: Array, best: Array
) -> None:
    """Take over the trials that explain more than what was best so far."""
    better = seen > best[chosen]
    points[chosen[better]] = trial[better]
    best[chosen[better]] = seen[better]


def refine_systems(
    prepared: PreparedSky,
    readings: BlockReadings,
    points: Array,
    shares: Array,
    *,
    systems: NDArray[np.intp],
    widen: float = 1.0,
    near: bool = True,
) -> Array:
    """Move points to the best fits nearby, each on its own share of its readings.

    Parameters
    ----------
    prepared
        The sky.
    readings
        The readings of all systems of the block.
    points
        Of the chosen systems, moved in place, shape (chosen, PARAMETERS).
    shares
        The share of the usable intervals that each is fitted on.
    systems
        Which systems of the block they are.
    widen
        By how much errors are widened.
    near
        Whether the points are close already.

    Returns
    -------
    numpy.ndarray
        Share of the energy of these readings that each explains.
    """
    explained = np.empty(len(points))
    for share in np.unique(shares):
        here = np.flatnonzero(shares == share)
        places, sheet = prepared.part(float(share))
        moved = points[here]
        explained[here] = run_refine(
            prepared,
            sheet,
            readings.thinned(places, systems[here]),
            readings.bright[systems[here]],
            moved,
            share=float(share),
            widen=widen,
            near=near,
        )
        points[here] = moved
    return explained


def run_refine(
    prepared: PreparedSky,
    sheet: Sheet,
    readings: tuple[Matrix, Matrix],
    bright: Array,
    points: Array,
    *,
    share: float,
    widen: float = 1.0,
    near: bool = True,
    most: int = STEPS,
) -> Array:
    """Call the kernel that moves points to the best fits nearby; see :func:`refine_systems`.

    Parameters
    ----------
    prepared
        What is assumed.
    sheet
        The sky at the readings.
    readings
        Power and which of it there is, shape (systems, padded).
    bright
        Bright power of each record. [kW]
    points
        Moved in place.
    share
        What share of all readings these are: fewer err alike.
    widen, near
        As for :func:`refine_systems`.
    most
        Most steps.
    """
    settings = np.array(
        [widen, float(near), most, correlated_in(share), LONGEST_STEP, TRUSTED_STEP, *SMALL_STEPS]
    )
    explained = np.empty(len(points))
    refine(sheet, *readings, bright, points, settings, prepared.numbers, explained)
    return explained


def modelled_power(points: Array, prepared: PreparedSky) -> Matrix:
    """Return the power of points at all usable intervals, limits applied. [kW]"""
    out = profiles_of(prepared.sky.sheet, points, prepared.numbers)
    out *= np.exp(points[:, CAPACITY]).astype(np.float32)[:, None]
    limit = np.exp(np.minimum(points[:, LIMIT], NO_LIMIT)).astype(np.float32)
    return np.minimum(out, limit[:, None], out=out)
