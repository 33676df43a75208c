"""Kinds of columns of estimates: how each is kept in arrays, rounded and written."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from functools import cache
from typing import Any, Generic, Protocol, TypeVar, cast, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.estimates.flags_and_quality import Flag, flag_bits, flags_of
from sunveil.estimates.intervals_and_rounding import Digits, Part, listed, number_or_nan, structs_of

Value = TypeVar("Value")
Word = TypeVar("Word", bound=StrEnum)
Member = TypeVar("Member", bound=Part)


def objects(entries: Sequence[Any]) -> NDArray[Any]:
    """Return an array of objects, which may be tuples."""
    out = np.empty(len(entries), dtype=object)
    out[:] = entries
    return out


class Looked(Protocol):
    """What columns are looked at through: a table, or one row of it."""

    def look(self, column: Any) -> Any: ...


class Column(Generic[Value]):
    """A column of estimates: an array of a table, a value of one estimate."""

    # The base of the kinds below; it keeps any object, in memory alone.

    def __init__(
        self, about: str, *, stored: str | bool = True, default: Any = None, needed: bool = True
    ) -> None:
        # `stored`: its name in files, where it is another, or whether it is there at all.
        # `needed`: whether an estimate without it is none.
        self.__doc__ = about
        self.stored_as, self.default, self.needed = stored, default, needed

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        if self.stored_as is True:
            self.stored_as = name

    @overload
    def __get__(self, seen: None, kind: type) -> Column[Value]: ...
    @overload
    def __get__(self, seen: Table, kind: type) -> NDArray[Any]: ...
    @overload
    def __get__(self, seen: Looked, kind: type) -> Value: ...
    def __get__(self, seen: Any, kind: type) -> Any:
        return self if seen is None else seen.look(self)

    def empty(self, count: int) -> NDArray[Any]:
        """Return the column of systems of which nothing is known."""
        return objects([self.default] * count)

    def value(self, entry: Any) -> Value:
        """Return what an estimate shows of an entry of the array."""
        return cast(Value, entry)

    def entries(self, values: Sequence[Any]) -> NDArray[Any]:
        """Return the array of what estimates show."""
        return objects(list(values))

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        """Return the array as it is stored."""
        raise NotImplementedError

    def read(self, stored: Sequence[Any]) -> NDArray[Any]:
        """Return the array of what is stored, as plain types."""
        return self.entries(stored)


class Table:
    """Marks the class with arrays as columns, for type checkers."""

    __slots__ = ()


class Text(Column[str]):
    """Texts, such as names."""

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        return pa.array(entries.tolist(), pa.string())

    def read(self, stored: Sequence[Any]) -> NDArray[Any]:
        return objects([str(each) for each in stored])


class _Numbers(Column[Value]):
    """Numbers, NaN where there is none."""

    def __init__(self, digits: Digits | None, about: str, **more: Any) -> None:
        super().__init__(about, **more)
        self.digits = digits

    def empty(self, count: int) -> NDArray[Any]:
        return np.full(count, math.nan if self.default is None else self.default)

    def entries(self, values: Sequence[Any]) -> NDArray[Any]:
        return np.array([number_or_nan(each, self.name) for each in values], dtype=np.float64)

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        if self.digits is None:
            return pa.array(entries, mask=np.isnan(entries))
        return self.digits.to_arrow(entries)


class Number(_Numbers[float]):
    """Numbers that estimates have."""

    def value(self, entry: Any) -> float:
        return float(entry)


class OptionalNumber(_Numbers[float | None]):
    """Numbers that an estimate may lack: None there."""

    def value(self, entry: Any) -> float | None:
        return None if math.isnan(entry) else float(entry)


class Count(Column[int]):
    """Whole numbers, in memory alone."""

    def __init__(self, about: str, dtype: Any = np.int32) -> None:
        super().__init__(about, stored=False)
        self.dtype = dtype

    def empty(self, count: int) -> NDArray[Any]:
        return np.zeros(count, dtype=self.dtype)

    def value(self, entry: Any) -> int:
        return int(entry)

    def entries(self, values: Sequence[Any]) -> NDArray[Any]:
        return np.array(values, dtype=self.dtype)


class Words(Column[Word]):
    """One of a few words, kept as its place among them."""

    def __init__(self, words: type[Word], about: str) -> None:
        super().__init__(about)
        self.kind, self.words = words, tuple(words)

    def empty(self, count: int) -> NDArray[Any]:
        return np.zeros(count, dtype=np.int8)

    def value(self, entry: Any) -> Word:
        return self.words[int(entry)]

    def entries(self, values: Sequence[Any]) -> NDArray[Any]:
        try:
            return np.array([self.words.index(self.kind(each)) for each in values], dtype=np.int8)
        except ValueError:
            known = ", ".join(self.words)
            raise ParameterError(f"{self.name} must be one of {known}") from None

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        return pa.array([self.words[code].value for code in entries.tolist()], pa.string())


class Flags(Column[tuple[Flag, ...]]):
    """Flags, kept as bits in the order of :class:`Flag`."""

    def empty(self, count: int) -> NDArray[Any]:
        return np.zeros(count, dtype=np.uint32)

    def value(self, entry: Any) -> tuple[Flag, ...]:
        return flags_of(int(entry))

    def entries(self, values: Sequence[Any]) -> NDArray[Any]:
        one = np.ones(1, dtype=bool)
        try:
            bits = [sum(int(flag_bits(Flag(flag), one)[0]) for flag in set(row)) for row in values]
        except (ValueError, TypeError):
            raise ParameterError(f"{self.name} must be flags of estimates") from None
        return np.array(bits, dtype=np.uint32)

    def read(self, stored: Sequence[Any]) -> NDArray[Any]:
        return self.entries([listed(each) for each in stored])

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        return pa.array([_flag_words(bits) for bits in entries.tolist()], pa.list_(pa.string()))


@cache
def _flag_words(bits: int) -> list[str]:
    return [flag.value for flag in flags_of(bits)]


class NumberRows(Column[tuple[float, ...]]):
    """A row of numbers for each system: empty where all are zero."""

    def __init__(self, width: int, about: str) -> None:
        super().__init__(about)
        self.width = width

    def empty(self, count: int) -> NDArray[Any]:
        return np.zeros((count, self.width), dtype=np.float32)

    def value(self, entry: Any) -> tuple[float, ...]:
        return tuple(entry.tolist()) if entry.any() else ()

    def entries(self, values: Sequence[Any]) -> NDArray[Any]:
        rows = [np.asarray(row, dtype=np.float32) for row in values]
        width = max((len(row) for row in rows), default=0) or self.width
        return np.array([row if len(row) else np.zeros(width) for row in rows], np.float32)

    def read(self, stored: Sequence[Any]) -> NDArray[Any]:
        return self.entries([listed(each) for each in stored])

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        some = np.asarray(entries.any(axis=1))
        rows = [row.tolist() if any_ else [] for row, any_ in zip(entries, some, strict=True)]
        return pa.array(rows, pa.list_(pa.float64()))


class Texts(Column[tuple[Value, ...]]):
    """Tuples of what is stored as texts."""

    def __init__(self, parse: Callable[[str], Value], about: str) -> None:
        super().__init__(about, default=())
        self.parse = parse

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        return pa.array([[str(each) for each in row] for row in entries], pa.list_(pa.string()))

    def read(self, stored: Sequence[Any]) -> NDArray[Any]:
        return objects([tuple(self.parse(each) for each in listed(row)) for row in stored])


class Parts(Column[tuple[Member, ...]]):
    """Tuples of parts, stored as lists of structs."""

    def __init__(self, kind: type[Member], about: str) -> None:
        super().__init__(about, default=())
        self.kind = kind

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        counts = np.fromiter(map(len, entries), np.int32, len(entries))
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        parts = structs_of(self.kind, [each for row in entries for each in row])
        return pa.ListArray.from_arrays(ends, parts)

    def read(self, stored: Sequence[Any]) -> NDArray[Any]:
        return objects([tuple(self.kind.from_row(each) for each in listed(row)) for row in stored])


class OptionalPart(Column[Member | None]):
    """A part, or None, stored as a struct or null."""

    def __init__(self, kind: type[Member], about: str, **more: Any) -> None:
        super().__init__(about, **more)
        self.kind = kind

    def to_arrow(self, entries: NDArray[Any]) -> pa.Array:
        none = np.array([each is None for each in entries], dtype=bool)
        places = pa.array(np.cumsum(~none) - 1, mask=none)
        return structs_of(self.kind, [each for each in entries if each is not None]).take(places)

    def read(self, stored: Sequence[Any]) -> NDArray[Any]:
        return objects(
            [self.kind.from_row(each) if isinstance(each, Mapping) else None for each in stored]
        )


class Together(Generic[Value]):
    """Several columns that an estimate shows as one object."""

    def __init__(self, kind: Callable[..., Value], *names: str, about: str) -> None:
        self.kind, self.names, self.__doc__ = kind, names, about

    def __get__(self, seen: Any, kind: type) -> Value:
        if seen is None:
            return cast(Value, self)
        return self.kind(*(getattr(seen, name) for name in self.names))

    def apart(self, value: Any) -> dict[str, Any]:
        """Return the columns of an object."""
        parts = (getattr(value, each.name) for each in fields(value))
        return dict(zip(self.names, parts, strict=True))
