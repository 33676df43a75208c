"""What is known of a cell before any reading is looked at, as compiled loops take it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.cells.tables import Sheet
from sunveil.quick.mixture import Mixture
from sunveil.quick.spread import Neighbours
from sunveil.site import Array

Index = NDArray[np.int32]
Matrix = NDArray[np.float32]


class Known(NamedTuple):
    """A cell's sky and what follows from it.

    Parameters
    ----------
    slot, day, begins
        Place on the long axis and solar day of each usable interval, and where days begin.
    hours
        Length of an interval. [h]
    sheet, some, few
        The sky at all usable intervals, at some and at few.
    some_at, few_at
        Which of all are the intervals of some, and of few.
    patch
        In which patch of sky the sun stands.
    neighbours
        What a minute of clock does.
    places, scale, ranks
        Groups of ten days and time of day; see :class:`sunveil.quick.groups.Groups`.
    profiles, starts, near
        Planes to start from: their power in each group, as points, and which are near each other.
    mixture
        Planes that a system which is not one plane may be made of.
    """

    slot: Index
    day: Index
    begins: Index
    hours: float
    sheet: Sheet
    some: Sheet
    few: Sheet
    some_at: Index
    few_at: Index
    patch: Index
    neighbours: Neighbours
    places: Index
    scale: Matrix
    ranks: Index
    profiles: Matrix
    starts: Array
    near: NDArray[np.bool_]
    mixture: Mixture
