"""How much a system's bright envelope looks like a tracker's, and how much like its plane's."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.engine.envelope import profiles_of, times_each_row
from sunveil.engine.mixture import FEWEST, below_limit
from sunveil.engine.prepared import PreparedSky
from sunveil.engine.search import Searched
from sunveil.site import Array

# Who looks like a tracker: some tracker leaves no more than this share of what the plane leaves.
LIKE_A_TRACKER = 1.05


class TrackerLikeness(NamedTuple):
    """What is left of the bright envelope of systems, one entry each: private.

    Parameters
    ----------
    by_plane
        Share of the powers' squares that the plane leaves.
    by_trackers
        The same of each of :func:`~sunveil.engine.tracker_model.tracker_grid`, shape (systems,
        trackers).
    enough
        Whether there are powers enough to say so.
    """

    by_plane: Array
    by_trackers: Array
    enough: NDArray[np.bool_]

    def suspects(self) -> NDArray[np.intp]:
        """Return which systems look at least about as much like a tracker as like their plane."""
        alike = self.by_trackers.min(axis=1) < LIKE_A_TRACKER * self.by_plane
        return np.flatnonzero(self.enough & alike)


def tracker_likeness(searched: Searched, points: Array, prepared: PreparedSky) -> TrackerLikeness:
    """Return how much systems look like trackers, and like planes.

    Parameters
    ----------
    searched
        The systems with their bright envelopes.
    points
        Their planes.
    prepared
        The sky.
    """
    groups, probe = prepared.probe
    trackers, value = prepared.trackers, below_limit(searched.envelope[:, groups], points)
    there = (value > 0.0).astype(np.float32)
    plane = profiles_of(probe, points, prepared.numbers)[:, : len(groups)]
    energy = np.einsum("sg,sg->s", value, value) + 1e-12
    own = np.einsum("sg,sg,sg->s", there, plane, plane) + 1e-12
    by_plane = 1.0 - np.einsum("sg,sg->s", value, plane) ** 2 / (own * energy)
    each = times_each_row(there, (trackers * trackers).T) + np.float32(1e-12)
    by_trackers = 1.0 - times_each_row(value, trackers.T) ** 2 / (each * energy[:, None])
    enough = np.count_nonzero(there, axis=1) >= FEWEST
    return TrackerLikeness(by_plane, by_trackers, enough)
