"""Options that are declared once, and checks of arguments."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from datetime import date
from enum import StrEnum
from numbers import Integral, Rational, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from sunveil.errors import ParameterError

Kind = TypeVar("Kind", bound=StrEnum)
Thing = TypeVar("Thing")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
First = TypeVar("First")
Second = TypeVar("Second")

# Letters of a given text that a message repeats.
LONGEST = 40

# Letters that the names of files have at most, on the usual file systems.
LONGEST_NAME = 255

# Seeds of random numbers are whole numbers from 0 to this one.
HIGHEST_SEED = 2**63 - 1

# What messages call types with technical names.
_PLAIN_WORDS: dict[Any, str] = {Callable: "a function", Path: "a path", PathLike: "a path"}

# Options of the classes that declare them, once they were asked for.
_DECLARED: dict[type, dict[str, tuple[Any, Option]]] = {}

# Annotations of the classes that were checked, which are resolved once.
_HINTS: dict[type[Any], dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Option:
    """What is declared of an option beside its name, its type and its default.

    A class of options is a frozen dataclass with fields of the form
    ``Annotated[type, Option(...)]``. Its checks, its help texts, its command-line options, schema
    files and its own docstring are made from these. A ``TypedDict`` of the same names, for editors
    and type checkers, stands beside it.
    """

    help: str
    more: str = ""  # what only the reference says
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()  # of text; those of an enumeration are its members
    metavar: str | None = None  # what stands for its value in help texts
    several: bool = False  # whether a command takes it several times


def declared_options(kind: type) -> dict[str, tuple[Any, Option]]:
    """Return the type and the declaration of every option of a class, by name."""
    if kind in _DECLARED:
        return _DECLARED[kind]
    found = _DECLARED[kind] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        given = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Option)]
        if given:
            bare, (option,) = hint.__origin__, given
            members = [each for each in (bare, *get_args(bare)) if _is_enumeration(each)]
            values = option.choices or tuple(each.value for kind in members for each in kind)
            found[name] = bare, replace(option, choices=values)
    return found


def documented(kind: type[Thing]) -> type[Thing]:
    """Add the declared options to the docstring of a class, as its parameters."""
    lines = [inspect.cleandoc(kind.__doc__ or ""), "", "Parameters", "----------"]
    for name, (_, option) in declared_options(kind).items():
        lines += [
            name,
            *textwrap.wrap(
                f"{option.help} {option.more}",
                96,
                initial_indent=4 * " ",
                subsequent_indent=4 * " ",
            ),
        ]
    kind.__doc__ = "\n".join(lines)
    return kind


def check_options(made: Any) -> None:
    """Check every option of an object; texts become the members of enumerations they name."""
    for name, (hint, option) in declared_options(type(made)).items():
        object.__setattr__(made, name, _option_value(name, getattr(made, name), hint, option))


def _option_value(name: str, value: Any, hint: Any, option: Option) -> Any:
    named = f"option `{name}`"
    if option.choices and not (value is None and fits(value, hint)):
        known = {each.lower(): each for each in option.choices}
        if not isinstance(value, str) or value.strip().lower() not in known:
            raise ParameterError(
                f"{named} must be one of {', '.join(option.choices)}, and {shown(value)} is not"
            )
        value = known[value.strip().lower()]
        for kind in (each for each in (hint, *get_args(hint)) if _is_enumeration(each)):
            with suppress(ValueError):
                return kind(value)
        return value
    if not fits(value, hint):
        raise ParameterError(f"{named} must be {words(hint)}, and {kind_of(value)} is not")
    if is_number(value):
        bounds: dict[str, Any] = {"low": option.low, "high": option.high}
        return (number if float in (hint, *get_args(hint)) else whole)(named, value, **bounds)
    return plain(value)


def _is_enumeration(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, StrEnum)


def options_of(kind: type[First], given: Mapping[str, object], **fixed: object) -> First:
    """Return options of a class from keywords, and refuse those that it does not have."""
    refuse_unknown(given, kind)
    return kind(**{**given, **fixed})


def keywords_of(options: Any) -> dict[str, Any]:
    """Return options as keywords."""
    return {name: getattr(options, name) for name in declared_options(type(options))}


def split_options(
    given: Mapping[str, object], first: type[First], second: type[Second]
) -> tuple[First, Second]:
    """Return options of two classes from keywords, and refuse those that neither has."""
    refuse_unknown(given, first, second)
    of_first = {name: given[name] for name in declared_options(first) if name in given}
    of_second = {name: given[name] for name in given if name not in of_first}
    return first(**of_first), second(**of_second)


def refuse_unknown(given: Collection[str], *kinds: type[Any]) -> None:
    """Refuse the names of options that no class has, with the name that comes closest."""
    known = [name for kind in kinds for name in declared_options(kind)]
    for name in (each for each in given if each not in known):
        close = [each for each in known if name in each.split("_")]
        close = close or difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {' or '.join(close)}?" if close else f"use one of {', '.join(known)}"
        raise ParameterError(f"there is no option {shown(name)}: {hint}")


def number(
    name: str, value: Any, *, low: float = -math.inf, high: float = math.inf, unit: str = ""
) -> float:
    """Return a finite number within bounds."""
    if is_number(value) and math.isfinite(value) and low <= value <= high:
        return float(value)
    if math.isfinite(low) and math.isfinite(high):
        wanted = f"between {low:g} and {high:g}"
    else:
        wanted = "a finite number" + (f" of at least {low:g}" if math.isfinite(low) else "")
    of = f" {unit}" if unit else ""
    raise ParameterError(f"{name} must be {wanted}{of}, and {shown(value)} is not")


def whole(name: str, value: Any, *, low: int, high: int) -> int:
    """Return a whole number within bounds."""
    if is_whole(value) and low <= value <= high:
        return int(value)
    raise ParameterError(
        f"{name} must be a whole number between {low} and {high}, and {shown(value)} is not"
    )


def text(name: str, value: Any, *, give: str) -> str:
    """Return a text."""
    if isinstance(value, str):
        return value
    raise ParameterError(f"{name} must be {give}, as text, and {shown(value)} is not")


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ParameterError(f"{name} must be True or False, and {shown(value)} is neither")


def one_of(kind: type[Kind], name: str, value: Any, *others: str) -> Kind:
    """Return the member of an enumeration that a text names."""
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
    """Return something of the right type."""
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
    return kind_of(value)


def kind_of(value: Any) -> str:
    """Return the type of something given, for messages about what may be private.

    >>> kind_of(2.5), kind_of("weekly"), kind_of(None)
    ('a float', 'this text', 'None')
    """
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return "this text" if isinstance(value, str) else _with_article(type(value).__name__)


def _with_article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def array_of(value: Any) -> Any:
    """Return what pandas holds as an array of numpy's, and None for all else."""
    return value.to_numpy() if hasattr(type(value), "to_numpy") else None


