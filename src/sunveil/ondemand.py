"""Packages whose names are loaded when first asked for, so that importing them costs little."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


def on_demand(package: str, homes: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Let a package load names from its modules when they are first asked for.

    Parameters
    ----------
    package
        Its name; it is being imported.
    homes
        The names that each module gives to it.

    Returns
    -------
    dict
        The module of each name.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    class Package(ModuleType):
        """A package whose names mean what they should, whoever has imported a module so named."""

        def __getattr__(self, name: str) -> Any:
            if name not in home_of:
                raise AttributeError(f"module {package!r} has no attribute {name!r}")
            value = getattr(import_module(home_of[name]), name)
            self.__dict__[name] = value
            return value

        def __setattr__(self, name: str, value: Any) -> None:
            # The import system binds each submodule on its package, which would hide a function.
            if not (name in home_of and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __dir__(self) -> list[str]:
            return sorted({*self.__dict__, *home_of})

    sys.modules[package].__class__ = Package
    return home_of
