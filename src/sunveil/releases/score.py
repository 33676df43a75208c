"""Scores of a record in a public frame, each with its unit and its proven sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sunveil.meters.record import Record
from sunveil.privacy.score import Placement, Score
from sunveil.privacy.units import Days, Readings, System, Unit
from sunveil.releases.frame import Frame
from sunveil.scores import Counts, Logs, count_days, count_readings

# One count of a register is part of the differences before and after it. The counts of a day are
# part of the differences of that day and, at its ends, of the days before and after.
REGISTER_READINGS, REGISTER_DAYS = 2, 3


def reach(unit: Unit, *, differenced: bool) -> int:
    """Return how many of a record's readings, or days, one of the source's can change.

    Parameters
    ----------
    unit
        What neighbours differ in, in the source.
    differenced
        Whether the record holds differences of a register.

    Privacy
    -------
    Public. A score of differences moves that many times as far as one of readings, so that a
    release of a register is worth what one of readings is at ε divided by this. Proof:
    ``docs/proofs/agreement.md``, ``docs/proofs/day-votes.md``.
    """
    if not differenced or isinstance(unit, System):
        return 1
    return REGISTER_READINGS if isinstance(unit, Readings) else REGISTER_DAYS


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
        The public frame.
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
    choices = frame.choices
    votes = partial(
        count_days,
        power,
        bins=frame.bins,
        days=frame.days,
        thresholds=choices.thresholds,
        fewest=choices.fewest,
    )
    levels = _highest(frame, lambda profiles: votes(profiles, least=frame.lit_flat(profiles)))
    sensitivity = k * choices.votes * reach(unit, differenced=record.differenced)
    return Score(levels, sensitivity, unit, "docs/proofs/day-votes.md")


def _highest(frame: Frame, count: Callable[[Logs], Counts]) -> NDArray[np.int64]:
    """Return the highest count of every candidate under any haze: no neighbour moves it further."""
    counts = [np.maximum.reduce([count(sky) for sky in hazes]) for hazes in frame.skies]
    return np.stack(counts).ravel().astype(np.int64)


def unit_score(frame: Frame, record: Record, unit: Readings | Days) -> Score:
    """Return the score that protects a unit.

    Parameters
    ----------
    frame
        The public frame.
    record
        The readings.
    unit
        How many readings, or how many days, neighbours differ in.
    """
    if isinstance(unit, Readings):
        return reading_score(frame, record, unit.k)
    return day_score(frame, record, unit.k)


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
