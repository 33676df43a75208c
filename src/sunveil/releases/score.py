"""Scores of a record in a public frame, each with its unit and its proven sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.meters.record import Record
from sunveil.privacy.score import Placement, Score
from sunveil.privacy.units import Days, Readings
from sunveil.releases.frame import Frame
from sunveil.releases.net_score import net_score
from sunveil.releases.worth import reach
from sunveil.scores import Counts, Logs, count_days, count_readings


@checked
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
    levels = _highest(frame, partial(count_readings, power, bins=frame.bins))
    sensitivity = k * reach(unit, differenced=record.differenced)
    return Score(levels, sensitivity, unit, "docs/proofs/agreement.md")


@checked
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

    def votes(profiles: Logs, *, highest: Counts) -> Counts:
        return count_days(
            power,
            profiles,
            frame.bins,
            days=frame.days,
            thresholds=thresholds,
            fewest=fewest,
            least=frame.lit_flat(profiles),
            highest=highest,
        )

    levels = _highest(frame, votes)
    sensitivity = k * len(thresholds) * reach(unit, differenced=record.differenced)
    return Score(levels, sensitivity, unit, "docs/proofs/day-votes.md")


def _highest(frame: Frame, count: Callable[..., Counts]) -> Counts:
    """Return the highest count of every candidate under any haze: no neighbour moves it further."""
    out = np.zeros(frame.shape, dtype=np.int64)
    for highest, hazes in zip(out, frame.profiles, strict=True):
        for profiles in hazes:
            count(profiles, highest=highest)
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
    return with_prior(frame, count_score(frame, record, unit), in_place=True)


def count_score(frame: Frame, record: Record, unit: Readings | Days) -> Score:
    """Return the score that protects a unit, without the public prior.

    Parameters
    ----------
    frame, record
        The public frame, settled for the release, and the readings.
    unit
        How many readings, or how many days, neighbours differ in.
    """
    net = frame.choices.net is not None
    if net is not record.net:
        raise ParameterError("the frame was made for another kind of meter, net or not")
    if net:
        return net_score(frame, record, unit)
    count = reading_score if isinstance(unit, Readings) else day_score
    return count(frame, record, unit.k)


def with_prior(frame: Frame, score: Score, *, in_place: bool = False) -> Score:
    """Return a score with what the public prior of a settled frame adds to it.

    Parameters
    ----------
    frame, score
        The settled frame, and a score that was made in it.
    in_place
        Whether the score's own levels are added to: it is not to be used any more.
    """
    levels = score.levels.reshape(frame.shape)
    out = levels if in_place else np.empty_like(levels)
    np.add(levels, frame.offsets()[:, np.newaxis], out=out)
    return replace(score, levels=out.ravel())


def placement(frame: Frame, record: Record) -> Placement:
    """Return where the record is best explained among the axes for whole records.

    The single plane and the capacity with the highest agreement count, of a net meter those that
    its days are likeliest under, the first of equals, rounded to the nearest values of the axes.

    Privacy
    -------
    Neighbours differ in the whole record, and may be placed anywhere: no sensitivity is needed.
    """
    frame = frame.of_singles()
    unit = Readings(1) if frame.choices.net is None else Days(1)
    best = int(count_score(frame, record, unit).levels.argmax())
    _, plane, capacity = np.unravel_index(best, frame.shape)
    azimuth, tilt, log_capacity = axes = frame.choices.axes()
    steps = int(capacity) * frame.choices.capacities.step / log_capacity.step
    place = (
        round(frame.grid.surface_azimuth[plane] / azimuth.step) % azimuth.size,
        min(round(frame.grid.surface_tilt[plane] / tilt.step), tilt.size - 1),
        min(math.floor(steps + 0.5), log_capacity.size - 1),
    )
    return Placement(place, axes)
