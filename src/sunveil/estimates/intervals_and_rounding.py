"""Intervals, and numbers rounded as estimates are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, SupportsFloat

from sunveil._options import check_fields, is_number
from sunveil.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Interval:
    """A 90% interval. For an azimuth, ``low`` to ``high`` runs clockwise and may pass north."""

    low: float
    high: float

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def width(self) -> float:
        """Return ``high - low``, for intervals that do not wrap."""
        return self.high - self.low

    def __contains__(self, value: object) -> bool:
        """Tell whether the interval holds a number; one of azimuths may pass north.

        >>> 5.0 in Interval(350.0, 20.0), 180.0 in Interval(350.0, 20.0)
        (True, False)
        """
        if not (isinstance(value, SupportsFloat) and is_number(value)):
            raise ParameterError("an interval holds numbers; ask it for one, such as 180.0")
        asked = float(value)
        if self.low <= self.high:
            return self.low <= asked <= self.high
        return asked >= self.low or asked <= self.high


def quantity_columns(
    name: str, value: float, interval: Interval, rounding: Callable[[float], float | None]
) -> dict[str, float | None]:
    """Return the three columns of a quantity: its value and both ends of its interval."""
    ends = {f"{name}_low": rounding(interval.low), f"{name}_high": rounding(interval.high)}
    return {name: rounding(value), **ends}


def interval_of(row: Mapping[str, Any], name: str) -> Interval:
    """Return the interval that the columns of a quantity hold."""
    return Interval(number_or_nan(row[f"{name}_low"]), number_or_nan(row[f"{name}_high"]))


def with_pairs(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with both ends of each interval as one pair, as in JSON."""
    named: dict[str, Any] = {}
    for name, value in row.items():
        if name.endswith("_low"):
            quantity = name.removesuffix("_low")
            named[f"{quantity}_interval"] = [value, row[f"{quantity}_high"]]
        elif not name.endswith("_high"):
            named[name] = value
    return named


def listed(values: Any) -> list[Any]:
    """Return the entries of a cell that is a list, an array or a tuple; none of one that is not."""
    return list(values) if isinstance(values, Iterable) else []


def hundredths(value: float | None) -> float | None:
    """Return a number rounded to hundredths, None where there is none."""
    return rounded(value, 2)


def rounded(value: float | None, digits: int) -> float | None:
    """Return a number rounded to so many digits, None where there is none."""
    return None if value is None or math.isnan(value) else round(value, digits)


def five_digits(value: float | None) -> float | None:
    """Return a number with five digits, None where there is none."""
    return None if value is None or math.isnan(value) else float(f"{value:.5g}")


def number_or_nan(value: float | None) -> float:
    """Return a number, NaN for None."""
    return math.nan if value is None else value
