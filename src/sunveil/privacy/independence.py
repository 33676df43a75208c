"""Whether anything that must be public sees the data: record how a release is made, and replay it.

A claim is about scores with a sensitivity. It says nothing if what a score is made with, a grid, a
tolerance or a choice of days, was taken from the data before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from sunveil.errors import ParameterError, SunveilError
from sunveil.privacy.score import Placement, Score
from sunveil.privacy.units import Unit

Data = TypeVar("Data")


@dataclass(frozen=True, slots=True)
class PublicInputs:
    """What a release was made with besides the readings, as digests.

    Parameters
    ----------
    choices
        Of what is chosen without the data: grids, tolerances, thresholds. The same for all data.
    calendar
        Of the days that the data's rows span, with readings or without. The same for neighbours.
    frame
        Of all that a score is made with. The same for neighbours.
    """

    choices: str
    calendar: str
    frame: str


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseReplay(Generic[Data]):
    """How a release of some data was made, to be gone through again with other data.

    Parameters
    ----------
    public
        What it was made with.
    score
        Scores any data with just that.
    """

    public: PublicInputs
    score: Callable[[Data], Score | Placement]


@dataclass(frozen=True, slots=True)
class IndependenceFinding:
    """Whether what must be public changed with the data.

    Parameters
    ----------
    name
        What was replayed.
    unit
        What neighbours differ in.
    pairs
        How many pairs were looked at.
    choices_changed, frames_changed
        Pairs whose choices differ, and pairs whose calendars or frames do.
    scores_changed
        Pairs where the neighbour's score depends on whose frame it is made in.
    refused
        Pairs whose neighbour was refused: a refusal is an output as well.
    """

    name: str
    unit: str
    pairs: int
    choices_changed: int
    frames_changed: int
    scores_changed: int
    refused: int

    @property
    def holds(self) -> bool:
        """Whether nothing changed."""
        changed = self.choices_changed + self.frames_changed + self.scores_changed
        return changed + self.refused == 0

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON types."""
        return {**asdict(self), "holds": self.holds}


def audit_independence(
    replay: Callable[[Data], ReleaseReplay[Data]],
    pairs: Iterable[tuple[Data, Data]],
    *,
    unit: Unit,
    name: str,
) -> IndependenceFinding:
    """Record how releases of neighbours are made, and replay each with the other's data.

    Parameters
    ----------
    replay
        Goes all the way from data to a score, choosing whatever a release chooses on the way.
    pairs
        Neighbours.
    unit
        What they differ in.
    name
        What is replayed.
    """
    looked = choices = frames = scores = refused = 0
    base: tuple[Data, ReleaseReplay[Data]] | None = None
    for first, second in pairs:
        if base is None or base[0] is not first:
            base = first, replay(first)
        ours, looked = base[1], looked + 1
        try:
            theirs = replay(second)
            same = _same(ours.score(second), theirs.score(second))
        except SunveilError:
            refused += 1
            continue
        choices += ours.public.choices != theirs.public.choices
        frames += (ours.public.calendar, ours.public.frame) != (
            theirs.public.calendar,
            theirs.public.frame,
        )
        scores += not same
    if not looked:
        raise ParameterError("an audit needs at least one pair of neighbours")
    return IndependenceFinding(name, str(unit), looked, choices, frames, scores, refused)


def _same(ours: Score | Placement, theirs: Score | Placement) -> bool:
    if isinstance(ours, Score) and isinstance(theirs, Score):
        alike = (ours.sensitivity, ours.unit) == (theirs.sensitivity, theirs.unit)
        return alike and np.array_equal(ours.levels, theirs.levels)
    if isinstance(ours, Placement) and isinstance(theirs, Placement):
        return (ours.place, ours.axes) == (theirs.place, theirs.axes)
    return False