def plain(value: Any) -> Any:
    """Return numbers of numpy's and fractions as Python's own, and all else as it is."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, Rational) and not isinstance(value, Integral):
        return float(value)
    return value


def check_path(name: str, path: str | PathLike[str]) -> Path:
    """Return a path, unless no file system has such a one."""
    if "\x00" in str(path) or any(len(part) > LONGEST_NAME for part in Path(path).parts):
        raise ParameterError(
            f"{name} must be a path with names of at most {LONGEST_NAME} letters, and no zero"
        )
    return Path(path)


def together(**arrays: Any) -> None:
    """Refuse arrays of shapes that do not match."""
    try:
        np.broadcast_shapes(*(np.shape(each) for each in arrays.values()))
    except ValueError:
        names = " and ".join(arrays)
        raise ParameterError(f"{names} must be of the same length, and they are not") from None


@contextmanager
def all_named(what: str, give: str) -> Iterator[None]:
    """Name a key that a mapping lacks in the error, around or as a decorator of what reads it."""
    try:
        yield
    except KeyError as error:
        raise ParameterError(f"{what} has no {error.args[0]}; give {give}") from None


def check_fields(made: Any) -> None:
    """Check all fields of a frozen dataclass against their annotations."""
    # Texts that name a member of an enumeration become that member, and fractions and numbers of
    # numpy's become Python's. A message has the type of what is wrong and never its value, which
    # may be private.
    kind = type(made)
    hints = _field_hints(kind)
    for each in fields(made):
        value, hint = getattr(made, each.name), hints[each.name]
        if fits(value, hint):
            fitting = plain(value)
        else:
            fitting = member_of(value, hint)
            if fitting is None:
                raise ParameterError(
                    f"{each.name} of {kind.__name__} must be {words(hint)}, "
                    f"and {kind_of(value)} is not"
                )
        if fitting is not value:
            object.__setattr__(made, each.name, fitting)


def _field_hints(kind: type[Any]) -> dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = hints_of(kind)
    return _HINTS[kind]


class _KnownByName(type):
    """A type that was imported for type checkers alone: its name says what is of it."""

    def __instancecheck__(cls, value: Any) -> bool:
        return any(base.__name__ == cls.__name__ for base in type(value).__mro__)

    def __getattr__(cls, name: str) -> _KnownByName:
        if name.startswith("_"):
            raise AttributeError(name)
        return _KnownByName(name, (), {})


def hints_of(annotated: Any) -> dict[str, Any]:
    """Return the annotations of a function or a class as types."""
    # Some are imported for type checkers alone, since their packages are slow or need not be
    # installed; these become types that know their instances by the name of their class.
    missing: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(annotated, localns=missing or None)
        except NameError as error:
            if error.name is None or error.name in missing:
                raise
            missing[error.name] = _KnownByName(error.name, (), {})


def member_of(value: Any, hint: Any) -> StrEnum | None:
    """Return the member that a text names, of the first enumeration of a hint that has it."""
    for kind in (hint, *get_args(hint)):
        known = isinstance(kind, type) and issubclass(kind, StrEnum) and isinstance(value, str)
        if known and value in {member.value for member in kind}:
            return cast(StrEnum, kind(value))
    return None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type; of containers, their entries too."""
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
    single = isinstance(value, (str, bytes)) or getattr(value, "ndim", 1) == 0
    if single or not isinstance(value, origin):
        return False
    if issubclass(origin, Mapping):
        return all(fits(key, parts[0]) and fits(each, parts[1]) for key, each in value.items())
    if origin is tuple and parts[-1:] != (Ellipsis,):
        return len(value) == len(parts) and all(map(fits, value, parts))
    if issubclass(origin, (Sequence, Collection)):
        if isinstance(parts[0], type) and parts[0] is not float:  # then one of each type will do
            value = {type(each): each for each in value}.values()
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
    if kind in _PLAIN_WORDS:
        return _PLAIN_WORDS[kind]
    if isinstance(kind, type) and issubclass(kind, Collection) and len(parts) == 1:
        return f"a list of entries that are each {words(parts[0])}"
    return _with_article(getattr(kind, "__name__", str(kind)))


