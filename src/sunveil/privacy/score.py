"""Scores that carry what they protect: the only thing a mechanism accepts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sunveil.arguments import check_fields
from sunveil.errors import ParameterError
from sunveil.privacy.units import System, Unit

# No count comes near it, and differences of levels up to it are 64-bit numbers.
_LARGEST = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """How well each candidate of a public list explains private data, in whole numbers: private.

    Parameters
    ----------
    levels
        One whole number per candidate; higher is better.
    sensitivity
        How far any level can move between neighbours.
    unit
        What neighbours differ in.
    proof
        The page of the documentation that proves the sensitivity.
    one_sided
        Whether neighbours move all levels the same way, up or down: then no two levels move apart
        by more than the sensitivity, and a draw may be twice as sharp (``docs/proofs/clip.md``).
    """

    levels: NDArray[np.int64]
    sensitivity: int
    unit: Unit
    proof: str
    one_sided: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.levels.dtype != np.int64 or self.levels.ndim != 1 or len(self.levels) == 0:
            raise ParameterError("a score is one whole number (int64) per candidate, in one row")
        if not 1 <= self.sensitivity <= _LARGEST:
            raise ParameterError("the sensitivity of a score is 1 or more, and at most 2**62")
        if self.levels.min() < -_LARGEST or self.levels.max() > _LARGEST:
            raise ParameterError("the levels of a score lie within 2**62 of zero")

    @property
    def range(self) -> int:
        """How far neighbours can move two levels apart."""
        return self.sensitivity if self.one_sided else 2 * self.sensitivity

    def __len__(self) -> int:
        return len(self.levels)

    def __repr__(self) -> str:
        return (
            f"Score({len(self.levels)} candidates, sensitivity {self.sensitivity} for {self.unit},"
            " private)"
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """One public dimension of candidates.

    Parameters
    ----------
    size
        How many values it has.
    step
        Distance between neighbouring values, in its own unit.
    wraps
        Whether the last value is next to the first.
    """

    size: int
    step: float = 1.0
    wraps: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.size < 1 or not self.step > 0.0:
            raise ParameterError("an axis has at least one value and a positive step")


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where among public axes a whole record is best explained: private.

    Any function of the record may have placed it: neighbours, which replace the whole record, may
    be placed anywhere.

    Parameters
    ----------
    place
        The position along each axis.
    axes
        The axes.
    """

    place: tuple[int, ...]
    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        check_fields(self)
        if len(self.place) != len(self.axes) or not self.axes:
            raise ParameterError("a placement has one position per axis, and at least one axis")
        if any(not 0 <= p < a.size for p, a in zip(self.place, self.axes, strict=True)):
            raise ParameterError("a placement must lie within its axes")

    @property
    def unit(self) -> Unit:
        """What neighbours differ in: the whole record."""
        return System()

    def __repr__(self) -> str:
        sizes = " x ".join(str(axis.size) for axis in self.axes)
        return f"Placement(among {sizes}, private)"
