"""What is given to figures, checked by name: a parameter means the same in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sunveil.arguments import instance, is_number, shown
from sunveil.errors import ParameterError
from sunveil.estimate import Estimate
from sunveil.extras import require_extras
from sunveil.meters.record import Record
from sunveil.simulate import SystemTruth
from sunveil.site import Plane, Site
from sunveil.weather import Weather, WeatherCache

# The type of each parameter, and what to give for it; those that may be left out are None then.
_KINDS: dict[str, tuple[type[Any], str]] = {
    "cache": (WeatherCache, "a WeatherCache, or None for the user's own"),
    "estimate": (Estimate, "an Estimate, as sunveil.infer returns it"),
    "record": (Record, "a Record, as sunveil.read_meters returns it"),
    "site": (Site, "a Site"),
    "truth": (Plane, "a Plane, or None"),
    "weather": (Weather, "Weather, as sunveil.get_weather returns it"),
}
_ENTRIES: dict[str, tuple[type[Any], str]] = {
    "estimates": (Estimate, "estimates, as sunveil.infer returns them"),
    "truths": (SystemTruth, "what is true of each system, as sunveil.simulate has it"),
}
_NUMBERS = ("azimuths", "tilts")


def check_inputs(*optional: str, **given: Any) -> None:
    """Refuse what a figure cannot be drawn from.

    Parameters
    ----------
    *optional
        Names of parameters that may be None, beside ``cache``, ``ax``, ``axes`` and ``truth``.
    **given
        What was given, by the names of the parameters.
    """
    left_out = {"cache", "ax", "axes", "truth", *optional}
    for name, value in given.items():
        if value is None and name in left_out:
            continue
        if name in _KINDS:
            kind, give = _KINDS[name]
            instance(name, value, kind, give=give)
        elif name in _ENTRIES:
            kind, give = _ENTRIES[name]
            _check_entries(name, value, kind, give=f"a list of {give}")
        elif name in _NUMBERS:
            if not _is_listed(value) or not all(map(is_number, value)):
                raise ParameterError(f"{name} must be a list of degrees, not {shown(value)}")
        else:
            _check_axes(name, value)


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _check_entries(name: str, value: Any, kind: type[Any], *, give: str) -> None:
    if not _is_listed(value) or not all(isinstance(each, kind) for each in value):
        raise ParameterError(f"{name} must be {give}, and {shown(value)} is not")


def _check_axes(name: str, value: Any) -> None:
    """Refuse what is neither axes of matplotlib's nor, for ``axes``, several of them."""
    require_extras("report", purpose="a figure")
    from matplotlib.axes import Axes

    if name == "ax":
        instance(name, value, Axes, give="axes of matplotlib's, or None for new ones")
        return
    row = isinstance(value, np.ndarray) and value.ndim == 1
    several = list(value) if row or _is_listed(value) else [value]
    if not all(isinstance(each, Axes) for each in several):
        raise ParameterError(
            f"{name} must be a row of matplotlib's axes, or None for new ones, and"
            f" {shown(value)} is not"
        )