# Parameters that take several values and have no single one to check.
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def checked(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Check what a function is given: types by its annotations, and that no number is NaN."""
    # What does not fit is a ParameterError that names the parameter, what to give and the type of
    # what was given, but never its value, which may be private. A text that names a member of an
    # enumeration becomes that member, a series an array, and numbers of numpy's become Python's,
    # which neither wrap nor fail to be written as JSON. Bounds and shapes are the function's own to
    # check. A call costs about 20 µs more: not for what is called for each reading.
    signature = inspect.signature(function)
    names = {each.name for each in signature.parameters.values() if each.kind not in _MANY}

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:  # a parameter that is missing or unknown, which Python says better
            return function(*args, **kwargs)
        hints = _function_hints(function)
        for name, value in given.arguments.items():
            if name in names and name in hints:
                given.arguments[name] = _fitting(name, value, hints[name])
        return function(*given.args, **given.kwargs)

    return call


@functools.cache
def _function_hints(function: Callable[..., Any]) -> dict[str, Any]:
    return hints_of(function)


def _fitting(name: str, value: Any, hint: Any) -> Any:
    """Return a value that fits its annotation: itself, a member that it names, or an array."""
    if fits(value, hint):
        value = plain(value)
        if isinstance(value, (str, Path)) and Path in (hint, *get_args(hint)):
            check_path(name, value)
        if isinstance(value, float) and math.isnan(value):
            raise ParameterError(f"{name} must be {words(hint)}, and nan is not one")
        return value
    member = member_of(value, hint)
    if member is not None:
        return member
    array = array_of(value)
    if array is not None and fits(array, hint):
        return array
    raise ParameterError(f"{name} must be {words(hint)}, and {kind_of(value)} is not")
