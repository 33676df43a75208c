"""Packages whose names are loaded when first asked for, so that importing them costs little."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from sunveil._extras import missing_extra


def lazy_names(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that takes names from its modules."""
    module_of = {name: module for module, given in names.items() for name in given}
    here = vars(sys.modules[package])
    here["__dir__"] = lambda: sorted({*here, *module_of})  # for completion

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(module_of[name])
        except ModuleNotFoundError as error:
            raise missing_extra(error) or error from error
        here[name] = value = getattr(module, name)
        return value

    return __getattr__
