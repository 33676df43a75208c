"""Scores of a record in a public frame, each with its unit and its proven sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.record import Record
from sunveil.privacy.score import Placement, Score
from sunveil.privacy.units import Days, Readings
from sunveil.releases.frame import Frame
from sunveil.releases.worth import reach
from sunveil.scores import Counts, Logs, count_days, count_readings


def reading_score(frame: Frame, record: Record, k: int = 1) -> Score:
    """Return how many readings agree with every candidate.

    Parameters
    ----------
    frame
        The public frame.
    record
        The readings.
    k
        How many readings neighbours differ in.

    Privacy
    -------
    Neighbours differ in ``k`` readings; each moves any count by at most one, so the sensitivity is
    ``k``. A reading of a register is part of two differences, so that it is then ``2 k``. Proof:
    ``docs/proofs/agreement.md``.
    """
    unit = Readings(k)
    power = frame.readings(record)
    levels = _highest(frame, lambda profiles: count_readings(power, profiles, frame.bins))
    sensitivity = k * reach(unit, differenced=record.differenced)
    return Score(levels, sensitivity, unit, "docs/proofs/agreement.md")


def day_score(frame: Frame, record: Record, k: int = 1) -> Score:
    """Return how many votes every candidate has from the record's days.

    Parameters
    ----------
    frame
        The public frame, settled for the release.
    record
        The readings.
    k
        How many days neighbours differ in.

    Privacy
    -------
    Neighbours differ in all readings of ``k`` solar days; each day has at most as many votes as
    there are thresholds, so the sensitivity is ``k`` times their number. A day of a register is
    part of the differences of three days, so that it is then three times as much. Proof:
    ``docs/proofs/day-votes.md``.
    """
    unit = Days(k)
    power = frame.readings(record)
    thresholds, fewest = frame.choices.ballot
    votes = partial(
        count_days,
        power,
        bins=frame.bins,
        days=frame.days,
        thresholds=thresholds,
        fewest=fewest,
    )
    levels = _highest(frame, lambda profiles: votes(profiles, least=frame.lit_flat(profiles)))
    sensitivity = k * len(thresholds) * reach(unit, differenced=record.differenced)
    return Score(levels, sensitivity, unit, "docs/proofs/day-votes.md")


def _highest(frame: Frame, count: Callable[[Logs], Counts]) -> NDArray[np.int64]:
    """Return the highest count of every candidate under any haze: no neighbour moves it further."""
    out = np.empty(frame.shape, dtype=np.int64)
    for clock, hazes in enumerate(frame.profiles):
        out[clock] = count(hazes[0])
        for profiles in hazes[1:]:
            np.maximum(out[clock], count(profiles), out=out[clock])
    return out.ravel()


def unit_score(frame: Frame, record: Record, unit: Readings | Days) -> Score:
    """Return the score that protects a unit, with what the public prior adds to it.

    Parameters
    ----------
    frame
        The public frame, settled for the release.
    record
        The readings.
    unit
        How many readings, or how many days, neighbours differ in.

    Privacy
    -------
    What is added is the same for neighbours, so that the sensitivity is that of the counts. Proof:
    ``docs/proofs/prior.md``.
    """
    return with_prior(frame, count_score(frame, record, unit))


def count_score(frame: Frame, record: Record, unit: Readings | Days) -> Score:
    """Return the score that protects a unit, without the public prior.

    Parameters
    ----------
    frame, record
        The public frame, settled for the release, and the readings.
    unit
        How many readings, or how many days, neighbours differ in.
    """
    count = reading_score if isinstance(unit, Readings) else day_score
    return count(frame, record, unit.k)


def with_prior(frame: Frame, score: Score) -> Score:
    """Return a score with what the public prior of a settled frame adds to it."""
    levels = score.levels.reshape(frame.shape) + frame.offsets()[:, np.newaxis]
    return replace(score, levels=levels.ravel())


def placement(frame: Frame, record: Record) -> Placement:
    """Return where the record is best explained among the axes for whole records.

    The plane and the capacity with the highest agreement count, the first of equals, rounded to
    the nearest values of the axes.

    Privacy
    -------
    Neighbours differ in the whole record, and may be placed anywhere: no sensitivity is needed.
    """
    best = int(reading_score(frame, record).levels.argmax())
    _, plane, capacity = np.unravel_index(best, frame.shape)
    azimuth, tilt, log_capacity = axes = frame.choices.axes()
    steps = int(capacity) * frame.choices.capacities.step / log_capacity.step
    place = (
        round(frame.grid.surface_azimuth[plane] / azimuth.step) % azimuth.size,
        min(round(frame.grid.surface_tilt[plane] / tilt.step), tilt.size - 1),
        min(math.floor(steps + 0.5), log_capacity.size - 1),
    )
    return Placement(place, axes)
