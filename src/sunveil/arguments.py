"""What callers give, checked at the door: a wrong type or value is a sentence and no traceback.

Functions check their arguments one by one with :func:`number`, :func:`whole`, :func:`text`,
:func:`flag`, :func:`one_of` and :func:`instance`; frozen dataclasses check all of their fields
against the annotations with :func:`check_fields`. What is wrong is a
:class:`~sunveil.errors.ParameterError` that names the parameter and what to give.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import date
from enum import StrEnum
from numbers import Integral, Rational, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from sunveil.errors import ParameterError

Kind = TypeVar("Kind", bound=StrEnum)
Thing = TypeVar("Thing")
# Letters of a given text that a message repeats.
LONGEST = 40
# Annotations of the classes that were checked, which are resolved once.
_HINTS: dict[type[Any], dict[str, Any]] = {}


def number(
    name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, unit: str = ""
) -> float:
    """Return a finite number within bounds.

    Parameters
    ----------
    name
        The parameter.
    value
        What was given for it.
    low, high
        The least and the most that it may be.
    unit
        Its unit, for the message.
    """
    if is_number(value) and math.isfinite(value) and low <= value <= high:
        return float(value)
    if math.isfinite(low) and math.isfinite(high):
        wanted = f"between {low:g} and {high:g}"
    else:
        wanted = "a finite number" + (f" of at least {low:g}" if math.isfinite(low) else "")
    of = f" {unit}" if unit else ""
    raise ParameterError(f"{name} must be {wanted}{of}, and {shown(value)} is not")


def whole(name: str, value: Any, *, low: int, high: int) -> int:
    """Return a whole number within bounds.

    Parameters
    ----------
    name
        The parameter.
    value
        What was given for it.
    low, high
        The least and the most that it may be.
    """
    if is_whole(value) and low <= value <= high:
        return int(value)
    raise ParameterError(
        f"{name} must be a whole number between {low} and {high}, and {shown(value)} is not"
    )


def text(name: str, value: Any, *, give: str) -> str:
    """Return a text.

    Parameters
    ----------
    name
        The parameter.
    value
        What was given for it.
    give
        What to give, for the message: ``"the name of a column"``.
    """
    if isinstance(value, str):
        return value
    raise ParameterError(f"{name} must be {give}, as text, and {shown(value)} is not")


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ParameterError(f"{name} must be True or False, and {shown(value)} is neither")


def one_of(kind: type[Kind], name: str, value: Any, *others: str) -> Kind:
    """Return the member of an enumeration that a text names.

    Parameters
    ----------
    kind
        The enumeration.
    name
        The parameter.
    value
        What was given for it.
    *others
        What else may be given, which the caller has dealt with; for the message.
    """
    try:
        return kind(value)
    except (ValueError, TypeError):
        allowed = ", ".join((*others, *(member.value for member in kind)))
        raise ParameterError(
            f"{name} must be one of {allowed}, and {shown(value)} is not"
        ) from None


def instance(
    name: str, value: Any, kinds: type[Thing] | tuple[type[Thing], ...], *, give: str
) -> Thing:
    """Return something of the right type.

    Parameters
    ----------
    name
        The parameter.
    value
        What was given for it.
    kinds
        Its type or types.
    give
        What to give, for the message: ``"an Estimate, as infer returns it"``.
    """
    if isinstance(value, kinds):
        return value
    raise ParameterError(f"{name} must be {give}, and {shown(value)} is not")


def is_number(value: Any) -> bool:
    """Whether something is a real number that a float can hold; True and False are not."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def is_whole(value: Any) -> bool:
    """Whether something is a whole number; True and False are not."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def shown(value: Any) -> str:
    """Return something given as a message shows it: short values themselves, types of others.

    >>> shown(2.50), shown("weekly"), shown([1, 2]), shown(None)
    ('2.5', "'weekly'", 'a list', 'None')
    """
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value)
    if is_number(value):
        return f"{float(value):g}"
    if isinstance(value, str) and len(value) <= LONGEST:
        return repr(value)
    if isinstance(value, str):
        return "so long a text"
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


def check_fields(made: Any) -> None:
    """Check all fields of a frozen dataclass against their annotations.

    Texts that name a member of an enumeration become that member, and fractions become floats.

    Parameters
    ----------
    made
        The instance, from its ``__post_init__``.
    """
    kind = type(made)
    hints = _hints(kind)
    for each in fields(made):
        value, hint = getattr(made, each.name), hints[each.name]
        if fits(value, hint):
            if isinstance(value, Rational) and not isinstance(value, Integral):
                object.__setattr__(made, each.name, float(value))
            continue
        member = member_of(value, hint)
        if member is None:
            raise ParameterError(
                f"{each.name} of {kind.__name__} must be {words(hint)}, and {shown(value)} is not"
            )
        object.__setattr__(made, each.name, member)


def _hints(kind: type[Any]) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def member_of(value: Any, hint: Any) -> StrEnum | None:
    """Return the member that a text names, of the first enumeration of a hint that has it.

    Parameters
    ----------
    value
        What was given.
    hint
        The type, as :func:`typing.get_type_hints` gives it.
    """
    for kind in (hint, *get_args(hint)):
        known = isinstance(kind, type) and issubclass(kind, StrEnum) and isinstance(value, str)
        if known and value in {member.value for member in kind}:
            return cast(StrEnum, kind(value))
    return None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; of containers, their entries too.

    Parameters
    ----------
    value
        The value.
    hint
        The type, as :func:`typing.get_type_hints` gives it.
    """
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin in (Union, UnionType):
        return any(fits(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.kind in _kinds(parts)
    if origin is not None:
        return _fits_container(value, origin, parts)
    if hint is float:
        return is_number(value)
    if hint is int:
        return is_whole(value)
    if hint is bool:
        return isinstance(value, (bool, np.bool_))
    return isinstance(value, NoneType if hint is None else hint)


def _fits_container(value: Any, origin: Any, parts: tuple[Any, ...]) -> bool:
    if not isinstance(value, origin) or isinstance(value, str):
        return False
    if issubclass(origin, Mapping):
        return all(fits(key, parts[0]) and fits(each, parts[1]) for key, each in value.items())
    if origin is tuple and parts[-1:] != (Ellipsis,):
        return len(value) == len(parts) and all(map(fits, value, parts))
    if issubclass(origin, (Sequence, Collection)):
        return all(fits(each, parts[0]) for each in value)
    return True


def _kinds(parts: tuple[Any, ...]) -> str:
    """Return the kinds of numpy's types that an annotated array may have."""
    held = get_args(parts[1])[0] if len(parts) > 1 and get_args(parts[1]) else np.generic
    kinds: dict[Any, str] = {np.datetime64: "M", np.bool_: "b", Any: "fiubMmOSUV"}
    whole = isinstance(held, type) and issubclass(held, np.integer)
    return kinds.get(held, "iu" if whole else "fiu")


def words(hint: Any) -> str:
    """Return an annotated type in words: ``"a number or None"``."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(words(part) for part in parts))
    if origin is Literal:
        return "one of " + ", ".join(map(str, parts))
    if origin is np.ndarray:
        kinds = {"M": "times", "b": "True and False", "iu": "whole numbers"}
        held = kinds.get(_kinds(parts), "numbers")
        return f"a numpy array of {held}"
    if origin is tuple:
        entries = [words(part) for part in parts if part is not Ellipsis]
        return f"a tuple of {', '.join(entries)}"
    plain = {float: "a number", int: "a whole number", str: "text", bool: "True or False"}
    if hint in plain:
        return plain[hint]
    if hint in (None, NoneType):
        return "None"
    if hint is date:
        return "a date"
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return "one of " + ", ".join(member.value for member in kind)
    name = getattr(kind, "__name__", str(kind))
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
