"""A release in two steps: a score, which may be made anywhere, and one draw from it.

The two are apart for fleets. Scores can be made by threads or workers, and made again when one of
these is lost. A draw that is made again is a second release: it belongs to the process that has
charged for it, and to nobody else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sunveil.meters.record import Record
from sunveil.privacy.mechanisms import Exponential, PermuteAndFlip
from sunveil.privacy.score import Placement, Score
from sunveil.privacy.units import System, Unit
from sunveil.releases.answer import ExpectedErrors, Release
from sunveil.releases.frame import Frame
from sunveil.releases.score import placement, unit_score

Scored = Score | Placement


def score_record(frame: Frame, record: Record, unit: Unit) -> Scored:
    """Return what a release of a record is drawn from: private, and nothing is drawn yet.

    Parameters
    ----------
    frame
        The public frame.
    record
        The readings.
    unit
        What the release is to protect.
    """
    if isinstance(unit, System):
        return placement(frame, record)
    return unit_score(frame, record, unit)


def draw_release(
    scored: Scored,
    frame: Frame,
    *,
    epsilon: float,
    exponential: bool = False,
    expected: ExpectedErrors | None = None,
) -> Release:
    """Draw a release from a score, or from a placement for a whole record.

    Parameters
    ----------
    scored, frame
        What :func:`score_record` made, and the frame that it was made in.
    epsilon
        The privacy that this release costs.
    exponential
        Whether the exponential mechanism draws, in place of permute-and-flip.
    expected
        The errors to expect, to be put beside the answer.

    Privacy
    -------
    ``ε``-DP for the score's unit, once for every call: call it after the charge, in the process
    that has charged.
    """
    if isinstance(scored, Placement):
        return _by_window(scored, frame, epsilon=epsilon, expected=expected)
    drawn = (Exponential if exponential else PermuteAndFlip)(epsilon)
    return _by_score(scored, frame, drawn, expected=expected)


def _by_score(
    score: Score,
    frame: Frame,
    mechanism: PermuteAndFlip | Exponential,
    *,
    expected: ExpectedErrors | None,
) -> Release:
    guarantee = mechanism.guarantee(score)
    clock, drawn, capacity = np.unravel_index(mechanism.draw(score), frame.shape)
    mount, clocks = int(drawn), frame.choices.clocks
    effective = frame.grid[mount]
    return Release(
        surface_azimuth=effective.surface_azimuth,
        surface_tilt=effective.surface_tilt,
        dc_capacity_kw=float(frame.choices.capacities.values[capacity]),
        planes=frame.mounts.planes(mount),
        tracker=frame.mounts.tracker(mount),
        clock_minutes=float(clocks[clock]) if len(clocks) > 1 else None,
        guarantee=guarantee,
        mechanism="permute-and-flip" if isinstance(mechanism, PermuteAndFlip) else "exponential",
        expected=expected,
        public=frame.choices.to_dict(),
    )


def _by_window(
    placed: Placement, frame: Frame, *, epsilon: float, expected: ExpectedErrors | None
) -> Release:
    window = frame.choices.window(epsilon)
    guarantee = window.guarantee(placed)
    azimuth, tilt, capacity = (
        place * axis.step for place, axis in zip(window.draw(placed), placed.axes, strict=True)
    )
    public: dict[str, Any] = {**frame.choices.to_dict(), "window_candidates": window.inside}
    return Release(
        surface_azimuth=azimuth,
        surface_tilt=tilt,
        dc_capacity_kw=frame.choices.capacities.low * math.exp(capacity),
        guarantee=guarantee,
        mechanism="window",
        expected=expected,
        public=public,
    )
