"""The load of a household, as a net meter shows it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sunveil._options import check_fields, checked
from sunveil.estimates.intervals_and_rounding import FOUR_DECIMALS, Part, number, numbers

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
class HouseholdEstimate(Part):
    """Household load behind a net meter, separated from generation: as private as the readings.

    Parameters
    ----------
    mean_load_kw
        Mean load over all readings; NaN where nights are not seen, as of a meter of exports. [kW]
    self_consumption
        Share of the generation that the household used itself.
    exporting
        Share of the daylight readings in which more was generated than used.
    load_kw
        Mean load at each hour of the declared clock, by :data:`SEASONS`: four tuples of 24, with
        NaN where nothing was read. [kW]
    """

    mean_load_kw: float = field(metadata=number(FOUR_DECIMALS))
    self_consumption: float = field(metadata=number(FOUR_DECIMALS))
    exporting: float = field(metadata=number(FOUR_DECIMALS))
    load_kw: tuple[tuple[float, ...], ...] = field(metadata=numbers(FOUR_DECIMALS))

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


def _plain(value: float) -> float:
    return math.nan if math.isnan(value) else float(value)
