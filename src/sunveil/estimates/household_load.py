"""The load of a household, as a net meter shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil._options import all_named, check_fields, checked
from sunveil.estimates.intervals_and_rounding import listed, number_or_nan, rounded

# The quarters of a year that a load is told by: December to February, and so on.
SEASONS = ("dec-feb", "mar-may", "jun-aug", "sep-nov")


HOURS = 24


def season_of(month: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the place among :data:`SEASONS` of months, 1 to 12.

    >>> season_of(np.array([12, 2, 3, 7, 11])).tolist()
    [0, 0, 1, 2, 3]
    """
    return np.asarray(month % 12 // 3, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class HouseholdEstimate:
    """The load that was told from the generation of a net meter: as private as the readings.

    Parameters
    ----------
    load_kw
        Mean load at each hour of the declared clock, by :data:`SEASONS`: four tuples of 24, with
        NaN where nothing was read. [kW]
    mean_load_kw
        Mean load over all readings; NaN where nights are not seen, as of a meter of exports. [kW]
    self_consumption
        Share of the generation that the household used itself.
    exporting
        Share of the daylight readings in which more was generated than used.
    """

    load_kw: tuple[tuple[float, ...], ...]
    mean_load_kw: float
    self_consumption: float
    exporting: float

    def __post_init__(self) -> None:
        check_fields(self)
        # one and the same NaN wherever nothing was read, so that equal households are equal
        loads = tuple(tuple(map(_plain, season)) for season in self.load_kw)
        object.__setattr__(self, "load_kw", loads)
        for name in ("mean_load_kw", "self_consumption", "exporting"):
            object.__setattr__(self, name, _plain(getattr(self, name)))

    def __repr__(self) -> str:
        return "HouseholdEstimate(private)"

    @checked
    def usual_load(
        self, month: NDArray[np.integer], hour: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        """Return the mean load at hours of the declared clock, NaN where nothing was read. [kW]

        Parameters
        ----------
        month, hour
            Months, 1 to 12, and hours, 0 to 23.
        """
        return np.asarray(np.array(self.load_kw, dtype=np.float64)[season_of(month), hour])

    def to_row(self) -> dict[str, Any]:
        """Return the household as plain types, None where nothing was read."""
        return {
            "mean_load_kw": rounded(self.mean_load_kw, 4),
            "self_consumption": rounded(self.self_consumption, 4),
            "exporting": rounded(self.exporting, 4),
            "load_kw": [[rounded(each, 4) for each in season] for season in self.load_kw],
        }

    @classmethod
    @checked
    @all_named("the row", "what to_row gave")
    def from_row(cls, row: Mapping[str, Any]) -> HouseholdEstimate:
        """Return the household that :meth:`to_row` gave."""
        return cls(
            load_kw=tuple(
                tuple(number_or_nan(each) for each in listed(season))
                for season in listed(row["load_kw"])
            ),
            mean_load_kw=number_or_nan(row["mean_load_kw"]),
            self_consumption=number_or_nan(row["self_consumption"]),
            exporting=number_or_nan(row["exporting"]),
        )


def _plain(value: float) -> float:
    return math.nan if math.isnan(value) else float(value)
