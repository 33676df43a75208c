"""Functions whose arguments are checked against their annotations before they begin."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_args

from sunveil.arguments import array_of, check_path, fits, hints_of, kind_of, member_of, plain, words
from sunveil.errors import ParameterError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
# Parameters that take several values and have no single one to check.
_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def checked(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Check what a function is given: types by its annotations, and that no number is NaN.

    What does not fit is a :class:`~sunveil.errors.ParameterError` that names the parameter, what
    to give and the type of what was given, but never its value, which may be private. A text that
    names a member of an enumeration becomes that member, a series an array, and numbers of numpy's
    become Python's, which neither wrap nor fail to be written as JSON. Bounds and shapes are the
    function's own to check. A call costs about 20 µs more: not for what is called for each reading.

    Parameters
    ----------
    function
        The function or method; a class method is checked below its ``@classmethod``.
    """
    signature = inspect.signature(function)
    names = {each.name for each in signature.parameters.values() if each.kind not in _MANY}

    @functools.wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:  # a parameter that is missing or unknown, which Python says better
            return function(*args, **kwargs)
        hints = _hints(function)
        for name, value in given.arguments.items():
            if name in names and name in hints:
                given.arguments[name] = _fitting(name, value, hints[name])
        return function(*given.args, **given.kwargs)

    return call


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
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
