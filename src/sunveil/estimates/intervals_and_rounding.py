"""Intervals, how numbers of estimates are rounded, and parts of estimates as plain types."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Self, SupportsFloat, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil._options import all_named, check_fields, checked, is_number, kind_of
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


@dataclass(frozen=True, slots=True)
class Digits:
    """How numbers are rounded: to decimals, or to significant digits."""

    decimals: int | None = None
    significant: int = 17

    def __call__(self, values: Any) -> NDArray[np.float64]:
        """Return numbers rounded."""
        values = np.asarray(values, dtype=np.float64)
        if self.decimals is not None:
            return np.asarray(np.round(values, self.decimals))
        size = np.where(np.isfinite(values) & (values != 0.0), np.abs(values), 1.0)
        scale = 10.0 ** (self.significant - 1.0 - np.floor(np.log10(size)))
        return np.asarray(np.round(values * scale) / scale)

    def to_arrow(self, values: Any) -> pa.Array:
        """Return numbers rounded as a column, null where there is none."""
        rounded = self(values)
        return pa.array(rounded, mask=np.isnan(rounded))


HUNDREDTHS, THOUSANDTHS, FOUR_DECIMALS = Digits(2), Digits(3), Digits(4)
FIVE_DIGITS = Digits(significant=5)


def number_or_nan(value: Any, name: str = "a number") -> float:
    """Return the number of a field, NaN for None."""
    if value is None:
        return math.nan
    if not is_number(value):
        raise ParameterError(f"{name} must be a number, and {kind_of(value)} is not")
    return float(value)


def listed(values: Any) -> list[Any]:
    """Return the entries of a field that is a list, an array or a tuple; none of another."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        return []
    return list(values)


# Metadata of the fields of planes, trackers, years and households.


def number(digits: Digits) -> dict[str, Any]:
    """Declare a number of a part."""
    return {"digits": digits}


def ends(quantity: str, digits: Digits) -> dict[str, Any]:
    """Declare the interval of a quantity, with its ends as two columns."""
    return {"digits": digits, "ends": quantity}


def numbers(digits: Digits) -> dict[str, Any]:
    """Declare rows of numbers."""
    return {"digits": digits, "nested": True}


def day() -> dict[str, Any]:
    """Declare a date."""
    return {"day": True}


class Part:
    """A dataclass of a part of an estimate, written as plain types by what its fields declare."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def to_row(self) -> dict[str, Any]:
        """Return the part as plain types, rounded as an estimate's row is."""
        return cast(dict[str, Any], structs_of(type(self), [self]).to_pylist()[0])

    @classmethod
    @checked
    @all_named("the row", "what to_row gave")
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the part that :meth:`to_row` gave."""
        return cls(**{each.name: _read_field(each, row) for each in fields(cls)})


def _read_field(declared: Field[Any], row: Mapping[str, Any]) -> Any:
    name, said = declared.name, declared.metadata
    if "ends" in said:
        return interval_of(row, said["ends"])
    if "nested" in said:
        return tuple(
            tuple(number_or_nan(each, name) for each in listed(row_)) for row_ in row[name]
        )
    if "digits" in said:
        return number_or_nan(row[name], name)
    return dt.date.fromisoformat(row[name]) if "day" in said else row[name]


def interval_of(row: Mapping[str, Any], name: str) -> Interval:
    """Return the interval that the columns of a quantity hold."""
    return Interval(*(number_or_nan(row[each], each) for each in (f"{name}_low", f"{name}_high")))


def structs_of(kind: type[Part], parts: Sequence[Part]) -> pa.StructArray:
    """Return parts as Arrow's structs, numbers rounded."""
    columns: dict[str, pa.Array] = {}
    for each in fields(kind):
        values = [getattr(part, each.name) for part in parts]
        digits: Digits | None = each.metadata.get("digits")
        if "day" in each.metadata:
            columns[each.name] = pa.array([day.isoformat() for day in values], pa.string())
        elif digits is None:
            columns[each.name] = pa.array(values, pa.bool_())
        elif "ends" in each.metadata:
            for end in ("low", "high"):
                of_end = np.array([getattr(interval, end) for interval in values], np.float64)
                columns[f"{each.metadata['ends']}_{end}"] = digits.to_arrow(of_end)
        elif "nested" in each.metadata:
            nested = [[digits.to_arrow(row).to_pylist() for row in rows] for rows in values]
            columns[each.name] = pa.array(nested, pa.list_(pa.list_(pa.float64())))
        else:
            columns[each.name] = digits.to_arrow(np.array(values, np.float64))
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))
